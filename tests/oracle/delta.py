# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Deltas, section 10 of doc/format.md."""
from common import Corrupt, Cursor, Newer, align, load
from linear import linear_hash
from xxh3 import xxh3_64

EQUAL, SPARSE, ALONE, DIFFERENCE, XOR = range(5)
GAPS, VALUES = (1, 33), (16, 136)  # numbers that have a class of their own, and classes


class Delta:
    pass


def read_parameters(c, size, read_part):
    """read_part(cursor, coding, bytes, payload size): an entry of these parameters."""
    d = Delta()
    form = c.u8()
    if form != 1:
        raise Newer("form of a delta")
    d.base, d.base_size = load(c.bytes(16), 0, 16), c.varint()
    d.w, d.t, d.values = c.u8(), c.u8(), c.u8()
    if d.w > 3 or size % (1 << d.w) or not 12 <= d.t <= 16 or d.values > 1:
        raise Corrupt("parameters of a delta")
    d.n = size >> d.w
    d.tiles = -(-d.n >> d.t)
    d.counts = [c.varint() for _ in range(5)]
    d.side, d.check, d.streams = c.varint(), load(c.bytes(4), 0, 4), c.varint()
    if sum(d.counts) != d.n or d.side >> 48 or d.streams >> 48:
        raise Corrupt("elements of a delta")
    if not d.counts[SPARSE] and (d.streams or d.values):
        raise Corrupt("side of a delta")
    end = align(d.side, 16) + d.streams if d.streams else d.side
    d.parts = {}
    for mode in (ALONE, DIFFERENCE, XOR):
        if d.counts[mode]:
            coding, payload = c.u8(), c.varint()
            if coding not in (0, 1, 2, 8) or coding == 0 and payload:
                raise Corrupt("part of a delta")
            part = Cursor(c.bytes(c.varint()))
            entry = read_part(part, coding, d.counts[mode] << d.w, payload)
            if part.left():
                raise Corrupt("bytes after a part's parameters")
            entry.at = align(end, 16)
            end = entry.at + payload if payload else end
            d.parts[mode] = entry
    d.end = end
    return d


class _Bits:
    def __init__(self, data):
        self.value, self.size, self.at = int.from_bytes(data, "little"), 8 * len(data), 0

    def take(self, n):
        if n > self.size - self.at:
            raise Corrupt("bits of a delta end too early")
        self.at += n
        return self.value >> self.at - n & (1 << n) - 1

    def close(self):
        """Zeros up to a whole byte; how many bytes there were."""
        if self.take(-self.at % 8):
            raise Corrupt("bits after the last one")
        return self.at // 8


def _code(c, classes):
    count = c.u8()
    if not 1 <= count <= classes:
        raise Corrupt("classes of a code")
    data = c.bytes(-(-count // 2))
    lengths = [data[i // 2] >> 4 * (i % 2) & 15 for i in range(count)]
    if max(lengths) > 12 or not lengths[-1] or count % 2 and data[-1] >> 4:
        raise Corrupt("lengths of a code")
    held = [i for i in range(count) if lengths[i]]
    if len(held) == 1:
        if lengths[held[0]] != 1:
            raise Corrupt("length of an only class")
        return {(0, 0): held[0]}
    if sum(4096 >> lengths[i] for i in held) != 4096:
        raise Corrupt("code is not complete")
    words, word, last = {}, 0, 0
    for i in sorted(held, key=lambda i: (lengths[i], i)):
        word <<= lengths[i] - last
        last = lengths[i]
        words[last, word] = i
        word += 1
    return words


def _number(bits, code, kind):
    direct = kind[0]
    length = word = 0
    while (length, word) not in code:
        word, length = word << 1 | bits.take(1), length + 1
    k = code[length, word]
    if k < direct:
        return k + 1
    octave, half = divmod(k - direct, 2)
    below = octave + (direct + 1).bit_length() - 2
    return (2 + half) << below | bits.take(below)


def _side(d, data):
    if xxh3_64(data) & 0xFFFFFFFF != d.check:
        raise Corrupt("check of a side")
    modes = [next((m for m in range(5) if d.counts[m]), EQUAL)] * d.tiles
    c = Cursor(data)
    if sum(n > 0 for n in d.counts) > 1:
        bits = _Bits(data)
        modes = [1 + bits.take(2) if bits.take(1) else EQUAL for _ in range(d.tiles)]
        c.at = bits.close()
    codes = [_code(c, kind[1]) for kind in (GAPS, VALUES)] if d.counts[SPARSE] else None
    directory = [(c.varint(), load(c.bytes(4), 0, 4)) for m in modes if m == SPARSE]
    results = [load(c.bytes(4), 0, 4) for _ in modes]
    if c.left() or sum(size for size, _ in directory) != d.streams or any(size >> 32 for size, _ in directory):
        raise Corrupt("directory of a delta")
    for mode in range(5):
        if sum(min(1 << d.t, d.n - (i << d.t)) for i, m in enumerate(modes) if m == mode) != d.counts[mode]:
            raise Corrupt("modes of a delta")
    return modes, codes, directory, results


def _unzigzag(z):
    return -(z + 1) // 2 if z & 1 else z // 2


def _patch(d, codes, stream, elements):
    bits, i = _Bits(stream), 0
    while i < len(elements):
        i += _number(bits, codes[0], GAPS) - 1
        if i > len(elements):
            raise Corrupt("gap")
        if i == len(elements):
            break
        v = _number(bits, codes[1], VALUES)
        if v >> (8 << d.w):
            raise Corrupt("value")
        elements[i] = elements[i] ^ v if d.values else elements[i] + _unzigzag(v)
        i += 1
    if bits.close() != len(stream):
        raise Corrupt("bytes after a stream")


def decode(d, p, base, decode_part):
    """decode_part(entry, payload); base: the bytes of the base's tensor."""
    width = 1 << d.w
    modes, codes, directory, results = _side(d, p[:d.side])
    parts = {}
    for mode, e in d.parts.items():
        data = decode_part(e, p[e.at:e.at + e.payload_size])
        parts[mode] = iter([load(data, i, width) for i in range(0, len(data), width)])
    at, streams, out = align(d.side, 16), iter(directory), bytearray()
    for tile, mode in enumerate(modes):
        begin, end = tile << d.t, min(d.n, tile + 1 << d.t)
        elements = [load(base, i * width, width) for i in range(begin, end)]
        if mode == SPARSE:
            size, check = next(streams)
            stream, at = p[at:at + size], at + size
            if xxh3_64(stream) & 0xFFFFFFFF != check:
                raise Corrupt("check of a stream")
            _patch(d, codes, stream, elements)
        elif mode == ALONE:
            elements = [next(parts[mode]) for _ in elements]
        elif mode == DIFFERENCE:
            elements = [b + _unzigzag(next(parts[mode])) for b in elements]
        elif mode == XOR:
            elements = [b ^ next(parts[mode]) for b in elements]
        made = b"".join((e & (1 << 8 * width) - 1).to_bytes(width, "little") for e in elements)
        if linear_hash(made, len(out)) & 0xFFFFFFFF != results[tile]:
            raise Corrupt("elements of a tile")
        out += made
    return bytes(out)
