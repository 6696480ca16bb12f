#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Sizes of safetensors files beside zstd, OpenZL and ZipNN, tensor by tensor.

usage: sizes.py [--wcodec PROGRAM] [--tensors] [--rates] FILE...

Needs the Python packages openzl and numpy (0.3.0 and 2.4.6 were used), libzstd, and for the last
column zipnn (0.5.4). A file that is no safetensors file is one tensor of bytes. Each tensor is
compressed by zstd -19 and by graphs of OpenZL for numbers of its width; "best" is the sum of the
smallest of each, and of all that is no tensor by zstd -19. What OpenZL and ZipNN write is
decompressed and compared. --tensors: a line for each tensor. --rates: one thread's rates in MB/s.
"""
import argparse
import ctypes
import ctypes.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
from openzl.ext import CCtx, Compressor, CParam, DCtx, Input, MAX_FORMAT_VERSION, Type
from openzl.ext import graphs, nodes

WIDTHS = {"F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "F64": 8,
          "I64": 8, "U64": 8}
DECONSTRUCT = {"F32": nodes.Float32Deconstruct, "F16": nodes.Float16Deconstruct,
               "BF16": nodes.BFloat16Deconstruct}
ROUNDS = 3

zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
for name in ("ZSTD_compress", "ZSTD_compressBound", "ZSTD_decompress"):
    getattr(zstd, name).restype = ctypes.c_size_t


def zstd_compress(data, level):
    bound = zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(bound)
    size = zstd.ZSTD_compress(out, ctypes.c_size_t(bound), data, ctypes.c_size_t(len(data)), level)
    return out.raw[:size]


def zstd_decompress(data, size):
    out = ctypes.create_string_buffer(size)
    zstd.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return out.raw


def parts(compressor, coder, dtype):
    """A float's exponents and the rest, each by a coder of bytes."""
    rest = nodes.TransposeSplit()(compressor, coder()(compressor))
    return DECONSTRUCT[dtype]()(compressor, rest, coder()(compressor))


def graphs_of(dtype):
    """Names and builders; the input of a wide type is numbers, else bytes."""
    found = {}
    if dtype in DECONSTRUCT:
        found["parts, entropy"] = lambda c: parts(c, graphs.Entropy, dtype)
        found["parts, zstd"] = lambda c: parts(c, lambda: graphs.Zstd(compression_level=19), dtype)
    if dtype in WIDTHS:
        found["field lz"] = lambda c: graphs.FieldLz(compression_level=9)(c)
    else:
        found["entropy"] = lambda c: graphs.Entropy()(c)
    return found


def as_input(data, dtype):
    width = WIDTHS.get(dtype, 1)
    if width == 1:
        return Input(Type.Serial, numpy.frombuffer(data, dtype=numpy.uint8))
    return Input(Type.Numeric, numpy.frombuffer(data, dtype=f"<u{width}"))


class OpenZL:
    def __init__(self, build):
        self.compressor = Compressor()
        self.compressor.select_starting_graph(build(self.compressor))

    def compress(self, data, dtype):
        context = CCtx()
        context.ref_compressor(self.compressor)
        context.set_parameter(CParam.FormatVersion, MAX_FORMAT_VERSION)
        return context.compress([as_input(data, dtype)])

    def decompress(self, coded):
        return DCtx().decompress(coded)[0].content.as_bytes()


class ZipNN:
    NAMES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}

    def __init__(self, dtype):
        import zipnn
        name = self.NAMES.get(dtype)
        self.coder = zipnn.ZipNN(input_format="byte", bytearray_dtype=name, threads=1) if name \
            else zipnn.ZipNN(input_format="byte", method="HUFFMAN", byte_reorder=1, threads=1)

    def compress(self, data, _dtype):
        # It reorders its input in place.
        return self.coder.compress(bytearray(data))

    def decompress(self, coded):
        return self.coder.decompress(coded)


