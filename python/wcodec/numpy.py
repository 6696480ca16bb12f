# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints as numpy arrays: the functions of `safetensors.numpy`, for both formats.

    >>> from wcodec.numpy import load_file, save_file
    >>> save_file({"a": array}, "a.wcodec")          # doctest: +SKIP
    >>> load_file("a.wcodec")["a"]                   # doctest: +SKIP

Types that numpy lacks come as those of ml_dtypes where that is installed, else as unsigned integers
of the same width with the same bits. Types of 4 and 6 bits come as packed bytes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

import numpy as np

from ._bases import Base
from ._context import Progress
from ._dtypes import DTYPES, packed_shape
from ._errors import UnsupportedError, UsageError
from ._frameworks import Request, compute_backend, load_all
from ._loading import Saving, Started
from ._open import open_any
from ._reader import AnyReader, Item
from ._sync import Message, apply, encode
from ._write import Tensor, start_file, write_bytes, write_file

__all__ = ["delta_apply", "delta_encode", "load", "load_file", "save", "save_file"]

Array = np.ndarray[Any, Any]
Path = Union[str, "os.PathLike[str]"]

_dtypes: dict[str, np.dtype[Any]] = {
    name: np.dtype(known.numpy) for name, known in DTYPES.items() if known.numpy
}
_warned: set[str] = set()


def _warn(dtype: str, text: str) -> None:
    if dtype not in _warned:
        _warned.add(dtype)
        warnings.warn(text, stacklevel=6)


def dtype_of(dtype: str) -> np.dtype[Any]:
    """The numpy type for a name of the format such as "BF16"."""
    found = _dtypes.get(dtype)
    if found is not None:
        return found
    known = DTYPES.get(dtype)
    if known is None or known.bits % 8:
        _warn(dtype, f"numpy has no type for {dtype}: it comes as bytes")
        return np.dtype("u1")
    try:
        import ml_dtypes

        made: np.dtype[Any] = np.dtype(getattr(ml_dtypes, str(known.ml_dtypes)))
    except (ImportError, AttributeError):
        made = np.dtype(f"<u{known.bits // 8}")
        _warn(dtype, f"{dtype} needs ml_dtypes: without it, its bits come as {made.name}")
        return made
    _dtypes[dtype] = made
    return made


def name_of(dtype: np.dtype[Any]) -> str | None:
    """The name in the format of a numpy type; None if it has none."""
    return _NAMES.get(dtype.name)


_NAMES = {found.name: name for name, found in _dtypes.items()}
_NAMES.update({str(known.ml_dtypes): name for name, known in DTYPES.items() if known.ml_dtypes})


def empty(request: Request) -> Array:
    """An array for what is requested, whose contents are undefined."""
    dtype = request.info.dtype
    known = DTYPES.get(dtype)
    shape = request.shape
    if known is None:
        shape = (request.nbytes,)
    elif known.bits % 8:
        shape = packed_shape(dtype, shape)
    try:
        return np.empty(shape, dtype_of(dtype))
    except ValueError as error:
        name = request.info.name
        raise UnsupportedError(f"tensor {name!r}: {error}", tensor=name) from None


def _address(array: Array) -> int:
    """What array.ctypes.data is, sooner."""
    return int(array.__array_interface__["data"][0])


class Framework:
    """Arrays in host memory."""

    def __init__(self, device: Any = "cpu") -> None:
        if str(device) != "cpu":
            raise UsageError(f"device is {device!r}: numpy arrays are on 'cpu' only")

    def load(
        self, reader: AnyReader, requests: Sequence[Request], progress: Progress | None = None
    ) -> list[Any]:
        arrays, items = self._arrays(requests)
        reader.load(items, progress=progress)
        return arrays

    def begin(
        self, reader: AnyReader, requests: Sequence[Request]
    ) -> tuple[Started, Callable[[], list[Any]]]:
        arrays, items = self._arrays(requests)
        return reader.start(items, arrays), lambda: arrays

    @staticmethod
    def _arrays(requests: Sequence[Request]) -> tuple[list[Array], list[Item]]:
        arrays = [empty(request) for request in requests]
        items = [
            request.item(_address(array))
            for request, array in zip(requests, arrays)
            if request.nbytes
        ]
        return arrays, items

    def row(self, reader: AnyReader, request: Request) -> Any:
        array = empty(request)
        if request.nbytes:
            reader.rows(
                request.info.number,
                request.first,
                request.shape[0],
                _address(array),
                request.nbytes,
            )
        return array


