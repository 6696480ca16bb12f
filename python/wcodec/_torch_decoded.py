# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""A layer of torch whose weights stay coded in memory and are decoded whole for each product."""

from __future__ import annotations

from typing import Any

import torch

from ._resident import Resident
from ._torch_layers import Linear, decode


def _matrix(key: int, number: int, shape: list[int], own: Any, dtype: Any) -> torch.Tensor:
    made: torch.Tensor = decode(key, number, shape, own)
    return made.to(dtype)


class _Product(torch.autograd.Function):
    """x W^T + bias by torch, where autograd keeps no decoded W: the backward pass decodes again."""

    @staticmethod
    def forward(x: torch.Tensor, bias: torch.Tensor | None, *weight: Any) -> torch.Tensor:
        return torch.nn.functional.linear(x, _matrix(*weight), bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _x, bias, *ctx.weight = inputs
        ctx.bias = None if bias is None else bias.dtype

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor) -> Any:
        (dy,) = given
        dx = dbias = None
        if ctx.needs_input_grad[0]:
            dx = dy @ _matrix(*ctx.weight)
        if ctx.needs_input_grad[1]:
            dbias = dy.sum_to_size(dy.shape[-1:]).to(ctx.bias)
        return (dx, dbias, *[None] * len(ctx.weight))


class DecodedLinear(Linear):
    """In place of torch.nn.Linear, with its very results: W stays coded in a Resident, and is
    decoded whole for each call, multiplied by as torch does it, and let go of.

        layer = wcodec.torch.DecodedLinear(resident, "mlp.up.weight", bias)

    As wcodec.torch.Linear otherwise. Besides what is resident it takes the memory of one decoded
    matrix while it is called; autograd keeps none.
    """

    def __init__(
        self,
        resident: Resident,
        name: str,
        bias: torch.Tensor | None = None,
        *,
        dtype: torch.dtype | None = None,
    ) -> None:
        """
        Args:
            resident, name, bias: as those of wcodec.torch.Linear.
            dtype: what W is converted to, that of x; None: its own.
        """
        super().__init__(resident, name, bias)
        self.dtype = dtype or self._dtype

    @property
    def weight(self) -> torch.Tensor:
        """The weights, decoded anew each time they are asked for, in `dtype`."""
        return super().weight.to(self.dtype)

    def _product(self, x: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        weight = (self._key, self._number, self._shape, self._dtype, self.dtype)
        kept = x.requires_grad or (bias is not None and bias.requires_grad)
        if not (kept and torch.is_grad_enabled()):
            return torch.nn.functional.linear(x, _matrix(*weight), bias)
        made: torch.Tensor = _Product.apply(x, bias, *weight)
        return made
