# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""`python -m wcodec`: the command, by its own program; `report` is this package's."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

from ._library import NATIVE, path


def _program() -> str | None:
    """The program that belongs to the library in use: in the package, beside the library or where
    an installation puts it, else the one in PATH."""
    folder = os.path.dirname(os.path.realpath(path()))
    above = os.path.dirname(folder)
    places = [
        os.path.join(above, "wcodec"),  # of a build tree
        os.path.join(above, "bin", "wcodec"),
        os.path.join(os.path.dirname(above), "bin", "wcodec"),
    ]
    for place in places:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    return shutil.which("wcodec")


def main() -> int:
    """Run the command with the program's arguments; returns its exit code."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] == "report":
        if importlib.util.find_spec("wcodec.report") is None:
            print("wcodec: this package was built without report", file=sys.stderr)
            return 1
        module = importlib.import_module("wcodec.report")
        return int(module.main(arguments[1:]))
    program = _program()
    if program is None:
        print("wcodec: the program wcodec was not found: put its folder into PATH", file=sys.stderr)
        return 1
    sys.stdout.flush()
    if os.path.dirname(os.path.realpath(path())) == os.path.realpath(NATIVE):
        known = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = NATIVE + (os.pathsep + known if known else "")
    os.execv(program, [program, *arguments])
    raise AssertionError("not reached")


if __name__ == "__main__":
    sys.exit(main())
