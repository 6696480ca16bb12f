#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""No external function or object and no tag wcodec_* is defined twice: not in the objects of library and backends, not in their sources."""
import collections
import os
import re
import subprocess
import sys

top = os.environ.get("top_srcdir", ".")
build = os.environ.get("top_builddir", ".")

# What backend.h declares and each backend defines for itself: once a folder.
HANDLES = {"wcodec_" + name for name in ("backend_state", "batch", "device", "event", "kept", "memory", "queue")}
# What one of several headers defines in each program: a warp by the dialect, and a lossy tile in place of what is not compiled.
ALTERNATIVES = {
    "wcodec_warp": {"backends/kernels/dialect_cuda.h", "backends/kernels/dialect_opencl.h", "backends/emulate/lanes.h"},
    "wcodec_lossy_tile": {"backends/kernels/lossy_unit.h", "backends/kernels/tile_lossy.h"},
}


def walk(root, ends):
    for where, _, names in os.walk(root):
        for name in names:
            if name.endswith(ends):
                yield os.path.join(where, name)


def source_of(path):
    """The source that an object was made of, None if there is none any more: .libs/ and a target's prefix go."""
    where, name = os.path.split(os.path.relpath(path, build))
    stem = os.path.splitext(name)[0]
    where = where[: -len("/.libs")] if where.endswith("/.libs") else where
    for candidate in (stem, stem.rsplit("-", 1)[-1]):
        source = os.path.join(where, candidate + ".c")
        if os.path.isfile(os.path.join(top, source)):
            return source
    return None


def symbols():
    """external symbol -> the sources that define it; fake plugins pretend to be others"""
    found = collections.defaultdict(set)
    sources = {path: source_of(path) for root in ("lib", "backends") for path in walk(os.path.join(build, root), ".o")}
    paths = [path for path, source in sources.items() if source is not None and not source.startswith("backends/fake/")]
    if paths:
        lines = subprocess.run(["nm", "-A", "-g", "--defined-only", *paths], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in lines.splitlines():
            path, rest = line.split(".o:", 1)
            kind, name = rest.split()[-2:]
            if kind in "TDBRC" and name.startswith("wcodec_"):
                found[name].add(sources[path + ".o"])
    return found


def tags():
    """tag -> where it is defined"""
    found = collections.defaultdict(list)
    for root in ("include", "lib", "backends", "utils"):
        for path in walk(os.path.join(top, root), (".c", ".h", ".cu", ".cuh", ".cl")):
            with open(path, encoding="utf-8") as f:
                text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)
            for tag in re.findall(r"\b(?:struct|union|enum)\s+(wcodec_\w+)\s*\{", text):
                found[tag].append(os.path.relpath(path, top))
    return found


def is_twice(tag, places):
    if tag in HANDLES:
        folders = {os.path.dirname(place) for place in places}
        return len(folders) < len(places) or any(not folder.startswith("backends/") for folder in folders)
    return len(places) > 1 and set(places) != ALTERNATIVES.get(tag)


def main():
    functions, structures = symbols(), tags()
    errors = ["%s is external in %s" % (name, ", ".join(sorted(places))) for name, places in functions.items() if len(places) > 1]
    errors += ["%s is defined in %s" % (tag, ", ".join(places)) for tag, places in structures.items() if is_twice(tag, places)]
    for error in sorted(errors):
        print("failed: " + error)
    count = len(functions) + len(structures)
    print("%d passed, %d failed" % (count - len(errors), len(errors)))
    return 1 if errors or len(functions) < 200 or len(structures) < 50 else 0


sys.exit(main())
