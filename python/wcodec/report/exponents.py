# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Distributions of the exponents of tensors: the part of a weight that compresses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    from .decoded import Bytes

SAMPLE = 1 << 22
"""Elements of a tensor that are counted; of a larger one, rows from all over it."""

SLICES = 8
"""Runs of rows that a sample is taken from."""


@dataclass(frozen=True)
class _Layout:
    """How the exponent lies in an element."""

    unit: str
    """The type of numpy that holds an element."""
    shift: int
    """Bits below the exponent."""
    bits: int
    """Bits of the exponent."""
    bias: int
    ieee: bool = True
    """Is the largest exponent that of infinite numbers and NaN?"""


_FLOATS: Mapping[str, _Layout] = {
    "F64": _Layout("<u8", 52, 11, 1023),
    "F32": _Layout("<u4", 23, 8, 127),
    "C64": _Layout("<u4", 23, 8, 127),
    "BF16": _Layout("<u2", 7, 8, 127),
    "F16": _Layout("<u2", 10, 5, 15),
    "F8_E5M2": _Layout("u1", 2, 5, 15),
    "F8_E5M2FNUZ": _Layout("u1", 2, 5, 16, ieee=False),
    "F8_E4M3": _Layout("u1", 3, 4, 7, ieee=False),
    "F8_E4M3FNUZ": _Layout("u1", 3, 4, 8, ieee=False),
    "F8_E8M0": _Layout("u1", 0, 8, 127, ieee=False),
}
_SIGNED = {"I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}
_UNSIGNED = {"BOOL": "u1", "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8"}


@dataclass(frozen=True)
class Distribution:
    """How often each exponent occurs in a tensor, or in the rows of it that were counted."""

    kind: str
    """"exponent" of floating-point numbers, "magnitude" of integers: bits of the absolute value."""
    first: int
    """The number that `counts[0]` counts; exponents are without their bias."""
    counts: tuple[int, ...]
    elements: int
    """Numbers that were counted."""
    subnormal: int | None = None
    """Of floating-point numbers: the exponent of zero and of subnormal ones."""
    special: int | None = None
    """Of IEEE 754's: the exponent of infinite ones and of NaN."""

    @property
    def entropy(self) -> float:
        """Bits that a number's exponent takes at least, coded by its frequency alone."""
        return math.fsum(
            -c / self.elements * math.log2(c / self.elements) for c in self.counts if c
        )


def supported(dtype: str) -> bool:
    """Is there a distribution of this dtype?"""
    return dtype in _FLOATS or dtype in _SIGNED or dtype in _UNSIGNED


def _magnitudes(values: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Bits of each absolute value: 0 of 0, 1 of 1, 2 of 2 and 3, ..."""
    import numpy

    absolute = values.astype("u8")  # two's complement: the cast of a negative number wraps
    if values.dtype.kind == "i":
        absolute = numpy.where(values < 0, ~absolute + numpy.uint64(1), absolute)
    bits = numpy.zeros(len(values), "u1")
    for step in (32, 16, 8, 4, 2, 1):
        large = absolute >= numpy.uint64(1 << step)
        bits[large] += step
        absolute[large] >>= numpy.uint64(step)
    bits[absolute > 0] += 1
    return bits


def _trimmed(
    kind: str, first: int, counts: numpy.ndarray[Any, Any], layout: _Layout | None = None
) -> Distribution:
    used = counts.nonzero()[0]
    low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
    return Distribution(
        kind,
        first + low,
        tuple(int(c) for c in counts[low:high]),
        int(counts.sum()),
        first if layout is not None and layout.shift > 0 else None,
        first + len(counts) - 1 if layout is not None and layout.ieee else None,
    )


def count(dtype: str, parts: Iterable[Bytes]) -> Distribution | None:
    """The distribution of the elements in `parts`, each whole elements; None of a dtype without
    one."""
    import numpy

    layout = _FLOATS.get(dtype)
    unit = layout.unit if layout else _SIGNED.get(dtype) or _UNSIGNED.get(dtype)
    if unit is None:
        return None
    total = numpy.zeros(1 << layout.bits if layout else 65, "i8")
    for part in parts:
        values = part.view(unit)
        mask = (1 << layout.bits) - 1 if layout else 0
        symbols = values >> layout.shift & mask if layout else _magnitudes(values)
        total += numpy.bincount(symbols.astype("u2"), minlength=len(total))
    if layout:
        return _trimmed("exponent", -layout.bias, total, layout)
    return _trimmed("magnitude", 0, total)


def sample(shape: tuple[int, ...], elements: int) -> list[tuple[int, int]]:
    """Which rows of a tensor are counted, as (first, count); a count of 0 is all."""
    if elements <= SAMPLE or not shape or shape[0] < 2 * SLICES:
        return [(0, 0)]
    rows = shape[0]
    each = max(1, SAMPLE * rows // (SLICES * elements))
    return [((rows - each) * i // (SLICES - 1), each) for i in range(SLICES)]
