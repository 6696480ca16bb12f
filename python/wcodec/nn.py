# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Modules in place of torch's, computed by the library on the CPU.

>>> gru = wcodec.nn.GRU(64, 256, batch_first=True)      # doctest: +SKIP
>>> gru.load_state_dict(trained.state_dict())           # doctest: +SKIP
>>> output, hidden = gru(features)                      # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import torch

from ._errors import UsageError
from ._gru import Sequences, Stack, Unit

__all__ = ["GRU"]

_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
}
_STACKS = {"w": "weight_ih", "u": "weight_hh", "b": "bias_ih", "c": "bias_hh"}


def _stack(weight: torch.Tensor) -> tuple[Stack, torch.Tensor]:
    """Where a weight is, and what owns it."""
    if weight.dtype not in _DTYPES or weight.device.type != "cpu":
        raise UsageError(
            f"a weight is {weight.dtype} on {weight.device}: expected a floating-point type of 16 "
            "bits or more, in host memory"
        )
    kept = weight.detach().contiguous()
    row = kept.element_size() * (kept.shape[1] if kept.dim() > 1 else 1)
    return Stack(kept.data_ptr(), _DTYPES[kept.dtype], row), kept


def _address(values: torch.Tensor) -> int:
    return int(values.data_ptr())


class GRU(torch.nn.GRU):
    """torch.nn.GRU for inference, without dropout: the same arguments, parameters, state_dict() and
    results, of layers in one direction or both, of batches or single sequences.

    Arithmetic is of binary32 whatever the types of weights and input are; the output is of the
    input's type. Weights become the library's own at the first call, and again when torch has
    changed them; call flatten_parameters() after changing them through `.data` in place.

    Args:
        threads: as for wcodec.compress(); the others are torch's.

    Raises:
        UsageError: dropout; at a call another shape or device, packed sequences, or gradients that
        are wanted, which it does not compute. LimitError, OutOfMemoryError.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        if dropout != 0:
            raise UsageError(f"dropout is {dropout}: this module is for inference, without it")
        self._units: tuple[Any, list[Unit]] | None = None
        self._threads = threads
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            0.0,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self.requires_grad_(False)

    def flatten_parameters(self) -> None:
        """Take the weights again at the next call; torch does this when it moves them."""
        self._units = None

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_units": None}
        state.pop("_flat_weight_refs", None)  # weak ones, which torch makes anew
        return state

    def forward(  # type: ignore[override]
        self, input: torch.Tensor, hx: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As torch.nn.GRU: input [steps, batch, input_size], [batch, steps, input_size] if
        batch_first, or [steps, input_size]; hx [layers * directions, batch, hidden_size], or
        without batch as input, or None for zeros. Gives the output of the last layer and hidden
        values of all."""
        self._check(input, hx)
        alone = input.dim() == 2
        values = input.detach().to(torch.float32)
        if alone:
            values = values.unsqueeze(1)
        elif self.batch_first:
            values = values.transpose(0, 1)
        hidden = None
        if hx is not None:
            hidden = hx.detach().to(torch.float32).contiguous()
        directions = 2 if self.bidirectional else 1
        steps, batch = values.shape[:2]
        shape = (self.num_layers * directions, batch, self.hidden_size)
        last = torch.empty(shape)
        if hidden is not None:
            hidden = hidden.reshape(shape)
        units = self._take()
        for layer in range(self.num_layers):
            # The library takes a stride of 0, which expand() makes, for none given.
            if values.stride(2) != 1 or 0 in values.stride():
                values = values.contiguous()
            made = self._output(steps, batch, directions * self.hidden_size)
            for direction in range(directions):
                i = layer * directions + direction
                units[i].run(
                    Sequences(_address(values), values.stride(0), values.stride(1)),
                    steps,
                    batch,
                    None if hidden is None else _address(hidden[i]),
                    Sequences(
                        _address(made) + 4 * direction * self.hidden_size,
                        made.stride(0),
                        made.stride(1),
                    ),
                    _address(last[i]),
                    reverse=direction == 1,
                )
            values = made
        if alone:
            return values.squeeze(1).to(input.dtype), last.squeeze(1).to(input.dtype)
        if self.batch_first:
            values = values.transpose(0, 1)
        return values.to(input.dtype), last.to(input.dtype)

    def _output(self, steps: int, batch: int, width: int) -> torch.Tensor:
        """[steps, batch, width], in the order in memory that the caller sees."""
        if self.batch_first:
            return torch.empty(batch, steps, width).transpose(0, 1)
        return torch.empty(steps, batch, width)

    def _check(self, input: torch.Tensor, hx: torch.Tensor | None) -> None:
        for what, given in (("input", input), ("hx", hx)):
            if what == "hx" and hx is None:
                continue
            if not isinstance(given, torch.Tensor):
                raise UsageError(f"{what} is {type(given).__name__}: expected torch.Tensor")
            if given.device.type != "cpu" or given.dtype not in _DTYPES:
                raise UsageError(
                    f"{what} is {given.dtype} on {given.device}: expected a floating-point type of "
                    "16 bits or more, in host memory"
                )
        if input.dim() not in (2, 3) or input.shape[-1] != self.input_size:
            raise UsageError(
                f"input has the shape {list(input.shape)}: expected 2 or 3 dimensions, the last of "
                f"{self.input_size}"
            )
        wanted = [self.num_layers * (2 if self.bidirectional else 1), self.hidden_size]
        if input.dim() == 3:
            wanted.insert(1, input.shape[0 if self.batch_first else 1])
        if hx is not None and list(hx.shape) != wanted:
            raise UsageError(f"hx has the shape {list(hx.shape)}: expected {wanted}")
        tensors = [input, *([] if hx is None else [hx]), *self.parameters()]
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            raise UsageError(
                "gradients are wanted, which wcodec.nn.GRU does not compute: use torch.no_grad()"
            )

    def _take(self) -> list[Unit]:
        """Units by the weights as they are now, layer by layer."""
        weights = list(self.parameters())
        key = None
        if not any(weight.is_inference() for weight in weights):
            key = [(weight.data_ptr(), weight._version) for weight in weights]
        if self._units is None or key is None or self._units[0] != key:
            made = []
            for layer in range(self.num_layers):
                for suffix in ("", "_reverse") if self.bidirectional else ("",):
                    made.append(self._unit(layer, f"_l{layer}{suffix}"))
            self._units = key, made
        return self._units[1]

    def _unit(self, layer: int, suffix: str) -> Unit:
        inputs, kept, stacks = self.input_size, [], {}
        if layer > 0:
            inputs = self.hidden_size * (2 if self.bidirectional else 1)
        for kind, name in _STACKS.items():
            if kind in "wu" or self.bias:
                stacks[kind], weight = _stack(getattr(self, name + suffix))
                kept.append(weight)
        try:
            return Unit(inputs, self.hidden_size, stacks, self._threads)
        except UsageError as error:
            raise UsageError(f"layer {layer}, *{suffix}: {error}") from None
