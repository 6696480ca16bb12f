# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files that deltas are differences from: wcodec/bases.h."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any, Union

from . import _declarations as c
from ._context import Context, Handle, check
from ._errors import UsageError
from ._library import lib

Base = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], None]
"""A path of a file, or of a folder of them, or several."""


def base_paths(base: Base) -> list[str]:
    """The paths that are meant."""
    if base is None:
        return []
    given = [base] if isinstance(base, (str, os.PathLike)) else list(base)
    paths = [os.fspath(path) for path in given]
    for path in paths:
        if not isinstance(path, str):
            raise TypeError(f"base is {type(path).__name__}: expected str or os.PathLike[str]")
        if "\0" in path:
            raise UsageError("the path of a base has a zero byte in it", file=path)
    return paths


class Bases(Handle):
    """A set of them."""

    def __init__(self, context: Context) -> None:
        handle, error = ctypes.c_void_p(), c.wcodec_error()
        status = lib.wcodec_bases_create(context.handle, 0, handle, error)
        check(status, error)
        super().__init__(handle, lib.wcodec_bases_destroy, context)

    def add(self, paths: Sequence[str]) -> None:
        error = c.wcodec_error()
        for path in paths:
            status = lib.wcodec_bases_add_path(self.handle, os.fsencode(path), error)
            check(status, error, files=[path], missing_file=True)

    def paths(self) -> list[str]:
        """Of the files in it."""
        found, path, hashed = [], ctypes.c_char_p(), (ctypes.c_uint8 * 16)()
        for i in range(lib.wcodec_bases_count(self.handle)):
            if lib.wcodec_bases_file(self.handle, i, path, hashed, None) == c.WCODEC_OK:
                found.append(os.fsdecode(path.value or b""))
        return found

    def needed(self, reader: ctypes.c_void_p, tensors: range) -> list[dict[str, Any]]:
        """The files that tensors of a reader are made of, and what these are made of in their turn,
        as far as they are at hand: each once, as `wcodec info --json` has them."""
        path, hashed = ctypes.c_char_p(), (ctypes.c_uint8 * 16)()
        paths, found = {}, dict[bytes, dict[str, Any]]()
        for i in range(lib.wcodec_bases_count(self.handle)):
            lib.wcodec_bases_file(self.handle, i, path, hashed, None)
            paths[bytes(hashed)] = path.value or b""

        def follow(handle: ctypes.c_void_p, numbers: range, of: bytes | None) -> None:
            for i in numbers:
                delta, base = c.wcodec_delta_info(), ctypes.c_void_p()
                status = lib.wcodec_reader_delta(handle, i, delta, None)
                key = bytes(delta.xxh128)
                if status != c.WCODEC_OK or not delta.delta or key in found:
                    continue
                file = paths.get(key)
                found[key] = {
                    "hash": key.hex(),
                    "bytes": delta.base_size,
                    "path": None if file is None else file.decode("utf-8", "replace"),
                    "of": None if of is None else of.decode("utf-8", "replace"),
                }
                context = self._parent.handle if self._parent else None
                status = lib.wcodec_reader_open_path(context, file, base, None) if file else -1
                if status == c.WCODEC_OK:
                    follow(base, range(lib.wcodec_reader_tensor_count(base)), file)
                    lib.wcodec_reader_close(base)

        follow(reader, tensors, None)
        return list(found.values())

    def find(self, reader: ctypes.c_void_p | None, listing: bool = False) -> None:
        """Add what a reader needs from its folder, or what these need themselves. listing: only
        .wcodec files, of which not more than the index is read."""
        error, find = c.wcodec_error(), lib.wcodec_bases_find
        status = (lib.wcodec_bases_find_coded if listing else find)(
            self.handle, reader, None, error
        )
        check(status, error)


def for_encoding(context: Context, paths: Sequence[str]) -> Bases | None:
    """The set that tensors are coded against; None: there is none."""
    if not paths:
        return None
    bases = Bases(context)
    bases.add(paths)
    bases.find(None)
    return bases


def for_decoding(
    context: Context,
    reader: ctypes.c_void_p,
    path: str,
    given: Sequence[str],
    listing: bool = False,
) -> Bases | None:
    """The set that a reader decodes by, which it has then; None: it needs none. Files that are
    given and do not serve are an error; what is not found is one when it is needed."""
    bases, error = Bases(context), c.wcodec_error()
    status = lib.wcodec_reader_set_bases(reader, bases.handle, error)
    if status == c.WCODEC_OK and not given:
        lib.wcodec_reader_set_bases(reader, None, None)
        return None
    bases.add(given)
    if path:
        bases.find(reader, listing)
    status = lib.wcodec_reader_set_bases(reader, bases.handle, error)
    if status == c.WCODEC_ERROR_NOT_FOUND and not given:
        status = lib.wcodec_reader_set_bases_for(reader, bases.handle, None, 0, error)
    check(status, error, files=[path] if path else [], missing_file=True)
    return bases
