# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tensors in memory to a .wcodec file, or to a plain .safetensors file."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from . import _declarations as c
from ._context import Context, Progress, Watch, check, context, error_of, host_backend
from ._dtypes import SAVE_ORDER
from ._errors import UsageError, WcodecError, file_error
from ._library import lib
from ._loading import LibraryWork, Saving
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


class Place(NamedTuple):
    """Memory of a device, in which all tensors of a file are."""

    backend: str
    """What the library calls the device: "cuda:0"."""
    memory: str
    """The backend's name."""
    queue: int
    """Of what is at work there, as an integer: it is waited for."""


def place(backend: str, threads: int | None, queue: int) -> Place:
    """One that the library reads from; raises BackendError with the reason where it cannot."""
    handles, error = c.wcodec_device_handles(), c.wcodec_error()
    status = lib.wcodec_context_device(context(backend, threads).handle, handles, error)
    if status != c.WCODEC_OK:
        raise error_of(status, error)
    return Place(backend, backend.partition(":")[0], queue)


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


def checked(
    tensors: Sequence[Tensor], metadata: dict[str, str] | None
) -> tuple[list[Tensor], dict[str, str]]:
    """Both, found to be right; tensors in the order of a file."""
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


def check_save(names: Sequence[str], status: int, error: c.wcodec_error, path: str | None) -> None:
    """Raise what a save failed with."""
    if status == c.WCODEC_OK:
        return
    text = error.text.decode("utf-8", "replace")
    known = [name for name in names if f'tensor "{name}"' in text]
    check(status, error, files=[path] if path is not None else [], tensors=known[:1])


def save_items(tensors: Sequence[Tensor]) -> ctypes.Array[c.wcodec_save_item]:
    """The library's list of them; one at least, that there be an address."""
    items = (c.wcodec_save_item * max(len(tensors), 1))()
    for item, t in zip(items, tensors):
        item.name = t.name.encode()
        item.dtype = c.ENUMERATIONS["wcodec_dtype"]["WCODEC_DTYPE_" + t.dtype]
        item.rank = len(t.shape)
        item.shape = (ctypes.c_uint64 * max(len(t.shape), 1))(*t.shape)
        item.source = t.address
        item.size = t.nbytes
    return items


class _Request:
    """The arguments of a save, and what they refer to."""

    def __init__(
        self,
        tensors: Sequence[Tensor],
        metadata: dict[str, str],
        place: Place | None,
        threads: int | None,
        options: dict[str, Any],
    ) -> None:
        self.context: Context = context(place.backend if place else host_backend(None), threads)
        self.tensors = tensors
        self.names = [t.name for t in tensors]
        self.items = save_items(tensors)
        self.encode = encode_options(**options)
        pairs = [text.encode() for pair in metadata.items() for text in pair]
        self.options = c.wcodec_save_options()
        lib.wcodec_save_options_init_size(self.options, ctypes.sizeof(self.options))
        self.options.encode = ctypes.pointer(self.encode)
        self.options.metadata = (ctypes.c_char_p * (len(pairs) + 1))(*pairs, None)
        if place is not None:
            self.options.memory = place.memory.encode()
            self.options.use_queue, self.options.queue = 1, place.queue

    def check(self, status: int, error: c.wcodec_error, path: str | None = None) -> None:
        check_save(self.names, status, error, path)

    def run(self, progress: Progress | None, path: str | None = None) -> None:
        """Save, to the end."""
        watch, error = Watch(progress), c.wcodec_error()
        self.encode.progress = watch.progress
        handle, count = self.context.handle, len(self.tensors)
        status = watch.run(
            lambda: int(lib.wcodec_save(handle, self.items, count, self.options, None, error))
        )
        self.check(status, error, path)

    def start(self, path: str) -> LibraryWork:
        """Begin to save to the options' path."""
        error, handle, count = c.wcodec_error(), ctypes.c_void_p(), len(self.tensors)
        self.check(
            lib.wcodec_save_start(
                self.context.handle, self.items, count, self.options, handle, error
            ),
            error,
            path,
        )
        keep, names = [t.keep for t in self.tensors], self.names
        return LibraryWork(
            "wcodec_saving", handle, self.context, keep, lambda s, e: check_save(names, s, e, path)
        )


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


def give_mode(handle: int, mode: int, group: int) -> None:
    """What a group may do is for that group: where the file cannot be of it, its own may do no more
    than others."""
    found = os.fstat(handle)
    if found.st_gid != group:
        try:
            os.fchown(handle, -1, group)
        except OSError:
            mode &= ~0o070 | (mode & 0o007) << 3
    os.fchmod(handle, mode | found.st_mode & stat.S_ISGID)


@contextlib.contextmanager
def replacing(path: str, finish: Callable[[int], None] | None = None) -> Iterator[Sink]:
    """Write to a new file beside `path`, which takes its name at the end; on failure it goes, and
    an old file of that name stays. `finish` gives the descriptor its mode, before which nobody else
    can read it; None: that is the umask's."""
    folder, base = os.path.split(os.path.abspath(path))
    temporary = os.path.join(folder, f".{base[:200]}.{os.urandom(6).hex()}.part")
    made = False
    try:
        mode = 0o666 if finish is None else 0o600
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        made = True
        with open(handle, "wb", buffering=0) as file:

            def sink(data: memoryview) -> None:
                while data:
                    data = data[file.write(data) :]

            yield sink
            if finish is not None:
                finish(file.fileno())
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        if made:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError) and not isinstance(error, WcodecError):
            raise file_error(error, path) from None
        raise


def _path(filename: str | os.PathLike[str]) -> str:
    path = os.fspath(filename)
    if not isinstance(path, str):
        raise TypeError(f"the path is {type(path).__name__}: expected str or os.PathLike[str]")
    if "\0" in path:
        raise UsageError(f"{path!r}: the path has a zero byte in it", file=path)
    return path


def _to_path(request: _Request, path: str) -> _Request:
    """Let a request go to a file, whose folder must be there."""
    try:
        os.stat(os.path.dirname(os.path.abspath(path)))
    except OSError as error:
        raise file_error(error, path) from None
    request.options.path = os.fsencode(path)
    return request


def write_file(
    tensors: Sequence[Tensor],
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None,
    *,
    place: Place | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> None:
    """To a file, by its name: .safetensors is written plain, from host memory only."""
    path = _path(filename)
    ordered, metadata = checked(tensors, metadata)
    if not path.endswith(".safetensors"):
        _to_path(_Request(ordered, metadata, place, threads, options), path).run(progress, path)
        return
    encode_options(**options)
    with replacing(path) as sink:
        _plain(ordered, metadata, sink, progress)


def start_file(
    tensors: Sequence[Tensor],
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None,
    *,
    place: Place | None = None,
    threads: int | None = None,
    **options: Any,
) -> Saving:
    """Begin to write to a .wcodec file."""
    path = _path(filename)
    if path.endswith(".safetensors"):
        raise UsageError(f"{path}: a .safetensors file is not written beside the caller", file=path)
    ordered, metadata = checked(tensors, metadata)
    request = _to_path(_Request(ordered, metadata, place, threads, options), path)
    return Saving(path, request.start(path))


def write_bytes(
    tensors: Sequence[Tensor],
    metadata: dict[str, str] | None,
    *,
    place: Place | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> bytes:
    """To the bytes of a .wcodec file."""
    ordered, metadata = checked(tensors, metadata)
    made = bytearray()
    output = Output(made.extend)
    request = _Request(ordered, metadata, place, threads, options)
    request.options.write = output.function
    try:
        request.run(progress)
    finally:
        output.check()
    return bytes(made)
