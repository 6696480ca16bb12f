# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Times of several calls side by side: in turns, so that what disturbs one disturbs all."""

import gc
import json
import statistics
import sys
import time


def one_line(error):
    """What an exception says, short enough for a table."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


def in_turns(calls, rounds, before=lambda: None, after=lambda: None, until=None):
    """Seconds of each call in each round, {name: [..]}; one round before that is not counted. A
    call that raises is left out, and the reason printed. `until` is a time.monotonic() after which
    no round begins; how many there were is then printed."""
    times = {name: [] for name in calls}
    longest = 0
    for turn in range(rounds + 1):
        begun_round = time.monotonic()
        if until is not None and turn and begun_round + longest > until:
            print(f"{turn - 1} of {rounds} rounds: no time is left for more", flush=True)
            break
        for name in list(times):
            gc.collect()
            before()
            try:
                begun = time.perf_counter()
                result = calls[name]()
                after()
                taken = time.perf_counter() - begun
            except Exception as error:
                print(f"{name}: left out: {one_line(error)}", file=sys.stderr, flush=True)
                del times[name]
                continue
            del result
            if turn:
                times[name].append(taken)
        longest = max(longest, time.monotonic() - begun_round)
    return times


def table(title, times, size=None, against=None):
    """Print medians and minima, GB/s if there is a size, and how often `against` fits into each.
    What has no times is left out."""
    rows = []
    base = statistics.median(times[against]) if times.get(against) else None
    print(f"\n{title}")
    for name, taken in times.items():
        if not taken:
            continue
        median, least = statistics.median(taken), min(taken)
        row = {"name": name, "median_s": median, "least_s": least}
        line = f"  {name:36} {median * 1e3:10.3f} ms, at least {least * 1e3:10.3f}"
        if size:
            row["gb_per_s"] = size / median / 1e9
            line += f"  {size / median / 1e9:7.2f} GB/s"
        if base:
            row["ratio"] = base / median
            line += f"  {base / median:6.2f} x {against}"
        print(line, flush=True)
        rows.append(row)
    return {"title": title, "bytes": size, "rows": rows}


def write(path, results):
    if path:
        with open(path, "w") as file:
            json.dump(results, file, indent=1)
