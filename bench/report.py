# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""usage: python3 bench/report.py [PAGE.html...]

How long pages of `wcodec report` take to load in headless Chromium, from the disk to the last
chart. Without arguments: a page of 2,000 tensors, which is made first (its time is shown too).
Needs wcodec with its extra "report", playwright, and a Chromium of the system.
"""

import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

LOADS = 9
PARTS = "q k v o gate up down norm bias router".split()


def make_page(folder):
    """A page of 2,000 tensors of Gaussian weights, 4 to 256 KiB, a third each of three dtypes."""
    import numpy
    import wcodec
    from wcodec import report

    sizes, generator = random.Random(5), numpy.random.default_rng(5)
    header, data = {}, []
    at = 0
    for i in range(2000):
        rows = int(4096 * 64 ** sizes.random()) // 256
        values = generator.standard_normal((rows, 64), dtype="f4") * 0.02
        dtype = ("BF16", "F32", "I8")[i % 3]
        if dtype == "BF16":
            values = (values.view("u4") >> 16).astype("u2")
        elif dtype == "I8":
            values = numpy.round(values * 1500).clip(-127, 127).astype("i1")
        content = values.tobytes()
        header[f"model.layers.{i // 10}.{PARTS[i % 10]}.weight"] = {
            "dtype": dtype,
            "shape": [rows, 64],
            "data_offsets": [at, at + len(content)],
        }
        at += len(content)
        data.append(content)
    text = json.dumps(header).encode()
    plain = folder / "model.safetensors"
    plain.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data))
    packed = wcodec.compress(plain)["output"]
    begin = time.perf_counter()
    found = report.collect([packed])
    collected = time.perf_counter()
    page = folder / "report.html"
    page.write_bytes(report.make_page(found))
    print(
        f"made: {at / 1e6:.0f} MB of tensors read in {collected - begin:.2f} s, "
        f"page in {time.perf_counter() - collected:.2f} s"
    )
    return page


def load(browser, page):
    """Milliseconds from the navigation to the last chart."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.goto(page.resolve().as_uri())
    tab.wait_for_selector("body[data-drawn]", state="attached")
    drawn = tab.evaluate("performance.getEntriesByName('drawn')[0].startTime")
    context.close()
    return drawn


def main(paths):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as run:
        pages = [Path(path) for path in paths] or [make_page(Path(folder))]
        browser = run.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for page in pages:
            times = sorted(load(browser, page) for _ in range(LOADS))
            print(
                f"{page.name}: {page.stat().st_size:,} bytes, drawn after {times[0]:.0f} ms at "
                f"least, {statistics.median(times):.0f} in the median of {LOADS}"
            )
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
