#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""usage: scripts/fuzz-long.py [-r] [-j NUMBER] [-t SECONDS] [-s SECONDS] [TARGET...]

Fuzzes the targets, or those that are named, by libFuzzer with AddressSanitizer and UBSan, -j at a time (1): -s seconds (60) each, those with the least
time in the table of fuzz/README.md first, until -t seconds (3600) are over. It goes on from build/fuzz-corpus/TARGET, which it keeps, beside the seeds
of fuzz/corpus/TARGET. Each run's processor time, executions and findings (crashes, leaks, timeouts, memory) are printed; with -r they are added to the
table. What was found is in build/check-fuzz/TARGET-*. Exit status 1 where anything was. CC (clang) names the compiler, JOBS the parallel jobs of make."""
import concurrent.futures
import getopt
import os
import re
import subprocess
import sys
import threading
import time

top = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
build = os.path.join(top, "build", "check-fuzz")
table = os.path.join(top, "fuzz", "README.md")
ROW = re.compile(r"^\| `([a-z_]+)` \| ([0-9.]+) \| ([0-9,]+) \| ([0-9]+) \| ([0-9.]+) \|$")
HEAD = "| target | hours | executions | findings | hours since the last finding |"


def make():
    """The names of the targets, which are built."""
    os.makedirs(build, exist_ok=True)
    if not os.path.exists(os.path.join(build, "Makefile")):
        subprocess.run([os.path.join(top, "configure"), "-q", "CC=" + os.environ.get("CC", "clang"), "CFLAGS=-O1 -g", "--enable-fuzzing", "--enable-sanitizers=address,undefined"],
                       cwd=build, check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(build, "Makefile")) as f:
        programs = re.search(r"^fuzz_programs = (.*)$", f.read().replace("\\\n", " "), re.M).group(1).split()
    programs = [p.replace("$(EXEEXT)", "") for p in programs]
    jobs = os.environ.get("JOBS") or str(os.cpu_count())
    subprocess.run(["make", "-s", "-j" + jobs, "backends/fake/wcodec_fake.la", *programs], cwd=build, check=True, stdout=subprocess.DEVNULL)
    return [os.path.basename(p) for p in programs]


def read_table(targets):
    """{target: [hours, executions, findings, hours since the last]}"""
    rows = {t: [0.0, 0, 0, 0.0] for t in targets}
    with open(table) as f:
        for m in filter(None, map(ROW.match, f.read().splitlines())):
            if m.group(1) in rows:
                rows[m.group(1)] = [float(m.group(2)), int(m.group(3).replace(",", "")), int(m.group(4)), float(m.group(5))]
    return rows


def write_table(rows):
    """The rest of the file stays; the table is its end."""
    with open(table) as f:
        text = f.read()
    lines = [HEAD, "| --- | --- | --- | --- | --- |"]
    lines += ["| `%s` | %.3f | %s | %d | %.3f |" % (t, rows[t][0], format(rows[t][1], ","), rows[t][2], rows[t][3]) for t in sorted(rows)]
    lines.append("| all | %.3f | %s | %d | |" % (sum(r[0] for r in rows.values()), format(sum(r[1] for r in rows.values()), ","), sum(r[2] for r in rows.values())))
    new = table + ".new"
    with open(new, "w") as f:
        f.write(text[:text.index(HEAD)] + "\n".join(lines) + "\n")
    os.replace(new, table)


def fuzz(target, seconds):
    """Processor hours, executions, and whether something was found."""
    kept = os.path.join(top, "build", "fuzz-corpus", target)
    os.makedirs(kept, exist_ok=True)
    seeds = os.path.join(top, "fuzz", "corpus", target)
    program = os.path.join(build, "fuzz", ".libs", target)
    if not os.path.exists(program):
        program = os.path.join(build, "fuzz", target)
    environment = dict(os.environ, top_srcdir=top, top_builddir=build, LD_LIBRARY_PATH=os.path.join(build, ".libs"))
    log = os.path.join(build, target + ".log")
    with open(log, "w") as f:
        child = subprocess.Popen([program, "-max_total_time=%d" % seconds, "-timeout=240", "-rss_limit_mb=4096", "-print_final_stats=1", "-artifact_prefix=%s/%s-" % (build, target), kept]
                                 + ([seeds] if os.path.isdir(seeds) else []), stdout=f, stderr=f, env=environment)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    with open(log, errors="replace") as f:
        text = f.read()
    executed = re.search(r"^stat::number_of_executed_units: *([0-9]+)", text, re.M)
    last = re.findall(r"^#([0-9]+)\t", text, re.M)
    return (used.ru_utime + used.ru_stime) / 3600, int(executed.group(1) if executed else last[-1] if last else 0), child.returncode != 0


class Campaign:
    """What has been done of the targets, by several threads, of which each has one target at a time."""

    def __init__(self, targets, rows, record, seconds):
        self.left, self.rows, self.record = set(targets), rows, record
        self.end, self.lock, self.found = time.monotonic() + seconds, threading.Lock(), False

    def take(self):
        """The target with the least time that nobody has, or None."""
        with self.lock:
            if not self.left or time.monotonic() >= self.end:
                return None
            target = min(self.left, key=lambda t: (self.rows[t][0], t))
            self.left.remove(target)
            return target

    def add(self, target, hours, executions, finding):
        """What was found ends the target's turns."""
        with self.lock:
            r = self.rows[target]
            self.rows[target] = [r[0] + hours, r[1] + executions, r[2] + finding, 0.0 if finding else r[3] + hours]
            print("%s: %.1f s, %d executions%s" % (target, 3600 * hours, executions, ", FOUND: see %s/%s.log" % (build, target) if finding else ""), flush=True)
            self.found |= finding
            if not finding:
                self.left.add(target)
            if self.record:
                write_table(self.rows)

    def work(self, share):
        while (target := self.take()) is not None:
            self.add(target, *fuzz(target, max(1, min(share, int(self.end - time.monotonic())))))


def main():
    try:
        options, names = getopt.getopt(sys.argv[1:], "rj:t:s:")
        chosen = dict(options)
        jobs, total, share = int(chosen.get("-j", 1)), int(chosen.get("-t", 3600)), int(chosen.get("-s", 60))
    except (getopt.GetoptError, ValueError):
        sys.exit(__doc__)
    targets = make()
    if jobs < 1 or not set(names) <= set(targets):
        sys.exit(__doc__)
    campaign = Campaign(names or targets, read_table(targets), "-r" in chosen, total)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for worker in [pool.submit(campaign.work, share) for _ in range(jobs)]:
            worker.result()
    sys.exit(1 if campaign.found else 0)


main()
