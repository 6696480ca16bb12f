# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The figures that a report shows, as the index of a model has them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

DTYPE_BITS: Mapping[str, int] = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("BF16", "F16", "I16", "U16"), 16),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    "F4": 4,
}
"""Bits of an element of those dtypes that have not 8; unknown ones are counted as bytes."""


@dataclass(frozen=True)
class Tensor:
    """One tensor of a model."""

    file: int
    """The number of the model's file that has it."""
    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    coded_bytes: int
    coding: str
    """Kind, predictor and profile in the words of `wcodec list`: "left/p8", "lossy/dct/p12"."""
    split: str
    order0_bits: int
    """The order-0 bound of the whole tensor; 0 where it was not counted."""
    modes: tuple[tuple[str, float], ...]
    """Of a tensor in blocks: each mode, and the share of the blocks that have it."""
    lossy: bool
    alias: bool
    """Its bytes are those of another tensor, and stored once."""
    snr_db: float | None
    """Of a lossy tensor: signal to noise in decibels; infinite where the two are equal."""
    largest_error: float | None
    snr_measured: bool = False
    """Measured on an original by this report, rather than recorded by the encoder."""

    @property
    def elements(self) -> int:
        """Numbers in it (bytes, of a dtype that is unknown)."""
        return self.bytes * 8 // DTYPE_BITS.get(self.dtype, 8)

    @property
    def ratio(self) -> float | None:
        """Coded size over original size; None of an empty tensor."""
        return self.coded_bytes / self.bytes if self.bytes else None

    @property
    def bits(self) -> float | None:
        """Coded bits an element; None of an empty tensor."""
        return self.coded_bytes * 8 / self.elements if self.elements else None

    @property
    def bound(self) -> float | None:
        """Order-0 bound in bits an element; None where it was not counted, or is not to be
        compared with: lossy coding is below it, and an alias takes no bytes."""
        if not self.order0_bits or self.lossy or self.alias or not self.elements:
            return None
        return self.order0_bits / self.elements

    @property
    def over_bound(self) -> float | None:
        """Coded size over the bound, less one."""
        return self.coded_bytes * 8 / self.order0_bits - 1 if self.bound else None


@dataclass(frozen=True)
class File:
    """One file of a model."""

    path: str
    original: str
    kind: str
    bytes: int
    coded_bytes: int
    xxh128: str
    metadata: Mapping[str, str]


@dataclass(frozen=True)
class Model:
    """What one argument names: a file, or a folder of them."""

    path: str
    files: tuple[File, ...]
    tensors: tuple[Tensor, ...]

    @property
    def bytes(self) -> int:
        """Bytes of the originals."""
        return sum(f.bytes for f in self.files)

    @property
    def coded_bytes(self) -> int:
        """Bytes of the files."""
        return sum(f.coded_bytes for f in self.files)

    @property
    def elements(self) -> int:
        """Numbers in all tensors."""
        return sum(t.elements for t in self.tensors)

    @property
    def bits(self) -> float | None:
        """Coded bits an element, over all tensors."""
        coded = sum(t.coded_bytes for t in self.tensors)
        return coded * 8 / self.elements if self.elements else None

    @property
    def over_bound(self) -> float | None:
        """Coded size over the order-0 bound, less one, of the tensors that have one."""
        bounded = [t for t in self.tensors if t.bound]
        bits = sum(t.order0_bits for t in bounded)
        return sum(t.coded_bytes for t in bounded) * 8 / bits - 1 if bits else None

    def mode_shares(self) -> list[tuple[str, float]]:
        """How many of the elements of tensors in blocks each mode has, most first."""
        elements: dict[str, float] = {}
        for tensor in self.tensors:
            for mode, share in tensor.modes:
                label = f"lossy: {mode}" if tensor.coding.startswith("lossy/") else mode
                elements[label] = elements.get(label, 0) + share * tensor.elements
        total = math.fsum(elements.values())
        shares = [(mode, count / total) for mode, count in elements.items()] if total else []
        return sorted(shares, key=lambda item: (-item[1], item[0]))


def _modes(coding: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    for mode in coding.get("predict", {}).get("modes", ()):
        yield mode["predictor"] + ("+d" if mode["differential"] else ""), float(mode["share"])
    for mode in coding.get("transform", {}).get("modes", ()):
        yield mode["transform"], float(mode["share"])


def _tensor(number: int, entry: Mapping[str, Any]) -> Tensor:
    coding = entry["coding"]
    lossy = entry["lossy"]
    modes = tuple(_modes(coding))
    words = ["lossy"] if lossy and lossy["scales"] else []
    if modes:
        words.append(max(modes, key=lambda mode: mode[1])[0].removesuffix("+d"))
    words.append(coding["profile"])
    snr = None
    if lossy and lossy["mean_squared_error"] == 0:
        snr = math.inf
    elif lossy and lossy["snr_db"] is not None:
        snr = float(lossy["snr_db"])
    return Tensor(
        file=number,
        name=entry["name"],
        dtype=entry["dtype"],
        shape=tuple(entry["shape"]),
        bytes=entry["bytes"],
        coded_bytes=entry["coded_bytes"],
        coding="/".join(words),
        split=coding["split"],
        order0_bits=entry["order0_bits"],
        modes=modes,
        lossy=bool(lossy),
        alias=coding["kind"] == "alias",
        snr_db=snr,
        largest_error=lossy["largest_error"] if lossy else None,
    )


def from_info(path: str, files: Iterable[Mapping[str, Any]]) -> Model:
    """The model of what `wcodec info --json` lists under "files"."""
    listed = list(files)
    return Model(
        path,
        tuple(
            File(
                f["path"],
                f["name"],
                f["kind"],
                f["bytes"],
                f["coded_bytes"],
                f["xxh128"],
                f["metadata"] or {},
            )
            for f in listed
        ),
        tuple(_tensor(i, entry) for i, f in enumerate(listed) for entry in f["tensors"]),
    )
