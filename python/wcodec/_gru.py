# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Gated recurrent units by addresses of what they take and give: wcodec/recurrent.h."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NamedTuple

from . import _declarations as c
from ._context import Context, Handle, check, context
from ._library import lib

if TYPE_CHECKING:
    from collections.abc import Mapping

_DTYPES = {
    "F64": c.WCODEC_DTYPE_F64,
    "F32": c.WCODEC_DTYPE_F32,
    "F16": c.WCODEC_DTYPE_F16,
    "BF16": c.WCODEC_DTYPE_BF16,
}
_PRODUCTS = {"F32": c.WCODEC_GRU_PRODUCTS_F32, "BF16": c.WCODEC_GRU_PRODUCTS_BF16}
_GATES = "rzh"  # as PyTorch stacks them


class Stack(NamedTuple):
    """A matrix of the rows of all three gates, as PyTorch has it."""

    address: int
    dtype: str
    row_bytes: int


class Sequences(NamedTuple):
    """Numbers of float32 and how far apart they lie."""

    address: int
    step_stride: int
    sequence_stride: int


def _floats(address: int) -> object:
    return ctypes.cast(ctypes.c_void_p(address), ctypes.POINTER(ctypes.c_float))


class Unit:
    """One layer in one direction, with the reset gate after the product.

    Args:
        stacks: "w", "u", and, where there are biases, "b" and "c", which are copied.
        device: "cpu", or "cuda:1", in whose memory its weights stay, and all that it runs on is.
        products: "BF16" lets a device round factors to it.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        stacks: Mapping[str, Stack],
        threads: int | None,
        device: str = "cpu",
        products: str = "F32",
    ) -> None:
        options, arrays = c.wcodec_gru_options(), c.wcodec_gru_arrays()
        lib.wcodec_gru_options_init_size(options, ctypes.sizeof(options))
        options.inputs, options.hidden = inputs, hidden
        options.form = c.WCODEC_GRU_RESET_AFTER
        options.products = _PRODUCTS[products]
        if device != "cpu":
            options.memory = device.partition(":")[0].encode()
        for kind, stack in stacks.items():
            for i, gate in enumerate(_GATES):
                array = getattr(arrays, f"{kind}_{gate}")
                array.data = stack.address + i * hidden * stack.row_bytes
                array.dtype = _DTYPES[stack.dtype]
        parent: Context = context(device, threads)
        error, handle = c.wcodec_error(), ctypes.c_void_p()
        status = lib.wcodec_gru_create(parent.handle, options, arrays, ctypes.byref(handle), error)
        check(int(status), error)
        self._handle = Handle(handle, lib.wcodec_gru_destroy, parent)

    def run(
        self,
        values: Sequences,
        steps: int,
        sequences: int,
        hidden: int,
        output: Sequences,
        *,
        reverse: bool,
        queue: int = 0,
    ) -> None:
        """To `output`; from and to `hidden` [sequences, H]; on a device's queue."""
        given, made, error = c.wcodec_gru_input(), c.wcodec_gru_output(), c.wcodec_error()
        given.values, given.hidden = _floats(values.address), _floats(hidden)
        given.step_stride, given.sequence_stride = values.step_stride, values.sequence_stride
        given.steps, given.sequences, given.reverse = steps, sequences, reverse
        given.queue = queue
        made.values, made.hidden = _floats(output.address), _floats(hidden)
        made.step_stride, made.sequence_stride = output.step_stride, output.sequence_stride
        check(int(lib.wcodec_gru_run(self._handle.handle, given, made, error)), error)
