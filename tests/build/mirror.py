#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests mirror the tree: lib/FOLDER/x.c has a program tests/unit/test_FOLDER_x, or tests/unit/COVERS says what covers it."""
import fnmatch
import glob
import os
import re
import sys

top = os.environ.get("top_srcdir", ".")


def paths(pattern):
    return sorted(os.path.relpath(path, top) for path in glob.glob(os.path.join(top, pattern)))


def covers():
    """(pattern of files, tests) of each line"""
    with open(os.path.join(top, "tests/unit/COVERS"), encoding="utf-8") as f:
        lines = [line.split() for line in f if not line.startswith("#")]
    return [(line[0], line[1:]) for line in lines if line]


def built():
    """Programs that the fragments list."""
    found = set()
    for path in paths("tests/unit/*.am"):
        with open(os.path.join(top, path), encoding="utf-8") as f:
            found |= set(re.findall(r"tests/unit/(test_\w+)(?!\w|\.)", f.read()))
    return found


def main():
    errors, programs = [], built()
    sources = paths("lib/*/*.c")
    own = {source for source in sources if "test_" + source[4:-2].replace("/", "_") in programs}
    left = [source for source in sources if source not in own]
    rows = covers()
    for source in left:
        if not any(fnmatch.fnmatch(source, pattern) for pattern, _ in rows):
            errors.append("%s has no program of its own name, and tests/unit/COVERS does not name it" % source)
    for pattern, tests in rows:
        if not fnmatch.filter(left, pattern):
            errors.append("tests/unit/COVERS: %s is nothing that needs a line" % pattern)
        for test in tests:
            if not (os.path.isfile(os.path.join(top, test)) if "/" in test else "test_" + test in programs):
                errors.append("tests/unit/COVERS: there is no test %s" % test)
        if not tests:
            errors.append("tests/unit/COVERS: no test for %s" % pattern)
    for path in paths("tests/unit/test_*.c"):
        if os.path.basename(path)[:-2] not in programs:
            errors.append("%s is in no fragment" % path)
    for error in errors:
        print("failed: " + error)
    print("%d passed, %d failed" % (len(sources) + len(rows) - len(errors), len(errors)))
    return 1 if errors or len(sources) < 50 else 0


sys.exit(main())
