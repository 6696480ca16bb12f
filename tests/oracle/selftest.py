#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The oracle against itself and the golden files: known hashes, frames, files of the random encoder, damage that it must see."""
import os
import random
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import encode
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


def main():
    seed = int(os.environ.get("WCODEC_TEST_SEED", "1"), 0)
    print("seed", seed)
    rng = random.Random(seed)
    xxh3.self_test()
    frames(rng)
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
