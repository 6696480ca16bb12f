# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 4, blocks, decoded after doc/format.md section 4."""
import tiles
from common import M32, Corrupt, Newer, align, load, mask
from xxh3 import xxh3_64


class Blocks:
    """The parameters of a tensor of coding 4. modes: pairs of a mode and the number of blocks that have it."""

    def __init__(self, size, w, columns, modes, check):
        self.size, self.w, self.columns, self.modes, self.check = size, w, columns, modes, check
        self.rows = (size >> w) // columns
        self.across = columns + 15 >> 4
        self.count = (self.rows + 15 >> 4) * self.across
        self.index_bits = 0 if len(modes) == 1 else 1 if len(modes) == 2 else 2 if len(modes) <= 4 else 4
        self.tiling = None

    def modes_size(self):
        return self.count * self.index_bits + 7 >> 3


def read_parameters(cursor, size):
    if cursor.u8() != 1:
        raise Newer("form of blocks")
    columns, modes = cursor.varint(), []
    number = cursor.u8()
    if not 1 <= number <= 13:
        raise Corrupt("number of modes")
    for _ in range(number):
        mode = cursor.u8()
        if mode & 7 > 6 or mode > 13 or modes and mode <= modes[-1][0]:
            raise Corrupt("mode")
        modes.append((mode, cursor.varint()))
    check = load(cursor.bytes(4), 0, 4)
    w = cursor.data[cursor.at] if cursor.left() else 9
    if w > 1 or columns < 1 or columns << w > 1 << 20 or size % (columns << w):
        raise Corrupt("view")
    b = Blocks(size, w, columns, modes, check)
    if any(n == 0 for _, n in modes) or sum(n for _, n in modes) != b.count:
        raise Corrupt("counts of modes")
    b.tiling = tiles.read_parameters(cursor, 256 * b.count << w)
    return b


BANDS = [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (0, 0), (0, 3), (1, 3), (2, 3), (3, 0), (3, 1), (3, 2), (3, 3)]


def inverse_square(c, bits):
    low, half = mask(bits), 1 << bits - 1

    def h(v):
        return (((v & low) ^ half) - half) // 2

    def four(c):
        m = c[0] - h(c[1])
        n = m + c[1]
        a = c[2] - h(c[3])
        b = a + c[3]
        x0, x2 = m - h(a), n - h(b)
        return [x0 & low, x0 + a & low, x2 & low, x2 + b & low]

    columns = [four([c[v][u] for v in range(4)]) for u in range(4)]
    return [four([columns[u][v] for u in range(4)]) for v in range(4)]


def inverse_wht(bits, d):
    squares = [[[0] * 4 for _ in range(4)] for _ in range(16)]
    for j, (v, u) in enumerate(BANDS):
        for i in range(16):
            squares[i][v][u] = d[16 * j + i]
    means = inverse_square([d[128 + 4 * v:132 + 4 * v] for v in range(4)], bits)
    e = [0] * 256
    for i in range(16):
        squares[i][0][0] = means[i // 4][i % 4]
        x = inverse_square(squares[i], bits)
        for y in range(4):
            at = 16 * (4 * (i // 4) + y) + 4 * (i % 4)
            e[at:at + 4] = x[y]
    return e


def reconstruct(mode, bits, d):
    """The 256 elements of a block from its residuals."""
    low, half = mask(bits), 1 << bits - 1
    if mode == 6:
        return inverse_wht(bits, d)

    def signed(v):
        return ((v & low) ^ half) - half

    r = list(d)
    if mode & 8:
        for i in range(1, 256):
            r[i] = r[i] + r[i - 1] & low
    e = [0] * 256
    for i in range(256):
        left = e[i - 1] if i % 16 else 0
        top = e[i - 16] if i >= 16 else 0
        corner = e[i - 17] if i % 16 and i >= 16 else 0
        p = mode & 7
        if p == 0:
            guess = 0
        elif p == 1:
            guess = left
        elif p == 2:
            guess = top
        elif p == 3:
            guess = top + signed(left - top) // 2
        elif p == 4:
            guess = left + top - corner
        else:
            a, b = signed(top - corner), signed(left - corner)
            if abs(a) <= abs(b) and abs(a) <= abs(a + b):
                guess = left
            else:
                guess = top if abs(b) <= abs(a + b) else corner
        e[i] = r[i] + guess & low
    return e


def elements(b, numbers, residuals):
    """The tensor's bytes from the residual sequence; numbers: of each block's mode in the list."""
    width, out = 1 << b.w, bytearray(b.size)
    for block in range(b.count):
        at = 256 * block * width
        d = [load(residuals, at + i * width, width) for i in range(256)]
        e = reconstruct(b.modes[numbers[block]][0], 8 * width, d)
        for i in range(256):
            y, x = 16 * (block // b.across) + i // 16, 16 * (block % b.across) + i % 16
            if y < b.rows and x < b.columns:
                position = (y * b.columns + x) * width
                out[position:position + width] = e[i].to_bytes(width, "little")
    return bytes(out)


def decode(b, data):
    size = b.modes_size()
    start = align(size, 16)
    if start > len(data) or any(data[size:start]):
        raise Corrupt("packed modes")
    if xxh3_64(data[:size]) & M32 != b.check:
        raise Corrupt("check of modes")
    packed = load(data, 0, size)
    numbers = [packed >> b.index_bits * i & mask(b.index_bits) for i in range(b.count)]
    if packed >> b.index_bits * b.count or [numbers.count(i) for i in range(16)] != [n for _, n in b.modes] + [0] * (16 - len(b.modes)):
        raise Corrupt("modes of blocks")
    return elements(b, numbers, tiles.decode(b.tiling, data[start:]))
