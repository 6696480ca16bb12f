#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files of other kinds that hold tensors, by the standard library alone. usage: make_containers.py"""
import io
import json
import os
import random
import struct
import zipfile


def array(descr, shape, data, fortran=False):
    """As numpy.save() writes it."""
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data


def archive(members, method=zipfile.ZIP_STORED, **options):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as z:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with z.open(info, "w", **options) as f:
                f.write(data)
    return made.getvalue()


def text(value):
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value):
    return b"J" + struct.pack("<i", value)


def numbers(values):
    return b"(" + b"".join(map(number, values)) + b"t"


def strides_of(shape):
    strides = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)
    return strides[: len(shape)]


def tensor(storage, key, shape, elements, offset=0, strides=None):
    """The pickle of a call of _rebuild_tensor_v2, as torch.save() writes it."""
    identity = b"(" + text("storage") + b"ctorch\n" + storage.encode() + b"\n" + text(key) + text("cpu") + number(elements) + b"tQ"
    hooks = b"ccollections\nOrderedDict\n)R"
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + identity + number(offset) + numbers(shape)
            + numbers(strides_of(shape) if strides is None else strides) + b"\x89" + hooks + b"tR")


def dictionary(pairs):
    return b"}(" + b"".join(text(key) + value for key, value in pairs) + b"u"


def checkpoint(value, storages, folder="model", order=b"little", method=zipfile.ZIP_STORED):
    """As torch.save() writes it: `value` is the pickle of what was saved."""
    return archive([(folder + "/data.pkl", b"\x80\2" + value + b"."), (folder + "/byteorder", order)]
                   + [("%s/data/%s" % (folder, key), data) for key, data in storages.items()]
                   + [(folder + "/version", b"3\n")], method)


