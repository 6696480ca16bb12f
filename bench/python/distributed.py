# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints of torch.distributed by one process, beside torch's own safetensors ones, and the
stream of tensors that serving programs take.

    python bench/python/distributed.py [--tensors N] [--rounds N] [--json OUT]

WCODEC_LIBRARY names the library; PYTHONPATH has python/, or the package is installed.
"""

import argparse
import logging
import os
import tempfile
import warnings

import torch
import torch.distributed.checkpoint as dcp
from timing import in_turns, table, write
from torch.distributed.checkpoint.hf_storage import (
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
)
from wcodec.engines._weights import weights
from wcodec.engines.distributed import WcodecStorageReader, WcodecStorageWriter
from wcodec.torch import load_file


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tensors", type=int, default=40, help="of 4 MiB of bf16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.manual_seed(0)
    state = {
        f"layers.{i}.weight": (torch.randn(1024, 2048) * 0.02).bfloat16()
        for i in range(options.tensors)
    }
    target = {name: torch.zeros_like(tensor) for name, tensor in state.items()}
    size = sum(tensor.nbytes for tensor in state.values())
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = os.path.join(folder, "plain"), os.path.join(folder, "packed")
        saves = {
            "torch": lambda: dcp.save(state, storage_writer=HuggingFaceStorageWriter(plain)),
            "wcodec, level 1": lambda: dcp.save(
                state, storage_writer=WcodecStorageWriter(packed, level=1)
            ),
        }
        loads = {
            "torch": lambda: dcp.load(target, storage_reader=HuggingFaceStorageReader(plain)),
            "wcodec": lambda: dcp.load(target, storage_reader=WcodecStorageReader(packed)),
            "wcodec, load_file": lambda: load_file(packed),
            "wcodec, as a stream": lambda: sum(1 for _ in weights(packed)),
        }
        results = [
            table("dcp.save", in_turns(saves, options.rounds), size, "torch"),
            table("dcp.load", in_turns(loads, options.rounds), size, "torch"),
        ]
        dcp.load(target, storage_reader=WcodecStorageReader(packed))
        if not all(torch.equal(target[name], tensor) for name, tensor in state.items()):
            raise SystemExit("what was loaded differs")
    write(options.json, results)


if __name__ == "__main__":
    main()
