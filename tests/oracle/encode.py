#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes valid but odd .wcodec files with random, seeded content, after doc/format.md alone: what the library's own encoder would never choose.

usage: encode.py SEED OUTPUT.wcodec [ORIGINAL]     the same seed gives the same file

A TilePayload is kept in parts until it is assembled, so that a test can spoil one part and leave all else, hashes included, as it should be."""
import json
import random
import struct
import sys

import blocks
import fixed
import fragments
import anchored
import lossy
import packed
import records
import zstd
from common import CODED, CONSTANT, Cursor, M32, P8, P12, PAIRS, RAW, align, mask, varint
from tiles import raw_planes, read_parameters, tile_check
from xxh3 import tree_hash, xxh3_64

DTYPE_CODES = {"BOOL": 1, "U8": 2, "I8": 3, "F8_E5M2": 4, "F8_E4M3": 5, "F8_E8M0": 6, "F8_E4M3FNUZ": 7, "F8_E5M2FNUZ": 8, "U16": 9, "I16": 10,
               "F16": 11, "BF16": 12, "U32": 13, "I32": 14, "F32": 15, "U64": 16, "I64": 17, "F64": 18, "C64": 19, "F4": 20, "F6_E2M3": 21, "F6_E3M2": 22}
MAGIC = b"\x89WCD\r\n\x1a\n"


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return varint(len(data)) + data


class Field:
    """width bits from bit `at`; coded: tables is a list of tables, each a list of (symbol, frequency) in dealing order, and base for pairs."""

    def __init__(self, kind, width, value=0, profile=0, pool=0, run=0):
        self.kind, self.width, self.value, self.profile, self.pool, self.run = kind, width, value, profile, pool, run
        self.at, self.tables, self.bases = 0, [], []

    def parameters(self):
        out = bytes([self.kind, self.width])
        if self.kind == CONSTANT:
            out += self.value.to_bytes(self.width + 7 >> 3, "little")
        if self.kind == CODED:
            out += bytes([self.profile, self.pool, self.run])
        return out


def random_frequencies(rng, symbols, total, highest):
    """Positive frequencies for the symbols that add up to total: flat, skewed, or one symbol with all but the least."""
    n = len(symbols)
    shape = rng.randrange(4)
    if shape == 0:
        weights = [1.0] * n
    elif shape == 1:
        weights = [rng.random() + 0.001 for _ in symbols]
    elif shape == 2:
        weights = [0.5 ** min(i, 60) for i in range(n)]
    else:
        weights = [1e9] + [1e-9] * (n - 1)
    rng.shuffle(weights)
    left, f = total - n, [1] * n
    scale = sum(weights)
    for i in range(n):
        f[i] += int(left * weights[i] / scale)
    f[rng.randrange(n)] += total - sum(f)
    for i in range(n):
        if f[i] > highest:
            f[(i + 1) % n] += f[i] - highest
            f[i] = highest
    return list(zip(symbols, f))


def random_table(rng, field):
    limit = 1 << field.width
    if field.profile == P8:
        if field.run and rng.random() < 0.25:
            return [(rng.randrange(limit), 256)], 0
        symbols = rng.sample(range(limit), min(limit, rng.choice([2, 2, 3, 5, 17, 200, 256]))) if limit > 1 else []
        return random_frequencies(rng, symbols, 256, 255), 0
    if field.profile == P12:
        symbols = sorted(rng.sample(range(limit), min(limit, rng.choice([2, 3, 9, 60, 256]))))
        return random_frequencies(rng, symbols, 4096, 4095), 0
    base = rng.randrange(limit - 15) if field.width > 4 else 0
    side = min(16, limit)
    held = [a + 16 * b for a in range(side) for b in range(side)]
    symbols = sorted(rng.sample(held, min(len(held), rng.choice([2, 3, 16, 100, 256]))))
    return random_frequencies(rng, symbols, 4096, 4095), base


def nibble_numbers(frequencies, rng=None):
    """With rng, runs of zeros are cut at random; without, the longest are taken."""
    units, i = [], 0
    while i < len(frequencies):
        v = frequencies[i]
        i += 1
        if v == 0:
            k = 0
            while k < 15 and i + k < len(frequencies) and frequencies[i + k] == 0:
                k += 1
            if rng:
                k = rng.randint(0, k)
            units += [0, k]
            i += k
            continue
        while v > 7:
            units.append(v & 7 | 8)
            v >>= 3
        units.append(v)
    units += [0] * (len(units) & 1)
    return bytes(units[j] | units[j + 1] << 4 for j in range(0, len(units), 2))


def table_bytes(field, table, base, rng=None):
    if field.profile == P8:
        return bytes([len(table) - 1]) + bytes(v & 255 for entry in table for v in entry)
    held = dict(table)
    size = 256 if field.profile == PAIRS else 1 << field.width
    numbers = nibble_numbers([held.get(s, 0) for s in range(size)], rng)
    return bytes([base]) + numbers if field.profile == PAIRS else numbers


def rans_encode(field, tables, n, values, pick, payload):
    """Words and start states for values (a whole number of groups); pick(group) is the number of the table."""
    lookup = []
    for table in tables:
        c, codes = 0, {}
        for s, f in table:
            codes[s] = (f, c)
            c += f
        lookup.append(codes)
    x, words = [0x10000 + p for p in payload], []
    for g in range((n + 127) // 128 - 1, -1, -1):
        codes = lookup[pick(g)]
        for step in range(3 if field.profile == P12 else 1, -1, -1):
            for lane in range(31, -1, -1):
                at, v = 128 * g + 4 * lane, x[lane]
                if field.profile == P8:
                    (f1, c1), (f2, c2) = codes[values[at + 2 * step]], codes[values[at + 2 * step + 1]]
                    if v >= f1 * f2 << 16:
                        words.append(v & 0xFFFF)
                        v >>= 16
                    v = (v // f2 << 8) + v % f2 + c2
                    v = (v // f1 << 8) + v % f1 + c1
                else:
                    f, c = codes[values[64 * g + 2 * lane + step] if field.profile == PAIRS else values[at + step]]
                    if v >= f << 20:
                        words.append(v & 0xFFFF)
                        v >>= 16
                    v = (v // f << 12) + v % f + c
                x[lane] = v
    return words[::-1], x


def bit_runs(positions):
    """[first bit of an element, first bit of the plane's number, mask] of positions that follow each other."""
    runs = []
    for i, p in enumerate(positions):
        if runs and p - positions[i - 1] == 1:
            runs[-1][2] = 2 * runs[-1][2] + 1
        else:
            runs.append([p, i, 1])
    return runs


def raw_bytes(bits, planes, n, elements, in_states):
    """The raw rows of a tile, and the lanes' payload if in_states. elements: whole elements, padded with zeros to a whole group."""
    groups, slot = n + 127 >> 7, min(bits, 32)
    out, payload = bytearray(), [0] * 32
    for number, (first, positions) in enumerate(planes):
        size = len(positions)
        runs = bit_runs(positions)
        values = [sum((e >> p & m) << i for p, i, m in runs) for e in elements]
        rows = -(-groups * size // 8)
        words = []
        for lane in range(32):
            mine = [values[128 * g + 4 * lane + i] for g in range(groups) for i in range(4)]
            slots = []
            for k in range(0, len(mine), 32 // slot):
                word = 0
                for j, v in enumerate(mine[k:k + 32 // slot]):
                    v <<= first % slot
                    word |= (v & mask(slot) | v >> slot) << slot * j
                slots.append(word)
            row = [0] * rows
            for k, word in enumerate(slots):
                r = k % (slot // size) * size
                row[k // (slot // size)] |= (word << r | word >> 32 - r) & M32
            words.append(row)
        whole = rows
        if number == 0 and in_states and size >= 4:
            whole -= 1
        for row in range(whole):
            out += struct.pack("<32I", *(w[row] for w in words))
        if whole == rows:
            continue
        four = [[sum(values[128 * g + 4 * lane + i] << 4 * i for i in range(4)) for lane in range(32)] for g in range(groups)] if size == 4 else None
        if size >= 8:
            payload = [w[-1] >> 16 for w in words]
            half = [w[-1] & 0xFFFF for w in words]
        else:
            payload = four[groups - 1]
            half = four[groups - 2] if groups % 2 == 0 else []
        for h in half:
            out += h.to_bytes(2, "little")
    return bytes(out), payload


class TilePayload:
    """One tensor of coding 1 in parts: fields with tables, then per tile check, streams (a dict a coded field) and raw bytes."""

    def __init__(self, w, t, fields, add=0):
        self.w, self.t, self.fields, self.add, self.bits = w, t, fields, add, 8 << w
        self.coded = [f for f in fields if f.kind == CODED]
        at = 0
        for f in fields:
            f.at = at
            at += f.width
        self.planes = raw_planes(self.bits, fields)
        self.tables = []   # bytes of all tables, in order
        self.checks = []
        self.streams = []
        self.raw = []
        self.decoded = b""
        self.prefix = None  # set: written in place of the right one
        self.spoil = {}     # area name -> function from its bytes to other bytes

    def area(self, out, name, data):
        if name in self.spoil:
            data = self.spoil[name](data)
        out += bytes(-len(out) % 16) + data

    def assemble(self):
        """(parameters, payload)"""
        out = bytearray()
        self.area(out, "tables", b"".join(self.tables))
        directory = b"".join(c.to_bytes(4, "little") for c in self.checks)
        for row in self.streams:
            for s in row:
                a = s.get("count", len(s["words"])) | s["table"] << 20 | s["mode"] << 24 | s.get("zero", 0) << 28
                b = s.get("outlier_count", len(s["outliers"])) | s["symbol"] << 24 | s.get("zero2", 0) << 17
                directory += a.to_bytes(4, "little") + b.to_bytes(4, "little")
        self.area(out, "directory", directory)
        runs = bytearray()
        for i, f in enumerate(self.coded):
            if f.run:
                width = 1 if f.pool == 2 else 2 if f.pool <= 4 else 4
                for row in self.streams:
                    v = sum(r << width * k for k, r in enumerate(row[i]["runs"]))
                    runs += v.to_bytes(-(-len(row[i]["runs"]) * width // 8), "little")
        self.area(out, "runs", bytes(runs))
        rans = [s for row in self.streams for s in row if s["mode"] == 0]
        out += bytes(-len(out) % 16)
        prefix = len(out)
        self.area(out, "states", b"".join(x.to_bytes(4, "little") for s in rans for x in s["states"]))
        self.area(out, "words", b"".join(v.to_bytes(2, "little") for s in rans for v in s["words"]))
        self.area(out, "raw", b"".join(self.raw))
        patches = [o for row in self.streams for s in row for o in s["outliers"]]
        self.area(out, "outliers", b"".join(p.to_bytes(2, "little") for p, _ in patches) + bytes(v for _, v in patches))
        parameters = bytes([self.w, self.t]) + self.add.to_bytes(1 << self.w, "little") + bytes([len(self.fields)])
        parameters += b"".join(f.parameters() for f in self.fields)
        return parameters + varint(prefix if self.prefix is None else self.prefix), bytes(out)


def _empty_stream(f, runs):
    return {"mode": 0, "table": 0, "symbol": 0, "words": [], "outliers": [], "states": [], "runs": [0] * runs}


def _random_stream(rng, f, tables, n, t, mode, outlier_rate):
    """A stream without states and words yet; its symbols, the table number by group, and the field's final values."""
    s = _empty_stream(f, max(1, 1 << t >> f.run) if f.run else 0)
    padded = n + 127 & ~127
    s["mode"] = mode
    pick = lambda g: 0
    symbols = []
    if mode == 1:
        s["symbol"] = rng.randrange(1 << f.width)
        values = [s["symbol"]] * padded
    else:
        if f.run:
            used = n + (1 << f.run) - 1 >> f.run
            s["runs"][:used] = [rng.randrange(f.pool) for _ in range(used)]
            pick = lambda g: s["runs"][128 * g >> f.run]
        else:
            s["table"] = rng.randrange(f.pool)
            pick = lambda g: s["table"]
        values = []
        for g in range(padded >> 7):
            table = tables[pick(g)]
            drawn = rng.choices([e[0] for e in table], [e[1] for e in table], k=64 if f.profile == PAIRS else 128)
            symbols += drawn
            if f.profile == PAIRS:
                base = f.bases[pick(g)]
                values += [base + v for d in drawn for v in (d % 16, d // 16)]
            else:
                values += drawn
    values = values[:n]
    if outlier_rate:
        count = min(n, max(1, int(n * outlier_rate)))
        for p in sorted(rng.sample(range(n), count)):
            values[p] = rng.randrange(1 << f.width)
            s["outliers"].append((p, values[p]))
    return s, symbols, pick, values


def random_payload(rng, w, t, n, fields, add=0, outlier_rate=0.0, modes=(0,), draw_modes=True, raw=None):
    """n random elements of 8 << w bits; fields are Field objects without tables. modes: what a tile's streams may use."""
    p = TilePayload(w, t, fields, add)
    for f in p.coded:
        for _ in range(f.pool):
            table, base = random_table(rng, f)
            f.tables.append(table)
            f.bases.append(base)
            p.tables.append(table_bytes(f, table, base, rng if rng.random() < 0.3 else None))
    decoded = bytearray()
    for start in range(0, n, 1 << t):
        size = min(1 << t, n - start)
        decoded += _random_tile(rng, p, size, outlier_rate, modes, raw)
    p.decoded = bytes(decoded)
    return p


def _random_tile(rng, p, n, outlier_rate, modes, raw):
    width = 1 << p.w
    if 2 in modes and rng.random() < 1 / len(modes):
        data = rng.randbytes(n * width)
        p.streams.append([dict(_empty_stream(f, max(1, 1 << p.t >> f.run) if f.run else 0), mode=2) for f in p.coded])
        p.raw.append(data + bytes(-len(data) % 64))
        p.checks.append(tile_check(data, p.bits))
        return data
    choice = [m for m in modes if m != 2] or [0]
    made = [_random_stream(rng, f, f.tables, n, p.t, rng.choice(choice), outlier_rate) for f in p.coded]
    raw_mask = sum(mask(f.width) << f.at for f in p.fields if f.kind == RAW)
    constant = sum(f.value << f.at for f in p.fields if f.kind == CONSTANT)
    source = raw or (lambda: rng.getrandbits(p.bits))
    raws = [source() & raw_mask for _ in range(n)]
    in_states = made[0][0]["mode"] == 0 and bool(p.planes) and len(p.planes[0][1]) >= 4
    data, payload = raw_bytes(p.bits, p.planes, n, raws + [0] * (-n % 128), in_states)
    p.raw.append(data)
    for i, (s, symbols, pick, _) in enumerate(made):
        if s["mode"] == 0:
            f = p.coded[i]
            s["words"], s["states"] = rans_encode(f, f.tables, n, symbols, pick, payload if i == 0 and in_states else [0] * 32)
    p.streams.append([m[0] for m in made])
    out = bytearray()
    for i in range(n):
        e = raws[i] | constant
        for f, m in zip(p.coded, made):
            e |= m[3][i] << f.at
        out += (e - p.add & mask(p.bits)).to_bytes(width, "little")
    p.checks.append(tile_check(out, p.bits))
    return out


class Entry:
    """A record and its payload. Any member may be overwritten before the container is made; record, if set, replaces the record's bytes."""

    def __init__(self, data, coding, parameters, payload=b"", name=None, dtype="U8", shape=None):
        self.data, self.coding, self.parameters, self.payload = data, coding, parameters, payload
        self.name, self.dtype, self.shape = name, dtype, shape
        self.kind = None
        self.size, self.order0, self.record = len(data), 0, None
        self.payload_hash = self.payload_size = None

    def label(self):
        """Type, name, dtype and shape, and the size where it does not follow from them."""
        out = bytes([(self.name is not None) if self.kind is None else self.kind])
        if self.name is not None:
            code = self.dtype if isinstance(self.dtype, int) else DTYPE_CODES.get(self.dtype, 0)
            out += string(self.name) + bytes([code]) + (string(self.dtype) if code == 0 else b"")
            out += varint(len(self.shape)) + b"".join(varint(d) for d in self.shape)
        known = self.name is not None and 0 < code < 23
        return out + (b"" if known else varint(self.size))

    def said_size(self):
        return len(self.payload) if self.payload_size is None else self.payload_size

    def description(self):
        """What the header of a group says."""
        return varint(self.said_size()) + self.label() + bytes([self.coding]) + (b"" if self.coding == 12 else self.parameters)

    def encode(self):
        if self.record is not None:
            return self.record
        size = self.said_size()
        digest = (tree_hash(self.payload) & (1 << 64) - 1 if self.payload else 0) if self.payload_hash is None else self.payload_hash
        return self.label() + varint(self.order0) + bytes([self.coding]) + varint(size) + digest.to_bytes(8, "little") + self.parameters


def constant_entry(element, count, **names):
    return Entry(element * count, 0, bytes([len(element).bit_length() - 1]) + element, **names)


def empty_entry(**names):
    return Entry(b"", 0, b"\0\0", **names)


def chunk_entry(data, chunk, frames=True, **names):
    parts, directory = [], b""
    for at in range(0, len(data), chunk):
        part = data[at:at + chunk]
        coded = zstd.encode(part) if frames else part
        if len(coded) >= len(part):
            coded = part
        parts.append(coded)
        directory += len(coded).to_bytes(4, "little") + (xxh3_64(part) & M32).to_bytes(4, "little")
    return Entry(data, 2, varint(chunk), directory + bytes(-len(directory) % 16) + b"".join(parts), **names)


def inline_entry(data):
    return Entry(data, 12, data)


def alias_entry(entries, number, **names):
    return Entry(entries[number].data, 3, varint(number), **names)


def tile_entry(p, **names):
    parameters, payload = p.assemble()
    return Entry(p.decoded, 1, parameters, payload, **names)


def packed_entry(p, **names):
    """As tile_entry(): no runs, no stored tile."""
    parameters, payload = p.assemble()
    cursor = Cursor(parameters)
    tiling = read_parameters(cursor, len(p.decoded))
    return Entry(p.decoded, 8, varint(len(payload)) + parameters, packed.pack(tiling, payload), **names)


class BlocksPayload:
    """A matrix of random residuals in blocks; members may be changed before entry() is called."""

    def __init__(self, rng, dtype, rows, columns, modes, t=12, split=None, profile=None, add=0, **more):
        self.w, self.rows, self.columns, self.dtype = ELEMENT[dtype], rows, columns, dtype
        count = (rows + 15 >> 4) * (columns + 15 >> 4)
        self.numbers = [i if i < len(modes) else rng.randrange(len(modes)) for i in range(count)]
        rng.shuffle(self.numbers)
        self.modes = [(m, self.numbers.count(i)) for i, m in enumerate(modes)]
        self.tiles = random_payload(rng, self.w, t, 256 * count, make_fields(rng, split or PRESETS[dtype], profile), add, **more)
        view = blocks.Blocks(rows * columns << self.w, self.w, columns, self.modes, 0)
        self.data = blocks.elements(view, self.numbers, self.tiles.decoded)
        self.form, self.bits, self.packed, self.check, self.after = 1, view.index_bits, None, None, None

    def entry(self, **names):
        packed = self.packed
        if packed is None:
            v = sum(n << self.bits * i for i, n in enumerate(self.numbers))
            packed = v.to_bytes(len(self.numbers) * self.bits + 7 >> 3, "little")
        parameters, payload = self.tiles.assemble()
        check = xxh3_64(packed) & M32 if self.check is None else self.check
        record = bytes([self.form]) + varint(self.columns) + bytes([len(self.modes)]) + b"".join(bytes([m]) + varint(n) for m, n in self.modes)
        after = bytes(-len(packed) % 16) if self.after is None else self.after
        return Entry(self.data, 4, record + check.to_bytes(4, "little") + parameters, packed + after + payload, dtype=self.dtype, shape=(self.rows, self.columns), **names)


BLOCK_MODES = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13]


def random_blocks(rng, name):
    rows, columns = rng.choice([1, 5, 16, 17, 40]), rng.choice([1, 15, 16, 17, 50])
    modes = sorted(rng.sample(BLOCK_MODES, rng.randint(1, min(13, (rows + 15 >> 4) * (columns + 15 >> 4)))))
    p = BlocksPayload(rng, rng.choice(["I8", "U8", "I16", "BF16", "F8_E4M3"]), rows, columns, modes, add=rng.choice([0, 3, 128]), outlier_rate=rng.choice([0, 0.01]))
    return p.entry(name=name)


class LossyPayload:
    """A matrix of random coefficients; members may be changed before entry() is called, those that count for the data before its parts are made."""

    def __init__(self, rng, dtype, rows, columns, modes, w=0, row_scales=0, order=0, scales=None, t=12, split=None, profile=None, add=0, tile_modes=(0,), fields=None, **more):
        self.rows, self.columns, self.dtype, self.w, self.row_scales, self.order = rows, columns, dtype, w, row_scales, order
        view = lossy.Lossy(rows * columns * lossy.WIDTHS[dtype], dtype, w, columns, row_scales, [(m, 0) for m in modes], 0, order)
        self.numbers = [i if i < len(modes) else rng.randrange(len(modes)) for i in range(0 if view.plain else view.blocks)]
        rng.shuffle(self.numbers)
        view.modes = self.modes = [(m, view.elements if view.plain else self.numbers.count(i)) for i, m in enumerate(modes)]
        self.scales = scales or [random_scale(rng) for _ in range(view.scales)]
        self.tiles = random_payload(rng, w, t, view.coefficients, fields or make_fields(rng, split or PRESETS["I16" if w else "I8"], profile), add,
                                    modes=tile_modes, **more)
        self.data = lossy.elements(view, self.numbers, self.scales, self.tiles.decoded)
        self.form, self.bits, self.packed, self.scale_bytes, self.check, self.after = 1, view.index_bits, None, None, None, None
        self.figures = struct.pack("<3d", *(rng.choice([0, 1e-300, rng.random(), 1e300]) for _ in range(3)))

    def entry(self, **names):
        packed = self.packed
        if packed is None:
            packed = sum(n << self.bits * i for i, n in enumerate(self.numbers)).to_bytes(len(self.numbers) * self.bits // 8, "little")
        scales = struct.pack("<%df" % len(self.scales), *self.scales) if self.scale_bytes is None else self.scale_bytes
        parameters, payload = self.tiles.assemble()
        check = xxh3_64(packed + scales) & M32 if self.check is None else self.check
        record = bytes([self.form]) + varint(self.columns) + bytes([self.row_scales, self.order, len(self.modes)]) + b"".join(bytes([m]) + varint(n) for m, n in self.modes)
        after = bytes(-len(packed + scales) % 16) if self.after is None else self.after
        names.setdefault("dtype", self.dtype)
        return Entry(self.data, 5, record + self.figures + check.to_bytes(4, "little") + parameters, packed + scales + after + payload, shape=(self.rows, self.columns), **names)


def random_scale(rng):
    """A number of binary32 that is allowed: of weights, of f16's smallest and largest numbers, the limits, 0."""
    return lossy.single(rng.choice([2.0 ** -100, 2.0 ** 60, 0.0, rng.uniform(2 ** -31, 2 ** -27), rng.uniform(1, 16), rng.uniform(1e-5, 1e-3), rng.uniform(1e-5, 1e-3)]))


def random_lossy(rng, name):
    rows, columns = rng.choice([(1, 1), (1, 100), (100, 1), (9, 31), (16, 256), (17, 30), (8, 300)])
    modes = rng.choice([[0], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]])
    p = LossyPayload(rng, rng.choice(["BF16", "F16", "F32"]), rows, columns, modes, w=rng.randrange(2), row_scales=rng.randrange(2),
                     order=rng.randrange(4) if modes != [0] else 0, add=rng.choice([0, 3, 128]), t=rng.choice([12, 13]), outlier_rate=rng.choice([0, 0.01]), tile_modes=rng.choice([(0,), (0, 1, 2)]))
    return p.entry(name=name)


class FixedTile:
    """Random bytes of a tile, and lists of outliers: short ones are pairs of a position and a kind, long ones of a position and x, spilled ones of a position and bits."""

    def __init__(self, rng, bits, units, rate, spill):
        self.fields, self.units, self.short, self.long, self.spilled = rng.randbytes(2048 + 256 * (bits + 1)), units, [], [], []
        positions = sorted(rng.sample(range(2048), min(2048, int(rate * 2048))))
        end = 16 * units - 8 * spill
        for position in positions:
            p, q = len(self.short), len(self.long)
            if rng.random() < 0.7 and 3 + p + (p + 2) // 2 + 2 * q <= end:
                self.short.append((position, rng.randrange(2)))
            elif 4 + p + (p + 1) // 2 + 2 * q <= end:
                self.long.append((position, rng.randrange(32)))
        if spill:
            self.spilled = [(position, rng.getrandbits(16)) for position in sorted(rng.sample(range(2048), rng.choice([1, 2, 40])))]
        self.filling, self.counts, self.numbers, self.after = rng.randbytes(16 * units), None, None, 0

    def spilled_bytes(self):
        return b"".join((position | value << 16).to_bytes(4, "little") for position, value in self.spilled)

    def record(self, first):
        area = bytearray(self.filling)
        p, q = self.counts or (len(self.short), len(self.long))
        area[0], area[1] = p, q | (128 if self.spilled else 0)
        for i, (position, kind) in enumerate(self.short):
            area[2 + i] = position & 255
            at, shift = 2 + len(self.short) + i // 2, 4 * (i % 2)
            area[at] = area[at] & ~(15 << shift) | (position >> 8 | kind << 3) << shift
        end = len(area) - (8 if self.spilled else 0)
        for i, (position, x) in enumerate(self.long):
            area[end - 2 * i - 2:end - 2 * i] = (position | x << 11).to_bytes(2, "little")
        if self.spilled:
            area[end:] = struct.pack("<II", *(self.numbers or (first, len(self.spilled))))
        return self.fields + bytes(area)


class FixedPayload:
    """A matrix of random bits at a fixed rate; members may be changed before entry() is called."""

    def __init__(self, rng, rows, columns, bits, units, rate=0.01, spill=0.3):
        view = fixed.Fixed(2 * rows * columns, columns, bits, units, 0, 0, 0)
        self.rows, self.columns, self.bits, self.units, self.form = rows, columns, bits, units, 1
        self.shifts = [rng.choice([-128, view.least_shift, 127, 0, rng.randint(view.least_shift, 127)]) for _ in range(16 * view.bands)]
        self.tiles = [FixedTile(rng, bits, units, rate, rng.random() < spill) for _ in range(view.tiles)]
        self.spilled = self.foreign = self.check = self.padding = self.dtype = None
        self.bad_check, self.data, self.extra = None, None, b""
        self.data = self.entry().data

    def entry(self, **names):
        names.setdefault("dtype", "BF16")
        shifts, records, spilled, checks = bytes(s & 255 for s in self.shifts), b"", b"", b""
        for i, tile in enumerate(self.tiles):
            record, own = tile.record(len(spilled) // 4), tile.spilled_bytes()
            check = tile_check(record + bytes(-len(record) % 128) + own, 8) ^ (self.bad_check == i)
            records, spilled, checks = records + record, spilled + own, checks + check.to_bytes(4, "little")
        spilled += self.extra
        count = len(spilled) // 4 if self.spilled is None else self.spilled
        check = xxh3_64(shifts) & M32 if self.check is None else self.check
        front = shifts + checks
        payload = front + (bytes(-len(front) % 16) if self.padding is None else self.padding) + records + spilled
        foreign = count // 2 if self.foreign is None else self.foreign
        parameters = bytes([self.form]) + varint(self.columns) + bytes([self.bits, self.units]) + varint(count) + varint(foreign) + check.to_bytes(4, "little")
        data = self.data
        if data is None:
            data = fixed.decode(fixed.Fixed(2 * self.rows * self.columns, self.columns, self.bits, self.units, count, 0, check), payload)
        return Entry(data, 6, parameters, payload, shape=(self.rows, self.columns), **names)


def random_fixed(rng, name):
    rows, columns = rng.choice([(1, 1), (3, 100), (17, 129), (16, 128), (5, 300)])
    p = FixedPayload(rng, rows, columns, rng.choice([2, 3]), rng.choice([1, 2, 5, 16]), rate=rng.choice([0, 0.005, 0.05]), spill=rng.choice([0, 0.5]))
    return p.entry(name=name or "fixed")


class FragmentsPayload:
    """A matrix of random elements in fragments; members may be changed before entry() is called."""

    def __init__(self, rng, dtype, rows, columns, t=12, split=None, profile=None, pool=None, run=None, add=0, **more):
        self.w, self.rows, self.columns, self.dtype, self.form = ELEMENT[dtype], rows, columns, dtype, 1
        self.tiles = random_payload(rng, self.w, t, rows * columns, make_fields(rng, split or PRESETS[dtype], profile, pool, run), add, **more)
        self.data = fragments.elements(fragments.Fragments(rows * columns << self.w, self.w, columns), self.tiles.decoded)

    def entry(self, **names):
        parameters, payload = self.tiles.assemble()
        return Entry(self.data, 7, bytes([self.form]) + varint(self.columns) + parameters, payload, dtype=self.dtype, shape=(self.rows, self.columns), **names)


def random_fragments(rng, name):
    rows, columns = rng.choice([(1, 1), (3, 100), (16, 128), (17, 129), (31, 256), (33, 200), (40, 384)])
    p = FragmentsPayload(rng, rng.choice(["I8", "BF16", "F16", "F8_E4M3", "I16"]), rows, columns, t=rng.choice([12, 13]), add=rng.choice([0, 3, 128]), outlier_rate=rng.choice([0, 0.01]), modes=rng.choice([(0,), (0, 1, 2)]))
    return p.entry(name=name)


class RecordsPayload:
    """Records of random fields, widths and codings as given: "c" constant, "z" chunks, "t" tiles, "p" packed, with log2 of the elements' bytes. Members may be changed before entry() is called."""

    def __init__(self, rng, count, fields, shuffled=False, t=12, **more):
        self.count, self.record, self.form, self.fields, arrays, at = count, sum(width for width, *_ in fields), 1, [], [], 0
        for width, kind, w in fields:
            e = _field_entry(rng, kind, w, count * width, t, more)
            self.fields.append([at, width, e.coding, e.parameters, e.payload])
            arrays.append((at, width, e.data))
            at += width
        self.data = bytearray(count * self.record)
        for at, width, array in arrays:
            for i in range(width):
                self.data[at + i::self.record] = array[i::width]
        self.data, self.parameters, self.payload = bytes(self.data), None, None
        if shuffled:
            rng.shuffle(self.fields)

    def entry(self, **names):
        parameters, payload = records.join(self.record, self.fields)
        if self.form != 1:
            parameters = bytes([self.form]) + parameters[1:]
        names.setdefault("dtype", "U8")
        names.setdefault("shape", (self.count, self.record))
        return Entry(self.data, 9, parameters if self.parameters is None else self.parameters, payload if self.payload is None else self.payload, **names)


def _field_entry(rng, kind, w, size, t, more):
    if kind == "c":
        return constant_entry(rng.randbytes(1 << w), size >> w)
    if kind == "z":
        return chunk_entry(bytes(size // 2) + rng.randbytes(size - size // 2), rng.choice([16, 1000, 1 << 20]))
    name = ("I8", "I16", "F32")[w]
    p = random_payload(rng, w, t, size >> w, make_fields(rng, PRESETS[name], run=0), **more)
    return packed_entry(p) if kind == "p" else tile_entry(p)


class MaskedPayload:
    """Elements of 2^w bytes of which some are zero; kinds: the codings of mask and values, as RecordsPayload has them ("c": a byte that repeats, of the next
    multiple of 8 elements). Members may be changed before entry() is called."""

    def __init__(self, rng, dtype, n, share, kinds="zt", t=12, **more):
        w, self.form, self.t, self.n, self.gap, self.dtype = ELEMENT[dtype], 1, t, n, None, dtype
        ones = [rng.random() < share for _ in range(n)]
        ones[rng.randrange(n)] = True
        if kinds[0] == "c":
            ones = [i % 8 in (0, 3, 4) for i in range(-(-n // 8) * 8)]
            self.n = n = len(ones)
        self.w, self.values, self.ones = w, sum(ones), ones
        mask = sum(one << i for i, one in enumerate(ones)).to_bytes(-(-n // 8), "little")
        self.counts = [sum(ones[i:i + (1 << t)]) for i in range(0, n, 1 << t)]
        self.mask = constant_entry(mask[:1], len(mask)) if kinds[0] == "c" else chunk_entry(mask, rng.choice([16, 1000, 1 << 20]))
        if kinds[1] in "tp":
            fields = make_fields(rng, more.pop("split", None) or PRESETS[dtype], run=0)
            p = random_payload(rng, w, 12, self.values, fields, **more)
            self.part = packed_entry(p) if kinds[1] == "p" else tile_entry(p)
        elif kinds[1] == "c":
            self.part = constant_entry(rng.randbytes(1 << w), self.values)
        else:
            self.part = chunk_entry(rng.randbytes(self.values << w), 1000)
        each, data, at = 1 << w, bytearray(n << w), 0
        for i, one in enumerate(ones):
            if one:
                data[i * each:(i + 1) * each] = self.part.data[at:at + each]
                at += each
        self.data, self.check = bytes(data), None

    def entry(self, **names):
        payload = b"".join(count.to_bytes(4, "little") for count in self.counts)
        check = xxh3_64(payload) & 0xFFFFFFFF if self.check is None else self.check
        parameters = bytes([self.form, self.w, self.t]) + varint(self.values) + check.to_bytes(4, "little")
        for e in (self.mask, self.part):
            parameters += bytes([e.coding]) + varint(len(e.payload)) + varint(len(e.parameters)) + e.parameters
            if e.payload:
                payload += (bytes(-len(payload) % 16) if self.gap is None else self.gap) + e.payload
        names.setdefault("dtype", self.dtype)
        names.setdefault("shape", (self.n,))
        return Entry(self.data, 11, parameters, payload, **names)


class AnchoredPayload:
    """Rows of random numbers by random anchors; kinds: the codings of anchors, indices and residuals, as RecordsPayload has them. Members may be changed before
    entry() is called."""

    def __init__(self, rng, dtype, rows, columns, anchors=5, w=0, i=0, kinds="tzt", scale=None, **more):
        self.dtype, self.rows, self.columns, self.anchors, self.w, self.i, self.form = dtype, rows, columns, anchors, w, i, 1
        self.scale = random_scale(rng) if scale is None else lossy.single(scale)
        self.scale_bytes, self.gap = struct.pack("<f", self.scale), None
        self.figures = struct.pack("<3d", *(rng.choice([0, 1e-300, rng.random(), 1e300]) for _ in range(3)))
        indices = b"".join(rng.randrange(anchors).to_bytes(1 << i, "little") for _ in range(rows))
        self.parts = [_field_entry(rng, kinds[0], w, anchors * columns << w, 12, dict(more)), chunk_entry(indices, rng.choice([16, 1000, 1 << 20])),
                      _field_entry(rng, kinds[2], w, rows * columns << w, 12, dict(more))]
        if kinds[1] == "c":
            self.parts[1] = constant_entry(indices[:1 << i], rows)

    def data(self):
        return anchored.restore(self, *(e.data for e in self.parts))

    def entry(self, data=None, **names):
        data = self.data() if data is None else data
        parameters = bytes([self.form]) + varint(self.columns) + bytes([self.w, self.i]) + varint(self.anchors) + self.scale_bytes + self.figures
        payload = b""
        for e in self.parts:
            parameters += bytes([e.coding]) + varint(len(e.payload)) + varint(len(e.parameters)) + e.parameters
            if e.payload:
                payload += (bytes(-len(payload) % 16) if self.gap is None else self.gap) + e.payload
        names.setdefault("dtype", self.dtype)
        names.setdefault("shape", (self.rows, self.columns))
        return Entry(data, 13, parameters, payload, **names)


def random_anchored(rng, name):
    kinds = rng.choice(["tzt", "pzp", "zcz", "ccc", "czt"])
    return AnchoredPayload(rng, rng.choice(["F32", "BF16", "F16"]), rng.choice([1, 7, 64, 300]), rng.choice([1, 3, 16, 33]), 1, rng.randrange(2), rng.randrange(3), kinds).entry(name=name)


def random_masked(rng, name):
    dtype, kinds = rng.choice([("F32", "zt"), ("BF16", "zp"), ("I8", "zz"), ("F64", "zt"), ("F16", "zc")])
    return MaskedPayload(rng, dtype, rng.choice([1, 7, 64, 1000, 4096 + 9]), rng.choice([0, 0.3, 0.9]), kinds).entry(name=name)


def random_records(rng, name):
    count = rng.choice([1, 2, 3, 100, 257])
    fields = [rng.choice([(2, "t", 1), (2, "p", 1), (3, "c", 0), (16, "t", 0), (17, "p", 0), (1, "z", 0), (5, "z", 0), (4, "t", 2), (8, "c", 3)]) for _ in range(rng.randint(1, 5))]
    return RecordsPayload(rng, count, fields, shuffled=rng.random() < 0.5, outlier_rate=rng.choice([0, 0.01])).entry(name=name)


def index_bytes(entries, kind=0, name="", metadata=(), mode=0, mtime=0, size=None, digest=None, count=None, groups=(), group_count=None, after=b""):
    """groups: (entries, bytes of the header) of each."""
    original = b"".join(e.data for e in entries)
    out = bytes([kind]) + string(name) + varint(len(original) if size is None else size)
    out += (tree_hash(original) if digest is None else digest).to_bytes(16, "little") + varint(mode) + varint(mtime)
    out += varint(len(metadata)) + b"".join(string(k) + string(v) for k, v in metadata)
    out += varint(len(groups) if group_count is None else group_count) + b"".join(varint(n) + varint(size) for n, size in groups)
    out += varint(len(entries) if count is None else count)
    for e in entries:
        record = e.encode()
        out += varint(len(record)) + record
    return out + after


def header_bytes(entries, first, count, packed=False, body=None, digest=None):
    """The header of a group."""
    if body is None:
        body = varint(first) + varint(count)
        for e in entries[first:first + count]:
            body += varint(len(e.description())) + e.description()
    coded = zstd.encode(body) if packed else body
    out = (len(coded) + 12 | packed << 31).to_bytes(4, "little") + coded
    return (xxh3_64(out) if digest is None else digest).to_bytes(8, "little") + out


def head_bytes(version=1, minor=0, critical=0, optional=0, size=None, place=0, settings=bytes(6), reserved=bytes(21), digest=None):
    out = MAGIC + version.to_bytes(2, "little") + minor.to_bytes(2, "little") + critical.to_bytes(4, "little") + optional.to_bytes(4, "little")
    out += (0 if size is None else size + 1).to_bytes(8, "little") + bytes([place]) + settings + reserved
    return out + (xxh3_64(out) if digest is None else digest).to_bytes(8, "little")


def tail_bytes(head, at, frame, content, total, **changed):
    """changed: offset=, coded=, decoded=, frame_hash=, size=, head_hash=, digest=, magic="""
    get = changed.get
    values = [get("offset", at), get("coded", len(frame)), get("decoded", content), get("frame_hash", xxh3_64(frame)), get("size", total),
              get("head_hash", int.from_bytes(head[56:], "little"))]
    out = b"".join(v.to_bytes(8, "little") for v in values)
    return out + get("digest", xxh3_64(out)).to_bytes(8, "little") + get("magic", MAGIC[::-1])


def container(entries, head=None, tail=None, index=None, frame=None, padding=0, gap=b"", end=b"", groups=(), headers=None, front=False, front_tail=None, **fields):
    """The bytes of a file. index, frame: in place of the right ones; padding: value of the bytes between; gap: put in front of the index.
    groups: number of entries of each group; headers: in place of the right ones; front: the index first; front_tail: in place of the tail's copy."""
    head = head_bytes(place=int(front)) if head is None else head
    if headers is None:
        starts = [sum(groups[:i]) for i in range(len(groups))]
        headers = [header_bytes(entries, first, n, packed=n > 2) for first, n in zip(starts, groups)]
    fields.setdefault("groups", [(n, len(h)) for n, h in zip(groups, headers)])
    out = bytearray(64)  # what is in front is a multiple of 256 larger
    first = {sum(groups[:i]): h for i, h in enumerate(headers)}
    for i, e in enumerate(entries):
        if i in first:
            out += bytes([padding]) * (-len(out) % 16) + first[i]
        if e.payload:
            out += bytes([padding]) * (-len(out) % (256 if len(e.payload) >= 65536 else 1 if e.coding == 8 else 16)) + e.payload
    out += bytes([padding]) * (-len(out) % 16) + gap
    body = bytes(out[64:])
    index = index_bytes(entries, **fields) if index is None else index
    frame = zstd.encode(index) if frame is None else frame
    if not front:
        at = 64 + len(body)
        return head + body + frame + tail_bytes(head, at, frame, len(index), at + len(frame) + 64, **(tail or {})) + end
    before = align(64 + len(frame), 256)
    last = tail_bytes(head, 128, frame, len(index), 64 + before + len(body) + 64, **(tail or {}))
    return head + (last if front_tail is None else front_tail) + frame + bytes([padding]) * (before - 64 - len(frame)) + body + last + end


PRESETS = {
    "BF16": [(RAW, 7), (CODED, 8), (RAW, 1)], "F16": [(RAW, 10), (CODED, 5), (RAW, 1)], "F32": [(RAW, 23), (CODED, 8), (RAW, 1)],
    "F8_E4M3": [(RAW, 3), (CODED, 4), (RAW, 1)], "F8_E5M2": [(RAW, 2), (CODED, 5), (RAW, 1)], "I8": [(RAW, 4), (CODED, 4)],
    "U8": [(RAW, 3), (CODED, 5)], "I16": [(CODED, 8), (CODED, 8)], "U32": [(CODED, 8)] * 4, "F64": [(CODED, 8)] * 8,
    "I32": [(CONSTANT, 16), (RAW, 7), (CODED, 8), (RAW, 1)], "U64": [(CODED, 8), (CONSTANT, 48), (CODED, 8)], "C64": [(RAW, 23), (CODED, 8), (RAW, 1)]}
ELEMENT = {"BOOL": 0, "U8": 0, "I8": 0, "F8_E4M3": 0, "F8_E5M2": 0, "U16": 1, "I16": 1, "F16": 1, "BF16": 1, "U32": 2, "I32": 2, "F32": 2, "C64": 2,
           "U64": 3, "I64": 3, "F64": 3}


def random_split(rng, bits):
    """Any field list that the format allows."""
    while True:
        out, left = [], bits
        while left:
            kind = rng.choice([CONSTANT, RAW, CODED, CODED])
            if out and kind != CODED and out[-1][0] == kind:
                continue
            width = min(left, rng.randint(1, 8 if kind == CODED else rng.choice([3, 20, 64])))
            out.append((kind, width))
            left -= width
        if 1 <= sum(k == CODED for k, _ in out) <= 8 and len(out) <= 64:
            return out


def make_fields(rng, split, profile=None, pool=None, run=None):
    fields = []
    for kind, width in split:
        f = Field(kind, width)
        if kind == CONSTANT:
            f.value = rng.getrandbits(width)
        if kind == CODED:
            f.profile = profile or rng.choice([PAIRS, P12, P8])
            f.pool = pool or (rng.choice([1, 2, 3, 4, 5, 16]) if f.profile == P8 else rng.randint(1, 4))
            if f.profile == P8 and f.pool > 1:
                f.run = rng.choice([0, 7, 8, 12]) if run is None else run
        fields.append(f)
    return fields


def random_tensor(rng, dtype, n, name, t=None, split=None, profile=None, **more):
    w = ELEMENT[dtype]
    split = split or (PRESETS[dtype] if dtype in PRESETS and rng.random() < 0.5 else random_split(rng, 8 << w))
    fields = make_fields(rng, split, profile)
    add = rng.choice([0, 1, 128, rng.getrandbits(8 << w)]) % (1 << (8 << w))
    more.setdefault("outlier_rate", rng.choice([0, 0, 0.001, 0.05]))
    more.setdefault("modes", rng.choice([(0,), (0,), (0, 1), (0, 1, 2)]))
    p = random_payload(rng, w, t or rng.choice([12, 12, 12, 13, 14]), n, fields, add, **more)
    shape = (n // 2,) if dtype == "C64" else (n,)
    small = len(p.decoded) <= packed.MOST and len(p.assemble()[1]) <= packed.MOST
    if small and not any(f.run for f in p.coded) and not any(s["mode"] == 2 for row in p.streams for s in row) and rng.random() < 0.5:
        return packed_entry(p, name=name, dtype=dtype, shape=shape)
    return tile_entry(p, name=name, dtype=dtype, shape=shape)


def safetensors_blob(entries, metadata=()):
    header, at = {}, 0
    if metadata:
        header["__metadata__"] = dict(metadata)
    for e in entries:
        header[e.name] = {"dtype": e.dtype, "shape": list(e.shape), "data_offsets": [at, at + e.size]}
        at += e.size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    data = len(text).to_bytes(8, "little") + text
    return chunk_entry(data, 1 << 20, frames=False)


def random_file(seed, sizes=(1, 3, 127, 128, 129, 1000, 4095, 4096, 4097, 8192 + 77)):
    """(file, original, description)"""
    rng = random.Random(seed)
    entries = []
    for i in range(rng.randint(1, 4)):
        dtype = rng.choice(sorted(ELEMENT))
        n = rng.choice(sizes) + (dtype == "C64")
        n += n & 1 if dtype == "C64" else 0
        entries.append(random_tensor(rng, dtype, n, "tensor.%d" % i))
    entries.append(random_blocks(rng, "blocks"))
    entries.append(random_lossy(rng, "lossy"))
    entries.append(random_fixed(rng, "fixed"))
    entries.append(random_fragments(rng, "fragments"))
    entries.append(random_records(rng, "records"))
    if rng.random() < 0.9:
        entries.append(random_masked(rng, "masked"))
    if rng.random() < 0.9:
        entries.append(random_anchored(rng, "anchored"))
    entries.append(constant_entry(rng.randbytes(2), rng.randint(1, 3000), name="constant", dtype="BF16"))
    entries[-1].shape = (entries[-1].size // 2, 1)
    entries.append(empty_entry(name="empty \u00e9\u4e00", dtype="F32", shape=(0, 1 << 47)))
    entries.append(chunk_entry(bytes(5000) + rng.randbytes(77), rng.choice([16, 1000, 5077, 1 << 24]), name="other", dtype="F9_NEW", shape=(3, 5)))
    entries.append(constant_entry(rng.randbytes(1), 1, name="scalar", dtype="U8", shape=()))
    metadata = [("format", "pt"), ("", "quote \" and \u4e00")] if rng.random() < 0.5 else []
    entries.insert(0, safetensors_blob(entries, metadata))
    if rng.random() < 0.5:
        entries.insert(rng.randint(1, len(entries)), inline_entry(rng.randbytes(rng.choice([1, 9, 500, 4096]))))
    target = rng.choice([i for i, e in enumerate(entries) if e.size and e.coding != 12])
    safetensors = rng.random() < 0.7
    if not safetensors:
        entries.append(alias_entry(entries, target, name=None))
    groups, left = [], len(entries)
    while left and rng.random() < 0.9:
        groups.append(rng.randint(1, left) if rng.random() < 0.7 else left)
        left -= groups[-1]
    groups += [left] if groups and left else []
    front = rng.random() < 0.4
    head = head_bytes(place=int(front), size=sum(e.size for e in entries) if rng.random() < 0.8 else None, settings=rng.randbytes(6))
    data = container(entries, head=head, groups=groups, front=front, kind=int(safetensors), name="odd.safetensors", metadata=metadata if safetensors else (), mode=rng.choice([0, 0o644]),
                     mtime=rng.choice([0, 1700000000]))
    return data, b"".join(e.data for e in entries)


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    made = random_file(int(sys.argv[1]))
    for path, content in zip(sys.argv[2:], made):
        with open(path, "wb") as out_file:
            out_file.write(content)
