# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Times of several calls side by side: in turns, so that what disturbs one disturbs all."""

import gc
import json
import statistics
import sys
import time


def in_turns(calls, rounds, before=lambda: None, after=lambda: None):
    """Seconds of each call in each round, {name: [..]}; one round before that is not counted. A
    call that raises is left out, and the reason printed."""
    times = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name in list(times):
            gc.collect()
            before()
            try:
                begun = time.perf_counter()
                result = calls[name]()
                after()
                taken = time.perf_counter() - begun
            except Exception as error:
                print(f"{name}: left out: {type(error).__name__}: {error}", file=sys.stderr)
                del times[name]
                continue
            del result
            if turn:
                times[name].append(taken)
    return times


def table(title, times, size=None, against=None):
    """Print medians and minima, GB/s if there is a size, and how often `against` fits into each."""
    rows = []
    base = statistics.median(times[against]) if against in times else None
    print(f"\n{title}")
    for name, taken in times.items():
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
