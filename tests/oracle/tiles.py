# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 1, tiles, decoded after doc/format.md sections 2 to 2.6."""
import struct

from common import CONSTANT, CODED, M32, M64, P8, PAIRS, RAW, Corrupt, align, load, mask


class Field:
    def __init__(self, kind, width, at):
        self.kind, self.width, self.at = kind, width, at
        self.value = self.profile = self.tables = self.run = 0


class Tiling:
    """The parameters of a tensor of coding 1 and what follows from them."""

    def __init__(self, w, t, add, fields, prefix, size):
        self.w, self.t, self.add, self.fields, self.prefix = w, t, add, fields, prefix
        self.bits = 8 << w
        self.elements = size >> w
        self.tiles = self.elements + (1 << t) - 1 >> t
        self.coded = [f for f in fields if f.kind == CODED]
        self.planes = raw_planes(self.bits, fields)

    def tile_elements(self, tile):
        return min(1 << self.t, self.elements - (tile << self.t))

    def has_payload(self):
        return bool(self.planes) and len(self.planes[0][1]) >= 4


def raw_planes(bits, fields):
    """Planes as (position of the first bit, positions in the element of all bits)."""
    top = max(f.at + f.width for f in fields if f.kind == CODED)
    raw = {f.at + i for f in fields if f.kind == RAW for i in range(f.width)}
    order = [p % bits for p in range(top, top + bits) if p % bits in raw]
    planes, at, size = [], 0, 32
    while size:
        if len(order) - at >= size:
            planes.append((order[at], order[at:at + size]))
            at += size
        else:
            size //= 2
    return planes


def read_parameters(cursor, size):
    w, t = cursor.u8(), cursor.u8()
    if w > 3 or not 12 <= t <= 16 or size % (1 << w) or size == 0:
        raise Corrupt("tile geometry")
    add = load(cursor.bytes(1 << w), 0, 1 << w)
    count = cursor.u8()
    if not 1 <= count <= 64:
        raise Corrupt("number of fields")
    fields, at = [], 0
    for _ in range(count):
        f = Field(cursor.u8(), cursor.u8(), at)
        if f.kind > CODED or not 1 <= f.width <= (8 if f.kind == CODED else 64):
            raise Corrupt("field")
        if fields and f.kind != CODED and fields[-1].kind == f.kind:
            raise Corrupt("two neighbours of one kind")
        if f.kind == CONSTANT:
            f.value = load(cursor.bytes(f.width + 7 >> 3), 0, f.width + 7 >> 3)
            if f.value >> f.width:
                raise Corrupt("constant field's value")
        if f.kind == CODED:
            f.profile, f.tables, f.run = cursor.u8(), cursor.u8(), cursor.u8()
            if not PAIRS <= f.profile <= P8 or not 1 <= f.tables <= (16 if f.profile == P8 else 4):
                raise Corrupt("profile or table pool")
            if f.run and not (f.profile == P8 and f.tables >= 2 and 7 <= f.run <= 12):
                raise Corrupt("runs")
        fields.append(f)
        at += f.width
    if at != 8 << w or not 1 <= sum(f.kind == CODED for f in fields) <= 8:
        raise Corrupt("field list")
    return Tiling(w, t, add, fields, cursor.varint(), size)


class _Nibbles:
    def __init__(self, data, at):
        self.data, self.at = data, 2 * at

    def unit(self):
        if self.at >> 1 >= len(self.data):
            raise Corrupt("truncated table")
        v = self.data[self.at >> 1] >> 4 * (self.at & 1) & 15
        self.at += 1
        return v

    def number(self):
        v = 0
        for i in range(4):
            u = self.unit()
            v |= (u & 7) << 3 * i
            if not u & 8:
                if i and u == 0:
                    raise Corrupt("number is not minimal")
                return v
        raise Corrupt("number too long")

    def end(self):
        if self.at & 1 and self.unit():
            raise Corrupt("half byte at the end of a table")
        return self.at >> 1


class Table:
    """slots: (symbol, frequency, bias) by slot; pairs carry their base in the symbol: (first, second)."""

    def __init__(self, held):
        self.slots = [(s, f, i) for s, f in held for i in range(f)]


