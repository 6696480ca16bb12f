# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""What a framework must know, and how tensors come to it by whole loads and by slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ._context import Progress
from ._errors import UnsupportedError, UsageError
from ._loading import Loading, Started
from ._open import open_any
from ._reader import AnyReader, Item, Source, TensorInfo


class Request:
    """A tensor to be loaded, or rows [first, first + count) of it."""

    __slots__ = ("info", "first", "count", "shape", "nbytes")

    def __init__(self, info: TensorInfo, first: int = 0, count: int | None = None) -> None:
        self.info = info
        self.first = first
        self.count = count
        self.shape = info.shape
        self.nbytes = info.nbytes
        if count is not None:
            self.shape = (count, *info.shape[1:])
            self.nbytes = info.nbytes // info.shape[0] * count if info.shape[0] else 0

    def item(self, address: int) -> Item:
        return Item(self.info.number, self.first, self.count or 0, address, self.nbytes)


class Framework(Protocol):
    """Arrays of one framework on one device."""

    def load(
        self, reader: AnyReader, requests: Sequence[Request], progress: Progress | None = None
    ) -> list[Any]:
        """Arrays for all requests, decoded at the same time."""
        ...

    def begin(
        self, reader: AnyReader, requests: Sequence[Request]
    ) -> tuple[Started, Callable[[], list[Any]]]:
        """The same beside the caller: the load, and what gives the arrays when it has ended."""
        ...

    def row(self, reader: AnyReader, request: Request) -> Any:
        """The array for one small request, soon."""
        ...


def _numpy(device: Any, backend: str | None) -> Framework:
    from . import numpy

    return numpy.Framework(device)


def _torch(device: Any, backend: str | None) -> Framework:
    from . import torch

    return torch.Framework(device, backend)


def _jax(device: Any, backend: str | None) -> Framework:
    from . import jax

    return jax.Framework(device)


_FRAMEWORKS: dict[str, Callable[[Any, str | None], Framework]] = {
    "np": _numpy,
    "numpy": _numpy,
    "pt": _torch,
    "torch": _torch,
    "pytorch": _torch,
    "jax": _jax,
    "flax": _jax,
}
_LATER = {"tf", "tensorflow", "mlx", "paddle"}


def framework(name: str, device: Any, backend: str | None) -> Framework:
    """The framework that safe_open() is asked for."""
    if name in _LATER:
        raise UnsupportedError(f"framework {name!r} is not supported: 'np', 'pt' and 'jax' are")
    make = _FRAMEWORKS.get(name) if isinstance(name, str) else None
    if make is None:
        raise UsageError(f"framework is {name!r}: expected 'np', 'pt' or 'jax'")
    return make(device, backend)


# The storage backends of safetensors.safe_open, which say how a file is read: here it always is by
# pread(), so programs written for either get what they expect.
_STORAGE = ("mmap", "pread")


def compute_backend(backend: str | None) -> str | None:
    return None if backend in _STORAGE else backend


def described(reader: AnyReader, names: Iterable[str] | None) -> list[TensorInfo]:
    """Those tensors, or all, of a reader."""
    if names is None:
        return reader.tensors()
    return [reader.tensor(reader.find(name)) for name in names]


def load_all(
    reader: AnyReader, made: Framework, names: Iterable[str] | None, progress: Progress | None
) -> dict[str, Any]:
    """Those tensors, or all, by name."""
    infos = described(reader, names)
    arrays = made.load(reader, [Request(info) for info in infos], progress)
    return dict(zip((info.name for info in infos), arrays))


def async_load(
    filename: Source,
    framework: str = "np",
    device: Any = "cpu",
    *,
    backend: str | None = None,
    threads: int | None = None,
    names: Iterable[str] | None = None,
) -> Loading:
    """Begin to load tensors and return at once; arguments are those of safe_open().

        loading = wcodec.async_load("model.safetensors.wcodec", "pt", "cuda")
        ...
        tensors = loading.wait()

    Args:
        names: only these tensors; None: all.

    Returns:
        A Loading: done(), progress(), cancel(), wait().

    Raises:
        What opening can; what decoding can, from wait().
    """
    backend = compute_backend(backend)
    made = _framework(framework, device, backend)
    reader = open_any(filename, backend=backend, threads=threads)
    infos = described(reader, names)
    started, result = made.begin(reader, [Request(info) for info in infos])
    return Loading([info.name for info in infos], started, result)


_framework = framework
