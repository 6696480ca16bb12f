#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Folders include what doc/architecture.md ("Who may use whom") lets them include."""
import os
import re
import sys

top = os.environ.get("top_srcdir", ".")
SOURCE = re.compile(r"\.(c|h|cu|cuh|cl)$")

# Files that look the other way, and the folders they may see.
EXCEPTIONS = {
    "lib/core/context.c": {"lib/sched", "lib/registry"},
    "lib/core/conf.c": {"backends/cpu"},
    "backends/kernels/rans.h": {"lib/coding/check_key.h"},
    "backends/emulate/device.c": {"backends/cpu"},
    "backends/emulate/kept.c": {"backends/cpu"},
    "backends/emulate/delta.c": {"backends/cpu"},
    "backends/emulate/encode.c": {"backends/cpu"},
    "backends/emulate/product.c": {"backends/cpu"},
    "backends/emulate/rollout.c": {"backends/cpu"},
    "backends/emulate/search.c": {"backends/cpu"},
    "backends/emulate/vectors.c": {"backends/cpu"},
    "backends/kernels/dialect_lanes.h": {"backends/emulate/lanes.h"},
}
# Folders beside the lines of the table. Fake plugins stand on the CPU's backend; the command takes what the system has as the library does.
BESIDE = {"backends/fake": {"backends/cpu", "backends/emulate", "lib/core"}, "utils": {"lib/core/system.h"}}


def path_of(name):
    return name if "/" in name else "lib/" + name


def allowed():
    """folder -> the folders of which it may include headers, from the table of the page"""
    with open(os.path.join(top, "doc/architecture.md"), encoding="utf-8") as f:
        section = f.read().split("## Who may use whom", 1)[1].split("\n## ", 1)[0]
    rules = dict(BESIDE)
    for line in re.findall(r"^.*<-.*$", section, re.MULTILINE):
        left = set()
        for step in line.split("<-"):
            folders = {path_of(name.strip()) for name in step.split(",")}
            rules.update((folder, set(left)) for folder in folders)
            left |= folders
    return rules


def sources():
    for root in ("lib", "backends", "utils"):
        for where, _, names in os.walk(os.path.join(top, root)):
            for name in names:
                if SOURCE.search(name):
                    yield os.path.relpath(os.path.join(where, name), top)


def resolve(path, include):
    """The file of the tree that an include means, or None: generated, or the system's."""
    for at in ("lib", ".", os.path.dirname(path)):
        found = os.path.normpath(os.path.join(at, include))
        if os.path.isfile(os.path.join(top, found)):
            return found
    return None


def includes(path):
    with open(os.path.join(top, path), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)
    found = (resolve(path, include) for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE))
    return [include for include in found if include]


def folder_of(path, rules):
    return next((folder for folder in rules if path.startswith(folder + "/")), None)


def brought_in(path, seen):
    """path and all that it includes"""
    if path not in seen:
        seen.add(path)
        for include in includes(path):
            brought_in(include, seen)
    return seen


def main():
    rules = allowed()
    border = brought_in("backends/backend.h", set())
    errors = []
    count = 0
    for path in sorted(sources()):
        folder = folder_of(path, rules)
        if folder is None:
            if path != "backends/backend.h":
                errors.append("%s is in no folder of the table" % path)
            continue
        for include in includes(path):
            count += 1
            other = folder_of(include, rules)
            if other == folder or {other, include} & rules[folder] or (include in border and folder.startswith("backends/")):
                continue
            if include == "backends/backend.h" and "backends/cpu" in rules[folder]:
                continue
            if {other, include} & EXCEPTIONS.get(path, set()):
                continue
            errors.append("%s includes %s" % (path, include))
    for error in errors:
        print("failed: " + error)
    print("%d passed, %d failed" % (count - len(errors), len(errors)))
    return 1 if errors or count < 300 else 0


sys.exit(main())
