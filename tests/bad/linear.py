#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Time and memory are linear in each dimension of a file: each is doubled twice, and what the second
doubling adds to instructions (valgrind's count, which does not depend on the machine) and to the
largest resident memory may be little more than twice what the first one added.

usage: linear.py [-v] [DIMENSION...]      of the build in $top_builddir; -v shows all figures"""
import os
import random
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ("oracle", "command")]
import encode
import make_containers as make

BUILD = os.path.realpath(os.environ.get("top_builddir", "."))
WCODEC, PEAK = os.path.join(BUILD, ".libs/wcodec"), os.path.join(BUILD, "tests/bad/peak")
ENVIRONMENT = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, ".libs"), WCODEC_THREADS="1", WCODEC_BACKEND="cpu")
MIB = 1 << 20
# n log n passes, a square does not (4). Memory is granted what allocators and pages round.
GROWTH, ROUNDING = 2.6, MIB
WORDS = random.Random(3).randbytes(1 << 20)


def safetensors(tensors, metadata=None, padding=0):
    """tensors: (name in JSON's escapes, dtype, shape, bytes)"""
    at, parts = 0, []
    if metadata is not None:
        parts.append('"__metadata__":{%s}' % ",".join('"%s":"%s"' % pair for pair in metadata))
    for name, dtype, shape, data in tensors:
        parts.append('"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % (name, dtype, list(shape), at, at + len(data)))
        at += len(data)
    text = ("{%s}" % ",".join(parts)).encode() + b" " * padding
    return struct.pack("<Q", len(text)) + text + b"".join(t[3] for t in tensors)


def small(n, name="layers.%d.weight", equal=False):
    return [(name % i, "U8", [16], WORDS[:16] if equal else WORDS[16 * i:16 * i + 16]) for i in range(n)]


def gguf(n, values):
    return make.gguf(values, [("blk.%d" % i, (16,), 24, WORDS[16 * i:16 * i + 16]) for i in range(n)])


def pytorch(n, more=b""):
    def element(i):
        return make.tensor("ByteStorage", str(i), (16,), 16)
    value = make.dictionary([("layers.%d" % i, element(i)) for i in range(n)])
    return make.checkpoint(more + value, {str(i): WORDS[16 * i:16 * i + 16] for i in range(n)})


def npz(n):
    return make.archive([("layer%d.npy" % i, make.array("|u1", "(16,)", WORDS[16 * i:16 * i + 16])) for i in range(n)])


def onnx(tensors, nodes=0):
    return make.onnx([make.onnx_tensor("t%d" % i, 2, (16,), WORDS[16 * i:16 * i + 16]) for i in range(tensors)],
                     [make.field(2, "o%d" % i) + make.field(4, "Relu") for i in range(nodes)])


def shards(n):
    """A folder of n shards and their index."""
    files = {"model-%05d-of-%05d.safetensors" % (i, n): safetensors([("t%d" % i, "U8", [16], WORDS[16 * i:16 * i + 16])]) for i in range(n)}
    names = ",".join('"t%d":"%s"' % (i, name) for i, name in enumerate(files))
    files["model.safetensors.index.json"] = ('{"metadata":{},"weight_map":{%s}}' % names).encode()
    return files


def wcodec(entries, **more):
    return encode.container(list(entries), **more)


def named(i):
    return {"name": "t%d" % i, "dtype": "U8", "shape": (16,)}


def aliases(n):
    entries = [encode.chunk_entry(WORDS[:16], 16, frames=False, **named(0))]
    return wcodec(entries + [encode.alias_entry(entries, 0, **named(i)) for i in range(1, n)])


def constants(n):
    return wcodec([encode.constant_entry(WORDS[i:i + 1], 16, **named(i)) for i in range(n)])


def chunks(n):
    return wcodec([encode.chunk_entry(WORDS[:4 * n], 4, frames=False, name="t", dtype="U8", shape=(4 * n,))])


def groups(n):
    return wcodec([encode.chunk_entry(WORDS[16 * i:16 * i + 16], 16, frames=False, **named(i)) for i in range(n)], groups=(1,) * n)


def weights(n):
    skewed = bytes(min(255, int(random.Random(i).expovariate(0.1))) for i in range(256))
    return safetensors([("t", "BF16", [n // 128, 64], random.Random(9).randbytes(n).translate(skewed))])


def deltas(n):
    """A folder of n deltas, of which each has a base of its own, which is not there."""
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(n):
            for name, kind in (("base", 0), ("next", 1)):
                data = struct.pack("<HB", i, kind) + WORDS[:40000]
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(safetensors([("t", "U8", [len(data)], data)]))
            run(["compress", "-2", "-f", "--no-sync", "--base=base", "-o", "c", "next"], folder, None)
            with open(os.path.join(folder, "c"), "rb") as f:
                files["%d.wcodec" % i] = f.read()
    return files


# name: (what makes the input, its first size where instructions are counted and where memory is
# measured, the commands). Inputs of READ are .wcodec files, a dictionary is a folder.
ALL = ("compress", "info", "list", "test", "decompress")
READ = ("info", "list", "test", "decompress", "salvage")
FEW = ("compress", "test", "decompress")
DIMENSIONS = {
    "tensors": (lambda n: safetensors(small(n)), 250, 8000, ALL + ("cat", "salvage")),
    "equal tensors": (lambda n: safetensors(small(n, equal=True)), 250, 8000, ALL),
    "dimensions": (lambda n: safetensors([("t%d" % i, "U8", [1] * n + [16], WORDS[:16]) for i in range(200)]), 15, 15, ALL),
    "bytes of names": (lambda n: safetensors(small(50, "n" * n + "%d")), 1000, 30000, ALL),
    "escapes of names": (lambda n: safetensors(small(20, "\\u00e9" * n + "%d")), 500, 30000, ALL),
    "spaces in a header": (lambda n: safetensors(small(3), padding=n), 50000, 2000000, FEW),
    "metadata": (lambda n: safetensors(small(3), [("key%d" % i, "value") for i in range(n)]), 250, 8000, ALL),
    "bytes of metadata": (lambda n: safetensors(small(3), [("key", "v" * n)]), 50000, 2000000, ALL),
    "bytes of a tensor": (weights, 65536, 4 * MIB, ("compress", "info", "test", "decompress")),
    "opaque bytes": (lambda n: b"opaque" + WORDS[:n], 65536, 200000, ("compress", "info", "test", "decompress")),
    "shards": (shards, 8, 100, ("compress", "info", "test", "decompress")),
    "tensors of GGUF": (lambda n: gguf(n, []), 250, 8000, ALL),
    "values of GGUF": (lambda n: gguf(3, [("key.%d" % i, 4, struct.pack("<I", i)) for i in range(n)]), 250, 8000, FEW),
    "texts of GGUF": (lambda n: gguf(3, [("list", 9, struct.pack("<IQ", 8, n) + b"".join(struct.pack("<Q4s", 4, b"text") for _ in range(n)))]), 2000, 100000, FEW),
    "tensors of PyTorch": (pytorch, 200, 3000, ALL),
    "values of PyTorch": (lambda n: pytorch(3, b"(" + b"K\1" * n + b"t0"), 3000, 100000, FEW),
    "members of zip": (npz, 200, 3000, ALL),
    "tensors of ONNX": (onnx, 250, 8000, ALL),
    "nodes of ONNX": (lambda n: onnx(3, n), 1000, 50000, FEW),
    "aliases": (aliases, 200, 4000, READ),
    "constants": (constants, 200, 4000, READ),
    "chunks": (chunks, 1000, 20000, READ),
    "groups": (groups, 50, 1000, READ),
    "deltas without bases": (deltas, 30, 60, ("test folder",)),
}


class Failed(Exception):
    pass


def run(arguments, folder, count, expected=(0,)):
    """Of one run of the command: its instructions, or the most bytes of memory that it held; and its messages. count: None: neither is wanted."""
    log = os.path.join(folder, "count")
    if count is None:
        words = []
    elif count:
        words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + log]
    else:
        words = [PEAK, log]
    done = subprocess.run(words + [WCODEC] + arguments, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                          env=ENVIRONMENT)
    text = done.stderr.decode("utf-8", "replace")
    if done.returncode not in expected:
        raise Failed("wcodec %s: exit code %d: %s" % (" ".join(arguments), done.returncode, text[-500:]))
    if count is None:
        return 0, text
    with open(log, encoding="utf-8") as f:
        return int(next(line for line in f if line.startswith("summary:")).split()[1]) if count else int(f.read()), text


COMMANDS = {"compress": ["compress", "-f", "--no-sync", "-o", "c", "o"], "info": ["info", "c"], "list": ["list", "c"], "test": ["test", "c"],
            "decompress": ["decompress", "-f", "--no-sync", "-o", "d", "c"], "cat": ["cat", "-f", "-o", "d", "--tensor=layers.7.weight", "c"],
            "test folder": ["test", "-r", "c"], "salvage": ["decompress", "--keep-going", "-f", "--no-sync", "-o", "d", "c"]}


def prepare(folder, content, name):
    """The input: a file, or a folder of files."""
    if isinstance(content, dict):
        os.mkdir(os.path.join(folder, name))
    for part, data in content.items() if isinstance(content, dict) else [("", content)]:
        with open(os.path.join(folder, name, part).rstrip("/"), "wb") as f:
            f.write(data)
    os.utime(os.path.join(folder, name), (1, 1))  # as files are that nobody is about to change


def measure(name, commands, size, count):
    """What each command takes of the dimension at that size."""
    make_input, _, _, which = DIMENSIONS[name]
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder, make_input(size), "o" if "compress" in which else "c")
        found = {}
        for command in (which if "compress" in which else commands):
            found[command], text = run(COMMANDS[command], folder, count, (1,) if command == "test folder" else (0,))
            if "as opaque" in text and "opaque" not in name:
                raise Failed("%d %s: %s" % (size, name, text))
        return found


def grown(values, rounding):
    """How many times what the first doubling added the second one did."""
    first, second = values[1] - values[0], values[2] - values[1]
    return max(0, second - rounding) / max(first, rounding)


def compare(name, size, commands, count, rounding):
    """A line for each command that says what three sizes take, and the commands that grew more."""
    rows = [measure(name, commands, size * times, count) for times in (1, 2, 4)]
    lines, wrong = {}, []
    for command in commands:
        values = [row[command] for row in rows]
        growth = grown(values, rounding)
        lines[command] = "%s of %d, %d and %d %s: %s %s, growth %.2f" % (
            command, size, 2 * size, 4 * size, name, ", ".join(map(str, values)), "instructions" if count else "bytes of memory", growth)
        if growth > GROWTH:
            wrong.append(command)
    return lines, wrong


def dimension(name):
    """(lines, of which begin with "failed" those that say so)"""
    _, counted, measured, commands = DIMENSIONS[name]
    lines = []
    try:
        for size, count, rounding in ((counted, True, 10000), (measured, False, MIB)):
            found, wrong = compare(name, size, commands, count, rounding)
            # A step, such as where zstd takes other tables, is no square: that grows from there on, too.
            if wrong:
                again, wrong = compare(name, 4 * size, wrong, count, rounding)
                found.update(again)
            lines += [("failed: " if command in wrong else "") + found[command] for command in commands]
    except Failed as error:
        lines.append("failed: %s" % error)
    return lines


def main():
    names = [name for name in sys.argv[1:] if name != "-v"] or list(DIMENSIONS)
    passed = failed = 0
    with ThreadPoolExecutor(max_workers=int(os.environ.get("JOBS") or os.cpu_count() or 1)) as pool:
        for lines in pool.map(dimension, names):
            for line in lines:
                wrong = line.startswith("failed")
                failed, passed = failed + wrong, passed + (not wrong)
                if wrong or "-v" in sys.argv:
                    print(line, flush=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
