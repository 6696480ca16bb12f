# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Folders beside their mirrors: weights are coded or restored, and all else is copied, so that the
mirror is a complete model folder; as the command does it."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import Any

from ._errors import (
    ExistsError,
    FileError,
    LimitError,
    MissingFileError,
    UsageError,
    file_error,
)
from ._open import read_index
from ._write import give_mode, replacing

log = logging.getLogger("wcodec")

MAX_DEPTH = 64

Make = Callable[[str, str], dict[str, Any]]
"""Codes or restores the first file to the second one's place."""


# How names of temporary files end, after ".NAME.": the command's, the library's, and those of
# _write.py; and whether files of any name are written so, not only those of weights.
_ENDINGS = [
    (re.compile(r"\.(.+)\.([0-9a-v]{10})", re.S), True),
    (re.compile(r"\.(.+)\.([A-Za-z0-9_-]{6})", re.S), False),
    (re.compile(r"\.(.+)\.([0-9a-f]{12})\.part", re.S), True),
]


def _is_temporary(path: str) -> bool:
    """Whether it is what a run that was killed left, by the rules of the command (utils/walk.c):
    other names than those of weights only where there is a file of that name."""
    folder, base = os.path.split(path)
    for ending, any_name in _ENDINGS:
        found = ending.fullmatch(base)
        if found is None or not _looks_random(found[2]):
            continue
        if found[1].endswith((".wcodec", ".safetensors")):
            return True
        if any_name and os.path.exists(os.path.join(folder, found[1])):
            return True
    return False


def _looks_random(text: str) -> bool:
    """No word, date or number."""
    return (
        re.search("[0-9A-Z]", text[1:]) is not None
        and re.search("[^0-9]", text) is not None
        and re.search("[^A-Z]", text) is not None
    )


def _make_like(path: str, source: str) -> None:
    """A folder, if there is none, in which nobody may do more than in `source`."""
    found = os.stat(source)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        give_mode(handle, found.st_mode & 0o777 | 0o700, found.st_gid)
    finally:
        os.close(handle)


def check_index(path: str) -> None:
    """Whether all files of the model are beside its index.json."""
    names = set(read_index(path).values())
    missing = sorted(n for n in names if not os.path.isfile(os.path.join(os.path.dirname(path), n)))
    if missing:
        text = f"{len(missing)} of the {len(names)} files of this model missing: {missing[0]}"
        raise MissingFileError(f"{path}: {text}", file=path)


class Mirror:
    """One run over a folder."""

    def __init__(self, source: str, target: str, *, force: bool, recursive: bool) -> None:
        self.source = source
        self.target = target
        self._force = force
        self._recursive = recursive
        self._left_out: dict[str, str] = {}
        self._copied: list[str] = []

    def run(self, name_of: Callable[[str], str | None], make: Make) -> dict[str, Any]:
        """`name_of` gives the output's name of a file that `make` makes; None: it is copied."""
        ours, theirs = os.path.realpath(self.source), os.path.realpath(self.target)
        if os.path.commonpath([ours, theirs]) in (ours, theirs):
            text = f"{self.target}: lies in '{self.source}', or the other way round"
            raise UsageError(f"{text}; input and output must be apart", file=self.target)
        files = []
        try:
            _make_like(self.target, self.source)
            for relative in self._below("", 0):
                original = os.path.join(self.source, relative)
                name = name_of(relative)
                if name is not None:
                    files.append(make(original, os.path.join(self.target, name)))
                elif self._is_taken(relative, name_of):
                    self._leave_out(original, "its name is that of a file that is compressed")
                else:
                    self._copy(original, os.path.join(self.target, relative))
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise file_error(error, error.filename or self.source) from None
        return {
            "path": self.source,
            "output": self.target,
            "files": files,
            "copied": self._copied,
            "left_out": self._left_out,
        }

    def _below(self, relative: str, depth: int) -> Iterator[str]:
        """Files in order of their names; folders are made in the mirror when they are met."""
        for name in sorted(os.listdir(os.path.join(self.source, relative))):
            below = os.path.join(relative, name)
            path = os.path.join(self.source, below)
            if os.path.islink(path) and not os.path.exists(path):
                self._leave_out(path, "a symbolic link to what is not there")
                continue
            mode = os.stat(path).st_mode
            if stat.S_ISREG(mode) and _is_temporary(path):
                self._leave_out(path, "a temporary file of a run that was ended")
            elif stat.S_ISREG(mode):
                yield below
            elif not stat.S_ISDIR(mode):
                self._leave_out(path, "neither a file nor a folder")
            elif os.path.islink(path):
                self._leave_out(path, "a symbolic link to a folder")
            elif not self._recursive:
                self._leave_out(path, "a folder: recursive=True goes into it")
            elif depth >= MAX_DEPTH:
                raise LimitError(f"{path}: folders are nested too deeply", file=path)
            else:
                made = os.path.join(self.target, below)
                if os.path.islink(made):
                    text = f"{made}: is a symbolic link, which is not followed"
                    raise UsageError(text, file=made)
                _make_like(made, path)
                yield from self._below(below, depth + 1)

    def _is_taken(self, relative: str, name_of: Callable[[str], str | None]) -> bool:
        """Whether another file of the folder is made with this one's name."""
        plain = relative.removesuffix(".wcodec")
        taken = plain != relative and name_of(plain) == relative
        return taken and os.path.exists(os.path.join(self.source, plain))

    def _leave_out(self, path: str, why: str) -> None:
        self._left_out[path] = why
        log.warning("%s: left out: %s", path, why)

    def _copy(self, source: str, target: str) -> None:
        if os.path.lexists(target) and not self._force:
            import filecmp

            there = os.path.isfile(target) and not os.path.islink(target)
            if not there or not filecmp.cmp(source, target, shallow=False):
                text = f"{target} is there already: give force=True to replace it"
                raise ExistsError(text, file=target)
        else:
            with open(source, "rb") as file:
                found = os.fstat(file.fileno())

                def finish(handle: int) -> None:
                    give_mode(handle, found.st_mode & 0o777, found.st_gid)
                    os.utime(handle, ns=(found.st_atime_ns, found.st_mtime_ns))

                with replacing(target, finish) as sink:
                    while data := file.read(1 << 20):
                        sink(memoryview(data))
        self._copied.append(target)
