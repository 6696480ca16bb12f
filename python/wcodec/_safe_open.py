# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""safe_open, with the shape of safetensors.safe_open, for both formats."""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import Any

from ._bases import Base
from ._context import Progress
from ._dtypes import DTYPES
from ._errors import UnsupportedError, UsageError
from ._frameworks import Framework, Request, compute_backend, framework, load_all
from ._open import open_any
from ._reader import AnyReader, Source, TensorInfo
from ._remote import StorageOptions

_SMALL = 1 << 20  # decoded bytes below which one call is sooner done than a load prepared


class safe_open:  # noqa: N801 (the name of what it stands for)
    """Open a checkpoint lazily; use it as a context manager, or close() it.

        with wcodec.safe_open("model.safetensors.wcodec", framework="pt") as f:
            for name in f.keys():
                tensor = f.get_tensor(name)
            rows = f.get_slice("embed.weight")[0:8]

    It may be used from several threads at once, and in forked children.
    """

    def __init__(
        self,
        filename: Source,
        framework: str = "np",
        device: Any = "cpu",
        *,
        backend: str | None = None,
        threads: int | None = None,
        base: Base = None,
        storage_options: StorageOptions = None,
    ) -> None:
        """
        Args:
            filename: a .wcodec or .safetensors file, a folder of them, a *.safetensors.index.json,
                or the bytes of a file. What is compressed may be behind a URL that fsspec knows:
                "https://...", "s3://...", "memory://...".
            framework: "np" (numpy), "pt" (torch) or "jax": what tensors are made of.
            device: where they go: "cpu"; for torch any of its devices.
            backend: what decodes: "cpu", "cuda:0", "opencl", "auto"; None: the device itself, else
                the CPU. "mmap" and "pread", which safetensors takes here, mean None.
            threads: of the CPU; None: one for each core.
            base: of deltas: files that they are differences from, or folders of them. Those in the
                file's own folder are found by themselves, but not those behind URLs.
            storage_options: of a URL: what fsspec makes its file system with.

        Raises:
            MissingFileError, FileError, CorruptError, NewerFormatError, LimitError, UsageError,
            BackendError (where `backend` names one that cannot be used).
        """
        backend = compute_backend(backend)
        self._framework: Framework = _framework(framework, device, backend)
        self._reader: AnyReader = open_any(
            filename,
            backend=backend,
            threads=threads,
            base=base,
            storage_options=storage_options,
        )

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<wcodec.safe_open {self._reader.path or 'of bytes'!r}>"

    def close(self) -> None:
        """Close the file; calls that run in other threads go on to their end."""
        self._reader.close()

    def keys(self) -> list[str]:
        """Names of all tensors, sorted."""
        return sorted(self._reader.names())

    def offset_keys(self) -> list[str]:
        """Names of all tensors, in the order of their data."""
        return self._reader.names()

    def metadata(self) -> dict[str, str] | None:
        """The `__metadata__`; None if there is none."""
        return self._reader.metadata() or None

    def get_tensor(self, name: str) -> Any:
        """One tensor, whole, of the framework and on the device asked for. Raises
        TensorNotFoundError, and what decoding can: CorruptError, FileError, OutOfMemoryError."""
        request = Request(self._reader.tensor(self._reader.find(name)))
        return self._framework.load(self._reader, [request])[0]

    def get_tensors(self, progress: Progress | None = None) -> dict[str, Any]:
        """All tensors by name, decoded at the same time."""
        return load_all(self._reader, self._framework, None, progress)

    def get_slice(self, name: str) -> Slice:
        """A tensor to be sliced: only the rows that a slice needs are read and decoded."""
        info = self._reader.tensor(self._reader.find(name))
        return Slice(self._reader, self._framework, info)


_framework = framework


