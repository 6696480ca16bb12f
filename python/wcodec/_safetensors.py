# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Readers of plain .safetensors files, so that a program needs one call for both formats."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from typing import Any

from ._context import Progress
from ._dtypes import DTYPES, elements
from ._errors import (
    CorruptError,
    FileError,
    LimitError,
    TensorNotFoundError,
    UnsupportedError,
    UsageError,
    file_error,
)
from ._loading import PythonLoad, Started
from ._reader import Item, TensorInfo

_HEADER_LIMIT = 100_000_000  # of the format
_STEP = 32 << 20  # between two reads Python sees signals, and progress is reported


class _Bytes:
    """The bytes of one file, by descriptor or in memory."""

    def __init__(self, source: str | bytes) -> None:
        self.path = source if isinstance(source, str) else ""
        self._data = source if isinstance(source, bytes) else None
        self.fd = -1
        if self._data is not None:
            self.size = len(self._data)
            return
        try:
            self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            self.size = os.fstat(self.fd).st_size
        except OSError as error:
            raise file_error(error, self.path) from None

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:
            os.close(self.fd)

    def read(self, offset: int, target: memoryview) -> None:
        if self._data is not None:
            target[:] = self._data[offset : offset + len(target)]
            return
        done = 0
        while done < len(target):
            try:
                count = os.preadv(self.fd, [target[done:]], offset + done)
            except OSError as error:
                raise file_error(error, self.path) from None
            if count == 0:
                raise FileError(f"{self.path}: the file got shorter", file=self.path)
            done += count


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key is there twice")
    return result


def _size(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"{value!r:.40} is no size")
    return value


