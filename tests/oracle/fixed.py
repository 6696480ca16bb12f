# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 6, fixed, decoded after doc/format.md section 6."""
from common import M32, Corrupt, Newer, align, load
from tiles import tile_check
from xxh3 import xxh3_64

ZERO_ROW = -128


class Fixed:
    """The parameters of a tensor of coding 6."""

    def __init__(self, size, columns, bits, units, spilled, foreign, check):
        self.size, self.columns, self.bits, self.units, self.spilled, self.foreign, self.check = size, columns, bits, units, spilled, foreign, check
        self.rows = size // 2 // columns
        self.bands, self.across = -(-self.rows // 16), -(-columns // 128)
        self.tiles = self.bands * self.across
        self.list_at = 2048 + 256 * (bits + 1)
        self.record = self.list_at + 16 * units
        self.checks_at = 16 * self.bands
        self.tiles_at = align(self.checks_at + 4 * self.tiles, 16)
        self.spilled_at = self.tiles_at + self.tiles * self.record
        self.payload_size = self.spilled_at + 4 * spilled
        self.least_shift = -119 if bits == 2 else -111
        self.kinds = (4, 124) if bits == 2 else (8, 120)


def read_parameters(cursor, size, dtype, payload_size):
    if cursor.u8() != 1:
        raise Newer("form of a tensor at a fixed rate")
    columns, bits, units, spilled, foreign = cursor.varint(), cursor.u8(), cursor.u8(), cursor.varint(), cursor.varint()
    check = load(cursor.bytes(4), 0, 4)
    if dtype != "BF16" or not 1 <= columns <= 1 << 19 or size % (2 * columns):
        raise Corrupt("view")
    if bits not in (2, 3) or not 1 <= units <= 16 or foreign > spilled:
        raise Corrupt("bits, lists or spilled elements")
    f = Fixed(size, columns, bits, units, spilled, foreign, check)
    if spilled > 2048 * f.tiles or f.payload_size != payload_size:
        raise Corrupt("payload size")
    return f


def place(position):
    """Row and column in the tile."""
    row = (position >> 2 & 1) << 3 | position >> 6 & 7
    column = position & 3 | (position >> 3 & 1) << 2 | (position >> 4 & 3) << 3 | (position >> 9) << 5
    return row, column


def index_and_sign(bits, record, position):
    lane, quad, i = position // 16 % 32, 4 * (position // 512) + position // 4 % 4, position % 4
    words = [load(record, 2048 + 16 * lane + 4 * k, 4) for k in range(4)]
    words += [load(record, 2560 + 8 * (bits - 1) * lane + 4 * k, 4) for k in range(2 * bits - 2)]
    words = words[:bits + 1] if quad < 8 else words[bits + 1:]
    u = quad % 8

    def nibble(word, n):
        return word >> 4 * n & 15

    n = 4 * (u % 2) + i
    if bits == 3:
        word = words[u // 2]
        return nibble(word, n) & 7, nibble(word, 2 * i + (u % 2 == 0)) >> 3
    if u < 6:
        three = nibble(words[u // 2], n) & 7
    else:
        three = sum(nibble(words[k], n) >> 3 << k for k in range(3))
    return three & 3, three >> 2


def increasing(positions):
    return all(a < b for a, b in zip(positions, positions[1:]))


def read_list(f, record):
    """What the outliers are xored with, by position; number and count of spilled elements."""
    area = record[f.list_at:]
    p, q, spills = area[0], area[1] & 127, area[1] >> 7
    end = len(area) - 8 * spills
    if 2 + p + (p + 1) // 2 + 2 * q > end:
        raise Corrupt("list of a tile")
    nibbles = [area[2 + p + i // 2] >> 4 * (i % 2) & 15 for i in range(p)]
    short = [area[2 + i] | (nibbles[i] & 7) << 8 for i in range(p)]
    long = [load(area, end - 2 * (i + 1), 2) for i in range(q)]
    flips = {position: f.kinds[nibble >> 3] for position, nibble in zip(short, nibbles)}
    flips.update((word & 2047, 4 * (word >> 11)) for word in long)
    if not increasing(short) or not increasing([word & 2047 for word in long]) or len(flips) != p + q:
        raise Corrupt("positions of outliers")
    if not spills:
        return flips, None, 0
    first, count = load(area, end, 4), load(area, end + 4, 4)
    if not 1 <= count <= 2048:
        raise Corrupt("count of spilled elements")
    return flips, first, count


def element(r, shift, outlier):
    if shift == ZERO_ROW:
        return r & 0x8000
    if outlier and r >> 7 & 255 in (0, 255):
        return r
    return r + 128 * shift & 0xFFFF


def decode_tile(f, record, flips, spilled, shifts):
    """The 16 rows of 128 elements."""
    out = [[0] * 128 for _ in range(16)]
    for position in range(2048):
        row, column = place(position)
        index, sign = index_and_sign(f.bits, record, position)
        upper = (64 - (1 << f.bits) + index) ^ flips.get(position, 0)
        out[row][column] = element(sign << 15 | upper << 8 | record[position], shifts[row], position in flips)
    for word in spilled:
        row, column = place(word & 2047)
        out[row][column] = word >> 16
    return out


def decode(f, data):
    signed = [b - 256 if b > 127 else b for b in data[:f.checks_at]]
    if xxh3_64(data[:f.checks_at]) & M32 != f.check:
        raise Corrupt("check of shifts")
    if any(s < f.least_shift and s != ZERO_ROW for s in signed):
        raise Corrupt("shift of a row")
    if any(data[f.checks_at + 4 * f.tiles:f.tiles_at]):
        raise Corrupt("padding")
    out, following = bytearray(f.size), 0
    for tile in range(f.tiles):
        record = data[f.tiles_at + tile * f.record:f.tiles_at + (tile + 1) * f.record]
        flips, first, count = read_list(f, record)
        if count and (first != following or count > f.spilled - first):
            raise Corrupt("numbers of spilled elements")
        at = f.spilled_at + 4 * following
        coded = data[at:at + 4 * count]
        following += count
        spilled = [load(coded, 4 * i, 4) for i in range(count)]
        if not increasing([word & 2047 for word in spilled]) or any(word >> 11 & 31 for word in spilled):
            raise Corrupt("spilled elements")
        if tile_check(record + bytes(-len(record) % 128) + coded, 8) != load(data, f.checks_at + 4 * tile, 4):
            raise Corrupt("tile check")
        top, left = 16 * (tile // f.across), 128 * (tile % f.across)
        rows = decode_tile(f, record, flips, spilled, signed[top:top + 16])
        width = min(128, f.columns - left)
        for y in range(min(16, f.rows - top)):
            begin = 2 * ((top + y) * f.columns + left)
            out[begin:begin + 2 * width] = b"".join(v.to_bytes(2, "little") for v in rows[y][:width])
    if following != f.spilled:
        raise Corrupt("spilled elements of no tile")
    return bytes(out)