def read_tensors(path):
    """(header bytes, [(name, dtype, data)]) in the order of the data."""
    with open(path, "rb") as f:
        data = f.read()
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
    except ValueError:
        return b"", [(os.path.basename(path), "U8", data)]
    header.pop("__metadata__", None)
    rows = sorted(header.items(), key=lambda row: row[1]["data_offsets"])
    begin = 8 + size
    return data[:begin], [(name, row["dtype"], data[begin + row["data_offsets"][0]:
                                                    begin + row["data_offsets"][1]])
                          for name, row in rows if row["data_offsets"][1] > row["data_offsets"][0]]


def rate(function, size):
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        result = function()
        taken.append(time.perf_counter() - start)
    return result, size / statistics.median(taken) / 1e6


class Row:
    """One coder's sum over a file."""

    def __init__(self):
        self.size = 0
        self.seconds = [0.0, 0.0]

    def add(self, size, *rates_of):
        self.size += size
        for i, (amount, speed) in enumerate(rates_of):
            self.seconds[i] += amount / speed / 1e6


def zipnn_works():
    try:
        ZipNN("F32")
        return True
    except ImportError:
        return False


def measure_tensor(data, dtype, rows):
    sizes = {}
    coded, out_rate = rate(lambda: zstd_compress(data, 19), len(data))
    back, in_rate = rate(lambda: zstd_decompress(coded, len(data)), len(data))
    assert back == data
    sizes["zstd -19"] = min(len(coded), len(data))
    rows.setdefault("zstd -19", Row()).add(sizes["zstd -19"], (len(data), out_rate),
                                           (len(data), in_rate))
    coders = [(name, OpenZL(build)) for name, build in graphs_of(dtype).items()]
    if zipnn_works():
        coders.append(("zipnn", ZipNN(dtype)))
    for name, coder in coders:
        coded, out_rate = rate(lambda: coder.compress(data, dtype), len(data))
        back, in_rate = rate(lambda: coder.decompress(coded), len(data))
        if bytes(back) != data:
            sys.exit(f"{name}: what it decompresses differs")
        sizes[name] = len(coded)
        rows.setdefault(name, Row()).add(len(coded), (len(data), out_rate), (len(data), in_rate))
    return sizes


def wcodec_sizes(program, path, level):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.wcodec")
        subprocess.run([program, "compress", f"-{level}", "-q", "-o", out, path], check=True)
        listed = subprocess.run([program, "list", "--json", out], check=True, capture_output=True)
        tensors = json.loads(listed.stdout)["files"][0]["tensors"]
        return os.path.getsize(out), {t["name"]: t.get("coded_bytes", 0) for t in tensors}


def measure(path, options):
    head, tensors = read_tensors(path)
    rows, best = {}, min(len(zstd_compress(head, 19)), len(head)) if head else 0
    ours = {level: wcodec_sizes(options.wcodec, path, level) for level in (3, 9)} \
        if options.wcodec else {}
    for name, dtype, data in tensors:
        sizes = measure_tensor(data, dtype, rows)
        chosen = min((key for key in sizes if key != "zipnn"), key=sizes.get)
        best += sizes[chosen]
        if options.tensors:
            print(f"  {name:48} {dtype:5} {len(data):10} {chosen:15} {sizes[chosen]:10}", *(
                f" -{level} {own[1].get(name, 0):10} "
                f"{100 * (own[1].get(name, 0) / sizes[chosen] - 1):+7.2f} %"
                for level, own in ours.items()))
    print(f"{path}: {os.path.getsize(path)} bytes, {len(tensors)} tensors")
    print(f"  {'best of zstd -19 and OpenZL':28} {best:12}")
    for level, (size, _) in ours.items():
        print(f"  {f'wcodec -{level}':28} {size:12} {100 * (size / best - 1):+7.2f} %")
    total = sum(len(data) for _, _, data in tensors)
    for name, row in rows.items():
        line = f"  {name:28} {row.size:12}"
        if options.rates:
            line += (f"   compress {total / row.seconds[0] / 1e6:7.0f} MB/s,"
                     f" decompress {total / row.seconds[1] / 1e6:7.0f} MB/s")
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wcodec", metavar="PROGRAM", help="sizes of this beside them")
    parser.add_argument("--tensors", action="store_true", help="a line for each tensor")
    parser.add_argument("--rates", action="store_true", help="one thread's rates too")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    for path in options.files:
        measure(path, options)


if __name__ == "__main__":
    main()
