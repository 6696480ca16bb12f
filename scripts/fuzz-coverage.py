#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""usage: scripts/fuzz-coverage.py [CORPUS]

Which lines the fuzz targets reach by themselves: builds them by clang with coverage in build/check-coverage, runs each on its seeds, those of make check's
mutations and, with CORPUS, the files of CORPUS/TARGET (build/fuzz-corpus, as the stage fuzz grows it), and prints lines of lib/format, lib/read, lib/coding, of
the CPU backend's plain C and of the GPUs' kernels as C; then the files of which less than 90 % is reached. Exit status 1 where the sum is below 90 %.
CC (clang), LLVM_PROFDATA and LLVM_COV name the tools, JOBS the parallel jobs of make."""
import json
import os
import re
import subprocess
import sys

FOLDERS = ("lib/format", "lib/read", "lib/coding", "backends/cpu", "backends/kernels")
WANTED = 90
top = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
build = os.path.join(top, "build", "check-coverage")
jobs = os.environ.get("JOBS") or str(os.cpu_count())


def tool(name, usual):
    return os.environ.get(name) or usual


def run(*command, **more):
    return subprocess.run(command, check=True, **more)


def make():
    """The targets and the fake plugin, with plain C alone, so that no other form of it runs."""
    os.makedirs(build, exist_ok=True)
    flags = "-fprofile-instr-generate -fcoverage-mapping"
    if not os.path.exists(os.path.join(build, "Makefile")):
        run(os.path.join(top, "configure"), "-q", "CC=" + tool("CC", "clang"), "CFLAGS=-O1 -g " + flags, "LDFLAGS=-fprofile-instr-generate", "--with-cpu-levels=",
            "--without-opencl", "--without-hwloc", cwd=build, stdout=subprocess.DEVNULL)
    with open(os.path.join(build, "Makefile")) as f:
        text = f.read().replace("\\\n", " ")
    targets = re.search(r"^fuzz_programs = (.*)$", text, re.M).group(1).split()
    targets = [t.replace("$(EXEEXT)", "") for t in targets]
    run("make", "-s", "-j" + jobs, "backends/fake/wcodec_fake.la", *targets, cwd=build, stdout=subprocess.DEVNULL)
    return targets


def profile(target, corpus):
    """Runs a target; libtool's wrapper is passed by."""
    name = os.path.basename(target)
    program = os.path.join(build, "fuzz", ".libs", name)
    if not os.path.exists(program):
        program = os.path.join(build, target)
    environment = dict(os.environ, top_srcdir=top, top_builddir=build, LD_LIBRARY_PATH=os.path.join(build, ".libs"), LLVM_PROFILE_FILE=os.path.join(build, "profile", name + "-%m.raw"))
    print("%s: " % name, end="", flush=True)
    run(program, env=environment)
    more = os.path.join(corpus, name) if corpus else ""
    files = [os.path.join(more, f) for f in sorted(os.listdir(more))] if os.path.isdir(more) else []
    for i in range(0, len(files), 1000):
        environment["LLVM_PROFILE_FILE"] = os.path.join(build, "profile", "%s-%d-%%m.raw" % (name, i))
        run(program, "-n", "0", *files[i:i + 1000], env=environment, stdout=subprocess.DEVNULL)
    return program


def lines_of(programs):
    """{file: (lines reached, lines)}"""
    folder = os.path.join(build, "profile")
    merged = os.path.join(build, "profile.data")
    run(tool("LLVM_PROFDATA", "llvm-profdata"), "merge", "-o", merged, *(os.path.join(folder, f) for f in os.listdir(folder)), stderr=subprocess.DEVNULL)
    objects = programs + [os.path.join(build, "backends", "fake", ".libs", "wcodec_fake.so")]
    text = run(tool("LLVM_COV", "llvm-cov"), "export", "-summary-only", "-instr-profile", merged, *("-object=" + p for p in objects), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = {}
    for entry in json.loads(text)["data"][0]["files"]:
        name = re.search(r"((lib|backends)/[a-z0-9_]+/[a-z0-9_.]+)$", entry["filename"])
        if name:
            found[name.group(1)] = entry["summary"]["lines"]["covered"], entry["summary"]["lines"]["count"]
    return found


def main():
    corpus = sys.argv[1] if len(sys.argv) > 1 else None
    if len(sys.argv) > 2 or (corpus and not os.path.isdir(corpus)):
        sys.exit(__doc__)
    targets = make()
    folder = os.path.join(build, "profile")
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.remove(os.path.join(folder, old))
    lines = lines_of([profile(t, corpus) for t in targets])
    total = [0, 0]
    for name in FOLDERS:
        mine = [v for f, v in lines.items() if os.path.dirname(f) == name]
        reached, count = sum(v[0] for v in mine), sum(v[1] for v in mine)
        total = [total[0] + reached, total[1] + count]
        print("%-42s %6d of %6d lines  %5.1f %%" % (name, reached, count, 100 * reached / max(count, 1)))
    share = 100 * total[0] / max(total[1], 1)
    print("%-42s %6d of %6d lines  %5.1f %%" % ("sum", *total, share))
    for f, (reached, count) in sorted(lines.items(), key=lambda v: v[1][0] - v[1][1]):
        if os.path.dirname(f) in FOLDERS and 100 * reached < WANTED * count:
            print("below %d %%: %-31s %6d of %6d lines  %5.1f %%" % (WANTED, f, reached, count, 100 * reached / count))
    sys.exit(0 if share >= WANTED else 1)


main()
