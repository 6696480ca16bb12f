# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Folders beside their mirrors: weights are coded or restored, and all else is copied, so that the
mirror is a complete model folder; as the command does it."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
from collections.abc import Callable, Generator, Iterator
from typing import Any

from ._errors import (
    ExistsError,
    FileError,
    LimitError,
    MissingFileError,
    UsageError,
    WcodecError,
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


class _Folder:
    """A folder of the mirror, which stays what it was when it was opened: whoever may write above
    it can put a link in its place."""

    def __init__(self, path: str, handle: int) -> None:
        self.path = path
        self._handle = handle
        known = f"/proc/self/fd/{handle}"
        self._place = known if os.path.isdir(known) else path

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    @contextlib.contextmanager
    def place(self, name: str) -> Iterator[str]:
        """Where a file of it can be written; errors have the file's own path."""
        try:
            yield os.path.join(self._place, name)
        except WcodecError as error:
            file = None if error.file is None else self._named(error.file)
            raise type(error)(self._named(error.text), file=file, tensor=error.tensor) from None
        except OSError as error:
            raise file_error(error, self._named(str(error.filename or name))) from None

    def _named(self, text: str) -> str:
        return text.replace(os.path.join(self._place, ""), os.path.join(self.path, ""))

    def enter(self, name: str, source: str) -> _Folder:
        """A folder in this one, made like `source` if there is none."""
        path = os.path.join(self.path, name)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        with self.place(name) as there:
            try:
                _make_like(there, source)
                return _Folder(path, os.open(there, flags))
            except OSError:
                if os.path.islink(there):
                    text = f"{there}: is a symbolic link, which is not followed"
                    raise UsageError(text, file=there) from None
                raise


def _root(path: str, source: str) -> _Folder:
    """Of the mirror: links to it are followed."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    _make_like(path, source)
    return _Folder(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


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
            with (
                _root(self.target, self.source) as root,
                contextlib.closing(self._below(root, "", 0)) as below,
            ):
                for relative, folder in below:
                    original = os.path.join(self.source, relative)
                    name = name_of(relative)
                    if name is not None:
                        files.append(self._made(make, original, folder, os.path.basename(name)))
                    elif self._is_taken(relative, name_of):
                        self._leave_out(original, "its name is that of a file that is compressed")
                    else:
                        self._copy(original, folder)
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

    @staticmethod
    def _made(make: Make, original: str, folder: _Folder, name: str) -> dict[str, Any]:
        with folder.place(name) as place:
            return {**make(original, place), "output": os.path.join(folder.path, name)}

    def _below(
        self, folder: _Folder, relative: str, depth: int
    ) -> Generator[tuple[str, _Folder], None, None]:
        """Files in order of their names, each with the folder of the mirror that it belongs in."""
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
                yield below, folder
            elif not stat.S_ISDIR(mode):
                self._leave_out(path, "neither a file nor a folder")
            elif os.path.islink(path):
                self._leave_out(path, "a symbolic link to a folder")
            elif not self._recursive:
                self._leave_out(path, "a folder: recursive=True goes into it")
            elif depth >= MAX_DEPTH:
                raise LimitError(f"{path}: folders are nested too deeply", file=path)
            else:
                with folder.enter(name, path) as made:
                    yield from self._below(made, below, depth + 1)

    def _is_taken(self, relative: str, name_of: Callable[[str], str | None]) -> bool:
        """Whether another file of the folder is made with this one's name."""
        plain = relative.removesuffix(".wcodec")
        taken = plain != relative and name_of(plain) == relative
        return taken and os.path.exists(os.path.join(self.source, plain))

    def _leave_out(self, path: str, why: str) -> None:
        self._left_out[path] = why
        log.warning("%s: left out: %s", path, why)

    def _copy(self, source: str, folder: _Folder) -> None:
        name = os.path.basename(source)
        with folder.place(name) as place:
            if os.path.lexists(place) and not self._force:
                import filecmp

                there = os.path.isfile(place) and not os.path.islink(place)
                if not there or not filecmp.cmp(source, place, shallow=False):
                    text = f"{place} is there already: give force=True to replace it"
                    raise ExistsError(text, file=place)
            else:
                _copy_file(source, place)
        self._copied.append(os.path.join(folder.path, name))


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb") as file:
        found = os.fstat(file.fileno())

        def finish(handle: int) -> None:
            give_mode(handle, found.st_mode & 0o777, found.st_gid)
            os.utime(handle, ns=(found.st_atime_ns, found.st_mtime_ns))

        with replacing(target, finish) as sink:
            while data := file.read(1 << 20):
                sink(memoryview(data))