class SafetensorsReader:
    """One or more .safetensors files as one namespace; the methods are those of Reader."""

    def __init__(self, sources: Sequence[str | bytes], path: str = "") -> None:
        self.path = path
        self._lock = threading.Lock()
        self._files: list[_Bytes] | None = []
        self._offsets: list[int] = []
        self._owner: list[int] = []
        self._tensors: list[TensorInfo] = []
        self._numbers: dict[str, int] = {}
        self._metadata: dict[str, str] = {}
        for source in sources:
            file = _Bytes(source)
            self._files.append(file)
            self._add(file, self._header(file), len(self._files) - 1)

    def _header(self, file: _Bytes) -> dict[str, Any]:
        where = file.path or "the data"
        if file.size < 8:
            raise CorruptError(f"{where}: too short for a safetensors file", file=file.path)
        head = bytearray(8)
        file.read(0, memoryview(head))
        length = int.from_bytes(head, "little")
        if length > file.size - 8:
            raise CorruptError(
                f"{where}: neither a .wcodec nor a safetensors file: a header of {length} bytes "
                f"does not fit into {file.size}",
                file=file.path,
            )
        if length > _HEADER_LIMIT:
            raise LimitError(
                f"{where}: a header of {length} bytes, expected at most {_HEADER_LIMIT}",
                file=file.path,
            )
        import json

        text = bytearray(length)
        file.read(8, memoryview(text))
        try:
            header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
            if not isinstance(header, dict):
                raise ValueError("it is no object")
        except (ValueError, RecursionError) as error:
            raise CorruptError(f"{where}: bad header: {error}", file=file.path) from None
        self._start = 8 + length
        return header

    def _add(self, file: _Bytes, header: dict[str, Any], number: int) -> None:
        where = file.path or "the data"
        metadata = header.pop("__metadata__", None) or {}
        if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
            raise CorruptError(f"{where}: __metadata__ is no object of strings", file=file.path)
        for key, value in metadata.items():
            self._metadata.setdefault(key, value)
        found = []
        for name, entry in header.items():
            try:
                found.append((*self._entry(entry), name))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                text = f"{where}: tensor {name!r}: {error}"
                raise CorruptError(text, file=file.path, tensor=name) from None
        at = 0
        for begin, end, dtype, shape, name in sorted(found):
            if begin != at or end > file.size - self._start:
                text = f"{where}: tensor {name!r}: bytes {begin} to {end} are not where it must be"
                raise CorruptError(text, file=file.path, tensor=name)
            if name in self._numbers:
                text = f"{where}: tensor {name!r} is in two files"
                raise CorruptError(text, file=file.path, tensor=name)
            at = end
            self._numbers[name] = len(self._tensors)
            self._tensors.append(
                TensorInfo(
                    len(self._tensors), name, dtype, shape, end - begin, end - begin, file.path
                )
            )
            self._offsets.append(self._start + begin)
            self._owner.append(number)
        if at != file.size - self._start:
            raise CorruptError(
                f"{where}: {file.size - self._start - at} bytes belong to no tensor", file=file.path
            )

    @staticmethod
    def _entry(entry: dict[str, Any]) -> tuple[int, int, str, tuple[int, ...]]:
        begin, end = map(_size, entry["data_offsets"])
        shape = tuple(map(_size, entry["shape"]))
        dtype = entry["dtype"]
        if not isinstance(dtype, str):
            raise ValueError("its dtype is no string")
        if dtype in DTYPES and (end - begin) * 8 != elements(shape) * DTYPES[dtype].bits:
            raise ValueError(f"{end - begin} bytes for a shape of {list(shape)} in {dtype}")
        if begin > end:
            raise ValueError(f"it ends at {end}, before it begins at {begin}")
        return begin, end, dtype, shape

    def names(self) -> list[str]:
        self._open()
        return [tensor.name for tensor in self._tensors]

    def find(self, name: str) -> int:
        if not isinstance(name, str):
            raise TypeError(f"the name of a tensor is a str, not {type(name).__name__}")
        self._open()
        if name not in self._numbers:
            where = f"{self.path}: " if self.path else ""
            text = f"{where}no tensor is called {name!r}"
            raise TensorNotFoundError(text, file=self.path or None, tensor=name)
        return self._numbers[name]

    def tensor(self, number: int) -> TensorInfo:
        return self._tensors[number]

    def tensors(self) -> list[TensorInfo]:
        self._open()
        return list(self._tensors)

    def metadata(self) -> dict[str, str]:
        self._open()
        return dict(self._metadata)

    def on(self, backend: str) -> bool:
        """Nothing is coded, so nothing is decoded by a device: it gets copies from the host."""
        return False

    def close(self) -> None:
        with self._lock:
            self._files = None

    def _open(self) -> list[_Bytes]:
        files = self._files
        if files is None:
            raise UsageError("the file is closed", file=self.path)
        return files

    def load(
        self,
        items: Sequence[Item],
        *,
        memory: str | None = None,
        backend: str | None = None,
        queue: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if memory is not None:
            raise UnsupportedError(f"{self.path}: safetensors files are read to host memory only")
        files = self._open()
        done, total = 0, 0
        work = []
        for number, first, rows, address, nbytes in items:
            tensor = self._tensors[number]
            count = tensor.shape[0] if tensor.shape else 1
            if first + rows > count:
                raise UsageError(f"tensor {tensor.name!r} has {count} rows", tensor=tensor.name)
            row = tensor.nbytes // count if count else 0
            size = (rows or count - first) * row if first or rows else tensor.nbytes
            if size > nbytes:
                raise UsageError(f"{nbytes} bytes of memory for {size}", tensor=tensor.name)
            total += size
            work.append(
                (files[self._owner[number]], self._offsets[number] + first * row, address, size)
            )
        for file, offset, address, size in sorted(work, key=lambda w: (w[0].path, w[1])):
            if size == 0:
                continue
            target = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
            for at in range(0, size, _STEP):
                part = target[at : at + _STEP]
                file.read(offset + at, part)
                done += len(part)
                if progress is not None:
                    progress(done, total)

    def start(
        self,
        items: Sequence[Item],
        keep: object,
        *,
        memory: str | None = None,
        backend: str | None = None,
        queue: int | None = None,
        streams: int = 0,
        host_memory: int = 0,
    ) -> Started:
        total = sum(item.nbytes for item in items)
        return PythonLoad(
            lambda report: self.load(items, memory=memory, progress=report), total, keep
        )

    def rows(self, number: int, first: int, count: int, address: int, nbytes: int) -> None:
        if count:
            self.load([Item(number, first, count, address, nbytes)])
