# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""usage: replay.py TRACE BEFORE AFTER NAME...
Power cuts at each call of a trace by trace.c: files of the folder BEFORE, or of AFTER, are what a NAME may hold then, or be gone where BEFORE has it not; and
what both folders have nowhere under its own name must be in one place at least. NAME/ is a store of vectors, of which all is as in BEFORE, or all as in AFTER.
Writes that were not synced are lost, all or half of them, and of the links, renames, removals and new folders since the folder was synced any may be lost.
When the command has ended, nothing that AFTER holds may be lost."""
import itertools
import os
import re
import sys

MANIFEST, LOCK = "vectors.manifest", "lock"
FOLDER = "/"  # in place of an inode


def contents(folder):
    """Of files, by their paths from there."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as f:
                found[os.path.relpath(os.path.join(path, name), folder)] = f.read()
    return found


def folders(folder):
    return {os.path.relpath(path, folder) for path, _, _ in os.walk(folder)} - {"."}


def events(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            what, inode, offset, source, target, data = re.fullmatch(r'(\w+) (\d+) (-?\d+) "(.*?)" "(.*?)" ([0-9a-f]*)\n', line).groups()
            yield what, int(inode), int(offset), source, target, bytes.fromhex(data)


def apply(names, operation):
    what, inode, source, target = operation
    if what != "unlink":
        names[target] = FOLDER if what == "mkdir" else inode
    if what != "link":
        names.pop(source, None)


def folder_of(operation):
    """Whose sync makes it last. Nothing is renamed from one folder to another."""
    return os.path.dirname(operation[3] or operation[2]) or "."


def is_reachable(names, name):
    above = os.path.dirname(name)
    return not above or (above in names and is_reachable(names, above))


def outcomes(names, pending):
    """What there may be: of what is pending any operations, in their order."""
    for kept in itertools.product((False, True), repeat=len(pending)):
        result = dict(names)
        for keep, operation in zip(kept, pending):
            if keep:
                apply(result, operation)
        yield {name: inode for name, inode in result.items() if is_reachable(result, name)}


class Disk:
    """What is in files: the bytes there now, and those that were there when they were last synced."""

    def __init__(self, before):
        self.before, self.now, self.synced = before, {}, {}

    def write(self, inode, offset, data):
        file = self.now.setdefault(inode, bytearray())
        file.extend(bytes(max(0, offset + len(data) - len(file))))
        file[offset:offset + len(data)] = data

    def cut(self, inode, size):
        file = self.now.setdefault(inode, bytearray())
        del file[size:]
        file.extend(bytes(size - len(file)))

    def may_hold(self, inode):
        """After a power cut."""
        if inode in self.before:
            return (self.before[inode],)
        whole, safe = bytes(self.now.get(inode, b"")), self.synced.get(inode)
        return (whole,) if safe == whole else (safe or b"", whole[:len(whole) // 2], bytes(len(whole)))


class Check:
    def __init__(self, before, after, watched):
        self.before, self.after, self.disk = before, after, Disk(before)
        self.stores = [name for name in watched if name.endswith("/")]
        self.watched = [name for name in watched if name not in self.stores]
        self.count = self.wrong = 0

    def fail(self, step, what):
        self.wrong += 1
        print("after %s: %s" % (step, what))

    def holds(self, result, name, state):
        return name in result and all(data == state[name] for data in self.disk.may_hold(result[name]))

    def store_is(self, result, store, state):
        """All of it that is not the lock, and no other manifest. What a manifest does not name the next writer removes."""
        named = [name for name in state if name.startswith(store) and name != store + LOCK]
        return all(self.holds(result, name, state) for name in named) and (store + MANIFEST in named or store + MANIFEST not in result)

    def at(self, step, result):
        self.count += 1
        allowed = {name: [c[name] for c in (self.before, self.after) if name in c] for name in self.watched}
        for name in self.watched:
            for data in self.disk.may_hold(result[name]) if name in result else ():
                if data not in allowed[name]:
                    self.fail(step, "%s holds %d bytes that are neither what was there nor what was to be" % (name, len(data)))
            if name not in result and name in self.before and name in self.after:
                self.fail(step, "%s is gone" % name)
        if self.watched and not any(data in allowed[name] for name in self.watched if name in result for data in self.disk.may_hold(result[name])):
            self.fail(step, "all is lost")
        for store in self.stores:
            if not self.store_is(result, store, self.before) and not self.store_is(result, store, self.after):
                self.fail(step, "%s is neither the store that was there nor the one that was to be" % store)

    def at_end(self, result):
        for name in self.watched:
            if name in self.after and not self.holds(result, name, self.after):
                self.fail("the end", "%s may be lost" % name)
        for store in self.stores:
            if not self.store_is(result, store, self.after):
                self.fail("the end", "what was done to %s may be lost" % store)


def main():
    check = Check(contents(sys.argv[2]), contents(sys.argv[3]), sys.argv[4:])
    disk, pending = check.disk, []
    names = {name: name for name in check.before} | {name: FOLDER for name in folders(sys.argv[2])}

    def cut(step):
        for result in outcomes(names, pending):
            check.at(step, result)

    cut("nothing")
    for what, inode, offset, source, target, data in events(sys.argv[1]):
        if what == "write":
            disk.write(inode, offset, data)
        elif what == "size":
            disk.cut(inode, offset)
        elif what == "sync" and inode in disk.now:
            disk.synced[inode] = bytes(disk.now[inode])
        elif what == "sync":
            for operation in [p for p in pending if folder_of(p) == source]:
                apply(names, operation)
                pending.remove(operation)
        else:
            pending.append((what, inode, source, target))
        cut((what, source, target))
    for result in outcomes(names, pending):
        check.at_end(result)
    for operation in pending:
        apply(names, operation)
    for name in check.watched:
        if (name in names) != (name in check.after) or (name in names and check.after[name] not in disk.may_hold(names[name])):
            check.fail("the end", "the trace does not end with what is there: %s" % name)
    print("%d outcomes of power cuts, %d wrong" % (check.count, check.wrong))
    sys.exit(1 if check.wrong else 0)


main()
