# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files behind a network: by any file system that fsspec knows, from its URL."""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from . import _declarations as c
from ._context import Context, Watch
from ._errors import (
    CorruptError,
    FileError,
    LimitError,
    MissingFileError,
    UnsupportedError,
    UsageError,
)
from ._library import lib

StorageOptions = Mapping[str, Any] | None
"""What the file system is made with: as of fsspec and pandas."""

TRIES = 4
"""How often a request is made before its failure counts."""

PAUSES = (0.2, 0.6, 1.8)
"""Seconds between them."""

SILENCE = 30.0
"""Seconds without a byte of a web server's after which a request has failed."""

INDEX_MOST = 64 << 20
"""Bytes of an index, which takes some 100 for each tensor."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")
# What trying again would not change.
_FINAL = (FileNotFoundError, IsADirectoryError, PermissionError, NotImplementedError, TypeError)


def is_remote(source: object) -> bool:
    """Whether it is a URL, rather than a path: "s3://bucket/key", "simplecache::https://..."."""
    return isinstance(source, str) and _URL.match(source) is not None


class RemoteFile(NamedTuple):
    """One file as its file system knows it."""

    path: str
    size: int
    name: str
    """URL, for people."""


class Remote:
    """What a URL stands for: a .wcodec file, a folder of them, or an index of them."""

    def __init__(self, url: str, options: StorageOptions = None) -> None:
        if "\0" in url:
            raise UsageError("the URL has a zero byte in it", file=url)
        self.url = url
        self._fs, path = _file_system(url, dict(options or {}))
        self.shards: dict[str, str] = {}  # of an index: tensors, and the URL of each one's file
        self.files = self._find(path)

    def _find(self, path: str) -> list[RemoteFile]:
        if path.partition("?")[0].endswith(".index.json"):
            return self._indexed(path)
        info = self._info(path)
        if info.get("type") != "directory":
            return [self._file(path, info, self.url)]
        names = _tried(lambda: self._fs.ls(path, detail=False), self.url)
        coded = sorted(name for name in names if name.endswith(".wcodec"))
        if not coded:
            raise MissingFileError(f"{self.url}: no .wcodec file is in it", file=self.url)
        return self._all(coded)

    def _indexed(self, path: str) -> list[RemoteFile]:
        """The shards that an index names, in its folder and nowhere else."""
        import json

        why = 'it has no "weight_map" of names'
        try:
            text = _tried(lambda: _get(self._fs, path, 0, INDEX_MOST + 1, True), self.url)
            if len(text) > INDEX_MOST:
                most = f"an index of more than {INDEX_MOST} bytes"
                raise LimitError(f"{self.url}: {most}", file=self.url)
            names: dict[str, str] = json.loads(text)["weight_map"]
            shards = sorted(set(names.values()))
            wrong = [name for name in shards if "/" in name or "\0" in name or not name]
            if shards and not wrong:
                folder = path.rpartition("/")[0]
                files = self._all([f"{folder}/{name}.wcodec" for name in shards])
                urls = {name: file.name for name, file in zip(shards, files)}
                self.shards = {tensor: urls[name] for tensor, name in names.items()}
                return files
            why = f"{wrong[0]!r:.200} is no name of a file" if wrong else "it names no file"
        except (ValueError, RecursionError) as error:
            why = str(error)
        except (TypeError, KeyError, AttributeError):
            pass
        raise CorruptError(f"{self.url}: no index of a model: {why}", file=self.url)

    def _all(self, paths: Sequence[str]) -> list[RemoteFile]:
        from concurrent.futures import ThreadPoolExecutor

        def one(path: str) -> RemoteFile:
            name = str(self._fs.unstrip_protocol(path))
            return self._file(path, self._info(path, name), name)

        with ThreadPoolExecutor(min(16, len(paths))) as pool:
            return list(pool.map(one, paths))

    def _info(self, path: str, name: str | None = None) -> dict[str, Any]:
        info: dict[str, Any] = _tried(lambda: self._fs.info(path), name or self.url)
        return info

    def _file(self, path: str, info: dict[str, Any], name: str) -> RemoteFile:
        size = info.get("size")
        if not isinstance(size, int) or size < 0:
            raise FileError(f"{name}: the server does not say how long it is", file=name)
        if info.get("partial") is False:
            text = f"{name}: the server gives whole files only, not ranges of their bytes"
            raise UnsupportedError(text, file=name)
        return RemoteFile(path, size, name)

    def open(self, context: Context, handle: Any, error: c.wcodec_error) -> tuple[int, object]:
        """Open the library's reader of it: the status, and what must live as long as the reader."""
        watch = Watch()
        kept: list[Any] = []
        files = (c.wcodec_io * len(self.files))()
        for io, file in zip(files, self.files):
            kept += [read_at := c.wcodec_read_at_fn(_reading(self._fs, file, watch.stopped))]
            kept += [name := file.name.encode("utf-8", "replace")]
            io.read_at, io.name, io.size = read_at, name, file.size
        status = watch.run(
            lambda: lib.wcodec_reader_open_io(context.handle, files, len(files), handle, error)
        )
        return status, kept


