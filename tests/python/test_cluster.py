# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The simulator of loading over many GPUs, beside what was measured (bench/README.md), and by rules
that must hold whatever the rates are."""

import importlib.util
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
spec = importlib.util.spec_from_file_location("cluster", TOP / "bench/cluster.py")
cluster = importlib.util.module_from_spec(spec)
sys.modules["cluster"] = cluster  # dataclasses look for it
spec.loader.exec_module(cluster)

SIZE, RATIO = 8.59, 0.6614  # GB of Gaussian bf16 in the page cache


def ways(gpus, task, ratio, **options):
    made = cluster.Cluster(gpus=gpus)
    return {way.name: way for way in cluster.TASKS[task](made, SIZE, ratio, **options)}


def test_one_gpu():
    """wcodec_load() took 106.4 to 109.3 ms, the raw file 158.2 to 161.2."""
    coded = cluster.best(cluster.Cluster(gpus=1), "replicated", SIZE, RATIO, warm=True)
    raw = cluster.best(cluster.Cluster(gpus=1), "replicated", SIZE, 1, warm=True)
    # The bus alone, or memory where it is as slow: both at once lose some per cent.
    assert coded.seconds == pytest.approx(0.1069, rel=0.1)
    assert raw.seconds == pytest.approx(0.159, rel=0.1)


def test_two_gpus():
    """Of one GPU's load alone: all to each 1.74 (on H100s 1.67), half to each 0.86, a copy to each
    by halves 0.87."""
    alone = 0.1128
    each = ways(2, "replicated", RATIO, warm=True)["each GPU its own copy"]
    half = ways(2, "sharded", RATIO, warm=True)["each GPU its part"]
    parts = ways(2, "replicated", RATIO, warm=True)["parts, decoded, over links"]
    assert each.seconds / alone == pytest.approx(1.74, rel=0.05)
    assert each.longest == half.longest == parts.longest == "memory"
    assert half.seconds / alone == pytest.approx(0.86, rel=0.05)
    assert parts.seconds / alone == pytest.approx(0.87, rel=0.05)
    # Copying a half over a link took 0.10 of it where both do so at once.
    assert parts.stages["link"] / alone == pytest.approx(0.10, rel=0.1)


def test_saving():
    """16 cores code 8.59 GB at some 12 GB/s; a GPU at 1276."""
    found = {way.name: way for way in cluster.saved(cluster.Cluster(gpus=1), SIZE, RATIO)}
    assert found["coded by cores"].stages["coding"] == pytest.approx(0.735, rel=0.01)
    assert found["coded by GPUs"].stages["coding"] == pytest.approx(0.0067, rel=0.01)


def test_rules():
    """Coded is never slower than raw by more than decoding takes; faster stages never make a way
    slower; no way beats its bounds."""
    source = random.Random(7)
    for _ in range(300):
        rates = {
            name: 10 ** source.uniform(0, 4)
            for name in ("store", "disk", "network", "memory", "bus", "link", "decode")
        }
        gpus = source.choice([1, 2, 3, 8, 9, 64, 512])
        made = cluster.Cluster(gpus=gpus, **rates)
        size, ratio = 10 ** source.uniform(0, 3), source.uniform(0.1, 0.99)
        for task in ("replicated", "sharded"):
            for warm in (False, True):
                raw = cluster.best(made, task, size, 1, warm=warm)
                coded = cluster.best(made, task, size, ratio, warm=warm)
                assert coded.seconds <= max(raw.seconds, size / made.decode) * 1.000001
                if not warm:
                    host = size * (1 if task == "replicated" else made.local / gpus)
                    assert raw.seconds * made.disk * made.hosts >= host * 0.999999
                faster = cluster.Cluster(gpus=gpus, **{**rates, "bus": 2 * rates["bus"]})
                again = cluster.best(faster, task, size, ratio, warm=warm)
                assert again.seconds <= coded.seconds


def test_command():
    made = subprocess.run(
        [sys.executable, TOP / "bench/cluster.py", "--gpus", "8", "--store", "50", "--disk", "5"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(r"(?m)^ +8 replicated +28\.200 store +18\.640 store +0\.66", made.stdout)
    bad = subprocess.run(
        [sys.executable, TOP / "bench/cluster.py", "--gpus", "x"], capture_output=True, text=True
    )
    assert bad.returncode == 2 and "invalid int value" in bad.stderr