class Slice:
    """A tensor of which parts can be had, by safe_open.get_slice()."""

    __slots__ = ("_reader", "_framework", "_info")

    def __init__(self, reader: AnyReader, made: Framework, info: TensorInfo) -> None:
        self._reader = reader
        self._framework = made
        self._info = info

    def __repr__(self) -> str:
        return f"<wcodec.Slice of {self._info.name!r}: {self._info.dtype} {self.get_shape()}>"

    def get_shape(self) -> list[int]:
        """Its shape, whole."""
        return list(self._info.shape)

    def get_dtype(self) -> str:
        """Its type by the name in the format, such as "BF16"."""
        return self._info.dtype

    def __getitem__(self, key: Any) -> Any:
        """A part, as numpy's basic indexing gives it: by integers, slices of any step, one
        Ellipsis; besides, by lists of rows, in any order, also in one other dimension. Raises
        IndexError where an integer is out of range, and what get_tensor() does.

        Rows of the first dimension are read and decoded alone; for other dimensions the rows are
        decoded whole and then cut.
        """
        info = self._info
        known = DTYPES.get(info.dtype)
        whole_bytes = known is not None and known.bits % 8 == 0
        if type(key) is slice and key.step is None and whole_bytes and info.shape:  # most often
            begin, stop, _ = key.indices(info.shape[0])
            return self._rows((begin, stop - begin) if begin < stop else (0, 0))
        index = _normal(key, info)
        if not whole_bytes:
            raise UnsupportedError(
                f"tensor {info.name!r} is of type {info.dtype}, whose parts are no whole bytes: "
                "use get_tensor()",
                tensor=info.name,
            )
        if not info.shape:
            return self._rows(None)
        first, rest = index[0], tuple(index[1:])
        plain = all(part == slice(None) for part in rest)
        if isinstance(first, int):
            whole = self._rows((first, 1))
            return whole[0, ...] if plain else _cut(whole, (0, *rest))
        if isinstance(first, list):
            low, high = (min(first), max(first) + 1) if first else (0, 0)
            whole = self._rows((low, high - low))
            return _cut(whole, ([row - low for row in first], *rest))
        begin, stop, step = first.indices(info.shape[0])
        taken = range(begin, stop, step)
        low, high = (min(taken[0], taken[-1]), max(taken[0], taken[-1]) + 1) if taken else (0, 0)
        whole = self._rows((low, high - low))
        if plain and step == 1:
            return whole
        return _cut(whole, (_from(taken, low), *rest))

    def _rows(self, rows: tuple[int, int] | None) -> Any:
        request = Request(self._info) if rows is None else Request(self._info, *rows)
        if rows is not None and rows[1] and request.nbytes <= _SMALL:
            return self._framework.row(self._reader, request)
        return self._framework.load(self._reader, [request])[0]


def _from(taken: range, low: int) -> Any:
    """The slice that takes those rows of what begins at row `low`; a list where steps go down,
    which torch's slices cannot."""
    if not taken:
        return slice(0, 0)
    if taken.step < 0:
        return [row - low for row in taken]
    return slice(taken[0] - low, taken[-1] - low + 1, taken.step)


def _cut(whole: Any, index: tuple[Any, ...]) -> Any:
    """A part that keeps no more memory than it shows. One list at a time: two would be taken as
    pairs."""
    lists = [i for i, part in enumerate(index) if isinstance(part, list)]
    for i in lists:
        whole = whole[(slice(None),) * i + (index[i],)]
    basic = tuple(slice(None) if i in lists else part for i, part in enumerate(index))
    all_of_it = (*basic, ...)  # with an ellipsis an array, also of no dimension
    part = whole[all_of_it]
    return part.copy() if hasattr(part, "copy") else part.clone().contiguous()


def _normal(key: Any, info: TensorInfo) -> list[Any]:
    """An index of each dimension: int in range, slice with steps up or down, or list of ints."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if sum(isinstance(part, EllipsisType) for part in parts) > 1:
        raise UsageError("an index can have one ellipsis", tensor=info.name)
    rank = len(info.shape)
    for i, part in enumerate(parts):
        if isinstance(part, EllipsisType):
            parts[i : i + 1] = [slice(None)] * (rank - len(parts) + 1)
            break
    if len(parts) > rank:
        raise IndexError(f"tensor {info.name!r} has {rank} dimensions, the index {len(parts)}")
    parts += [slice(None)] * (rank - len(parts))
    return [_part(part, i, info) for i, part in enumerate(parts)]


def _part(part: Any, i: int, info: TensorInfo) -> Any:
    if isinstance(part, slice):
        if part.step is not None and operator.index(part.step) < 0 and i > 0:
            return list(range(*part.indices(info.shape[i])))
        return part
    if isinstance(part, (list, range)) or getattr(part, "ndim", 0) == 1:
        rows = part.tolist() if hasattr(part, "tolist") else list(part)
        if any(isinstance(row, (bool, list)) for row in rows):
            raise UsageError("a list of rows holds integers only", tensor=info.name)
        return [_number(row, i, info) for row in rows]
    return _number(part, i, info)


def _number(value: Any, i: int, info: TensorInfo) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise UsageError(
            f"{value!r:.60} is no index: expected an int, slice, list of ints, or ellipsis",
            tensor=info.name,
        ) from None
    size = info.shape[i]
    if not -size <= number < size:
        raise IndexError(
            f"tensor {info.name!r}: index {number} is out of range for dimension {i} of size {size}"
        )
    return number % size
