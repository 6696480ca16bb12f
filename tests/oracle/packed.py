# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Coding 8, packed, after doc/format.md section 2.7: unpacking, and packing for tests."""
import tiles
from common import P8, Corrupt, align, load, mask

MOST = 65536


class Reader:
    def __init__(self, data):
        self.value, self.left, self.size = int.from_bytes(data, "little"), 8 * len(data), len(data)

    def bits(self, n):
        if n > self.left:
            raise Corrupt("packed payload is cut off")
        v = self.value & mask(n)
        self.value >>= n
        self.left -= n
        return v

    def bytes(self, n):
        return self.bits(8 * n).to_bytes(n, "little")

    def align(self):
        if self.bits(self.left % 8):
            raise Corrupt("bits before a whole byte")


class Writer:
    def __init__(self):
        self.value = self.size = 0

    def bits(self, n, v):
        self.value |= v << self.size
        self.size += n

    def bytes(self, data):
        self.bits(8 * len(data), load(data, 0, len(data)))

    def align(self):
        self.size = align(self.size, 8)

    def end(self):
        return self.value.to_bytes(self.size >> 3, "little")


def check_parameters(tiling, size, unpacked, payload_size):
    if size > MOST or unpacked > MOST or not 1 <= payload_size <= MOST or tiling.prefix > unpacked or any(f.run for f in tiling.coded):
        raise Corrupt("what cannot be packed")


def _planes(tiling, n, payload):
    """For each plane: the bytes of its whole rows, and of a last row that is not full the bits of a word that it uses."""
    groups, slot = n + 127 >> 7, min(tiling.bits, 32)
    for number, (first, positions) in enumerate(tiling.planes):
        size = len(positions)
        whole = 128 * -(-groups * size // 8)
        if number == 0 and payload:
            yield whole - (128 if size == 4 and groups & 1 else 64), []
            continue
        held = groups * slot // 8 % (slot // size)
        if held == 0:
            yield whole, []
            continue
        used = set()
        for j in range(held):
            for at in range(0, 32, slot):
                used |= {(at + (first + i) % slot + j * size) % 32 for i in range(size)}
        yield whole - 128, sorted(used)


def unpack(tiling, data, size):
    r = Reader(data)
    prefix = bytearray()
    for f in tiling.coded:
        for _ in range(f.tables):
            if f.profile == P8:
                m, least, b = r.bits(8), r.bits(8), r.bits(4)
                if b > 8:
                    raise Corrupt("packed table")
                prefix.append(m)
                for _ in range(m + 1):
                    s, k = least + r.bits(b), r.bits(3)
                    if s > 255:
                        raise Corrupt("packed symbol")
                    prefix += bytes([s, (1 << k) + r.bits(k)])
            else:
                prefix += r.bytes(r.bits(10))
    prefix += bytes(-len(prefix) % 16)
    checks, streams = b"", []
    for _ in range(tiling.tiles):
        checks += r.bits(32).to_bytes(4, "little")
        for f in tiling.coded:
            mode = r.bits(1)
            words = table = symbol = 0
            if mode:
                symbol = r.bits(8)
            else:
                words = r.bits(17)
                table = r.bits(4) if f.tables > 1 else 0
            streams.append((mode, words, table, symbol, r.bits(17) if r.bits(1) else 0))
    prefix += checks
    for mode, words, table, symbol, outliers in streams:
        prefix += (words | table << 20 | mode << 24).to_bytes(4, "little") + (outliers | symbol << 24).to_bytes(4, "little")
    prefix += bytes(-len(prefix) % 16)
    fields = len(tiling.coded)
    modes = [[s[0] for s in streams[i * fields:i * fields + fields]] for i in range(tiling.tiles)]
    raw_sizes = [tiles.raw_size(tiling, i, modes[i]) for i in range(tiling.tiles)]
    outliers = sum(s[4] for s in streams)
    words = 2 * sum(s[1] for s in streams)
    total = align(align(align(len(prefix) + 128 * sum(s[0] == 0 for s in streams), 16) + words, 16) + sum(raw_sizes), 16) + 3 * outliers
    if len(prefix) != tiling.prefix or total != size:
        raise Corrupt("size of a packed payload")
    states = b""
    for s in streams:
        for _ in range(0 if s[0] else 32):
            k = 16 + r.bits(4)
            states += ((1 << k) + r.bits(k)).to_bytes(4, "little")
    rows = []
    for i in range(tiling.tiles):
        for whole, used in _planes(tiling, tiling.tile_elements(i), modes[i][0] == 0 and tiling.has_payload()):
            rows.append((whole, b"".join(sum(r.bits(1) << b for b in used).to_bytes(4, "little") for _ in range(32)) if used else b""))
    r.align()
    raw = b"".join(r.bytes(whole) + last for whole, last in rows)
    out = bytes(prefix) + states
    out += bytes(-len(out) % 16) + r.bytes(words)
    out += bytes(-len(out) % 16) + raw
    out += bytes(-len(out) % 16) + r.bytes(3 * outliers)
    if r.left:
        raise Corrupt("bytes after a packed payload")
    return out


def pack(tiling, payload):
    """The packed form of a payload without runs and stored tiles."""
    w, p = Writer(), tiles.Payload(tiling, payload)
    at = 0
    for f in tiling.coded:
        for _ in range(f.tables):
            _, end = tiles.read_table(f, payload, at)
            if f.profile == P8:
                symbols, frequencies = payload[at + 1:end:2], payload[at + 2:end:2]
                b = (max(symbols) - min(symbols)).bit_length()
                w.bits(8, payload[at])
                w.bits(8, min(symbols))
                w.bits(4, b)
                for s, n in zip(symbols, frequencies):
                    k = n.bit_length() - 1
                    w.bits(b, s - min(symbols))
                    w.bits(3, k)
                    w.bits(k, n - (1 << k))
            else:
                w.bits(10, end - at)
                w.bytes(payload[at:end])
            at = end
    for check, row in zip(p.checks, p.streams):
        w.bits(32, check)
        for f, s in zip(tiling.coded, row):
            w.bits(1, s["mode"])
            if s["mode"]:
                w.bits(8, s["symbol"])
            else:
                w.bits(17, s["words"])
                w.bits(4 if f.tables > 1 else 0, s["table"])
            w.bits(1, s["outliers"] > 0)
            w.bits(17 if s["outliers"] else 0, s["outliers"])
    for row in p.streams:
        for s in row:
            for x in s["states"] if s["mode"] == 0 else []:
                k = x.bit_length() - 1
                w.bits(4, k - 16)
                w.bits(k, x - (1 << k))
    raw = b""
    for i, row in enumerate(p.streams):
        at = 0
        for whole, used in _planes(tiling, tiling.tile_elements(i), row[0]["mode"] == 0 and tiling.has_payload()):
            raw += p.raw[i][at:at + whole]
            at += whole
            for lane in range(32 if used else 0):
                word = load(p.raw[i], at + 4 * lane, 4)
                for b in used:
                    w.bits(1, word >> b & 1)
            at += 128 if used else 0
    w.align()
    w.bytes(raw)
    for row in p.streams:
        for s in row:
            for v in s["stream"] if s["mode"] == 0 else []:
                w.bits(16, v)
    outliers = [s for row in p.streams for s in row]
    for s in outliers:
        for v in s["positions"]:
            w.bits(16, v)
    for s in outliers:
        w.bytes(bytes(s["values"]))
    return w.end()
