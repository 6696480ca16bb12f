#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the odd-*.wcodec files of this folder and lists all files in SUMS. usage: make.py [NAME...]
make.py --release VERSION: makes VERSION-LEVEL.wcodec with the library that top_builddir holds, of the tensors that tests/oracle/cross.py makes.

Existing files are never replaced: a golden file is what a release of the format was, and later decoders must read it."""
import os
import random
import struct
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "oracle"))
import encode
from common import CODED, CONSTANT, P8, P12, PAIRS, RAW
from decode import Container
from xxh3 import xxh3_128

PROFILES = {"pairs": PAIRS, "p12": P12, "p8": P8}


def file_of(seed, entries):
    """A header's blob and its tensors: without groups, in groups, with the index in front."""
    entries.insert(0, encode.safetensors_blob(entries))
    size = sum(e.size for e in entries)
    front = seed % 5 == 4
    head = encode.head_bytes(place=int(front), size=size if seed % 3 else None, settings=bytes([seed % 10, seed % 3, 0, 0, 0, 0]))
    return encode.container(entries, head=head, groups=((), (1, 1), (2,))[seed % 3], front=front, kind=1, name="t.safetensors")


def one(seed, dtype, n, **more):
    rng = random.Random(seed)
    fields = encode.make_fields(rng, more.pop("split", None) or encode.PRESETS[dtype], more.pop("profile", None), more.pop("pool", None), more.pop("run", None))
    add, packed = more.pop("add", 0), more.pop("packed", False)
    p = encode.random_payload(rng, encode.ELEMENT[dtype], more.pop("t", 12), n, fields, add, **more)
    make = encode.packed_entry if packed else encode.tile_entry
    entries = [make(p, name="t", dtype=dtype, shape=(n // 2,) if dtype == "C64" else (n,))]
    return file_of(seed, entries)


def one_entry(seed, name):
    rng = random.Random(seed)
    return encode.tile_entry(encode.random_payload(rng, 2, 12, 300, encode.make_fields(rng, encode.PRESETS["F32"], None, None, None), 0), name=name, dtype="F32", shape=(300,))


def matrix(seed, dtype, rows, columns, modes):
    entries = [encode.BlocksPayload(random.Random(seed), dtype, rows, columns, modes, outlier_rate=0.01).entry(name="t")]
    return file_of(seed, entries)


def approximated(seed, dtype, rows, columns, modes, **more):
    p = encode.LossyPayload(random.Random(seed), dtype, rows, columns, modes, outlier_rate=0.01, **more)
    p.figures = struct.pack("<3d", 0.5, 0.0625, 4.0)
    entries = [p.entry(name="t")]
    return file_of(seed, entries)


def rated(seed, rows, columns, bits, units, **more):
    entries = [encode.FixedPayload(random.Random(seed), rows, columns, bits, units, **more).entry(name="t")]
    return file_of(seed, entries)


def fragments(seed, dtype, rows, columns, **more):
    entries = [encode.FragmentsPayload(random.Random(seed), dtype, rows, columns, **more).entry(name="t")]
    entries.insert(0, encode.safetensors_blob(entries))
    return encode.container(entries, kind=1, name="t.safetensors")


def cut(seed, count, fields, **more):
    return file_of(seed, [encode.RecordsPayload(random.Random(seed), count, fields, **more).entry(name="t")])


def masked(seed, dtype, n, share, kinds, **more):
    return file_of(seed, [encode.MaskedPayload(random.Random(seed), dtype, n, share, kinds, **more).entry(name="t")])


def by_anchors(seed, dtype, rows, columns, *which, **more):
    return file_of(seed, [encode.AnchoredPayload(random.Random(seed), dtype, rows, columns, *which, **more).entry(name="t")])


def cases():
    for dtype in ("BF16", "F16", "F32", "F8_E4M3", "F8_E5M2", "I8"):
        for name, profile in PROFILES.items():
            yield "%s-%s" % (dtype.lower(), name), lambda dtype=dtype, profile=profile: one(1, dtype, 1200 if dtype != "F32" else 700, profile=profile, outlier_rate=0.01)
    yield "u8-whole", lambda: one(2, "U8", 4097, split=[(CODED, 8)], profile=P8, pool=16, run=7, add=77)
    yield "i8-pairs-narrow", lambda: one(3, "I8", 1000, split=[(RAW, 5), (CODED, 3)], profile=PAIRS)
    yield "i16-two-streams", lambda: one(4, "I16", 600, outlier_rate=0.01)
    yield "f64-eight-streams", lambda: one(5, "F64", 130)
    yield "u64-wide-raw", lambda: one(6, "U64", 400, split=[(RAW, 30), (CODED, 4), (RAW, 30)])
    yield "u64-constants", lambda: one(7, "U64", 300)
    yield "f32-no-mantissa", lambda: one(8, "F32", 500, split=[(CONSTANT, 16), (RAW, 7), (CODED, 8), (RAW, 1)], add=0x8000)
    yield "c64", lambda: one(9, "C64", 260)
    yield "bf16-two-tiles-runs", lambda: one(10, "BF16", 4096 + 129, profile=P8, pool=4, run=8, outlier_rate=0.002)
    yield "bf16-modes", lambda: one(11, "BF16", 2 * 4096 + 1, profile=P12, modes=(0, 1, 2), outlier_rate=0.001)
    for groups in (1, 2, 3):
        yield "i8-groups-%d" % groups, lambda groups=groups: one(12, "I8", 128 * groups - 5, profile=P8)
    yield "one-element", lambda: one(13, "BF16", 1)
    yield "tile-65536", lambda: one(14, "I8", 5000, t=16, profile=PAIRS, outlier_rate=0.001)
    yield "i8-blocks", lambda: matrix(15, "I8", 60, 70, [0, 1, 5, 12])
    yield "u8-blocks-one-mode", lambda: matrix(16, "U8", 17, 33, [9])
    yield "i16-blocks-every-mode", lambda: matrix(17, "I16", 100, 100, encode.BLOCK_MODES)
    yield "bf16-blocks-thin", lambda: matrix(18, "BF16", 65, 1, [3, 4, 13])
    yield "i8-blocks-wht", lambda: matrix(19, "I8", 33, 50, [6])
    yield "bf16-blocks-wht", lambda: matrix(20, "BF16", 50, 60, [0, 1, 6, 10, 13])
    yield "bf16-lossy-every-mode", lambda: approximated(19, "BF16", 40, 300, [0, 1, 2], row_scales=1, t=13, order=1)
    yield "f16-lossy-wide", lambda: approximated(20, "F16", 17, 31, [1, 2], w=1, row_scales=1, order=2, profile=P8)
    yield "f32-lossy-adst", lambda: approximated(21, "F32", 33, 257, [2], add=128, scales=[0.0009765625], order=3)
    yield "bf16-lossy-diagonals", lambda: approximated(24, "BF16", 16, 20, [0, 1])
    yield "i16-constant-runs", lambda: one(25, "I16", 2 * 4096 + 300, profile=P8, pool=5, run=7, outlier_rate=0.001)
    yield "bf16-lossy-plain", lambda: approximated(22, "BF16", 50, 90, [0], row_scales=1)
    yield "f32-lossy-plain-wide", lambda: approximated(23, "F32", 3000, 1, [0], w=1)
    yield "bf16-fixed", lambda: rated(26, 40, 300, 2, 5)
    yield "bf16-fixed-spilled", lambda: rated(27, 17, 129, 2, 1, rate=0.05, spill=1)
    yield "bf16-fixed-3-bits", lambda: rated(28, 33, 130, 3, 2)
    yield "bf16-fragments", lambda: fragments(29, "BF16", 48, 512, profile=PAIRS, outlier_rate=0.001)
    yield "bf16-fragments-p8", lambda: fragments(30, "BF16", 33, 640, t=13, profile=P8, pool=4, run=8)
    yield "i8-fragments-edges", lambda: fragments(31, "I8", 35, 300, profile=PAIRS, outlier_rate=0.01)
    yield "f16-fragments-p12", lambda: fragments(32, "F16", 16, 256, profile=P12, modes=(0, 1, 2))
    yield "f8_e4m3-fragments", lambda: fragments(33, "F8_E4M3", 100, 128, profile=P8)
    yield "i16-fragments-thin", lambda: fragments(34, "I16", 5, 1, add=3)
    yield "f16-packed", lambda: one(35, "F16", 1280, profile=P8, pool=1, outlier_rate=0.01, packed=True)
    yield "f32-packed-pool", lambda: one(36, "F32", 700, profile=P12, pool=3, packed=True)
    yield "bf16-packed-modes", lambda: one(37, "BF16", 2 * 4096 + 300, profile=PAIRS, modes=(0, 1), outlier_rate=0.001, packed=True)
    yield "i8-packed-odd-groups", lambda: one(38, "I8", 3 * 128 - 5, profile=P8, pool=16, run=0, modes=(1,), packed=True)
    yield "i16-packed-three-planes", lambda: one(39, "I16", 129, split=[(RAW, 5), (CODED, 5), (CONSTANT, 4), (RAW, 2)], profile=P8, pool=2, run=0, packed=True)
    yield "records-q8_0", lambda: cut(42, 100, [(2, "p", 1), (32, "t", 0)], outlier_rate=0.01)
    yield "records-every-coding", lambda: cut(43, 300, [(3, "c", 0), (2, "t", 1), (5, "z", 0), (16, "t", 0), (8, "c", 3), (4, "p", 2)], shuffled=True)
    yield "records-one-field", lambda: cut(44, 7, [(210, "z", 0)])
    yield "records-no-payload", lambda: cut(45, 50, [(1, "c", 0), (2, "c", 1)])
    yield "records-wide", lambda: cut(46, 5, [(4000, "t", 0), (95, "p", 0), (1, "t", 0)])
    yield "f32-masked", lambda: masked(47, "F32", 2 * 4096 + 77, 0.5, "zt", outlier_rate=0.01)
    yield "bf16-masked-packed", lambda: masked(48, "BF16", 3000, 0.2, "zp")
    yield "f64-masked-constants", lambda: masked(49, "F64", 200, 0.4, "cc")
    yield "i8-masked-one-value", lambda: masked(50, "I8", 4097, 0, "zz", t=16)
    yield "f32-anchored", lambda: by_anchors(51, "F32", 300, 33, 7, scale=0.0009765625, outlier_rate=0.01)
    yield "bf16-anchored-wide", lambda: by_anchors(52, "BF16", 100, 70, 3, 1, 2, "pzt", scale=3.5)
    yield "f16-anchored-constants", lambda: by_anchors(53, "F16", 40, 5, 40, 0, 1, "zcc", scale=0.25)
    yield "mixed", lambda: encode.random_file(41, sizes=(1, 100, 129, 400))[0]
    yield "opaque", lambda: encode.container([encode.chunk_entry(b"text " * 40 + bytes(3000), 2000), encode.constant_entry(b"ab", 300)], kind=0, name="notes")
    yield "inline", lambda: encode.container([encode.inline_entry(b"PK\3\4 one "), one_entry(47, "a"), encode.inline_entry(b"PK\3\4 two "), one_entry(48, "b"), encode.inline_entry(bytes(range(256)) * 16)],
                                            groups=(2, 3), kind=0, metadata=[("wcodec.container", "npz")])
    yield "empty", lambda: encode.container([], kind=0)


def release(version):
    sys.path.insert(0, os.path.join(here, "..", "bad"))
    from cross import checkpoint
    from server import Server
    server = Server()
    for level, options in ((1, {}), (3, {}), (9, {"tile": 12})):
        path = os.path.join(here, "%s-%d.wcodec" % (version, level))
        if not os.path.exists(path):
            with open(path, "wb") as f:
                f.write(server.compress(checkpoint(random.Random(level), 700), level=level, **options))
    server.close()


def main(wanted):
    if wanted[:1] == ["--release"]:
        release(wanted[1])
        wanted = ["none"]
    for name, make in cases():
        path = os.path.join(here, "odd-%s.wcodec" % name)
        if not os.path.exists(path) and (not wanted or name in wanted):
            with open(path, "wb") as f:
                f.write(make())
    with open(os.path.join(here, "SUMS"), "w") as sums:
        for name in sorted(os.listdir(here)):
            if name.endswith(".wcodec"):
                with open(os.path.join(here, name), "rb") as f:
                    c = Container(f.read())
                print("%032x  %s" % (xxh3_128(c.decode_all()), name), file=sums)


if __name__ == "__main__":
    main(sys.argv[1:])
