# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files in which one named thing is wrong and all else, hashes included, is right. cases() yields (name, expected, file, original); expected is what a decoder
must say: "corrupt", "newer", "ok" (the original), "same" (an error, or the original: bytes that a decoder may ignore), or "limit" (too large to
decode here, or corrupt)."""
import copy
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
import encode
import zstd
from common import CODED, CONSTANT, P8, P12, PAIRS, RAW
from encode import Entry, varint
from xxh3 import xxh3_64


def tensor(seed=1, dtype="BF16", n=700, split=None, profile=P8, pool=2, run=0, t=12, modes=(0,), outlier_rate=0.01, add=3):
    rng = random.Random(seed)
    fields = encode.make_fields(rng, split or encode.PRESETS[dtype], profile, pool, run)
    return encode.random_payload(rng, encode.ELEMENT[dtype], t, n, fields, add, outlier_rate, modes)


def entry(p, name="t", dtype="BF16"):
    n = len(p.decoded) >> p.w
    return encode.tile_entry(p, name=name, dtype=dtype, shape=(n,))


def matrix(seed=1, dtype="I8", rows=40, columns=50, modes=(0, 1, 5, 12), **more):
    return encode.BlocksPayload(random.Random(seed), dtype, rows, columns, list(modes), outlier_rate=0.01, **more)


def approximated(seed=1, dtype="BF16", rows=40, columns=50, modes=(0, 1, 2), row_scales=1, **more):
    return encode.LossyPayload(random.Random(seed), dtype, rows, columns, list(modes), row_scales=row_scales, outlier_rate=0.01, **more)


def fragments(seed=1, dtype="I8", rows=40, columns=300, **more):
    more.setdefault("outlier_rate", 0.01)
    return encode.FragmentsPayload(random.Random(seed), dtype, rows, columns, **more)


def in_fields(seed=1, count=100, fields=((2, "t", 1), (32, "t", 0)), **more):
    """Records of fields of a width and a coding."""
    more.setdefault("outlier_rate", 0.01)
    return encode.RecordsPayload(random.Random(seed), count, list(fields), **more)


def masked_tensor(seed=1, dtype="F32", n=9000, share=0.5, kinds="zt", **more):
    return encode.MaskedPayload(random.Random(seed), dtype, n, share, kinds, **more)


def by_anchors(seed=1, dtype="F32", rows=300, columns=33, anchors=7, **more):
    more.setdefault("scale", 0.001)
    return encode.AnchoredPayload(random.Random(seed), dtype, rows, columns, anchors, **more)


def file_of(*entries, **more):
    return encode.container(list(entries), **more), b"".join(e.data for e in entries)


def every_coding(front=False):
    """A small file that holds every coding, profile and mode, for exhaustive damage."""
    entries = [entry(tensor(1, n=130, pool=2, run=7), "runs"), entry(tensor(2, "I8", n=128, profile=PAIRS, pool=1, modes=(0, 1)), "pairs", "I8"),
               entry(tensor(3, "F8_E4M3", n=65, profile=P12, pool=1), "p12", "F8_E4M3"), entry(tensor(4, "I16", n=20, modes=(2,), pool=1), "stored", "I16")]
    entries.append(encode.constant_entry(b"\1\2", 6, name="constant", dtype="U16", shape=(2, 3)))
    entries.append(matrix(rows=17, columns=20, modes=(5, 9, 12)).entry(name="blocks"))
    entries.append(approximated(dtype="F16", rows=3, columns=5, modes=(0,), w=1).entry(name="plain lossy"))
    entries.append(approximated(rows=2, columns=9, modes=(1, 2), split=[(CODED, 8)], tile_modes=(1,)).entry(name="lossy"))
    entries.append(encode.FixedPayload(random.Random(5), 2, 9, 2, 1, rate=0.002, spill=1).entry(name="fixed"))
    entries.append(fragments(rows=17, columns=3, split=[(CODED, 8)], modes=(1,)).entry(name="fragments"))
    entries.append(encode.packed_entry(tensor(6, "I8", n=65, profile=P8, pool=1), name="packed", dtype="I8", shape=(65,)))
    entries.append(in_fields(5, 13, [(1, "t", 0), (3, "c", 0), (4, "z", 0)], modes=(1,)).entry(name="records"))
    entries.append(masked_tensor(8, "I16", 29, 0.4, "zz").entry(name="masked"))
    entries.append(by_anchors(9, "BF16", 7, 5, 2, kinds="zzz").entry(name="anchored"))
    entries.append(encode.inline_entry(b"inline"))
    entries.append(encode.chunk_entry(bytes(40) + b"chunk", 40, name="chunks", dtype="U8", shape=(45,)))
    entries.append(encode.alias_entry(entries, 2, name="alias", dtype="U8", shape=(65,)))
    entries.append(encode.empty_entry(name="empty", dtype="F64", shape=(0,)))
    entries.insert(0, encode.safetensors_blob([]))
    entries[-2].parameters = varint(3)
    more = {"front": True} if front else {}
    return file_of(*entries, kind=1, name="every", metadata=[("k", "v")], groups=(5, 1, len(entries) - 6), **more)


def framing():
    e = entry(tensor())
    good = file_of(e)
    yield "as it should be", "ok", *good
    head = encode.head_bytes
    for name, expected, h in (("version 0", "corrupt", head(0)), ("version 2", "newer", head(2)), ("version swapped", "newer", head(256)), ("minor version", "ok", head(minor=9)),
                              ("critical flag", "newer", head(critical=1 << 31)), ("optional flag", "ok", head(optional=5)), ("reserved byte", "corrupt", head(reserved=bytes(20) + b"\1")),
                              ("head hash", "corrupt", head(digest=1)), ("magic", "corrupt", b"\x88" + head()[1:]), ("text mode", "corrupt", head().replace(b"\r\n", b"\n") + b"\0")):
        yield name, expected, *file_of(e, head=h)
    size = len(good[0])
    for name, changed in (("offset beyond the file", {"offset": 1 << 40}), ("offset that wraps", {"offset": (1 << 64) - 64, "coded": size}), ("offset in the head", {"offset": 0}),
                          ("offset in the payload", {"offset": 64}), ("coded size", {"coded": 1 << 62}), ("coded size 0", {"coded": 0}), ("decoded size less", {"decoded": 10}),
                          ("decoded size more", {"decoded": 100000}), ("decoded size huge", {"decoded": 1 << 63}), ("index hash", {"frame_hash": 1}), ("file size", {"size": size - 1}),
                          ("file size huge", {"size": 1 << 63}), ("other head", {"head_hash": 1}), ("tail hash", {"digest": 1}), ("tail magic", {"magic": b"\x0a\x1a\x0a\x0d\x44\x43\x57\x88"})):
        yield "tail: " + name, "corrupt", *file_of(e, tail=changed)
    yield "index in the payload", "corrupt", *file_of(e, tail={"offset": 64, "coded": size - 128})
    yield "byte after the tail", "corrupt", *file_of(e, end=b"\0")
    yield "two containers", "corrupt", good[0] + good[0], good[1]
    yield "tail twice", "corrupt", good[0] + good[0][-64:], good[1]
    yield "hole before the index", "corrupt", *file_of(e, gap=bytes(16))
    yield "padding", "same", *file_of(e, padding=1)
    index = encode.index_bytes([e])
    yield "index frame and more", "corrupt", *file_of(e, frame=zstd.encode(index) + b"\0")
    yield "index frame twice", "corrupt", *file_of(e, frame=zstd.encode(index) + zstd.encode(b""))
    yield "index with skippable frame", "corrupt", *file_of(e, frame=b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstd.encode(index))
    yield "index not zstd", "corrupt", *file_of(e, frame=index)
    frame = zstd.encode(index)
    yield "index frame cut", "corrupt", *file_of(e, frame=frame[:-1])
    yield "index frame with dictionary", "corrupt", *file_of(e, frame=frame[:4] + bytes([frame[4] | 1, 7]) + frame[5:])
    bomb = bytes(1 << 23)
    yield "index bomb", "corrupt", *file_of(e, index=bomb)


def groups():
    """Headers of groups, and the index in front of them."""
    entries = [entry(tensor(i), "t%d" % i) for i in range(4)] + [encode.constant_entry(b"\1\2", 6, name="constant", dtype="U16", shape=(6,))]
    count = len(entries)
    for front in (False, True):
        place = "front: " if front else "groups: "
        for name, sizes in (("one", (count,)), ("each its own", (1,) * count), ("two", (2, 3)), ("last without a payload", (4, 1))):
            yield place + name, "ok", *file_of(*entries, groups=sizes, front=front)
        right = [encode.header_bytes(entries, 0, 2), encode.header_bytes(entries, 2, 3)]

        def spoiled(first, **more):
            return file_of(*entries, groups=(2, 3), headers=[first, right[1]], front=front, **more)
        body = right[0][12:]
        for name, header in (("checksum", encode.header_bytes(entries, 0, 2, digest=7)), ("body of another group", encode.header_bytes(entries, 1, 2)), ("first entry", encode.header_bytes(entries, 0, 2, body=b"\1" + body[1:])),
                             ("entries", encode.header_bytes(entries, 0, 2, body=body[:1] + b"\1" + body[2:])), ("payload size", encode.header_bytes(entries, 0, 2, body=body[:3] + bytes([body[3] ^ 1]) + body[4:])),
                             ("byte more", encode.header_bytes(entries, 0, 2, body=body + b"\0")), ("empty", encode.header_bytes(entries, 0, 2, body=b"")), ("no zstd frame", encode.header_bytes(entries, 0, 2, body=body)[:11]),
                             ("bomb", encode.header_bytes(entries, 0, 2, packed=True, body=bytes(1 << 22)))):
            yield place + "header: " + name, "corrupt", *spoiled(header)
        frame = zstd.encode(body) + b"\0"
        text = (len(frame) + 12 | 1 << 31).to_bytes(4, "little") + frame
        yield place + "header: frame and more", "corrupt", *spoiled(xxh3_64(text).to_bytes(8, "little") + text)
        sizes = [(2, len(right[0])), (3, len(right[1]))]
        for name, said in (("too few entries", sizes[:1]), ("too many", sizes + [(1, 20)]), ("none in a group", [(0, 20)] + sizes), ("2^63 entries", [(1 << 63, len(right[0])), (3, len(right[1]))]),
                           ("header of 12 bytes", [(2, 12), sizes[1]]), ("huge header", [(2, 1 << 31), sizes[1]]), ("header of another size", [(2, len(right[0]) - 1), sizes[1]])):
            yield place + name, "corrupt", *file_of(*entries, groups=(2, 3), headers=right, front=front, index=encode.index_bytes(entries, groups=said))
        yield place + "2^62 groups", "corrupt", *file_of(*entries, groups=(2, 3), headers=right, front=front, group_count=1 << 62)
        yield place + "padding", "same", *file_of(*entries, groups=(2, 3), front=front, padding=1)
        size = sum(e.size for e in entries)
        yield place + "size in the head", "ok", *file_of(*entries, groups=(2, 3), front=front, head=encode.head_bytes(size=size, place=int(front), settings=b"\xff" * 6))
        yield place + "other size in the head", "corrupt", *file_of(*entries, groups=(2, 3), front=front, head=encode.head_bytes(size=size + 1, place=int(front)))
    good = file_of(*entries, groups=(2, 3), front=True)
    for name, more in (("place of the index", {"head": encode.head_bytes(place=2)}),):
        yield name, "newer", *file_of(*entries, groups=(2, 3), **more)
    yield "front: not in front", "corrupt", *file_of(*entries, groups=(2, 3), head=encode.head_bytes(place=1))
    yield "front: said to be behind", "corrupt", *file_of(*entries, groups=(2, 3), front=True, head=encode.head_bytes())
    yield "front: copy of the tail", "corrupt", *file_of(*entries, groups=(2, 3), front=True, front_tail=bytes(64))
    yield "front: coded size", "corrupt", *file_of(*entries, groups=(2, 3), front=True, tail={"coded": len(good[0])})
    yield "front: offset", "corrupt", *file_of(*entries, groups=(2, 3), front=True, tail={"offset": 64})


def index_fields():
    e = entry(tensor())
    index = encode.index_bytes
    for name, expected, fields in (("kind 2", "newer", {"kind": 2}), ("name not UTF-8", "corrupt", {"name": b"\xff"}), ("name with NUL", "corrupt", {"name": b"a\0"}),
                                   ("original larger", "corrupt", {"size": len(e.data) + 1}), ("original smaller", "corrupt", {"size": 0}), ("original hash", "corrupt", {"digest": 5}),
                                   ("mode", "corrupt", {"mode": 0o10000}), ("latest time", "ok", {"mtime": 1 << 63}), ("time", "corrupt", {"mtime": (1 << 63) + 1}), ("byte after the index", "corrupt", {"after": b"\0"}),
                                   ("metadata key twice", "corrupt", {"metadata": [("a", "b"), ("a", "c")]}), ("metadata not UTF-8", "corrupt", {"metadata": [("a", b"\xc0\x80")]}),
                                   ("metadata", "ok", {"metadata": [("a", "b"), ("A", "b")]}), ("fewer entries", "corrupt", {"count": 0}), ("more entries", "corrupt", {"count": 2}),
                                   ("2^32 entries", "corrupt", {"count": 1 << 32}), ("2^63 entries", "corrupt", {"count": 1 << 63})):
        yield "index: " + name, expected, *file_of(e, **fields)
    good = index([e])
    yield "index: huge metadata count", "corrupt", *file_of(e, index=good[:22] + varint(1 << 62) + good[23:])
    yield "index: huge name", "corrupt", *file_of(e, index=good[:1] + varint(1 << 63) + good[2:])
    yield "index: empty", "corrupt", *file_of(e, index=b"")
    for n in range(1, len(good), 7):
        yield "index: cut at %d" % n, "corrupt", *file_of(e, index=good[:n])
    for name, coded in (("not minimal", b"\x80\0"), ("11 bytes", b"\x80" * 10 + b"\1"), ("above 2^64", b"\xff" * 9 + b"\2"), ("endless", b"\xff" * 30)):
        yield "varint " + name, "corrupt", *file_of(e, index=good[:1] + b"\0" + coded + good[3:])


def changed(make=None, **members):
    e = (make or (lambda: encode.constant_entry(b"\7", 12, name="t", dtype="U8", shape=(12,))))()
    for k, v in members.items():
        setattr(e, k, v)
    return e


def records():
    small = lambda **names: changed(**names)
    for name, expected, e in (
            ("empty name", "ok", small(name="")), ("1 MiB of name", "ok", small(name="n" * (1 << 20))), ("control characters", "ok", small(name="\x1b[31m\n\x7f")),
            ("name overlong", "corrupt", small(name=b"\xc0\xaf")), ("name surrogate", "corrupt", small(name=b"\xed\xa0\x80")), ("name above U+10FFFF", "corrupt", small(name=b"\xf4\x90\x80\x80")),
            ("name cut", "corrupt", small(name=b"\xe4\xb8")), ("name with NUL", "corrupt", small(name=b"a\0b")), ("type 2", "newer", small(kind=2)), ("dtype 23", "newer", small(dtype=23)),
            ("dtype named", "ok", small(dtype="F9_NEW")), ("rank 0", "corrupt", small(shape=())), ("rank 255", "ok", small(shape=(12,) + (1,) * 254)), ("rank 256", "corrupt", small(shape=(12,) + (1,) * 255)),
            ("shape less", "corrupt", small(shape=(11,))), ("dimension 2^48", "corrupt", small(shape=(1 << 48, 0))), ("product that wraps", "corrupt", small(shape=((1 << 42) + 1, 1 << 22))),
            ("product 2^64 + 12", "corrupt", small(shape=(1 << 47, 1 << 17, 1))), ("bits that wrap", "corrupt", small(shape=(1 << 47, 1 << 14), dtype="F64")),
            ("half a byte", "corrupt", small(shape=(23,), dtype="F4")), ("packed", "ok", small(shape=(24,), dtype="F4")), ("size above 2^48", "corrupt", small(size=(1 << 48) + 1, dtype="F9_NEW")),
            ("size 2^64 - 1", "corrupt", small(size=(1 << 64) - 1, dtype="F9_NEW")), ("constant of 16 bytes", "corrupt", small(parameters=b"\4" + bytes(16))),
            ("constant not in whole elements", "corrupt", small(parameters=b"\3" + bytes(8))), ("constant cut", "corrupt", small(parameters=b"\2\0\0")),
            ("byte after the record", "corrupt", small(parameters=b"\0\7\0")), ("constant with a payload", "corrupt", small(payload=b"x")), ("hash of no payload", "corrupt", small(payload_hash=1)),
            ("payload beyond the file", "corrupt", small(payload_size=1 << 62, payload_hash=1)), ("payload 2^64 - 1", "corrupt", small(payload_size=(1 << 64) - 1, payload_hash=1)),
            ("coding 99", "newer", small(coding=99, parameters=b"anything", payload=b"more")), ("packed, of no size", "corrupt", small(coding=8, parameters=b"anything", payload=b"more")), ("lossy of no form", "corrupt", small(coding=5, parameters=b"", dtype="BF16", shape=(6,))),
            ("fixed of no form", "corrupt", small(coding=6, parameters=b"", dtype="BF16", shape=(6,))),
            ("fragments of another form", "newer", small(coding=7, parameters=b"\2anything", payload=b"more")), ("fragments of no form", "corrupt", small(coding=7, parameters=b"")),
            ("fixed of another form", "newer", small(coding=6, parameters=b"\2anything", payload=b"more")), ("lossy of another form", "newer", small(coding=5, parameters=b"\2anything", payload=b"more")), ("blocks of no form", "corrupt", small(coding=4, parameters=b"")),
            ("blocks of another form", "newer", small(coding=4, parameters=b"\2anything", payload=b"more")), ("coding 255", "newer", small(coding=255, parameters=b""))):
        yield "record: " + name, expected, *file_of(e)
    a, b = changed(), changed(name="u")
    yield "names that differ in normalisation", "ok", *file_of(changed(name="\u00e9"), changed(name="e\u0301"))
    yield "name twice", "corrupt", *file_of(a, a)
    yield "zero dimension beside huge ones", "ok", *file_of(encode.empty_entry(name="t", dtype="F64", shape=(1 << 47, 1 << 47, 0)))
    for coding, parameters in ((0, b"\1\0\0"), (0, b"\0\1"), (1, b""), (2, varint(1)), (3, varint(0)), (4, b"\1")):
        e = encode.empty_entry(name="t", dtype="U8", shape=(0,))
        e.coding, e.parameters = coding, parameters
        yield "empty entry of coding %d, %r" % (coding, parameters), "corrupt", *file_of(e)
    for name, expected, number, size in (("right", "ok", 0, 12), ("itself", "corrupt", 1, 12), ("a later entry", "corrupt", 2, 12), ("beyond", "corrupt", 1 << 40, 12), ("another size", "corrupt", 0, 11)):
        e = encode.alias_entry([a], 0, name="u", dtype="U8", shape=(size,))
        e.parameters, e.size, e.data = varint(number), size, a.data[:size]
        yield "alias of " + name, expected, *file_of(a, e, changed(name="v"))
    first = encode.alias_entry([a], 0, name="u", dtype="U8", shape=(12,))
    yield "alias of an alias", "corrupt", *file_of(a, first, Entry(a.data, 3, varint(1), name="v", shape=(12,)))
    between = encode.inline_entry(b"between")
    yield "inline", "ok", *file_of(a, between, b)
    yield "inline, in groups", "ok", *file_of(a, between, b, groups=(1, 2))
    yield "inline, 4096 bytes", "ok", *file_of(a, encode.inline_entry(bytes(4096)))
    yield "inline, 4097 bytes", "corrupt", *file_of(a, encode.inline_entry(bytes(4097)))
    yield "inline, empty", "corrupt", *file_of(a, encode.inline_entry(b""))
    yield "alias of what is inline", "corrupt", *file_of(between, Entry(between.data, 3, varint(0)))
    yield "inline tensor", "corrupt", *file_of(Entry(b"between", 12, b"between", name="t", shape=(7,)))
    for name, bytes_ in (("too few", b"betwee"), ("too many", b"between.")):
        e = encode.inline_entry(b"between")
        e.parameters = bytes_
        yield "inline, bytes %s" % name, "corrupt", *file_of(a, e)
    e = encode.inline_entry(b"between")
    e.payload, e.data = b"payload", b"between"
    yield "inline with a payload", "corrupt", *file_of(a, e)
    newer = changed(coding=99, parameters=b"")
    yield "alias of something newer", "newer", *file_of(newer, Entry(newer.data, 3, varint(0), name="v", shape=(12,)))
    t = entry(tensor())
    t.payload_hash = 12345
    yield "payload hash", "corrupt", *file_of(t)
    for n in (0, 1, 30, 60):
        record = b.encode()
        cut = changed(record=record[:min(n, len(record) - 1)])
        yield "record cut to %d" % n, "corrupt", *file_of(cut)


def with_parameters(parameters, n=700, w=1):
    p = tensor(n=n)
    e = entry(p)
    e.parameters = parameters
    return file_of(e)


def parameters():
    good = dict(w=1, t=12, add=b"\3\0", fields=[(RAW, 7), (CODED, 8, P8, 2, 0), (RAW, 1)])
    prefix = varint(tensor_prefix(tensor()))

    def build(w=1, t=12, add=b"\3\0", fields=(), count=None, prefix=prefix):
        out = bytes([w, t]) + add + bytes([len(fields) if count is None else count])
        for f in fields:
            out += bytes(f[:2]) + (f[2] if f[0] == CONSTANT else bytes(f[2:]))
        return out + prefix

    coded, raw7, raw1 = (CODED, 8, P8, 2, 0), (RAW, 7), (RAW, 1)
    yield "parameters as they should be", "ok", *with_parameters(build(**good))
    for name, change in (
            ("w 4", {"w": 4, "add": bytes(16)}), ("w 3 for 1400 bytes as 12-bit", {"w": 0, "add": b"\3"}), ("t 11", {"t": 11}), ("t 17", {"t": 17}), ("t 255", {"t": 255}),
            ("no field", {"fields": []}), ("65 fields", {"count": 65}), ("fields too narrow", {"fields": [raw7, coded]}), ("fields too wide", {"fields": [raw7, coded, (RAW, 2)]}),
            ("field of kind 3", {"fields": [(3, 7), coded, raw1]}), ("field of width 0", {"fields": [(RAW, 0), raw7, coded, raw1]}), ("field of width 65", {"fields": [(RAW, 65), coded]}),
            ("coded width 9", {"fields": [(RAW, 6), (CODED, 9, P8, 2, 0), raw1]}), ("nothing coded", {"fields": [(RAW, 16)]}), ("raw twice", {"fields": [(RAW, 3), (RAW, 4), coded, raw1]}),
            ("constant twice", {"fields": [(CONSTANT, 3, b"\0"), (CONSTANT, 4, b"\0"), coded, raw1]}), ("constant too large", {"fields": [(CONSTANT, 7, b"\x80"), coded, raw1]}),
            ("profile 0", {"fields": [raw7, (CODED, 8, 0, 2, 0), raw1]}), ("profile 4", {"fields": [raw7, (CODED, 8, 4, 2, 0), raw1]}), ("no table", {"fields": [raw7, (CODED, 8, P8, 0, 0), raw1]}),
            ("17 tables", {"fields": [raw7, (CODED, 8, P8, 17, 0), raw1]}), ("5 tables of P12", {"fields": [raw7, (CODED, 8, P12, 5, 0), raw1]}),
            ("5 tables of pairs", {"fields": [raw7, (CODED, 8, PAIRS, 5, 0), raw1]}), ("runs of 2^6", {"fields": [raw7, (CODED, 8, P8, 2, 6), raw1]}),
            ("runs of 2^13", {"fields": [raw7, (CODED, 8, P8, 2, 13), raw1]}), ("runs with one table", {"fields": [raw7, (CODED, 8, P8, 1, 7), raw1]}),
            ("runs with P12", {"fields": [raw7, (CODED, 8, P12, 2, 7), raw1]}), ("other profile", {"fields": [raw7, (CODED, 8, P12, 2, 0), raw1]}),
            ("fewer tables", {"fields": [raw7, (CODED, 8, P8, 1, 0), raw1]}), ("more tables", {"fields": [raw7, (CODED, 8, P8, 3, 0), raw1]}),
            ("nine coded", {"w": 3, "add": bytes(8), "fields": [(CODED, 7, P8, 1, 0)] * 9 + [raw1]}), ("prefix 0", {"prefix": b"\0"}), ("prefix 1 less", {"prefix": varint(tensor_prefix(tensor()) - 1)}),
            ("prefix 16 less", {"prefix": varint(tensor_prefix(tensor()) - 16)}), ("prefix 16 more", {"prefix": varint(tensor_prefix(tensor()) + 16)}), ("prefix huge", {"prefix": varint((1 << 64) - 1)}),
            ("prefix of all", {"prefix": varint(len(entry(tensor()).payload))}), ("larger tiles", {"t": 13, "prefix": b"\x10"}), ("a byte more", {"prefix": prefix + b"\0"}), ("cut", {"prefix": b""})):
        yield "parameters: " + name, "corrupt", *with_parameters(build(**dict(good, **change)))
    yield "parameters: odd size", "corrupt", *file_of(odd_size())
    e = entry(tensor())
    e.size, e.dtype, e.shape = 0, "U8", (0,)
    yield "parameters: no element", "corrupt", *file_of(e, size=0)


def odd_size():
    e = entry(tensor())
    e.size, e.dtype, e.shape, e.data = len(e.data) - 1, "U8", (len(e.data) - 1,), e.data[:-1]
    return e


def tensor_prefix(p):
    parameters_bytes = p.assemble()[0]
    at, v = len(parameters_bytes), 0
    while parameters_bytes[at - 1] < 128 and at > 1 and parameters_bytes[at - 2] >= 128 or v == 0 and at == len(parameters_bytes):
        at -= 1
        v = 1
    shift = value = 0
    for b in parameters_bytes[at:]:
        value |= (b & 127) << shift
        shift += 7
    return value


def spoiled_table(profile, width, data, split=None):
    """A tensor whose first table is `data`."""
    p = tensor(5, "U64", n=100, split=split or [(CODED, width), (RAW, 64 - width)], profile=profile, pool=1, outlier_rate=0)
    p.tables[0] = data
    return file_of(entry(p, dtype="U64"))


def numbers(*frequencies):
    return encode.nibble_numbers(list(frequencies))


def nibbles(*units):
    units = list(units) + [0] * (len(units) & 1)
    return bytes(units[i] | units[i + 1] << 4 for i in range(0, len(units), 2))


def tables():
    for name, data in (("sum 255", [(0, 1), (1, 254)]), ("sum 257", [(0, 2), (1, 255)]), ("sum 512", [(0, 255), (1, 255), (2, 2)]), ("frequency 0", [(0, 1), (1, 255), (2, 0)]),
                       ("symbol twice", [(0, 100), (1, 56), (0, 100)]), ("symbol beyond the field", [(0, 1), (16, 255)]), ("one symbol of 255", [(0, 255)]), ("one symbol without runs", [(0, 0)])):
        yield "P8 table: " + name, "corrupt", *spoiled_table(P8, 4, bytes([len(data) - 1]) + bytes(v for e in data for v in e))
    for name, data in (("of frequency 1", b"\0\0\1"), ("of frequency 255", b"\0\0\xff"), ("beyond the field", b"\0\x10\0"), ("cut", b"\0\0")):
        p = tensor(5, "U8", n=1000, split=[(CODED, 4), (RAW, 4)], pool=2, run=7, outlier_rate=0)
        p.tables[0] = data
        yield "P8 table of runs: one symbol " + name, "corrupt", *file_of(entry(p, dtype="U8"))
    for seed in range(4):
        yield "tables of one symbol, %d" % seed, "ok", *file_of(entry(tensor(seed, "I16", n=3000, pool=16, run=7), dtype="I16"))
    yield "P8 table: 256 symbols in a narrow field", "corrupt", *spoiled_table(P8, 4, b"\xff" + bytes(v for s in range(256) for v in (s, 1)))
    many = [4095] * 17 + [69632 - 17 * 4095] + [0] * 238
    half = [2048, 2047] + [0] * 254
    yield "P12 table: sum 4095", "corrupt", *spoiled_table(P12, 8, numbers(*half))
    yield "P12 table: sum 4097", "corrupt", *spoiled_table(P12, 8, numbers(*([2049, 2048] + [0] * 254)))
    yield "P12 table: sum 4096 + 65536", "corrupt", *spoiled_table(P12, 8, numbers(*many))
    yield "P12 table: sum 0", "corrupt", *spoiled_table(P12, 8, numbers(*([0] * 256)))
    yield "P12 table: one symbol of 4096", "corrupt", *spoiled_table(P12, 1, numbers(4096, 0))
    yield "P12 table: one symbol of 4095", "corrupt", *spoiled_table(P12, 1, numbers(4095, 0))
    yield "P12 table: number of five units", "corrupt", *spoiled_table(P12, 1, nibbles(8, 8, 8, 8, 1, 0, 0))
    yield "P12 table: number not minimal", "corrupt", *spoiled_table(P12, 1, nibbles(9, 0) + numbers(4095))
    yield "P12 table: zeros past the last", "corrupt", *spoiled_table(P12, 2, nibbles(7 | 8, 7 | 8, 7 | 8, 7, 1, 0, 1))
    yield "P12 table: zeros to 256 and more", "corrupt", *spoiled_table(P12, 8, nibbles(7 | 8, 7 | 8, 7 | 8, 7, 1) + nibbles(*([0, 15] * 16)))
    yield "P12 table: half byte", "corrupt", *spoiled_table(P12, 1, nibbles(8, 8, 8, 4, 8, 8, 8, 4)[:-1] + b"\x14" if False else nibbles(7 | 8, 7 | 8, 7 | 8, 7, 1, 5))
    for name, width, base, held in (("window beyond the field", 5, 17, {0: 4095, 1: 1}), ("base 255", 8, 255, {0: 4095, 1: 1}), ("base in a narrow field", 4, 1, {0: 4095, 1: 1}),
                                    ("first half beyond the field", 3, 0, {0: 4095, 8: 1}), ("second half beyond the field", 3, 0, {0: 4095, 0x80: 1}), ("sum 4095", 8, 0, {0: 4094, 1: 1})):
        yield "pair table: " + name, "corrupt", *spoiled_table(PAIRS, width, bytes([base]) + numbers(*[held.get(s, 0) for s in range(256)]))
    for profile in (PAIRS, P12, P8):
        p = tensor(5, "I8", n=100, split=[(CODED, 8)], profile=profile, pool=1)
        for n in range(0, len(p.tables[0]), 5):
            spoiled = tensor(5, "I8", n=100, split=[(CODED, 8)], profile=profile, pool=1)
            e = entry(spoiled, dtype="I8")
            e.payload = e.payload[:n]
            yield "table of profile %d cut at %d" % (profile, n), "corrupt", *file_of(e)


def stream_case(change, **options):
    p = tensor(**options)
    change(p, p.streams[0][0])
    return file_of(entry(p, dtype=options.get("dtype", "BF16")))


def descriptors():
    def member(key, value):
        return lambda p, s: s.__setitem__(key, value(s[key]) if callable(value) else value)

    def both(*changes):
        return lambda p, s: [c(p, s) for c in changes]

    yield "streams as they should be", "ok", *stream_case(lambda p, s: None)
    for name, change in (
            ("one word less in count", lambda p, s: s.update(count=len(s["words"]) - 1)), ("one word more in count", lambda p, s: s.update(count=len(s["words"]) + 1)),
            ("a word left out", lambda p, s: s["words"].pop()), ("a word more", lambda p, s: s["words"].append(0)), ("no word", member("words", lambda v: [])),
            ("more words than symbols", member("words", lambda v: v + [0] * 400)), ("2^20 - 1 words", lambda p, s: s.update(count=(1 << 20) - 1)),
            ("table beyond the pool", member("table", 2)), ("table 15", member("table", 15)), ("mode 3", member("mode", 3)), ("mode 15", member("mode", 15)),
            ("zero bits", member("zero", 1) if False else lambda p, s: s.update(zero=1)), ("other zero bits", lambda p, s: s.update(zero2=1)), ("symbol with mode 0", member("symbol", 1)),
            ("mode 1 with words", member("mode", 1)), ("mode 1 with a table", both(member("mode", 1), member("words", lambda v: []), member("table", 1))),
            ("mode 2 with words", member("mode", 2)), ("mode 2 with outliers", both(member("mode", 2), member("words", lambda v: []), member("table", 0))),
            ("start state below 2^16", member("states", lambda v: v[:5] + [0xFFFF] + v[6:])), ("start state 0", member("states", lambda v: [0] + v[1:])),
            ("other start state", member("states", lambda v: [v[0] ^ 0x10000] + v[1:])), ("start states swapped", member("states", lambda v: v[::-1])),
            ("words swapped", member("words", lambda v: v[::-1])), ("word changed", member("words", lambda v: [v[0] ^ 1] + v[1:])), ("last word changed", member("words", lambda v: v[:-1] + [v[-1] ^ 0x8000])),
            ("other table", member("table", lambda v: 1 - v)), ("outlier count", lambda p, s: s.update(outlier_count=len(s["outliers"]) + 1)),
            ("outlier count above the elements", lambda p, s: s.update(outlier_count=701)), ("outlier count 2^17 - 1", lambda p, s: s.update(outlier_count=(1 << 17) - 1)),
            ("position twice", member("outliers", lambda v: [v[1]] + v[1:])), ("positions falling", member("outliers", lambda v: v[::-1])),
            ("position at the end", member("outliers", lambda v: v[:-1] + [(700, v[-1][1])])), ("position 65535", member("outliers", lambda v: v[:-1] + [(65535, v[-1][1])])),
            ("outlier value changed", member("outliers", lambda v: [(v[0][0], v[0][1] ^ 1)] + v[1:])), ("outlier left out", member("outliers", lambda v: v[1:])),
            ("tile check", lambda p, s: p.checks.__setitem__(0, p.checks[0] ^ 1)), ("tile check 0", lambda p, s: p.checks.__setitem__(0, 0)),
            ("a check more", lambda p, s: p.checks.append(0)), ("raw bits cut", lambda p, s: p.raw.__setitem__(0, p.raw[0][:-64])), ("raw bits more", lambda p, s: p.raw.append(bytes(64))),
            ("raw bit", lambda p, s: p.raw.__setitem__(0, bytes([p.raw[0][0] ^ 1]) + p.raw[0][1:]))):
        yield "stream: " + name, "corrupt", *stream_case(change)
    yield "outlier value beyond the field", "corrupt", *stream_case(member("outliers", lambda v: v[:-1] + [(v[-1][0], 16)]), dtype="I8")
    yield "constant symbol beyond the field", "corrupt", *stream_case(member("symbol", 16), dtype="I8", modes=(1,))
    yield "final state without a payload", "corrupt", *final_state()


def final_state():
    """A second stream that ends in a payload, which it may not have."""
    p = tensor(6, "I16", n=256, pool=1)
    f, s = p.coded[1], p.streams[0][1]
    rng = random.Random(9)
    made, symbols, pick, values = encode._random_stream(rng, f, f.tables, 256, 12, 0, 0)
    made["words"], made["states"] = encode.rans_encode(f, f.tables, 256, symbols, pick, [0] * 31 + [1])
    p.streams[0][1] = made
    low = p.decoded[::2]
    mended = bytearray()
    for i in range(256):
        e = int.from_bytes(p.decoded[2 * i:2 * i + 2], "little") + p.add
        mended += ((e & 0xFF | values[i] << 8) - p.add & 0xFFFF).to_bytes(2, "little")
    p.decoded = bytes(mended)
    p.checks[0] = encode.tile_check(mended, 16)
    return file_of(entry(p, dtype="I16"))


def modes():
    p = tensor(7, "I16", n=300, modes=(2,), pool=1)
    yield "stored", "ok", *file_of(entry(p, dtype="I16"))
    p.raw[0] = p.raw[0][:600] + bytes([1]) * (len(p.raw[0]) - 600)
    yield "bytes after a stored tile", "same", *file_of(entry(p, dtype="I16"))
    for name, change in (("stored in part", lambda r: r[1].update(mode=1)), ("stored in part, rANS", lambda r: r[0].update(mode=0, states=[1 << 16] * 32)), ("stored with a symbol", lambda r: r[0].update(symbol=1)),
                         ("stored with outliers", lambda r: r[0].update(outliers=[(0, 1)]))):
        p = tensor(7, "I16", n=300, modes=(2,), pool=1)
        change(p.streams[0])
        yield name, "corrupt", *file_of(entry(p, dtype="I16"))
    p = tensor(7, "I16", n=300, modes=(2,), pool=1)
    p.raw[0] = p.raw[0][:-64]
    yield "stored tile cut", "corrupt", *file_of(entry(p, dtype="I16"))


def runs():
    def case(change, **options):
        p = tensor(8, n=options.pop("n", 1000), pool=options.pop("pool", 3), run=options.pop("run", 8), **options)
        change(p.streams[0][0])
        return file_of(entry(p))

    yield "runs as they should be", "ok", *case(lambda s: None)
    yield "run's table beyond the pool", "corrupt", *case(lambda s: s["runs"].__setitem__(0, 3))
    yield "run beyond the elements", "corrupt", *case(lambda s: s["runs"].__setitem__(4, 1))
    yield "runs of a constant tile", "corrupt", *case(lambda s: s["runs"].__setitem__(0, 1), modes=(1,))
    yield "table beside runs", "corrupt", *case(lambda s: s.update(table=1))
    yield "other run's table", "corrupt", *case(lambda s: s["runs"].__setitem__(0, (s["runs"][0] + 1) % 3))
    p = tensor(8, n=100, pool=2, run=12)
    p.spoil["runs"] = lambda data: bytes([data[0] | 0x80])
    yield "bits after the last run", "corrupt", *file_of(entry(p))


def areas():
    for name in ("tables", "directory", "runs", "states", "words", "raw", "outliers"):
        for how, change in (("a byte less", lambda d: d[:-1]), ("a byte more", lambda d: d + b"\0"), ("16 bytes more", lambda d: d + bytes(16)), ("16 bytes less", lambda d: d[:-16]), ("missing", lambda d: b"")):
            p = tensor(9, n=1000, pool=3, run=8)
            before = p.assemble()[1]
            p.prefix = tensor_prefix(p)
            p.spoil[name] = change
            if p.assemble()[1] != before:
                yield "area %s: %s" % (name, how), "corrupt", *file_of(entry(p))
    for name, expected in (("tables", "corrupt"), ("directory", "corrupt"), ("runs", "corrupt"), ("words", "same")):
        p = tensor(9, n=1000, pool=3, run=8)
        payload = bytearray(p.assemble()[1])
        parts = {}
        for part in ("tables", "directory", "runs", "states", "words"):
            p.spoil[part] = lambda d, part=part: parts.__setitem__(part, len(d)) or d
        p.assemble()
        at = 0
        for part in ("tables", "directory", "runs", "states", "words"):
            at = -(-at // 16) * 16 + parts[part]
            if part == name:
                break
        if at % 16:
            payload[at] = 1
            p.spoil = {}
            e = entry(p)
            e.payload = bytes(payload)
            yield "padding after " + name, expected, *file_of(e)
    p = tensor(9)
    e = entry(p)
    whole = e.payload
    for n in sorted({0, 1, 15, 16, 100, len(whole) - 65, len(whole) - 64, len(whole) - 2, len(whole) - 1}):
        e = entry(p)
        e.payload = whole[:n]
        yield "payload cut at %d" % n, "corrupt", *file_of(e)
    for n in (1, 16, 64, 70000):
        e = entry(p)
        e.payload = whole + bytes(n)
        yield "payload with %d bytes more" % n, "corrupt", *file_of(e)


def chunks():
    data = bytes(3000) + random.Random(3).randbytes(200)
    make = lambda: encode.chunk_entry(data, 1000, name="c", dtype="U8", shape=(3200,))
    yield "chunks as they should be", "ok", *file_of(make())

    def patched(at, value):
        e = make()
        e.payload = e.payload[:at] + value + e.payload[at + len(value):]
        return e

    word = lambda v: struct.pack("<I", v)
    whole = make().payload
    for name, e in (("coded size above the chunk", patched(0, word(1001))), ("coded size 0", patched(0, word(0))), ("coded size 2^32 - 1", patched(0, word((1 << 32) - 1))),
                    ("sizes that wrap", patched(24, word((1 << 32) - 200))), ("stored but marked as a frame", patched(24, word(199))), ("check", patched(4, word(1))),
                    ("frame of another size", patched(32 + 5, struct.pack("<Q", 999))), ("frame's magic", patched(32, b"\0")), ("stored byte", patched(len(whole) - 1, bytes([whole[-1] ^ 1])))):
        yield "chunks: " + name, "corrupt", *file_of(e)
    for n in (0, 1, 7, 8, 31, 32, 33, len(whole) - 1):
        e = make()
        e.payload = whole[:n]
        yield "chunks: payload cut at %d" % n, "corrupt", *file_of(e)
    e = make()
    e.payload = whole + b"\0"
    yield "chunks: a byte more", "corrupt", *file_of(e)
    for name, parameters_bytes in (("size 0", varint(0)), ("above 2^24", varint((1 << 24) + 1)), ("2^64 - 1", varint((1 << 64) - 1)), ("other size", varint(999)), ("one chunk", varint(3200)), ("none", b"")):
        e = make()
        e.parameters = parameters_bytes
        yield "chunks: " + name, "corrupt", *file_of(e)
    odd = encode.chunk_entry(data[:2500], 1000, name="c", dtype="U8", shape=(2500,))
    odd.payload = odd.payload[:24] + b"\1" + odd.payload[25:]
    yield "chunks: padding", "corrupt", *file_of(odd)
    for name, frame in (("without content size", b"\x28\xb5\x2f\xfd\x00\x58\x43\x1f\x00\x00"), ("with a dictionary", zstd.encode(bytes(1000))[:4] + b"\xe1\1" + zstd.encode(bytes(1000))[5:]),
                        ("twice", zstd.encode(bytes(1000)) + zstd.encode(b"")), ("of fewer bytes", zstd.encode(bytes(999))[:5] + struct.pack("<Q", 1000) + zstd.encode(bytes(999))[13:]),
                        ("of more bytes", zstd.encode(bytes(1001))[:5] + struct.pack("<Q", 1000) + zstd.encode(bytes(1001))[13:]), ("skippable", b"\x50\x2a\x4d\x18\x04\0\0\0abcd")):
        e = encode.chunk_entry(bytes(1000), 1000, name="c", dtype="U8", shape=(1000,))
        e.payload = struct.pack("<I", len(frame)) + e.payload[4:16] + frame
        yield "chunks: frame " + name, "corrupt", *file_of(e)


def blocks():
    for dtype in ("I8", "BF16"):
        yield "blocks of %s as they should be" % dtype, "ok", *file_of(matrix(dtype=dtype).entry(name="t"))
    yield "blocks: every mode", "ok", *file_of(matrix(3, rows=160, columns=160, modes=encode.BLOCK_MODES).entry(name="t"))
    yield "blocks: one mode", "ok", *file_of(matrix(modes=(13,)).entry(name="t"))
    for dtype in ("U8", "F16"):
        yield "blocks: wht of %s" % dtype, "ok", *file_of(matrix(dtype=dtype, modes=(6,)).entry(name="t"))
    yield "blocks: one column", "ok", *file_of(matrix(columns=1, rows=33, modes=(2,)).entry(name="t"))

    def case(change, **options):
        p = matrix(**options)
        change(p)
        return file_of(p.entry(name="t"))

    def member(key, value):
        return lambda p: setattr(p, key, value(getattr(p, key)))

    def mode(i, m):
        return member("modes", lambda v: v[:i] + [(m, v[i][1])] + v[i + 1:])

    def count(i, n):
        return member("modes", lambda v: v[:i] + [(v[i][0], n(v[i][1]))] + v[i + 1:])

    wide = (1 << 20) + 1
    for name, change in (
            ("no column", member("columns", lambda v: 0)), ("columns that do not divide", member("columns", lambda v: 49)), ("more columns than elements", member("columns", lambda v: 4000)),
            ("other columns", member("columns", lambda v: 100)), ("2^63 columns", member("columns", lambda v: 1 << 63)), ("rows above 2^20 bytes", member("columns", lambda v: wide)),
            ("no mode", member("modes", lambda v: [])), ("14 modes", member("modes", lambda v: v + [(15, 1)] * 10)), ("predictor 7", mode(3, 7)),
            ("wht with differences", mode(3, 14)), ("predictor 7 with differences", mode(3, 15)), ("another transform", mode(3, 6)), ("mode 16", mode(3, 16)), ("mode 255", mode(3, 255)), ("a mode twice", mode(1, 0)), ("modes falling", member("modes", lambda v: v[::-1])),
            ("another mode", mode(2, 4)), ("a count of 0", count(3, lambda n: 0)), ("a count less", count(0, lambda n: n - 1)), ("a count more", count(0, lambda n: n + 1)),
            ("a count of 2^64 - 1", count(0, lambda n: (1 << 64) - 1)), ("other counts of the same sum", member("modes", lambda v: [(v[0][0], v[0][1] + 1), (v[1][0], v[1][1] - 1)] + v[2:])),
            ("check", member("check", lambda v: 1)), ("byte after the modes", member("after", lambda v: bytes(12) + b"\1")), ("no byte after the modes", member("after", lambda v: b"")),
            ("16 bytes after the modes", member("after", lambda v: bytes(29))), ("modes cut", member("packed", lambda v: b"\0")), ("other modes", member("packed", lambda v: bytes(3)))):
        # Another mode, or another order of rows, is no error that a check could see in the index:
        # the tensor's bytes differ, and so does the file's hash.
        yield "blocks: " + name, "corrupt", *case(change)
    p = matrix(rows=33, columns=33, modes=(0, 1, 5))
    yield "blocks: number beyond the modes", "corrupt", *case(lambda p: p.numbers.__setitem__(0, 3), rows=33, columns=33, modes=(0, 1, 5))
    packed = sum(n << 2 * i for i, n in enumerate(p.numbers)) | 1 << 23
    yield "blocks: bits after the last mode", "corrupt", *case(member("packed", lambda v: packed.to_bytes(3, "little")), rows=33, columns=33, modes=(0, 1, 5))
    e = matrix().entry(name="t")
    for n in range(len(e.parameters)):
        cut = matrix().entry(name="t")
        cut.parameters = e.parameters[:n]
        yield "blocks: parameters cut at %d" % n, "corrupt", *file_of(cut)
    for n in (0, 1, 2, 3, 15, 16, 17, 40, len(e.payload) - 64, len(e.payload) - 1):
        cut = matrix().entry(name="t")
        cut.payload = e.payload[:n]
        yield "blocks: payload cut at %d" % n, "corrupt", *file_of(cut)
    wider = entry(tensor(dtype="U32", n=256), dtype="U32")
    wider.coding, wider.parameters = 4, bytes([1, 16, 1, 0, 1]) + xxh3_64(b"").to_bytes(8, "little")[:4] + wider.parameters
    yield "blocks: elements of 32 bits", "corrupt", *file_of(wider)
    yield "blocks: tile check", "corrupt", *case(lambda p: p.tiles.checks.__setitem__(0, p.tiles.checks[0] ^ 1))


def spoil(kind, make, changes, **options):
    """A case for each change of a payload that make() gives."""
    right = make(**options)
    for name, change in changes:
        p = copy.deepcopy(right)
        change(p)
        yield "%s: %s" % (kind, name), "corrupt", *file_of(p.entry(name="t"))


def lossy_right():
    for dtype in ("BF16", "F16", "F32"):
        for row_scales in (0, 1):
            yield "lossy %s, scales %d" % (dtype, row_scales), "ok", *file_of(approximated(dtype=dtype, row_scales=row_scales).entry(name="t"))
            yield "lossy %s, scales %d, plain" % (dtype, row_scales), "ok", *file_of(approximated(dtype=dtype, row_scales=row_scales, modes=(0,)).entry(name="t"))
        # Coefficients of all 16 bits: the transforms' numbers wrap, and F16 becomes infinite.
        for modes in ((1,), (2,), (0, 1, 2)):
            p = approximated(3, dtype, rows=16, columns=30, modes=modes, w=1, row_scales=0, scales=[1.0], split=[(CODED, 8), (CODED, 8)], add=0)
            yield "lossy %s at the extremes, modes %s" % (dtype, modes), "ok", *file_of(p.entry(name="t"))
    for rows, columns in ((1, 1), (1, 700), (700, 1), (15, 257), (8, 8), (9, 256), (16, 512)):
        for modes in ((1,), (0, 2)):
            yield "lossy: %d x %d, modes %s" % (rows, columns, modes), "ok", *file_of(approximated(5, rows=rows, columns=columns, modes=modes).entry(name="t"))
    for order in range(4):
        yield "lossy: order %d" % order, "ok", *file_of(approximated(6, order=order, rows=17, profile=P8).entry(name="t"))
    e = approximated().entry(name="t")
    yield "lossy: an alias", "ok", *file_of(e, encode.alias_entry([e], 0, name="u", dtype="BF16", shape=(40, 50)))


def lossy_wrong():
    def member(key, value):
        return lambda p: setattr(p, key, value(getattr(p, key)))

    def mode(i, m):
        return member("modes", lambda v: v[:i] + [(m, v[i][1])] + v[i + 1:])

    def count(i, n):
        return member("modes", lambda v: v[:i] + [(v[i][0], n(v[i][1]))] + v[i + 1:])

    def scale(i, bits):
        def change(p):
            p.scale_bytes = b"".join(struct.pack("<I", bits) if k == i else struct.pack("<f", s) for k, s in enumerate(p.scales))
        return change

    def figure(i, bits):
        return member("figures", lambda v: v[:8 * i] + struct.pack("<Q", bits) + v[8 * i + 8:])

    yield from spoil("lossy", approximated, [
        ("no column", member("columns", lambda v: 0)), ("columns that do not divide", member("columns", lambda v: 49)), ("other columns", member("columns", lambda v: 25)),
        ("2^63 columns", member("columns", lambda v: 1 << 63)), ("rows above 2^20 bytes", member("columns", lambda v: (1 << 19) + 1)), ("scales of another kind", member("row_scales", lambda v: 2)),
        ("order 4", member("order", lambda v: 4)), ("order 255", member("order", lambda v: 255)),
        ("one scale of many", member("row_scales", lambda v: 0)), ("no mode", member("modes", lambda v: [])), ("4 modes", member("modes", lambda v: v + [(3, 1)])),
        ("mode 3", mode(2, 3)), ("mode 255", mode(2, 255)), ("a mode twice", mode(1, 0)), ("modes falling", member("modes", lambda v: v[::-1])), ("a count of 0", count(1, lambda n: 0)),
        ("a count less", count(0, lambda n: n - 1)), ("a count more", count(0, lambda n: n + 1)), ("a count of 2^64 - 1", count(0, lambda n: (1 << 64) - 1)),
        ("other counts of the same sum", member("modes", lambda v: [(v[0][0], v[0][1] + 1), (v[1][0], v[1][1] - 1), v[2]])), ("check", member("check", lambda v: 1)),
        ("byte after the scales", member("after", lambda v: b"\1")), ("16 bytes after the scales", member("after", lambda v: bytes(16))), ("a scale less", member("scales", lambda v: v[1:])),
        ("a scale more", member("scales", lambda v: v + [1.0])), ("other modes", member("packed", lambda v: bytes(48))), ("modes cut", member("packed", lambda v: b"\0")),
        ("a number beyond the modes", lambda p: p.numbers.__setitem__(7, 3)), ("tile check", lambda p: p.tiles.checks.__setitem__(0, p.tiles.checks[0] ^ 1))])
    yield from spoil("lossy", approximated, [("scale %s" % name, scale(39, bits)) for name, bits in (
        ("-0", 1 << 31), ("negative", 0xBF800000), ("subnormal", 1), ("below 2^-100", 0x0D7FFFFF), ("above 2^60", 0x5D800001), ("infinite", 0x7F800000), ("NaN", 0x7FC00000), ("-NaN", 0xFFC00001))])
    yield from spoil("lossy", approximated, [("error figure %d %s" % (i, name), figure(i, bits)) for i in range(3) for name, bits in (
        ("-0", 1 << 63), ("negative", 0xBFF0000000000000), ("infinite", 0x7FF0000000000000), ("NaN", 0x7FF8000000000000))])
    yield from spoil("lossy, one scale", approximated, [("scale NaN", scale(0, 0x7F800001)), ("scale 2^127", scale(0, 0x7F000000))], row_scales=0)
    yield from spoil("lossy, plain", approximated, [("a count less", count(0, lambda n: n - 1)), ("count of blocks", count(0, lambda n: 192)), ("as if DCT", mode(0, 1)), ("an order", member("order", lambda v: 1)),
                                                    ("mode bytes", member("packed", lambda v: bytes(16)))], modes=(0,))


def lossy_records():
    for dtype in ("U16", "I16", "F64", "F8_E4M3", "U32", "F9_NEW"):
        e = approximated(columns=32).entry(name="t", dtype=dtype)
        bits = {"F64": 64, "F8_E4M3": 8, "U32": 32}.get(dtype, 16)
        e.shape = (40, 512 // bits)
        yield "lossy %s" % dtype, "corrupt", *file_of(e)
    e = approximated().entry(name="t")
    e.name = e.dtype = None
    yield "a lossy blob", "corrupt", *file_of(e)
    e = approximated(dtype="F16").entry(name="t", dtype="F32")
    e.shape = (20, 50)
    yield "lossy F16 as F32", "corrupt", *file_of(e)
    for modes in ((0, 1, 2), (0,)):
        e = approximated(modes=modes).entry(name="t")
        for n in range(len(e.parameters)):
            cut = copy.copy(e)
            cut.parameters = e.parameters[:n]
            yield "lossy, modes %s: parameters cut at %d" % (modes, n), "corrupt", *file_of(cut)
        for n in (0, 1, 15, 16, 17, 47, 48, 100, 160, len(e.payload) - 64, len(e.payload) - 1):
            cut = copy.copy(e)
            cut.payload = e.payload[:n]
            yield "lossy, modes %s: payload cut at %d" % (modes, n), "corrupt", *file_of(cut)
    wide = approximated(modes=(0,), rows=64, columns=1, w=1).entry(name="t")
    at = wide.parameters.index(struct.pack("<I", xxh3_64(wide.payload[:256]) & 0xFFFFFFFF)) + 4
    for w in (2, 3):
        wide.parameters = wide.parameters[:at] + bytes([w]) + wide.parameters[at + 1:]
        yield "lossy: coefficients of 2^%d bytes" % w, "corrupt", *file_of(wide)


def at_rate(seed=1, rows=20, columns=140, bits=2, units=3, rate=0.01, spill=1):
    return encode.FixedPayload(random.Random(seed), rows, columns, bits, units, rate, spill)


def fixed_right():
    for bits in (2, 3):
        for rows, columns in ((1, 1), (16, 128), (17, 127), (3, 400), (40, 129)):
            yield "fixed, %d bits: %d x %d" % (bits, rows, columns), "ok", *file_of(at_rate(rows, rows, columns, bits).entry(name="t"))
        for units in (1, 16):
            for rate in (0.0, 0.2):
                yield "fixed, %d bits, lists of %d, outliers %g" % (bits, units, rate), "ok", *file_of(at_rate(7, bits=bits, units=units, rate=rate, spill=0.5).entry(name="t"))
    e = at_rate().entry(name="t")
    yield "fixed: an alias", "ok", *file_of(e, encode.alias_entry([e], 0, name="u", dtype="BF16", shape=(20, 140)))


def fixed_wrong():
    def member(key, value):
        return lambda p: setattr(p, key, value)

    def tile(key, value, i=1):
        return lambda p: setattr(p.tiles[i], key, value(p.tiles[i]))

    def shift(i, value):
        return lambda p: p.shifts.__setitem__(i, value)

    yield from spoil("fixed", at_rate, [
        ("no column", member("columns", 0)), ("columns that do not divide", member("columns", 139)), ("other columns", member("columns", 70)), ("2^63 columns", member("columns", 1 << 63)),
        ("1 bit", member("bits", 1)), ("4 bits", member("bits", 4)), ("0 bits", member("bits", 0)), ("other bits", member("bits", 3)), ("no list", member("units", 0)),
        ("17 units", member("units", 17)), ("other lists", member("units", 4)), ("a spilled element less", member("spilled", 3)), ("many spilled elements", member("spilled", 1 << 40)),
        ("2^64 - 1 spilled elements", member("spilled", (1 << 64) - 1)), ("more foreign than spilled", member("foreign", 500)), ("check", member("check", 1)),
        ("a spilled element of no tile", member("extra", bytes(4))), ("2048 of no tile", member("extra", bytes(8192))), ("a byte at the end", member("extra", b"1")),
        ("padding", member("padding", bytes(7) + b"\1")), ("padding of another size", member("padding", bytes(16))), ("a tile less", lambda p: p.tiles.pop()),
        ("tile check", member("bad_check", 2)), ("a shift of -127", shift(3, -127)), ("a shift of -120", shift(31, -120)), ("a shift less", lambda p: p.shifts.pop()),
        ("short outliers in another order", tile("short", lambda t: t.short[::-1])), ("a short outlier twice", tile("short", lambda t: t.short[:1] * 2)),
        ("long outliers in another order", tile("long", lambda t: t.long[::-1])), ("a long outlier twice", tile("long", lambda t: t.long[:1] * 2)),
        ("an outlier short and long", tile("long", lambda t: [(t.short[0][0], 3)])), ("spilled elements in another order", tile("spilled", lambda t: t.spilled[::-1] if len(t.spilled) > 1 else [(5, 1), (4, 1)])),
        ("a spilled element twice", tile("spilled", lambda t: t.spilled[:1] * 2)), ("bit 11 of a spilled element", tile("spilled", lambda t: [(t.spilled[0][0] | 1 << 11, 0)])),
        ("bit 15 of a spilled element", tile("spilled", lambda t: [(t.spilled[0][0] | 1 << 15, 0)])), ("255 short outliers", tile("counts", lambda t: (255, 0))),
        ("127 long outliers", tile("counts", lambda t: (0, 127))), ("a list that overlaps", tile("counts", lambda t: (20, 5))), ("first less", tile("numbers", lambda t: (0, len(t.spilled)))),
        ("first beyond", tile("numbers", lambda t: (1000, len(t.spilled)))), ("first 2^32 - 1", tile("numbers", lambda t: ((1 << 32) - 1, 1))), ("no spilled element", tile("numbers", lambda t: (1, 0))),
        ("2049 spilled elements", tile("numbers", lambda t: (1, 2049))), ("2^32 - 1 spilled elements", tile("numbers", lambda t: (1, (1 << 32) - 1)))])
    yield from spoil("fixed, 3 bits", at_rate, [("a shift of -112", shift(0, -112)), ("other bits", member("bits", 2))], bits=3)


def fixed_records():
    for dtype in ("U16", "I16", "F16", "F32", "F9_NEW"):
        e = at_rate().entry(name="t", dtype=dtype)
        e.shape = (20, 70) if dtype == "F32" else (20, 140)
        yield "fixed %s" % dtype, "corrupt", *file_of(e)
    e = at_rate().entry(name="t")
    e.name = e.dtype = None
    yield "a fixed blob", "corrupt", *file_of(e)
    e = at_rate().entry(name="t")
    for n in range(len(e.parameters)):
        cut = copy.copy(e)
        cut.parameters = e.parameters[:n]
        yield "fixed: parameters cut at %d" % n, "corrupt", *file_of(cut)
    for n in (0, 1, 31, 32, 48, 64, 100, len(e.payload) - 4, len(e.payload) - 1):
        cut = copy.copy(e)
        cut.payload = e.payload[:n]
        yield "fixed: payload cut at %d" % n, "corrupt", *file_of(cut)
    long = copy.copy(e)
    long.payload += bytes(4)
    yield "fixed: payload of four more bytes", "corrupt", *file_of(long)
    thin = at_rate(rows=16, columns=1).entry(name="t")
    thin.size, thin.shape = 1 << 48, (1 << 47, 1)
    yield "fixed of 2^48 bytes in a small payload", "corrupt", *file_of(thin, size=1 << 48)


def in_fragments():
    for dtype in ("I8", "BF16", "F16", "F8_E4M3", "U8"):
        yield "fragments of %s as they should be" % dtype, "ok", *file_of(fragments(dtype=dtype).entry(name="t"))
    for rows, columns in ((1, 1), (1, 700), (700, 1), (15, 128), (16, 127), (16, 128), (16, 129), (17, 256), (48, 384), (33, 4000)):
        yield "fragments: %d x %d" % (rows, columns), "ok", *file_of(fragments(2, rows=rows, columns=columns).entry(name="t"))
    yield "fragments: tiles of 65536", "ok", *file_of(fragments(3, t=16, rows=50, columns=384).entry(name="t"))
    yield "fragments: all modes and runs", "ok", *file_of(fragments(4, "BF16", rows=60, columns=384, profile=P8, pool=4, run=7, modes=(0, 1, 2)).entry(name="t"))
    e = fragments().entry(name="t")
    yield "fragments: an alias", "ok", *file_of(e, encode.alias_entry([e], 0, name="u", dtype="I8", shape=(40, 300)))
    e = fragments().entry()
    e.name = e.dtype = None
    yield "fragments: a blob", "ok", *file_of(e)
    for name, columns in (("no column", 0), ("columns that do not divide", 49), ("more columns than elements", 24000), ("other columns", 150), ("2^63 columns", 1 << 63), ("rows above 2^20 bytes", (1 << 20) + 1)):
        p = fragments()
        p.columns = columns
        e = p.entry(name="t")
        e.shape = (40, 300)
        yield "fragments: " + name, "corrupt", *file_of(e)
    e = fragments().entry(name="t")
    for n in range(len(e.parameters)):
        cut = copy.copy(e)
        cut.parameters = e.parameters[:n]
        yield "fragments: parameters cut at %d" % n, "corrupt", *file_of(cut)
    for n in (0, 1, 15, 16, 40, len(e.payload) - 64, len(e.payload) - 1):
        cut = copy.copy(e)
        cut.payload = e.payload[:n]
        yield "fragments: payload cut at %d" % n, "corrupt", *file_of(cut)
    wider = entry(tensor(dtype="U32", n=256), dtype="U32")
    wider.coding, wider.parameters = 7, bytes([1, 16]) + wider.parameters
    yield "fragments: elements of 32 bits", "corrupt", *file_of(wider)
    p = fragments()
    p.tiles.checks[0] ^= 1
    yield "fragments: tile check", "corrupt", *file_of(p.entry(name="t"))
    thin = fragments(rows=16, columns=1).entry(name="t")
    thin.size, thin.shape = 1 << 48, (1 << 47, 2)
    yield "fragments of 2^48 bytes in a small payload", "limit", *file_of(thin, size=1 << 48)


def packed_tensor(dtype="F16", n=1280, **more):
    return encode.packed_entry(tensor(3, dtype, n=n, **{"pool": 1, "profile": P8, **more}), name="t", dtype=dtype, shape=(n,))


def packed_right():
    for dtype, n in (("BF16", 129), ("F16", 1280), ("F32", 4096 + 1), ("I8", 3 * 128), ("U8", 5000), ("F64", 200)):
        for profile in (PAIRS, P12, P8):
            e = packed_tensor(dtype, n, profile=profile)
            yield "packed %s, profile %d" % (dtype, profile), "ok", *file_of(e)
    f = packed_tensor("BF16", 2000)
    yield "packed: an alias", "ok", *file_of(f, encode.alias_entry([f], 0, name="u", dtype="BF16", shape=(2000,)))
    f.name, f.dtype = "u", "F16"
    yield "packed after packed", "ok", *file_of(e, f)


def packed_wrong():
    e = packed_tensor()
    size = encode.Cursor(e.parameters).varint()
    rest = e.parameters[len(varint(size)):]
    for name, wrong in (("0", 0), ("16 less", size - 16), ("16 more", size + 16), ("1 more", size + 1), ("65537", 65537), ("2^32", 1 << 32), ("2^63", 1 << 63)):
        yield "packed: unpacked size %s" % name, "corrupt", *file_of(changed(packed_tensor, parameters=varint(wrong) + rest))
    for n in range(len(e.parameters)):
        yield "packed: parameters cut at %d" % n, "corrupt", *file_of(changed(packed_tensor, parameters=e.parameters[:n]))
    for n in (0, 1, 2, 20, 40, 100, 200, len(e.payload) // 2, len(e.payload) - 1):
        yield "packed: payload cut at %d" % n, "corrupt", *file_of(changed(packed_tensor, payload=e.payload[:n]))
    yield "packed: a byte more", "corrupt", *file_of(changed(packed_tensor, payload=e.payload + b"\0"))
    yield "packed: 70000 bytes more", "corrupt", *file_of(changed(packed_tensor, payload=e.payload + bytes(70000)))
    for n in range(48):
        flipped = bytearray(e.payload)
        flipped[n] ^= 1 << n % 8
        yield "packed: bit %d of byte %d" % (n % 8, n), "corrupt", *file_of(changed(packed_tensor, payload=bytes(flipped)))
    large = packed_tensor("F64", 8192, split=[(CODED, 8), (encode.CONSTANT, 56)])
    yield "packed: 65536 bytes", "ok", *file_of(large)
    large.size, large.shape = 65544, (8193,)
    yield "packed: 65544 bytes", "corrupt", *file_of(large, size=65544)
    with_runs = entry(tensor(4, "BF16", n=1000, profile=P8, pool=2, run=7), dtype="BF16")
    with_runs.coding, with_runs.parameters = 8, varint(len(with_runs.payload)) + with_runs.parameters
    yield "packed: runs", "corrupt", *file_of(with_runs)


def in_records():
    every = [(2, "p", 1), (3, "c", 0), (16, "t", 0), (8, "z", 0), (4, "t", 2), (8, "c", 3)]
    for count in (1, 2, 33, 5000):
        yield "records of every coding: %d" % count, "ok", *file_of(in_fields(1, count, [f for f in every if f[1] != "p" or count < 5000]).entry(name="t"))
    yield "records: fields in another order", "ok", *file_of(in_fields(2, 77, every, shuffled=True).entry(name="t"))
    yield "records of one byte", "ok", *file_of(in_fields(3, 300, [(1, "t", 0)]).entry(name="t"))
    yield "records of 4096 bytes", "ok", *file_of(in_fields(4, 3, [(4095, "z", 0), (1, "c", 0)]).entry(name="t"))
    yield "records: 16 fields", "ok", *file_of(in_fields(5, 20, [(1 + i, "cz"[i % 2], 0) for i in range(16)]).entry(name="t"))
    yield "records: elements of two records", "ok", *file_of(in_fields(6, 20, [(3, "t", 1), (1, "c", 2)]).entry(name="t"))
    yield "records: no payload", "ok", *file_of(in_fields(7, 20, [(1, "c", 0), (2, "c", 1)]).entry(name="t"))
    yield "records: all modes, several tiles", "ok", *file_of(in_fields(8, 700, modes=(0, 1, 2)).entry(name="t"))
    e = in_fields().entry(name="t")
    yield "records: an alias", "ok", *file_of(e, encode.alias_entry([e], 0, name="u", dtype="U8", shape=(100, 34)))
    blob = in_fields().entry()
    yield "records: a blob", "ok", *file_of(blob)


def masked_right():
    for dtype in ("I8", "BF16", "F32", "F64"):
        for n in (1, 8, 9, 4096, 4097, 3 * 4096 - 1):
            yield "masked: %d of %s" % (n, dtype), "ok", *file_of(masked_tensor(2, dtype, n).entry(name="t"))
    for name, share, kinds in (("one value", 0, "zz"), ("all values", 1, "zt"), ("constants", 0.5, "cc"), ("packed values", 0.1, "zp")):
        yield "masked: %s" % name, "ok", *file_of(masked_tensor(3, "BF16", 5000, share, kinds).entry(name="t"))
    for t in (12, 13, 16):
        yield "masked: tiles of 2^%d" % t, "ok", *file_of(masked_tensor(4, n=9000, t=t).entry(name="t"))
    e = masked_tensor(6).entry(name="t")
    yield "masked: an alias", "ok", *file_of(e, encode.alias_entry([e], 0, name="u", dtype="F32", shape=(9000,)))
    yield "masked: a blob", "ok", *file_of(masked_tensor(7).entry())


def masked_wrong():
    def spoiled(change, **more):
        p = masked_tensor(**more)
        change(p)
        return file_of(p.entry(name="t"))

    def member(name, value):
        return lambda p: setattr(p, name, value)

    def count(i, more):
        def change(p):
            p.counts[i] += more
        return change

    def both(*changes):
        def change(p):
            for c in changes:
                c(p)
        return change

    def last_bits(p):
        mask = bytearray(p.mask.data)
        mask[-1] |= 128
        p.mask = encode.chunk_entry(bytes(mask), 1 << 20)
    yield "masked: another form", "newer", *spoiled(member("form", 2))
    for name, change in (("w of 4", member("w", 4)), ("w of 3", member("w", 3)), ("w of 1", member("w", 1)), ("t of 11", member("t", 11)), ("t of 17", member("t", 17)), ("t of 16", member("t", 16)),
                         ("no values", member("values", 0)), ("2^63 values", member("values", 1 << 63)), ("2^64 - 1 values", member("values", (1 << 64) - 1)), ("more values than elements", member("values", 9001)),
                         ("another check", member("check", 1)), ("a count less", count(1, -1)), ("a count more", count(1, 1)), ("counts of other tiles", both(count(0, 1), count(1, -1))),
                         ("a count of 2^32 - 1", lambda p: p.counts.__setitem__(0, (1 << 32) - 1)), ("counts that go round", both(lambda p: p.counts.__setitem__(0, (1 << 32) - 1), count(1, 1))),
                         ("a count too few", lambda p: p.counts.pop()), ("a count too many", lambda p: p.counts.append(0)), ("another mask", lambda p: setattr(p, "mask", encode.chunk_entry(bytes(1125), 1 << 20))),
                         ("a mask of ones", lambda p: setattr(p, "mask", encode.constant_entry(b"\xff", 1125))), ("mask and values exchanged", lambda p: p.__dict__.update(mask=p.part, part=p.mask)),
                         ("a part of coding 3", lambda p: setattr(p.part, "coding", 3)), ("a part of coding 9", lambda p: setattr(p.part, "coding", 9)), ("a part of coding 10", lambda p: setattr(p.part, "coding", 10)),
                         ("a part of coding 11", lambda p: setattr(p.part, "coding", 11)), ("a part of coding 12", lambda p: setattr(p.part, "coding", 12)), ("a part of coding 255", lambda p: setattr(p.part, "coding", 255)),
                         ("parameters and a byte", lambda p: setattr(p.part, "parameters", p.part.parameters + b"\0")), ("parameters cut", lambda p: setattr(p.part, "parameters", p.part.parameters[:-1])),
                         ("a payload more", lambda p: setattr(p.part, "payload", p.part.payload + bytes(16))), ("a payload cut", lambda p: setattr(p.part, "payload", p.part.payload[:-16]))):
        yield "masked: %s" % name, "corrupt", *spoiled(change)
    yield "masked: bits after the end", "corrupt", *spoiled(last_bits, n=9001)
    e = masked_tensor().entry(name="t")
    for n in range(len(e.parameters)):
        e = masked_tensor().entry(name="t")
        e.parameters = e.parameters[:n]
        yield "masked: parameters cut at %d" % n, "corrupt", *file_of(e)
    for n in (0, 1, 11, 12, 16, 100, 1000, len(e.payload) - 1):
        e = masked_tensor().entry(name="t")
        e.payload = e.payload[:n]
        yield "masked: payload cut at %d" % n, "corrupt", *file_of(e)
    e = masked_tensor().entry(name="t")
    e.size, e.shape = 1 << 48, (1 << 46,)
    yield "masked: of 2^48 bytes in a small payload", "corrupt", *file_of(e, size=1 << 48)


def anchored_right():
    for dtype in ("BF16", "F16", "F32"):
        for rows, columns in ((1, 1), (9, 1), (1, 300), (300, 20), (4097, 3)):
            yield "anchored: %d x %d of %s" % (rows, columns, dtype), "ok", *file_of(by_anchors(2, dtype, rows, columns, 1).entry(name="t"))
    for name, more in (("wide", {"w": 1, "i": 2}), ("16-bit indices", {"i": 1}), ("packed", {"kinds": "pzp"}), ("constants", {"kinds": "ccc"}), ("as many anchors as rows", {"anchors": 300, "i": 1}),
                       ("scale 0", {"scale": 0.0}), ("largest scale", {"scale": 2.0 ** 60, "dtype": "F16"}), ("least scale", {"scale": 2.0 ** -100})):
        yield "anchored: %s" % name, "ok", *file_of(by_anchors(3, **more).entry(name="t"))
    e = by_anchors(6).entry(name="t")
    yield "anchored: an alias", "ok", *file_of(e, encode.alias_entry([e], 0, name="u", dtype="F32", shape=(300, 33)))


def anchored_wrong():
    data = by_anchors().data()

    def spoiled(change, **names):
        p = by_anchors()
        change(p)
        return file_of(p.entry(data, name="t", **names))

    def member(name, value):
        return lambda p: setattr(p, name, value)

    def figure(i, bits):
        return lambda p: setattr(p, "figures", p.figures[:8 * i] + bits.to_bytes(8, "little") + p.figures[8 * i + 8:])

    def part(i, name, value):
        return lambda p: setattr(p.parts[i], name, value)

    def no_index(p):
        p.parts[1] = encode.chunk_entry(bytes(299) + b"\7", 1 << 20)
    yield "anchored: another form", "newer", *spoiled(member("form", 2))
    for name, change in (("no columns", member("columns", 0)), ("32 columns", member("columns", 32)), ("34 columns", member("columns", 34)), ("2^18 + 1 columns", member("columns", (1 << 18) + 1)),
                         ("2^63 columns", member("columns", 1 << 63)), ("w of 2", member("w", 2)), ("w of 1", member("w", 1)), ("i of 3", member("i", 3)), ("i of 1", member("i", 1)),
                         ("no anchors", member("anchors", 0)), ("more anchors than rows", member("anchors", 301)), ("2^64 - 1 anchors", member("anchors", (1 << 64) - 1)), ("an anchor less", member("anchors", 6)),
                         ("a negative scale", member("scale_bytes", b"\0\0\x80\xbf")), ("a scale NaN", member("scale_bytes", b"\1\0\x80\x7f")), ("a tiny scale", member("scale_bytes", b"\0\0\0\x0d")),
                         ("a huge scale", member("scale_bytes", b"\1\0\x80\x5d")), ("a negative error", figure(0, 1 << 63)), ("an infinite error", figure(1, 0x7FF << 52)), ("an error NaN", figure(2, (1 << 63) - 1)),
                         ("an index of no anchor", no_index), ("an index of 255", lambda p: p.parts.__setitem__(1, encode.constant_entry(b"\xff", 300))),
                         ("anchors and residuals exchanged", lambda p: p.parts.reverse()), ("a part of coding 3", part(0, "coding", 3)), ("a part of coding 9", part(1, "coding", 9)),
                         ("a part of coding 13", part(2, "coding", 13)), ("a part of coding 255", part(2, "coding", 255)), ("a payload more", lambda p: setattr(p.parts[2], "payload", p.parts[2].payload + bytes(16))),
                         ("a payload cut", lambda p: setattr(p.parts[2], "payload", p.parts[2].payload[:-16]))):
        yield "anchored: %s" % name, "corrupt", *spoiled(change)
    for dtype, shape in (("I8", (4 * 9900,)), ("F64", (9900 // 2,)), ("U32", (300, 33))):
        yield "anchored: of %s" % dtype, "corrupt", *spoiled(lambda p: None, dtype=dtype, shape=shape)
    yield "anchored: a blob", "corrupt", *file_of(by_anchors().entry())
    e = by_anchors().entry(name="t")
    for n in range(len(e.parameters)):
        e = by_anchors().entry(data, name="t")
        e.parameters = e.parameters[:n]
        yield "anchored: parameters cut at %d" % n, "corrupt", *file_of(e)
    for n in (0, 1, 16, 100, 1000, len(e.payload) - 1):
        e = by_anchors().entry(data, name="t")
        e.payload = e.payload[:n]
        yield "anchored: payload cut at %d" % n, "corrupt", *file_of(e)
    e = by_anchors().entry(data, name="t")
    e.size, e.shape = 33 * 4 << 40, (1 << 40, 33)
    yield "anchored: of 2^45 bytes in a small payload", "corrupt", *file_of(e, size=33 * 4 << 40)


def records_wrong():
    def spoiled(change, entry_too=None, **more):
        p = in_fields(**more)
        change(p)
        e = p.entry(name="t")
        if entry_too:
            entry_too(e)
        return file_of(e)

    def field(i, k, value):
        def change(p):
            p.fields[i][k] = value
        return change

    def both(*changes):
        def change(p):
            for c in changes:
                c(p)
        return change
    for name, change in (("overlapping", field(1, 0, 1)), ("the same", field(1, 0, 0)), ("a gap", both(field(1, 0, 3), field(1, 1, 31))), ("beyond the record", field(1, 0, 33)), ("far beyond", field(1, 0, 1 << 40)),
                         ("a byte not covered", lambda p: p.fields.pop()), ("wider than the record", field(1, 1, 35)), ("of 2^63 bytes", field(1, 1, 1 << 63)), ("of no bytes", field(1, 1, 0)),
                         ("one too many", lambda p: p.fields.append([34, 1, 0, b"\0\0", b""])), ("one again", lambda p: p.fields.append(list(p.fields[0]))), ("none", lambda p: p.fields.clear()),
                         ("17", lambda p: p.fields.extend([34 + i, 1, 0, b"\0\0", b""] for i in range(15))), ("255", lambda p: p.fields.extend([34 + i, 1, 0, b"\0\0", b""] for i in range(253))),
                         ("parameters and a byte", lambda p: field(0, 3, p.fields[0][3] + b"\0")(p)), ("parameters cut", lambda p: field(0, 3, p.fields[0][3][:-1])(p)),
                         ("a payload more", lambda p: field(0, 4, p.fields[0][4] + bytes(16))(p)), ("a payload cut", lambda p: field(1, 4, p.fields[1][4][:-16])(p))):
        yield "records: fields, " + name, "corrupt", *spoiled(change)
    for name, size in (("0", 0), ("33", 33), ("35", 35), ("68", 68), ("4097", 4097), ("2^16 + 34", (1 << 16) + 34), ("2^63", 1 << 63)):
        yield "records of %s bytes" % name, "corrupt", *spoiled(lambda p, size=size: setattr(p, "record", size))
    yield "records of another form", "newer", *spoiled(lambda p: setattr(p, "form", 2))
    for coding in (3, 4, 5, 6, 7, 9, 10, 255):
        yield "records: a field of coding %d" % coding, "newer", *spoiled(field(1, 2, coding))
    constant = [(2, "c", 1), (32, "z", 0)]
    for name, change in (("elements of 2^4 bytes", field(0, 3, b"\4" + bytes(16))), ("elements that do not fit", field(0, 3, b"\3" + bytes(8))), ("with a payload", field(0, 4, bytes(16)))):
        yield "records: constant, " + name, "corrupt", *spoiled(change, count=101, fields=constant)
    for name, change in (("of no bytes", field(1, 3, b"\0")), ("of 2^24 + 1 bytes", field(1, 3, varint((1 << 24) + 1))), ("more than there is", field(1, 4, bytes(8)))):
        yield "records: chunks, " + name, "corrupt", *spoiled(change, fields=constant)
    right = in_fields().entry(name="t")
    for n in range(len(right.parameters)):
        yield "records: parameters cut at %d" % n, "corrupt", *spoiled(lambda p: None, lambda e, n=n: setattr(e, "parameters", e.parameters[:n]))
    yield "records: a byte after the parameters", "corrupt", *spoiled(lambda p: None, lambda e: setattr(e, "parameters", e.parameters + b"\0"))
    for n in (0, 1, 16, len(right.payload) // 2, len(right.payload) - 1):
        yield "records: payload cut at %d" % n, "corrupt", *spoiled(lambda p: None, lambda e, n=n: setattr(e, "payload", e.payload[:n]))
    yield "records: payload and 16 bytes", "corrupt", *spoiled(lambda p: None, lambda e: setattr(e, "payload", e.payload + bytes(16)))
    gap = [(1, "z", 0), (33, "z", 0)]
    first = len(in_fields(fields=gap).fields[0][4])

    def spoil_gap(e):
        e.payload = e.payload[:first] + b"\1" + e.payload[first + 1:]
    yield "records: a byte between payloads", "corrupt", *spoiled(lambda p: None, spoil_gap, fields=gap)
    for at in range(0, len(right.payload), 97):
        yield "records: bit of byte %d" % at, "same", *spoiled(lambda p: None, lambda e, at=at: setattr(e, "payload", e.payload[:at] + bytes([e.payload[at] ^ 4]) + e.payload[at + 1:]))
    thin = in_fields(fields=[(2, "c", 1), (32, "t", 0)]).entry(name="t")
    thin.size, thin.shape = 34 << 42, (1 << 42, 34)
    yield "records of 2^47 bytes in a small payload", "limit", *file_of(thin, size=34 << 42)


def sums():
    """Sizes that follow from the index and are too large to hold; the hash cannot be right, and nothing may be taken for it."""
    e = encode.constant_entry(b"\0", 1, name="t", dtype="U8", shape=(1 << 47,))
    e.size = 1 << 47
    yield "a constant of 2^47 bytes", "limit", *file_of(e, size=1 << 47)
    parts = [changed(name=str(i), size=1 << 48, shape=(1 << 47, 2)) for i in range(4)]
    yield "four of 2^48 bytes that say 0", "corrupt", *file_of(*parts, size=0)
    yield "four of 2^48 bytes", "limit", *file_of(*parts, size=1 << 50)
    huge = entry(tensor())
    huge.size, huge.dtype, huge.shape = 1 << 48, "U8", (1 << 47, 2)
    yield "tiles of 2^48 bytes in a small payload", "limit", *file_of(huge, size=1 << 48)
    p = matrix(columns=1, rows=16, modes=(2,))
    p.modes = [(2, 1 << 44)]
    thin = p.entry(name="t")
    thin.size, thin.shape = 1 << 48, (1 << 47, 2)
    yield "blocks of 2^48 bytes in a small payload", "limit", *file_of(thin, size=1 << 48)
    for modes, blocks_of in (((1,), 1 << 48), ((0,), 1 << 46)):
        p = approximated(dtype="F32", columns=1, rows=16, modes=modes, row_scales=0)
        p.modes = [(modes[0], blocks_of)]
        thin = p.entry(name="t")
        thin.size, thin.shape = 1 << 48, (1 << 45, 2)
        yield "lossy, modes %s, of 2^48 bytes in a small payload" % (modes,), "limit", *file_of(thin, size=1 << 48)
    c = encode.chunk_entry(b"a" * 100, 10, name="c", dtype="U8", shape=(1 << 47, 2))
    c.size = 1 << 48
    yield "chunks of 2^48 bytes in a small payload", "corrupt", *file_of(c, size=1 << 48)


def cases():
    for group in (framing, groups, index_fields, records, parameters, tables, descriptors, modes, runs, areas, chunks, blocks, lossy_right, lossy_wrong, lossy_records, fixed_right, fixed_wrong,
                  fixed_records, in_fragments, packed_right, packed_wrong, in_records, records_wrong, masked_right, masked_wrong, anchored_right, anchored_wrong, sums):
        for name, expected, data, original in group():
            yield name, expected, data, original
