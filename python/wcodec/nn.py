# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Modules in place of torch's, computed by the library, on the CPU or a CUDA device; by torch where
gradients are wanted.

>>> gru = wcodec.nn.GRU(64, 256, batch_first=True)      # doctest: +SKIP
>>> gru.load_state_dict(trained.state_dict())           # doctest: +SKIP
>>> output, hidden = gru(features)                      # doctest: +SKIP
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import PackedSequence

from ._errors import UsageError
from ._gru import Sequences, Stack, Unit

__all__ = ["GRU"]

_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
}
_DEVICES = ("cpu", "cuda")
_STACKS = {"w": "weight_ih", "u": "weight_hh", "b": "bias_ih", "c": "bias_hh"}


def _backend(device: torch.device) -> str:
    """Whose memory the weights on a device stay in, and who runs them."""
    return f"cuda:{device.index}" if device.type == "cuda" else "cpu"


def _queue(device: torch.device) -> int:
    """What the library gives its work to."""
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0


def _stack(weight: torch.Tensor) -> tuple[Stack, torch.Tensor]:
    """Where a weight is in host memory, and what owns it."""
    if weight.dtype not in _DTYPES or weight.device.type not in _DEVICES:
        raise UsageError(
            f"a weight is {weight.dtype} on {weight.device}: expected a floating-point type of 16 "
            "bits or more, on a CPU or CUDA device"
        )
    kept = weight.detach().cpu().contiguous()
    row = kept.element_size() * (kept.shape[1] if kept.dim() > 1 else 1)
    return Stack(kept.data_ptr(), _DTYPES[kept.dtype], row), kept


class _Span(NamedTuple):
    """Steps that the first `sequences` have in common, from the place `first` of all numbers on."""

    first: int
    steps: int
    sequences: int
    step_stride: int
    sequence_stride: int

    def of(self, values: torch.Tensor, column: int = 0) -> Sequences:
        address = values.data_ptr() + 4 * (self.first + column)
        return Sequences(address, self.step_stride, self.sequence_stride)


def _whole(values: torch.Tensor) -> list[_Span]:
    """[steps, batch, width] in any order in memory."""
    return [_Span(0, *values.shape[:2], *values.stride()[:2])]


def _sizes(input: PackedSequence) -> list[int]:
    """How many sequences have each step; torch does not check that they are those of the data."""
    sizes = [int(size) for size in input.batch_sizes.tolist()]
    grows = any(before < size for before, size in itertools.pairwise(sizes))
    if not sizes or sizes[-1] < 1 or grows or sum(sizes) != input.data.shape[0]:
        raise UsageError(
            f"the packed input has {input.data.shape[0]} rows, and batch_sizes {sizes[:8]}...: "
            "expected sizes above 0 that do not grow, with that sum"
        )
    return sizes


def _packed(sizes: list[int], width: int) -> list[_Span]:
    """[sum of sizes, width], of sizes that do not grow: one for each size."""
    spans: list[_Span] = []
    first = 0
    for size in sizes:
        if spans and spans[-1].sequences == size:
            spans[-1] = spans[-1]._replace(steps=spans[-1].steps + 1)
        else:
            spans.append(_Span(first, 1, size, size * width, width))
        first += size * width
    return spans


