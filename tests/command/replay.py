# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""usage: replay.py TRACE BEFORE AFTER NAME...
Power cuts at each call of a trace by trace.c: files of the folder BEFORE, or of AFTER, are what a NAME may hold then, or be gone where BEFORE has it not; and
what both folders have nowhere under its own name must be in one place at least. Writes that were not synced are lost, all or half of them, and of the links,
renames and removals since the folder was synced any may be lost."""
import itertools
import os
import re
import sys


def contents(folder):
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def events(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            what, inode, offset, source, target, data = re.fullmatch(r'(\w+) (\d+) (-?\d+) "(.*?)" "(.*?)" ([0-9a-f]*)\n', line).groups()
            yield what, int(inode), int(offset), source, target, bytes.fromhex(data)


def apply(names, operation):
    what, inode, source, target = operation
    if what != "unlink":
        names[target] = inode
    if what != "link":
        names.pop(source, None)


def outcomes(names, pending):
    """What the folder may have: of what is pending any operations, in their order."""
    for kept in itertools.product((False, True), repeat=len(pending)):
        result = dict(names)
        for keep, operation in zip(kept, pending):
            if keep:
                apply(result, operation)
        yield result


def main():
    trace, before, after = sys.argv[1], contents(sys.argv[2]), contents(sys.argv[3])
    watched = sys.argv[4:]
    allowed = {name: [c[name] for c in (before, after) if name in c] for name in watched}
    # What is in a file is the bytes there now, those that were there when it was last synced, and whether the two differ.
    now, synced = {}, {}
    names, pending, count, wrong = {name: name for name in before}, [], 0, 0

    def data_of(inode):
        if inode in before:
            return (before[inode],)
        whole, safe = bytes(now.get(inode, b"")), synced.get(inode)
        return (whole,) if safe == whole else (safe or b"", whole[:len(whole) // 2], bytes(len(whole)))

    def check(step):
        nonlocal count, wrong
        for result in outcomes(names, pending):
            count += 1
            for name in watched:
                for data in data_of(result[name]) if name in result else ():
                    if data not in allowed[name]:
                        wrong += 1
                        print("after %s: %s holds %d bytes that are neither what was there nor what was to be" % (step, name, len(data)))
                if name not in result and name in before and name in after:
                    wrong += 1
                    print("after %s: %s is gone" % (step, name))
            if not any(data in allowed[name] for name in watched if name in result for data in data_of(result[name])):
                wrong += 1
                print("after %s: all is lost" % (step,))

    check("nothing")
    for what, inode, offset, source, target, data in events(trace):
        if what == "write":
            file = now.setdefault(inode, bytearray())
            file.extend(bytes(max(0, offset + len(data) - len(file))))
            file[offset:offset + len(data)] = data
        elif what == "size":
            file = now.setdefault(inode, bytearray())
            del file[offset:]
            file.extend(bytes(offset - len(file)))
        elif what == "sync" and inode in now:
            synced[inode] = bytes(now[inode])
        elif what == "sync":
            for operation in pending:
                apply(names, operation)
            pending = []
        else:
            pending.append((what, inode, source, target))
        check((what, source, target))
    for operation in pending:
        apply(names, operation)
    for name in watched:
        if (name in names) != (name in after) or (name in names and after[name] not in data_of(names[name])):
            wrong += 1
            print("the trace does not end with what is there: %s" % name)
    print("%d outcomes of power cuts, %d wrong" % (count, wrong))
    sys.exit(1 if wrong else 0)


main()
