# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""How gpu.py loads a file, by wcodec and by the others: each as its documentation shows, with
tensors that outlive the file. Where one of them can keep threads and buffers for the next load, as
wcodec does, there is a row for that too.

    python gpu_peers.py NAME PLAIN PACKED DEVICE

loads once, and compares all tensors with those of safetensors: a process of its own, since a loader
that fails may end it.
"""

import functools
import importlib.metadata
import os
import subprocess
import sys

import safetensors.torch
import torch
import wcodec.torch

# Files are in the page cache: it shall be used. InstantTensor's rows say the same by its backends.
os.environ.setdefault("FASTSAFETENSORS_ODIRECT", "0")


def by_wcodec(path, device):
    return wcodec.torch.load_file(path, device=device)


def by_safetensors(path, device):
    return safetensors.torch.load_file(path, device=str(device))


def by_fastsafetensors(path, device):
    from fastsafetensors import fastsafe_open

    with fastsafe_open(filenames=[path], device=str(device), nogds=True) as f:
        return {name: f.get_tensor(name) for name in f.keys()}  # noqa: SIM118


@functools.cache
def fast_loader(device):
    from fastsafetensors import SafeTensorsFileLoader

    return SafeTensorsFileLoader(None, str(device), nogds=True)


def by_fastsafetensors_kept(path, device):
    loader = fast_loader(device)
    loader.add_filenames({0: [path]})
    buffers = loader.copy_files_to_device()
    try:
        return {name: buffers.get_tensor(name) for name in loader.get_keys()}
    finally:
        buffers.close()
        loader.reset()


def by_runai(path, device):
    from runai_model_streamer import SafetensorsStreamer

    loaded = {}
    with SafetensorsStreamer() as streamer:
        streamer.stream_file(path, device=str(device))
        for name, tensor in streamer.get_tensors():
            # Of the host its buffer, which is used again, is given.
            loaded[name] = tensor.clone() if device.type == "cpu" else tensor.to(device)
    return loaded


def by_instanttensor(path, device, backend=None):
    from instanttensor import safe_open

    with safe_open(path, framework="pt", device=device, backend=backend) as f:
        return dict(f.tensors())


def by_instanttensor_buffered(path, device):
    from instanttensor import BackendPolicy

    return by_instanttensor(path, device, BackendPolicy.BUFFERED)


PEERS = {
    "safetensors": by_safetensors,
    "fastsafetensors": by_fastsafetensors,
    "fastsafetensors, loader kept": by_fastsafetensors_kept,
    "Run:ai streamer": by_runai,
    "InstantTensor": by_instanttensor,
    "InstantTensor, buffered": by_instanttensor_buffered,
}

PACKAGES = ["safetensors", "fastsafetensors", "runai-model-streamer", "instanttensor"]


def versions():
    found = []
    for package in [*PACKAGES, "transformers"]:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def difference(loaded, expected):
    """What differs first; None: nothing."""
    if loaded.keys() != expected.keys():
        return "other names"
    for name, tensor in expected.items():
        mine = loaded[name]
        if mine.dtype != tensor.dtype or mine.shape != tensor.shape:
            return f"{name} is {mine.dtype} {tuple(mine.shape)}"
        if mine.device != tensor.device:
            return f"{name} is on {mine.device}"
        if not torch.equal(mine.flatten().view(torch.uint8), tensor.flatten().view(torch.uint8)):
            return f"{name} has other bytes"
    return None


def works(plain, packed, device, seconds=120):
    """Which of all loaders load a small file here: {name: None, or why not}."""
    processes = {
        name: subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), name, plain, packed, str(device)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        for name in ["wcodec", *PEERS]
    }
    found = {}
    for name, process in processes.items():
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            found[name] = f"no result after {seconds} s"
            continue
        lines = said.strip().splitlines() or ["nothing was said"]
        found[name] = None
        if process.returncode:
            found[name] = f"exit code {process.returncode}: {lines[-1][:300]}"
    return found


def main(name, plain, packed, device):
    device = torch.device(device)
    expected = by_safetensors(plain, device)
    for _ in range(2):
        loaded = by_wcodec(packed, device) if name == "wcodec" else PEERS[name](plain, device)
        if device.type == "cuda":
            torch.cuda.synchronize()
        differs = difference(loaded, expected)
        if differs:
            sys.exit(f"its tensors are not those of safetensors: {differs}")
        del loaded


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # what a loader does at the end of the process does not count