class GRU(torch.nn.GRU):
    """torch.nn.GRU without dropout: the same arguments, parameters, state_dict() and results, of
    layers in one direction or both, of batches, single or packed sequences.

    Arithmetic is of binary32 whatever the types of weights and input are, but for `products`; the
    output is of the input's type. Weights become the library's own at the first call, and again
    when torch has changed them; call flatten_parameters() after changing them through `.data` in
    place. On a CUDA device each layer and direction is one launch for all its steps on torch's
    current stream (wcodec_gru_run()), which a CUDA graph may capture after a first call; what such
    a graph needs lives as long as the module and its weights stay. That is for few sequences: of
    some dozens, or more than 512 hidden values, torch.nn.GRU is the faster one there. Many are for
    products of torch.bfloat16, up to 1024 hidden values with compute capability 9.0, and 64 with
    8.0 (wcodec/recurrent.h, WCODEC_GRU_PRODUCTS_BF16, says how far off they may be).
    Parameters are frozen. Where gradients are wanted all the same, of the input or, after
    requires_grad_(), of weights, torch computes, as if this were its own module.

    Args:
        threads: as for wcodec.compress().
        products: torch.float32, or torch.bfloat16, to which a CUDA device may then round weights,
            inputs and hidden values where it multiplies them.
        The others are torch's.

    Raises:
        UsageError: dropout, another type of products; at a call another shape or device.
            LimitError, OutOfMemoryError. On a CUDA device also BackendError, UnsupportedError (a
            work-group has no room for these sizes), DeviceError.
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
        products: torch.dtype = torch.float32,
    ) -> None:
        if dropout != 0:
            raise UsageError(f"dropout is {dropout}: this module has none")
        if products not in (torch.float32, torch.bfloat16):
            raise UsageError(f"products is {products}: expected torch.float32 or torch.bfloat16")
        self._units: tuple[Any, list[Unit], torch.device] | None = None
        self._threads = threads
        self._products = _DTYPES[products]
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
        self._drop()

    def _drop(self) -> None:
        """Units go when no stream works with them any more."""
        if self._units is not None and self._units[2].type == "cuda":
            torch.cuda.synchronize(self._units[2])
        self._units = None

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_units": None}
        state.pop("_flat_weight_refs", None)  # weak ones, which torch makes anew
        return state

    def forward(  # type: ignore[override]
        self, input: torch.Tensor | PackedSequence, hx: torch.Tensor | None = None
    ) -> tuple[torch.Tensor | PackedSequence, torch.Tensor]:
        """As torch.nn.GRU: input [steps, batch, input_size], [batch, steps, input_size] if
        batch_first, [steps, input_size], or packed; hx [layers * directions, batch, hidden_size],
        or without batch as input, or None for zeros. Gives the output of the last layer and hidden
        values of all."""
        if isinstance(input, PackedSequence):
            sizes = _sizes(input)
            self._check(input.data, sizes[0], hx)
            if self._differentiates(input.data, hx):
                return self._by_torch(input, hx)
            return self._forward_packed(input, sizes, hx)
        self._check(input, None, hx)
        if self._differentiates(input, hx):
            return self._by_torch(input, hx)
        values = input.detach().to(torch.float32)
        alone = input.dim() == 2
        if alone:
            values = values.unsqueeze(1)
            hx = None if hx is None else hx.unsqueeze(1)
        elif self.batch_first:
            values = values.transpose(0, 1)
        output, last = self._run(values, None, hx)
        if alone:
            return output.squeeze(1).to(input.dtype), last.squeeze(1).to(input.dtype)
        if self.batch_first:
            output = output.transpose(0, 1)
        return output.to(input.dtype), last.to(input.dtype)

    def _differentiates(self, input: torch.Tensor, hx: torch.Tensor | None) -> bool:
        tensors = [input, *([] if hx is None else [hx]), *self.parameters()]
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)

    def _by_torch(self, input: Any, hx: torch.Tensor | None) -> tuple[Any, torch.Tensor]:
        result: tuple[Any, torch.Tensor] = super().forward(input, hx)
        return result

    def _forward_packed(
        self, input: PackedSequence, sizes: list[int], hx: torch.Tensor | None
    ) -> tuple[PackedSequence, torch.Tensor]:
        if hx is not None and input.sorted_indices is not None:
            hx = hx[:, input.sorted_indices]
        values = input.data.detach().to(torch.float32)
        output, last = self._run(values, sizes, hx)
        if input.unsorted_indices is not None:
            last = last[:, input.unsorted_indices]
        output = output.to(input.data.dtype)
        return input._replace(data=output), last.to(input.data.dtype)

    def _run(
        self, values: torch.Tensor, sizes: list[int] | None, hidden: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All layers of [steps, batch, width], or of [sum of sizes, width]: the output likewise,
        and [layers * directions, batch, hidden_size]."""
        directions = 2 if self.bidirectional else 1
        batch = values.shape[1] if sizes is None else sizes[0]
        device = values.device
        last = torch.zeros(self.num_layers * directions, batch, self.hidden_size, device=device)
        if hidden is not None:
            last.copy_(hidden.detach())
        units, width = self._take(), directions * self.hidden_size
        queue = _queue(device)
        for layer in range(self.num_layers):
            # The library takes a stride of 0, which expand() makes, for none given.
            if values.stride(-1) != 1 or 0 in values.stride():
                values = values.contiguous()
            if sizes is None:
                made = self._output(values.shape[0], batch, width, device)
                given, wanted = _whole(values), _whole(made)
            else:
                made = torch.empty(values.shape[0], width, device=device)
                values = values.contiguous()
                given, wanted = _packed(sizes, values.shape[1]), _packed(sizes, width)
            for direction in range(directions):
                i = layer * directions + direction
                state = last[i].data_ptr()
                for source, target in list(zip(given, wanted))[:: -1 if direction else 1]:
                    units[i].run(
                        source.of(values),
                        source.steps,
                        source.sequences,
                        state,
                        target.of(made, direction * self.hidden_size),
                        reverse=direction == 1,
                        queue=queue,
                    )
            values = made
        return values, last

    def _output(self, steps: int, batch: int, width: int, device: torch.device) -> torch.Tensor:
        """[steps, batch, width], in the order in memory that the caller sees."""
        if self.batch_first:
            return torch.empty(batch, steps, width, device=device).transpose(0, 1)
        return torch.empty(steps, batch, width, device=device)

    def _check(self, input: torch.Tensor, packed: int | None, hx: torch.Tensor | None) -> None:
        """What comes in, packed of so many sequences, or not."""
        for what, given in (("input", input), ("hx", hx)):
            if what == "hx" and hx is None:
                continue
            if not isinstance(given, torch.Tensor):
                raise UsageError(f"{what} is {type(given).__name__}: expected torch.Tensor")
            if given.device != self.weight_ih_l0.device or given.dtype not in _DTYPES:
                raise UsageError(
                    f"{what} is {given.dtype} on {given.device}: expected a floating-point type of "
                    f"16 bits or more on {self.weight_ih_l0.device}, where the weights are"
                )
        if packed is not None:
            if input.dim() != 2 or input.shape[1] != self.input_size:
                raise UsageError(
                    f"the packed input has the shape {list(input.shape)}: expected 2 dimensions, "
                    f"the last of {self.input_size}"
                )
        elif input.dim() not in (2, 3) or input.shape[-1] != self.input_size:
            raise UsageError(
                f"input has the shape {list(input.shape)}: expected 2 or 3 dimensions, the last of "
                f"{self.input_size}"
            )
        wanted = [self.num_layers * (2 if self.bidirectional else 1), self.hidden_size]
        if packed is not None:
            wanted.insert(1, packed)
        elif input.dim() == 3:
            wanted.insert(1, input.shape[0 if self.batch_first else 1])
        if hx is not None and list(hx.shape) != wanted:
            raise UsageError(f"hx has the shape {list(hx.shape)}: expected {wanted}")

    def _take(self) -> list[Unit]:
        """Units by the weights as they are now, layer by layer."""
        weights = list(self.parameters())
        key = None
        if not any(weight.is_inference() for weight in weights):
            key = [(weight.data_ptr(), weight._version) for weight in weights]
        if self._units is None or key is None or self._units[0] != key:
            self._drop()
            made: list[Unit] = []
            for layer in range(self.num_layers):
                for suffix in ("", "_reverse") if self.bidirectional else ("",):
                    made.append(self._unit(layer, f"_l{layer}{suffix}"))
            self._units = key, made, weights[0].device
            return made
        return self._units[1]

    def _unit(self, layer: int, suffix: str) -> Unit:
        inputs, kept, stacks = self.input_size, [], {}
        if layer > 0:
            inputs = self.hidden_size * (2 if self.bidirectional else 1)
        for kind, name in _STACKS.items():
            if kind in "wu" or self.bias:
                stacks[kind], weight = _stack(getattr(self, name + suffix))
                kept.append(weight)
        backend = _backend(getattr(self, f"weight_ih{suffix}").device)
        try:
            return Unit(inputs, self.hidden_size, stacks, self._threads, backend, self._products)
        except UsageError as error:
            raise UsageError(f"layer {layer}, *{suffix}: {error}") from None
