# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Deltas that are valid but odd, after section 10 of doc/format.md: every mode in any order, codes of any lengths. A DeltaPayload is kept in pieces, so
that a test can spoil one of them and leave all else as it should be."""
import struct

import encode
from common import align, load, varint
from delta import ALONE, DIFFERENCE, EQUAL, GAPS, SPARSE, VALUES, XOR
from linear import linear_hash
from xxh3 import xxh3_64

WIDTH = {"U8": 0, "I8": 0, "BF16": 1, "F16": 1, "F32": 2, "I32": 2, "F64": 3, "U64": 3}


class Bits:
    def __init__(self):
        self.value = self.size = 0

    def put(self, v, n):
        self.value |= v << self.size
        self.size += n

    def bytes(self):
        return self.value.to_bytes(self.size + 7 >> 3, "little")


def class_of(number, kind):
    """Class, and how many lowest bits follow."""
    direct = kind[0]
    if number <= direct:
        return number - 1, 0
    length = number.bit_length()
    return direct + 2 * (length - (direct + 1).bit_length()) + (number >> length - 2 & 1), length - 2


def random_lengths(rng, used):
    """Lengths of a complete code that holds at least these classes, by cutting words in two."""
    if len(used) == 1:
        return {used[0]: 1}
    leaves = [1, 1]
    while len(leaves) < len(used):
        i = rng.choice([k for k, n in enumerate(leaves) if n < 12])
        leaves[i] += 1
        leaves.append(leaves[i])
    rng.shuffle(leaves)
    return dict(zip(used, leaves))


def words_of(lengths):
    if len(lengths) == 1:
        return {k: (0, 0) for k in lengths}
    words, word, last = {}, 0, 0
    for k in sorted(lengths, key=lambda k: (lengths[k], k)):
        word <<= lengths[k] - last
        last = lengths[k]
        words[k] = int("".join(reversed("{:0{}b}".format(word, last))), 2), last
        word += 1
    return words


def code_bytes(lengths, count=None):
    count = max(lengths) + 1 if count is None else count
    out = bytearray(-(-count // 2))
    for k, n in lengths.items():
        if k < count:
            out[k // 2] |= n << 4 * (k % 2)
    return bytes([count]) + bytes(out)


class DeltaPayload:
    def __init__(self, rng, dtype, n, modes, t=12, density=0.01, values=0, largest=6):
        self.w, self.t, self.n, self.values, self.dtype = WIDTH[dtype], t, n, values, dtype
        width, top = 8 << self.w, 1 << (8 << self.w)
        self.base = [rng.getrandbits(width) for _ in range(n)]
        self.modes = [rng.choice(modes) for _ in range(-(-n >> t))]
        self.elements, coded, symbols = [], {m: [] for m in (ALONE, DIFFERENCE, XOR)}, []
        for tile, mode in enumerate(self.modes):
            b = self.base[tile << t:tile + 1 << t]
            if mode == SPARSE:
                e = self._sparse(rng, b, density, min(largest, top - 1), symbols)
            elif mode == EQUAL:
                e = b
            else:
                v = [rng.randrange(min(largest, top)) for _ in b]
                coded[mode] += v
                e = v if mode == ALONE else [x ^ y for x, y in zip(b, v)] if mode == XOR else [(x + (-(z + 1) // 2 if z & 1 else z // 2)) % top for x, z in zip(b, v)]
            self.elements += e
        self.streams = self._streams(rng, symbols)
        self.parts = {m: self._part(rng, v) for m, v in coded.items() if v}
        self.origin = b"\0" * 16, 0

    def _sparse(self, rng, b, density, largest, symbols):
        out, gap, mine = list(b), 0, []
        for i in range(len(b)):
            if rng.random() >= density:
                gap += 1
                continue
            v = rng.randint(1, largest)
            out[i] = (b[i] ^ v if self.values else b[i] + (-(v + 1) // 2 if v & 1 else v // 2)) % (1 << (8 << self.w))
            mine.append((gap + 1, v))
            gap = 0
        symbols.append((mine, gap))
        return out

    def _streams(self, rng, symbols):
        gaps = sorted({class_of(g, GAPS)[0] for mine, _ in symbols for g, _ in mine} | {class_of(end + 1, GAPS)[0] for _, end in symbols if end} or {0})
        values = sorted({class_of(v, VALUES)[0] for mine, _ in symbols for _, v in mine} or {0})
        self.gap_lengths, self.value_lengths = random_lengths(rng, gaps), random_lengths(rng, values)
        words = words_of(self.gap_lengths), words_of(self.value_lengths)
        out = []
        for mine, end in symbols:
            bits = Bits()

            def put(number, kind, code, bits=bits):
                k, below = class_of(number, kind)
                bits.put(*code[k])
                bits.put(number & (1 << below) - 1, below)
            for g, v in mine:
                put(g, GAPS, words[0])
                put(v, VALUES, words[1])
            if end:
                put(end + 1, GAPS, words[0])
            out.append(bits.bytes())
        return out

    def _part(self, rng, values):
        width = 1 << self.w
        data = b"".join(v.to_bytes(width, "little") for v in values)
        if len(set(values)) == 1:
            return 0, b"", bytes([self.w]) + data[:width]
        e = encode.chunk_entry(data, rng.choice([1000, 4096, len(data)]), frames=rng.random() < 0.7)
        return 2, e.payload, e.parameters

    def counts(self):
        return [sum(min(1 << self.t, self.n - (i << self.t)) for i, m in enumerate(self.modes) if m == mode) for mode in range(5)]

    def side(self):
        bits = Bits()
        if len(set(self.modes)) > 1:
            for m in self.modes:
                bits.put(1 | m - 1 << 1 if m else 0, 3 if m else 1)
        out = bits.bytes()
        if SPARSE in self.modes:
            out += code_bytes(self.gap_lengths) + code_bytes(self.value_lengths)
        for s in self.streams:
            out += varint(len(s)) + struct.pack("<I", xxh3_64(s) & 0xFFFFFFFF)
        return out + b"".join(self.results())

    def results(self):
        """Checks of tiles' elements."""
        data, step = self.bytes_of(self.elements), 1 << self.t + self.w
        return [struct.pack("<I", linear_hash(data[i:i + step], i) & 0xFFFFFFFF) for i in range(0, len(data), step)]

    def bytes_of(self, elements):
        return b"".join(e.to_bytes(1 << self.w, "little") for e in elements)

    def entry(self, name="t", side=None, check=None, counts=None, form=1, t=None, w=None, values=None, streams=None, parts=None, payload=None, base=None, base_size=None):
        side = self.side() if side is None else side
        stream = b"".join(self.streams)
        payload_made = side
        if stream:
            payload_made += bytes(-len(side) % 16) + stream
        tail = b""
        for mode in (ALONE, DIFFERENCE, XOR):
            if mode not in self.parts:
                continue
            coding, data, parameters = self.parts[mode]
            if data:
                payload_made += bytes(-len(payload_made) % 16) + data
            tail += bytes([coding]) + varint(len(data)) + varint(len(parameters)) + parameters
        check = xxh3_64(side) & 0xFFFFFFFF if check is None else check
        record = bytes([form]) + (self.origin[0] if base is None else base) + varint(self.origin[1] if base_size is None else base_size)
        record += bytes([self.w if w is None else w, self.t if t is None else t, (self.values if SPARSE in self.modes else 0) if values is None else values])
        record += b"".join(varint(c) for c in (self.counts() if counts is None else counts)) + varint(len(side)) + struct.pack("<I", check)
        record += varint(len(stream) if streams is None else streams) + (tail if parts is None else parts)
        e = encode.Entry(self.bytes_of(self.elements), 10, record, payload_made if payload is None else payload, name=name, dtype=self.dtype, shape=(self.n,))
        return e

    def base_entry(self, name="t"):
        return encode.chunk_entry(self.bytes_of(self.base), 1 << 20, name=name, dtype=self.dtype, shape=(self.n,))
