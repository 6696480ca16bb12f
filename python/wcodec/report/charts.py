# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""The charts of a page, as Vega specifications without their data.

`page.js` reads the data from the tables of the page and hands them over as the data set
"source". A click on a mark that stands for a tensor sets the signal "picked" to its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega/v6.json"

_WIDTH: Spec = {
    "name": "width",
    "init": "containerSize()[0]",
    "on": [{"events": "window:resize", "update": "containerSize()[0]"}],
}
_PICKED: Spec = {
    "name": "picked",
    "value": -1,
    "on": [{"events": "@tensor:click", "update": "datum.row", "force": True}],
}
_OUTLINE: Spec = {"signal": "outline"}
"""The colour that outlines the mark under the pointer: a signal that the page sets by theme."""


def chart(description: str, height: int, **parts: Any) -> Spec:
    """A chart that is as wide as its element."""
    for mark in parts["marks"]:
        mark["aria"] = (
            False  # thousands of them: the description stands for all, the table has each
        )
    signals = [_WIDTH, {"name": "outline", "value": "#000"}, *parts.pop("signals", [])]
    return {
        "$schema": SCHEMA,
        "description": description,
        "height": height,
        "padding": 4,
        "autosize": {"type": "fit", "contains": "padding"},
        "signals": signals,
        **parts,
    }


def _group_labels(ink: Spec) -> Spec:
    """The names of groups, at the bottom of each."""
    return {
        "type": "text",
        "interactive": False,
        "from": {"data": "groups"},
        "encode": {
            "update": {
                "x": {"field": "x0", "offset": 5},
                "y": {"field": "y1", "offset": -7},
                "limit": {"signal": "datum.x1 - datum.x0 - 10"},
                "text": {"field": "label"},
                "fontSize": {"value": 11},
                "fontWeight": {"value": "bold"},
                "strokeJoin": {"value": "round"},
                **ink,
            }
        },
    }


def treemap() -> Spec:
    """Each tensor as an area of its size, coloured by its ratio, in groups by name."""
    label = "datum.label + '\\n' + format(datum.ratio * 100, '.1f') + ' %'"
    return chart(
        "Treemap: each tensor's size as area, its ratio as colour. The table has all figures.",
        460,
        signals=[
            _PICKED,
            {"name": "ratios", "value": [0, 1]},
            {"name": "ground", "value": "#fff"},
        ],
        data=[
            {"name": "source", "values": []},
            {
                "name": "tree",
                "source": "source",
                "transform": [
                    {"type": "stratify", "key": "id", "parentKey": "parent"},
                    {
                        "type": "treemap",
                        "field": "area",
                        "method": "squarify",
                        "ratio": 1.3,
                        "round": True,
                        "paddingInner": 1,
                        "paddingOuter": 1,
                        "size": [{"signal": "width"}, {"signal": "height"}],
                    },
                ],
            },
            {
                "name": "groups",
                "source": "tree",
                "transform": [
                    {
                        "type": "filter",
                        "expr": "datum.depth == 1 && datum.label && "
                        "datum.x1 - datum.x0 > 60 && datum.y1 - datum.y0 > 110",
                    }
                ],
            },
            {
                "name": "leaves",
                "source": "tree",
                "transform": [{"type": "filter", "expr": "!datum.children && datum.x1 > datum.x0"}],
            },
            {
                "name": "labelled",
                "source": "leaves",
                "transform": [
                    {
                        "type": "filter",
                        "expr": "datum.x1 - datum.x0 > 44 && datum.y1 - datum.y0 > 28",
                    }
                ],
            },
        ],
        scales=[
            {
                "name": "color",
                "type": "linear",
                "domain": {"signal": "ratios"},
                "clamp": True,
                "range": {"scheme": "viridis"},
            }
        ],
        legends=[
            {
                "fill": "color",
                "title": "Coded size over original size",
                "orient": "bottom",
                "direction": "horizontal",
                "format": ".0%",
                "gradientLength": {"signal": "min(width - 20, 280)"},
            }
        ],
        marks=[
            {
                "type": "rect",
                "name": "tensor",
                "from": {"data": "leaves"},
                "encode": {
                    "enter": {"cursor": {"value": "pointer"}},
                    "update": {
                        "x": {"field": "x0"},
                        "x2": {"field": "x1"},
                        "y": {"field": "y0"},
                        "y2": {"field": "y1"},
                        "fill": {"scale": "color", "field": "ratio"},
                        "stroke": {"value": None},
                        "tooltip": {"signal": "datum.tooltip"},
                    },
                    "hover": {"stroke": _OUTLINE, "strokeWidth": {"value": 2}},
                },
            },
            _group_labels({"stroke": {"signal": "ground"}, "strokeWidth": {"value": 4}}),
            _group_labels({"fill": _OUTLINE}),
            {
                "type": "text",
                "interactive": False,
                "from": {"data": "labelled"},
                "encode": {
                    "update": {
                        "x": {"field": "x0", "offset": 3},
                        "y": {"field": "y0", "offset": 12},
                        "limit": {"signal": "datum.x1 - datum.x0 - 6"},
                        "text": {"signal": f"split({label}, '\\n')"},
                        "fill": {
                            "signal": "luminance(scale('color', datum.ratio)) > 0.18 "
                            "? '#000' : '#fff'"
                        },
                        "fontSize": {"value": 11},
                    }
                },
            },
        ],
    )


