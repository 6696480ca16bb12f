# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Stores of compressed vectors, and search in them: wcodec/search.h."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _declarations as c
from . import vectors as _vectors
from ._context import Handle, Progress, Watch, check, context, host_backend
from ._errors import UsageError
from ._library import lib

if TYPE_CHECKING:
    from collections.abc import Iterable

_METRICS = {
    "l2": c.WCODEC_VECTORS_L2,
    "inner_product": c.WCODEC_VECTORS_INNER_PRODUCT,
    "cosine": c.WCODEC_VECTORS_COSINE,
}
_NEXT = (1 << 64) - 1


class Added(NamedTuple):
    """What VectorStore.add() did."""

    ids: range
    """Of the rows, in their order."""
    coded_size: int
    """Bytes of the segment."""
    bits: float
    """A dimension, of residuals, by the entropy of their values."""
    energy: float
    """Mean squared distance of rows to decoded rows."""
    recall: float | None
    """Recall@10 as measured on some of the rows; None where bits, or the store's first segment,
    decided."""
    clipped: int
    """Elements whose residual is beyond what 8 bits hold, and is the largest that they do."""


class Compacted(NamedTuple):
    """What VectorStore.compact() did."""

    segments_before: int
    segments_after: int
    rows: int
    dropped: int
    """Removed vectors, whose bytes are gone now."""
    size_before: int
    """Bytes of all segments."""
    size_after: int


class StoreInfo(NamedTuple):
    """What is in a store."""

    rows: int
    removed: int
    dimensions: int
    segments: int
    anchors: int
    next_id: int
    coded_size: int
    """Bytes of the files."""
    memory: int
    """Bytes that the vectors take in memory."""
    device_memory: int
    """Bytes of the device that searches; 0: the CPU does."""


