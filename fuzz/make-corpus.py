#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the seeds in fuzz/corpus with the odd encoder of tests/oracle. Seeds are valid inputs, never inputs that once crashed. usage: make-corpus.py"""
import os
import pickle
import random
import struct
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "tests", "oracle"))
sys.path.insert(0, os.path.join(here, "..", "tests", "command"))
sys.path.insert(0, os.path.join(here, "..", "tests", "bad"))
import cases
import deltas
import encode
import make_containers as containers
from common import P8, P12, PAIRS, CODED
from delta import ALONE, DIFFERENCE, EQUAL, SPARSE, XOR


def put(target, name, data):
    folder = os.path.join(here, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def tables(rng):
    for profile in (PAIRS, P12, P8):
        for width in (1, 4, 5, 8):
            f = encode.Field(CODED, width, profile=profile, pool=1)
            table, base = encode.random_table(rng, f)
            put("table", "%d-%d" % (profile, width), bytes([profile - 1, width - 1]) + encode.table_bytes(f, table, base, rng))
    for width in (1, 8):
        put("table", "one-%d" % width, bytes([3 + P8 - 1, width - 1, 0, 1, 0])) # of a field with runs


def tiles(rng):
    for dtype, split in sorted(encode.PRESETS.items()):
        for profile in (PAIRS, P12, P8):
            fields = encode.make_fields(rng, split, profile, pool=2)
            n = rng.choice([1, 100, 128, 200, 256])
            p = encode.random_payload(rng, encode.ELEMENT[dtype], 12, n, fields, rng.getrandbits(4), outlier_rate=rng.choice([0, 0.02]))
            _tile("%s-%d" % (dtype.lower(), profile), p)
    # Long enough for what the CPU's decoders do in chunks of 1024 elements, and several tiles side
    # by side.
    for dtype, profile, n, t in (("BF16", P8, 3000, 12), ("BF16", PAIRS, 2200, 12), ("I8", P8, 4096 + 2100, 12), ("I8", PAIRS, 4000, 12), ("F16", P8, 2100, 12), ("F32", P8, 1500, 12),
                                 ("F8_E4M3", P12, 4000, 12), ("U8", P8, 2500, 13)):
        fields = encode.make_fields(rng, [(CODED, 8)] if dtype == "U8" else encode.PRESETS[dtype], profile, pool=3, run=rng.choice([0, 7]))
        _tile("long-%s-%d" % (dtype.lower(), profile), encode.random_payload(rng, encode.ELEMENT[dtype], t, n, fields, 0, 0.001), 20000)
    for i in range(6):
        fields = encode.make_fields(rng, encode.random_split(rng, 16), run=7)
        _tile("modes-%d" % i, encode.random_payload(rng, 1, 12, rng.choice([300, 4096 + 10]), fields, 0, 0.01, (0, 1, 2), raw=lambda: 0))


def kernels(rng):
    """Of each layout and coding that GPUs have kernels of their own for."""
    for dtype in ("BF16", "F16", "F32", "F8_E4M3", "I8", "I32", "bytes"):
        split, size = ([(CODED, 8)], 0) if dtype == "bytes" else (encode.PRESETS[dtype], encode.ELEMENT[dtype])
        for profile, run in ((PAIRS, 0), (P12, 0), (P8, 0), (P8, 7)):
            fields = encode.make_fields(rng, split, profile, pool=3 if run else 1, run=run)
            n = rng.choice([512, 1024, 1000, 4096 + 1536 >> size])
            p = encode.random_payload(rng, size, 12, n, fields, rng.getrandbits(3) if size == 0 else 0, 0.003)
            _tile("%s-%d%s" % (dtype.lower(), profile, "-runs" if run else ""), p, target="kernels")
    for name, dtype, rows, columns, modes in (("two", "I8", 17, 33, [0, 5]), ("all", "BF16", 40, 33, encode.BLOCK_MODES), ("wht", "U8", 20, 48, [6])):
        e = encode.BlocksPayload(rng, dtype, rows, columns, modes).entry(name="t")
        put("kernels", "blocks-" + name, struct.pack("<HI", 1 << 14 | len(e.parameters), len(e.data)) + e.parameters + e.payload)
    for name, dtype, rows, columns, modes, w in (("plain", "BF16", 90, 11, [0], 0), ("plain-wide", "F32", 20, 40, [0], 1), ("dct", "BF16", 17, 33, [1], 0), ("all", "F16", 33, 10, [0, 1, 2], 1)):
        e = encode.LossyPayload(rng, dtype, rows, columns, modes, w=w, row_scales=len(modes) % 2, order=1 if modes != [0] else 0).entry(name="t")
        put("kernels", "lossy-" + name, struct.pack("<HBI", 2 << 14 | len(e.parameters), encode.DTYPE_CODES[dtype], len(e.data)) + e.parameters + e.payload)
    for name, dtype, rows, columns, profile in (("pairs", "BF16", 16, 256, PAIRS), ("edges", "I8", 19, 130, P8), ("p8", "I8", 32, 256, P8), ("short", "BF16", 5, 128, P12)):
        e = encode.FragmentsPayload(rng, dtype, rows, columns, profile=profile, outlier_rate=0.003).entry(name="t")
        put("kernels", "fragments-" + name, struct.pack("<HI", 3 << 14 | len(e.parameters), len(e.data)) + e.parameters + e.payload)


def more_kernels(rng):
    """Matrices at a fixed rate, and lossy ones in each coding that kernels fuse with what follows."""
    for name, kind, rows, columns, bits, units, spill in (("fixed", 1, 16, 140, 2, 3, 0.5), ("fixed-3", 3, 17, 128, 3, 2, 1), ("fixed-sealed", 3, 5, 300, 2, 2, 0)):
        e = encode.FixedPayload(rng, rows, columns, bits, units, rate=0.01, spill=spill).entry(name="t")
        put("kernels", name, struct.pack("<HI", kind << 13 | len(e.parameters), len(e.data)) + e.parameters + e.payload)
    byte, both, half = [(CODED, 8)], [(CODED, 8), (CODED, 8)], [(encode.RAW, 4), (CODED, 4)]
    for name, modes, w, split, profile, run in (
            ("runs", [0, 1], 0, byte, P8, 7), ("runs-wide", [1, 2], 1, both, P8, 7), ("runs-wide-raw", [1], 1, [(encode.RAW, 5), (CODED, 8), (encode.CONSTANT, 3)], P8, 7),
            ("p12-wide-raw", [0], 1, [(encode.RAW, 6), (CODED, 8), (encode.CONSTANT, 2)], P12, 0), ("pairs", [0], 0, byte, PAIRS, 0), ("pairs-raw", [0], 0, half, PAIRS, 0), ("p12", [0], 0, byte, P12, 0)):
        fields = encode.make_fields(rng, split, profile, pool=3 if profile == P8 else 1, run=run)
        p = encode.LossyPayload(rng, "BF16", 40, 60, modes, w=w, fields=fields, outlier_rate=0.003)
        e = p.entry(name="t")
        put("kernels", "lossy-" + name, struct.pack("<HBI", 2 << 14 | len(e.parameters), encode.DTYPE_CODES["BF16"], len(e.data)) + e.parameters + e.payload)


def _tile(name, p, largest=6000, target="tile_payload"):
    parameters, payload = p.assemble()
    if len(payload) < largest:
        put(target, name, struct.pack("<HI", len(parameters), len(p.decoded)) + parameters + payload)


def blocks(rng):
    for name, dtype, rows, columns, modes in (("one", "I8", 16, 32, [1]), ("two", "I8", 17, 33, [0, 5]), ("four", "U8", 32, 64, [0, 1, 2, 12]), ("all", "BF16", 64, 64, encode.BLOCK_MODES), ("thin", "I16", 100, 1, [2, 3]),
                                             ("wht", "U8", 20, 48, [6])):
        e = encode.BlocksPayload(rng, dtype, rows, columns, modes).entry(name="t")
        put("blocks", name, struct.pack("<HI", len(e.parameters), len(e.data)) + e.parameters + e.payload[:900])


def lossy(rng):
    for name, dtype, rows, columns, modes, w in (("plain", "BF16", 9, 11, [0], 0), ("dct", "BF16", 17, 33, [1], 0), ("adst", "F16", 3, 260, [2], 1), ("all", "F32", 33, 10, [0, 1, 2], 1), ("thin", "F16", 70, 1, [0, 1], 0)):
        p = encode.LossyPayload(rng, dtype, rows, columns, modes, w=w, row_scales=len(modes) % 2, order=len(name) % 4 if modes != [0] else 0)
        e = p.entry(name="t")
        side = len(p.numbers) * p.bits // 8 + 4 * len(p.scales)
        head = struct.pack("<HBI", len(e.parameters), encode.DTYPE_CODES[dtype], len(e.data))
        put("lossy", name, head + e.parameters + e.payload[:side + -side % 16 + 400])


def at_rate(rng):
    for name, rows, columns, bits, units, spill in (("one", 3, 20, 2, 1, 0), ("spilled", 5, 40, 2, 3, 1), ("two", 16, 129, 2, 5, 0.5), ("rows", 17, 128, 3, 2, 0.5), ("long", 2, 100, 3, 16, 0)):
        e = encode.FixedPayload(rng, rows, columns, bits, units, rate=0.05 if name == "long" else 0.01, spill=spill).entry(name="t")
        put("fixed", name, struct.pack("<HI", len(e.parameters), len(e.data)) + e.parameters + e.payload)


def in_fragments(rng):
    for name, dtype, rows, columns in (("whole", "BF16", 16, 128), ("edges", "I8", 19, 130), ("row", "U8", 1, 300), ("column", "I16", 40, 1), ("bands", "I8", 33, 256)):
        e = encode.FragmentsPayload(rng, dtype, rows, columns).entry(name="t")
        put("fragments", name, struct.pack("<HI", len(e.parameters), len(e.data)) + e.parameters + rng.randbytes(64))


def chunks(rng):
    for name, data, chunk in (("stored", rng.randbytes(100), 30), ("runs", bytes(5000), 2048), ("one", b"abc" * 20, 1 << 24)):
        e = encode.chunk_entry(data, chunk)
        put("chunk", name, struct.pack("<II", len(data), chunk) + e.payload)


def headers():
    samples = {
        "empty": (0, b"{}"), "metadata": (0, b'{"__metadata__":{"format":"pt","k\\u00e9y":"v"}}  '),
        "two": (24, b'{"b":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}'),
        "scalar": (1, b'{"x":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}'),
        "zero": (0, b'{"x":{"dtype":"I64","shape":[0,7],"data_offsets":[0,0]}}'),
        "unknown": (5, b'{"x":{"dtype":"F9_X","shape":[3,2],"data_offsets":[0,5],"more":[1,{"a":null}]}}'),
        "packed": (3, b' {"x":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}'),
        "escapes": (2, b'{"\\ud83d\\ude00\\n\\"":{"shape":[2],"dtype":"I8","data_offsets":[0,2]}}')}
    for name, (behind, text) in samples.items():
        put("safetensors_header", name, struct.pack("<I", behind) + text)


def whole_files():
    for name, e in (("two", cases.in_fields().entry(name="t")), ("all", cases.in_fields(2, 40, [(2, "p", 1), (3, "c", 0), (16, "t", 0), (8, "z", 0), (4, "t", 2)], shuffled=True).entry(name="t"))):
        put("chunk", "records-" + name, struct.pack("<II", 1 << 31 | len(e.data), len(e.payload)) + e.parameters)
        put("container_open", "records-" + name, cases.file_of(e)[0])
    put("container_open", "masked", cases.file_of(cases.masked_tensor(2, n=700).entry(name="t"))[0])
    put("container_open", "anchored", cases.file_of(cases.by_anchors(2, rows=20).entry(name="t"))[0])
    put("container_open", "every", cases.every_coding()[0])
    put("resident", "every", cases.every_coding()[0])
    put("devices", "every", cases.every_coding()[0])
    put("salvage", "every", cases.every_coding()[0])
    put("salvage", "front", cases.every_coding(front=True)[0])
    put("salvage", "cut", cases.every_coding()[0][:4000])


def matrices(rng):
    """Large enough for products by each kernel, and a tensor of many tiles, of one value each."""
    fixed = encode.FixedPayload(rng, 48, 384, 3, 2, rate=0.01, spill=0.5).entry(name="t")
    fragments = encode.FragmentsPayload(rng, "BF16", 32, 256).entry(name="t")
    for name, e in (("fixed", fixed), ("fragments", fragments), ("int8", encode.FragmentsPayload(rng, "I8", 32, 128).entry(name="t"))):
        put("devices", name, cases.file_of(e)[0])
    one = encode.random_payload(rng, 0, 12, 700000, encode.make_fields(rng, [(CODED, 8)], P8, pool=1), 0, 0, (1,))
    put("container_open", "many tiles", cases.file_of(encode.tile_entry(one, name="t", dtype="U8", shape=(700, 1000)))[0])


def layouts():
    """Files of other kinds that hold tensors."""
    matrix = containers.array("<f2", "(2, 3)", bytes(range(12)))
    put("layout", "npy", matrix)
    put("layout", "npy-fortran", containers.array("<f4", "(2, 1)", bytes(8), True))
    put("layout", "npz", containers.archive([("w.npy", matrix), ("b.npy", containers.array("|u1", "()", b"x")), ("readme", b"text")]))
    put("layout", "npz-partly", containers.archive([("w.npy", matrix), ("o.npy", containers.array("|O", "(1,)", bytes(8)))]))
    text = b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}'
    put("layout", "safetensors", struct.pack("<Q", len(text)) + text + b"xy")
    value = containers.dictionary([("w", containers.tensor("HalfStorage", "0", (2, 3), 6)), ("v", containers.tensor("HalfStorage", "0", (3, 2), 6, 0, (1, 3))),
                                   ("s", b"](" + containers.tensor("ByteStorage", "1", (2,), 4, 0, (2,)) + b"e")])
    put("layout", "pytorch", containers.checkpoint(value, {"0": bytes(12), "1": bytes(4)}))
    put("layout", "gguf", containers.gguf([("general.name", 8, "x"), ("list", 9, struct.pack("<IQ", 0, 3) + b"abc")], [("t", (32, 2), 2, bytes(36)), ("u", (4,), 30, bytes(8))]))
    node = containers.onnx_node("c", "value", 5, containers.onnx_tensor("", 10, (2, 1), bytes(4)))
    tensors = [containers.onnx_tensor("t", 1, (2,), bytes(8)), containers.onnx_tensor("t", 22, (3,), bytes(2)), containers.onnx_tensor("e", 1, (2,), ("f", 8, 8)), containers.onnx_tensor("s", 7, (2,), b"\1\2", 7)]
    model = containers.onnx(tensors, [node, containers.onnx_node("b", "then", 6, containers.field(5, tensors[0]))])
    put("layout", "onnx", model)
    put("pickle", "tensors", b"\x80\2" + value + b".")
    odd = {"a": [1, -1, 300, -70000, 1 << 40, 1 << 70, 1.5, None, True, b"bytes", bytearray(b"x"), "\u00e9"], "b": ({1, 2}, frozenset((3,)), (), (1, 2, 3, 4)), 5: complex(1, 2)}
    odd["self"] = odd
    for protocol in range(2, 6):
        put("pickle", "values-%d" % protocol, pickle.dumps(odd, protocol))