def scatter(description: str, x: str, y: str, diagonal: bool) -> Spec:
    """Each tensor as a point of the fields "x" and "y"; its area is the tensor's size, its colour
    and shape the dtype."""
    scales: list[Spec] = [
        {
            "name": axis,
            "type": "linear",
            "nice": True,
            "zero": False,
            "domain": {
                "data": "source",
                "fields": ["x", "y"] if diagonal else [axis],
            },
            "range": "width" if axis == "x" else "height",
        }
        for axis in ("x", "y")
    ]
    dtypes = {"data": "source", "field": "dtype", "sort": True}
    scales += [
        {
            "name": "area",
            "type": "sqrt",
            "domain": [0, {"signal": "largest"}],
            "range": [24, 600],
        },
        {"name": "color", "type": "ordinal", "domain": dtypes, "range": {"signal": "colors"}},
        {"name": "shape", "type": "ordinal", "domain": dtypes, "range": "symbol"},
    ]
    line: Spec = {
        "type": "rule",
        "interactive": False,
        "encode": {
            "update": {
                "x": {"scale": "x", "signal": "max(domain('x')[0], domain('y')[0])"},
                "y": {"scale": "y", "signal": "max(domain('x')[0], domain('y')[0])"},
                "x2": {"scale": "x", "signal": "min(domain('x')[1], domain('y')[1])"},
                "y2": {"scale": "y", "signal": "min(domain('x')[1], domain('y')[1])"},
                "stroke": _OUTLINE,
                "strokeDash": {"value": [4, 4]},
                "strokeOpacity": {"value": 0.7},
            }
        },
    }
    return chart(
        description,
        320,
        signals=[
            _PICKED,
            {"name": "largest", "update": "max(1, data('sizes')[0].largest)"},
            {"name": "colors", "value": ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]},
        ],
        data=[
            {"name": "source", "values": []},
            {
                "name": "sizes",
                "source": "source",
                "transform": [
                    {"type": "aggregate", "ops": ["max"], "fields": ["area"], "as": ["largest"]}
                ],
            },
        ],
        scales=scales,
        axes=[
            {"scale": "x", "orient": "bottom", "title": x, "grid": True, "tickCount": 6},
            {"scale": "y", "orient": "left", "title": y, "grid": True, "tickCount": 6},
        ],
        legends=[
            {
                "fill": "color",
                "shape": "shape",
                "title": "Dtype",
                "orient": "bottom",
                "direction": "horizontal",
            }
        ],
        marks=[
            *([line] if diagonal else []),
            {
                "type": "symbol",
                "name": "tensor",
                "from": {"data": "source"},
                "encode": {
                    "enter": {"cursor": {"value": "pointer"}},
                    "update": {
                        "x": {"scale": "x", "field": "x"},
                        "y": {"scale": "y", "field": "y"},
                        "size": {"scale": "area", "field": "area"},
                        "shape": {"scale": "shape", "field": "dtype"},
                        "fill": {"scale": "color", "field": "dtype"},
                        "fillOpacity": {"value": 0.65},
                        "stroke": {"scale": "color", "field": "dtype"},
                        "strokeWidth": {"value": 1},
                        "tooltip": {"signal": "datum.tooltip"},
                    },
                    "hover": {"stroke": _OUTLINE, "strokeWidth": {"value": 2}},
                },
            },
        ],
    )


