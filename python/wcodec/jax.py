# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints as JAX arrays: the functions of `safetensors.flax`, for both formats.

On a CUDA device, where torch is installed with CUDA too, tensors are decoded there and handed to
JAX by DLPack, without a copy. Else the CPU decodes, and JAX copies to its device.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

import jax
import numpy as np

from . import numpy as _numpy
from ._context import Progress
from ._frameworks import Request, compute_backend, load_all
from ._loading import Started
from ._open import open_any
from ._reader import AnyReader

__all__ = ["load", "load_file", "save", "save_file"]

Path = Union[str, "os.PathLike[str]"]


class Framework:
    """Arrays on one device of JAX."""

    def __init__(self, device: Any = None) -> None:
        self._host = _numpy.Framework()
        self._device = self._find(device)
        self._torch = _torch_on(self._device)

    @staticmethod
    def _find(device: Any) -> Any:
        """None, a jax.Device, a number, or a name such as "gpu:1"."""
        if device is None or not isinstance(device, (str, int)):
            return device
        if isinstance(device, int):
            return jax.devices()[device]
        platform, _, number = device.partition(":")
        return jax.devices(platform)[int(number or 0)]

    def _put(self, array: Any) -> Any:
        return jax.device_put(array, self._device)

    def load(
        self, reader: AnyReader, requests: Sequence[Request], progress: Progress | None = None
    ) -> list[Any]:
        if self._torch is not None:
            return [_taken_over(tensor) for tensor in self._torch.load(reader, requests, progress)]
        return [self._put(array) for array in self._host.load(reader, requests, progress)]

    def begin(
        self, reader: AnyReader, requests: Sequence[Request]
    ) -> tuple[Started, Callable[[], list[Any]]]:
        if self._torch is not None:
            started, tensors = self._torch.begin(reader, requests)
            return started, lambda: [_taken_over(tensor) for tensor in tensors()]
        started, result = self._host.begin(reader, requests)
        return started, lambda: [self._put(array) for array in result()]

    def row(self, reader: AnyReader, request: Request) -> Any:
        return self._put(self._host.row(reader, request))


def _torch_on(device: Any) -> Any:
    """torch's side of a CUDA device of JAX; None: it is none, or torch does not see it."""
    if device is None:
        device = jax.devices()[0]
    if getattr(device, "platform", "") not in ("gpu", "cuda"):
        return None
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available() or torch.version.hip:
        return None
    from .torch import Framework as TorchFramework

    return TorchFramework(torch.device("cuda", device.local_hardware_id))


def _taken_over(tensor: Any) -> Any:
    """The same memory as a JAX array. Types of which DLPack knows nothing go as bytes."""
    name = str(tensor.dtype).rpartition(".")[2]
    kind = getattr(jax.numpy, "bool_" if name == "bool" else name, None)
    if tensor.numel() == 0:
        return jax.device_put(
            np.zeros(tuple(tensor.shape), kind or np.uint8), _jax_device(tensor.device)
        )
    if tensor.element_size() == 1:
        import torch

        raw = jax.dlpack.from_dlpack(tensor.contiguous().view(torch.uint8))
        if kind is None:
            return raw
        return raw.astype(kind) if name == "bool" else raw.view(kind)
    return jax.dlpack.from_dlpack(tensor)


def _jax_device(device: Any) -> Any:
    """JAX's device for one of torch's, CUDA or the CPU."""
    if device.type == "cpu":
        return jax.devices("cpu")[0]
    found = jax.local_devices(backend="gpu")
    return next((d for d in found if d.local_hardware_id == device.index), None)


def load_file(
    filename: Path,
    device: Any = None,
    *,
    backend: str | None = None,
    names: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """All tensors of a file, folder or index as JAX arrays; arguments and errors are those of
    wcodec.numpy.load_file(), and `device`: None, a jax.Device, its number, or a name ("gpu:1")."""
    reader = open_any(filename, backend=compute_backend(backend))
    try:
        return load_all(reader, Framework(device), names, progress)
    finally:
        reader.close()


def load(data: bytes, device: Any = None) -> dict[str, Any]:
    """The same from the bytes of a file."""
    reader = open_any(data)
    try:
        return load_all(reader, Framework(device), None, None)
    finally:
        reader.close()


def _to_numpy(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(tensor) for name, tensor in tensors.items()}


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None, **options: Any) -> bytes:
    """As wcodec.numpy.save()."""
    return _numpy.save(_to_numpy(tensors), metadata, **options)


def save_file(
    tensors: dict[str, Any], filename: Path, metadata: dict[str, str] | None = None, **options: Any
) -> None:
    """As wcodec.numpy.save_file()."""
    _numpy.save_file(_to_numpy(tensors), filename, metadata, **options)
