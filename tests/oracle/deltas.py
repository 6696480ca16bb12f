#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Deltas: the command decodes what the odd encoder made, and golden files; the independent decoder what the command made; and both refuse what is wrong.

usage: deltas.py [--golden]     --golden makes files of tests/golden/delta/ that are not there"""
import os
import random
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import encode
from common import Corrupt, Newer, WcodecError, load, varint
from decode import Container
from delta import ALONE, DIFFERENCE, EQUAL, SPARSE, XOR
from encode_delta import DeltaPayload
from xxh3 import tree_hash, xxh3_128

GOLDEN = os.path.join(here, "..", "golden", "delta")
WCODEC = os.path.abspath(os.path.join(os.environ.get("top_builddir", "."), "wcodec"))
ALL = [EQUAL, SPARSE, ALONE, DIFFERENCE, XOR]


def base_of(p):
    e = p.base_entry()
    p.origin = tree_hash(e.data).to_bytes(16, "little"), len(e.data)
    return encode.container([e])


def random_delta(seed):
    rng = random.Random(seed)
    modes = rng.choice([ALL, [EQUAL], [SPARSE], [SPARSE, EQUAL], [ALONE], [DIFFERENCE], [XOR], [SPARSE, DIFFERENCE], [EQUAL, XOR]])
    dtype = rng.choice(["U8", "BF16", "F32", "F64"])
    return DeltaPayload(rng, dtype, rng.choice([1, 100, 4096, 4097, 20000]), modes, density=rng.choice([0.0005, 0.02, 0.4, 1.0]),
                        values=rng.randrange(2), largest=rng.choice([1, 2, 6, 300, 1 << 64]))


def every_mode(seed, dtype, modes, **more):
    """One in which each of these modes occurs, and ends within a tile."""
    while True:
        p = DeltaPayload(random.Random(seed), dtype, 6 * 4096 + 77, modes, **more)
        if set(p.modes) == set(modes):
            return p
        seed += 100


class Command:
    def __init__(self, folder):
        self.folder = folder

    def put(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def run(self, *arguments):
        done = subprocess.run([WCODEC, *arguments], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    def decode(self, base, data):
        """The bytes, or the exit code and what was said."""
        out = os.path.join(self.folder, "out")
        code, said = self.run("decompress", "-q", "-f", "-o", out, "--base=" + self.put("base", base), self.put("delta.wcodec", data))
        if code:
            return code, said
        with open(out, "rb") as f:
            return f.read()


def oracle(base, data):
    try:
        return Container(data, [Container(base)]).decode_all()
    except Newer:
        return "newer"
    except WcodecError:
        return "corrupt"


def command_decodes(command, seed, count):
    for s in range(seed, seed + count):
        p = random_delta(s)
        base = base_of(p)
        e = p.entry()
        data = encode.container([e])
        if oracle(base, data) != e.data:
            sys.exit("delta of seed %d: the oracle gives something else: %s" % (s, oracle(base, data)[:20]))
        made = command.decode(base, data)
        if made != e.data:
            sys.exit("delta of seed %d: the command gives something else: %s" % (s, made[:2]))
    print("the command decoded %d odd deltas" % count)


def step(rng, data, width, rate):
    out = bytearray(data)
    for i in range(0, len(data) - width + 1, width):
        if rng.random() < rate:
            v = int.from_bytes(data[i:i + width], "little") + rng.choice([1, -1, 2, -3])
            out[i:i + width] = (v % (1 << 8 * width)).to_bytes(width, "little")
    return bytes(out)


def oracle_decodes(command, rng):
    for rate, options in ((0.001, []), (0.02, ["-1"]), (0.3, ["-9"]), (1.0, ["--tile=4096"]), (0.05, ["--tile=65536", "-q"])):
        n = 9000
        old, new = [], []
        for dtype, width in (("BF16", 2), ("F32", 4), ("U8", 1), ("F64", 8), ("I16", 2)):
            data = b"".join(int(abs(rng.gauss(0, 40)) + 3).to_bytes(width, "little") for _ in range(n))
            old.append(encode.Entry(data, 2, b"", name=dtype, dtype=dtype, shape=(n,)))
            new.append(encode.Entry(step(rng, data, width, rate), 2, b"", name=dtype, dtype=dtype, shape=(n,)))
        first, second = (encode.safetensors_blob(e).data + b"".join(x.data for x in e) for e in (old, new))
        paths = command.put("a.safetensors", first), command.put("b.safetensors", second)
        coded = os.path.join(command.folder, "a.wcodec"), os.path.join(command.folder, "b.wcodec")
        for arguments in (["compress", "-q", "-f", "-o", coded[0], paths[0]], ["compress", "-q", "-f", *options, "--base=" + paths[0], "-o", coded[1], paths[1]]):
            if command.run(*arguments)[0]:
                sys.exit("%s: %s" % (arguments, command.run(*arguments)))
        with open(coded[0], "rb") as f, open(coded[1], "rb") as g:
            base, data = f.read(), g.read()
        if oracle(base, data) != second:
            sys.exit("rate %g: the oracle gives something else" % rate)
        if sum(e.coding == 10 for e in Container(data).entries) < 4:
            sys.exit("rate %g: few deltas" % rate)
    print("the oracle decoded the command's deltas")


def wrong():
    """(name, expected, delta's entry, base or None: its own)"""
    def make(modes=ALL, **more):
        p = every_mode(5, "BF16", modes, **more)
        return p, base_of(p)
    p, base = make()
    side, counts = p.side(), p.counts()
    exchanged = [min(counts) if c == max(counts) else max(counts) if c == min(counts) else c for c in counts]
    yield "as it should be", "ok", p.entry(), base
    yield "another form", "newer", p.entry(form=2), base
    q, own = make()
    yield "a result more", "corrupt", q.entry(side=q.side() + bytes(4)), own
    yield "a result less", "corrupt", q.entry(side=q.side()[:-4]), own
    for i, mode in enumerate(q.modes):
        at = len(q.side()) - 4 * (len(q.modes) - i)
        spoilt = q.side()[:at] + bytes([q.side()[at] ^ 1]) + q.side()[at + 1:]
        yield "result of tile %d, of mode %d" % (i, mode), "corrupt", q.entry(side=spoilt), own
    q.base[3 * 4096] ^= 1  # said to be what it was
    yield "a base that lies", "corrupt", q.entry(), encode.container([q.base_entry()], digest=load(q.origin[0], 0, 16))
    yield "form 0", "newer", p.entry(form=0), base
    for name, more in (("w", {"w": 4}), ("w of other elements", {"w": 2}), ("t 11", {"t": 11}), ("t 17", {"t": 17}), ("t 13", {"t": 13}), ("values", {"values": 2}), ("base size", {"base_size": p.origin[1] + 1}),
                       ("counts", {"counts": [counts[0] + 1, *counts[1:]]}), ("counts exchanged", {"counts": exchanged}), ("counts huge", {"counts": [1 << 63, *counts[1:]]}),
                       ("check", {"check": 7}), ("streams more", {"streams": len(b"".join(p.streams)) + 1}), ("streams less", {"streams": len(b"".join(p.streams)) - 1}), ("streams 0", {"streams": 0}),
                       ("no side", {"side": b""}), ("side longer", {"side": side + b"\0"}), ("side shorter", {"side": side[:-1]}), ("parts cut", {"parts": b"\2"}), ("no parts", {"parts": b""})):
        yield name, "corrupt", p.entry(**more), base
    for mode in (ALONE, DIFFERENCE, XOR):
        for name, part in (("coding 3", (3, b"", b"\0")), ("coding 4", (4, p.parts[mode][1], p.parts[mode][2])), ("coding 10", (10, p.parts[mode][1], p.parts[mode][2])),
                           ("constant with payload", (0, b"x", b"\1ab")), ("constant of 16 bytes", (0, b"", b"\4" + bytes(16))), ("a byte more", (2, p.parts[mode][1] + b"\0", p.parts[mode][2])),
                           ("cut", (2, p.parts[mode][1][:-1], p.parts[mode][2])), ("parameters cut", (2, p.parts[mode][1], b"")), ("parameters longer", (2, p.parts[mode][1], p.parts[mode][2] + b"\0"))):
            q, _ = make()
            q.parts[mode] = part
            yield "part %d: %s" % (mode, name), "corrupt", q.entry(), base
    for i, at in enumerate(range(0, len(side), max(1, len(side) // 30))):
        bad = bytearray(side)
        bad[at] ^= 1 << i % 8
        yield "side, byte %d, with its check" % at, "any", p.entry(side=bytes(bad)), base
    for i in range(0, len(p.streams)):
        q, _ = make()
        s = bytearray(q.streams[i])
        s[len(s) // 2] ^= 16
        saved = q.side()
        q.streams[i] = bytes(s)
        yield "stream %d, its check" % i, "corrupt", q.entry(side=saved), base
        yield "stream %d, with its check" % i, "any", q.entry(), base
        for name, s in (("longer", q.streams[i] + b"\0"), ("cut", q.streams[i][:-1]), ("none", b"")):
            q, _ = make()
            q.streams[i] = s
            yield "stream %d: %s" % (i, name), "corrupt", q.entry(), base
    for name, lengths in (("too long", {0: 1, 1: 13}), ("incomplete", {0: 2, 1: 2}), ("too many", {0: 1, 1: 1, 2: 1}), ("one of length 2", {0: 2}), ("none", {})):
        q, _ = make()
        q.gap_lengths = lengths or {0: 0}
        yield "gaps: code %s" % name, "corrupt", q.entry(), base
        q, _ = make()
        q.value_lengths = lengths or {0: 0}
        yield "values: code %s" % name, "corrupt", q.entry(), base
    q, own = make([EQUAL])
    yield "all equal", "ok", q.entry(), own
    yield "all equal, with a payload", "corrupt", q.entry(payload=b"x"), own
    yield "all equal, a check", "corrupt", q.entry(check=1), own
    yield "all equal, values", "corrupt", q.entry(values=1), own
    yield "all equal, streams", "corrupt", q.entry(streams=5), own
    yield "all equal, a side", "corrupt", q.entry(side=b"\0"), own
    e = p.entry()
    e.name, e.kind = None, 0
    e.label = lambda: b"\0" + varint(e.size)
    yield "no tensor", "corrupt", e, base
    e = p.entry()
    e.dtype = "F16"
    yield "another dtype than the base", "corrupt", e, base
    yield "another name than the base", "corrupt", p.entry(name="u"), base


def both_refuse(command):
    seen = 0
    for name, expected, e, base in wrong():
        data = encode.container([e])
        mine, theirs = oracle(base, data), command.decode(base, data)
        theirs = theirs if isinstance(theirs, bytes) else ("newer" if "newer version" in theirs[1] else "corrupt") if theirs[0] == 3 else "exit code %d: %s" % theirs
        mine = "ok" if mine == e.data else mine if isinstance(mine, str) else "other bytes" + str(hash(mine))
        theirs = "ok" if theirs == e.data else theirs if isinstance(theirs, str) else "other bytes" + str(hash(theirs))
        if expected == "any" and mine == theirs or mine == theirs == expected:
            seen += 1
        else:
            sys.exit("%s: expected %s; the oracle says %s, the command %s" % (name, expected, mine, theirs))
    print("%d cases" % seen)


def golden(command):
    with open(os.path.join(GOLDEN, "SUMS")) as f:
        sums = [line.split() for line in f]
    for digest, base, name in sums:
        with open(os.path.join(GOLDEN, base), "rb") as f, open(os.path.join(GOLDEN, name), "rb") as g:
            files = f.read(), g.read()
        for made in (oracle(*files), command.decode(*files)):
            if not isinstance(made, bytes) or "%032x" % xxh3_128(made) != digest:
                sys.exit("golden file %s: %s" % (name, made[:2]))
    print("%d golden files" % len(sums))


def make_golden():
    """Files are only ever added."""
    lines = []
    for name, seed, dtype, modes, more in (("bf16-every-mode", 1, "BF16", ALL, {}), ("f32-sparse", 2, "F32", [EQUAL, SPARSE], {"largest": 5000}), ("u8-xor-values", 3, "U8", [SPARSE], {"values": 1, "density": 0.3}),
                                           ("f64-wide", 4, "F64", [SPARSE, DIFFERENCE], {"largest": 1 << 64}), ("bf16-equal", 5, "BF16", [EQUAL], {})):
        p = every_mode(seed, dtype, modes, **more)
        files = base_of(p), encode.container([p.entry()])
        for kind, data in zip(("base", "delta"), files):
            path = os.path.join(GOLDEN, "%s.%s.wcodec" % (name, kind))
            if not os.path.exists(path):
                with open(path, "wb") as f:
                    f.write(data)
        with open(os.path.join(GOLDEN, name + ".base.wcodec"), "rb") as f, open(os.path.join(GOLDEN, name + ".delta.wcodec"), "rb") as g:
            lines.append("%032x  %s.base.wcodec %s.delta.wcodec\n" % (xxh3_128(oracle(f.read(), g.read())), name, name))
    with open(os.path.join(GOLDEN, "SUMS"), "w") as f:
        f.writelines(lines)


def main():
    if sys.argv[1:] == ["--golden"]:
        return make_golden()
    seed = int(os.environ.get("WCODEC_TEST_SEED", "1"), 0)
    print("seed", seed)
    with tempfile.TemporaryDirectory(prefix="wcodec-deltas.") as folder:
        command = Command(folder)
        golden(command)
        command_decodes(command, seed, 40)
        oracle_decodes(command, random.Random(seed))
        both_refuse(command)
    return None


if __name__ == "__main__":
    sys.exit(main())
