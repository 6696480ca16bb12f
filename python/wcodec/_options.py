# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Options of compressing, with the names and values of the command's."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

from . import _declarations as c
from ._errors import UsageError
from ._library import lib


def _choice(enumeration: str, prefix: str, value: str, what: str) -> int:
    known = {
        name.removeprefix(prefix).lower().replace("_", "-"): number
        for name, number in c.ENUMERATIONS[enumeration].items()
    }
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"{what} is {value!r}: expected one of {', '.join(known)}")
    return known[value]


def _lossy(options: c.wcodec_encode_options, text: str) -> None:
    target, colon, number = text.partition(":") if isinstance(text, str) else ("", "", "")
    try:
        value = float(number)
    except ValueError:
        colon = ""
    if not colon or target not in ("snr", "error", "bits"):
        raise UsageError(f"lossy is {text!r}: expected 'snr:DB', 'error:E' or 'bits:N'")
    options.lossy = _choice("wcodec_lossy_target", "WCODEC_LOSSY_", target, "lossy")
    options.lossy_value = value


def _vectors(
    options: c.wcodec_encode_options,
    tables: bool | Sequence[str],
    anchors: int | None,
    bits: float | None,
    recall: float | None,
) -> None:
    if not tables:
        if anchors is not None or bits is not None or recall is not None:
            raise UsageError("vectors_anchors, vectors_bits and vectors_recall need vectors")
        return
    for what, value in (("vectors_bits", bits), ("vectors_recall", recall)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise UsageError(f"{what} is {value!r}: expected a number")
    if anchors is not None:
        if isinstance(anchors, bool) or not isinstance(anchors, int) or not 0 < anchors <= 1 << 21:
            raise UsageError(f"vectors_anchors is {anchors!r}: expected 1 to 2097152")
        options.vectors_anchors = anchors
    if tables is not True:
        options.vectors = _patterns(tables, "vectors")
    if bits is not None and recall is not None:
        raise UsageError("vectors_bits and vectors_recall exclude each other")
    if bits is not None:
        if not 0.01 <= bits <= 32:
            raise UsageError(f"vectors_bits is {bits!r}: expected 0.01 to 32")
        options.vectors_bits = bits
    else:
        recall = 0.95 if recall is None else recall
        if not 0 < recall < 1:
            raise UsageError(f"vectors_recall is {recall!r}: expected above 0 and below 1")
        options.vectors_recall = recall


def _patterns(values: Sequence[str], what: str) -> Any:
    if isinstance(values, str) or not all(isinstance(v, str) and "\0" not in v for v in values):
        raise UsageError(f"{what} is {values!r}: expected a list of patterns")
    encoded = [value.encode() for value in values]
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)


def encode_options(
    *,
    level: int = 3,
    tune: str = "size",
    tile: int | None = None,
    profile: str = "auto",
    predict: str = "auto",
    lossy: str | None = None,
    lossy_scale: str = "tensor",
    vectors: bool | Sequence[str] = False,
    vectors_anchors: int | None = None,
    vectors_bits: float | None = None,
    vectors_recall: float | None = None,
    vectors_optional: bool = False,
    raw: bool = False,
    strict: bool = False,
    verify: bool = True,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    name: str | bool | None = None,
    onnx_model: str | os.PathLike[str] | None = None,
) -> c.wcodec_encode_options:
    """The library's structure.

    Args:
        level: 1 (fast) to 9 (small).
        tune: "size", "latency": small tiles, so that one tensor alone occupies a large GPU,
            "compute-fixed": matrices of bf16 at a fixed rate, for a device to multiply by, or
            "compute": matrices in the order in which a device multiplies.
        tile: elements of a tile: 4096, 8192, ... 65536; None: by tune.
        profile: "auto", "pairs", "p12" or "p8".
        predict: "auto", "none", "left", "top", "average", "planar", "paeth" or "wht".
        lossy: None, "snr:DB", "error:E" or "bits:N": tensors of bf16, f16 and f32 are approximated.
        lossy_scale: "tensor" or "row".
        vectors: True, or patterns of tensor names: tables of vectors [n, d] are approximated by
            anchors, indices and residuals, whatever lossy says of other tensors. Each pattern must
            match one; True takes tables of at least 2048 rows and six times as many as columns.
        vectors_anchors: so many for each table; None: by its rows.
        vectors_bits: at most so many bits an element of these.
        vectors_recall: or the recall@10 of their rows that is reached, in as few bits as that
            takes; None, without vectors_bits: 0.95.
        vectors_optional: patterns of vectors may match nothing, as in one file of several.
        raw: treat the input as opaque bytes.
        strict: an input in which no tensors are found is an error instead of opaque.
        verify: decode and compare what was coded.
        include, exclude: patterns of tensor names, as the command's.
        name: name of the original to note in the file. True, for compress(): that of the path,
            with its mode and time. Without, the same tensors and options make the same bytes.
        onnx_model: for compress() of a file: the path of the ONNX model whose external data it is.
    """
    options = c.wcodec_encode_options()
    lib.wcodec_encode_options_init_size(options, ctypes.sizeof(options))
    if isinstance(level, bool) or not isinstance(level, int) or not 1 <= level <= 9:
        raise UsageError(f"level is {level!r}: expected 1 to 9")
    options.level = level
    options.tune = _choice("wcodec_tune", "WCODEC_TUNE_", tune, "tune")
    options.profile = _choice("wcodec_profile", "WCODEC_PROFILE_", profile, "profile")
    options.predict = _choice("wcodec_predict", "WCODEC_PREDICT_", predict, "predict")
    options.lossy_scale = _choice(
        "wcodec_lossy_scaling", "WCODEC_LOSSY_SCALE_", lossy_scale, "lossy_scale"
    )
    if tile is not None:
        if tile not in [1 << bits for bits in range(12, 17)]:
            raise UsageError(f"tile is {tile!r}: expected 4096, 8192, 16384, 32768 or 65536")
        options.tile_log2 = tile.bit_length() - 1
    if lossy is not None and lossy != "none":
        _lossy(options, lossy)
    _vectors(options, vectors, vectors_anchors, vectors_bits, vectors_recall)
    options.vectors_optional = int(vectors_optional)
    options.raw, options.strict, options.no_verify = int(raw), int(strict), int(not verify)
    if include:
        options.include = _patterns(include, "include")
    if exclude:
        options.exclude = _patterns(exclude, "exclude")
    if name is not None and not isinstance(name, bool):
        if not isinstance(name, str) or "\0" in name:
            raise UsageError(f"name is {name!r}: expected text")
        options.name = name.encode("utf-8", "replace")
    if onnx_model is not None:
        options.onnx_model = os.fsencode(onnx_model)
    return options
