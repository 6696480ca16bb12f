# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The plots of a report as one PNG, drawn by matplotlib; areas are laid out by squarify."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import text
from .comparison import compare
from .errors import missing
from .exponents import Distribution
from .model import Model, Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
MARKERS = "osD^vP"
SELDOM = 1e-5
"""Share of the elements below which an exponent is not plotted."""
LARGEST = 500
"""Tensors with an area of their own, all smaller ones have one together: squarify recurses, up to
once for each."""
LABELLED = 0.012
"""Share of the picture from which on a tensor's area has its name in it."""


def _plain(name: str, limit: int) -> str:
    """A name as matplotlib shows it: its end, and without mark-up of formulas."""
    short = name if len(name) <= limit else "…" + name[len(name) - limit :]
    return text.visible(short).replace("$", r"\$")


def _areas(model: Model) -> list[tuple[str, int, float | None]]:
    """(name, coded bytes, ratio) of the largest tensors, and of the others together."""
    tensors = sorted((t for t in model.tensors if t.coded_bytes), key=lambda t: -t.coded_bytes)
    areas = [(t.name, t.coded_bytes, t.ratio) for t in tensors[:LARGEST]]
    others = tensors[LARGEST:]
    if others:
        areas.append((f"{len(others):,} smaller", sum(t.coded_bytes for t in others), None))
    return areas


def _treemap(axes: Axes, model: Model) -> None:
    import squarify
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    areas = _areas(model)
    colors = colormaps["viridis"]
    width, height = 100.0, 40.0
    sizes = squarify.normalize_sizes([size for _, size, _ in areas], width, height)
    for (name, _, ratio), area in zip(areas, squarify.squarify(sizes, 0, 0, width, height)):
        color = "lightgrey" if ratio is None else colors(min(ratio, 1.0))
        corner = (area["x"], area["y"])
        axes.add_patch(
            Rectangle(
                corner, area["dx"], area["dy"], facecolor=color, edgecolor="white", linewidth=0.5
            )
        )
        if area["dx"] * area["dy"] > LABELLED * width * height and area["dx"] > 6:
            label = _plain(name, max(6, int(area["dx"] * 2.2)))
            axes.text(
                area["x"] + area["dx"] / 2,
                area["y"] + area["dy"] / 2,
                label if ratio is None else f"{label}\n{ratio:.1%}",
                ha="center",
                va="center",
                fontsize=6,
                clip_on=True,
                color="black" if ratio is None or ratio > 0.55 else "white",
            )
    axes.set(xlim=(0, width), ylim=(0, height), xticks=[], yticks=[])
    axes.set_title("Coded bytes as area, ratio as colour (dark is small)")


def _scatter(
    axes: Axes,
    tensors: Sequence[tuple[Tensor, float, float]],
    x: str,
    y: str,
    diagonal: bool,
) -> None:
    largest = max(tensor.bytes for tensor, _, _ in tensors) or 1
    for i, dtype in enumerate(sorted({tensor.dtype for tensor, _, _ in tensors})):
        group = [entry for entry in tensors if entry[0].dtype == dtype]
        axes.scatter(
            [entry[1] for entry in group],
            [entry[2] for entry in group],
            s=[8 + 200 * math.sqrt(entry[0].bytes / largest) for entry in group],
            c=COLORS[i % len(COLORS)],
            marker=MARKERS[i % len(MARKERS)],
            alpha=0.6,
            label=_plain(dtype, 20),
        )
    if diagonal:
        both = [value for _, *values in tensors for value in values]
        axes.plot(
            [min(both), max(both)],
            [min(both), max(both)],
            color="black",
            linestyle="--",
            linewidth=0.8,
        )
    axes.set(xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)


def _exponents(axes: Axes, model: Model, distributions: Mapping[int, Distribution]) -> None:
    """Those of each dtype of floating-point numbers, weighted by the elements of the tensors."""
    shares: dict[str, dict[int, float]] = {}
    for number, distribution in distributions.items():
        tensor = model.tensors[number]
        if distribution.kind != "exponent":
            continue
        of_dtype = shares.setdefault(tensor.dtype, {})
        weight = tensor.elements / distribution.elements
        for i, count in enumerate(distribution.counts):
            exponent = distribution.first + i
            if exponent != distribution.subnormal:
                of_dtype[exponent] = of_dtype.get(exponent, 0.0) + count * weight
    for i, (dtype, weights) in enumerate(sorted(shares.items())):
        total = math.fsum(weights.values()) or 1.0
        points = sorted(item for item in weights.items() if item[1] > total * SELDOM)
        axes.plot(
            [p[0] for p in points],
            [p[1] / total for p in points],
            color=COLORS[i % len(COLORS)],
            label=_plain(dtype, 20),
            drawstyle="steps-mid",
        )
    axes.set(xlabel="Exponent: power of two", ylabel="Share of the elements")
    axes.set_title("Exponents of all tensors, zeros left out")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)


