# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The tables of a page, as plain HTML.

Every text that comes from a file goes through `text.name()` and `escape()`. End tags that HTML lets
one leave out are left out: there can be thousands of rows. The attribute data-key of a heading is
what the page's script calls its column.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from . import text
from .comparison import Pair
from .model import Model, Tensor

Shown = TypeVar("Shown")

LONG = 100
"""Rows from which on a table is laid out only when it comes into sight."""


def escape(value: str) -> str:
    """Text as HTML, also within an attribute."""
    return html.escape(value, quote=True)


@dataclass(frozen=True)
class Column(Generic[Shown]):
    """A column of a table, of which each row shows one thing."""

    key: str
    title: str
    cell: Callable[[Shown], str]
    """The text of a cell; not yet escaped."""
    left: bool = False
    """Text rather than a number."""


def _snr(tensor: Tensor | None) -> str:
    if tensor is None or tensor.snr_db is None:
        return "–"
    return "exact" if math.isinf(tensor.snr_db) else f"{tensor.snr_db:.2f}"


def _largest_error(tensor: Tensor) -> str:
    return "–" if tensor.largest_error is None else f"{tensor.largest_error:.3g}"


def _modes(tensor: Tensor) -> str:
    return ", ".join(f"{mode} {share * 100:.1f} %" for mode, share in tensor.modes) or "–"


def columns(model: Model) -> list[Column[Tensor]]:
    """The columns that a model has figures for, after that of the names."""
    made: list[Column[Tensor]] = [
        Column("dtype", "Dtype", lambda t: text.name(t.dtype), left=True),
        Column("shape", "Shape", lambda t: text.shape(t.shape)),
        Column("bytes", "Bytes", lambda t: f"{t.bytes:,}"),
        Column("coded", "Coded bytes", lambda t: f"{t.coded_bytes:,}"),
        Column("ratio", "Ratio", lambda t: text.percent(t.ratio, 2)),
        Column("bits", "Bits an element", lambda t: text.decimal(t.bits, 3)),
        Column("bound", "Order-0 bound", lambda t: text.decimal(t.bound, 3)),
        Column("over", "Over bound", lambda t: text.percent(t.over_bound, 2)),
        Column("coding", "Coding", lambda t: t.coding, left=True),
        Column("split", "Split of the bits", lambda t: t.split or "–", left=True),
    ]
    if any(t.modes for t in model.tensors):
        made.append(Column("modes", "Modes of blocks", _modes, left=True))
    if any(t.lossy for t in model.tensors):
        made += [
            Column("snr", "SNR, dB", _snr),
            Column("error", "Largest error", _largest_error),
        ]
    if len(model.files) > 1:
        paths = [text.name(file.path) for file in model.files]
        made.append(Column("file", "File", lambda t: paths[t.file], left=True))
    return made


def _head(first: str, cells: Iterable[tuple[str, str, bool]]) -> str:
    joined = "".join(
        f'<th scope="col" data-key="{key}"{" class=l" if left else ""}>{escape(title)}'
        for key, title, left in cells
    )
    return f'<thead><tr><th scope="col" data-key="name">{first}{joined}</thead>'


def _row(number: int, name: str, cells: Iterable[tuple[str, bool]]) -> str:
    """A row; lines are broken within a tag, where they are in no cell."""
    joined = "".join(f"<td{' class=l' if left else ''}>{escape(cell)}" for cell, left in cells)
    return f"<tr\ndata-row={number}><th scope=row>{escape(text.name(name))}{joined}"


def _table(kind: str, label: str, head: str, rows: Sequence[str], caption: str) -> str:
    long = " long" if len(rows) >= LONG else ""
    return (
        f'<div class="scroll{long}" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table class="{kind}"><caption>{caption}</caption>{head}<tbody>'
        + "".join(rows)
        + "</tbody></table></div>"
    )


def plain(
    kind: str,
    first: str,
    shown: Sequence[Column[Shown]],
    rows: Sequence[tuple[str, Shown]],
    caption: str,
) -> str:
    """A table of a row for each thing, whose name is in its first cell."""
    head = _head(first, ((c.key, c.title, c.left) for c in shown))
    made = [
        _row(i, name, ((c.cell(thing), c.left) for c in shown))
        for i, (name, thing) in enumerate(rows)
    ]
    return _table(kind, caption, head, made, caption)


def summary(models: Sequence[Model]) -> str:
    """The table of whole models."""
    heads = [
        ("bytes", "Size", False),
        ("coded", "Coded", False),
        ("ratio", "Ratio", False),
        ("tensors", "Tensors", False),
        ("bits", "Bits an element", False),
        ("over", "Over bound", False),
        ("lossy", "Lossy tensors", False),
    ]
    rows = []
    for i, model in enumerate(models):
        ratio = model.coded_bytes / model.bytes if model.bytes else None
        cells = (
            text.size(model.bytes),
            text.size(model.coded_bytes),
            text.percent(ratio, 2),
            f"{len(model.tensors):,}",
            text.decimal(model.bits, 3),
            text.percent(model.over_bound, 2),
            f"{sum(t.lossy for t in model.tensors):,}",
        )
        rows.append(_row(i, model.path, ((cell, False) for cell in cells)))
    return _table("summary", "Models", _head("Model", heads), rows, "The models as a whole")


def tensor_rows(model: Model) -> list[str]:
    """A row for each tensor."""
    shown = columns(model)
    return [
        _row(i, tensor.name, ((c.cell(tensor), c.left) for c in shown))
        for i, tensor in enumerate(model.tensors)
    ]


def tensors(model: Model, rows: Sequence[str]) -> str:
    """The table of a model's tensors, of which only these rows are shown."""
    caption = f"{len(rows):,} tensors"
    if len(rows) < len(model.tensors):
        missing = len(model.tensors) - len(rows)
        caption += f"; the {missing:,} smallest are left out to keep the page small"
    head = _head("Tensor", ((c.key, c.title, c.left) for c in columns(model)))
    return _table("tensors", f"Tensors of {text.name(model.path)}", head, rows, caption)


def pair_rows(pairs: Sequence[Pair]) -> list[str]:
    """A row for each name in either of two models."""
    rows = []
    for i, pair in enumerate(pairs):
        both = (pair.first, pair.second)
        numbers = [
            *("–" if tensor is None else f"{tensor.coded_bytes:,}" for tensor in both),
            text.percent(pair.change, 2),
            *(text.decimal(tensor.bits if tensor else None, 3) for tensor in both),
            *map(_snr, both),
        ]
        cells = [*((number, False) for number in numbers), (pair.difference, True)]
        rows.append(_row(i, pair.name, cells))
    return rows


def pairs(count: int, rows: Sequence[str]) -> str:
    """The table that compares two models, of whose `count` names these rows are shown."""
    heads = [
        ("coded1", "Coded bytes, first", False),
        ("coded2", "Coded bytes, second", False),
        ("change", "Change", False),
        ("bits1", "Bits, first", False),
        ("bits2", "Bits, second", False),
        ("snr1", "SNR dB, first", False),
        ("snr2", "SNR dB, second", False),
        ("difference", "Difference", True),
    ]
    caption = f"{count:,} names in either model"
    if len(rows) < count:
        caption += f"; shown are the {len(rows):,} with the largest change of coded bytes"
    return _table("pairs", "Comparison of the two models", _head("Tensor", heads), rows, caption)
