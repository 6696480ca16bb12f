# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 9 of doc/format.md 3.1: records, of which each field is an array of its own."""
import packed
import tiles
from common import Corrupt, Cursor, Newer, align, varint

CONSTANT, TILES, CHUNKS, PACKED = 0, 1, 2, 8


class Field:
    """offset and width in the record; coding, size of the payload and parameters as an entry has them"""

    element = tiling = chunk = None
    unpacked = at = 0


class Records:
    pass


def _read_field(c, record, count):
    f = Field()
    f.offset, f.width, f.coding, f.payload_size = c.varint(), c.varint(), c.u8(), c.varint()
    own = Cursor(c.bytes(c.varint()))
    f.size = count * f.width
    if not 1 <= f.width <= record:
        raise Corrupt("width of a field")
    if f.coding == CONSTANT:
        w = own.u8()
        if w > 3 or f.size % (1 << w) or f.payload_size:
            raise Corrupt("constant")
        f.element = own.bytes(1 << w)
    elif f.coding == TILES:
        f.tiling = tiles.read_parameters(own, f.size)
    elif f.coding == PACKED:
        f.unpacked = own.varint()
        f.tiling = tiles.read_parameters(own, f.size)
        packed.check_parameters(f.tiling, f.size, f.unpacked, f.payload_size)
    elif f.coding == CHUNKS:
        f.chunk = own.varint()
        if not 1 <= f.chunk <= 1 << 24:
            raise Corrupt("chunk size")
    else:
        raise Newer("coding of a field")
    if own.left():
        raise Corrupt("bytes after the parameters of a field")
    return f


def alignment(coding, size):
    return 1 if coding == PACKED else 256 if size >= 65536 else 16


def read_parameters(c, size, payload_size):
    r = Records()
    if c.u8() != 1:
        raise Newer("form of records")
    r.record, fields = c.varint(), c.u8()
    if not 1 <= r.record <= 4096 or not 1 <= fields <= 16 or size % r.record:
        raise Corrupt("records")
    r.count = size // r.record
    r.fields = [_read_field(c, r.record, r.count) for _ in range(fields)]
    if any(f.offset + f.width > r.record for f in r.fields) or sorted(i for f in r.fields for i in range(f.offset, f.offset + f.width)) != list(range(r.record)):
        raise Corrupt("fields do not cover a record once")
    end = 0
    for f in r.fields:
        if f.payload_size:
            f.at = align(end, alignment(f.coding, f.payload_size))
            end = f.at + f.payload_size
    if end != payload_size:
        raise Corrupt("payloads of fields")
    return r


def decode(r, payload, decode_chunks):
    """decode_chunks: of an entry with size and chunk, and its payload"""
    out, end = bytearray(r.count * r.record), 0
    for f in r.fields:
        part = payload[f.at:f.at + f.payload_size]
        if f.payload_size:
            if any(payload[end:f.at]):
                raise Corrupt("bytes between fields")
            end = f.at + f.payload_size
        if f.coding == CONSTANT:
            array = f.element * (f.size // len(f.element))
        elif f.coding == CHUNKS:
            array = decode_chunks(f, part)
        else:
            array = tiles.decode(f.tiling, packed.unpack(f.tiling, part, f.unpacked) if f.coding == PACKED else part)
        for i in range(f.width):
            out[f.offset + i::r.record] = array[i::f.width]
    return bytes(out)


def join(record, fields):
    """Parameters and payload from fields (offset, width, coding, parameters, payload)."""
    parameters, payload = b"\1" + varint(record) + bytes([len(fields)]), b""
    for offset, width, coding, own, part in fields:
        parameters += varint(offset) + varint(width) + bytes([coding]) + varint(len(part)) + varint(len(own)) + own
        if part:
            payload += bytes(-len(payload) % alignment(coding, len(part))) + part
    return parameters, payload
