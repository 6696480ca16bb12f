#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Memory that is not there: each allocation fails once, in decoding and in compressing; and hostile files must not make the library take much."""
import random
import struct
import sys

import cases
import encode
from server import Server
from xxh3 import xxh3_128


def failing(server):
    for seed in (1, 2):
        data, original = encode.random_file(seed, sizes=(100, 129))
        words = server.ask("f", data)
        if words[:2] != ["ok", "%032x" % xxh3_128(original)] or int(words[2]) < 5:
            sys.exit("decoding with failing allocations: %s" % words)
        print("decoding: %s allocations failed in turn" % words[2])
    for name, original in originals():
        words = server.ask("c", original)
        if words[:2] != ["ok", "%032x" % xxh3_128(original)] or int(words[2]) < 5:
            sys.exit("compressing with failing allocations: %s" % words)
        print("compressing %s: %s allocations failed in turn" % (name, words[2]))


def originals():
    rng = random.Random(4)
    yield "text", b"opaque bytes " * 300
    weights = b"".join(struct.pack("<H", (int(rng.gauss(125, 1.5)) << 7 | rng.getrandbits(7)) & 0xFFFF) for _ in range(6000))
    entries = [encode.constant_entry(b"\1\2", 50, name="c", dtype="U8", shape=(100,)), encode.Entry(weights, 2, b"", name="w", dtype="BF16", shape=(60, 100)),
               encode.Entry(weights[:200], 2, b"", name="v", dtype="F16", shape=(100,))]
    yield "tensors", encode.safetensors_blob(entries).data + b"".join(e.data for e in entries)


def hostile(server):
    """Opening may take memory in proportion to the index as stored, times 256 and a few MiB, however much the file claims."""
    count = 0
    for name, expected, data, _ in cases.cases():
        if name.startswith(("index", "record", "tail", "varint", "parameters", "four", "tiles of", "chunks of")):
            words = server.ask("o", data, struct.pack("<Q", 256 * len(data) + (8 << 20)))
            count += 1
            if words[0] != "ok" and words[0] != "open":
                sys.exit("%s: %s" % (name, words))
    print("%d hostile files opened within their memory" % count)


def main():
    server = Server()
    failing(server)
    hostile(server)
    server.close()


if __name__ == "__main__":
    main()