def load_file(
    filename: Path,
    *,
    backend: str | None = None,
    threads: int | None = None,
    names: Iterable[str] | None = None,
    progress: Progress | None = None,
    base: Base = None,
) -> dict[str, Array]:
    """All tensors of a .wcodec or .safetensors file, a model folder, or a *.safetensors.index.json.

    Args:
        filename: its path.
        backend: what decodes, "cpu", "cuda:0", "opencl" or "auto"; None: the CPU. "mmap" and
            "pread", which safetensors takes here, mean None.
        threads: None: one for each core.
        names: only these tensors.
        progress: called as progress(done, total) with bytes.
        base: of deltas: files that they are differences from, or folders of them. Those in the
            file's own folder are found by themselves.

    Returns:
        Arrays by name, in the order of their data; each owns its memory and can be written to.

    Raises:
        MissingFileError, FileError, CorruptError, NewerFormatError, LimitError, OutOfMemoryError,
        TensorNotFoundError, BackendError, UsageError: see each; all are WcodecError.
    """
    reader = open_any(filename, backend=compute_backend(backend), threads=threads, base=base)
    try:
        return load_all(reader, Framework(), names, progress)
    finally:
        reader.close()


def load(data: bytes) -> dict[str, Array]:
    """The same from the bytes of a .wcodec or .safetensors file."""
    reader = open_any(data)
    try:
        return load_all(reader, Framework(), None, None)
    finally:
        reader.close()


def _tensors(tensor_dict: dict[str, Array]) -> list[Tensor]:
    if not isinstance(tensor_dict, dict):
        raise UsageError(f"expected a dict of arrays, got {type(tensor_dict).__name__}")
    made = []
    for name, value in tensor_dict.items():
        if not isinstance(value, (np.ndarray, np.generic)):
            raise UsageError(
                f"tensor {name!r} is {type(value).__name__}: expected an array", tensor=str(name)
            )
        given = np.asarray(value)
        dtype = name_of(given.dtype)
        if dtype is None:
            raise UsageError(
                f"tensor {name!r} is of type {given.dtype}, which the format lacks",
                tensor=str(name),
            )
        array = np.ascontiguousarray(given, given.dtype.newbyteorder("<")).reshape(given.shape)
        made.append(Tensor(name, dtype, array.shape, array.ctypes.data, array.nbytes, array))
    return made


def save(
    tensor_dict: dict[str, Array], metadata: dict[str, str] | None = None, **options: Any
) -> bytes:
    """The bytes of a .wcodec file with these arrays; arguments as those of save_file()."""
    return write_bytes(_tensors(tensor_dict), metadata, **options)


def save_file(
    tensor_dict: dict[str, Array],
    filename: Path,
    metadata: dict[str, str] | None = None,
    **options: Any,
) -> None:
    """Write arrays to a .wcodec file, compressed, or to a .safetensors file if that is its name.

    The file appears when it is complete; one of that name is replaced then, and kept on failure.

    Args:
        tensor_dict: arrays by name, of any layout and byte order.
        filename: its path.
        metadata: text to keep with them (`__metadata__`).
        **options: as those of wcodec.compress(): level=3, lossy=None, threads=None, ...

    Raises:
        UsageError: a type that the format lacks, a name that is no text, an option that is wrong.
        FileError, OutOfMemoryError, CancelledError.
    """
    write_file(_tensors(tensor_dict), filename, metadata, **options)


def async_save_file(
    tensor_dict: dict[str, Array],
    filename: Path,
    metadata: dict[str, str] | None = None,
    **options: Any,
) -> Saving:
    """Begin to write arrays to a .wcodec file and return at once; arguments as those of
    save_file(), without progress. They must not change until it has ended.

    Returns:
        A Saving: done(), progress(), cancel(), wait().
    """
    return start_file(_tensors(tensor_dict), filename, metadata, **options)


def delta_encode(old: dict[str, Array], new: dict[str, Array], **options: Any) -> bytes:
    """As wcodec.delta_encode(), of arrays of any layout and byte order."""
    return encode(_tensors(old), _tensors(new), **options)


def delta_apply(weights: dict[str, Array], message: Message, **options: Any) -> None:
    """As wcodec.delta_apply(), to arrays that are contiguous, little-endian and writable."""
    made = _tensors(weights)
    for tensor in made:
        array = weights[tensor.name]
        if not isinstance(array, np.ndarray) or tensor.address != array.ctypes.data:
            raise UsageError(
                f"tensor {tensor.name!r} cannot be changed in place: expected an array that is "
                "contiguous and little-endian",
                tensor=tensor.name,
            )
        if not array.flags.writeable:
            raise UsageError(f"tensor {tensor.name!r} is read-only", tensor=tensor.name)
    apply(made, message, **options)