class VectorStore:
    """Compressed vectors in a folder, which are searched as they are.

    store = wcodec.VectorStore("store")
    store.train(embeddings, anchors=1024)     # [n, d] of float32, float16 or bfloat16
    store.add(embeddings)                     # ids 0 to n - 1
    scores, ids = store.search(queries, k=10)

    The path may also be a segment, as `wcodec vectors compress` makes it: then it can only be
    searched. What other processes add or remove is seen after reload().

    backend: "cpu", "cuda" or "opencl", or more of them with commas between, of which a device has
    the vectors in its memory, too, and searches in them; None: what WCODEC_BACKEND says, else the
    CPU. All find the same.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        backend: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.path = os.fspath(path)
        if not isinstance(self.path, str) or "\0" in self.path:
            raise UsageError(f"path is {path!r}: expected a path without zero bytes")
        self._context = context(host_backend(backend), threads)
        self._backend = backend
        self._threads = threads
        self._trained: _vectors.Vectors | None = None
        self._opened: Handle | None = None

    def _call(self, function: Any, *arguments: Any, watch: Watch | None = None) -> None:
        error = c.wcodec_error()

        def made() -> int:
            return int(function(*arguments, error))

        status = made() if watch is None else watch.run(made)
        check(status, error, files=(self.path,), missing_file=function is lib.wcodec_vectors_open)

    def _store(self) -> Handle:
        if self._opened is None:
            handle = ctypes.c_void_p()
            self._call(
                lib.wcodec_vectors_open,
                self._context.handle,
                os.fsencode(self.path),
                ctypes.byref(handle),
            )
            self._opened = Handle(handle, lib.wcodec_vectors_close, self._context)
        return self._opened

    def reload(self) -> None:
        """Read the store anew when it is next needed."""
        self._opened = None

    def train(self, rows: Any, anchors: int | None = None, **options: Any) -> None:
        """Find the anchors of what is added next, as vectors.train() does. Without it, those of the
        store's first segment are taken. anchors: None: 1024, or fewer for few rows."""
        if anchors is None:
            anchors = max(1, min(1024, len(rows) // 39))
        self._trained = _vectors.train(
            rows, anchors, **{"backend": self._backend, "threads": self._threads, **options}
        )

    def add(
        self,
        rows: Any,
        *,
        first_id: int | None = None,
        bits: float | None = None,
        recall: float | None = None,
        progress: Progress | None = None,
    ) -> Added:
        """Add rows, all or none, to the folder, which is made if there is none.

        Args:
            rows: [n, d] of float32, float16 or bfloat16.
            first_id: of the first row; the others follow. None: the first that was never used.
            bits: a dimension, 0.5 to 7, that residuals take. None: by recall.
            recall: recall@10 of rows that must be reached, measured on 200 of them (None: 0.95;
                of a store that has vectors: as exact as its first segment).
            progress: as that of wcodec.compress().

        Raises:
            UsageError: shapes, options, rows with NaN, ids that were used, no anchors.
            BusyError: another process or thread is changing the store. UnsupportedError,
            CorruptError, FileError, CancelledError, LimitError, OutOfMemoryError.
        """
        options = c.wcodec_vectors_compress_options()
        lib.wcodec_vectors_compress_options_init_size(options, ctypes.sizeof(options))
        options.bits, options.recall = bits or 0, recall or 0
        watch = Watch(progress)
        options.progress = watch.progress
        block = _vectors._block(rows)
        first, report = (
            ctypes.c_uint64(_number("first_id", first_id, _NEXT)),
            c.wcodec_vectors_report(),
        )
        trained = self._trained  # kept: another thread may replace it
        self._call(
            lib.wcodec_vectors_store_add,
            self._context.handle,
            os.fsencode(self.path),
            None if trained is None else trained._handle.handle,
            _vectors._rows(block),
            options,
            ctypes.byref(first),
            report,
            watch=watch,
        )
        self.reload()
        ids = range(first.value, first.value + report.rows)
        reached = report.recall if report.recall >= 0 else None
        size, clipped = report.coded_size, report.clipped
        return Added(ids, size, report.bits, report.energy, reached, clipped)

    def remove(self, ids: Iterable[int]) -> None:
        """Remove the vectors of these ids, all or none.

        Raises:
            TensorNotFoundError: one is not there. UsageError: what is no id. BusyError: another
            process or thread is changing the store.
        """
        import numpy as np

        given = ids if hasattr(ids, "__array__") else np.array(list(ids), object)
        wanted = np.asarray(given)
        whole = wanted.dtype.kind in "iu" or all(
            isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in wanted.flat
        )
        if wanted.ndim != 1 or not whole:
            raise UsageError("ids are a sequence of whole numbers")
        for i in (wanted.min(), wanted.max()) if wanted.size else ():
            if not 0 <= int(i) < 1 << 63:
                raise UsageError(f"id {i} is not from 0 to 2^63 - 1")
        wanted = np.ascontiguousarray(wanted, np.uint64)
        self._call(
            lib.wcodec_vectors_store_remove,
            self._context.handle,
            os.fsencode(self.path),
            wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_uint64)),
            wanted.size,
        )
        self.reload()

    def compact(
        self, *, max_rows: int | None = None, progress: Progress | None = None
    ) -> Compacted:
        """Merge segments, and drop the vectors that were removed. Ids stay, and so does what a
        search finds among all; `probes` counts once for what is merged. Segments whose anchors were
        trained apart stay apart. A merged segment is in memory while it is written, a byte
        and more an element: no limit of memory is set here, and `max_rows` says how large it gets.

        Args:
            max_rows: of a merged segment, 1 to 2^32 - 2 (None: 2^20).
            progress: as that of wcodec.compress().

        Raises:
            UsageError: no store, or max_rows out of range. BusyError, CorruptError, FileError,
            CancelledError, LimitError, OutOfMemoryError.
        """
        options, report = c.wcodec_vectors_compact_options(), c.wcodec_vectors_compact_report()
        lib.wcodec_vectors_compact_options_init_size(options, ctypes.sizeof(options))
        options.max_rows = _number("max_rows", max_rows, options.max_rows)
        watch = Watch(progress)
        options.progress = watch.progress
        self._call(
            lib.wcodec_vectors_store_compact,
            self._context.handle,
            os.fsencode(self.path),
            options,
            report,
            watch=watch,
        )
        self.reload()
        return Compacted(*(getattr(report, name) for name in Compacted._fields))

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        metric: str = "l2",
        probes: int | None = None,
        allowed: Any = None,
        rerank: Any = None,
        rerank_factor: int | None = None,
        rerank_first_id: int | None = None,
    ) -> tuple[Any, Any]:
        """The k vectors that are nearest to each query, the nearest first.

        Args:
            queries: [q, d], as rows.
            k: 1 to 4096, and no more than there are vectors.
            metric: "l2", "inner_product" or "cosine".
            probes: anchors of each segment whose vectors are looked at; None: all.
            allowed: None, or an array of bool by id: only vectors that are True, and whose ids it
                has, are looked at.
            rerank: None, or the vectors as they were before they were added, [n, d], as rows in
                the order of ids: more candidates are looked for, and those found that are nearest
                by these, with exact scores.
            rerank_factor: candidates for each of k, 1 to 1000; None: 4.
            rerank_first_id: the id of the first row of rerank; None: 0.

        Returns:
            scores, [q, k] of float32: squared distances, products or cosines; and ids, [q, k] of
            int64, -1 where fewer than k were looked at. Equal scores are in the order of ids.
        """
        import numpy as np

        options = c.wcodec_vectors_search_options()
        lib.wcodec_vectors_search_options_init_size(options, ctypes.sizeof(options))
        options.k = _number("k", k, 10)
        options.metric = _vectors._chosen("metric", metric, _METRICS)
        options.probes = _number("probes", probes, 0)
        bits = None
        if allowed is not None:
            mask = np.asarray(allowed)
            if mask.ndim != 1 or mask.dtype != np.bool_:
                raise UsageError("allowed is an array of bool of one dimension")
            bits = np.ascontiguousarray(np.packbits(mask, bitorder="little"))
            bits = bits if bits.size else np.zeros(1, np.uint8)
            options.allowed, options.allowed_count = bits.ctypes.data, mask.size
        if rerank is None and (rerank_factor is not None or rerank_first_id is not None):
            raise UsageError("rerank_factor and rerank_first_id need rerank")
        original = None if rerank is None else _vectors._block(rerank)
        if original is not None:
            options.original = ctypes.pointer(_vectors._rows(original))
            options.original_first_id = _number("rerank_first_id", rerank_first_id, 0)
            options.rerank_factor = _number("rerank_factor", rerank_factor, 4)
        block, store = _vectors._block(queries), self._store()
        # A k that is out of range is refused before anything is written.
        shape = (block.shape[0], options.k if options.k <= 4096 else 1)
        ids, scores = np.empty(shape, np.uint64), np.empty(shape, np.float32)
        self._call(
            lib.wcodec_vectors_search,
            store.handle,
            _vectors._rows(block),
            options,
            ids.ctypes.data_as(ctypes.POINTER(ctypes.c_uint64)),
            scores.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
        )
        del bits, original
        return scores, ids.view(np.int64)

    def tune(self, queries: Any, k: int = 10, *, recall: float = 0.95, metric: str = "l2") -> int:
        """The fewest probes for search() by which these queries find a part of what all find.

        Args:
            queries: [q, d], as rows: some hundreds that are like those to come.
            k, metric: as in search().
            recall: the part of the k of each query, on average, above 0 and below 1.

        Returns:
            a number for search(probes=...); 0: all anchors are needed.
        """
        options = c.wcodec_vectors_search_options()
        lib.wcodec_vectors_search_options_init_size(options, ctypes.sizeof(options))
        options.k = _number("k", k, 10)
        options.metric = _vectors._chosen("metric", metric, _METRICS)
        if not isinstance(recall, (int, float)) or not 0 < recall < 1:
            raise UsageError(f"recall is {recall!r}: expected above 0 and below 1")
        block, store, probes = _vectors._block(queries), self._store(), ctypes.c_uint64()
        self._call(
            lib.wcodec_vectors_tune, store.handle, _vectors._rows(block), options, recall, probes
        )
        return probes.value

    def info(self) -> StoreInfo:
        """What is in it."""
        info = c.wcodec_vectors_store_info()
        store = self._store()  # kept: another thread may reload
        lib.wcodec_vectors_store_describe(store.handle, info)
        return StoreInfo(*(getattr(info, name) for name in StoreInfo._fields))

    def __len__(self) -> int:
        return self.info().rows


def _number(name: str, value: Any, default: int) -> int:
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise UsageError(f"{name} is {value!r}: expected a number from 0 on")
    return value
