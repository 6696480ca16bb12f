# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The page: one HTML document with everything in it.

All tables are plain HTML, so that they are there without scripts; the page's script reads the data
of the charts from them. The policy of contents allows that script and the library's, by their
hashes, and no request to anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .._errors import LimitError
from . import frame, tables, text
from .charts import all_charts
from .comparison import compare
from .exponents import Distribution
from .library import Library
from .model import File, Model
from .tables import escape

LIMIT = 2_000_000
"""Bytes of a page at most: what does not fit is left out, smallest tensors first, and said so."""

CHARTS_SIZE = 20_000
"""Bytes that the specifications of the charts take at most."""

LISTED = 200
"""Files of a model, and entries of a file's metadata, that are listed at most."""

Distributions = Mapping[int, Distribution]
"""Distributions of exponents, by the number of the tensor in its model."""

_CHARTS = """<section id="charts" aria-label="Charts">
<h2>Charts</h2>
<div class="controls">
<label>Model <select id="model"></select></label>
<label>Area of a tensor <select id="area"><option value="coded">coded bytes
<option value="bytes">original bytes<option value="saved">bytes saved</select></label>
</div>
<div class="charts">
<figure class="wide"><figcaption><h3>Size and ratio of each tensor</h3>
<p>Click a tensor for its details; the table below has the same figures.</p></figcaption>
<div class="chart" id="treemap"></div></figure>
<section class="wide" id="detail" aria-label="The chosen tensor" aria-live="polite"></section>
<figure><figcaption><h3>Bits beside the order-0 bound</h3>
<p>Above the dashed line: bits over the bound. Below it: prediction gained.</p></figcaption>
<div class="chart" id="bound"></div></figure>
<figure><figcaption><h3>Modes of blocks</h3>
<p>Of all elements in tensors that are predicted or transformed in blocks.</p></figcaption>
<div class="chart" id="modes"></div></figure>
<figure><figcaption><h3>Signal to noise of lossy tensors</h3>
<p id="measured"></p></figcaption>
<div class="chart" id="snr"></div></figure>
<figure><figcaption><h3>Comparison of the two models</h3>
<p>Below the dashed line the second model takes fewer bits.</p></figcaption>
<div class="chart" id="comparison"></div></figure>
</div></section>
"""


def _file_facts(file: File) -> str:
    facts = [
        ("Original", text.name(file.original) or "(no name)"),
        ("Kind", file.kind),
        ("Size", f"{text.size(file.bytes)} ({file.bytes:,} bytes)"),
        ("Coded", f"{text.size(file.coded_bytes)} ({file.coded_bytes:,} bytes)"),
        ("XXH3-128", file.xxh128),
    ]
    metadata = [(f"Metadata: {text.name(k)}", text.name(v)) for k, v in file.metadata.items()]
    facts += metadata[:LISTED]
    if len(metadata) > LISTED:
        facts.append(("Metadata", f"and {len(metadata) - LISTED:,} more"))
    items = "".join(f"<dt>{escape(key)}<dd>{escape(value)}" for key, value in facts)
    summary = escape(text.name(file.path))
    return f"<details><summary>{summary}</summary><dl>{items}</dl></details>"


def _model_head(model: Model) -> str:
    listed = "".join(_file_facts(file) for file in model.files[:LISTED])
    if len(model.files) > LISTED:
        listed += f"<p>And {len(model.files) - LISTED:,} more files.</p>"
    return f"<h2>{escape(text.name(model.path))}</h2>{listed}"


def _begin(models: Sequence[Model], library: Library, script: str) -> str:
    title = text.shorten(", ".join(text.name(model.path) for model in models), 200)
    return frame.begin(title, library, script, tables.summary(models)) + _CHARTS


