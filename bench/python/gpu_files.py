# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The files that gpu.py loads: random weights made on the device, and written as they are made."""

import json
import math
import os
import shutil
import tempfile
import time

import torch
import wcodec

KINDS = {"bf16": ("BF16", 2), "f32": ("F32", 4), "i8": ("I8", 1)}


def folder_for(wanted):
    """The folder that was named; else the first of /dev/shm and the one for temporary files with
    room, in bytes, for what is wanted."""
    places = ["/dev/shm", tempfile.gettempdir()]
    room = {place: shutil.disk_usage(place).free for place in places if os.path.isdir(place)}
    found = next((place for place, free in room.items() if free > wanted), None)
    if found is None:
        found = max(room, key=room.get)
        print(f"{wanted / 1e9:.0f} GB are needed, and {found} has {room[found] / 1e9:.0f}")
    return os.path.join(found, "wcodec-bench")


def file_system(folder):
    """The type of file system that a folder is on, such as tmpfs."""
    best, kind = "", "unknown"
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            left, _, right = line.partition(" - ")
            place = left.split()[4]
            inside = os.path.realpath(folder).startswith(place.rstrip("/") + "/")
            if inside and len(place) >= len(best):
                best, kind = place, right.split()[0]
    return kind


def few(gigabytes):
    """64 tensors of bf16: names, kinds and shapes."""
    columns = 8192 if gigabytes >= 1 else 256
    rows = max(int(gigabytes * 1e9 / 64 / 2 / columns), 1)
    return [(f"w{i:02}", "bf16", (rows, columns)) for i in range(64)]


def many(gigabytes):
    """2,000 tensors, sizes log-uniform from 4 KiB to 64 MiB, a third of the bytes each in bf16, f32
    and int8: types by turns of what has the fewest bytes. In a small trial up to 64 KiB."""
    choose = torch.Generator().manual_seed(2)
    low, high = math.log(4 << 10), math.log(64 << (20 if gigabytes >= 1 else 10))
    exponents = low + torch.rand(2000, generator=choose) * (high - low)
    held, plan = dict.fromkeys(KINDS, 0), []
    for i, exponent in enumerate(exponents.tolist()):
        size = int(math.exp(exponent)) // 1024 * 1024
        kind = min(held, key=held.get)
        held[kind] += size
        plan.append((f"t{i:04}", kind, (size // KINDS[kind][1],)))
    return plan


def values(kind, count, generator):
    made = torch.randn(count, generator=generator, device=generator.device)
    if kind == "i8":
        return (made * 24).round_().clamp_(-127, 127).to(torch.int8)
    made *= 0.02
    return made.bfloat16() if kind == "bf16" else made


def write_plain(path, plan, device, seed):
    """A safetensors file of a plan, each tensor written when it is made. Data is in the order of
    decreasing sizes of elements, as safetensors writes it."""
    plan = sorted(plan, key=lambda t: (-KINDS[t[1]][1], t[0]))
    header, at = {}, 0
    for name, kind, shape in plan:
        dtype, size = KINDS[kind]
        end = at + math.prod(shape) * size
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    generator = torch.Generator(device).manual_seed(seed)
    with open(path + ".part", "wb", buffering=0) as file:
        data = [len(text).to_bytes(8, "little") + text]
        for _, kind, shape in plan:
            made = values(kind, math.prod(shape), generator)
            data.append(made.view(torch.uint8).cpu().numpy())
            while data:
                left = memoryview(data.pop(0)).cast("B")
                while left:
                    left = left[file.write(left) :]
    os.rename(path + ".part", path)


def make(folder, name, plan, device, seed):
    """The two files of a plan, in the page cache; those of that name that are there are kept."""
    plain = os.path.join(folder, f"{name}.safetensors")
    packed = f"{plain}.wcodec"
    begun = time.monotonic()
    if not os.path.exists(plain):
        write_plain(plain, plan, device, seed)
    made = time.monotonic()
    if not os.path.exists(packed):
        # Nothing is verified: every tensor is compared below.
        wcodec.compress(plain, packed + ".part", force=True, verify=False)
        os.rename(packed + ".part", packed)
    packed_at = time.monotonic()
    read(plain, packed)
    print(
        f"\n{plain}: {os.path.getsize(plain) / 1e9:.2f} GB, made in {made - begun:.1f} s, "
        f"compressed in {packed_at - made:.1f}, read in {time.monotonic() - packed_at:.1f}",
        flush=True,
    )
    return plain, packed


def read(*paths):
    """Into the page cache."""
    buffer = memoryview(bytearray(16 << 20))
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
