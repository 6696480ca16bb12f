# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tensors in memory to a .wcodec file, or to a plain .safetensors file."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from . import _declarations as c
from ._context import Progress, Watch, context, error_of, host_backend
from ._dtypes import SAVE_ORDER
from ._errors import UsageError, WcodecError, file_error
from ._library import lib
from ._options import encode_options

Sink = Callable[[memoryview], None]


class Tensor(NamedTuple):
    """A tensor to be written: contiguous, little-endian."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    address: int
    nbytes: int
    keep: object
    """What owns the memory."""


class Output:
    """The library's write function over a Python one, whose exception is raised again after the
    library's call."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._raised: BaseException | None = None
        self.function = c.wcodec_write_fn(self._write)

    def _write(self, _opaque: int | None, data: int, size: int) -> int:
        try:
            self._sink(memoryview((ctypes.c_char * size).from_address(data)).cast("B"))
        except BaseException as error:
            self._raised = error
            number = error.errno if isinstance(error, OSError) else None
            return number or errno.EIO
        return 0

    def check(self) -> None:
        """Raise what the function raised."""
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised


def _address(tensor: Tensor) -> memoryview:
    return memoryview((ctypes.c_char * tensor.nbytes).from_address(tensor.address)).cast("B")


def _is_text(value: str) -> bool:
    """Whether it can be UTF-8 that ends with NUL."""
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def _checked(
    tensors: Sequence[Tensor], metadata: dict[str, str] | None
) -> tuple[list[Tensor], dict[str, str]]:
    for tensor in tensors:
        if not isinstance(tensor.name, str):
            raise TypeError(f"the name of a tensor is a str, not {type(tensor.name).__name__}")
        if not _is_text(tensor.name) or tensor.name == "__metadata__":
            raise UsageError(f"a tensor cannot be called {tensor.name!r}", tensor=tensor.name)
    metadata = {} if metadata is None else metadata
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"metadata is text: {key!r} is {value!r}")
        if not _is_text(key) or not _is_text(value):
            raise UsageError(f"metadata {key!r}: a zero byte or half a character is in it")
    return sorted(tensors, key=lambda t: (SAVE_ORDER[t.dtype], t.name)), metadata


def _encode(
    tensors: Sequence[Tensor],
    metadata: dict[str, str],
    sink: Sink,
    threads: int | None,
    progress: Progress | None,
    options: dict[str, Any],
) -> None:
    made, output = encode_options(**options), Output(sink)
    used = context(host_backend(None), threads)
    writer, error = ctypes.c_void_p(), c.wcodec_error()

    def check(status: int, tensor: str | None = None) -> None:
        if status != c.WCODEC_OK:
            output.check()
            raise error_of(status, error, tensors=[] if tensor is None else [tensor])

    def encode() -> int:
        try:
            check(lib.wcodec_writer_create(used.handle, output.function, None, made, writer, error))
            for key, value in metadata.items():
                check(lib.wcodec_writer_metadata(writer, key.encode(), value.encode(), error))
            for t in tensors:
                shape = (ctypes.c_uint64 * len(t.shape))(*t.shape)
                number = c.ENUMERATIONS["wcodec_dtype"]["WCODEC_DTYPE_" + t.dtype]
                status = lib.wcodec_writer_declare(
                    writer, t.name.encode(), number, shape, len(t.shape), error
                )
                check(status, t.name)
            for t in tensors:
                check(lib.wcodec_writer_data(writer, t.address, t.nbytes, error))
            check(lib.wcodec_writer_finish(writer, None, error))
        finally:
            lib.wcodec_writer_destroy(writer)
        return c.WCODEC_OK

    watch = Watch(progress)
    made.progress = watch.progress
    watch.run(encode)


def _plain(
    tensors: Sequence[Tensor], metadata: dict[str, str], sink: Sink, progress: Progress | None
) -> None:
    """A safetensors file."""
    import json

    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    at = 0
    for tensor in tensors:
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [at, at + tensor.nbytes],
        }
        at += tensor.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    sink(memoryview(len(text).to_bytes(8, "little") + text))
    done = 0
    for tensor in tensors:
        sink(_address(tensor))
        done += tensor.nbytes
        if progress is not None:
            progress(done, at)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[Sink]:
    """Write to a new file beside `path`, which takes its name at the end; on failure it goes, and
    an old file of that name stays."""
    folder, base = os.path.split(os.path.abspath(path))
    temporary = os.path.join(folder, f".{base[:200]}.{os.urandom(6).hex()}.part")
    made = False
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        made = True
        with open(handle, "wb", buffering=0) as file:

            def sink(data: memoryview) -> None:
                while data:
                    data = data[file.write(data) :]

            yield sink
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        if made:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError) and not isinstance(error, WcodecError):
            raise file_error(error, path) from None
        raise


def write_file(
    tensors: Sequence[Tensor],
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> None:
    """To a file, by its name: .safetensors is written plain."""
    path = os.fspath(filename)
    if not isinstance(path, str):
        raise TypeError(f"the path is {type(path).__name__}: expected str or os.PathLike[str]")
    ordered, metadata = _checked(tensors, metadata)
    with replacing(path) as sink:
        if path.endswith(".safetensors"):
            encode_options(**options)
            _plain(ordered, metadata, sink, progress)
        else:
            base = os.path.basename(path)
            options.setdefault("name", base.removesuffix(".wcodec"))
            _encode(ordered, metadata, sink, threads, progress, options)


def write_bytes(
    tensors: Sequence[Tensor],
    metadata: dict[str, str] | None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> bytes:
    """To the bytes of a .wcodec file."""
    ordered, metadata = _checked(tensors, metadata)
    made = bytearray()
    _encode(ordered, metadata, made.extend, threads, progress, options)
    return bytes(made)
