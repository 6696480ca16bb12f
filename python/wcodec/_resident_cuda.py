# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Resident tensors in the memory of a CUDA device, by tensors of torch and its streams.

Vectors are multiplied straight from a matrix's code where the library says that this is faster;
else torch multiplies."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from . import _declarations as c
from ._dtypes import elements
from ._errors import BackendError, UnsupportedError, UsageError
from ._frameworks import Request
from ._library import lib
from ._resident import PRODUCTS

if TYPE_CHECKING:
    from ._resident import Resident, ResidentInfo, _Made

DECODED_AT_ONCE = 128 << 20
"""Bytes of a matrix that are decoded for torch's product."""

_NUMBERS = {
    torch.bfloat16: c.WCODEC_DTYPE_BF16,
    torch.float16: c.WCODEC_DTYPE_F16,
    torch.float32: c.WCODEC_DTYPE_F32,
}
_PARTS = {torch.bfloat16: 1, torch.float16: 2, torch.float32: 3}
"""Numbers of BF16 whose sum is one of the type."""
_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""What stands for elements of so many bytes where they are only copied."""
_SUMS = hasattr(torch.ops.aten.mm, "dtype")
"""Whether torch (2.8 or later) has products of 16-bit matrices that are of F32."""


def device_of(name: Any) -> torch.device | None:
    """The CUDA device that is meant, or None for host memory."""
    from .torch import Framework

    if name is None:
        raise UsageError("device is None: expected 'cpu', 'cuda' or 'cuda:N'")
    framework = Framework(name)
    if framework.device.type == "cpu":
        return None
    if framework._name is None:
        raise UsageError(f"device is {str(name)!r}: expected 'cpu', 'cuda' or 'cuda:N'")
    if not torch.cuda.is_available():
        raise BackendError(f"device is {str(name)!r}: torch finds no CUDA device")
    torch.empty(0, device=framework.device)  # torch's own context is there first
    return framework.device


class _Memory:
    """Bytes that the library owns, as torch takes over foreign memory."""

    def __init__(self, made: _Made, address: int, size: int) -> None:
        self._made = made  # ended when the last tensor over it is gone
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
            "strides": None,
        }


def _like(request: Request) -> torch.Tensor:
    """A tensor for what is requested, without memory."""
    from .torch import empty

    return empty(request, torch.device("meta"))


def _split(x: torch.Tensor) -> torch.Tensor:
    """[parts, vectors, k] of BF16 whose sum is x, [vectors, k]. What is not finite is in the first
    of them alone."""
    rest = x.to(torch.float32)
    finite = rest.isfinite()
    parts: list[torch.Tensor] = []
    for _ in range(_PARTS[x.dtype]):
        part = (rest.view(torch.int32) & -65536).view(torch.float32)  # toward 0: none overflows
        parts.append(part if parts else torch.where(finite, part, rest))
        rest = torch.where(finite, rest - part, 0)
    return torch.stack(parts).to(torch.bfloat16)


def _common(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """What elements of both types are, unchanged; a is a matrix's, b that of vectors."""
    return b if a.itemsize == 1 else torch.promote_types(a, b)


