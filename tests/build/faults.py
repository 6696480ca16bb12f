#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tables that say which test shows what have no empty cell, and what they name is there: tests/unit/FAULTS has each public function and each kind of fault, and
SECURITY.md a test for each claim."""
import os
import re
import sys

top = os.environ.get("top_srcdir", ".")
KINDS = ["allocation", "read", "write", "thread", "driver", "disk", "cancel"]


def read(path):
    with open(os.path.join(top, path), encoding="utf-8") as f:
        return f.read()


def operations():
    """(name, functions, lines by kind) of each block of FAULTS"""
    text = re.sub(r"^#.*\n", "", read("tests/unit/FAULTS"), flags=re.M)
    for block in re.split(r"^operation ", text, flags=re.M)[1:]:
        head, *rest = block.split("\n")
        name, functions = head.split(":", 1)
        functions, cells = functions.split(), []
        for line in rest:
            if line.startswith("    "):
                functions += line.split()
            elif line.strip():
                cells.append(line.split(None, 1))
        yield name, functions, cells


def missing(test):
    """What is wrong with the name of a test, or None: a path, or program/function."""
    if test.startswith("tests/"):
        found = any(os.path.isfile(os.path.join(top, test + end)) for end in ("", ".c"))
        return None if found else "there is no %s" % test
    program, _, function = test.partition("/")
    path = "tests/unit/test_%s.c" % program
    if not os.path.isfile(os.path.join(top, path)):
        return "there is no %s" % path
    return None if "cmocka_unit_test(%s)" % function in read(path) else "%s has no test %s" % (path, function)


def faults():
    public = set(re.findall(r"^    (wcodec_\w+);", read("lib/libwcodec.map"), re.M))
    entered = []
    for name, functions, cells in operations():
        entered += functions
        if [cell[0] for cell in cells] != KINDS:
            yield "FAULTS, %s: not the lines %s" % (name, ", ".join(KINDS))
        for cell in cells:
            what = cell[1] if len(cell) > 1 else ""
            if re.fullmatch(r"none: \S.*", what):
                continue
            if not what:
                yield "FAULTS, %s, %s: empty" % (name, cell[0])
            for test in what.split():
                wrong = missing(test)
                if wrong:
                    yield "FAULTS, %s, %s: %s" % (name, cell[0], wrong)
    for function in sorted(public - set(entered)):
        yield "FAULTS: %s is in no operation" % function
    for function in sorted(entered):
        if function not in public or entered.count(function) > 1:
            yield "FAULTS: %s is entered twice, or not public" % function


def claims():
    table = read("SECURITY.md").split("| claimed | tested by |", 1)[1].split("\n\n", 1)[0]
    rows = [re.split(r" *\| *", line.strip("| ")) for line in table.split("\n")[2:] if line.strip()]
    if len(rows) < 20:
        yield "SECURITY.md: only %d claims" % len(rows)
    for row in rows:
        tests = re.findall(r"`(tests/[^`]+)`", row[1]) if len(row) == 2 else []
        if not row[0] or not tests:
            yield "SECURITY.md: no test: %s" % row
        for test in tests:
            wrong = missing(test)
            if wrong:
                yield "SECURITY.md: %s" % wrong


def main():
    errors = list(faults()) + list(claims())
    for error in errors:
        print("failed: " + error)
    print("%d passed, %d failed" % (len(list(operations())), len(errors)))
    return 1 if errors else 0


sys.exit(main())
