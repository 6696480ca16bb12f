# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""How long tensors in a CUDA device's memory take to a memory-backed file, beside torch.save() and
safetensors.

    python3 bench/python/save.py [--gigabytes N] [--rounds N] [--limit SECONDS] [--folder FOLDER]

Matrices of Gaussian bf16. Nobody syncs the file: torch and safetensors do not either."""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import safetensors.torch
import timing
import torch
import wcodec
import wcodec.torch

SIGMA = 0.02
ROWS, COLUMNS = 8192, 4096


def model(gigabytes):
    count = max(1, round(gigabytes * 1e9 / (2 * ROWS * COLUMNS)))
    return {
        f"layers.{i}.weight": (torch.randn(ROWS, COLUMNS, device="cuda") * SIGMA).bfloat16()
        for i in range(count)
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=8.59)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120, help="seconds for all rounds, about")
    parser.add_argument("--folder", default="/dev/shm")
    options = parser.parse_args()
    tensors = model(options.gigabytes)
    size = sum(2 * t.numel() for t in tensors.values())
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "model"
        coded = Path(folder) / "model.wcodec"

        def forget():
            torch.cuda.synchronize()
            for name in (path, coded):
                name.unlink(missing_ok=True)

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wcodec.torch.save_file(tensors, coded, level=1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        name = f"layers.{len(tensors) - 1}.weight"
        assert torch.equal(
            wcodec.torch.load_file(coded, device="cuda", names=[name])[name], tensors[name]
        )
        ratio = size / os.path.getsize(coded)
        print(f"{size / 1e9:.2f} GB, ratio {ratio:.3f}, host memory {peak / 1024:.0f} MiB more")
        calls = {
            "wcodec, level 3": lambda: wcodec.torch.save_file(tensors, coded),
            "wcodec, level 1": lambda: wcodec.torch.save_file(tensors, coded, level=1),
            "level 1, no verification": lambda: wcodec.torch.save_file(
                tensors, coded, level=1, verify=False
            ),
            "torch.save()": lambda: torch.save(tensors, path),
            "safetensors": lambda: safetensors.torch.save_file(tensors, path),
        }
        until = time.monotonic() + options.limit
        times = timing.in_turns(calls, options.rounds, before=forget, until=until)
        timing.table("from the device to a file", times, size, "torch.save()")


if __name__ == "__main__":
    main()