def _packed(distribution: Distribution) -> list[object]:
    """[counted elements, entropy, runs]: a run is [first, shares...] in hundred thousandths; runs
    leave out gaps of more than three zeros."""
    runs: list[list[int]] = []
    gap = 4
    for i, count in enumerate(distribution.counts):
        if count == 0:
            gap += 1
            continue
        if gap > 3:
            runs.append([distribution.first + i])
        else:
            runs[-1].extend([0] * gap)
        gap = 0
        runs[-1].append(max(1, round(count * 100_000 / distribution.elements)))
    return [distribution.elements, round(distribution.entropy, 3), runs]


def _kinds(
    models: Sequence[Model], distributions: Sequence[Distributions]
) -> dict[str, tuple[str, int | None, int | None]]:
    """Of each dtype: the kind of its distributions, and the exponents of subnormal and of special
    numbers."""
    return {
        model.tensors[t].dtype: (found.kind, found.subnormal, found.special)
        for model, counted in zip(models, distributions)
        for t, found in counted.items()
    }


@dataclass
class _Rows:
    """What a page has many of, as far as it fits."""

    tensors: list[list[str]]
    """Of each model, in the order of its tensors."""
    pairs: list[str] = field(default_factory=list)
    distributions: list[dict[str, object]] = field(default_factory=list)
    """Of each model, by the number of the tensor."""


def _fitting(
    models: Sequence[Model],
    pairs: Sequence[str],
    distributions: Sequence[Distributions],
    left: int,
) -> _Rows:
    """What fits into `left` bytes: tensors first, largest first; then pairs; then distributions."""

    def take(part: str) -> bool:
        nonlocal left
        left -= len(part.encode()) + 1
        return left >= 0

    rows = [tables.tensor_rows(model) for model in models]
    order = [(m, t) for m, model in enumerate(models) for t in range(len(model.tensors))]
    order.sort(key=lambda at: -models[at[0]].tensors[at[1]].bytes)
    kept = [(m, t) for m, t in order if take(rows[m][t])]
    fitting = _Rows(
        [[rows[m][t] for t in sorted(t for at, t in kept if at == m)] for m in range(len(models))]
    )
    fitting.pairs = [row for row in pairs if take(row)]
    fitting.distributions = [{} for _ in models]
    for m, t in kept if distributions else ():
        if t in distributions[m]:
            packed = _packed(distributions[m][t])
            if take(f'"{t}":{frame.dump(packed)}'):
                fitting.distributions[m][str(t)] = packed
    return fitting


def render(
    models: Sequence[Model],
    distributions: Sequence[Distributions],
    library: Library,
    version: str,
) -> bytes:
    """The page of these models, and of the distributions of each, in UTF-8."""
    script = frame.resource("page.js")
    head, foot = _begin(models, library, script), frame.end(library, version)
    heads = [_model_head(model) for model in models]
    around = sum(len(part.encode()) for part in (head, foot, *heads, script, library.script))
    left = LIMIT - CHARTS_SIZE - around
    if left < 0:
        raise LimitError(
            f"{text.name(models[0].path)}: a page of {len(models)} models would be larger than "
            f"{LIMIT:,} bytes"
        )
    pairs = tables.pair_rows(compare(*models)) if len(models) == 2 else []
    fitting = _fitting(models, pairs, distributions, left)
    sections = [
        f"<section>{heads[m]}{tables.tensors(model, fitting.tensors[m])}</section>\n"
        for m, model in enumerate(models)
    ]
    if pairs:
        first, second = (escape(text.name(model.path)) for model in models)
        sections.insert(
            0,
            f"<section><h2>Comparison</h2><p>First: <bdi>{first}</bdi></p>"
            f"<p>Second: <bdi>{second}</bdi></p>{tables.pairs(len(pairs), fitting.pairs)}"
            "</section>\n",
        )
    data = {
        "charts": all_charts(),
        "kinds": _kinds(models, distributions),
        "models": [
            {
                "modes": model.mode_shares(),
                "distributions": fitting.distributions[m],
                "counted": bool(distributions),
                "measured": any(t.snr_measured for t in model.tensors),
            }
            for m, model in enumerate(models)
        ],
    }
    return "".join((head, *sections, foot, frame.scripts(data, library, script))).encode("utf-8")
