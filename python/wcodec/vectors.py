# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Vectors as anchors and indices: wcodec/vectors.h, for arrays of numpy and tensors of torch.

from wcodec import vectors
found = vectors.train(embeddings, anchors=256)      # [n, d] of float32, float16 or bfloat16
found.anchors, found.index                          # [m, d] of float16, [n] of uint32
vectors.evaluate(found, embeddings).recall
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from . import _declarations as c
from ._arrays import Block, Numpy, Torch, is_torch
from ._context import Context, Handle, Progress, Watch, check, context
from ._errors import UnsupportedError, UsageError
from ._library import lib

__all__ = ["Iteration", "Quality", "Vectors", "evaluate", "train"]

_DTYPES = {"F16": c.WCODEC_DTYPE_F16, "BF16": c.WCODEC_DTYPE_BF16, "F32": c.WCODEC_DTYPE_F32}
_SCHEDULES = {"best": c.WCODEC_VECTORS_BEST, "compat": c.WCODEC_VECTORS_COMPAT}
_REDUCTIONS = {"trimmed": c.WCODEC_VECTORS_TRIMMED, "plain": c.WCODEC_VECTORS_PLAIN}
_PARTS = {
    "cooling": float,
    "step": float,
    "tolerance": float,
    "min_changes": int,
    "maintenance": int,
}


class Iteration(NamedTuple):
    """One iteration, when it was over."""

    iteration: int
    temperature: float
    """0 in the schedule "best"."""
    energy: float
    """Mean squared distance of rows to their anchors, after these moved."""
    changes: int
    """Rows that got another anchor."""
    anchors: int
    merged: int
    split: int


class Quality(NamedTuple):
    """How well anchors stand for rows."""

    energy: float
    recall: float | None
    """Of the k nearest rows, the part that is among the k whose anchors are nearest; None where
    there were no queries."""
    queries: int
    index_bits: float
    """Bits of an index by the entropy of their counts."""
    smallest: int
    largest: int
    empty: int


class Vectors:
    """Anchors, and the number of one for each row: what train() returns."""

    anchors: Any
    """[m, d] of float16; of numpy or torch, as the rows were."""
    index: Any
    """[n] of uint32; in torch int64, which it indexes by."""
    course: list[Iteration]
    """What happened in each iteration."""

    def __init__(self, handle: Handle, torch: bool, course: list[Iteration]) -> None:
        import numpy as np

        info = c.wcodec_vectors_info()
        lib.wcodec_vectors_describe(handle.handle, info)
        size = info.anchors * info.dimensions
        anchors = np.ctypeslib.as_array(info.anchor, (size,)).copy().view(np.float16)
        index = np.ctypeslib.as_array(info.index, (info.rows,)).copy()
        self._handle = handle
        self.anchors = anchors.reshape(info.anchors, info.dimensions)
        self.index = index
        self.course = course
        if torch:
            import torch as framework

            self.anchors = framework.from_numpy(self.anchors)
            self.index = framework.from_numpy(index.astype(np.int64))


def _block(rows: Any) -> Block:
    """Rows one after the other in host memory."""
    arrays: Any = Torch() if is_torch(rows) else Numpy()
    block: Block = arrays.block(rows.detach().cpu() if is_torch(rows) else rows, "the rows")
    if block.dtype not in _DTYPES:
        raise UnsupportedError(f"vectors are of F16, BF16 or F32, and not of {block.dtype}")
    if len(block.shape) != 2:
        raise UsageError(f"vectors have the shape {list(block.shape)}: expected [n, d]")
    return block if block.contiguous() else arrays.packed(block)


def _rows(block: Block) -> c.wcodec_vector_rows:
    rows = c.wcodec_vector_rows()
    rows.dtype = _DTYPES[block.dtype]
    rows.count, rows.dimensions = block.shape
    rows.data = block.address
    return rows


def _number(name: str, value: Any, kind: type, least: int = 0) -> Any:
    good = isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
    if not good or not (least <= value < 1 << 63):
        raise UsageError(f"{name} is {value!r}: expected a number from {least} on")
    return kind(value)


def _chosen(name: str, value: Any, values: dict[str, int]) -> int:
    if value not in values:
        raise UsageError(f"{name} is {value!r}: expected one of {', '.join(values)}")
    return values[value]


