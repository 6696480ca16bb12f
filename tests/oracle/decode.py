#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""An independent decoder of .wcodec files, written from doc/format.md alone. Slow and short; it needs nothing but Python 3.

usage: decode.py [--list] [--base=FILE.wcodec]... FILE.wcodec [OUTPUT]     exit status: 0 right, 3 corrupt or made by a newer version"""
import sys

import anchored
import blocks
import delta
import fixed
import fragments
import lossy
import masked
import packed
import records
import tiles
import zstd
from common import Corrupt, Cursor, Newer, WcodecError, align, load, varint
from xxh3 import tree_hash, xxh3_64

HEAD_MAGIC = bytes.fromhex("895743440D0A1A0A")
DTYPES = [("", 0), ("BOOL", 8), ("U8", 8), ("I8", 8), ("F8_E5M2", 8), ("F8_E4M3", 8), ("F8_E8M0", 8), ("F8_E4M3FNUZ", 8), ("F8_E5M2FNUZ", 8),
          ("U16", 16), ("I16", 16), ("F16", 16), ("BF16", 16), ("U32", 32), ("I32", 32), ("F32", 32), ("U64", 64), ("I64", 64), ("F64", 64),
          ("C64", 64), ("F4", 4), ("F6_E2M3", 6), ("F6_E3M2", 6)]
CODINGS = ["constant", "tiles", "chunks", "alias", "blocks", "lossy", "fixed", "fragments", "packed", "records", "delta", "masked", "inline", "anchored"]


class Entry:
    name = None
    dtype = ""
    shape = ()
    element = tiling = blocks = lossy = fixed = fragments = records = delta = masked = anchored = chunk = alias = newer = None
    offset = unpacked = 0
    whole = True


def _alignment(e):
    return 1 if e.coding == 8 else 256 if e.payload_size >= 65536 else 16


def _read_plain(c, e):
    """Parameters of codings 0, 1, 2 and 8."""
    if e.coding == 0:
        w = c.u8()
        if w > 3 or e.size % (1 << w):
            raise Corrupt("constant")
        e.element = c.bytes(1 << w)
    elif e.coding == 2:
        e.chunk = c.varint()
        if not 1 <= e.chunk <= 1 << 24:
            raise Corrupt("chunk size")
    else:
        if e.coding == 8:
            e.unpacked = c.varint()
        e.tiling = tiles.read_parameters(c, e.size)
        if e.coding == 8:
            packed.check_parameters(e.tiling, e.size, e.unpacked, e.payload_size)


def _read_part(c, coding, size, payload_size):
    """An entry without a label, as parts of deltas, of masked tensors and of those by anchors are."""
    e = Entry()
    e.size, e.coding, e.payload_size = size, coding, payload_size
    _read_plain(c, e)
    return e


def _decode_plain(e, p):
    if e.coding == 0:
        return e.element * (e.size // len(e.element))
    if e.coding == 1:
        return tiles.decode(e.tiling, p)
    if e.coding == 8:
        return tiles.decode(e.tiling, packed.unpack(e.tiling, p, e.unpacked))
    return _decode_chunks(e, p)


def _read_record(data, entries, described=False):
    """described: by the header of a group, which has no bytes of what is inline."""
    c = Cursor(data)
    e = Entry()
    e.record = data
    kind = c.u8()
    if kind > 1:
        raise Newer("type of record")
    bits = 0
    if kind == 1:
        e.name = c.string()
        code = c.u8()
        if code >= len(DTYPES):
            e.newer = "dtype"
        elif code == 0:
            e.dtype = c.string()
        else:
            e.dtype, bits = DTYPES[code]
        rank = c.varint()
        if rank > 255:
            raise Corrupt("rank")
        e.shape = tuple(c.varint() for _ in range(rank))
        if any(d >> 48 for d in e.shape):
            raise Corrupt("dimension")
    if bits:
        for d in e.shape:
            bits *= d
        if bits % 8:
            raise Corrupt("half a byte")
        e.size = bits // 8
    else:
        e.size = c.varint()
    if e.size > 1 << 48:
        raise Corrupt("size of an entry")
    e.order0, e.coding, e.payload_size, e.payload_hash = c.varint(), c.u8(), c.varint(), c.u64()
    if e.payload_size == 0 and e.payload_hash != 0:
        raise Corrupt("hash of no payload")
    if e.coding > 13:
        e.newer = "coding"
    if e.newer:
        return e
    if e.coding in (0, 3, 12) and e.payload_size:
        raise Corrupt("payload of a coding that has none")
    if e.coding in (0, 1, 2) or e.coding == 8 and e.size:
        _read_plain(c, e)
    elif e.coding == 4 and e.size:
        try:
            e.blocks = blocks.read_parameters(c, e.size)
        except Newer as newer:
            e.newer = str(newer)
            return e
    elif e.coding == 5 and e.size:
        try:
            e.lossy = lossy.read_parameters(c, e.size, e.dtype)
        except Newer as newer:
            e.newer = str(newer)
            return e
    elif e.coding == 6 and e.size:
        try:
            e.fixed = fixed.read_parameters(c, e.size, e.dtype, e.payload_size)
        except Newer as newer:
            e.newer = str(newer)
            return e
    elif e.coding == 7 and e.size:
        try:
            e.fragments = fragments.read_parameters(c, e.size)
        except Newer as newer:
            e.newer = str(newer)
            return e
    elif e.coding == 9 and e.size:
        try:
            e.records = records.read_parameters(c, e.size, e.payload_size)
        except Newer as newer:
            e.newer = str(newer)
            return e
    elif e.coding == 10 and e.size:
        if kind != 1:
            raise Corrupt("a delta that is no tensor")
        try:
            e.delta = delta.read_parameters(c, e.size, _read_part)
        except Newer as newer:
            e.newer = str(newer)
            return e
        if e.delta.end != e.payload_size:
            raise Corrupt("payload of a delta")
    elif e.coding == 11 and e.size:
        try:
            e.masked = masked.read_parameters(c, e.size, _read_part)
        except Newer as newer:
            e.newer = str(newer)
            return e
        if e.masked.end != e.payload_size:
            raise Corrupt("payload of a masked tensor")
    elif e.coding == 13 and e.size:
        if kind != 1:
            raise Corrupt("anchors of what is no tensor")
        try:
            e.anchored = anchored.read_parameters(c, e.size, e.dtype, _read_part)
        except Newer as newer:
            e.newer = str(newer)
            return e
        if e.anchored.end != e.payload_size:
            raise Corrupt("payload of a tensor by anchors")
    elif e.coding == 3:
        e.alias = c.varint()
        if e.alias >= len(entries) or entries[e.alias].coding in (3, 12) or entries[e.alias].size != e.size:
            raise Corrupt("alias")
    elif e.coding == 12:
        if kind != 0 or e.size > 4096:
            raise Corrupt("inline")
        e.element, e.whole = b"" if described else c.bytes(e.size), not described
    if e.size == 0 and (e.coding != 0 or e.element != b"\0"):
        raise Corrupt("coding of an empty entry")
    if c.left():
        raise Corrupt("bytes after a record")
    return e


def _skip_label(c):
    """What an entry is called and what it holds."""
    if c.u8() == 1:
        c.string()
        code = c.u8()
        if code == 0:
            c.string()
        for _ in range(c.varint()):
            c.varint()
        known = 0 < code < len(DTYPES)
    else:
        known = False
    if not known:
        c.varint()


def _read_description(data, entries):
    """An entry as the header of a group has it: made a record, of which only the hash is not known."""
    c = Cursor(data)
    size = c.varint()
    start = c.at
    _skip_label(c)
    end = c.at
    coding = c.u8()
    record = data[start:end] + b"\0" + bytes([coding]) + varint(size) + bytes(8) + data[c.at:]
    e = _read_record(record, entries, True)
    e.payload_hash = None
    return e


def _header(data, at, stop):
    """The body of the header at that place, and where it ends."""
    if at + 12 > stop:
        raise Corrupt("no header")
    size = load(data, at + 8, 4) & 0x7FFFFFFF
    if not 12 < size <= min(1 << 30, stop - at) or load(data, at, 8) != xxh3_64(data[at + 8:at + size]):
        raise Corrupt("header of a group")
    body = data[at + 12:at + size]
    if data[at + 11] & 128:
        try:
            body = zstd.decode(body, None, 256 * len(body))
        except zstd.ZstdError as error:
            raise Corrupt("header: %s" % error) from None
    return body, at + size


def _describe(e):
    """The same bytes from a record."""
    c = Cursor(e.record)
    _skip_label(c)
    end = c.at
    c.varint()
    coding = c.u8()
    c.varint()
    c.bytes(8)
    return varint(e.payload_size) + e.record[:end] + bytes([coding]) + (b"" if coding == 12 else e.record[c.at:])


class Container:
    def __init__(self, data, bases=()):
        self.data, self.bases = data, {b.hash: b for b in bases}
        index = self._frame()
        c = Cursor(index)
        self.kind = c.u8()
        if self.kind > 1:
            raise Newer("kind of original")
        self.name, self.size, self.hash = c.string(), c.varint(), load(c.bytes(16), 0, 16)
        self.mode, self.mtime = c.varint(), c.varint()
        if self.mode > 0o7777 or self.mtime > 1 << 63:
            raise Corrupt("mode or time")
        pairs = [(c.string(), c.string()) for _ in range(c.varint())]
        self.metadata = dict(pairs)
        if len(self.metadata) != len(pairs):
            raise Corrupt("metadata key twice")
        groups = [(c.varint(), c.varint()) for _ in range(c.varint())]
        self.entries = []
        count = c.varint()
        if count > self.coded + (1 << 18):
            raise Corrupt("entries")
        for _ in range(count):
            self.entries.append(_read_record(c.bytes(c.varint()), self.entries))
        if any(n == 0 or not 12 < size <= 1 << 30 for n, size in groups) or groups and sum(n for n, _ in groups) != len(self.entries):
            raise Corrupt("groups")
        if c.left():
            raise Corrupt("bytes after the index")
        names = [e.name for e in self.entries if e.name is not None]
        if len(set(names)) != len(names):
            raise Corrupt("tensor name twice")
        if sum(e.size for e in self.entries) != self.size:
            raise Corrupt("sizes do not add up")
        if self.noted not in (0, self.size + 1):
            raise Corrupt("size in the head")
        self._places(groups)

    def _frame(self):
        d = self.data
        if len(d) < 128 or d[:8] != HEAD_MAGIC:
            raise Corrupt("no .wcodec file")
        if load(d, 56, 8) != xxh3_64(d[:56]):
            raise Corrupt("head")
        if load(d, 8, 2) > 1 or load(d, 12, 4):
            raise Newer("format version or critical flag")
        if load(d, 8, 2) != 1 or any(d[35:56]):
            raise Corrupt("head")
        if d[28] > 1:
            raise Newer("place of the index")
        self.noted = load(d, 20, 8)
        t = d[-64:]
        if t[56:] != HEAD_MAGIC[::-1] or load(t, 48, 8) != xxh3_64(t[:48]):
            raise Corrupt("tail")
        self.index_at, coded, decoded = load(t, 0, 8), load(t, 8, 8), load(t, 16, 8)
        if load(t, 32, 8) != len(d) or t[40:48] != d[56:64] or decoded > 256 * coded + (1 << 20):
            raise Corrupt("tail")
        if d[28]:
            self.begin, self.stop = 64 + align(64 + coded, 256), len(d) - 64
            if self.index_at != 128 or self.begin > self.stop or d[64:128] != t or any(d[128 + coded:self.begin]):
                raise Corrupt("index in front")
        else:
            self.begin, self.stop = 64, self.index_at
            if self.index_at < 64 or self.index_at + coded + 64 != len(d):
                raise Corrupt("tail")
        self.coded = coded
        frame = d[self.index_at:self.index_at + coded]
        if load(t, 24, 8) != xxh3_64(frame):
            raise Corrupt("index hash")
        try:
            return zstd.decode(frame, decoded)
        except zstd.ZstdError as error:
            raise Corrupt("index: %s" % error) from None

    def _group(self, at, first, count, size):
        """Compare a header with the records; where it ends."""
        body, end = _header(self.data, at, self.stop)
        want = varint(first) + varint(count)
        for e in self.entries[first:first + count]:
            text = _describe(e)
            want += varint(len(text)) + text
        if body != want or end != at + size:
            raise Corrupt("header of a group is not what the index says")
        return end

    def _places(self, groups):
        at, starts = self.begin, {}
        for n, size in groups:
            starts[sum(m for m, _ in starts.values())] = (n, size)
        for i, e in enumerate(self.entries):
            if i in starts:
                start = align(at, 16)
                self._zero(at, start)
                at = self._group(start, i, *starts[i])
            if e.payload_size:
                start = align(at, _alignment(e))
                self._zero(at, start)
                e.offset, at = start, start + e.payload_size
        end = align(at, 16)
        self._zero(at, end)
        if end != self.stop:
            raise Corrupt("payloads do not end where the index starts")

    def _zero(self, start, end):
        if end > self.stop or any(self.data[start:end]):
            raise Corrupt("padding")

    def payload(self, e):
        p = self.data[e.offset:e.offset + e.payload_size]
        if e.payload_hash is not None and e.payload_size and tree_hash(p) & 0xFFFFFFFFFFFFFFFF != e.payload_hash:
            raise Corrupt("payload hash")
        return p

    def decode(self, i):
        e = self.entries[i]
        if e.newer:
            raise Newer(e.newer)
        if e.coding == 3:
            return self.decode(e.alias)
        if e.coding == 12:
            return e.element
        if e.coding == 10:
            return delta.decode(e.delta, self.payload(e), self._base(e), _decode_plain)
        if e.coding == 4:
            return blocks.decode(e.blocks, self.payload(e))
        if e.coding == 5:
            return lossy.decode(e.lossy, self.payload(e))
        if e.coding == 6:
            return fixed.decode(e.fixed, self.payload(e))
        if e.coding == 7:
            return fragments.decode(e.fragments, self.payload(e))
        if e.coding == 9:
            return records.decode(e.records, self.payload(e), _decode_chunks)
        if e.coding == 11:
            return masked.decode(e.masked, self.payload(e), _decode_plain)
        if e.coding == 13:
            return anchored.decode(e.anchored, self.payload(e), _decode_plain)
        return _decode_plain(e, self.payload(e))

    def _base(self, e):
        base = self.bases.get(e.delta.base)
        number = base and next((i for i, b in enumerate(base.entries) if b.name == e.name), None)
        if number is None:
            raise Corrupt("base of a delta")
        if base.size != e.delta.base_size or (base.entries[number].size, base.entries[number].dtype) != (e.size, e.dtype):
            raise Corrupt("base is another tensor")
        return base.decode(number)

    @classmethod
    def rebuilt(cls, data):
        """What can be had without the index: entries whose payloads are there as a whole."""
        c = cls.__new__(cls)
        if len(data) < 64 or data[:8] != HEAD_MAGIC or load(data, 56, 8) != xxh3_64(data[:56]) or load(data, 8, 2) != 1 or load(data, 12, 4) or data[28] > 1:
            raise Corrupt("head")
        at = 64
        if data[28]:
            if len(data) < 128 or load(data, 112, 8) != xxh3_64(data[64:112]):
                raise Corrupt("index in front")
            at += align(64 + load(data, 72, 8), 256)
        c.data, c.entries, c.whole, c.size = data, [], [], load(data, 20, 8) - 1
        while True:
            try:
                body, at = _header(data, align(at, 16), len(data))
                b = Cursor(body)
                if b.varint() != len(c.entries):
                    break
                for _ in range(b.varint()):
                    e = _read_description(b.bytes(b.varint()), c.entries)
                    if e.payload_size:
                        e.offset = align(at, _alignment(e))
                        at = e.offset + e.payload_size
                    c.entries.append(e)
                    if (e.payload_size == 0 or at <= len(data)) and (e.coding != 3 or e.alias in c.whole) and e.whole:
                        c.whole.append(len(c.entries) - 1)
            except Corrupt:
                break
        return c

    def decode_all(self):
        out = b"".join(self.decode(i) for i in range(len(self.entries)))
        if tree_hash(out) != self.hash:
            raise Corrupt("hash of the original")
        return out


def _decode_chunks(e, p):
    count = -(-e.size // e.chunk)
    at = align(8 * count, 16)
    if at > len(p) or any(p[8 * count:at]):
        raise Corrupt("chunk directory")
    out = []
    for i in range(count):
        coded, check = load(p, 8 * i, 4), load(p, 8 * i + 4, 4)
        size = min(e.chunk, e.size - i * e.chunk)
        if coded > size or coded > len(p) - at:
            raise Corrupt("chunk size")
        part = p[at:at + coded]
        at += coded
        if coded < size:
            try:
                part = zstd.decode(part, size)
            except zstd.ZstdError as error:
                raise Corrupt("chunk: %s" % error) from None
        if xxh3_64(part) & 0xFFFFFFFF != check:
            raise Corrupt("chunk check")
        out.append(part)
    if at != len(p):
        raise Corrupt("bytes after the chunks")
    return b"".join(out)


def _chain(paths):
    """Containers, of which each may be a delta of those before."""
    made = []
    for path in paths:
        with open(path, "rb") as f:
            made.append(Container(f.read(), made))
    return made


def main(arguments):
    listing = arguments[:1] == ["--list"]
    bases = [a[7:] for a in arguments if a.startswith("--base=")]
    arguments = [a for a in arguments[listing:] if not a.startswith("--base=")]
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    with open(arguments[0], "rb") as f:
        data = f.read()
    try:
        container = Container(data, _chain(bases))
        if listing:
            for e in container.entries:
                print("%-12s %-10s %-20s %d -> %d %s" % (e.dtype or "-", CODINGS[e.coding] if e.coding < len(CODINGS) else "?", list(e.shape), e.size, e.payload_size, ascii(e.name)))
            return 0
        out = container.decode_all()
    except WcodecError as error:
        print("%s: %s: %s" % (arguments[0], error.kind, error), file=sys.stderr)
        return 3
    if len(arguments) == 2:
        with open(arguments[1], "wb") as f:
            f.write(out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
