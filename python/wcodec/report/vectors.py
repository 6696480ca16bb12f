# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of vectors: the course of a training, cells, and recall against bytes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _library, vectors
from .._context import Progress
from .._errors import UsageError
from .._store import VectorStore
from . import frame, library, tables, text, vector_charts
from .library import Library
from .tables import Column, escape

RECALLS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Of recall@10, what is asked for by default."""

LISTED = 4096
"""Cells that the page has at most: of more, that many in equal steps."""


@dataclass(frozen=True)
class Rate:
    """Vectors compressed for a recall."""

    asked: float
    recall: float
    """What was measured."""
    coded_size: int
    """Bytes of the segment, anchors and indices included."""
    bits: float
    """An element, all included."""
    energy: float
    """Mean squared distance of rows to decoded rows."""


@dataclass(frozen=True)
class VectorsReport:
    """All that a page of vectors shows."""

    name: str
    rows: int
    dimensions: int
    course: tuple[vectors.Iteration, ...]
    cells: tuple[int, ...]
    """Rows of each anchor, most first."""
    quality: vectors.Quality
    """By the anchors alone."""
    rates: tuple[Rate, ...]
    unreached: tuple[float, ...]
    """Recalls that residuals of 7 bits do not reach."""

    @property
    def plain_size(self) -> int:
        """Bytes as float32."""
        return 4 * self.rows * self.dimensions


def _rate(folder: str, trained: vectors.Vectors, rows: Any, asked: float, threads: int | None,
          progress: Progress | None) -> Rate:  # fmt: skip
    store = VectorStore(os.path.join(folder, f"{asked}"), threads=threads)
    store._trained = trained
    added = store.add(rows, recall=asked, progress=progress)
    assert added.recall is not None
    bits = 8 * added.coded_size / (rows.shape[0] * rows.shape[1])
    return Rate(asked, added.recall, added.coded_size, bits, added.energy)


def collect_vectors(
    rows: Any,
    anchors: int = 256,
    *,
    name: str = "vectors",
    recalls: Sequence[float] = RECALLS,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> VectorsReport:
    """Train anchors on rows, and compress these for each recall.

    Args:
        rows: [n, d] of float32, float16 or bfloat16, of numpy or torch.
        anchors, options: as those of wcodec.vectors.train().
        name: what the page calls the rows.
        recalls: of recall@10, above 0 and below 1.
        threads, progress: as those of wcodec.compress(); progress is told of each step anew.

    Raises:
        UsageError: a recall that is none, and what training and compressing raise.
    """
    for recall in recalls:
        if isinstance(recall, bool) or not isinstance(recall, float) or not 0 < recall < 1:
            raise UsageError(f"a recall is {recall!r}: expected a number above 0 and below 1")
    trained = vectors.train(rows, anchors, threads=threads, progress=progress, **options)
    quality = vectors.evaluate(trained, rows, threads=threads, progress=progress)
    cells = [0] * len(trained.anchors)
    for index in trained.index.tolist():
        cells[index] += 1
    rates, unreached = [], []
    with tempfile.TemporaryDirectory(prefix="wcodec-report-") as folder:
        for recall in sorted(set(recalls)):
            try:
                rates.append(_rate(folder, trained, rows, recall, threads, progress))
            except UsageError as error:
                if "recall" not in str(error):
                    raise
                unreached.append(recall)
    return VectorsReport(
        name,
        rows.shape[0],
        rows.shape[1],
        tuple(trained.course),
        tuple(sorted(cells, reverse=True)),
        quality,
        tuple(rates),
        tuple(unreached),
    )


def _summary(report: VectorsReport) -> str:
    quality = report.quality
    recall = "–" if quality.recall is None else f"{quality.recall:.4f}"
    facts = [
        ("Rows", f"{report.rows:,} of {report.dimensions:,} dimensions"),
        ("As float32", f"{text.size(report.plain_size)} ({report.plain_size:,} bytes)"),
        ("Anchors", f"{len(report.cells):,}, {quality.empty:,} of them without rows"),
        ("Energy", f"{quality.energy:.6g}, after {len(report.course):,} iterations"),
        ("Bits of an index", f"{quality.index_bits:.3f}"),
        ("Recall@10 by anchors alone", recall),
    ]
    if report.unreached:
        missed = ", ".join(f"{recall:g}" for recall in report.unreached)
        facts.append(("Not reached by residuals of 7 bits", f"a recall of {missed}"))
    items = "".join(f"<dt>{escape(key)}<dd>{escape(value)}" for key, value in facts)
    return f"<h2>{escape(text.name(report.name))}</h2><dl>{items}</dl>"


def _course(report: VectorsReport) -> str:
    shown = [
        Column[vectors.Iteration]("energy", "Energy", lambda i: f"{i.energy:.6g}"),
        Column[vectors.Iteration]("temperature", "Temperature", lambda i: f"{i.temperature:.4g}"),
        Column[vectors.Iteration]("changes", "Changes", lambda i: f"{i.changes:,}"),
        Column[vectors.Iteration]("anchors", "Anchors", lambda i: f"{i.anchors:,}"),
        Column[vectors.Iteration]("merged", "Merged", lambda i: f"{i.merged:,}"),
        Column[vectors.Iteration]("split", "Split", lambda i: f"{i.split:,}"),
    ]
    rows = [(str(i.iteration), i) for i in report.course]
    return tables.plain("course", "Iteration", shown, rows, f"{len(rows):,} iterations")


def _rates(report: VectorsReport) -> str:
    shown = [
        Column[Rate]("recall", "Recall@10", lambda r: f"{r.recall:.4f}"),
        Column[Rate]("coded", "Coded bytes", lambda r: f"{r.coded_size:,}"),
        Column[Rate]("share", "Of float32", lambda r: _percent(report, r)),
        Column[Rate]("bits", "Bits an element", lambda r: f"{r.bits:.3f}"),
        Column[Rate]("energy", "Energy", lambda r: f"{r.energy:.6g}"),
    ]
    rows = [(f"{rate.asked:g}", rate) for rate in report.rates]
    return tables.plain("rates", "Asked for", shown, rows, "Recall against bytes")


def _percent(report: VectorsReport, rate: Rate) -> str:
    return text.percent(rate.coded_size / report.plain_size, 2)


def _values(report: VectorsReport) -> dict[str, list[dict[str, float]]]:
    """The data of each chart."""
    step = max(1, -(-len(report.cells) // LISTED))
    return {
        "course": [{"iteration": i.iteration, "energy": i.energy} for i in report.course],
        "cells": [
            {"rank": rank + 1, "rows": report.cells[rank]}
            for rank in range(0, len(report.cells), step)
        ],
        "rates": [
            {"share": r.coded_size / report.plain_size, "recall": r.recall} for r in report.rates
        ],
    }


def render(report: VectorsReport, library: Library, version: str) -> bytes:
    """The page of these vectors, in UTF-8."""
    script = frame.resource("vectors.js")
    data = {"charts": vector_charts.all_charts(), "values": _values(report)}
    return "".join(
        (
            frame.begin(text.shorten(text.name(report.name), 200), library, script,
                        _summary(report)),
            vector_charts.FIGURES,
            f"<section><h2>Recall against bytes</h2>{_rates(report)}</section>\n",
            f"<section><h2>Course of the training</h2>{_course(report)}</section>\n",
            frame.end(library, version),
            frame.scripts(data, library, script),
        )
    ).encode("utf-8")  # fmt: skip


def make_vectors_page(report: VectorsReport) -> bytes:
    """The report as one HTML page, in UTF-8. Raises MissingPackageError."""
    return render(report, library.load(), _library.version())
