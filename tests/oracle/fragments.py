# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 7, fragments, decoded after doc/format.md section 7."""
import tiles
from common import Corrupt, Newer


class Fragments:
    """The parameters of a matrix of coding 7."""

    def __init__(self, size, w, columns):
        self.size, self.w, self.columns, self.rows = size, w, columns, (size >> w) // columns
        self.tiling = None


def read_parameters(cursor, size):
    if cursor.u8() != 1:
        raise Newer("form of fragments")
    columns = cursor.varint()
    w = cursor.data[cursor.at] if cursor.left() else 9
    if w > 1 or columns < 1 or columns << w > 1 << 20 or size % (columns << w):
        raise Corrupt("view")
    f = Fragments(size, w, columns)
    f.tiling = tiles.read_parameters(cursor, size)
    return f


def number(r, c):
    """Of the element in row r and column c among those of a whole section."""
    out = at = 0
    for value, bits in ((c % 4, 2), (c // 8 % 4, 2), (r % 8, 3), (r // 8, 1), (c // 4 % 2, 1), (c // 32, 2)):
        out, at = out | value << at, at + bits
    return out


WHOLE = [[number(r, c) for c in range(128)] for r in range(16)]


def elements(f, sequence):
    """The tensor's bytes from those of its sequence."""
    width, out = 1 << f.w, bytearray(f.size)
    for row in range(f.rows):
        y, r = row // 16, row % 16
        h = min(16, f.rows - 16 * y)
        for column in range(f.columns):
            x, c = column // 128, column % 128
            v = min(128, f.columns - 128 * x)
            k = WHOLE[r][c] if h == 16 and v == 128 else r * v + c
            at, to = (16 * f.columns * y + 128 * h * x + k) * width, (row * f.columns + column) * width
            out[to:to + width] = sequence[at:at + width]
    return bytes(out)


def decode(f, data):
    return elements(f, tiles.decode(f.tiling, data))