def gguf(values, tensors, alignment=32, version=3):
    """values: (key, type, bytes); tensors: (name, dimensions from the fastest, type, bytes)."""
    def string(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    for key, kind, value in values:
        head += string(key) + struct.pack("<I", kind) + (string(value) if kind == 8 else value)
    data = b""
    for name, shape, kind, content in tensors:
        data += bytes(-len(data) % alignment)
        head += string(name) + struct.pack("<I%dQIQ" % len(shape), len(shape), *shape, kind, len(data))
        data += content
    return head + bytes(-len(head) % alignment) + data


def varint(value):
    made = b""
    while value > 127:
        made, value = made + bytes([value & 127 | 128]), value >> 7
    return made + bytes([value])


def field(number, value):
    """A field of a protobuf message: a number, a text, or the bytes of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_tensor(name, kind, shape, data, number=9):
    """A TensorProto; data: the bytes of that field, or for an external one its file, offset and length."""
    made = b"".join(field(1, n) for n in shape) + field(2, kind) + field(8, name)
    if isinstance(data, bytes):
        return made + field(number, data)
    pairs = zip(("location", "offset", "length"), map(str, data))
    return made + b"".join(field(13, field(1, key) + field(2, value)) for key, value in pairs) + field(14, 1)


def onnx(tensors, nodes=()):
    graph = b"".join(field(1, n) for n in nodes) + field(2, "graph") + b"".join(field(5, t) for t in tensors)
    return field(1, 8) + field(2, "test") + field(7, graph) + field(8, field(1, "") + field(2, 17))


def onnx_node(output, attribute, number, value):
    return field(2, output) + field(4, "If") + field(5, field(1, attribute) + field(number, value))


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


def main():
    rng = random.Random(5)
    f32 = b"".join(struct.pack("<f", rng.gauss(0, 0.02)) for _ in range(100 * 300))
    f16 = b"".join(struct.pack("<e", rng.gauss(0, 0.02)) for _ in range(100 * 300))
    matrix = array("<f4", "(100, 300)", f32)
    write("plain.npy", matrix)
    write("big.npy", array(">f4", "(100, 300)", f32))
    write("cut.npy", matrix[:-1])
    write("behind.npy", matrix + b"more")
    members = [("w.npy", matrix), ("layer/h.npy", array("<f2", "(100, 300)", f16)), ("equal.npy", matrix), ("none.npy", array("<f8", "(0, 3)", b"")), ("note.txt", b"text")]
    write("plain.npz", archive(members))
    write("zip64.npz", archive(members, force_zip64=True))
    write("packed.npz", archive([("w.npy", matrix)], zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile("partly.npz", "w") as z:
        z.writestr("w.npy", matrix, zipfile.ZIP_DEFLATED)
        z.writestr("v.npy", matrix)
        z.writestr("../up.npy", array("|u1", "(4,)", b"abcd"))
    write("cut.npz", archive(members)[:-30])

    # 0: a matrix that is there under two names, and rows of it; 1: one whose dimensions are exchanged; 2: of which only every second number is used.
    storages = {"0": f32, "1": f16, "2": f32}
    value = dictionary([
        ("model", dictionary([
            ("embed.weight", tensor("FloatStorage", "0", (100, 300), 30000)),
            ("head.weight", tensor("FloatStorage", "0", (100, 300), 30000)),
            ("rows", tensor("FloatStorage", "0", (10, 300), 30000, 300)),
            ("turned", tensor("HalfStorage", "1", (300, 100), 30000, 0, (1, 300)))])),
        ("state", b"](" + tensor("FloatStorage", "2", (15000,), 30000, 0, (2,)) + number(7) + b"e")])
    write("plain.pt", checkpoint(value, storages))
    write("big.pt", checkpoint(value, storages, order=b"big"))
    write("packed.pt", checkpoint(value, storages, method=zipfile.ZIP_DEFLATED))
    write("short.pt", checkpoint(value, {**storages, "1": f16[:-2]}))
    write("missing.pt", checkpoint(value, {"0": f32}))
    write("nothing.pt", checkpoint(b"cos\nsystem\n(" + text("true") + b"tR", {}))
    write("code.pt", checkpoint(dictionary([("a", b"cos\nsystem\n(" + text("touch executed") + b"tR"), ("w", tensor("FloatStorage", "0", (100, 300), 30000))]), storages))
    write("deep.pt", checkpoint(b"](" * 5000 + b"e" * 5000, storages))
    # Each object holds the one before twice: 2^60 ways to the innermost.
    laughs = b"cx\ny\n)Rq\0" + b"".join(b"cx\ny\nh%ch%c\x86Rq%c" % (i, i, i + 1) for i in range(60))
    write("laughs.pt", checkpoint(b"](" + laughs + tensor("FloatStorage", "0", (100, 300), 30000) + b"e", storages))
    blocks = b"".join(struct.pack("<e", rng.gauss(0.01, 0.002)) + bytes(round(rng.gauss(0, 40)) % 256 for _ in range(32)) for _ in range(2000))
    values = [("general.architecture", 8, "llama"), ("general.alignment", 4, struct.pack("<I", 64)), ("tokens", 9, struct.pack("<IQ", 8, 300) + (struct.pack("<Q", 5) + b"token") * 300)]
    tensors = [("token_embd.weight", (300, 100), 0, f32), ("output.weight", (300, 100), 1, f16), ("blk.0.ffn.weight", (320, 200), 8, blocks), ("new", (4,), 999, bytes(4))]
    made = gguf(values, tensors, 64)
    write("plain.gguf", made)
    write("cut.gguf", made[:-5000])
    write("big.gguf", made[:4] + b"\0\0\0\3" + made[8:])
    write("same.gguf", gguf(values, tensors[:1] * 2, 64))
    os.makedirs("bin/sub")
    for i, (name, key, data) in enumerate([("embed.weight", "FloatStorage", f32), ("layer.weight", "HalfStorage", f16)]):
        pairs = [(name, tensor(key, "0", (100, 300), 30000))]
        if i == 0:
            pairs.append(("head.weight", tensor(key, "0", (100, 300), 30000)))
        write("bin/pytorch_model-0000%d-of-00002.bin" % (i + 1), checkpoint(dictionary(pairs), {"0": data}, "archive"))
    write("bin/training_args.bin", checkpoint(dictionary([("lr", number(1))]), {}, "archive"))
    write("bin/optimizer.bin", checkpoint(dictionary([("step", tensor("FloatStorage", "0", (100, 300), 30000))]), {"0": f32}, "archive"))
    write("bin/sub/old_model.bin", b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
    write("bin/pytorch_model.bin.index.json", json.dumps({"metadata": {}, "weight_map": {
        "embed.weight": "pytorch_model-00001-of-00002.bin", "head.weight": "pytorch_model-00001-of-00002.bin",
        "layer.weight": "pytorch_model-00002-of-00002.bin"}}).encode())
    small = [struct.pack("<64f", *(rng.gauss(0, 0.02) for _ in range(64))) for _ in range(2000)]
    write("many.npz", archive([("block.%d.bias.npy" % i, array("<f4", "(64,)", data)) for i, data in enumerate(small)]))
    write("many.pt", checkpoint(dictionary([("block.%d.bias" % i, tensor("FloatStorage", str(i), (64,), 64)) for i in range(2000)]), {str(i): data for i, data in enumerate(small)}))
    write("opcode.pt", checkpoint(b"I5\n", storages))

    body = field(1, onnx_node("half", "value", 5, onnx_tensor("", 10, (100, 300), f16))) + field(5, onnx_tensor("w", 9, (3,), b"\1\0\1"))
    inline = [onnx_tensor("w", 1, (100, 300), f32), onnx_tensor("numbers", 1, (300, 100), f32, 4), onnx_tensor("packed", 22, (3, 4), b"abcdef"), onnx_tensor("steps", 7, (2,), b"\1\2", 7)]
    made = onnx(inline, [onnx_node("branch", "then_branch", 6, body)])
    write("plain.onnx", made)
    write("cut.onnx", made[:-100])
    write("short.onnx", onnx([onnx_tensor("w", 1, (100, 301), f32)]))
    write("steps.onnx", onnx(inline[3:]))
    nested = field(5, inline[0])
    for _ in range(40):
        nested = field(1, onnx_node("o", "a", 6, nested))
    os.makedirs("onnx", exist_ok=True)
    split = [onnx_tensor("w", 1, (100, 300), ("model.onnx_data", 0, 120000)), onnx_tensor("h", 10, (100, 300), ("model.onnx_data", 131072)), onnx_tensor("tied", 1, (100, 300), ("./model.onnx_data", 0))]
    apart = [onnx_tensor("alone", 10, (100, 300), ("alone",)), onnx_tensor("up", 10, (100, 300), ("../plain.npy", 0))]
    write("onnx/model.onnx", onnx(split + inline[2:3]))
    write("onnx/model.onnx_data", f32 + bytes(131072 - 120000) + f16)
    write("onnx/other.onnx", onnx(apart))
    write("onnx/alone", f16)
    write("onnx/config.json", b"{}")
    write("deep.onnx", onnx([], [onnx_node("o", "a", 6, nested)]))


if __name__ == "__main__":
    main()
