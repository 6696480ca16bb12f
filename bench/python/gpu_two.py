# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""One file to two CUDA devices, by a process for each over NCCL: wcodec.distributed beside one
device's load, and beside InstantTensor with its process group, if that is installed.

    torchrun --nproc-per-node 2 bench/python/gpu_two.py PACKED PLAIN [ROUNDS]

Medians of rounds in turns, and what the first load of each way took in this process, which makes
connections and pins staging memory; every way is compared with safetensors' tensors first.
"""

import functools
import statistics
import sys
import time

import torch
import torch.distributed as dist
from safetensors.torch import load_file as by_safetensors
from wcodec import distributed
from wcodec.torch import load_file


def equal(mine, expected):
    return mine.shape == expected.shape and torch.equal(
        mine.contiguous().view(torch.uint8), expected.contiguous().view(torch.uint8)
    )


def by_instanttensor(path, device, group):
    from instanttensor import safe_open

    with safe_open(path, framework="pt", device=device, process_group=group) as f:
        return dict(f.tensors())


def into_fsdp(packed, plain, device):
    """load_into() of DTensors cut by rows, as fully_shard() cuts them."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, empty

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    state = {
        name: empty(*tensor.shape, dtype=tensor.dtype, device_mesh=mesh, placements=[Shard(0)])
        for name, tensor in plain.items()
    }
    distributed.load_into(state, packed)
    rank, world = dist.get_rank(), dist.get_world_size()
    for name, tensor in plain.items():
        if not equal(state[name].to_local(), torch.chunk(tensor, world)[rank]):
            raise SystemExit(f"load_into(): {name} differs")
    return state


def main(packed, plain, rounds=5):
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    expected = by_safetensors(plain, device=str(device))
    size = sum(tensor.nbytes for tensor in expected.values())

    def one():
        return load_file(packed, device=device) if rank == 0 else {}

    ways = {
        "wcodec, one device": (one, None),
        "replicated": (lambda: distributed.load(packed, device=device), None),
        "rows": (lambda: distributed.load(packed, plan={"*": 0}, device=device), 0),
        "columns": (lambda: distributed.load(packed, plan={"*": 1}, device=device), 1),
        "load_into() of DTensors": (functools.partial(into_fsdp, packed, expected, device), -1),
        "InstantTensor, its group": (
            functools.partial(by_instanttensor, plain, device, dist.group.WORLD),
            None,
        ),
    }
    times, first = {}, {}
    for name, (load, cut) in list(ways.items()):
        begun = time.perf_counter()
        try:
            found = load()
            torch.cuda.synchronize()
        except Exception as error:
            print(f"rank {rank}: {name}: {type(error).__name__}: {error}", flush=True)
            found = None
        first[name] = time.perf_counter() - begun
        failed = torch.tensor([found is None], dtype=torch.int32, device=device)
        dist.all_reduce(failed)
        if failed.item():
            del ways[name]
            continue
        for key, tensor in found.items() if cut != -1 else ():
            part = expected[key] if cut is None else torch.chunk(expected[key], world, cut)[rank]
            if not equal(tensor, part):
                raise SystemExit(f"rank {rank}: {name}: {key} differs")
        times[name] = []
        del found
    ways.pop("load_into() of DTensors", None)  # which compares as it goes
    del expected
    for _ in range(rounds):
        for name, (load, _cut) in ways.items():
            dist.barrier()
            torch.cuda.synchronize()
            begun = time.perf_counter()
            found = load()
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            times[name].append(time.perf_counter() - begun)
            del found
    if rank == 0:
        base = statistics.median(times["wcodec, one device"])
        for name in ways:
            median = statistics.median(times[name])
            print(
                f"{name:28} {median * 1e3:9.1f} ms, {size / median / 1e9:6.1f} GB/s of the file,"
                f" {median / base:.3f} of one device's ({min(times[name]) * 1e3:.1f} to"
                f" {max(times[name]) * 1e3:.1f} ms; the first {first[name] * 1e3:.0f})",
                flush=True,
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
