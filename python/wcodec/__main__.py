# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""`python -m wcodec`: the command, by its own program; `report` is this package's."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

from ._library import path


def _is_ours(path: str) -> bool:
    """Is that the script which pip makes for this module?"""
    with open(path, "rb") as file:
        return b"wcodec.__main__" in file.read(4096)


def _program() -> str | None:
    """The program that belongs to the library in use: in the package, beside the library or where
    an installation puts it, else the one in PATH."""
    places = []
    if os.sep in path():  # else the system's loader found it in a folder of its own
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
    found = shutil.which("wcodec")
    return None if found is None or _is_ours(found) else found


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
    os.execv(program, [program, *arguments])
    raise AssertionError("not reached")


if __name__ == "__main__":
    sys.exit(main())
