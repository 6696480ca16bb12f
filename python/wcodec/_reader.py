# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Readers of .wcodec files and model folders: what is in them, and their bytes in memory that the
caller names by address. What makes arrays of that is in the modules of the frameworks."""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, Union

from . import _context
from . import _declarations as c
from ._bases import Base, Bases, base_paths, for_decoding
from ._context import LONG, Handle, Progress, Watch, check, error_of
from ._errors import (
    CorruptError,
    FileError,
    MissingFileError,
    TensorNotFoundError,
    UsageError,
)
from ._library import lib
from ._loading import LibraryWork, Started
from ._remote import Remote, StorageOptions, is_remote

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]


class TensorInfo(NamedTuple):
    """One tensor as it is in the file."""

    number: int
    """Its number in the reader: tensors are counted in the order of their data."""
    name: str
    dtype: str
    """Name in the safetensors format, such as "BF16"."""
    shape: tuple[int, ...]
    """Dimensions in elements."""
    nbytes: int
    """Decoded bytes."""
    coded_bytes: int
    """Bytes in the file."""
    file: str
    """Path of the file that it is in; empty in memory."""


class Item(NamedTuple):
    """A tensor, or some of its rows, and the memory that it goes to."""

    number: int
    """Of the tensor."""
    first: int
    """First row, of the first dimension."""
    rows: int
    """How many; 0: all from there on."""
    address: int
    nbytes: int
    """Of the memory: at least those of the rows."""


class AnyReader(Protocol):
    """What readers of all formats have in common. All may be used from several threads at once."""

    path: str

    def names(self) -> list[str]: ...
    def find(self, name: str) -> int: ...
    def tensor(self, number: int) -> TensorInfo: ...
    def tensors(self) -> list[TensorInfo]: ...
    def metadata(self) -> dict[str, str]: ...
    def on(self, backend: str) -> bool: ...
    def load(
        self,
        items: Sequence[Item],
        *,
        memory: str | None = None,
        backend: str | None = None,
        queue: int | None = None,
        progress: Progress | None = None,
    ) -> None: ...
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
    ) -> Started: ...
    def rows(self, number: int, first: int, count: int, address: int, nbytes: int) -> None: ...
    def close(self) -> None: ...


class _Opened(Handle):
    """A reader of the library, closed when the last call that uses it is over."""


class Reader:
    """An open .wcodec file, a folder of them, or a *.safetensors.index.json beside them.

    It may be used from several threads at once, and closed at any time: calls that run go on to
    their end. In a forked child it opens its file anew when it is first used there.
    """

    _listing = False  # nothing is decoded: bases are looked for as far as that is cheap

    def __init__(
        self,
        source: Source,
        *,
        backend: str | None = None,
        threads: int | None = None,
        base: Base = None,
        storage_options: StorageOptions = None,
    ) -> None:
        """
        Args:
            source: a path, a URL that fsspec knows ("s3://...", "https://..."), or the bytes of a
                .wcodec file, which must not change meanwhile.
            backend: what decodes: "cpu", "cuda:1", "opencl", "auto"; None: WCODEC_BACKEND, else
                the CPU for host memory and the device itself for memory of a device.
            threads: None: WCODEC_THREADS, else one for each core.
            base: of deltas: files that they are differences from, or folders of them. Those in the
                file's own folder are found by themselves, but not those behind URLs.
            storage_options: of a URL: what its file system is made with.
        """
        self._storage_options = storage_options
        self._given = base_paths(base)
        self._needs_bases: bool | None = None
        self._source: Any = source if isinstance(source, (str, bytes)) else None
        if self._source is None:
            data = isinstance(source, (bytearray, memoryview))
            self._source = bytes(source) if data else os.fspath(source)  # type: ignore[arg-type]
        self.path = self._source if isinstance(self._source, str) else ""
        if "\0" in self.path:
            raise UsageError("the path has a zero byte in it", file=self.path)
        self._backend = backend
        self._threads = threads
        self._lock = threading.Lock()
        self._generation = _context.generation
        self._opened: dict[str | None, _Opened] = {}
        self._closed = False
        self._names: list[str] | None = None
        self._files: list[str] | None = None
        self._all: list[TensorInfo] | None = None
        self._tensors: dict[int, TensorInfo] = {}
        self._host = _context.host_backend(backend)
        self._is_remote = is_remote(self._source)
        self._use(self._host)

    def _use(self, backend: str | None) -> _Opened:
        """The library's reader whose context decodes with that backend. The caller keeps the
        result until his call is over."""
        if self._generation != _context.generation:
            self._after_fork()
        opened = self._opened.get(backend)
        if opened is not None:
            return opened
        with self._lock:
            if self._closed:
                raise UsageError("the file is closed", file=self.path)
            opened = self._opened.get(backend)
            if opened is None:
                opened = self._opened[backend] = self._open(backend)
            return opened

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        self._opened = {}
        self._generation = _context.generation

    def _open(self, backend: str | None) -> _Opened:
        context = _context.context(backend, self._threads)
        handle, error = ctypes.c_void_p(), c.wcodec_error()
        source = keep = self._source
        if self._is_remote:
            remote = Remote(source, self._storage_options)
            status, keep = remote.open(context, handle, error)
        elif isinstance(source, bytes):
            status = lib.wcodec_reader_open_memory(
                context.handle, source, len(source), handle, error
            )
        else:
            status = lib.wcodec_reader_open_path(context.handle, os.fsencode(source), handle, error)
        if status != c.WCODEC_OK:
            raise self._open_error(status, error)
        try:
            if self._is_remote and remote.shards:
                self._check_shards(handle, remote.shards)
            bases = self._set_bases(context, handle)
        except BaseException:
            lib.wcodec_reader_close(handle)
            raise
        return _Opened(handle, lib.wcodec_reader_close, bases or context, keep)

    def _check_shards(self, handle: ctypes.c_void_p, shards: dict[str, str]) -> None:
        """Each tensor is in the file that the index says."""
        info, file, number = c.wcodec_tensor_info(), c.wcodec_file_info(), ctypes.c_uint64()
        for name, url in shards.items():
            key = name.encode("utf-8", "surrogatepass")
            found = lib.wcodec_reader_find(handle, key, number, None) == c.WCODEC_OK
            if found:
                lib.wcodec_reader_tensor(handle, number, info, None)
                lib.wcodec_reader_file(handle, info.file, file, None)
            if not found or os.fsdecode(file.path or b"") != url:
                text = f"{self.path}: tensor {name!r} is not in {url}"
                raise CorruptError(text, file=self.path, tensor=name)

    def _set_bases(self, context: _context.Context, handle: ctypes.c_void_p) -> Bases | None:
        """What its deltas are decoded by. A set belongs to one context, as what it is used by."""
        if self._needs_bases is False:
            return None
        path = "" if self._is_remote else self.path
        bases = for_decoding(context, handle, path, self._given, self._listing)
        self._needs_bases = bases is not None
        return bases

    def _open_error(self, status: int, error: c.wcodec_error) -> Exception:
        files = [self.path] if self.path else []
        if self._is_remote:
            return error_of(status, error, files=files)
        if os.path.isdir(self.path) or self.path.endswith(".json"):
            folder = self.path if os.path.isdir(self.path) else os.path.dirname(self.path)
            with contextlib.suppress(OSError):
                files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        made = error_of(status, error, files=files)
        made.file = made.file or self.path or None
        missing = isinstance(made, TensorNotFoundError)  # a file that the index names
        if missing or (isinstance(made, FileError) and not os.path.exists(self.path)):
            return MissingFileError(made.text, file=self.path)
        return made

    def check(self, status: int, error: c.wcodec_error, tensors: Sequence[str] = ()) -> None:
        """Raise the exception of a call that failed."""
        if status != c.WCODEC_OK:
            files = [f for f in self.files() if f] or ([self.path] if self.path else [])
            # Tensors are looked up elsewhere: what is not found is a base.
            check(status, error, files=files, tensors=tensors, missing_file=True)

    def opened(self) -> _Opened:
        """The library's reader: its handle is good as long as the result is kept."""
        return self._use(self._host)

    def bases(self) -> list[str]:
        """Paths of the files that its deltas are decoded by."""
        parent = self.opened()._parent
        return parent.paths() if isinstance(parent, Bases) else []

    def needed(self, tensors: range) -> list[dict[str, Any]]:
        """The files that these tensors are made of, as Bases.needed() has them."""
        opened = self.opened()
        parent = opened._parent
        return parent.needed(opened.handle, tensors) if isinstance(parent, Bases) else []

    def close(self) -> None:
        """Close it; calls that run in other threads go on. May be called again."""
        with self._lock:
            self._closed = True
            self._opened = {}

    @property
    def closed(self) -> bool:
        return self._closed

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed " if self._closed else ""
        return f"<{state}wcodec.Reader {self.path or 'of bytes'!r}>"

    def on(self, backend: str) -> bool:
        """Whether memory of that device can be loaded to; raises BackendError with the reason
        where it cannot."""
        self._use(backend)
        return True

    def names(self) -> list[str]:
        """Names of all tensors, in the order of their data."""
        if self._names is None and self._all is not None:
            self._names = [info.name for info in self._all]
        if self._names is None:
            opened = self._use(self._host)
            info, names = c.wcodec_tensor_info(), []
            get, handle = lib.wcodec_reader_tensor, opened.handle
            for i in range(lib.wcodec_reader_tensor_count(handle)):
                get(handle, i, info, None)
                names.append(info.name.decode())  # type: ignore[union-attr]
            self._names = names
        return list(self._names)

    def find(self, name: str) -> int:
        """The number of the tensor of that name."""
        if not isinstance(name, str):
            raise TypeError(f"the name of a tensor is a str, not {type(name).__name__}")
        index = ctypes.c_uint64()
        opened = self._use(self._host)
        text = name.encode("utf-8", "surrogatepass")
        if b"\0" in text or lib.wcodec_reader_find(opened.handle, text, index, None) != c.WCODEC_OK:
            where = f"{self.path}: " if self.path else ""
            raise TensorNotFoundError(
                f"{where}no tensor is called {name!r}", file=self.path or None, tensor=name
            )
        return index.value

    def tensor(self, number: int) -> TensorInfo:
        """Describe a tensor."""
        if self._all is not None and 0 <= number < len(self._all):
            return self._all[number]
        known = self._tensors.get(number)
        if known is not None:
            return known
        info, error = c.wcodec_tensor_info(), c.wcodec_error()
        opened = self._use(self._host)
        self.check(lib.wcodec_reader_tensor(opened.handle, number, info, error), error)
        made = TensorInfo(
            number,
            info.name.decode(),  # type: ignore[union-attr]
            info.dtype_name.decode(),  # type: ignore[union-attr]
            tuple(info.shape[: info.rank]),
            info.size,
            info.coded_size,
            (self._files or self.files())[info.file],
        )
        self._tensors[number] = made
        return made

    def tensors(self) -> list[TensorInfo]:
        """All tensors, in the order of their data."""
        if self._all is None:
            opened, files = self._use(self._host), self.files()
            info, made = c.wcodec_tensor_info(), []
            get, handle = lib.wcodec_reader_tensor, opened.handle
            dtypes: dict[bytes | None, str] = {}
            for i in range(lib.wcodec_reader_tensor_count(handle)):
                get(handle, i, info, None)
                dtype = info.dtype_name
                made.append(
                    TensorInfo(
                        i,
                        info.name.decode(),  # type: ignore[union-attr]
                        dtypes.get(dtype) or dtypes.setdefault(dtype, dtype.decode()),  # type: ignore[union-attr]
                        tuple(info.shape[: info.rank]),
                        info.size,
                        info.coded_size,
                        files[info.file],
                    )
                )
            self._all = made
        return list(self._all)

    def files(self) -> list[str]:
        """Paths of the files that are open, one for each original; empty strings in memory."""
        if self._files is None:
            opened = self._use(self._host)
            info, paths = c.wcodec_file_info(), []
            for i in range(lib.wcodec_reader_file_count(opened.handle)):
                lib.wcodec_reader_file(opened.handle, i, info, None)
                paths.append(os.fsdecode(info.path or b""))
            self._files = paths
        return list(self._files)

    def metadata(self, file: int | None = None) -> dict[str, str]:
        """The `__metadata__` of one file, or of all: of equal keys the first counts."""
        opened = self._use(self._host)
        count = lib.wcodec_reader_file_count(opened.handle)
        result: dict[str, str] = {}
        key, value, error = ctypes.c_char_p(), ctypes.c_char_p(), c.wcodec_error()
        for f in range(count) if file is None else (file,):
            for i in range(lib.wcodec_reader_metadata_count(opened.handle, f)):
                self.check(
                    lib.wcodec_reader_metadata(opened.handle, f, i, key, value, error), error
                )
                result.setdefault((key.value or b"").decode(), (value.value or b"").decode())
        return result

    def load(
        self,
        items: Sequence[Item],
        *,
        memory: str | None = None,
        backend: str | None = None,
        queue: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Decode tensors, or rows of them, to where they are used; all at the same time.

        Args:
            items: what goes where; the memory of two must not overlap.
            memory: whose memory that is: "cuda"; None: host memory.
            backend: the device, such as "cuda:1"; None: as at opening.
            queue: CUDA stream of the caller's (an integer handle): nothing is written before what
                was given to it until now is done. All bytes are there on return, anyhow.
            progress: see Progress.
        """
        if not items:
            return
        opened = self._use(backend or self._host)
        error, options, listed = c.wcodec_error(), load_options(memory, queue), load_items(items)

        def call() -> int:
            return int(lib.wcodec_load(opened.handle, listed, len(items), options, None, error))

        if progress is None and not self._is_remote and sum(item.nbytes for item in items) < LONG:
            status = call()
        else:
            watch = Watch(progress)
            options.progress = watch.progress
            status = watch.run(call)
        self.check(status, error, _Names(self, items))

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
        """As load(), but return when the load has begun; `keep` owns the memory. streams and
        host_memory (bytes) are as of wcodec_load_options; 0: the library's choice."""
        opened = self._use(backend or self._host)
        error, options, handle = c.wcodec_error(), load_options(memory, queue), ctypes.c_void_p()
        options.streams, options.host_memory = streams, host_memory
        listed = load_items(items) if items else None
        status = lib.wcodec_load_start(opened.handle, listed, len(items), options, handle, error)
        names = _Names(self, items)
        self.check(status, error, names)
        return LibraryWork(
            "wcodec_loading", handle, opened, keep, lambda s, e: self.check(s, e, names)
        )

    def rows(self, number: int, first: int, count: int, address: int, nbytes: int) -> None:
        """Decode rows [first, first + count) of one tensor to host memory: only the tiles that hold
        them are read."""
        if nbytes >= LONG or self._is_remote:
            self.load([Item(number, first, count, address, nbytes)])
            return
        opened, error = self._use(self._host), c.wcodec_error()
        status = lib.wcodec_reader_decode_rows(
            opened.handle, number, first, count, address, nbytes, None, error
        )
        if status != c.WCODEC_OK:
            self.check(status, error, [self.tensor(number).name])


class _Names(Sequence[str]):
    """Names of a load's tensors, looked up only if it fails."""

    def __init__(self, reader: Reader, items: Sequence[Item]) -> None:
        self._reader = reader
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, i: Any) -> Any:
        return self._reader.tensor(self._items[i].number).name


def load_items(items: Iterable[Item]) -> Any:
    """The library's array of items."""
    flat = array.array("Q")
    for number, first, rows, address, nbytes in items:
        flat.extend((number, first, rows, address, 0, nbytes, 0, 0, 0, 0))
    count = len(flat) // 10
    return (c.wcodec_load_item * count).from_buffer(flat)


def load_options(memory: str | None, queue: int | None) -> c.wcodec_load_options:
    options = c.wcodec_load_options()
    lib.wcodec_load_options_init_size(options, ctypes.sizeof(options))
    if memory is not None:
        options.memory = memory.encode()
    if queue is not None:
        options.use_queue = 1
        options.queue = queue
    return options


class ListingReader(Reader):
    """One for what describes a file and decodes nothing."""

    _listing = True