def _options(anchors: int, schedule: str, reduce: str, iterations: int | None, seed: int,
             given: dict[str, Any]) -> c.wcodec_vectors_options:  # fmt: skip
    options = c.wcodec_vectors_options()
    lib.wcodec_vectors_options_init_size(options, ctypes.sizeof(options))
    options.anchors = _number("anchors", anchors, int, 1)
    options.schedule = _chosen("schedule", schedule, _SCHEDULES)
    options.reduce = _chosen("reduce", reduce, _REDUCTIONS)
    options.seed = _number("seed", seed, int)
    if iterations is not None:
        options.max_iterations = _number("max_iterations", iterations, int, 1)
    for name, value in given.items():
        if name not in _PARTS:
            raise TypeError(f"train() got an unexpected keyword argument {name!r}")
        setattr(options, name, _number(name, value, _PARTS[name]))
    return options


def train(
    rows: Any,
    anchors: int = 1024,
    *,
    schedule: str = "best",
    reduce: str = "trimmed",
    max_iterations: int | None = None,
    seed: int = 0,
    backend: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Vectors:
    """Find anchors for rows.

    Args:
        rows: [n, d] of float32, float16 or bfloat16, an array of numpy or a tensor of torch.
        anchors: m, 1 to n.
        schedule: "best", or "compat" for the steps and energies of the published system.
        reduce: "trimmed" or "plain": the means that "compat" moves anchors to.
        max_iterations: at most so many (None: 100; compat: 1000).
        seed: of the random numbers of "best".
        backend: "cpu", "cuda", "opencl", or a list of these; None: a device where that is faster.
        threads, progress: as those of wcodec.compress().
        **options: cooling, step, tolerance, min_changes and maintenance of "compat".

    Returns:
        Anchors and indices, which depend on rows and options, not on threads, the machine or the
        device.

    Raises:
        UsageError: a shape or option that is wrong, or a row with NaN, infinity or more than 65504,
        by its number. UnsupportedError: another type. CancelledError, LimitError, OutOfMemoryError.
    """
    made = _options(anchors, schedule, reduce, max_iterations, seed, options)
    block = _block(rows)
    given, error, handle = _rows(block), c.wcodec_error(), ctypes.c_void_p()
    course: list[Iteration] = []
    watch = Watch(progress)

    def note(_opaque: int | None, now: Any) -> int:
        one = now.contents
        course.append(Iteration(*(getattr(one, name) for name in Iteration._fields)))
        return int(watch.stopped())

    keep = made.iteration = c.wcodec_vectors_iteration_fn(note)
    made.progress = watch.progress
    parent: Context = context(backend, threads)
    status = watch.run(
        lambda: int(
            lib.wcodec_vectors_train(parent.handle, given, made, ctypes.byref(handle), error)
        )
    )
    del keep
    check(status, error)
    vectors = Handle(handle, lib.wcodec_vectors_destroy, parent)
    return Vectors(vectors, is_torch(rows), course)


def evaluate(
    vectors: Vectors,
    rows: Any,
    *,
    queries: int = 100,
    k: int = 10,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Quality:
    """Measure on the rows that vectors were trained on, with `queries` of them (at most all; 0: no
    recall) and their k (1 to 1000) nearest others, by an exhaustive scan.

    Raises:
        UsageError: rows of another shape, or numbers out of range. UnsupportedError,
        CancelledError, LimitError, OutOfMemoryError.
    """
    if not isinstance(vectors, Vectors):
        raise TypeError(f"expected Vectors, got {type(vectors).__name__}")
    queries, k = _number("queries", queries, int), _number("k", k, int, 1)
    block = _block(rows)
    queries = min(queries, block.shape[0])
    given, error, quality = _rows(block), c.wcodec_error(), c.wcodec_vectors_quality()
    watch, parent = Watch(progress), context("cpu", threads)
    report = watch.progress
    status = watch.run(
        lambda: int(
            lib.wcodec_vectors_evaluate(
                parent.handle, vectors._handle.handle, given, queries, k, report, quality, error
            )
        )
    )
    check(status, error)
    made = Quality(*(getattr(quality, name) for name in Quality._fields))
    return made if queries else made._replace(recall=None)
