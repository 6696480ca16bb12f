# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Files and tensors as the command's --json describes them."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from . import _declarations as c
from ._context import context, error_of
from ._library import lib
from ._reader import Reader

_CODINGS = {
    number: name.removeprefix("WCODEC_CODING_").lower()
    for name, number in c.ENUMERATIONS["wcodec_coding"].items()
}
_NONE = 2**64 - 1


def _round(value: float, decimals: int) -> float:
    scale = 10.0**decimals
    return math.copysign(math.floor(abs(value) * scale + 0.5) / scale, value)


def _ratio(coded: int, size: int) -> float:
    return coded / size if size else 0.0


def _text(value: Any) -> str:
    return bytes(value or b"").decode("utf-8", "replace")


def _elements(info: c.wcodec_tensor_info) -> int:
    bits = lib.wcodec_dtype_bits(info.dtype)
    return int(info.size * 8 // bits if bits else info.size)


class _Errors:
    """Sums over approximated tensors."""

    def __init__(self) -> None:
        self.tensors = self.elements = 0
        self.errors = self.squares = self.largest = 0.0

    def add(self, info: c.wcodec_tensor_info) -> None:
        if info.lossy:
            count = _elements(info)
            self.tensors += 1
            self.elements += count
            self.errors += info.mean_squared_error * count
            self.squares += info.mean_square * count
            self.largest = max(self.largest, info.largest_error)

    def json(self) -> dict[str, Any]:
        count = self.elements or 1
        ratio = self.squares / self.errors if self.errors > 0 else math.inf
        snr = 10 * math.log10(ratio) if 0 < ratio < math.inf else None
        if snr is not None and 1 - 1e-6 < ratio < 1:
            snr = 0.0

        def number(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "snr_db": None if snr is None else _round(snr, 3),
            "largest_error": number(self.largest),
            "mean_squared_error": number(self.errors / count),
            "mean_square": number(self.squares / count),
        }


def _modes(info: c.wcodec_tensor_info) -> dict[str, Any]:
    coded = _CODINGS.get(info.coding) == "lossy"
    modes = info.modes[: info.mode_count]
    blocks = sum(mode.blocks for mode in modes)
    listed = []
    for mode in modes:
        made: dict[str, Any] = {"transform" if coded else "predictor": _text(mode.predictor)}
        if not coded:
            made["differential"] = bool(mode.differential)
        made["share"] = _round(mode.blocks / blocks if blocks else 0, 6)
        listed.append(made)
    result: dict[str, Any] = {"columns": info.columns, "modes": listed}
    if info.order:
        result["order"] = _text(info.order)
    return result


def _delta(handle: ctypes.c_void_p, number: int) -> dict[str, Any]:
    delta = c.wcodec_delta_info()
    lib.wcodec_reader_delta(handle, number, delta, None)
    counts = {
        "equal": delta.equal,
        "sparse": delta.sparse,
        "alone": delta.alone,
        "difference": delta.difference,
        "xor": delta.exclusive_or,
    }
    total = sum(counts.values())
    return {
        "base": bytes(delta.xxh128).hex(),
        "base_bytes": delta.base_size,
        "depth": delta.depth,
        "shares": {name: _round(n / total, 6) for name, n in counts.items() if n},
    }


def _coding(handle: ctypes.c_void_p, number: int, info: c.wcodec_tensor_info) -> dict[str, Any]:
    result: dict[str, Any] = {
        "kind": _CODINGS.get(info.coding, "unknown"),
        "profile": _text(info.coding_name),
        "split": _text(info.split),
        "element_bits": info.element_bits,
        "tile": info.tile_elements,
        "tables": info.tables,
        "run": info.run_elements,
    }
    if info.mode_count:
        coded = result["kind"] == "lossy"
        result["transform" if coded else "predict"] = _modes(info)
    if result["kind"] == "anchored":
        result["anchors"] = info.anchors
    if result["kind"] == "delta":
        result["delta"] = _delta(handle, number)
    if info.alias_of != _NONE:
        first = c.wcodec_tensor_info()
        lib.wcodec_reader_entry(handle, info.alias_of, first, None)
        result["alias_of"] = None if first.name is None else _text(first.name)
    return result


def _tensor(handle: ctypes.c_void_p, number: int, info: c.wcodec_tensor_info) -> dict[str, Any]:
    count = _elements(info)
    lossy: dict[str, Any] | None = None
    if info.lossy:
        errors = _Errors()
        errors.add(info)
        lossy = {**errors.json(), "scales": info.scales}
    return {
        "name": _text(info.name),
        "dtype": _text(info.dtype_name),
        "shape": info.shape[: info.rank],
        "bytes": info.size,
        "coded_bytes": info.coded_size,
        "ratio": _round(_ratio(info.coded_size, info.size), 6),
        "coding": _coding(handle, number, info),
        "bits_per_element": _round(info.coded_size * 8 / count if count else 0, 4),
        "order0_bits": info.order0_bits,
        "payload_xxh3": f"{info.payload_hash:016x}",
        "lossy": lossy,
    }


class _Totals:
    def __init__(self) -> None:
        self.tensors = self.aliases = self.elements = self.size = self.coded = 0
        self.bounded_coded = self.bound_bits = 0

    def add(self, info: c.wcodec_tensor_info) -> None:
        alias = info.coding == c.WCODEC_CODING_ALIAS
        self.tensors += 1
        self.aliases += alias
        self.elements += _elements(info)
        self.size += info.size
        self.coded += info.coded_size
        if info.order0_bits and not alias:
            self.bounded_coded += info.coded_size
            self.bound_bits += info.order0_bits

    def json(self, file_coded: int) -> dict[str, Any]:
        over = (self.bounded_coded * 8 / self.bound_bits - 1) * 100 if self.bound_bits else 0
        return {
            "tensors": self.tensors,
            "aliases": self.aliases,
            "elements": self.elements,
            "bytes": self.size,
            "coded_bytes": self.coded,
            "ratio": _round(_ratio(self.coded, self.size), 6),
            "bits_per_element": _round(self.coded * 8 / self.elements if self.elements else 0, 4),
            "order0_bits": self.bound_bits,
            "order0_coded_bytes": self.bounded_coded,
            "over_order0_percent": _round(over, 4),
            "other_coded_bytes": file_coded - self.coded,
        }


_TUNES = ("size", "latency", "compute-fixed", "compute")
_PROFILES = ("auto", "pairs", "p12", "p8")
_PREDICTORS = ("auto", "none", "left", "top", "average", "planar", "paeth", "wht")


def _value(names: tuple[str, ...], number: int) -> str:
    return names[number] if number < len(names) else "?"


def _options(file: c.wcodec_file_info) -> dict[str, Any] | None:
    """By which a file was made, as far as that was noted."""
    if not file.level:
        return None
    return {
        "level": file.level,
        "tune": _value(_TUNES, file.tune),
        "profile": _value(_PROFILES, file.profile),
        "predict": _value(_PREDICTORS, file.predict),
        "tile": 1 << file.tile_log2 if 0 < file.tile_log2 < 32 else None,
        "patterns": bool(file.patterns),
    }


def _file(reader: Reader, handle: ctypes.c_void_p, number: int) -> dict[str, Any]:
    file = c.wcodec_file_info()
    lib.wcodec_reader_file(handle, number, file, None)
    totals, errors, tensors = _Totals(), _Errors(), []
    for i in range(file.first_tensor, file.first_tensor + file.tensors):
        info = c.wcodec_tensor_info()
        lib.wcodec_reader_tensor(handle, i, info, None)
        totals.add(info)
        errors.add(info)
        tensors.append(_tensor(handle, i, info))
    return {
        "path": _text(file.path) or reader.path,
        "name": _text(file.name),
        "kind": _text(file.kind),
        "bytes": file.size,
        "coded_bytes": file.coded_size,
        "ratio": _round(_ratio(file.coded_size, file.size), 6),
        "xxh128": bytes(file.xxh128).hex(),
        "format_version": file.version,
        "tensor_count": file.tensors,
        "lossy": {**errors.json(), "tensors": errors.tensors} if errors.tensors else None,
        "mode": f"{file.mode:04o}" if file.mode else None,
        "mtime": file.mtime if file.mtime >= 0 else None,
        "options": _options(file),
        "index": "front" if file.index_first else "end",
        "metadata": reader.metadata(number),
        "bases": reader.needed(range(file.first_tensor, file.first_tensor + file.tensors)),
        "totals": totals.json(file.coded_size),
        "tensors": tensors,
    }


def describe(reader: Reader) -> dict[str, Any]:
    """What `wcodec info --json` prints for an open file or folder."""
    opened = reader.opened()
    count = lib.wcodec_reader_file_count(opened.handle)
    files = [_file(reader, opened.handle, number) for number in range(count)]
    return {"schema": "wcodec/1", "files": files}


def devices(backend: str | None = None) -> list[dict[str, Any]]:
    """All backends and their devices, usable or not, as `wcodec devices --json` lists them.

    Opens every plugin, and for a moment every device.

    Args:
        backend: which one would be chosen: as everywhere; None: WCODEC_BACKEND, else "auto".

    Returns:
        For each a dict with "backend", "index" ("cuda:1" is index 1 of "cuda"), "available",
        "chosen", "name" or, where it cannot be used, "reason", "driver", "plugin" (its path), and
        "memory" in bytes (0: unknown).
    """
    used = context(backend)
    listed, count = ctypes.POINTER(c.wcodec_device_info)(), ctypes.c_size_t()
    error = c.wcodec_error()
    with used.lock:  # a list is valid until the next call
        status = lib.wcodec_context_devices(used.handle, listed, count, error)
        if status != c.WCODEC_OK:
            raise error_of(status, error)
        return [_device(listed[i]) for i in range(count.value)]


def _device(device: c.wcodec_device_info) -> dict[str, Any]:
    return {
        "backend": _text(device.backend),
        "index": device.index,
        "available": bool(device.available),
        "chosen": bool(device.chosen),
        "name" if device.available else "reason": _text(device.name),
        "driver": _text(device.driver),
        "plugin": _text(device.plugin_path),
        "memory": device.memory,
    }
