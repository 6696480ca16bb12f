# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 11 of doc/format.md 11: a mask of the elements that are not zero, and these."""
from common import Corrupt, Cursor, Newer, align, load
from xxh3 import xxh3_64


class Masked:
    pass


def read_parameters(c, size, read_part):
    """read_part(cursor, coding, bytes, payload size): an entry of these parameters."""
    m = Masked()
    if c.u8() != 1:
        raise Newer("form of a masked tensor")
    m.w, m.t, m.values, m.check = c.u8(), c.u8(), c.varint(), load(c.bytes(4), 0, 4)
    if m.w > 3 or size % (1 << m.w) or not 12 <= m.t <= 16:
        raise Corrupt("parameters of a masked tensor")
    m.n = size >> m.w
    if not 1 <= m.values <= m.n:
        raise Corrupt("values of a masked tensor")
    m.tiles = -(-m.n >> m.t)
    m.end, m.parts = 4 * m.tiles, []
    for part in (-(-m.n // 8), m.values << m.w):
        coding, payload = c.u8(), c.varint()
        if coding not in (0, 1, 2, 8) or coding == 0 and payload:
            raise Corrupt("part of a masked tensor")
        own = Cursor(c.bytes(c.varint()))
        entry = read_part(own, coding, part, payload)
        if own.left():
            raise Corrupt("bytes after a part's parameters")
        entry.at = align(m.end, 16)
        m.end = entry.at + payload if payload else m.end
        m.parts.append(entry)
    return m


def decode(m, p, decode_part):
    """decode_part(entry, payload)"""
    counts = p[:4 * m.tiles]
    if xxh3_64(counts) & 0xFFFFFFFF != m.check:
        raise Corrupt("check of counts")
    mask, values = [decode_part(e, p[e.at:e.at + e.payload_size]) for e in m.parts]
    width, out, at = 1 << m.w, bytearray(m.n << m.w), 0
    bits = int.from_bytes(mask, "little")
    if bits >> m.n:
        raise Corrupt("mask after its end")
    for tile in range(m.tiles):
        ones = 0
        for i in range(tile << m.t, min(m.n, tile + 1 << m.t)):
            if mask[i // 8] >> i % 8 & 1:
                out[i * width:(i + 1) * width] = values[at:at + width]
                at, ones = at + width, ones + 1
        if ones != load(counts, 4 * tile, 4):
            raise Corrupt("count of a tile")
    if at != len(values):
        raise Corrupt("number of values")
    return bytes(out)
