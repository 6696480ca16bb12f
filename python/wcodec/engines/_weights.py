# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""A model as a stream of tensors, for loaders that copy each into a parameter and let it go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from .._frameworks import Request
from .._loading import Loading
from .._open import open_any
from .._reader import AnyReader, Source, TensorInfo
from ..torch import Device, Framework

BATCH = 512 << 20
"""Decoded bytes that are loaded at once: many tensors, so that one call keeps all threads or the
device busy; and few beside a model, since up to two batches are in memory."""


def batches(sizes: Sequence[int], limit: int) -> Iterator[range]:
    """Ranges of neighbours with at most `limit` bytes in sum, or of one that has more."""
    first, held = 0, 0
    for i, size in enumerate(sizes):
        if i > first and held + size > limit:
            yield range(first, i)
            first, held = i, 0
        held += size
    if first < len(sizes):
        yield range(first, len(sizes))


def weights(
    source: Source,
    device: Device = "cpu",
    *,
    backend: str | None = None,
    threads: int | None = None,
    batch: int = BATCH,
) -> Iterator[tuple[str, torch.Tensor]]:
    """All tensors of a checkpoint with their names, in the order of their data. While the caller
    works on those of one batch, the next one is decoded.

    Args:
        source, backend, threads: as in safe_open().
        device: where tensors arrive.
        batch: decoded bytes of a batch.

    Raises:
        Before the first tensor what opening can; later what decoding can: CorruptError with file
        and tensor, FileError, OutOfMemoryError, DeviceError.
    """
    reader = open_any(source, backend=backend, threads=threads)
    try:
        framework = Framework(device, backend)
        infos = reader.tensors()
        ranges = batches([info.nbytes for info in infos], batch)
        ahead = _begin(reader, framework, infos, next(ranges, None))
        while ahead is not None:
            tensors = ahead.wait()
            ahead = _begin(reader, framework, infos, next(ranges, None))
            for name in list(tensors):
                yield name, tensors.pop(name)
    finally:
        reader.close()


def _begin(
    reader: AnyReader, framework: Framework, infos: list[TensorInfo], numbers: range | None
) -> Loading | None:
    if numbers is None:
        return None
    group = [infos[i] for i in numbers]
    started, result = framework.begin(reader, [Request(info) for info in group])
    return Loading([info.name for info in group], started, result)