def read_table(field, data, at):
    """A table at data[at]; returns it and where it ends."""
    limit = 1 << field.width
    if field.profile == P8:
        if at >= len(data):
            raise Corrupt("truncated table")
        m = data[at]
        end = at + 1 + 2 * (m + 1)
        if m == 0 and not field.run or end > len(data):
            raise Corrupt("P8 table")
        held = [(data[i], data[i + 1]) for i in range(at + 1, end, 2)]
        if m == 0:
            held = [(s, 256 if f == 0 else 0) for s, f in held]
        if len({s for s, _ in held}) != len(held) or any(s >= limit or f == 0 for s, f in held) or sum(f for _, f in held) != 256:
            raise Corrupt("P8 table")
        return Table(held), end
    base, symbols = 0, limit
    if field.profile == PAIRS:
        if at >= len(data):
            raise Corrupt("truncated table")
        base, symbols = data[at], 256
        at += 1
        if (base + 15 >= limit) if field.width > 4 else base:
            raise Corrupt("window of a pair table")
    units, frequencies = _Nibbles(data, at), []
    while len(frequencies) < symbols:
        f = units.number()
        frequencies.append(f)
        if f == 0:
            frequencies += [0] * units.unit()
    if len(frequencies) > symbols or sum(frequencies) != 4096 or max(frequencies) > 4095:
        raise Corrupt("frequencies")
    held = [(s, f) for s, f in enumerate(frequencies) if f]
    if field.profile == PAIRS:
        held = [((base + s % 16, base + s // 16), f) for s, f in held]
        if any(max(pair) >= limit for pair, _ in held):
            raise Corrupt("symbol of a pair table beyond the field")
    return Table(held), units.end()


def decode_stream(field, n, words, states, pick):
    """The values of one rANS stream and the lower halves of the final states. pick(g) gives the slots of group g."""
    groups = n + 127 >> 7
    out, x, at = [0] * (128 * groups), list(states), 0
    bits = 8 if field.profile == P8 else 12
    low = (1 << bits) - 1
    for g in range(groups):
        slots = pick(g)
        for step in range(4 if field.profile == 2 else 2):
            for lane in range(32):
                v, i = x[lane], 128 * g + 4 * lane
                s, f, bias = slots[v & low]
                v = f * (v >> bits) + bias
                if field.profile == PAIRS:
                    out[i + 2 * step], out[i + 2 * step + 1] = s
                elif field.profile == P8:
                    out[i + 2 * step] = s
                    s, f, bias = slots[v & low]
                    v = f * (v >> bits) + bias
                    out[i + 2 * step + 1] = s
                else:
                    out[i + step] = s
                if v < 1 << 16:
                    if at == len(words):
                        raise Corrupt("words are missing")
                    v = v << 16 | words[at]
                    at += 1
                x[lane] = v
    if at != len(words):
        raise Corrupt("words are left over")
    if any(v >> 16 != 1 for v in x):
        raise Corrupt("final state")
    return out, [v & 0xFFFF for v in x]


def raw_size(tiling, tile, modes):
    n = tiling.tile_elements(tile)
    if modes[0] == 2:
        return align(n << tiling.w, 64)
    groups, size = n + 127 >> 7, 0
    for i, (_, positions) in enumerate(tiling.planes):
        rows = -(-groups * len(positions) // 8)
        size += 128 * rows
        if i == 0 and modes[0] == 0 and len(positions) >= 4:
            size -= 128 if len(positions) == 4 and groups & 1 else 64
    return size


def read_raw(tiling, n, data, payload):
    """The raw bits of each element, in place. payload: the lanes' 16 bits, or None."""
    groups, slot = n + 127 >> 7, min(tiling.bits, 32)
    values, at = [0] * (128 * groups), 0
    for number, (first, positions) in enumerate(tiling.planes):
        size = len(positions)
        rows = -(-groups * size // 8)
        words = [[0] * rows for _ in range(32)]
        in_states = number == 0 and payload is not None
        whole = rows - 1 if in_states else rows
        for row in range(whole):
            for lane in range(32):
                words[lane][row] = load(data, at + 4 * lane, 4)
            at += 128
        if in_states and not (size == 4 and groups & 1):
            half = [load(data, at + 2 * lane, 2) for lane in range(32)]
            at += 64
            if size >= 8:
                for lane in range(32):
                    words[lane][rows - 1] = payload[lane] << 16 | half[lane]
            else:
                _four(values, groups - 2, positions, half)
        if in_states and size == 4:
            _four(values, groups - 1, positions, payload)
            skip = groups - (1 if groups & 1 else 2)
        else:
            skip = groups
        per_word = slot // size
        for i in range(128 * skip):
            g, lane, position = i >> 7, i >> 2 & 31, i & 3
            number_in_lane = (4 * g + position) * slot  # where the element's slot starts in the lane's sequence of slot words
            j = number_in_lane >> 5
            word = words[lane][j // per_word]
            r = j % per_word * size
            word = (word >> r | word << (32 - r)) & M32
            v = word >> (number_in_lane & 31) & mask(slot)
            for b, p in enumerate(positions):
                values[i] |= (v >> (first + b) % slot & 1) << p
    return values


def _four(values, group, positions, halves):
    for lane in range(32):
        for position in range(4):
            v = halves[lane] >> 4 * position
            for b, p in enumerate(positions):
                values[128 * group + 4 * lane + position] |= (v >> b & 1) << p


def tile_check(data, bits):
    """The 32-bit check of a tile's decoded bytes."""
    data = bytes(data) + bytes(-len(data) % (16 * bits))
    words = struct.unpack("<%dI" % (len(data) // 4), data)
    m, total = bits // 8, 0
    factors = [0x4CF5AD43 + 81006 * k for k in range(len(words) // 32)]
    for lane in range(32):
        a = sum(w * factor for i in range(m) for w, factor in zip(words[m * lane + i::4 * bits], factors[i::m]))
        a &= M64
        h = (a & M32) * 0x9E3779B1 + (a >> 32) * 0x85EBCA77 + lane * 0xC2B2AE3D & M32
        h ^= h >> 16
        h = h * 0x7FEB352D & M32
        h ^= h >> 15
        h = h * 0x846CA68B & M32
        total += h ^ h >> 16
    return total & M32


class Payload:
    """The areas of a payload, checked."""

    def __init__(self, tiling, data):
        self.tiling, self.data = tiling, data
        self.at = 0
        self.tables = []
        for f in tiling.coded:
            pool = []
            for _ in range(f.tables):
                table, self.at = read_table(f, data, self.at)
                pool.append(table.slots)
            self.tables.append(pool)
        self._directory()
        self._runs()
        self._area()
        if self.at != tiling.prefix:
            raise Corrupt("prefix")
        self._streams()
        if self.at != len(data):
            raise Corrupt("bytes after the payload")

    def _area(self, in_prefix=True):
        start = align(self.at, 16)
        if start > len(self.data) or in_prefix and any(self.data[self.at:start]):
            raise Corrupt("truncated payload, or padding that is not zero")
        self.at = start

    def _take(self, size):
        if size > len(self.data) - self.at:
            raise Corrupt("truncated payload")
        self.at += size
        return self.at - size

    def _directory(self):
        t = self.tiling
        self._area()
        at = self._take(4 * t.tiles)
        self.checks = [load(self.data, at + 4 * i, 4) for i in range(t.tiles)]
        self.streams = []
        for tile in range(t.tiles):
            at = self._take(8 * len(t.coded))
            n = t.tile_elements(tile)
            padded = n + 127 & ~127
            row = []
            for i, f in enumerate(t.coded):
                a, b = load(self.data, at + 8 * i, 4), load(self.data, at + 8 * i + 4, 4)
                s = {"words": a & 0xFFFFF, "table": a >> 20 & 15, "mode": a >> 24 & 15, "outliers": b & 0x1FFFF, "symbol": b >> 24}
                if a >> 28 or b >> 17 & 127 or s["mode"] > 2:
                    raise Corrupt("stream descriptor")
                if s["mode"] != 0 and (s["words"] or s["table"]) or s["mode"] != 1 and s["symbol"] or s["mode"] == 2 and s["outliers"]:
                    raise Corrupt("stream descriptor")
                if s["table"] >= (1 if f.run else f.tables) or s["symbol"] >> f.width or s["outliers"] > n:
                    raise Corrupt("stream descriptor")
                if s["words"] > (padded if f.profile == 2 else padded // 2):
                    raise Corrupt("too many words")
                row.append(s)
            if len({s["mode"] == 2 for s in row}) != 1:
                raise Corrupt("stored in part")
            self.streams.append(row)

    def _runs(self):
        t = self.tiling
        self._area()
        for i, f in enumerate(t.coded):
            if not f.run:
                continue
            width = 1 if f.tables == 2 else 2 if f.tables <= 4 else 4
            count = max(1, 1 << t.t >> f.run)
            size = -(-count * width // 8)
            for tile in range(t.tiles):
                v = load(self.data, self._take(size), size)
                picks = [v >> width * k & mask(width) for k in range(count)]
                used = t.tile_elements(tile) + (1 << f.run) - 1 >> f.run
                if self.streams[tile][i]["mode"] != 0:
                    used = 0
                if v >> width * used or any(p >= f.tables for p in picks):
                    raise Corrupt("runs")
                self.streams[tile][i]["runs"] = picks

    def _streams(self):
        t = self.tiling
        rans = [s for row in self.streams for s in row if s["mode"] == 0]
        for s in rans:
            at = self._take(128)
            s["states"] = [load(self.data, at + 4 * i, 4) for i in range(32)]
            if min(s["states"]) < 1 << 16:
                raise Corrupt("start state")
        self._area(False)
        for s in rans:
            at = self._take(2 * s["words"])
            s["stream"] = [load(self.data, at + 2 * i, 2) for i in range(s["words"])]
        self._area(False)
        self.raw = []
        for tile, row in enumerate(self.streams):
            size = raw_size(t, tile, [s["mode"] for s in row])
            at = self._take(size)
            self.raw.append(self.data[at:at + size])
        self._area(False)
        total = sum(s["outliers"] for row in self.streams for s in row)
        at = self._take(3 * total)
        for row in self.streams:
            for s in row:
                s["positions"] = [load(self.data, at + 2 * j, 2) for j in range(s["outliers"])]
                at += 2 * s["outliers"]
        for tile, row in enumerate(self.streams):
            for s, f in zip(row, t.coded):
                s["values"] = list(self.data[at:at + s["outliers"]])
                at += s["outliers"]
                p = s["positions"]
                if any(a >= b for a, b in zip(p, p[1:])) or p and p[-1] >= t.tile_elements(tile) or any(v >> f.width for v in s["values"]):
                    raise Corrupt("outliers")

    def decode_tile(self, tile):
        t = self.tiling
        n, row, size = t.tile_elements(tile), self.streams[tile], 1 << t.w
        if row[0]["mode"] == 2:
            out = self.raw[tile][:n * size]
        else:
            out = self._decode_fields(tile, n, row, size)
        if tile_check(out, t.bits) != self.checks[tile]:
            raise Corrupt("tile check")
        return out

    def _decode_fields(self, tile, n, row, size):
        t = self.tiling
        coded, payload = [], None
        for i, (f, s) in enumerate(zip(t.coded, row)):
            if s["mode"] == 1:
                values = [s["symbol"]] * n
            else:
                pool = self.tables[i]
                pick = (lambda g, s=s, pool=pool, f=f: pool[s["runs"][128 * g >> f.run]]) if f.run else (lambda g, s=s, pool=pool: pool[s["table"]])
                values, final = decode_stream(f, n, s["stream"], s["states"], pick)
                if i == 0 and t.has_payload():
                    payload = final
                elif any(final):
                    raise Corrupt("final state without a payload")
            for p, v in zip(s["positions"], s["values"]):
                values[p] = v
            coded.append((f.at, values))
        elements = read_raw(t, n, self.raw[tile], payload)
        constant = sum(f.value << f.at for f in t.fields if f.kind == CONSTANT)
        out = bytearray()
        for i in range(n):
            e = elements[i] | constant
            for at, values in coded:
                e |= values[i] << at
            out += (e - t.add & mask(t.bits)).to_bytes(size, "little")
        return bytes(out)


def decode(tiling, data):
    payload = Payload(tiling, data)
    return b"".join(payload.decode_tile(i) for i in range(tiling.tiles))
