# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""How long a model takes to become resident on a CUDA device, beside loading it decoded.

    python3 bench/python/resident_load.py [--layers N] [--runs N] [--folder FOLDER]

The matrices of a Llama-like decoder of 8 billion parameters, of so many layers, Gaussian bf16, from
a memory-backed file: in turn wcodec.torch.load_file() to the device, to memory that it allocates
and to memory that torch kept, and wcodec.Resident, which always allocates."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
import wcodec
import wcodec.torch

SHAPES = {
    "q": (4096, 4096),
    "k": (1024, 4096),
    "v": (1024, 4096),
    "o": (4096, 4096),
    "gate": (14336, 4096),
    "up": (14336, 4096),
    "down": (4096, 14336),
}
SIGMA = 0.02


def make(layers, path):
    tensors = {}
    for layer in range(layers):
        for name, shape in SHAPES.items():
            weights = torch.randn(shape, device="cuda") * SIGMA
            tensors[f"layers.{layer}.{name}"] = weights.bfloat16().cpu()
    wcodec.torch.save_file(tensors, path, level=1)
    return sum(2 * t.numel() for t in tensors.values())


def timed(body):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    result = body()
    torch.cuda.synchronize()
    return time.perf_counter() - begin, result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", default="/dev/shm")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "model.wcodec"
        size = make(options.layers, path)
        kept, fresh, made = [], [], []
        for run in range(options.runs + 1):
            torch.cuda.empty_cache()
            first, tensors = timed(lambda: wcodec.torch.load_file(path, device="cuda"))
            del tensors
            again, tensors = timed(lambda: wcodec.torch.load_file(path, device="cuda"))
            fixed, resident = timed(
                lambda: wcodec.Resident(path, device="cuda", framework="pt", form="fixed")
            )
            if run == 0:
                name = f"layers.{options.layers - 1}.down"
                assert torch.equal(resident.decode(name), tensors[name])
                print(f"{size / 1e9:.2f} GB, {16 * resident.nbytes / size:.3f} bits an element")
            else:
                kept.append(again)
                fresh.append(first)
                made.append(fixed)
            del tensors, resident
        least = statistics.median(kept)
        for name, taken in [("kept", kept), ("allocated", fresh), ("resident", made)]:
            t = statistics.median(taken)
            print(f"{name:10} {1e3 * t:8.1f} ms {size / t / 1e9:8.1f} GB/s {t / least:8.2f}")


if __name__ == "__main__":
    main()
