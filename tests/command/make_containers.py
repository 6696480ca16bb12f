#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files of other kinds that hold tensors, by the standard library alone. usage: make_containers.py"""
import random
import struct
import zipfile

rng = random.Random(5)
f32 = b"".join(struct.pack("<f", rng.gauss(0, 0.02)) for _ in range(100 * 300))
f16 = b"".join(struct.pack("<e", rng.gauss(0, 0.02)) for _ in range(100 * 300))


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


def array(descr, shape, data, fortran=False):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data


def archive(name, members, method=zipfile.ZIP_STORED, **options):
    with zipfile.ZipFile(name, "w", method) as z:
        for member, data in members:
            with z.open(zipfile.ZipInfo(member), "w", **options) as f:
                f.write(data)


matrix = array("<f4", "(100, 300)", f32)
write("plain.npy", matrix)
write("big.npy", array(">f4", "(100, 300)", f32))
write("cut.npy", matrix[:-1])
write("behind.npy", matrix + b"more")
members = [("w.npy", matrix), ("layer/h.npy", array("<f2", "(100, 300)", f16)), ("equal.npy", matrix), ("none.npy", array("<f8", "(0, 3)", b"")), ("note.txt", b"text")]
archive("plain.npz", members)
archive("zip64.npz", members, force_zip64=True)
with zipfile.ZipFile("packed.npz", "w") as z:
    z.writestr("w.npy", matrix, zipfile.ZIP_DEFLATED)
with zipfile.ZipFile("partly.npz", "w") as z:
    z.writestr("w.npy", matrix, zipfile.ZIP_DEFLATED)
    z.writestr("v.npy", matrix)
    z.writestr("../up.npy", array("|u1", "(4,)", b"abcd"))
with open("plain.npz", "rb") as f:
    write("cut.npz", f.read()[:-30])
