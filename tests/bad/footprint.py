#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The command's whole memory, with zstd's and the threads': 64 MiB, twice the largest tensor or chunk and 16 times the header are enough, compressing on 64 threads
the largest once more and 1 MiB for each."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

MIB = 1 << 20
SKEWED = bytes(min(255, int(random.Random(i).expovariate(0.1))) for i in range(256))


def write_model(path, dtype, width, size, count, rng):
    header = {"t%d" % i: {"dtype": dtype, "shape": [size // width], "data_offsets": [i * size, (i + 1) * size]} for i in range(count)}
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _ in range(count):
            f.write(rng.getrandbits(8 * size).to_bytes(size, "little").translate(SKEWED))
    return len(text)


def peak(*arguments):
    """The most memory that one run of the command holds, in bytes."""
    read, write = os.pipe()
    if os.fork() == 0:
        import resource
        subprocess.run([os.environ["WCODEC"], *arguments, "--quiet"], check=True, env=dict(os.environ, WCODEC_THREADS="64"))
        os.write(write, str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024).encode())
        os._exit(0)
    os.close(write)
    answer = os.read(read, 100)
    os.close(read)
    os.wait()
    return int(answer or sys.exit("%s failed" % (arguments,)))


def main():
    if os.environ.get("SANITIZER_FLAGS", "").strip():
        print("sanitizers take memory of their own: skipped")
        sys.exit(77)
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        model, coded, restored = (os.path.join(folder, name) for name in ("model", "coded.wcodec", "restored"))
        for dtype, width, size, count, options in (("U8", 1, MIB, 40, ["-3"]), ("F32", 4, 64 << 10, 600, ["-3"]), ("BF16", 2, 24 * MIB, 3, ["-3"]), ("U8", 1, MIB, 20, ["-7"]),
                                                   ("U8", 1, 20 * MIB, 2, ["--raw", "-1"]), ("U8", 1, MIB, 40, ["--raw", "-5"])):
            header = write_model(model, dtype, width, size, count, rng)
            largest = 16 * MIB if "--raw" in options else size
            bound = 64 * MIB + 2 * largest + 16 * header
            more = 64 * MIB + largest  # compressing
            peaks = peak("compress", "-f", *options, "-o", coded, model), peak("decompress", "-f", "-o", restored, coded), peak("test", coded)
            print("%d x %d bytes, %s: %s of %.1f MiB" % (count, size, " ".join(options), ", ".join("%.1f" % (p / MIB) for p in peaks), bound / MIB))
            if max(peaks[0] - more, *peaks[1:]) > bound:
                sys.exit("too much memory")


if __name__ == "__main__":
    main()
