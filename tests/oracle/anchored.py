# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 13 of doc/format.md 12: rows as an anchor and the difference from it, in steps."""
import struct

from common import Corrupt, Cursor, Newer, align, load
from lossy import WIDTHS, element


class Anchored:
    pass


def valid_scale(bits):
    return bits == 0 or 0x0D800000 <= bits <= 0x5D800000


def valid_figure(bits):
    return bits < 0x7FF << 52


def read_parameters(c, size, dtype, read_part):
    """read_part(cursor, coding, bytes, payload size): an entry of these parameters."""
    a = Anchored()
    if c.u8() != 1:
        raise Newer("form of a tensor by anchors")
    a.columns, a.w, a.i, a.anchors = c.varint(), c.u8(), c.u8(), c.varint()
    scale, figures = load(c.bytes(4), 0, 4), c.bytes(24)
    if dtype not in WIDTHS:
        raise Corrupt("dtype of a tensor by anchors")
    a.dtype = dtype
    row = a.columns * WIDTHS[dtype]
    if not 1 <= row <= 1 << 20 or size % row or a.w > 1 or a.i > 2:
        raise Corrupt("rows or widths of a tensor by anchors")
    a.rows = size // row
    if not 1 <= a.anchors <= a.rows:
        raise Corrupt("number of anchors")
    if a.anchors * a.columns << a.w > 1 << 22:
        raise Corrupt("bytes of anchors")
    if not valid_scale(scale) or not all(valid_figure(load(figures, i, 8)) for i in (0, 8, 16)):
        raise Corrupt("scale or error")
    a.scale = struct.unpack("<f", scale.to_bytes(4, "little"))[0]
    a.end, a.parts = 0, []
    for part in (a.anchors * a.columns << a.w, a.rows << a.i, a.rows * a.columns << a.w):
        coding, payload = c.u8(), c.varint()
        if coding not in (0, 1, 2, 8) or coding == 0 and payload:
            raise Corrupt("part of a tensor by anchors")
        own = Cursor(c.bytes(c.varint()))
        entry = read_part(own, coding, part, payload)
        if own.left():
            raise Corrupt("bytes after a part's parameters")
        entry.at = align(a.end, 16)
        a.end = entry.at + payload if payload else a.end
        a.parts.append(entry)
    return a


def restore(a, anchors, indices, residuals):
    def number(part, i):
        return int.from_bytes(part[i << a.w:i + 1 << a.w], "little", signed=True)

    out, known = [], {}
    for row in range(a.rows):
        k = load(indices, row << a.i, 1 << a.i)
        if k >= a.anchors:
            raise Corrupt("index of no anchor")
        for j in range(a.columns):
            v = number(anchors, k * a.columns + j) + number(residuals, row * a.columns + j)
            if v not in known:
                known[v] = element(a.dtype, 64 * v, a.scale)
            out.append(known[v])
    return b"".join(out)


def decode(a, p, decode_part):
    """decode_part(entry, payload)"""
    return restore(a, *(decode_part(e, p[e.at:e.at + e.payload_size]) for e in a.parts))
