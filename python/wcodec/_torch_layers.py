# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Layers of torch whose weights stay coded in memory, and the operators that they call."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from ._errors import UnsupportedError, UsageError
from ._resident import Resident, by_key
from .torch import _dtypes

# Operators are given numbers: of a Resident (its key), and of a tensor in it.


def _resident(key: int, number: int) -> tuple[Resident, str]:
    resident = by_key.get(key)
    if resident is None:
        raise UsageError("the resident tensors of this layer are gone")
    return resident, resident.name_of(number)


def _detached(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.detach()


def _unpack(dual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """A tensor and its tangent."""
    made: tuple[torch.Tensor, torch.Tensor | None]
    made = forward_ad.unpack_dual(dual)  # type: ignore[no-untyped-call]
    return made


def _shape(x: torch.Tensor, last: int, width: int) -> list[Any]:
    """Of the result of a product."""
    torch._check(x.dim() > 0, lambda: "x is a scalar: a product needs at least one dimension")
    torch._check(
        x.shape[-1] == last,
        lambda: f"x has shape {tuple(x.shape)}: its last dimension must be {last}",
    )
    return [*x.shape[:-1], width]


def _check_device(x: torch.Tensor, other: torch.Tensor | None, what: str) -> None:
    """One argument on meta makes torch call the function that computes nothing."""
    if other is not None and other.device != x.device:
        raise UsageError(f"{what} is on {other.device}, x on {x.device}")


_WEIGHT = "int key, int number, int n, int k"

# Defined by their schema, not by torch.library.custom_op(): that imports the compiler at the first
# call, which takes a second and 140 MB.
torch.library.define(
    "wcodec::linear", f"(Tensor x, Tensor? bias, Tensor? scales, {_WEIGHT}) -> Tensor"
)
torch.library.define(
    "wcodec::linear_transposed", f"(Tensor x, Tensor? scales, {_WEIGHT}) -> Tensor"
)
torch.library.define(
    "wcodec::gather",
    "(Tensor rows, int key, int number, SymInt[] shape, ScalarType dtype) -> Tensor",
)
torch.library.define(
    "wcodec::decode", "(int key, int number, SymInt[] shape, ScalarType dtype) -> Tensor"
)
linear = torch.ops.wcodec.linear.default
linear_transposed = torch.ops.wcodec.linear_transposed.default
gather = torch.ops.wcodec.gather.default
decode = torch.ops.wcodec.decode.default


def _linear(
    x: torch.Tensor,
    bias: torch.Tensor | None,
    scales: torch.Tensor | None,
    key: int,
    number: int,
    n: int,
    k: int,
) -> Any:
    """x W^T + bias, W a resident matrix of n rows and k columns."""
    resident, name = _resident(key, number)
    return resident.linear(name, x.detach(), bias=_detached(bias), scales=_detached(scales))


def _linear_transposed(
    x: torch.Tensor, scales: torch.Tensor | None, key: int, number: int, n: int, k: int
) -> Any:
    """x W."""
    resident, name = _resident(key, number)
    return resident.linear(name, x.detach(), scales=_detached(scales), transposed=True)


def _gather(rows: torch.Tensor, key: int, number: int, shape: list[int], dtype: torch.dtype) -> Any:
    """Rows of a resident tensor; `shape` is that of one row."""
    resident, name = _resident(key, number)
    return resident.gather(name, rows)


def _decode(key: int, number: int, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    """A resident tensor."""
    resident, name = _resident(key, number)
    made = torch.empty(resident.info(name).shape, dtype=dtype, device=resident.device)
    resident.decode(name, made)
    return made


def _fake_linear(
    x: torch.Tensor,
    bias: torch.Tensor | None,
    scales: torch.Tensor | None,
    key: int,
    number: int,
    n: int,
    k: int,
) -> torch.Tensor:
    _check_device(x, bias, "bias")
    _check_device(x, scales, "scales")
    return x.new_empty(_shape(x, k, n))


def _fake_linear_transposed(
    x: torch.Tensor, scales: torch.Tensor | None, key: int, number: int, n: int, k: int
) -> torch.Tensor:
    _check_device(x, scales, "scales")
    return x.new_empty(_shape(x, n, k))


def _fake_gather(
    rows: torch.Tensor, key: int, number: int, shape: list[int], dtype: torch.dtype
) -> torch.Tensor:
    return rows.new_empty([*rows.shape, *shape], dtype=dtype)


def _fake_decode(key: int, number: int, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device=_resident(key, number)[0].device)


for _name, _made, _fake in (
    ("linear", _linear, _fake_linear),
    ("linear_transposed", _linear_transposed, _fake_linear_transposed),
    ("gather", _gather, _fake_gather),
    ("decode", _decode, _fake_decode),
):
    torch.library.impl(f"wcodec::{_name}", "default", _made)
    torch.library.register_fake(f"wcodec::{_name}", _fake)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _x, bias, scales, *ctx.weight = inputs
    ctx.bias = None if bias is None else bias.dtype
    ctx.save_for_backward(*(() if scales is None else (scales,)))


def _backward(ctx: Any, given: torch.Tensor) -> tuple[Any, ...]:
    scales = ctx.saved_tensors[0] if ctx.saved_tensors else None
    dx = dbias = None
    if ctx.needs_input_grad[0]:
        dx = linear_transposed(given, scales, *ctx.weight)
    if ctx.bias is not None and ctx.needs_input_grad[1]:
        rows = given.reshape(-1, given.shape[-1]) if given.shape[-1] else given.new_zeros(1, 0)
        dbias = rows.sum(0, dtype=torch.float32).to(ctx.bias)
    return (dx, dbias, *[None] * 5)


def _keep_transposed(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _x, scales, *ctx.weight = inputs
    ctx.save_for_backward(*(() if scales is None else (scales,)))


def _backward_transposed(ctx: Any, given: torch.Tensor) -> tuple[Any, ...]:
    scales = ctx.saved_tensors[0] if ctx.saved_tensors else None
    dx = linear(given, None, scales, *ctx.weight) if ctx.needs_input_grad[0] else None
    return (dx, *[None] * 5)


torch.library.register_autograd("wcodec::linear", _backward, setup_context=_keep)
torch.library.register_autograd(
    "wcodec::linear_transposed", _backward_transposed, setup_context=_keep_transposed
)


class _Weight(torch.nn.Module):
    """A layer with a matrix of a Resident, which is no parameter of it."""

    def __init__(self, resident: Resident, name: str) -> None:
        super().__init__()
        info = resident.info(name)
        if len(info.shape) != 2:
            raise UsageError(
                f"tensor {name!r} has shape {info.shape}: a layer needs a matrix", tensor=name
            )
        if info.dtype not in _dtypes or not _dtypes[info.dtype].itemsize:
            raise UsageError(f"tensor {name!r} is {info.dtype}, which torch lacks", tensor=name)
        self.resident = resident
        self.name = name
        self._key, self._number = resident.key, info.number
        self._shape = list(info.shape)
        self._dtype = _dtypes[info.dtype]
        self._form = info.form

    @property
    def weight(self) -> torch.Tensor:
        """The weights, decoded anew each time they are asked for."""
        made: torch.Tensor = decode(self._key, self._number, self._shape, self._dtype)
        return made


class Linear(_Weight):
    """In place of torch.nn.Linear: y = x W^T + bias, where W stays coded in a Resident.

        layer = wcodec.torch.Linear(resident, "mlp.up.weight", bias)

    W is frozen: gradients go to x and the bias. It is not in the state_dict(); the bias is. x is of
    BF16, F16 or F32, whatever W is, and so is the result. Forward derivatives (torch.func.jvp,
    jacfwd) are computed too; torch.func.grad and vmap are errors. It works under torch.compile,
    whole graphs included, and is deep-copied with its model: copies share W.
    """

    bias: torch.Tensor | None
    scales: torch.Tensor | None

    def __init__(
        self,
        resident: Resident,
        name: str,
        bias: torch.Tensor | None = None,
        *,
        scales: torch.Tensor | None = None,
    ) -> None:
        """
        Args:
            resident: what W is in; it must stay open as long as the layer is used.
            name: W, of out_features rows and in_features columns.
            bias: out_features numbers: a torch.nn.Parameter is kept as such, so that it may be
                trained; another tensor becomes a buffer.
            scales: out_features numbers that the rows of W are multiplied by, a buffer.
        """
        super().__init__(resident, name)
        self.out_features, self.in_features = self._shape
        self._add("bias", bias)
        self._add("scales", None if scales is None else scales.detach().reshape(-1))

    def _add(self, name: str, values: torch.Tensor | None) -> None:
        if values is not None and tuple(values.shape) != (self.out_features,):
            raise UsageError(
                f"tensor {self.name!r}: {name} has shape {tuple(values.shape)}: expected "
                f"({self.out_features},)",
                tensor=self.name,
            )
        if values is None or isinstance(values, torch.nn.Parameter):
            self.register_parameter(name, values)
        else:
            self.register_buffer(name, values)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if forward_ad._current_level >= 0:
            return self._dual(x)
        return self._product(x, self.bias)

    def _product(self, x: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        made: torch.Tensor = linear(
            x, bias, self.scales, self._key, self._number, self.out_features, self.in_features
        )
        return made

    def _dual(self, x: torch.Tensor) -> torch.Tensor:
        """With forward derivatives, which operators registered in Python do not see."""
        if self.scales is not None and _unpack(self.scales)[1] is not None:
            raise UnsupportedError(f"tensor {self.name!r}: there are no derivatives by scales")
        x, dx = _unpack(x)
        bias, dbias = (None, None) if self.bias is None else _unpack(self.bias)
        y = self._product(x, bias)
        dy = None if dx is None else self._product(dx, None)
        if dbias is not None:
            added = dbias.to(y.dtype).expand_as(y)
            dy = added if dy is None else dy + added
        if dy is None:
            return y
        made: torch.Tensor = forward_ad.make_dual(y, dy)  # type: ignore[no-untyped-call]
        return made

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, form={self._form}"
        )


class Embedding(_Weight):
    """In place of torch.nn.Embedding: rows of a table that stays coded in a Resident.

    The table is frozen. `dtype` is that of the result; None: the table's own.
    """

    def __init__(
        self,
        resident: Resident,
        name: str,
        padding_idx: int | None = None,
        *,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(resident, name)
        self.num_embeddings, self.embedding_dim = self._shape
        self.padding_idx = padding_idx
        self.dtype = dtype or self._dtype

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = gather(rows, self._key, self._number, self._shape[1:], self._dtype)
        return found if self.dtype == self._dtype else found.to(self.dtype)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, form={self._form}"
