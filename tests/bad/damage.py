#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Every single-bit flip and every truncation of a small file that holds every coding: an error, or the same bytes. Then golden files with random damage."""
import os
import random
import sys

import cases
from server import Server
from xxh3 import xxh3_128

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")


def main():
    seed = int(os.environ.get("WCODEC_TEST_SEED", "1"), 0)
    print("seed", seed)
    server = Server()
    data, original = cases.every_coding()
    digest = "%032x" % xxh3_128(original)
    if server.kind(data) != ("ok", digest):
        sys.exit("the file as it should be: %s" % (server.kind(data),))
    unseen, bad = [], bytearray(data)
    for bit in range(8 * len(data)):
        bad[bit >> 3] ^= 1 << (bit & 7)
        kind, text = server.kind(bytes(bad))
        if kind == "ok":
            unseen.append(bit >> 3)
            if text != digest:
                sys.exit("bit %d flipped: other bytes come back" % bit)
        bad[bit >> 3] ^= 1 << (bit & 7)
    if len(unseen) > len(data):
        sys.exit("%d of %d flips were not seen" % (len(unseen), 8 * len(data)))
    for n in range(len(data)):
        if server.kind(data[:n])[0] != "corrupt":
            sys.exit("cut to %d bytes: %s" % (n, server.kind(data[:n])))
    print("%d flips (%d in bytes that are ignored), %d truncations" % (8 * len(data), len(unseen), len(data)))
    golden(server, random.Random(seed))
    server.close()


def golden(server, rng):
    with open(os.path.join(GOLDEN, "SUMS")) as f:
        sums = [line.split() for line in f]
    for digest, name in sums:
        with open(os.path.join(GOLDEN, name), "rb") as f:
            data = f.read()
        if server.kind(data) != ("ok", digest):
            sys.exit("golden file %s: %s" % (name, server.kind(data)))
        for _ in range(100):
            bad = bytearray(data)
            at, length = rng.randrange(len(bad)), rng.choice([1, 1, 2, 8, 64])
            bad[at:at + length] = rng.randbytes(len(bad[at:at + length]))
            kind, text = server.kind(bytes(bad))
            if kind == "ok" and text != digest:
                sys.exit("golden file %s, damaged at %d: other bytes come back" % (name, at))
    print("%d golden files" % len(sums))


if __name__ == "__main__":
    main()