def _file_system(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        text = f"{url}: URLs need the package fsspec: pip install fsspec"
        raise UnsupportedError(text, file=url) from None
    if url.startswith(("http://", "https://")) and "client_kwargs" not in options:
        options["client_kwargs"] = _patience()
    try:
        fs, path = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        raise UnsupportedError(f"{url}: {error}", file=url) from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"{url}: {error}", file=url) from None
    return fs, path


def _patience() -> dict[str, Any]:
    try:
        aiohttp = importlib.import_module("aiohttp")
    except ImportError:  # url_to_fs() says so
        return {}
    return {"timeout": aiohttp.ClientTimeout(sock_connect=SILENCE, sock_read=SILENCE)}


def _is_final(error: Exception) -> bool:
    code = getattr(error, "status", None)
    refused = isinstance(code, int) and 400 <= code < 500 and code not in (408, 429)
    return refused or isinstance(error, _FINAL)


def _said(error: Exception) -> str:
    """One line of what an exception says."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _tried(call: Callable[[], Any], name: str) -> Any:
    """What a call gives, which is made again where it fails and may not the next time."""
    for i in range(TRIES):
        try:
            return call()
        except FileNotFoundError:
            raise MissingFileError(f"{name}: there is no such file", file=name) from None
        except Exception as error:
            if i + 1 == TRIES or _is_final(error):
                raise FileError(f"{name}: {_said(error)}", file=name) from None
        time.sleep(PAUSES[i])
    raise AssertionError


def _get(fs: Any, path: str, offset: int, size: int, whole: bool) -> bytes:
    """Bytes of a file; one more than was asked for stands for all more that a server sends.

    whole: the file has no more than these: a web server is asked for all of it.
    """
    client = sys.modules.get("fsspec.implementations.http")
    if client is None or not isinstance(fs, client.HTTPFileSystem):
        data: bytes = fs.cat_file(path, start=offset, end=offset + size)
        return data
    asyn = importlib.import_module("fsspec.asyn")
    got: bytes = asyn.sync(fs.loop, _get_by_http, fs, path, offset, size, whole)
    return got


async def _get_by_http(fs: Any, path: str, offset: int, size: int, whole: bool) -> bytes:
    """As HTTPFileSystem.cat_file(), which would read all that is sent before it looks at it."""
    options = dict(fs.kwargs)
    if not whole:
        asked = {"Range": f"bytes={offset}-{offset + size - 1}"}
        options["headers"] = {**options.get("headers", {}), **asked}
    session = await fs.set_session()
    async with session.get(fs.encode_url(path), **options) as answer:
        if answer.status == 404:
            raise FileNotFoundError(path)
        answer.raise_for_status()
        if not whole and answer.status != 206:
            raise NotImplementedError("the server gives the whole file: it ignores ranges")
        data = bytearray()
        while len(data) <= size:
            more = await answer.content.read(size + 1 - len(data))
            if not more:
                break
            data += more
    return bytes(data)


def _reading(fs: Any, file: RemoteFile, stopped: Callable[[], bool]) -> Callable[..., int]:
    """A wcodec_read_at_fn. Runs in threads of the library's; exceptions end here."""

    def ask(offset: int, size: int) -> bytes:
        data = _get(fs, file.path, offset, size, size == file.size)
        if len(data) > size:
            raise NotImplementedError("the server gave more bytes than it was asked for")
        if len(data) < size:
            raise EOFError(f"the server gave {len(data)} bytes")
        return data

    def read_at(_opaque: int | None, offset: int, size: int, dst: int, error: Any) -> int:
        why = ""
        for i in range(TRIES):
            if stopped():
                error.contents.status = c.WCODEC_ERROR_CANCELLED
                why = "cancelled"
                break
            try:
                ctypes.memmove(dst, ask(offset, size), size)
                return size
            except Exception as problem:
                why = _said(problem)
                if _is_final(problem):
                    break
            if i + 1 < TRIES:
                time.sleep(PAUSES[i])
            else:
                why += f" ({TRIES} tries)"
        error.contents.text = why.encode("utf-8", "replace")[:955]
        return -1

    return read_at