def bars() -> Spec:
    """How often each exponent occurs: columns of the fields "x" and "share"."""
    return chart(
        "Columns: the share of the tensor's elements that have each exponent.",
        260,
        signals=[{"name": "label", "value": "Exponent"}],
        data=[{"name": "source", "values": []}],
        scales=[
            {
                "name": "x",
                "type": "band",
                "domain": {"data": "source", "field": "x"},
                "range": "width",
                "paddingInner": 0.1,
            },
            {
                "name": "y",
                "type": "linear",
                "zero": True,
                "nice": True,
                "domain": {"data": "source", "field": "share"},
                "range": "height",
            },
        ],
        axes=[
            {
                "scale": "x",
                "orient": "bottom",
                "title": {"signal": "label"},
                "labelOverlap": True,
                "labelFlush": True,
            },
            {
                "scale": "y",
                "orient": "left",
                "title": "Share of the elements",
                "format": "~%",
                "grid": True,
                "tickCount": 5,
            },
        ],
        marks=[
            {
                "type": "rect",
                "from": {"data": "source"},
                "encode": {
                    "update": {
                        "x": {"scale": "x", "field": "x"},
                        "width": {"scale": "x", "band": 1},
                        "y": {"scale": "y", "field": "share"},
                        "y2": {"scale": "y", "value": 0},
                        "tooltip": {"signal": "datum.tooltip"},
                    }
                },
            }
        ],
    )


def modes() -> Spec:
    """Which share of the elements of tensors in blocks each mode has: rows of "mode", "share"."""
    return chart(
        "Bars: the share of the elements of tensors in blocks that each mode predicts or "
        "transforms.",
        220,
        data=[{"name": "source", "values": []}],
        scales=[
            {
                "name": "y",
                "type": "band",
                "domain": {"data": "source", "field": "mode"},
                "range": "height",
                "padding": 0.15,
            },
            {"name": "x", "type": "linear", "domain": [0, 1], "range": "width"},
        ],
        axes=[
            {"scale": "y", "orient": "left", "labelLimit": 120},
            {
                "scale": "x",
                "orient": "bottom",
                "format": ".0%",
                "grid": True,
                "tickCount": 5,
                "title": "Share of the elements in blocks",
            },
        ],
        marks=[
            {
                "type": "rect",
                "from": {"data": "source"},
                "encode": {
                    "update": {
                        "yc": {"scale": "y", "field": "mode", "band": 0.5},
                        "height": {"signal": "min(28, bandwidth('y'))"},
                        "x": {"scale": "x", "value": 0},
                        "x2": {"scale": "x", "field": "share"},
                        "tooltip": {"signal": "datum.mode + ': ' + format(datum.share, '.2%')"},
                    }
                },
            }
        ],
    )


def all_charts() -> Mapping[str, Spec]:
    """Every chart, by the name of the element that it is drawn in."""
    return {
        "treemap": treemap(),
        "bound": scatter(
            "Points: each tensor's order-0 bound and what it takes, in bits an element. Below the "
            "line, prediction from neighbours gained.",
            "Order-0 bound, bits an element",
            "Coded, bits an element",
            diagonal=True,
        ),
        "snr": scatter(
            "Points: bits an element and signal-to-noise ratio of each lossy tensor.",
            "Coded, bits an element",
            "Signal to noise, dB",
            diagonal=False,
        ),
        "comparison": scatter(
            "Points: bits an element of each tensor in both models.",
            "First model, bits an element",
            "Second model, bits an element",
            diagonal=True,
        ),
        "exponents": bars(),
        "modes": modes(),
    }
