# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The charts of a page of vectors, as Vega specifications without their data."""

from __future__ import annotations

from collections.abc import Mapping

from .charts import Spec, chart

FIGURES = """<section id="charts" aria-label="Charts">
<h2>Charts</h2>
<div class="charts">
<figure><figcaption><h3>Recall against bytes</h3>
<p>Recall@10 of what is compressed, by its size beside float32.</p></figcaption>
<div class="chart" id="rates"></div></figure>
<figure><figcaption><h3>Course of the training</h3>
<p>Mean squared distance of rows to their anchors after each iteration.</p></figcaption>
<div class="chart" id="course"></div></figure>
<figure><figcaption><h3>Sizes of cells</h3>
<p>Rows of each anchor, the largest first.</p></figcaption>
<div class="chart" id="cells"></div></figure>
</div></section>
"""


def _axes(x: str, y: str, x_format: str = "", y_format: str = "") -> list[Spec]:
    shared: Spec = {"grid": True, "tickCount": 6}
    return [
        {"scale": "x", "orient": "bottom", "title": x, "format": x_format, **shared},
        {"scale": "y", "orient": "left", "title": y, "format": y_format, **shared},
    ]


def _scale(name: str, field: str, zero: bool, nice: bool = True) -> Spec:
    return {
        "name": name,
        "type": "linear",
        "domain": {"data": "source", "field": field},
        "range": "width" if name == "x" else "height",
        "zero": zero,
        "nice": nice,
    }


def _line(description: str, x: str, y: str, titles: tuple[str, str], formats: tuple[str, str],
          zero: bool, tooltip: str) -> Spec:  # fmt: skip
    place = {"x": {"scale": "x", "field": x}, "y": {"scale": "y", "field": y}}
    return chart(
        description,
        260,
        data=[{"name": "source", "values": []}],
        scales=[_scale("x", x, zero), _scale("y", y, False)],
        axes=_axes(*titles, *formats),
        marks=[
            {
                "type": "line",
                "from": {"data": "source"},
                "encode": {"update": {**place, "stroke": {"signal": "bar"}}},
            },
            {
                "type": "symbol",
                "from": {"data": "source"},
                "encode": {
                    "update": {
                        **place,
                        "fill": {"signal": "bar"},
                        "size": {"value": 40},
                        "tooltip": {"signal": tooltip},
                    }
                },
            },
        ],
        signals=[{"name": "bar", "value": "#2f6fb0"}],
    )


def _cells() -> Spec:
    return chart(
        "Bars: the rows of each anchor, the largest first.",
        260,
        data=[{"name": "source", "values": []}],
        scales=[_scale("x", "rank", False, False), _scale("y", "rows", True)],
        axes=_axes("Anchors, by their rows", "Rows", ",d", ",d"),
        marks=[
            {
                "type": "area",
                "from": {"data": "source"},
                "encode": {
                    "update": {
                        "x": {"scale": "x", "field": "rank"},
                        "y": {"scale": "y", "field": "rows"},
                        "y2": {"scale": "y", "value": 0},
                        "interpolate": {"value": "step-after"},
                        "fill": {"signal": "bar"},
                    }
                },
            }
        ],
        signals=[{"name": "bar", "value": "#2f6fb0"}],
    )


def all_charts() -> Mapping[str, Spec]:
    """Every chart, by the name of the element that it is drawn in."""
    return {
        "rates": _line(
            "Line: recall@10 by the bytes that vectors take, of float32.",
            "share",
            "recall",
            ("Bytes, of float32", "Recall@10"),
            (".0%", ".2f"),
            True,
            "format(datum.recall, '.4f') + ' by ' + format(datum.share, '.2%')",
        ),
        "course": _line(
            "Line: the energy after each iteration of the training.",
            "iteration",
            "energy",
            ("Iteration", "Energy"),
            (",d", ".4~g"),
            False,
            "datum.iteration + ': ' + format(datum.energy, '.6~g')",
        ),
        "cells": _cells(),
    }
