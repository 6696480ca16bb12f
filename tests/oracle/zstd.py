# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""One zstd frame, after RFC 8878: a decoder (no dictionaries; the optional content checksum is skipped, since every frame in a .wcodec file has a
check of its own), and a writer of raw and RLE blocks. Slow; for tests."""


class ZstdError(Exception):
    pass


class _Back:
    """The bits of a stream that is read from its end."""

    def __init__(self, data):
        if not data or data[-1] == 0:
            raise ZstdError("bit stream without an end mark")
        self.data = data
        self.left = 8 * len(data) - 9 + data[-1].bit_length()

    def peek(self, n):
        at = self.left - n
        if at >= 0:
            first = at >> 3
            return int.from_bytes(self.data[first:(self.left + 7 >> 3) + 1], "little") >> (at & 7) & (1 << n) - 1
        return int.from_bytes(self.data[:(max(self.left, 0) + 7 >> 3) + 1], "little") % (1 << max(self.left, 0)) << -at & (1 << n) - 1

    def take(self, n):
        if n == 0:
            return 0
        v = self.peek(n)
        self.left -= n
        return v


def _read_distribution(data, at, max_log, max_symbol):
    bits = int.from_bytes(data[at:at + 512], "little")
    used = 0

    def take(n):
        nonlocal used
        v = bits >> used & (1 << n) - 1
        used += n
        return v

    log = take(4) + 5
    if log > max_log:
        raise ZstdError("accuracy log too large")
    left, counts = (1 << log), []
    while left > 0:
        n = (left + 1).bit_length()
        low = (1 << n) - 1 - (left + 1)
        v = bits >> used & (1 << n - 1) - 1
        if v < low:
            used += n - 1
        else:
            v = take(n)
            if v >= 1 << n - 1:
                v -= low
        v -= 1
        left -= abs(v)
        counts.append(v)
        if v == 0:
            while True:
                r = take(2)
                counts += [0] * r
                if r != 3:
                    break
    if left != 0 or len(counts) > max_symbol + 1 or at + (used + 7 >> 3) > len(data):
        raise ZstdError("bad FSE distribution")
    return counts, log, at + (used + 7 >> 3)


def _build_fse(counts, log):
    size = 1 << log
    symbols, following, high = [0] * size, {}, size - 1
    for s, c in enumerate(counts):
        if c == -1:
            symbols[high] = s
            high -= 1
            following[s] = 1
        else:
            following[s] = c
    at = 0
    for s, c in enumerate(counts):
        for _ in range(max(c, 0)):
            symbols[at] = s
            at = (at + (size >> 1) + (size >> 3) + 3) % size
            while at > high:
                at = (at + (size >> 1) + (size >> 3) + 3) % size
    if at != 0:
        raise ZstdError("bad FSE distribution")
    table = []
    for s in symbols:
        n = following[s]
        following[s] += 1
        bits = log - n.bit_length() + 1
        table.append((s, bits, (n << bits) - size))
    return table, log


def _read_weights(data, at):
    head = data[at]
    at += 1
    if head >= 128:
        n = head - 127
        end = at + (n + 1 >> 1)
        return [data[at + (i >> 1)] >> (4 if i % 2 == 0 else 0) & 15 for i in range(n)], end
    end = at + head
    counts, log, start = _read_distribution(data[:end], at, 6, 255)
    table, log = _build_fse(counts, log)
    back = _Back(data[start:end])
    states = [back.take(log), back.take(log)]
    weights, i = [], 0
    while True:
        s, bits, base = table[states[i]]
        weights.append(s)
        if back.left < bits:
            weights.append(table[states[1 - i]][0])
            return weights, end
        states[i] = base + back.take(bits)
        i ^= 1


def _read_huffman(data, at):
    weights, at = _read_weights(data, at)
    total = sum(1 << w - 1 for w in weights if w)
    if total == 0:
        raise ZstdError("empty Huffman table")
    log = total.bit_length()
    rest = (1 << log) - total
    if rest & rest - 1 or log > 11:
        raise ZstdError("bad Huffman weights")
    weights.append(rest.bit_length())
    table = []
    for w in range(1, log + 1):
        for s, v in enumerate(weights):
            if v == w:
                table += [(s, log + 1 - w)] * (1 << w - 1)
    return (table, log), at


def _huffman_stream(data, huffman, size):
    table, log = huffman
    back = _Back(data)
    out = bytearray()
    for _ in range(size):
        s, bits = table[back.peek(log)]
        back.left -= bits
        out.append(s)
    if back.left != 0:
        raise ZstdError("Huffman stream of a wrong length")
    return out


_LENGTHS = [(i, 0) for i in range(16)]
for _bits in (1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16):
    _base, _width = _LENGTHS[-1]
    _LENGTHS.append((_base + (1 << _width), _bits))
_MATCHES = [(i + 3, 0) for i in range(32)]
for _bits in (1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16):
    _base, _width = _MATCHES[-1]
    _MATCHES.append((_base + (1 << _width), _bits))
_DEFAULTS = (
    ([4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4, 6),
    ([1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5, 5),
    ([1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7, 6))
_LIMITS = ((9, 35), (8, 31), (9, 52))


class _Frame:
    def __init__(self):
        self.out = bytearray()
        self.huffman = None
        self.tables = [None, None, None]
        self.repeats = [1, 4, 8]

    def literals(self, data):
        kind, form = data[0] & 3, data[0] >> 2 & 3
        if kind < 2:
            head = (1, 2, 1, 3)[form]
            size = int.from_bytes(data[:head], "little") >> (3 if head == 1 else 4)
            if kind == 1:
                return bytes([data[head]]) * size, head + 1
            return data[head:head + size], head + size
        head, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        v = int.from_bytes(data[:head], "little") >> 4
        size, coded = v & (1 << bits) - 1, v >> bits
        at, end = head, head + coded
        if end > len(data):
            raise ZstdError("literals beyond the block")
        if kind == 2:
            self.huffman, at = _read_huffman(data[:end], at)
        if self.huffman is None:
            raise ZstdError("no Huffman table to repeat")
        if form == 0:
            return _huffman_stream(data[at:end], self.huffman, size), end
        sizes = [int.from_bytes(data[at + 2 * i:at + 2 * i + 2], "little") for i in range(3)]
        at += 6
        part, out = size + 3 >> 2, bytearray()
        for i in range(4):
            stop = at + sizes[i] if i < 3 else end
            out += _huffman_stream(data[at:stop], self.huffman, part if i < 3 else size - 3 * part)
            at = stop
        return out, end

    def read_tables(self, data, at, modes):
        for i in range(3):
            mode = modes >> 6 - 2 * i & 3
            if mode == 0:
                self.tables[i] = _build_fse(*_DEFAULTS[i])
            elif mode == 1:
                self.tables[i] = [(data[at], 0, 0)], 0
                at += 1
            elif mode == 2:
                counts, log, at = _read_distribution(data, at, *_LIMITS[i])
                self.tables[i] = _build_fse(counts, log)
            elif self.tables[i] is None:
                raise ZstdError("no sequence table to repeat")
        return at

    def offset(self, value, length):
        r = self.repeats
        if value > 3:
            self.repeats = [value - 3, r[0], r[1]]
            return value - 3
        value += length == 0
        if value == 1:
            return r[0]
        v = r[0] - 1 if value == 4 else r[value - 1]
        if v < 1:
            raise ZstdError("offset 0")
        self.repeats = [v, r[0], r[2] if value == 2 else r[1]]
        return v

    def block(self, data):
        literals, at = self.literals(data)
        count = data[at]
        at += 1
        if count == 255:
            count = data[at] + (data[at + 1] << 8) + 0x7F00
            at += 2
        elif count >= 128:
            count = (count - 128 << 8) + data[at]
            at += 1
        used, out = 0, self.out
        if count:
            at = self.read_tables(data, at + 1, data[at])
            back = _Back(data[at:])
            states = [back.take(log) for _, log in self.tables]
            for n in range(count):
                codes = [self.tables[i][0][states[i]] for i in range(3)]
                value = (1 << codes[1][0]) + back.take(codes[1][0])
                match = _MATCHES[codes[2][0]][0] + back.take(_MATCHES[codes[2][0]][1])
                length = _LENGTHS[codes[0][0]][0] + back.take(_LENGTHS[codes[0][0]][1])
                if n + 1 < count:
                    for i in (0, 2, 1):
                        states[i] = codes[i][2] + back.take(codes[i][1])
                out += literals[used:used + length]
                used += length
                distance = self.offset(value, length)
                if distance > len(out) or back.left < 0:
                    raise ZstdError("bad sequence")
                for _ in range(match):
                    out.append(out[-distance])
            if back.left != 0:
                raise ZstdError("sequences of a wrong length")
        out += literals[used:]


def decode(data, size, most=None):
    """The content of the one frame that is all of `data`, which must declare `size` bytes (None: at most `most`) and hold that."""
    try:
        return _decode(bytes(data), size, most)
    except IndexError:
        raise ZstdError("truncated frame") from None


def _decode(data, size, most):
    if data[:4] != b"\x28\xb5\x2f\xfd":
        raise ZstdError("no zstd frame")
    flags = data[4]
    if flags & 8 or flags & 3:
        raise ZstdError("reserved bit or dictionary")
    single = flags >> 5 & 1
    at = 5 + (not single)
    width = (single, 2, 4, 8)[flags >> 6]
    if width == 0:
        raise ZstdError("no content size")
    declared = int.from_bytes(data[at:at + width], "little") + (256 if width == 2 else 0)
    if size is None and declared <= most:
        size = declared
    if declared != size:
        raise ZstdError("wrong content size")
    at += width
    frame, last = _Frame(), 0
    while not last:
        head = int.from_bytes(data[at:at + 3], "little")
        at += 3
        last, kind, length = head & 1, head >> 1 & 3, head >> 3
        if at + (1 if kind == 1 else length) > len(data) or kind == 3 or length > 1 << 17:
            raise ZstdError("bad block")
        if kind == 0:
            frame.out += data[at:at + length]
        elif kind == 1:
            frame.out += data[at:at + 1] * length
            length = 1
        else:
            frame.block(data[at:at + length])
        at += length
        if len(frame.out) > size:
            raise ZstdError("more content than declared")
    if flags & 4:
        at += 4
    if at != len(data) or len(frame.out) != size:
        raise ZstdError("frame of a wrong length")
    return bytes(frame.out)


def encode(data):
    """A frame of raw blocks, and RLE blocks where a block repeats one byte."""
    out = bytearray(b"\x28\xb5\x2f\xfd\xe0") + len(data).to_bytes(8, "little")
    for at in range(0, max(len(data), 1), 1 << 17):
        part = data[at:at + (1 << 17)]
        last = at + len(part) == len(data)
        rle = len(part) > 1 and part.count(part[0]) == len(part)
        out += (len(part) << 3 | (2 if rle else 0) | last).to_bytes(3, "little")
        out += part[:1] if rle else part
    return bytes(out)
