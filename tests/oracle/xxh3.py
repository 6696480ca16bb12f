# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""XXH3-64 and XXH3-128 with the default secret and seed 0, after the public description of xxHash's XXH3 algorithm.

Run as a program it checks itself against known values."""
import struct

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8"
    "fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb17"
    "0ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
M32 = (1 << 32) - 1
M64 = (1 << 64) - 1
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25


def _r32(b, at):
    return int.from_bytes(b[at:at + 4], "little")


def _r64(b, at):
    return int.from_bytes(b[at:at + 8], "little")


def _s64(at):
    return _r64(SECRET, at)


def _rotl64(v, r):
    return (v << r | v >> (64 - r)) & M64


def _bswap(v, size):
    return int.from_bytes(v.to_bytes(size, "little"), "big")


def _avalanche(h):
    h ^= h >> 37
    h = h * MX1 & M64
    return h ^ h >> 32


def _avalanche64(h):
    h ^= h >> 33
    h = h * P64_2 & M64
    h ^= h >> 29
    h = h * P64_3 & M64
    return h ^ h >> 32


def _fold(a, b):
    m = a * b
    return (m & M64) ^ (m >> 64)


def _mix16(data, at, secret_at):
    return _fold(_r64(data, at) ^ _s64(secret_at), _r64(data, at + 8) ^ _s64(secret_at + 8))


_KEYS = [struct.unpack_from("<8Q", SECRET, 8 * i) for i in range(16)]
_SCRAMBLE = struct.unpack_from("<8Q", SECRET, 128)
_LAST = struct.unpack_from("<8Q", SECRET, 121)


def _stripe(acc, data, at, keys):
    values = struct.unpack_from("<8Q", data, at)
    for i in range(8):
        v = values[i]
        k = v ^ keys[i]
        acc[i ^ 1] += v
        acc[i] += (k & M32) * (k >> 32)
    for i in range(8):
        acc[i] &= M64


def _accumulate(data):
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    n = len(data)
    blocks = (n - 1) // 1024
    for b in range(blocks):
        for s in range(16):
            _stripe(acc, data, 1024 * b + 64 * s, _KEYS[s])
        for i in range(8):
            acc[i] = ((acc[i] ^ acc[i] >> 47) ^ _SCRAMBLE[i]) * P32_1 & M64
    for s in range((n - 1 - 1024 * blocks) // 64):
        _stripe(acc, data, 1024 * blocks + 64 * s, _KEYS[s])
    _stripe(acc, data, n - 64, _LAST)
    return acc


def _merge(acc, secret_at, start):
    for i in range(4):
        start += _fold(acc[2 * i] ^ _s64(secret_at + 16 * i), acc[2 * i + 1] ^ _s64(secret_at + 16 * i + 8))
    return _avalanche(start & M64)


def xxh3_64(data):
    data = bytes(data)
    n = len(data)
    if n == 0:
        return _avalanche64(_s64(56) ^ _s64(64))
    if n <= 3:
        combined = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return _avalanche64(combined ^ (_r32(SECRET, 0) ^ _r32(SECRET, 4)))
    if n <= 8:
        h = (_r32(data, n - 4) + (_r32(data, 0) << 32)) ^ _s64(8) ^ _s64(16)
        h ^= _rotl64(h, 49) ^ _rotl64(h, 24)
        h = h * MX2 & M64
        h ^= (h >> 35) + n
        h = h * MX2 & M64
        return h ^ h >> 28
    if n <= 16:
        lo = _r64(data, 0) ^ _s64(24) ^ _s64(32)
        hi = _r64(data, n - 8) ^ _s64(40) ^ _s64(48)
        return _avalanche((n + _bswap(lo, 8) + hi + _fold(lo, hi)) & M64)
    if n <= 128:
        acc = n * P64_1
        for i in range((n - 1) // 32 + 1):
            acc += _mix16(data, 16 * i, 32 * i) + _mix16(data, n - 16 * (i + 1), 32 * i + 16)
        return _avalanche(acc & M64)
    if n <= 240:
        acc = n * P64_1
        for i in range(8):
            acc += _mix16(data, 16 * i, 16 * i)
        acc = _avalanche(acc & M64)
        for i in range(8, n // 16):
            acc += _mix16(data, 16 * i, 16 * (i - 8) + 3)
        return _avalanche((acc + _mix16(data, n - 16, 136 - 17)) & M64)
    return _merge(_accumulate(data), 11, n * P64_1 & M64)


def _mix32(acc, data, at1, at2, secret_at):
    lo, hi = acc
    lo = (lo + _mix16(data, at1, secret_at)) & M64
    lo ^= (_r64(data, at2) + _r64(data, at2 + 8)) & M64
    hi = (hi + _mix16(data, at2, secret_at + 16)) & M64
    hi ^= (_r64(data, at1) + _r64(data, at1 + 8)) & M64
    return lo, hi


def _finish128(acc, n):
    lo, hi = acc
    low = _avalanche((lo + hi) & M64)
    high = _avalanche((lo * P64_1 + hi * P64_4 + n * P64_2) & M64)
    return -high % (1 << 64) << 64 | low


def xxh3_128(data):
    """The hash as an integer: the low 64 bits are the reference's low64, the high ones its high64."""
    data = bytes(data)
    n = len(data)
    if n == 0:
        return _avalanche64(_s64(80) ^ _s64(88)) << 64 | _avalanche64(_s64(64) ^ _s64(72))
    if n <= 3:
        low = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        high = _bswap(low, 4)
        high = (high << 13 | high >> 19) & M32
        return (_avalanche64(high ^ _r32(SECRET, 8) ^ _r32(SECRET, 12)) << 64
                | _avalanche64(low ^ _r32(SECRET, 0) ^ _r32(SECRET, 4)))
    if n <= 8:
        keyed = (_r32(data, 0) + (_r32(data, n - 4) << 32)) ^ _s64(16) ^ _s64(24)
        m = keyed * (P64_1 + (n << 2) & M64)
        low, high = m & M64, m >> 64
        high = (high + (low << 1)) & M64
        low ^= high >> 3
        low ^= low >> 35
        low = low * MX2 & M64
        low ^= low >> 28
        return _avalanche(high) << 64 | low
    if n <= 16:
        lo, hi = _r64(data, 0), _r64(data, n - 8)
        m = (lo ^ hi ^ _s64(32) ^ _s64(40)) * P64_1
        low, high = m & M64, m >> 64
        low = (low + (n - 1 << 54)) & M64
        hi ^= _s64(48) ^ _s64(56)
        high = (high + hi + (hi & M32) * (P32_2 - 1)) & M64
        low ^= _bswap(high, 8)
        h = low * P64_2
        return _avalanche((h >> 64) + high * P64_2 & M64) << 64 | _avalanche(h & M64)
    if n <= 128:
        acc = (n * P64_1 & M64, 0)
        for i in range((n - 1) // 32, -1, -1):
            acc = _mix32(acc, data, 16 * i, n - 16 * (i + 1), 32 * i)
        return _finish128(acc, n)
    if n <= 240:
        acc = (n * P64_1 & M64, 0)
        for i in range(4):
            acc = _mix32(acc, data, 32 * i, 32 * i + 16, 32 * i)
        acc = _avalanche(acc[0]), _avalanche(acc[1])
        for i in range(4, n // 32):
            acc = _mix32(acc, data, 32 * i, 32 * i + 16, 3 + 32 * (i - 4))
        return _finish128(_mix32(acc, data, n - 16, n - 32, 136 - 17 - 16), n)
    acc = _accumulate(data)
    high = _merge(acc, 192 - 64 - 11, ~(n * P64_2) & M64)
    return high << 64 | _merge(acc, 11, n * P64_1 & M64)


def tree_hash(data):
    """doc/format.md 1.5."""
    data = bytes(data)
    leaves = [xxh3_128(data[at:at + 65536]).to_bytes(16, "little") for at in range(0, len(data), 65536)]
    return xxh3_128(b"".join(leaves) + len(data).to_bytes(8, "little"))


# input: byte i is ((i * 2654435761 mod 2^32) >> 13 xor i) mod 256
VECTORS = [
    (0, 0x2d06800538d394c2, 0x99aa06d3014798d86001c324468d497f),
    (1, 0xc44bdff4074eecdb, 0xa6cd5e9392000f6ac44bdff4074eecdb),
    (3, 0xf696dd0e04ce27e9, 0x857c0491709e309cf696dd0e04ce27e9),
    (4, 0x6c6204c26c9f6afe, 0x881b8a3d2387dac2ab3816aebba7789f),
    (8, 0x50af67c1d1342329, 0xa3561de736cb840457e826e862a8793b),
    (9, 0x1c357977faf687ae, 0xfd9df06446f87f19edc7cfcb375dfc5c),
    (16, 0x4e7389cd10bfc07d, 0xbb1b6eea1ee2b20e9ba969ab499d86b7),
    (17, 0x223339424fae6666, 0x6a30c68f59b997a942fd34a716561b18),
    (64, 0xab395ddc15b81517, 0x28ccd18dc8d1bcbb55b423c21e8c76be),
    (128, 0x63cc7e732fadcd70, 0x5074ee4408a384f952d48d9b34fd277c),
    (129, 0x6c65917e2517b3fd, 0x0c6558b6a84a21bd69d159af5ae24a50),
    (240, 0xc026638249387de5, 0x59c78486bfc222a9eb8b9f45e41bbdf4),
    (241, 0x792fcf39a7ff4785, 0xd662921643bc0f28792fcf39a7ff4785),
    (512, 0x215c3e10b67dfb5d, 0x0101508b84ec499a215c3e10b67dfb5d),
    (1024, 0xa5bf48f173e2f1d4, 0xdf46d14c62e992f9a5bf48f173e2f1d4),
    (1025, 0x14bc4b8a2ac06d5c, 0x01d12391652a9e9414bc4b8a2ac06d5c),
    (1088, 0x92dfe2dea528998b, 0x27719dcbf5cf2c0c92dfe2dea528998b),
    (2134, 0x2d44d3c531fbb05f, 0x991d603424d0d9632d44d3c531fbb05f),
    (4947, 0xf7632a694eaf79fc, 0x382e2f3ab3dc79c2f7632a694eaf79fc),
]


def self_test():
    data = bytes(((i * 2654435761 & M32) >> 13 ^ i) & 255 for i in range(5000))
    for n, h64, h128 in VECTORS:
        if xxh3_64(data[:n]) != h64 or xxh3_128(data[:n]) != h128:
            raise SystemExit("XXH3 of %d bytes is wrong" % n)


if __name__ == "__main__":
    self_test()
    print("%d vectors of XXH3-64 and XXH3-128 agree" % len(VECTORS))
