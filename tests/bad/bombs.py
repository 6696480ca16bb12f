#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files of at most 1 MiB that decode to, or claim, as much as they can: none takes more memory than SECURITY.md says, and with --memory-limit none takes
more than that limit and what a process has anyway.

usage: bombs.py [-v]      of the build in $top_builddir; -v shows all figures"""
import os
import random
import struct
import subprocess
import sys
import tempfile

import linear
from linear import MIB, encode, make

# What the command has without any file.
PROCESS = 12 * MIB
LIMIT = 64 * MIB
NOISE = bytes(c & 63 | 64 for c in random.Random(1).randbytes(1_330_000))


def index(count, record, metadata=b"", size=None, noise=NOISE):
    """A file of nothing but an index, whose bytes of noise make it as large as the rest of it has to be. size: of what it decodes to."""
    text = encode.string("k") + encode.string(noise + metadata)
    body = b"\0" + encode.string("") + encode.varint(count if size is None else size) + bytes(16) + b"\0\0\1" + text + b"\0" + encode.varint(count) + record * count
    frame = subprocess.run(["zstd", "-q", "-c"], input=body, stdout=subprocess.PIPE, check=True).stdout
    return encode.container([], index=body, frame=frame)


def records(count):
    record = encode.constant_entry(b"\0", 1).encode()
    return index(count, encode.varint(len(record)) + record)


def anchored(dtype, columns, anchors):
    """512 MiB by anchors, all of whose parts are constant and as wide as they can be."""
    element = 4 if dtype == "F32" else 2
    rows = (512 << 20) // (element * columns)
    parameters = b"\1" + encode.varint(columns) + b"\1\2" + encode.varint(anchors) + bytes(4 + 24) + b"\0\0\3\1\0\0" + b"\0\0\5\2\0\0\0\0" + b"\0\0\3\1\0\0"
    record = encode.Entry(b"", 13, parameters, name="t", dtype=dtype, shape=(rows, columns)).encode()
    return index(1, encode.varint(len(record)) + record, size=512 << 20, noise=NOISE[:1000])


def zeros(folder, *options):
    """512 MiB of zeros, compressed."""
    path = os.path.join(folder, "zeros")
    text = b'{"t":{"dtype":"F32","shape":[134217728],"data_offsets":[0,536870912]}}'
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + (512 << 20))
    linear.run(["compress", "-f", "--no-sync", *options, "-o", "c", "zeros"], folder, False)
    os.remove(path)
    with open(os.path.join(folder, "c"), "rb") as f:
        return f.read()


def header(text):
    return struct.pack("<Q", len(text)) + text


READ = (["info", "c"], ["list", "c"], ["test", "c"], ["decompress", "-c", "c"], ["decompress", "--keep-going", "-f", "--no-sync", "-o", "d", "c"])
OPEN = (["info", "c"], ["test", "c"])
COMPRESS = (["compress", "-f", "--no-sync", "-o", "d", "c"],)
# name: (what makes it in a folder, commands, MiB that they may take without a limit)
BOMBS = {
    "a constant of 512 MiB": (zeros, READ, 32),
    "chunks of 512 MiB": (lambda folder: zeros(folder, "--raw"), READ, 32),
    "anchors of 4 MiB": (lambda _: anchored("F32", 64, 1 << 15), READ[:4], 32),
    "anchors of one column": (lambda _: anchored("BF16", 1, 1), READ[:4], 32),
    "an index of 1,250,000 entries": (lambda _: records(1_250_000), OPEN, 384),
    "240 MiB of metadata": (lambda _: index(0, b"", b"x" * (240 << 20)), OPEN, 768),
    "lists in a safetensors header": (lambda _: header(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":[' + b"[]," * 349000 + b"[]]}}"), COMPRESS, 128),
    "depth in a safetensors header": (lambda _: header(b"[" * 1048000), COMPRESS, 64),
    "a pickle of values": (lambda _: make.checkpoint(b"(" + b"K\1" * 500_000 + b"t0N", {}), COMPRESS, 128),
    "a pickle of lists": (lambda _: make.checkpoint(b"(" + b"]" * 1_000_000 + b"t0N", {}), COMPRESS, 256),
    "members of zip": (lambda _: make.archive([("%d.npy" % i, b"") for i in range(9_000)]), COMPRESS, 64),
    "texts of GGUF": (lambda _: make.gguf([("list", 9, struct.pack("<IQ", 8, 130_000) + bytes(8 * 130_000))], []), COMPRESS, 64),
    "nodes of ONNX": (lambda _: make.onnx([], [b""] * 500_000), COMPRESS, 64),
}


def main():
    passed = failed = 0
    for name, (make_input, commands, allowed) in BOMBS.items():
        with tempfile.TemporaryDirectory() as folder:
            data = make_input(folder)
            with open(os.path.join(folder, "c"), "wb") as f:
                f.write(data)
            for arguments in commands:
                for options, most in (([], allowed * MIB), (["--memory-limit=%d" % LIMIT], LIMIT + PROCESS)):
                    whole = not options and arguments[0] in ("info", "compress")
                    peak, text = linear.run(arguments + options, folder, False, (0,) if whole else (0, 1, 3))
                    wrong = peak > most or len(data) > MIB + 64
                    failed, passed = failed + wrong, passed + (not wrong)
                    if wrong or "-v" in sys.argv:
                        print("%s%s of %s in %d bytes: %d KiB of memory, at most %d%s" % (
                            "failed: " if wrong else "", " ".join(arguments[:1] + options), name, len(data), peak >> 10, most >> 10, ": " + text[:200].strip() if text else ""), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
