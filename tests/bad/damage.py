#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Every single-bit flip and every truncation of a small file that holds every coding: an error, or the same bytes. Then golden files with random damage;
with WCODEC_TEST_EXHAUSTIVE in the environment every flip and every truncation of each of them too. The quick form, and sanitizers, which look for what
reading does and not for what it finds, see one bit of every byte of the small file, and less of the others, without that."""
import os
import random
import sys

import cases
from common import is_quick
from server import Server
from xxh3 import xxh3_128

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")


def main():
    seed = int(os.environ.get("WCODEC_TEST_SEED", "1"), 0)
    exhaustive = "WCODEC_TEST_EXHAUSTIVE" in os.environ
    some = (is_quick() or bool(os.environ.get("SANITIZER_FLAGS"))) and not exhaustive
    print("seed", seed)
    server = Server()
    data, original = cases.every_coding()
    digest = "%032x" % xxh3_128(original)
    if server.kind(data) != ("ok", digest):
        sys.exit("the file as it should be: %s" % (server.kind(data),))
    every_damage(server, "every coding", data, digest, range(len(data)), some)
    data, original = cases.every_coding(front=True)
    every_damage(server, "index in front", data, "%032x" % xxh3_128(original), range(0, len(data), 1 if exhaustive else 7), some)
    golden(server, random.Random(seed), exhaustive, 25 if some else 100)
    server.close()


def every_damage(server, name, data, digest, places=None, some=False):
    """All flips and truncations of one file, or those at some bytes; or one of the flips of each byte, and a third of the truncations."""
    unseen, bad = [], bytearray(data)
    places = range(len(data)) if places is None else places
    flips = [8 * at + k for at in places for k in ([at * 5 % 8] if some else range(8))]
    for bit in flips:
        bad[bit >> 3] ^= 1 << (bit & 7)
        kind, text = server.kind(bytes(bad))
        if kind == "ok":
            unseen.append(bit >> 3)
            if text != digest:
                sys.exit("%s: bit %d flipped: other bytes come back" % (name, bit))
        bad[bit >> 3] ^= 1 << (bit & 7)
    if len(unseen) > len(data):
        sys.exit("%s: %d of %d flips were not seen" % (name, len(unseen), len(flips)))
    cuts = places[::3] if some else places
    for n in cuts:
        if server.kind(data[:n])[0] != "corrupt":
            sys.exit("%s: cut to %d bytes: %s" % (name, n, server.kind(data[:n])))
    print("%s: %d flips (%d in bytes that are ignored), %d truncations" % (name, len(flips), len(unseen), len(cuts)))


def golden(server, rng, exhaustive, rounds):
    with open(os.path.join(GOLDEN, "SUMS")) as f:
        sums = [line.split() for line in f]
    for digest, name in sums:
        with open(os.path.join(GOLDEN, name), "rb") as f:
            data = f.read()
        if server.kind(data) != ("ok", digest):
            sys.exit("golden file %s: %s" % (name, server.kind(data)))
        for _ in range(rounds):
            bad = bytearray(data)
            at, length = rng.randrange(len(bad)), rng.choice([1, 1, 2, 8, 64])
            bad[at:at + length] = rng.randbytes(len(bad[at:at + length]))
            kind, text = server.kind(bytes(bad))
            if kind == "ok" and text != digest:
                sys.exit("golden file %s, damaged at %d: other bytes come back" % (name, at))
        if exhaustive:
            every_damage(server, name, data, digest)
    print("%d golden files" % len(sums))


if __name__ == "__main__":
    main()
