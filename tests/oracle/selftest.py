#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The oracle against itself and the golden files: known hashes, frames, files of the random encoder, damage that it must see."""
import math
import os
import random
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import encode
import lossy
import xxh3
import zstd
from common import WcodecError
from decode import Container

GOLDEN = os.path.join(here, "..", "golden")


def golden():
    with open(os.path.join(GOLDEN, "SUMS")) as f:
        sums = [line.split() for line in f]
    for digest, name in sums:
        with open(os.path.join(GOLDEN, name), "rb") as f:
            out = Container(f.read()).decode_all()
        if "%032x" % xxh3.xxh3_128(out) != digest:
            sys.exit("golden file %s decodes to something else" % name)
    listed = {name for _, name in sums}
    missing = [n for n in os.listdir(GOLDEN) if n.endswith(".wcodec") and n not in listed]
    if missing or not sums:
        sys.exit("golden files that SUMS does not list: %s" % missing)
    return len(sums)


def frames(rng):
    for size in (0, 1, 2, 300, 65536 + 256, 131072, 131073, 300000):
        for data in (bytes(size), rng.randbytes(size)):
            if zstd.decode(zstd.encode(data), size) != data:
                sys.exit("zstd frame of %d bytes" % size)


def damage(rng, seed):
    """Any flip must give an error or the same bytes."""
    data, original = encode.random_file(seed, sizes=(1, 100, 129))
    errors = 0
    for _ in range(150):
        bad = bytearray(data)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        try:
            if Container(bytes(bad)).decode_all() != original:
                sys.exit("seed %d: damage was not seen" % seed)
        except WcodecError:
            errors += 1
    if errors < 100:
        sys.exit("seed %d: only %d of 150 flips were seen" % (seed, errors))


def exact(mode, order, q):
    """The 64 numbers of a block in double precision, from the definitions."""
    if mode == lossy.DCT:
        basis = [[(math.sqrt(0.125) if k == 0 else 0.5) * math.cos((2 * n + 1) * k * math.pi / 16) for n in range(8)] for k in range(8)]
    else:
        basis = [[0.5 * math.sin((2 * n + 1) * (2 * k + 1) * math.pi / 32) for n in range(8)] for k in range(8)]
    out = [0.0] * 64
    for (v, u), c in zip(lossy.ORDERS[order], q):
        for i in range(64):
            out[i] += 64 * c * basis[v][i // 8] * basis[u][i % 8]
    return out


def transforms(rng):
    """The integers' errors: of rounding, 1.5 of 64 units, and with large coefficients of the constants' 12 bits."""
    if [8 * y + x for y, x in lossy.ORDERS[0][:7] + lossy.ORDERS[0][-2:]] != [0, 1, 8, 16, 9, 2, 3, 62, 63] or any(len(set(o)) != 64 for o in lossy.ORDERS):
        sys.exit("orders of coefficients")
    for mode in (lossy.DCT, lossy.ADST):
        for most, allowed in ((2, 2.0), (30, 2.0), (2000, 40.0)):
            squares = 0.0
            for _ in range(20):
                order = rng.randrange(4)
                q = [rng.randint(-most, most) for _ in range(64)]
                squares += sum((a - b) ** 2 for a, b in zip(lossy.inverse(mode, order, q), exact(mode, order, q)))
            if math.sqrt(squares / 1280) > allowed:
                sys.exit("transform %d is off by %.2f of 64 units" % (mode, math.sqrt(squares / 1280)))


def main():
    seed = int(os.environ.get("WCODEC_TEST_SEED", "1"), 0)
    print("seed", seed)
    rng = random.Random(seed)
    xxh3.self_test()
    frames(rng)
    transforms(rng)
    print(golden(), "golden files")
    for s in range(seed, seed + 25):
        data, original = encode.random_file(s)
        if Container(data).decode_all() != original:
            sys.exit("seed %d: decoded bytes differ" % s)
    damage(rng, seed)
    damage(rng, seed + 1)
    print("right")


if __name__ == "__main__":
    main()
