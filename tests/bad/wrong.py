#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files in which one thing is wrong (cases.py), put to the library and to the independent decoder: both must say what is expected."""
import sys

import cases
from common import WcodecError
from decode import Container
from server import Server
from xxh3 import xxh3_128


def oracle_kind(data):
    try:
        return "ok", "%032x" % xxh3_128(Container(data).decode_all())
    except WcodecError as error:
        return error.kind, str(error)


def main():
    server, seen, failed = Server(), set(), 0
    for name, expected, data, original in cases.cases():
        if name in seen:
            sys.exit("two cases are called %s" % name)
        seen.add(name)
        answers = {"library": server.kind(data)}
        if expected != "limit":
            answers["oracle"] = oracle_kind(data)
        digest = "%032x" % xxh3_128(original)
        for who, (kind, text) in answers.items():
            right = kind == expected or expected == "same" and kind in ("ok", "corrupt") or expected == "limit" and kind == "corrupt"
            if not right or kind == "ok" and text != digest:
                print("%s: expected %s, the %s says %s (%s)" % (name, expected, who, kind, text))
                failed += 1
    server.close()
    print("%d cases, %d wrong answers" % (len(seen), failed))
    return failed != 0 or len(seen) < 300


if __name__ == "__main__":
    sys.exit(main())
