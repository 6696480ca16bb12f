# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Arrays in host memory as calls with resident tensors take and give them: of numpy or torch."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple, Protocol

from ._dtypes import elements
from ._errors import UsageError
from ._frameworks import Request


class Block(NamedTuple):
    """Where the elements of an array are."""

    address: int
    dtype: str
    """Name in the safetensors format; where that has none, what the framework calls it."""
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes."""
    array: Any
    """Owns the memory."""

    def stride(self) -> int | None:
        """Bytes from a row to the next, 0 where they follow each other or there is only one; None
        if rows, of the last dimension, are not what the library takes."""
        if self.address % self.itemsize or not self.shape:
            return None
        width = self.shape[-1] * self.itemsize
        if self.shape[-1] > 1 and self.strides[-1] != self.itemsize:
            return None
        step = expected = 0
        for size, stride in zip(reversed(self.shape[:-1]), reversed(self.strides[:-1])):
            if size == 1:
                continue
            if stride < width or stride % self.itemsize or (step and stride != expected):
                return None
            step = step or stride
            expected = stride * size
        return step

    def contiguous(self) -> bool:
        """Whether the elements follow each other."""
        expected = self.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1 and stride != expected:
                return elements(self.shape) == 0
            expected *= size
        return True

    def overlaps(self, other: Block) -> bool:
        """Whether memory of the two may be the same."""
        (begin, end), (first, last) = self._extent(), other._extent()
        return begin < last and first < end

    def _extent(self) -> tuple[int, int]:
        if not elements(self.shape):
            return self.address, self.address
        ways = [(size - 1) * stride for size, stride in zip(self.shape, self.strides)]
        begin = self.address + sum(way for way in ways if way < 0)
        return begin, self.address + sum(way for way in ways if way > 0) + self.itemsize


class Arrays(Protocol):
    """Those of one framework."""

    def block(self, array: Any, what: str) -> Block:
        """An argument that is read, as it is or as a copy in the library's byte order."""
        ...

    def target(self, array: Any, what: str) -> Block:
        """An argument that is written."""
        ...

    def packed(self, block: Block) -> Block:
        """A copy whose elements follow each other."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: str) -> Block:
        """A new array."""
        ...

    def requested(self, request: Request) -> Block:
        """The same for what is decoded, of what stands for its type in this framework."""
        ...

    def copy(self, to: Any, source: Any) -> None:
        """Copy elements; types may differ."""
        ...

    def index(self, rows: Any) -> Block:
        """Numbers of rows: of I64, following each other."""
        ...

    def shaped(self, array: Any, shape: tuple[int, ...]) -> Any:
        """The same elements in another shape."""
        ...


class Numpy:
    def block(self, array: Any, what: str) -> Block:
        import numpy as np

        given = np.asarray(array)
        return self._block(given.astype(given.dtype.newbyteorder("<"), copy=False))

    def target(self, array: Any, what: str) -> Block:
        import numpy as np

        if not isinstance(array, np.ndarray):
            raise UsageError(f"{what} is {type(array).__name__}: expected numpy.ndarray")
        if not array.flags.writeable:
            raise UsageError(f"{what} is read-only")
        if array.dtype != array.dtype.newbyteorder("<"):
            raise UsageError(f"{what} is {array.dtype}, of another byte order")
        return self._block(array)

    @staticmethod
    def _block(array: Any) -> Block:
        from .numpy import name_of

        return Block(
            array.__array_interface__["data"][0],
            name_of(array.dtype) or array.dtype.name,
            max(array.dtype.itemsize, 1),
            array.shape,
            array.strides,
            array,
        )

    def packed(self, block: Block) -> Block:
        return self._block(block.array.copy(order="C"))

    def empty(self, shape: tuple[int, ...], dtype: str) -> Block:
        import numpy as np

        from .numpy import dtype_of

        return self._block(np.empty(shape, dtype_of(dtype)))

    def requested(self, request: Request) -> Block:
        from .numpy import empty

        return self._block(empty(request))

    def copy(self, to: Any, source: Any) -> None:
        to[...] = source

    def index(self, rows: Any) -> Block:
        import numpy as np

        given = np.asarray(rows)
        if given.dtype.kind not in "iu" and given.size:
            raise UsageError(f"rows are {given.dtype}: expected whole numbers")
        if given.dtype.kind == "u" and given.size and given.max() > np.iinfo(np.int64).max:
            raise UsageError(f"row {given.max()} is outside of every tensor")
        return self._block(np.ascontiguousarray(given, np.dtype("<i8")).reshape(given.shape))

    def shaped(self, array: Any, shape: tuple[int, ...]) -> Any:
        return array.reshape(shape)


class Torch:
    def block(self, array: Any, what: str) -> Block:
        import torch

        if not isinstance(array, torch.Tensor):
            raise UsageError(f"{what} is {type(array).__name__}: expected torch.Tensor")
        if array.device.type != "cpu" or array.layout != torch.strided:
            kind = "sparse" if array.layout != torch.strided else f"on {array.device}"
            raise UsageError(f"{what} is {kind}: these resident tensors are in host memory")
        if array.requires_grad and torch.is_grad_enabled():
            raise UsageError(
                f"{what} requires gradients, which wcodec.torch.Linear has; here, detach() it"
            )
        return self._block(array.detach().resolve_conj().resolve_neg())

    def target(self, array: Any, what: str) -> Block:
        made = self.block(array, what)
        if array.is_neg() or array.is_conj():
            raise UsageError(f"{what} is a view of the negated or conjugated elements of another")
        return made

    @staticmethod
    def _block(array: Any) -> Block:
        from .torch import _NAMES

        size = array.element_size()
        return Block(
            array.data_ptr(),
            _NAMES.get(array.dtype) or str(array.dtype),
            size,
            tuple(array.shape),
            tuple(stride * size for stride in array.stride()),
            array,
        )

    def packed(self, block: Block) -> Block:
        import torch

        return self._block(block.array.clone(memory_format=torch.contiguous_format))

    def empty(self, shape: tuple[int, ...], dtype: str) -> Block:
        import torch

        from .torch import _dtypes

        return self._block(torch.empty(shape, dtype=_dtypes[dtype]))

    def requested(self, request: Request) -> Block:
        import torch

        from .torch import empty

        return self._block(empty(request, torch.device("cpu")))

    def copy(self, to: Any, source: Any) -> None:
        to.copy_(source)

    def index(self, rows: Any) -> Block:
        import torch

        given = torch.as_tensor(rows)
        self.block(given, "rows")
        whole = not (given.is_floating_point() or given.is_complex() or given.dtype == torch.bool)
        if given.numel() and not whole:
            raise UsageError(f"rows are {given.dtype}: expected whole numbers")
        return self._block(given.to(torch.int64).contiguous())

    def shaped(self, array: Any, shape: tuple[int, ...]) -> Any:
        return array.reshape(shape)


def is_torch(array: Any) -> bool:
    """Whether it is a tensor of torch, which is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def float_pointer(array: Any) -> Any:
    """To the elements of an array of numpy of float32 that follow each other; None for None."""
    return None if array is None else array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