def calls(rng):
    """Pairs of call and argument; see api_sequence.c."""
    put("api_sequence", "plain", bytes([0, 15, 0, 12, 0, 3, 6, 1, 2, 0, 2, 2, 2, 4, 5, 0]))
    put("api_sequence", "empty", bytes([5, 0, 5, 0, 7, 1, 5, 0]))
    put("api_sequence", "wrong order", bytes([2, 0, 5, 0, 0, 2, 5, 0, 2, 1, 2, 0, 0, 3, 6, 0, 5, 0, 5, 0, 2, 0]))
    put("api_sequence", "full disk", bytes([0, 9, 7, 0x12, 2, 0, 5, 0]))
    put("api_sequence", "names", bytes([0, 2, 0, 0x82, 0, 0, 0, 23, 0, 20, 2, 0, 5, 0]))
    for level in (0, 2, 8):
        for profile in range(4):
            data = bytes(int(rng.gauss(60, 3)) & 255 if i & 1 else rng.getrandbits(8) for i in range(300))
            put("round_trip", "%d-%d" % (level, profile), bytes([profile | 4 * rng.getrandbits(1), level, 1 + rng.choice([11, 12, 14, 2, 4, 17]), rng.choice([0, 1, 31, 200]), 0x7f]) + data)
    for predict in range(1, 8):
        data = bytes(int(40 * i / 7 + rng.gauss(0, 2)) & 255 for i in range(100))
        put("round_trip", "predict-%d" % predict, bytes([0, 2 + 9 * predict, 22 * rng.choice([1, 2, 3, 5]) + rng.choice([1, 2, 10]), 255, 0x7f]) + data)
    for target in range(1, 4):
        for code, view in ((10, 0), (11, 1), (14, 5), (11, 6)):
            data = b"".join(struct.pack("<e" if code == 10 else "<f", rng.gauss(0, 0.02))[2 * (code == 11):] for i in range(90))
            put("round_trip", "lossy-%d-%d" % (target, code + 22 * view), bytes([rng.choice([20, 40, 60]), 2 + 72 * target + view % 2, code + 22 * view, 255, 3]) + data)


