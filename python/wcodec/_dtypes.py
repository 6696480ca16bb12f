# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Element types by their names in the safetensors format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Dtype(NamedTuple):
    """An element type, and what the frameworks call it (None: they have none like it)."""

    bits: int
    numpy: str | None
    ml_dtypes: str | None
    torch: str | None


DTYPES: dict[str, Dtype] = {
    "BOOL": Dtype(8, "?", None, "bool"),
    "U8": Dtype(8, "u1", None, "uint8"),
    "I8": Dtype(8, "i1", None, "int8"),
    "F8_E5M2": Dtype(8, None, "float8_e5m2", "float8_e5m2"),
    "F8_E4M3": Dtype(8, None, "float8_e4m3fn", "float8_e4m3fn"),
    "F8_E8M0": Dtype(8, None, "float8_e8m0fnu", "float8_e8m0fnu"),
    "F8_E4M3FNUZ": Dtype(8, None, "float8_e4m3fnuz", "float8_e4m3fnuz"),
    "F8_E5M2FNUZ": Dtype(8, None, "float8_e5m2fnuz", "float8_e5m2fnuz"),
    "U16": Dtype(16, "<u2", None, "uint16"),
    "I16": Dtype(16, "<i2", None, "int16"),
    "F16": Dtype(16, "<f2", None, "float16"),
    "BF16": Dtype(16, None, "bfloat16", "bfloat16"),
    "U32": Dtype(32, "<u4", None, "uint32"),
    "I32": Dtype(32, "<i4", None, "int32"),
    "F32": Dtype(32, "<f4", None, "float32"),
    "U64": Dtype(64, "<u8", None, "uint64"),
    "I64": Dtype(64, "<i8", None, "int64"),
    "F64": Dtype(64, "<f8", None, "float64"),
    "C64": Dtype(64, "<c8", None, "complex64"),
    "F4": Dtype(4, None, None, "float4_e2m1fn_x2"),
    "F6_E2M3": Dtype(6, None, None, None),
    "F6_E3M2": Dtype(6, None, None, None),
}

# The order of tensors in a file is that of safetensors: by type in this order, so that all are
# aligned, then by name.
SAVE_ORDER = {
    name: rank
    for rank, name in enumerate(
        "U64 I64 F64 C64 F32 U32 I32 BF16 F16 U16 I16 F8_E5M2FNUZ F8_E4M3FNUZ F8_E8M0 F8_E4M3 "
        "F8_E5M2 I8 U8 F6_E3M2 F6_E2M3 F4 BOOL".split()
    )
}


def elements(shape: Sequence[int]) -> int:
    """How many elements a shape has."""
    count = 1
    for dimension in shape:
        count *= dimension
    return count


def packed_shape(dtype: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in bytes of a tensor whose elements are not whole bytes: rows stay rows where they
    are whole bytes, else it has one dimension."""
    bits = DTYPES[dtype].bits
    if shape and shape[-1] * bits % 8 == 0:
        return (*shape[:-1], shape[-1] * bits // 8)
    return (elements(shape) * bits // 8,)
