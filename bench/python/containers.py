#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The same tensors in files of every kind that is known, made by the kinds' own packages: what each
gives, beside zstd -19. Needs numpy, torch, gguf, onnx and zstd.

usage: containers.py WCODEC MODEL.safetensors FOLDER [MIB [SUFFIX]]

MIB: only as many of the smaller tensors, since zstd -19 takes long. SUFFIX: only files whose names
end so.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import torch

TYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "U8": np.uint8}
Q = gguf.GGMLQuantizationType


def read(path):
    """The tensors of a model of F32."""
    data = Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in entry["data_offsets"])
            array = np.frombuffer(data[begin:end], TYPES[entry["dtype"]])
            found[name] = array.reshape(entry["shape"])
    return found


def write_safetensors(path, tensors):
    names = {np.dtype(kind): name for name, kind in TYPES.items()}
    header, at = {}, 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": names[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            f.write(array.tobytes())


def write_gguf(path, tensors, kinds):
    writer = gguf.GGUFWriter(path, "bert")
    for name, array in tensors.items():
        writer.add_tensor(name, array, raw_dtype=kinds.get(name))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_onnx(path, tensors):
    """A model of initialisers alone, by raw_data, as exporters write it."""
    made = [onnx.numpy_helper.from_array(array, name) for name, array in tensors.items()]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "graph", [], [], made)), path)


def quantize(tensors, kind):
    """Matrices in blocks, as far as rows allow it; what is left stays as it is."""
    made, kinds = {}, {}
    for name, array in tensors.items():
        if array.ndim == 2 and array.shape[1] % 32 == 0:
            made[name], kinds[name] = gguf.quants.quantize(array, kind), kind
        else:
            made[name] = array
    return made, kinds


def size_by(command, path):
    made = subprocess.run([*command, path], stdout=subprocess.PIPE, check=True)
    return len(made.stdout)


def measure(wcodec, path, plain):
    """A line: bytes by zstd -19, by wcodec at its default level, and the same of a safetensors file
    of these tensors."""
    sizes = []
    for file in (path, plain):
        before = os.path.getsize(file)
        zstd = size_by(["zstd", "-19", "-qc"], file)
        ours = size_by([wcodec, "compress", "-qc"], file)
        best = size_by([wcodec, "compress", "-9qc"], file)
        sizes.append((before, zstd, ours, best))
    (before, zstd, ours, best), (_, zstd2, ours2, best2) = sizes
    print(
        f"| {path.name} | {before} | {zstd / before:.4f} | {ours / before:.4f} | "
        f"{best / before:.4f} | {1 - ours / zstd:.2%} | {1 - ours2 / zstd2:.2%} | "
        f"{1 - best / zstd:.2%} | {1 - best2 / zstd2:.2%} |",
        flush=True,
    )


def main():
    wcodec, model, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    folder.mkdir(exist_ok=True)
    room = int(sys.argv[4]) << 20 if len(sys.argv) > 4 else 1 << 48
    tensors = {}
    for name, array in sorted(read(model).items(), key=lambda item: item[1].nbytes):
        room -= array.nbytes
        if array.dtype == np.float32 and room >= 0:
            tensors[name] = array
    half = {n: a.astype(np.float16) if a.ndim == 2 else a for n, a in tensors.items()}
    print(
        "| file | bytes | zstd -19 | wcodec -3 | wcodec -9 | margin -3 | safetensors' | margin -9 "
        "| safetensors' |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    for name, each, kinds in (
        ("f32.npz", tensors, None),
        ("f32.pt", tensors, None),
        ("f16.pt", half, None),
        ("f16.gguf", half, {}),
        ("f32.onnx", tensors, None),
        ("f16.onnx", half, None),
        ("q8_0.gguf", *quantize(tensors, Q.Q8_0)),
        ("q4_0.gguf", *quantize(tensors, Q.Q4_0)),
    ):
        path, plain = folder / name, folder / f"{name}.safetensors"
        if not name.endswith(sys.argv[5] if len(sys.argv) > 5 else ""):
            continue
        if name.endswith(".npz"):
            np.savez(path, **each)
        elif name.endswith(".pt"):
            torch.save({n: torch.from_numpy(a.copy()) for n, a in each.items()}, path)
        elif name.endswith(".onnx"):
            write_onnx(path, each)
        else:
            write_gguf(path, each, kinds)
        write_safetensors(plain, each)
        measure(wcodec, path, plain)


if __name__ == "__main__":
    main()
