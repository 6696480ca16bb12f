# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Lossy tensors measured on their originals."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from .._errors import MismatchError, TensorNotFoundError
from .._open import open_any
from .._reader import AnyReader
from . import decoded, text
from .model import Model, Tensor

if TYPE_CHECKING:
    import numpy


def _numbers(dtype: str, data: decoded.Bytes) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
    if dtype == "BF16":
        return (data.view("<u2").astype("<u4") << 16).view("<f4").astype("f8")
    return data.view({"F16": "<f2", "F32": "<f4"}[dtype]).astype("f8")


def _mismatch(original: AnyReader, tensor: Tensor, what: str) -> MismatchError:
    where = f"{original.path}: tensor '{text.name(tensor.name)}'"
    return MismatchError(
        f"{where} {what}: not the original", file=original.path, tensor=tensor.name
    )


def _find(original: AnyReader, tensor: Tensor) -> int:
    try:
        number = original.find(tensor.name)
    except TensorNotFoundError:
        raise _mismatch(original, tensor, "is not there") from None
    found = original.tensor(number)
    if (found.dtype, found.shape) != (tensor.dtype, tensor.shape):
        raise _mismatch(
            original,
            tensor,
            f"is {text.name(found.dtype)} of {text.shape(found.shape)}, and approximated as "
            f"{tensor.dtype} of {text.shape(tensor.shape)}",
        )
    return number


def _measure(reader: AnyReader, number: int, tensor: Tensor, original: AnyReader) -> Tensor:
    import numpy

    there = _find(original, tensor)
    signal, noise, largest = [], [], 0.0
    for first, count in decoded.chunks(tensor.shape, tensor.elements):
        exact = _numbers(tensor.dtype, decoded.rows(original, there, first, count))
        error = _numbers(tensor.dtype, decoded.rows(reader, number, first, count))
        if not numpy.isfinite(exact).all():
            raise _mismatch(original, tensor, "has NaN or infinite numbers, never approximated")
        error -= exact
        signal.append(float(exact @ exact))
        noise.append(float(error @ error))
        largest = max(largest, float(numpy.abs(error).max()))
    squares, errors = math.fsum(signal), math.fsum(noise)
    snr = math.inf if errors == 0 else 10 * math.log10(squares / errors) if squares else None
    return dataclasses.replace(tensor, snr_db=snr, largest_error=largest, snr_measured=True)


def measure(model: Model, reader: AnyReader, path: str) -> Model:
    """`model`, whose reader is given, with the signal-to-noise ratios of its lossy tensors measured
    on the original at `path`: a file or a folder, .safetensors or .wcodec."""
    original = open_any(path)
    try:
        tensors = tuple(
            _measure(reader, number, tensor, original) if tensor.lossy else tensor
            for number, tensor in enumerate(model.tensors)
        )
    finally:
        original.close()
    return dataclasses.replace(model, tensors=tensors)
