# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Resident tensors in the memory of an OpenCL device, by arrays in host memory: what a call takes
is copied there, and the call waits for what it gives."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _declarations as c
from ._errors import BackendError, DeviceError, OutOfMemoryError, UnsupportedError, WcodecError
from ._library import lib

if TYPE_CHECKING:
    from ._resident import Resident, ResidentInfo, _Made

_READ_WRITE = 1
_OUT_OF_MEMORY = (-4, -5, -6, -61)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "clCreateCommandQueue": (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p],
    ),
    "clReleaseCommandQueue": (ctypes.c_int32, [ctypes.c_void_p]),
    "clFinish": (ctypes.c_int32, [ctypes.c_void_p]),
    "clCreateBuffer": (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p],
    ),
    "clReleaseMemObject": (ctypes.c_int32, [ctypes.c_void_p]),
}
for _name in ("clEnqueueWriteBuffer", "clEnqueueReadBuffer"):
    _FUNCTIONS[_name] = (
        ctypes.c_int32,
        [
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t),
            *(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p),
        ],
    )
_driver: Any = None
_opening = threading.Lock()


def _open() -> Any:
    """The loader, which the library has opened before."""
    global _driver
    with _opening:
        if _driver is None:
            try:
                opened = ctypes.CDLL("libOpenCL.so.1")
            except OSError as error:
                raise BackendError(f"device is 'opencl': {error}") from None
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(opened, name)
                function.restype, function.argtypes = result, arguments
            _driver = opened
    return _driver


class _Call:
    """A queue and buffers of one call."""

    def __init__(self, made: _Made) -> None:
        handles, error = c.wcodec_device_handles(), c.wcodec_error()
        self.cl = _open()
        self.buffers: list[int] = []
        assert made._parent is not None
        if lib.wcodec_context_device(made._parent.handle, handles, error) != c.WCODEC_OK:
            raise DeviceError(error.text.decode(errors="replace"))
        self.context: int = handles.native_context
        result = ctypes.c_int32()
        self.queue: int = self.cl.clCreateCommandQueue(
            self.context, handles.native_device, 0, ctypes.byref(result)
        )
        self.check("clCreateCommandQueue", result.value)

    def check(self, what: str, result: int) -> None:
        if result:
            kind: type[WcodecError] = OutOfMemoryError if result in _OUT_OF_MEMORY else DeviceError
            raise kind(f"{what}: error {result}")

    def buffer(self, size: int, address: int | None = None) -> int:
        """A buffer, with the bytes at the address in it."""
        result = ctypes.c_int32()
        made: int = self.cl.clCreateBuffer(
            self.context, _READ_WRITE, max(size, 1), None, ctypes.byref(result)
        )
        self.check("clCreateBuffer", result.value)
        self.buffers.append(made)
        if size and address is not None:
            self.check(
                "clEnqueueWriteBuffer",
                self.cl.clEnqueueWriteBuffer(self.queue, made, 1, 0, size, address, 0, None, None),
            )
        return made

    def read(self, buffer: int, offset: int, address: int, size: int) -> None:
        if size:
            self.check(
                "clEnqueueReadBuffer",
                self.cl.clEnqueueReadBuffer(
                    self.queue, buffer, 1, offset, size, address, 0, None, None
                ),
            )

    def close(self) -> None:
        self.cl.clFinish(self.queue)
        for buffer in self.buffers:
            self.cl.clReleaseMemObject(buffer)
        self.cl.clReleaseCommandQueue(self.queue)


@contextlib.contextmanager
def _call(made: _Made) -> Iterator[_Call]:
    call = _Call(made)
    try:
        yield call
    finally:
        call.close()


class Device:
    """What a Resident does with tensors on a device, given addresses in host memory."""

    def __init__(self, check: Callable[[int, c.wcodec_error, str], None]) -> None:
        self._check = check
        self._shared = threading.Lock()  # decodings of a coded tensor, and products, share memory

    def _alone(self, info: ResidentInfo) -> contextlib.AbstractContextManager[Any]:
        return self._shared if info.form == "coded" else contextlib.nullcontext()

    def decode(
        self, made: _Made, info: ResidentInfo, first: int, count: int, address: int, size: int
    ) -> None:
        """Rows of a tensor, `size` bytes of them."""
        with self._alone(info), _call(made) as call:
            at = size // count * first if count else 0
            if info.form == "plain":
                call.read(info.native, at, address, size)
                return
            try:
                call.read(self._rows(call, made, info, first, count, size), 0, address, size)
            except UnsupportedError:  # rows that are coded together with others
                if info.form != "coded":
                    raise
                call.read(self._whole(call, made, info), at, address, size)

    def _rows(
        self, call: _Call, made: _Made, info: ResidentInfo, first: int, count: int, size: int
    ) -> int:
        """A buffer of them."""
        error, out = c.wcodec_error(), call.buffer(size)
        status = lib.wcodec_resident_decode_queued(
            made.handle, info.number, first, count, out, size, call.queue, error
        )
        self._check(status, error, info.name)
        return out

    def _whole(self, call: _Call, made: _Made, info: ResidentInfo) -> int:
        rows = info.shape[0] if info.shape else 1
        return self._rows(call, made, info, 0, rows, info.nbytes)

    def gather(
        self, made: _Made, info: ResidentInfo, rows: int, count: int, address: int, size: int
    ) -> None:
        """Rows by the int64 at address `rows`, which are in range."""
        error = c.wcodec_error()
        if not size:
            return
        with self._alone(info), _call(made) as call:
            if info.is_gathered(count) or (info.form == "fixed" and len(info.shape) == 2):
                index, out = call.buffer(8 * count, rows), call.buffer(size)
                status = lib.wcodec_resident_gather_queued(
                    made.handle, info.number, index, count, out, size, call.queue, error
                )
                if info.form == "fixed" or status != c.WCODEC_ERROR_UNSUPPORTED:
                    self._check(status, error, info.name)
                    call.read(out, 0, address, size)
                    return
            one, whole = size // count, info.native
            numbers = (ctypes.c_int64 * count).from_address(rows)
            if info.form == "coded":
                whole = self._whole(call, made, info)
            for i, row in enumerate(numbers):
                if info.form == "fixed":
                    self.decode(made, info, row, 1, address + i * one, one)
                else:
                    call.read(whole, one * row, address + i * one, one)

    def linear(
        self, made: _Made, info: ResidentInfo, linear: c.wcodec_linear, sizes: tuple[int, ...]
    ) -> None:
        """A product by a request whose addresses are in host memory; sizes: bytes of x, y, bias
        and scales."""
        error, to = c.wcodec_error(), linear.y or 0
        with self._shared, _call(made) as call:
            y = call.buffer(sizes[1])
            linear.x, linear.y = call.buffer(sizes[0], linear.x), y
            if linear.bias:
                linear.bias = call.buffer(sizes[2], linear.bias)
            if linear.scales:
                linear.scales = call.buffer(sizes[3], linear.scales)
            linear.queue = call.queue
            status = lib.wcodec_resident_linear(made.handle, info.number, linear, error)
            self._check(status, error, info.name)
            call.read(y, 0, to, sizes[1])


def check_rows(resident: Resident, info: ResidentInfo, rows: int, count: int) -> None:
    """As on the CPU: nothing is written where a row does not exist."""
    numbers = (ctypes.c_int64 * count).from_address(rows) if count else ()
    for i, row in enumerate(numbers):
        if not 0 <= row < info.shape[0]:
            raise resident._wrong(
                info.name, f"index {i} is row {row}, of {info.shape[0]} that there are"
            )
