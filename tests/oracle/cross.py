#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The library decodes what the odd encoder made, and the independent decoder what the library made, at several levels and with every profile."""
import os
import random
import struct
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "bad"))
sys.path.insert(0, here)
import encode
from common import Corrupt, is_quick
from decode import Container
from server import Server
from xxh3 import xxh3_128


def library_decodes(seed, count):
    server = Server()
    for s in range(seed, seed + count):
        data, original = encode.random_file(s)
        answer = server.kind(data)
        if answer != ("ok", "%032x" % xxh3_128(original)):
            sys.exit("file of seed %d: the library says %s %s" % (s, *answer))
    server.close()
    print("the library decoded %d odd files" % count)


def quantised(rng, n):
    """Q8_0 and Q4_K as convert writes them, with their types in the metadata."""
    entries = []
    for name, shape, block in (("Q8_0", (n // 320, 340), lambda: struct.pack("<e", rng.uniform(0.01, 0.012)) + bytes(max(-127, min(127, round(rng.gauss(0, 40)))) & 255 for _ in range(32))),
                               ("Q4_K", (n // 512, 288), lambda: struct.pack("<2e", rng.uniform(0.01, 0.012), rng.uniform(0.1, 0.13)) + bytes(min(255, 32 + int(rng.expovariate(0.1))) for _ in range(12))
                                + bytes(max(0, min(15, round(rng.gauss(8, 2.5)))) | max(0, min(15, round(rng.gauss(8, 2.5)))) << 4 for _ in range(128)))):
        size = len(block())
        entries.append(encode.Entry(b"".join(block() for _ in range(shape[0] * shape[1] // size)), 2, b"", name=name, dtype="U8", shape=shape))
    types = [("gguf.type." + e.name, e.name) for e in entries]
    return encode.safetensors_blob(entries, types).data + b"".join(e.data for e in entries)


def library_cuts(rng):
    server = Server()
    for n, options in ((40000, {"level": 1}), (40000, {}), (20000, {"level": 7}), (40000, {"tune": 1})):
        original = quantised(rng, n)
        container = Container(server.compress(original, **options))
        if container.decode_all() != original or [e.coding for e in container.entries].count(9) != 2:
            sys.exit("%d weights in records with %s: not in records, or other bytes come back" % (n, options))
    server.close()
    print("the oracle decoded 8 tensors that the library cut into fields")


def library_masks(rng):
    server = Server()
    for n, options in ((9000, {"level": 1}), (5000, {}), (20001, {"level": 9})):
        def pruned(dtype, code):
            data = b"".join(struct.pack(code, rng.gauss(0, 0.02) if rng.random() < 0.4 else 0) for _ in range(n))
            return encode.Entry(data, 2, b"", name=dtype, dtype=dtype, shape=(n,))
        entries = [pruned("F32", "<f"), pruned("F64", "<d"), pruned("F16", "<e")]
        original = encode.safetensors_blob(entries).data + b"".join(e.data for e in entries)
        container = Container(server.compress(original, **options))
        if container.decode_all() != original or [e.coding for e in container.entries].count(11) != (3 if options.get("level") == 9 else 2):
            sys.exit("%d pruned elements with %s: no masks, or other bytes come back" % (n, options))
    server.close()
    print("the oracle decoded 7 tensors that the library gave a mask")


def checkpoint(rng, n):
    """A safetensors file with tensors of every dtype, of weights, constants, counters and noise."""
    entries = []

    def add(name, dtype, data, bits, columns=None):
        n = len(data) * 8 // bits
        entries.append(encode.Entry(data, 2, b"", name=name, dtype=dtype, shape=(n // columns, columns) if columns else (n,)))

    floats = [rng.gauss(0, 0.02) for _ in range(n)]
    f32 = struct.pack("<%df" % n, *floats)
    bf16 = b"".join(f32[i + 2:i + 4] for i in range(0, len(f32), 4))
    add("f32", "F32", f32, 32)
    add("f32 of bf16", "F32", b"".join(b"\0\0" + bf16[i:i + 2] for i in range(0, len(bf16), 2)), 32)
    add("bf16", "BF16", bf16, 16)
    add("bf16 with zeros", "BF16", b"".join(bf16[i:i + 2] if rng.random() < 0.5 else b"\0\0" for i in range(0, len(bf16), 2)), 16)
    add("bf16 matrix", "BF16", bf16[:n // 256 * 512], 16, 256 if n >= 256 * 16 else None)
    add("f16", "F16", struct.pack("<%de" % n, *floats), 16)
    add("i8", "I8", bytes(max(-127, min(127, round(1500 * v))) & 255 for v in floats), 8)
    add("u8", "U8", bytes(max(0, min(255, round(128 + 1500 * v))) for v in floats), 8)
    add("f8", "F8_E4M3", bytes(rng.choice([0, 128]) | min(15, max(0, int(rng.gauss(7, 1.3)))) << 3 | rng.getrandbits(3) for _ in range(n)), 8)
    add("i64", "I64", struct.pack("<%dq" % (n // 4), *range(n // 4)), 64)
    add("i16", "I16", struct.pack("<%dh" % n, *(int(2000 * v * 10) for v in floats)), 16)
    add("f64", "F64", struct.pack("<%dd" % (n // 4), *floats[:n // 4]), 64)
    add("bool", "BOOL", bytes(rng.random() < 0.1 for _ in range(n)), 8)
    add("noise", "U32", rng.randbytes(4 * (n // 4)), 32)
    walk = 0.0
    rows = []
    for i in range(n // 50 * 50):
        walk = 0.9 * (walk if i % 50 else 0) + rng.gauss(0, 12)
        rows.append(max(-127, min(127, round(walk))) & 255)
    add("rows", "I8", bytes(rows), 8, 50)
    add("ramp", "I16", struct.pack("<%dh" % (n // 24 * 24), *(17 * (i // 24) - 40 * (i % 24) + rng.getrandbits(2) for i in range(n // 24 * 24))), 16, 24)
    add("ones", "BF16", b"\x80\x3f" * n, 16)
    add("bf16 again", "BF16", bf16, 16)
    add("one", "F32", b"\0\0\x80\x3f", 32)
    add("none", "F32", b"", 32)
    return encode.safetensors_blob(entries).data + b"".join(e.data for e in entries)


def library_encodes(rng):
    server, made, packed = Server(), 0, 0
    for n, options in ((5000, {"level": 1}), (20000, {}), (6000, {"level": 9}), (4097, {"profile": 1}), (4097, {"profile": 2}), (9000, {"profile": 3, "tile": 12}),
                       (1500, {"level": 6, "tune": 1}), (3000, {"raw": 1}), (9000, {"predict": 4}), (17000, {"predict": 6, "tile": 13}), (9000, {"predict": 1}), (9000, {"predict": 7}),
                       (30000, {"tune": 2})):
        original = checkpoint(rng, n)
        data = server.compress(original, **options)
        codings = {e.coding for e in Container(data).entries}
        if Container(data).decode_all() != original or not options.get("raw") and {1 if c == 8 else c for c in codings} - {4, 6, 11} != {0, 1, 2, 3} or (6 in codings) != (options.get("tune") == 2) or (4 in codings) != (options.get("predict", 0) > 1):
            sys.exit("%d elements with %s: codings %s, or other bytes come back" % (n, options, codings))
        made += 1
        packed += 8 in codings
    server.close()
    if packed < 3:
        sys.exit("only %d files have packed tensors" % packed)
    print("the oracle decoded %d files of the library" % made)


def library_anchors(rng):
    """Rows that are near some others, with loss: both decoders give the same."""
    server, made = Server(), 0
    for dtype, code, rows, columns, target, value in (("F32", "f", 2100, 16, 1, 20), ("F16", "e", 2048, 17, 3, 32), ("F32", "f", 2048, 16, 1, 60)):
        centres = [[rng.gauss(0, 1) for _ in range(columns)] for _ in range(9)]
        data = b"".join(struct.pack("<%d%s" % (columns, code), *(rng.gauss(m, 0.2) for m in rng.choice(centres))) for _ in range(rows))
        e = encode.Entry(data, 0, b"", b"", name="t", dtype=dtype, shape=(rows, columns))
        coded = server.compress(encode.safetensors_blob([e]).data + data, lossy=target, value=value)
        container = Container(coded)
        back = container.decode_all()
        if [e.coding for e in container.entries if e.name] != [13] or server.kind(coded) != ("ok", "%032x" % xxh3_128(back)):
            sys.exit("%s %d x %d, loss %d %d: no anchors, or the library and the oracle differ" % (dtype, rows, columns, target, value))
        made += 1
    server.close()
    print("the oracle decoded %d tensors that the library coded by anchors" % made)


def numbers(entry, data):
    if entry.dtype == "BF16":
        return struct.unpack("<%df" % (len(data) // 2), b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))
    return struct.unpack("<%d%s" % ((len(data) // 2, "e") if entry.dtype == "F16" else (len(data) // 4, "f")), data)


def library_approximates(rng):
    """Both decoders give the same approximation, and it is as near as was asked for."""
    server, lossy = Server(), 0
    for n, target, value, level in ((4000, 1, 25, 3), (20000, 1, 40, 5), (5000, 2, 10, 3), (9000, 3, 36, 3), (30000, 3, 20, 1), (6000, 3 + 16, 68, 7), (4200, 1 + 16, 12, 3)):
        original = checkpoint(rng, n)
        data = server.compress(original, level=level, lossy=target, value=value)
        container = Container(data)
        back = container.decode_all()
        if server.kind(data) != ("ok", "%032x" % xxh3_128(back)) or len(back) != len(original):
            sys.exit("%d elements, loss %d %d: the library and the oracle differ" % (n, target, value))
        at = 0
        for e in container.entries:
            before, after = original[at:at + e.size], back[at:at + e.size]
            at += e.size
            if e.coding != 5:
                if before != after and e.coding != 3:
                    sys.exit("%s was to stay exact" % e.name)
                continue
            lossy += 1
            x, y = numbers(e, before), numbers(e, after)
            signal, noise, largest = sum(v * v for v in x), sum((v - w) ** 2 for v, w in zip(x, y)), max(abs(v - w) for v, w in zip(x, y))
            kept = noise * 10 ** (value / 10) <= signal * (1 + 1e-9) if target & 15 == 1 else largest <= 2.0 ** -value if target == 2 else e.payload_size <= value * len(x) / 64
            if not kept:
                sys.exit("%s, loss %d %d: %g of %g, largest %g, %d bytes" % (e.name, target, value, noise, signal, largest, e.payload_size))
    server.close()
    if lossy < 20:
        sys.exit("only %d tensors were approximated" % lossy)
    print("the oracle decoded %d tensors that the library approximated" % lossy)


def both_salvage(rng):
    """Of files that are cut anywhere, or have lost their tail, both decoders save the same tensors, and those that are whole."""
    server, saved = Server(), 0
    odd, cuts = (4, 3) if is_quick() else (12, 12)
    files = [server.compress(checkpoint(rng, 3000), level=1), server.compress(checkpoint(rng, 20000))]
    files += [data for data, _ in (encode.random_file(seed) for seed in range(odd))]
    for data in files:
        whole = Container(data)
        right = {e.name: whole.decode(i) for i, e in enumerate(whole.entries)}
        for cut in [len(data) - 1, len(data) - 64] + [rng.randrange(64, len(data)) for _ in range(cuts)]:
            try:
                left = Container.rebuilt(data[:cut])
            except Corrupt:
                continue
            tensors = [i for i in left.whole if left.entries[i].name is not None]
            out = [left.decode(i) for i in tensors]
            if any(bytes(b) != right[left.entries[i].name] for i, b in zip(tensors, out)):
                sys.exit("cut to %d of %d bytes: other bytes are saved" % (cut, len(data)))
            answer = server.ask("s", data[:cut])
            if left.entries and (answer[0] != "ok" or answer[1] != "%032x" % xxh3_128(b"".join(out))):
                sys.exit("cut to %d of %d bytes: the library saves something else than %d tensors: %s" % (cut, len(data), len(tensors), answer))
            saved += len(tensors)
    server.close()
    if saved < 16 * odd:
        sys.exit("only %d tensors were saved" % saved)
    print("both decoders saved %d tensors of files that were cut short" % saved)


def main():
    seed = int(os.environ.get("WCODEC_TEST_SEED", "1"), 0)
    print("seed", seed)
    library_decodes(seed, 20 if is_quick() else 60)
    library_encodes(random.Random(seed))
    library_masks(random.Random(seed))
    library_cuts(random.Random(seed))
    library_approximates(random.Random(seed))
    library_anchors(random.Random(seed))
    both_salvage(random.Random(seed))


if __name__ == "__main__":
    main()