def _sums(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """x w^T in F32."""
    if _SUMS and x.is_cuda and x.dtype != torch.float32 and x.numel() and w.numel():
        y = torch.mm(x.reshape(-1, x.shape[-1]), w.t(), out_dtype=torch.float32)
        return y.reshape(*x.shape[:-1], w.shape[0])
    return torch.nn.functional.linear(x.float(), w.float())


class Device:
    """What a Resident does with tensors on a device."""

    memory = "cuda"
    """The library's name of the memory."""

    def __init__(self, resident: Resident, device: torch.device) -> None:
        self.resident = weakref.proxy(resident)  # which has this
        self.device = device
        self.backend = str(device)  # that the library opens
        self._plain: dict[str, torch.Tensor] = {}
        self._outside = torch.zeros((), dtype=torch.int64, device=device)  # of plain tables
        self._outside_seen = 0
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            self._plain = {}

    def _stream(self) -> int:
        stream: int = torch.cuda.current_stream(self.device).cuda_stream
        return stream

    def _wait(self) -> None:
        torch.cuda.current_stream(self.device).synchronize()

    def _given(self, name: str, tensor: Any, what: str) -> torch.Tensor:
        if not isinstance(tensor, torch.Tensor):
            raise self.resident._wrong(
                name, f"{what} is {type(tensor).__name__}: expected torch.Tensor"
            )
        if tensor.device != self.device or tensor.layout != torch.strided:
            raise self.resident._wrong(
                name, f"{what} is on {tensor.device}: the resident tensors are on {self.device}"
            )
        if tensor.requires_grad and torch.is_grad_enabled():
            raise self.resident._wrong(
                name,
                f"{what} requires gradients, which wcodec.torch.Linear has; here, detach() it",
            )
        return tensor.detach().resolve_conj().resolve_neg()

    def _bytes(self, made: _Made, info: ResidentInfo) -> torch.Tensor:
        """The library's memory of a tensor that is plain."""
        with self._lock:
            found = self._plain.get(info.name)
        if found is None:
            found = self._view(made, info.native, info.nbytes)
            with self._lock:
                self._plain[info.name] = found
        return found

    def _view(self, made: _Made, address: int, size: int) -> torch.Tensor:
        if size == 0:
            return torch.empty(0, dtype=torch.uint8, device=self.device)
        return torch.as_tensor(_Memory(made, address, size), device=self.device)

    def _request(self, info: ResidentInfo, first: int = 0, count: int | None = None) -> Request:
        _, tensor = self.resident._find(info.name)
        rows = info.shape[0] if info.shape else 1
        if count is None or count == rows:
            return Request(tensor)
        if rows and info.nbytes % rows:
            raise self.resident._wrong(
                info.name, f"rows {first} to {first + count} do not lie on whole bytes"
            )
        return Request(tensor, first, count)

    def _is_direct(self, info: ResidentInfo, request: Request) -> bool:
        """Whether rows at a fixed rate begin and end where those do that are kept so: equal tensors
        of a file may be of another shape."""
        base = info if info.alias is None else self.resident.info(info.alias)
        step = 2 * base.shape[-1]
        begin = request.first * (request.nbytes // request.count) if request.count else 0
        return begin % step == 0 and request.nbytes % step == 0

    def _rows(self, made: _Made, info: ResidentInfo, request: Request) -> torch.Tensor:
        """The bytes of rows, which must not be changed: those that are there, or decoded."""
        if info.form == "fixed" and self._is_direct(info, request):
            rows = torch.empty(request.nbytes, dtype=torch.uint8, device=self.device)
            self._decode(made, info, rows, request)
            return rows
        if info.form == "coded":
            with contextlib.suppress(UnsupportedError):  # rows that are coded together with others
                rows = torch.empty(request.nbytes, dtype=torch.uint8, device=self.device)
                self._decode(made, info, rows, request)
                return rows
        if info.form == "plain":
            whole = self._bytes(made, info)
        else:
            whole = self._rows(made, info, self._request(info))
        begin = request.first * (request.nbytes // request.count) if request.count else 0
        return whole[begin : begin + request.nbytes]

    def _shaped(self, rows: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        return rows.view(like.dtype).view(like.shape)

    def decode(
        self, made: _Made, info: ResidentInfo, out: torch.Tensor | None, first: int, count: int
    ) -> torch.Tensor:
        """Rows as a tensor; out: one like it."""
        request = self._request(info, first, count)
        like = _like(request)
        to = self._target(info, out, like)
        flat = to.reshape(-1).view(torch.uint8)
        if info.form == "coded":
            at_once = flat.data_ptr() % 16 == 0 and request.nbytes == info.nbytes
        else:
            at_once = info.form == "fixed" and self._is_direct(info, request)
        if at_once:
            self._decode(made, info, flat, request)
        else:
            flat.copy_(self._rows(made, info, request))
        return to

    def _target(self, info: ResidentInfo, out: Any, like: torch.Tensor) -> torch.Tensor:
        """out, or a new tensor."""
        if out is None:
            return torch.empty(like.shape, dtype=like.dtype, device=self.device)
        to = self._given(info.name, out, "out")
        if to.shape != like.shape or to.dtype != like.dtype or not to.is_contiguous():
            raise self.resident._wrong(
                info.name,
                f"out is {to.dtype} of shape {tuple(to.shape)}: expected a contiguous {like.dtype} "
                f"of {tuple(like.shape)}",
            )
        return to

    def _decode(self, made: _Made, info: ResidentInfo, to: torch.Tensor, request: Request) -> None:
        if request.nbytes == 0:
            return
        error = c.wcodec_error()
        status = lib.wcodec_resident_decode_queued(
            made.handle,
            info.number,
            request.first,
            request.shape[0] if request.shape else 1,
            to.data_ptr(),
            request.nbytes,
            self._stream(),
            error,
        )
        self.resident._check(status, error, info.name)

    def gather(self, made: _Made, info: ResidentInfo, rows: Any, out: Any) -> torch.Tensor:
        """Rows by an index, whose numbers the host does not see: of one that is no row's come
        zeros."""
        if isinstance(rows, (list, tuple)):
            rows = torch.as_tensor(rows, device=self.device)
        index = self._given(info.name, rows, "rows")
        if index.is_floating_point() or index.is_complex() or index.dtype == torch.bool:
            raise self.resident._wrong(info.name, f"rows are {index.dtype}: expected whole numbers")
        index = index.to(torch.int64).contiguous()
        row = self._request(info, 0, 1)
        one = _like(row)
        if one.dim() == 0 or (one.shape[0] != 1 and info.shape[0]):
            raise self.resident._wrong(info.name, "its rows do not lie on whole bytes")
        like = torch.empty((*index.shape, *one.shape[1:]), dtype=one.dtype, device="meta")
        to = self._target(info, out, like)
        if to.numel() == 0 or not info.shape[0]:
            return to.zero_()
        if info.form == "fixed" and row.nbytes == 2 * self._columns(info):
            self._gather(made, info, index, to)
            return to
        if info.is_gathered(index.numel()) and to.data_ptr() % 16 == 0:
            with contextlib.suppress(UnsupportedError):
                self._gather(made, info, index, to)
                return to
        word = _WORDS[one.dtype.itemsize]
        table = self._rows(made, info, self._request(info)).view(word)
        self._select(table.view(info.shape[0], -1), index.reshape(-1), to, word)
        return to

    def _columns(self, info: ResidentInfo) -> int:
        """Elements of 16 bits that are kept together: equal tensors may be of another shape."""
        base = info if info.alias is None else self.resident.info(info.alias)
        columns: int = base.shape[-1]
        return columns

    def _select(
        self, table: torch.Tensor, index: torch.Tensor, to: torch.Tensor, word: torch.dtype
    ) -> None:
        flat = to.reshape(-1).view(word).view(index.numel(), -1)
        found = table.index_select(0, index.clamp(0, len(table) - 1))
        outside = (index < 0) | (index >= len(table))
        self._outside += outside.sum()
        flat.copy_(found.masked_fill_(outside[:, None], 0))

    def check(self, made: _Made) -> None:
        """As Resident.check()."""
        self._wait()
        error = c.wcodec_error()
        with self._lock:
            status = lib.wcodec_resident_check(made.handle, error)
            outside = int(self._outside)
            more, self._outside_seen = outside - self._outside_seen, outside
        if status == c.WCODEC_OK or not more:
            self.resident._check(status, error, "")
        if more and status != c.WCODEC_OK:
            text = error.text.decode("utf-8", "replace")
            raise UsageError(
                f"{text}; and {more} rows of tensors that are as they were",
                file=self.resident.path or None,
            )
        if more:
            raise UsageError(
                f"{more} of the rows that were gathered are none of their tensors'",
                file=self.resident.path or None,
            )

    def _gather(
        self, made: _Made, info: ResidentInfo, index: torch.Tensor, to: torch.Tensor
    ) -> None:
        error = c.wcodec_error()
        status = lib.wcodec_resident_gather_queued(
            made.handle,
            info.number,
            index.data_ptr(),
            index.numel(),
            to.data_ptr(),
            to.numel() * to.element_size(),
            self._stream(),
            error,
        )
        self.resident._check(status, error, info.name)

    def weight(
        self, made: _Made, info: ResidentInfo, first: int = 0, count: int | None = None
    ) -> torch.Tensor:
        """Rows that must not be changed: those that are there, or decoded."""
        request = self._request(info, first, count)
        return self._shaped(self._rows(made, info, request), _like(request))

    def linear(
        self,
        made: _Made,
        info: ResidentInfo,
        x: Any,
        bias: Any,
        scales: Any,
        transposed: bool,
        out: Any,
    ) -> torch.Tensor:
        """As Resident.linear()."""
        given = self._given(info.name, x, "x")
        if info.dtype not in PRODUCTS:
            raise UnsupportedError(
                f"tensor {info.name!r}: there are no products with {info.dtype}",
                file=self.resident.path or None,
                tensor=info.name,
            )
        n, k = info.shape
        width, height = (n, k) if transposed else (k, n)
        if given.dtype not in _NUMBERS:
            raise self.resident._wrong(
                info.name, f"x is {given.dtype}: expected bfloat16, float16 or float32"
            )
        if given.dim() == 0 or given.shape[-1] != width:
            raise self.resident._wrong(
                info.name,
                f"x has shape {tuple(given.shape)}: its last dimension must be {width}",
            )
        bias = self._vector(info, bias, "bias", [(n,)])
        scales = self._vector(info, scales, "scales", [(n,), (n, 1)])
        shape = (*given.shape[:-1], height)
        if out is not None and (
            not isinstance(out, torch.Tensor)
            or tuple(out.shape) != shape
            or out.dtype not in _NUMBERS
            or out.device != self.device
        ):
            raise self.resident._wrong(
                info.name, f"out is not a tensor of shape {shape} on {self.device}"
            )
        if transposed and bias is not None:
            raise self.resident._wrong(info.name, "y = x W takes no bias")
        kind = given.dtype if out is None else out.dtype
        vectors = elements(shape[:-1]) * _PARTS[given.dtype]
        if scales is None and self._is_straight(made, info, vectors, transposed):
            y = self._multiply(made, info, given, bias, kind, transposed).view(shape)
        elif transposed:
            y = self._transposed(made, info, given, scales, kind)
        else:
            y = self._by_torch(made, info, given, bias, scales, kind)
        return y if out is None else out.copy_(y)

    def _is_straight(self, made: _Made, info: ResidentInfo, vectors: int, transposed: bool) -> bool:
        """Whether the library multiplies so many by the code faster than torch after decoding."""
        return bool(
            lib.wcodec_resident_linear_straight(made.handle, info.number, vectors, transposed)
        )

    def _vector(
        self, info: ResidentInfo, tensor: Any, what: str, shapes: list[tuple[int, ...]]
    ) -> torch.Tensor | None:
        if tensor is None:
            return None
        given = self._given(info.name, tensor, what)
        if given.dtype not in _NUMBERS:
            raise self.resident._wrong(
                info.name, f"{what} is {given.dtype}: expected bfloat16, float16 or float32"
            )
        if tuple(given.shape) not in shapes:
            raise self.resident._wrong(
                info.name, f"{what} has shape {tuple(given.shape)}: expected {shapes[0]}"
            )
        return given.reshape(-1).contiguous()

    def _multiply(
        self,
        made: _Made,
        info: ResidentInfo,
        x: torch.Tensor,
        bias: torch.Tensor | None,
        kind: torch.dtype,
        transposed: bool = False,
    ) -> torch.Tensor:
        """Straight from the code; [vectors, n], or [vectors, k] if transposed."""
        rows = x.reshape(-1, x.shape[-1])
        width = info.shape[1] if transposed else info.shape[0]
        if x.dtype == torch.bfloat16:
            y = torch.empty(rows.shape[0], width, dtype=kind, device=self.device)
            self._straight(made, info, rows, bias, y, transposed)
            return y
        parts = _split(rows)
        shape = (*parts.shape[:2], width)
        sums = torch.empty(shape, dtype=torch.float32, device=self.device)
        self._straight(made, info, parts.flatten(0, 1), None, sums.flatten(0, 1), transposed)
        first = sums[0]
        # Of an infinite weight and parts of x that are 0 come NaNs.
        y = torch.where(first.isfinite(), first + sums[1:].sum(0), first)
        return (y if bias is None else y + bias.float()).to(kind)

    def _straight(
        self,
        made: _Made,
        info: ResidentInfo,
        rows: torch.Tensor,
        bias: torch.Tensor | None,
        y: torch.Tensor,
        transposed: bool = False,
    ) -> None:
        count, width = rows.shape
        if rows.stride(-1) != 1 or (count > 1 and rows.stride(0) < width):
            rows = rows.contiguous()
        if info.form == "coded" and (rows.data_ptr() % 16 or rows.stride(0) % 8):
            rows = rows.clone(memory_format=torch.contiguous_format)
        linear, error = c.wcodec_linear(), c.wcodec_error()
        lib.wcodec_linear_init_size(linear, ctypes.sizeof(linear))
        linear.transposed = transposed
        linear.rows = count
        linear.x, linear.x_dtype = rows.data_ptr(), c.WCODEC_DTYPE_BF16
        linear.x_stride = 2 * rows.stride(0) if count > 1 else 0
        linear.y, linear.y_dtype = y.data_ptr(), _NUMBERS[y.dtype]
        if bias is not None:
            linear.bias, linear.bias_dtype = bias.data_ptr(), _NUMBERS[bias.dtype]
        linear.queue = self._stream()
        size = 0
        if not transposed:
            size = int(lib.wcodec_resident_linear_work(made.handle, info.number, count))
        work = torch.empty(size, dtype=torch.uint8, device=self.device) if size else None
        if work is not None:
            linear.work, linear.work_size = work.data_ptr(), size
        status = lib.wcodec_resident_linear(made.handle, info.number, linear, error)
        self.resident._check(status, error, info.name)

    def _pieces(self, made: _Made, info: ResidentInfo) -> Iterator[tuple[slice, torch.Tensor]]:
        """A matrix by rows, of which not too many are decoded at a time."""
        rows = info.shape[0]
        step = rows
        if info.form == "fixed" and info.alias is None:
            step = max(1, DECODED_AT_ONCE // (2 * info.shape[1]))
        for first in range(0, rows, step) if rows else (0,):
            count = min(step, rows - first)
            yield slice(first, first + count), self.weight(made, info, first, count)

    def _by_torch(
        self,
        made: _Made,
        info: ResidentInfo,
        x: torch.Tensor,
        bias: torch.Tensor | None,
        scales: torch.Tensor | None,
        kind: torch.dtype,
    ) -> torch.Tensor:
        """x W^T + bias, elements of W and bias as they are. It is rounded once, unless torch adds a
        bias of the type of x."""
        found = []
        for rows, weight in self._pieces(made, info):
            common = _common(weight.dtype, x.dtype)
            own = None if bias is None else bias[rows]
            given, weight = x.to(common), weight.to(common)
            if scales is None and kind == common and (own is None or own.dtype == common):
                found.append(torch.nn.functional.linear(given, weight, own))
                continue
            y = _sums(given, weight)
            y = y if scales is None else y * scales[rows].float()
            y = y if own is None else y + own.float()
            found.append(y.to(kind))
        return found[0] if len(found) == 1 else torch.cat(found, -1)

    def _transposed(
        self,
        made: _Made,
        info: ResidentInfo,
        x: torch.Tensor,
        scales: torch.Tensor | None,
        kind: torch.dtype,
    ) -> torch.Tensor:
        """x W."""
        if scales is not None:
            x = (x.float() * scales.float()).to(x.dtype)
        pieces = self._pieces(made, info)
        y: torch.Tensor | None = None
        for rows, weight in pieces:
            common = _common(weight.dtype, x.dtype)
            given, weight = x[..., rows].to(common), weight.to(common)
            if rows == slice(0, info.shape[0]) and kind == common:
                return given @ weight
            sums = _sums(given, weight.t())
            y = sums if y is None else y.add_(sums)
        assert y is not None
        return y.to(kind)