def messages(rng):
    """Bytes of a good message's payloads that are changed: whether checks of streams are put right, then payload, place and value, three bytes each."""
    put("message", "unchanged", bytes([1, 0, 0, 0]))
    for i in range(12):
        put("message", "changed-%d" % i, bytes([i & 1] + [rng.getrandbits(8) for _ in range(3 * (1 + i // 4))]))


def standing():
    """Deltas with each mode of tiles, and several: the base's size, the base, the deltas."""
    for i, (name, dtype, n, modes, values) in enumerate((("equal", "BF16", 700, [EQUAL], 0), ("sparse", "F32", 700, [SPARSE], 0), ("values", "U8", 900, [SPARSE], 1),
                                                        ("every", "BF16", 4 * 4096 + 9, [EQUAL, SPARSE, ALONE, DIFFERENCE, XOR], 0), ("wide", "F64", 4096 + 77, [SPARSE, XOR], 1))):
        p = deltas.DeltaPayload(random.Random(40 + i), dtype, n, modes, values=values)
        base = deltas.base_of(p)
        put("deltas", name, struct.pack("<I", len(base)) + base + encode.container([p.entry()]))


def models():
    def folder(*files):
        return bytes([len(files)]) + b"".join(bytes([len(name)]) + name.encode() + struct.pack("<H", len(data) | (shard << 15)) + data for name, data, shard in files)
    index = b'{"metadata":{"total_size":3},"weight_map":{"a":"x-1.safetensors","b":"x-1.safetensors","c":"x-2.safetensors"}}'
    one, two = ("x-1.safetensors.wcodec", bytes([0, 1]), 1), ("x-2.safetensors.wcodec", bytes([2]), 1)
    put("model", "shards", folder(one, two))
    put("model", "index", folder(one, two, ("model.safetensors.index.json", index, 0)))
    put("model", "index of pytorch", folder(("x-1.bin.wcodec", bytes([3]), 1), ("pytorch_model.bin.index.json", b'{"weight_map":{"d":"x-1.bin"}}', 0)))
    put("model", "twice", folder(one, ("y.safetensors.wcodec", bytes([0]), 1)))
    put("model", "out of the folder", folder(one, ("model.safetensors.index.json", b'{"weight_map":{"a":"../x-1.safetensors"}}', 0)))
    put("model", "two indexes", folder(("x.safetensors.index.json", index, 0), ("y.safetensors.index.json", index, 0)))
    put("model", "no shard", folder(("z.safetensors.index.json", index, 0)))
    put("model", "forms", folder(one, ("x.gguf.wcodec", bytes([4]), 1), ("x.npz.wcodec", bytes([5]), 1)))


def recurrent(rng):
    for name, what, members, hidden, inputs, stochastic, spoilt, how in (
            ("unit", 0, 0, 7, 4, 0, 255, 0), ("unit before", 2, 0, 31, 4, 0, 255, 0), ("ensemble", 1, 2, 9, 5, 3, 255, 0), ("sampled", 3, 0, 33, 6, 8, 255, 0), ("on a device", 5, 1, 20, 7, 4, 255, 0),
            ("shape", 1, 1, 9, 5, 3, 10, 0), ("rank", 0, 0, 7, 4, 0, 2, 1), ("type", 0, 0, 7, 4, 0, 1, 2), ("name", 1, 0, 9, 5, 3, 3, 3), ("no bias", 0, 0, 7, 4, 0, 3, 4),
            ("units on a device", 0x34, 0, 20, 9, 0, 255, 0), ("units by tensor cores", 0x7e, 0, 37, 30, 0, 255, 0), ("starts by tensor cores", 0x5d, 1, 33, 17, 9, 255, 0), ("starts", 0x33, 0, 9, 5, 3, 255, 0)):
        put("recurrent", name, bytes([what, members, hidden, inputs, stochastic, spoilt, how]) + bytes(rng.choice([0, 0x30, 0xb1, 0x3c]) for _ in range(37)))


def saves(rng):
    """Of each type: spread a little, widely, of one value, and with many outliers."""
    for kind in (0, 1, 2, 3):
        put("save", "narrow-%d" % kind, bytes([kind, rng.randrange(256), kind & 1]) + bytes(rng.choice([0x3b, 0x3c, 0x3d, 0xbc]) for _ in range(97)))
    for kind in (0, 5):
        put("save", "wide-%d" % kind, bytes([kind, 3, 200]) + bytes(min(255, max(0, int(rng.gauss(100, 15)))) for _ in range(200)))
    put("save", "one", bytes([0, 0, 0, 0x3c]))
    put("save", "runs", bytes([0, 0, 2]) + bytes(60) + b"\x3c")


def vectors(rng):
    """The three published files, the sizes of the first two before them."""
    for name, m, d, n, flags in (("small", 4, 3, 9, 0), ("one", 1, 1, 1, 0), ("flags", 2, 5, 3, 3), ("wide", 3, 70, 40, 1), ("more anchors than rows", 8, 2, 5, 0)):
        head = struct.pack("<IHIIIB", 0x564C4341, 1, m, d, n, flags)
        anchors = struct.pack("<%de" % (m * d), *(rng.gauss(0, 2) for _ in range(m * d)))
        index = struct.pack("<%dI" % n, *(rng.randrange(m) for _ in range(n)))
        put("vectors", name, struct.pack("<HH", len(head), len(anchors)) + head + anchors + index)


def stores(rng):
    """A manifest without its check, and its files: a segment by itself, two of which one has gaps and removed vectors, and what the manifest does not name."""
    def segment(n, m, d, scales=1, gaps=None):
        values = (("anchors", "F16", (m, d), struct.pack("<%de" % (m * d), *(rng.gauss(0, 2) for _ in range(m * d)))),
                  ("scales", "F32", (scales,), struct.pack("<%df" % scales, *(rng.uniform(0.1, 2) for _ in range(scales)))),
                  ("indices", "U8", (n,), bytes(rng.randrange(m) for _ in range(n))), ("gaps", "U8", (n,), bytes(gaps or ())), ("residuals", "I8", (n, d), rng.randbytes(n * d)))
        entries = [encode.chunk_entry(data, 1 << 16, name="vectors." + name, dtype=dtype, shape=shape) for name, dtype, shape, data in values if data]
        entries.insert(0, encode.safetensors_blob(entries, [("wcodec.vectors", "1")]))
        return cases.file_of(*entries, kind=1, metadata=[("wcodec.vectors", "1")])[0]

    def store(name, d, next_id, lines, *files):
        text = "wcodec-vectors 1\ndimensions %d\nnext %d\nfiles 6\n" % (d, next_id) + "".join("segment %d first %d last %d rows %d removed %d by %d\n" % line for line in lines)
        put("stores", name, struct.pack("<H", len(text)) + text.encode() + b"".join(struct.pack("<BH", kind, len(data)) + data for kind, data in files))

    first, second = segment(9, 3, 5), segment(12, 2, 5, scales=2, gaps=[0, 3] + [0] * 9 + [1])
    store("one", 5, 9, [(1, 0, 8, 9, 0, 0)], (1, first))
    store("two", 5, 40, [(1, 0, 8, 9, 0, 0), (2, 20, 35, 12, 3, 4)], (1, first), (2, second), (0x84, b"\x81\x02"))
    store("all removed", 3, 4, [(0, 1, 3, 3, 3, 3)], (0, segment(3, 3, 3)), (0x83, b"\x07"))
    store("left behind", 2, 1, [(5, 0, 0, 1, 0, 0)], (5, segment(1, 1, 2)), (4, b"no segment"), (0x85, b""))
    store("none", 7, 0, [])
    store("not there", 5, 9, [(1, 0, 8, 9, 0, 0)], (2, first))


def faults(rng):
    """Each operation on each way of coding without a fault; then with each kind of fault, on files of which bytes are changed, too."""
    for operation in range(12):
        put("faults", "good-%d" % operation, bytes([operation % 8, operation, rng.getrandbits(6), 0, 0, 0, rng.getrandbits(8) & 254, 0, 0]))
    for i in range(48):
        allocation, read, progress, write = [(rng.randrange(1, 120), 0, 0, 0), (0, rng.randrange(1, 9), 0, 0), (0, 0, rng.randrange(1, 5), 0), (0, 0, 0, rng.randrange(1, 4))][i % 4]
        changes = b"".join(struct.pack("<HB", rng.getrandbits(16), 1 << rng.randrange(8)) for _ in range(i // 4 % 3))
        put("faults", "fault-%d" % i, struct.pack("<BBBHBBBB", rng.randrange(8), i // 4, rng.getrandbits(8), allocation, read, rng.getrandbits(8), progress, write) + changes)


def sets_of_bases(rng):
    """Chains in all forms, found in all ways."""
    coded, plain, given, other, one, none = (1 << i for i in range(6))
    def chain(*files, damage=(0, 0, 0, 0), way=0, depth=0, allocation=0, what=0):
        return bytes([len(files) - 1]) + b"".join(bytes(f) for f in files) + bytes(damage) + bytes([way, depth, allocation & 255, allocation >> 8, what])
    first, second, third = (plain | given, 5, 0, 3), (coded | given, 0, 3, 7), (0, 1, 20, 9)
    put("bases", "given", chain(first, second, third, what=2))
    put("bases", "for one", chain(first, second, third, what=1))
    for way in range(1, 6):
        put("bases", "found-%d" % way, chain((plain | coded, 5, 0, 3), (coded, 0, 2, 7), (0, 1, 2, 9), way=way, depth=way % 3))
    put("bases", "of bases", chain((plain, 5, 0, 3), (coded | given, 0, 2, 7), (0, 1, 2, 9), way=3))
    put("bases", "missing", chain((0, 5, 0, 3), (coded | given, 0, 2, 7), (0, 1, 2, 9), way=2))
    put("bases", "other", chain((plain | given | other, 5, 0, 3), (plain | given | one, 0, 2, 7), (0, 1, 2, 9)))
    put("bases", "deep", chain((plain, 5, 0, 3), (coded, 0, 2, 7), (coded, 1, 2, 9), (coded | plain, 2, 2, 5), (0, 3, 2, 6), way=1, depth=2))
    put("bases", "twins", chain((plain | coded | given, 5, 0, 3), (coded | given | none, 0, 0, 4), (0, 1, 2, 9), way=5))
    put("bases", "damaged", chain(first, second, third, damage=(1, 0, 128, 4)))
    for i in range(12):
        put("bases", "memory-%d" % i, chain((plain | given * (i & 1), 5, 0, 3), (coded | given * (i >> 1 & 1), 0, 2, 7), (0, 1, 2, 9), way=i % 6, allocation=rng.randrange(4, 90), what=i % 4))


def in_parts(rng):
    for i in range(6):
        tensors = b"".join(bytes([rng.randrange(4), rng.choice([1, 20, 60]), rng.choice([0, 1, 7, 0x55])]) + bytes(rng.choice([0x3c, 0x3d, 0xbc, 3]) for _ in range(12)) for _ in range(i % 4 + 1))
        put("parts", "%d" % i, bytes([rng.getrandbits(8), i | 128 * (i == 5), 60, 130, 200, 40 * i]) + tensors)


def learning(rng):
    for name, head in (("small", (1, 3, 2, 1, 2, 0)), ("reference", (0, 5, 4, 0, 3, 1)), ("drawn", (2, 39, 7, 8, 6, 2)), ("before", (0, 8, 8, 3, 1, 4)), ("kinds", (1, 20, 3, 5, 4, 0x58)), ("any", (1, 4, 4, 2, 3, 128))):
        put("learn", name, bytes(head) + rng.randbytes(61))


def segments(rng):
    for name, n, d, m, kind, metric, changes in (("small", 20, 4, 3, 4, 5, 0), ("halves", 40, 7, 9, 5, 1, 0), ("published", 60, 3, 5, 20, 0x42, 0), ("changed", 33, 16, 4, 4, 2, 2), ("one", 0, 0, 0, 0, 0, 0), ("many", 90, 38, 60, 7, 7, 3),
                                                ("on a device", 90, 38, 20, 36, 5, 0), ("halves on a device", 80, 9, 40, 33, 0x40, 0), ("published on a device", 60, 33, 12, 53, 7, 0)):
        put("segments", name, bytes([n, d, m, kind, metric, changes]) + b"".join(struct.pack("<HB", rng.getrandbits(16), 1 << rng.randrange(8)) for _ in range(changes)) + rng.randbytes(53))


def main():
    rng = random.Random(7)
    tables(rng)
    tiles(rng)
    chunks(rng)
    blocks(random.Random(8))
    at_rate(random.Random(9))
    in_fragments(random.Random(11))
    lossy(random.Random(9))
    kernels(random.Random(10))
    more_kernels(random.Random(17))
    headers()
    whole_files()
    matrices(random.Random(16))
    layouts()
    calls(rng)
    messages(random.Random(12))
    vectors(random.Random(13))
    stores(random.Random(17))
    standing()
    models()
    recurrent(random.Random(14))
    saves(random.Random(15))
    faults(random.Random(18))
    sets_of_bases(random.Random(19))
    in_parts(random.Random(20))
    learning(random.Random(21))
    segments(random.Random(22))


if __name__ == "__main__":
    main()
