# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 5, lossy, decoded after doc/format.md section 5."""
import math
import struct

import tiles
from common import M32, Corrupt, Newer, align, load, mask
from xxh3 import xxh3_64

WIDTHS = {"BF16": 2, "F16": 2, "F32": 4}
NONE, DCT, ADST = 0, 1, 2


def _zigzag():
    """The positions (row, column) by diagonals; odd ones go down."""
    positions = []
    for d in range(15):
        diagonal = [(y, d - y) for y in range(8) if 0 <= d - y < 8]
        positions += diagonal if d % 2 else diagonal[::-1]
    return positions


PRODUCTS = """00 01 10 02  20 03 30 04  40 11 05 50  06 60 07 70  12 21 13 31  22 14 41 15  51 16 61 17  71 23 32 24
              42 33 25 52  26 62 27 72  34 43 35 53  44 36 63 37  73 45 54 46  64 55 47 74  56 65 57 75  66 67 76 77"""
ORDERS = [_zigzag(), [(int(p[0]), int(p[1])) for p in PRODUCTS.split()], [(k // 8, k % 8) for k in range(64)], [(k % 8, k // 8) for k in range(64)]]


class Lossy:
    """The parameters of a tensor of coding 5. modes: pairs of a mode and the number of blocks that have it; row_scales: 0 or 1; order: of coefficients, w: of their size."""

    def __init__(self, size, dtype, w, columns, row_scales, modes, check, order=0):
        self.size, self.dtype, self.w, self.columns, self.row_scales, self.modes, self.check = size, dtype, w, columns, row_scales, modes, check
        self.order = order
        self.elements = size // WIDTHS[dtype]
        self.rows = self.elements // columns
        self.plain = [m for m, _ in modes] == [NONE]
        self.across = -(-columns // 256)
        self.superblocks = 0 if self.plain else -(-self.rows // 16) * self.across
        self.blocks = self.elements if self.plain else 64 * self.superblocks
        self.coefficients = self.elements if self.plain else 4096 * self.superblocks
        self.index_bits = len(modes) - 1
        self.scales = self.rows if row_scales else 1
        self.tiling = None
        self.figures = None

    def modes_size(self):
        return 0 if self.plain else self.blocks * self.index_bits // 8


def read_parameters(cursor, size, dtype):
    if cursor.u8() != 1:
        raise Newer("form of a lossy tensor")
    columns, row_scales, order, modes = cursor.varint(), cursor.u8(), cursor.u8(), []
    number = cursor.u8()
    if row_scales > 1 or order > 3 or not 1 <= number <= 3:
        raise Corrupt("scales, order or number of modes")
    for _ in range(number):
        mode = cursor.u8()
        if mode > 2 or modes and mode <= modes[-1][0]:
            raise Corrupt("mode")
        modes.append((mode, cursor.varint()))
    figures = struct.unpack("<3d", cursor.bytes(24))
    if not all(math.isfinite(f) and math.copysign(1, f) > 0 for f in figures):
        raise Corrupt("error figures")
    check = load(cursor.bytes(4), 0, 4)
    w = cursor.data[cursor.at] if cursor.left() else 9
    if dtype not in WIDTHS or w > 1 or columns < 1 or columns * WIDTHS[dtype] > 1 << 20 or size % (columns * WIDTHS[dtype]):
        raise Corrupt("view")
    t = Lossy(size, dtype, w, columns, row_scales, modes, check, order)
    if t.plain and order:
        raise Corrupt("order")
    if any(n == 0 for _, n in modes) or sum(n for _, n in modes) != t.blocks:
        raise Corrupt("counts of modes")
    t.figures = figures
    t.tiling = tiles.read_parameters(cursor, t.coefficients << w)
    return t


def wrap(v):
    return (v + 0x80000000 & M32) - 0x80000000


def rounded(v):
    return wrap(v + 2048) >> 12


def inverse_dct(x):
    e0, e1 = rounded(2896 * (x[0] + x[4])), rounded(2896 * (x[0] - x[4]))
    e2, e3 = rounded(1567 * x[2] - 3784 * x[6]), rounded(3784 * x[2] + 1567 * x[6])
    o0, o1 = rounded(799 * x[1] - 4017 * x[7]), rounded(3406 * x[5] - 2276 * x[3])
    o2, o3 = rounded(2276 * x[5] + 3406 * x[3]), rounded(4017 * x[1] + 799 * x[7])
    a = [e0 + e3, e1 + e2, e1 - e2, e0 - e3]
    b0, b1, b2, b3 = o0 + o1, o0 - o1, o3 - o2, o3 + o2
    c1, c2 = rounded(2896 * (b2 - b1)), rounded(2896 * (b2 + b1))
    b = [b3, c2, c1, b0]
    return [wrap(a[i] + b[i]) for i in range(4)] + [wrap(a[i] - b[i]) for i in (3, 2, 1, 0)]


def inverse_adst(x):
    r = [rounded(4076 * x[7] + 401 * x[0]), rounded(401 * x[7] - 4076 * x[0]), rounded(3612 * x[5] + 1931 * x[2]), rounded(1931 * x[5] - 3612 * x[2]),
         rounded(2598 * x[3] + 3166 * x[4]), rounded(3166 * x[3] - 2598 * x[4]), rounded(1189 * x[1] + 3920 * x[6]), rounded(3920 * x[1] - 1189 * x[6])]
    s = [wrap(r[i] + r[i + 4]) for i in range(4)] + [wrap(r[i] - r[i + 4]) for i in range(4)]
    t4, t5 = rounded(3784 * s[4] + 1567 * s[5]), rounded(1567 * s[4] - 3784 * s[5])
    t6, t7 = rounded(3784 * s[7] - 1567 * s[6]), rounded(1567 * s[7] + 3784 * s[6])
    u2, u3, u6, u7 = s[0] - s[2], s[1] - s[3], t4 - t6, t5 - t7
    return [wrap(v) for v in (s[0] + s[2], -(t4 + t6), rounded(2896 * (u6 + u7)), -rounded(2896 * (u2 + u3)), rounded(2896 * (u2 - u3)),
                              -rounded(2896 * (u6 - u7)), t5 + t7, -(s[1] + s[3]))]


def inverse(mode, order, q):
    """The 64 numbers z of a block, row by row, from its coefficients by number in the order."""
    placed = [0] * 64
    for (y, x), v in zip(ORDERS[order], q):
        placed[8 * y + x] = v
    if mode == NONE:
        return [64 * v for v in placed]
    one = inverse_dct if mode == DCT else inverse_adst
    v = [16 * c for c in placed]
    for x in range(8):
        v[x::8] = one(v[x::8])
    for y in range(8):
        v[8 * y:8 * y + 8] = one(v[8 * y:8 * y + 8])
    return v


def single(v):
    """The nearest binary32 number; of the product of two, which a double holds exactly, it is rounded once."""
    return struct.unpack("<f", struct.pack("<f", v))[0]


def element(dtype, z, scale):
    """Its bytes."""
    v = single(single(z) * scale)
    if dtype == "F32":
        return struct.pack("<f", v)
    if dtype == "F16":
        try:
            return struct.pack("<e", v)
        except OverflowError:
            return struct.pack("<e", math.copysign(math.inf, v))
    bits = load(struct.pack("<f", v), 0, 4)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).to_bytes(2, "little")


def elements(t, numbers, scales, sequence):
    """The tensor's bytes from the coefficient sequence; numbers: of each block's mode in the list."""
    width, out = WIDTHS[t.dtype], bytearray(t.size)

    def coefficient(i):
        return int.from_bytes(sequence[i << t.w:i + 1 << t.w], "little", signed=True)

    def put(y, x, z):
        at = (y * t.columns + x) * width
        out[at:at + width] = element(t.dtype, z, scales[y if t.row_scales else 0])

    if t.plain:
        for i in range(t.elements):
            put(i // t.columns, i % t.columns, 64 * coefficient(i))
        return bytes(out)
    for block in range(t.blocks):
        s, b = block // 64, block % 64
        top, left = 16 * (s // t.across) + 8 * (b // 32), 256 * (s % t.across) + 8 * (b % 32)
        if top >= t.rows or left >= t.columns:
            continue
        q = [coefficient(4096 * s + 128 * (k // 4 + b // 32 * 16) + 4 * (b % 32) + k % 4) for k in range(64)]
        z = inverse(t.modes[numbers[block]][0], t.order, q)
        for i in range(64):
            if top + i // 8 < t.rows and left + i % 8 < t.columns:
                put(top + i // 8, left + i % 8, z[i])
    return bytes(out)


def decode(t, data):
    size = t.modes_size()
    end = size + 4 * t.scales
    start = align(end, 16)
    if start > len(data) or any(data[end:start]):
        raise Corrupt("modes and scales")
    if xxh3_64(data[:end]) & M32 != t.check:
        raise Corrupt("check of modes and scales")
    packed = load(data, 0, size)
    numbers = [] if t.plain else [packed >> t.index_bits * i & mask(t.index_bits) for i in range(t.blocks)]
    if numbers and [numbers.count(i) for i in range(4)] != [n for _, n in t.modes] + [0] * (4 - len(t.modes)):
        raise Corrupt("modes of blocks")
    scales = struct.unpack("<%df" % t.scales, data[size:end])
    for i, s in enumerate(scales):
        if load(data, size + 4 * i, 4) != 0 and not 2.0 ** -100 <= s <= 2.0 ** 60:
            raise Corrupt("scale")
    return elements(t, numbers, scales, tiles.decode(t.tiling, data[start:]))
