# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tensors decoded into numpy's memory, as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._reader import AnyReader, Item
from .errors import missing

if TYPE_CHECKING:
    import numpy

    Bytes = numpy.ndarray[Any, numpy.dtype[numpy.uint8]]

CHUNK = 1 << 23
"""Elements that are held at once where all of a tensor is read."""


def require_numpy() -> None:
    """Raise the error that says how numpy is installed, where it is not."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise missing("numpy", "a report") from None


def rows(reader: AnyReader, number: int, first: int = 0, count: int = 0) -> Bytes:
    """The bytes of rows [first, first + count) of a tensor, from `first` on where `count` is 0."""
    import numpy

    tensor = reader.tensor(number)
    size = tensor.nbytes
    if first or count:
        size = size // tensor.shape[0] * (count or tensor.shape[0] - first)
    data = numpy.empty(size, "u1")
    if size:
        reader.load([Item(number, first, count, data.ctypes.data, size)])
    return data


def chunks(shape: tuple[int, ...], elements: int) -> list[tuple[int, int]]:
    """All of a tensor in runs of rows (first, count) of at most CHUNK elements where rows allow it;
    a count of 0 is all."""
    if elements <= CHUNK or not shape or shape[0] < 2:
        return [(0, 0)]
    each = max(1, CHUNK * shape[0] // elements)
    return [(first, min(each, shape[0] - first)) for first in range(0, shape[0], each)]
