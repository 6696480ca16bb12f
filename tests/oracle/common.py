# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""What the oracle's files share: names of doc/format.md, errors, and a bounded reader of bytes."""
import os

CONSTANT, RAW, CODED = 0, 1, 2
PAIRS, P12, P8 = 1, 2, 3
M32 = (1 << 32) - 1
M64 = (1 << 64) - 1


def is_quick():
    """Whether to leave out what takes long: scripts/check --ci and --full set WCODEC_TEST_LEVEL."""
    return os.environ.get("WCODEC_TEST_LEVEL", "quick") == "quick"


class WcodecError(Exception):
    kind = "error"


class Corrupt(WcodecError):
    kind = "corrupt"


class Newer(WcodecError):
    kind = "newer"


def load(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


def align(a, n):
    return -(-a // n) * n


def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def mask(bits):
    return (1 << bits) - 1


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def bytes(self, n):
        if n > self.left():
            raise Corrupt("truncated record")
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        return self.bytes(1)[0]

    def u64(self):
        return load(self.bytes(8), 0, 8)

    def varint(self):
        v = 0
        for i in range(10):
            b = self.u8()
            v |= (b & 127) << 7 * i
            if b < 128:
                if i and b == 0 or v >> 64:
                    raise Corrupt("varint")
                return v
        raise Corrupt("varint")

    def string(self):
        try:
            text = self.bytes(self.varint()).decode("utf-8")
        except UnicodeDecodeError:
            raise Corrupt("string is not UTF-8") from None
        if "\0" in text:
            raise Corrupt("U+0000 in a string")
        return text