def _modes(axes: Axes, model: Model) -> None:
    shares = model.mode_shares()[::-1]
    axes.barh(
        [mode for mode, _ in shares],
        [share * 100 for _, share in shares],
        height=0.6,
        color=COLORS[0],
    )
    axes.set(xlabel="% of the elements in blocks", xlim=(0, 100))
    axes.set_ylim(min(-0.5, len(shares) - 4.5), len(shares) - 0.5)
    axes.set_title("Modes of blocks")
    axes.grid(axis="x", alpha=0.3)


def _plots(model: Model, distributions: Mapping[int, Distribution]) -> list[Callable[[Any], None]]:
    """The plots that there are data for, the treemap first."""
    plots: list[Callable[[Any], None]] = []
    if any(t.coded_bytes for t in model.tensors):
        plots.append(lambda axes: _treemap(axes, model))
    bounded = [(t, t.bound, t.bits) for t in model.tensors if t.bound and t.bits is not None]
    if bounded:
        plots.append(
            lambda axes: _scatter(
                axes, bounded, "Order-0 bound, bits an element", "Coded, bits an element", True
            )
        )
    if any(d.kind == "exponent" for d in distributions.values()):
        plots.append(lambda axes: _exponents(axes, model, distributions))
    if model.mode_shares():
        plots.append(lambda axes: _modes(axes, model))
    noisy = [
        (t, t.bits, t.snr_db)
        for t in model.tensors
        if t.bits is not None and t.snr_db is not None and math.isfinite(t.snr_db)
    ]
    if noisy:
        plots.append(
            lambda axes: _scatter(
                axes, noisy, "Coded, bits an element", "Signal to noise, dB", False
            )
        )
    return plots


def _comparison(models: Sequence[Model]) -> list[Callable[[Any], None]]:
    pairs = [
        (pair.first, pair.first.bits, pair.second.bits)
        for pair in compare(*models)
        if pair.first
        and pair.second
        and pair.first.bits is not None
        and pair.second.bits is not None
    ]
    return (
        [
            lambda axes: _scatter(
                axes, pairs, "First model, bits an element", "Second model, bits an element", True
            )
        ]
        if pairs
        else []
    )


def draw(models: Sequence[Model], distributions: Sequence[Mapping[int, Distribution]]) -> bytes:
    """All plots of these models, from top to bottom, as a PNG."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("matplotlib", "--png") from None
    try:
        import squarify  # noqa: F401
    except ImportError:
        raise missing("squarify", "--png") from None

    rows: list[tuple[str, list[Callable[[Any], None]]]] = [
        (model.path, _plots(model, distributions[i] if distributions else {}))
        for i, model in enumerate(models)
    ]
    if len(models) == 2:
        rows.append(("Comparison", _comparison(models)))
    # One line of the picture for each plot of full width, and for each two that share one.
    lines = [
        (title if not i else "", part)
        for title, plots in rows
        for i, part in enumerate([plots[:1], *(plots[k : k + 2] for k in range(1, len(plots), 2))])
        if part
    ]
    figure = Figure(figsize=(12, 4.2 * max(1, len(lines))), layout="constrained")
    FigureCanvasAgg(figure)
    if not lines:
        figure.text(0.5, 0.5, "no tensors", ha="center")
    for panel, (title, plots) in zip(_panels(figure, len(lines)), lines):
        if title:
            panel.suptitle(_plain(title, 100), fontweight="bold")
        for axes, plot in zip(panel.subplots(1, len(plots), squeeze=False)[0], plots):
            plot(axes)
    output = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # names may be in any script
        figure.savefig(output, format="png", dpi=110, metadata={"Software": "wcodec report"})
    return output.getvalue()


def _panels(figure: Any, count: int) -> Sequence[Any]:
    panels: Sequence[Any] = figure.subfigures(count, 1, squeeze=False)[:, 0] if count else []
    return panels
