# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Resident tensors in the memory of a CUDA device, by tensors of torch and its streams.

Matrices at a fixed rate multiply few vectors straight from their code; for more, and for all that
is plain, torch multiplies."""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Any

import torch

from . import _declarations as c
from ._dtypes import elements
from ._errors import BackendError, UsageError
from ._library import lib

if TYPE_CHECKING:
    from ._resident import Resident, ResidentInfo, _Made

VECTORS = 32
"""Most that a product straight from the code takes: for more, decoding first is faster."""

_NUMBERS = {
    torch.bfloat16: c.WCODEC_DTYPE_BF16,
    torch.float16: c.WCODEC_DTYPE_F16,
    torch.float32: c.WCODEC_DTYPE_F32,
}


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


class Device:
    """What a Resident does with tensors on a device."""

    def __init__(self, resident: Resident, device: torch.device) -> None:
        self.resident = weakref.proxy(resident)  # which has this
        self.device = device
        self._plain: dict[str, torch.Tensor] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            self._plain = {}

    def _stream(self) -> int:
        stream: int = torch.cuda.current_stream(self.device).cuda_stream
        return stream

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

    def plain(self, made: _Made, info: ResidentInfo) -> torch.Tensor:
        """The elements of a tensor that is plain, which must not be changed."""
        from .torch import _dtypes

        with self._lock:
            found = self._plain.get(info.name)
        if found is None:
            dtype = _dtypes.get(info.dtype, torch.uint8)
            shape = info.shape if info.dtype in _dtypes else (info.nbytes,)
            if info.nbytes:
                memory = _Memory(made, info.native, info.nbytes)
                flat = torch.as_tensor(memory, device=self.device)
                found = flat.view(dtype).view(shape)
            else:
                found = torch.empty(shape, dtype=dtype, device=self.device)
            with self._lock:
                self._plain[info.name] = found
        return found

    def decode(
        self, made: _Made, info: ResidentInfo, out: torch.Tensor | None, first: int, count: int
    ) -> torch.Tensor:
        """Rows as a tensor; out: one like it."""
        whole = (count, *info.shape[1:]) if info.shape else ()
        if out is not None:
            out = self._out(info, out, whole, self._dtype(info))
        if info.form != "fixed":
            rows = self.plain(made, info)
            rows = rows[first : first + count] if info.shape else rows
            return rows.clone() if out is None else out.copy_(rows)
        dtype = self._dtype(info)  # an equal tensor's may be another
        to = torch.empty(whole, dtype=dtype, device=self.device) if out is None else out
        self._decode(made, info, to, first, count)
        return to

    def _dtype(self, info: ResidentInfo) -> torch.dtype:
        from .torch import _dtypes

        return _dtypes.get(info.dtype, torch.uint8)

    def _out(
        self, info: ResidentInfo, out: Any, shape: tuple[int, ...], dtype: torch.dtype
    ) -> torch.Tensor:
        to = self._given(info.name, out, "out")
        if tuple(to.shape) != shape or to.dtype != dtype or not to.is_contiguous():
            raise self.resident._wrong(
                info.name,
                f"out is {to.dtype} of shape {tuple(to.shape)}: expected a contiguous {dtype} of "
                f"{shape}",
            )
        return to

    def _decode(
        self, made: _Made, info: ResidentInfo, to: torch.Tensor, first: int, count: int
    ) -> None:
        if to.numel() == 0:
            return
        error = c.wcodec_error()
        status = lib.wcodec_resident_decode_queued(
            made.handle,
            info.number,
            first,
            count,
            to.data_ptr(),
            to.numel() * to.element_size(),
            self._stream(),
            error,
        )
        self.resident._check(status, error, info.name)

    def gather(self, made: _Made, info: ResidentInfo, rows: Any, out: Any) -> torch.Tensor:
        """Rows by an index, which is not looked at: of one that is no row's come zeros, where the
        tensor is at a fixed rate."""
        index = self._given(info.name, rows, "rows")
        if index.is_floating_point() or index.is_complex() or index.dtype == torch.bool:
            raise self.resident._wrong(info.name, f"rows are {index.dtype}: expected whole numbers")
        index = index.to(torch.int64).contiguous()
        shape = (*index.shape, *info.shape[1:])
        if out is not None:
            out = self._out(info, out, shape, self._dtype(info))
        if info.form != "fixed" or len(info.shape) != 2:
            table = self.weight(made, info)
            found = table.index_select(0, index.reshape(-1)).reshape(shape)
            return found if out is None else out.copy_(found)
        dtype = self._dtype(info)
        to = torch.empty(shape, dtype=dtype, device=self.device) if out is None else out
        if to.numel():
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
        return to

    def weight(self, made: _Made, info: ResidentInfo) -> torch.Tensor:
        """All elements: those that are there, or decoded."""
        if info.form != "fixed":
            return self.plain(made, info)
        return self.decode(made, info, None, 0, info.shape[0])

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
        if (
            info.form == "fixed"
            and info.dtype == "BF16"
            and not transposed
            and scales is None
            and given.dtype == torch.bfloat16
            and 0 < elements(shape[:-1]) <= VECTORS
            and n
            and k
        ):
            kind = given.dtype if out is None else out.dtype
            y = torch.empty(shape, dtype=kind, device=self.device)
            self._multiply(made, info, given, bias, y)
        else:
            y = self._by_torch(made, info, given, bias, scales, transposed)
        return y if out is None else out.copy_(y)

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
        y: torch.Tensor,
    ) -> None:
        rows = x.reshape(-1, x.shape[-1])
        if rows.stride(-1) != 1 or (rows.shape[0] > 1 and rows.stride(0) < rows.shape[1]):
            rows = rows.contiguous()
        linear, error = c.wcodec_linear(), c.wcodec_error()
        lib.wcodec_linear_init_size(linear, ctypes.sizeof(linear))
        linear.rows = rows.shape[0]
        linear.x, linear.x_dtype = rows.data_ptr(), c.WCODEC_DTYPE_BF16
        linear.x_stride = 2 * rows.stride(0) if rows.shape[0] > 1 else 0
        linear.y, linear.y_dtype = y.data_ptr(), _NUMBERS[y.dtype]
        if bias is not None:
            linear.bias, linear.bias_dtype = bias.data_ptr(), _NUMBERS[bias.dtype]
        linear.queue = self._stream()
        status = lib.wcodec_resident_linear(made.handle, info.number, linear, error)
        self.resident._check(status, error, info.name)

    def _by_torch(
        self,
        made: _Made,
        info: ResidentInfo,
        x: torch.Tensor,
        bias: torch.Tensor | None,
        scales: torch.Tensor | None,
        transposed: bool,
    ) -> torch.Tensor:
        weight = self.weight(made, info)
        if weight.dtype != x.dtype:
            weight = weight.to(x.dtype)
        if transposed:
            return (x if scales is None else x * scales.to(x.dtype)) @ weight
        if scales is None:
            bias = None if bias is None else bias.to(x.dtype)
            return torch.nn.functional.linear(x, weight, bias)
        y = torch.nn.functional.linear(x, weight) * scales.to(x.dtype)
        return y if bias is None else y + bias.to(x.dtype)
