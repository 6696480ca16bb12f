# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Linear hashes (doc/format.md 10)."""
import sys

_MASK = (1 << 64) - 1
_LITTLE = sys.byteorder == "little"


def _mix(v):
    v = (v ^ v >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    v = (v ^ v >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return v ^ v >> 16


_KEYS = [_mix(q + 1) for q in range(512)]


def _factor(section):
    u = section & 0xFFFFFFFF ^ _mix(section >> 32)
    return _mix(u ^ 0x9E3779B9) << 32 | _mix(u ^ 0x7F4A7C15) | 1


def linear_hash(data, at=0):
    """Of bytes that are after `at` others of a tensor, a multiple of 2048."""
    padded = data + bytes(-len(data) % 4)
    total = 0
    for begin in range(0, len(padded), 2048):
        section = padded[begin:begin + 2048]
        words = memoryview(section).cast("I") if _LITTLE else [int.from_bytes(section[i:i + 4], "little") for i in range(0, len(section), 4)]
        total += sum(w * k for w, k in zip(words, _KEYS)) * _factor((at + begin) // 2048)
    h = total + len(data) * 0x9E3779B185EBCA87 & _MASK
    h = (h ^ h >> 37) * 0x165667919E3779F9 & _MASK
    return h ^ h >> 32
