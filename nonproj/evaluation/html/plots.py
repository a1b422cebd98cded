"""Plots as SVG in the page, by Vega-Lite (``nonproj[pictures]``); the page's style adapts them to dark and light."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from nonproj.pictures.images import converter

COLOURS = ("#0072b2", "#d55e00")
"""Colours of the first and the second parser, after Okabe and Ito."""

WIDTH, HEIGHT = 380, 190

CHART = {"left": 64, "width": 560, "top": 10, "bottom": 150}
"""Positions of the axes in plots of the course of a bound, for a mark at an iteration."""

_CONFIG = {
    "background": None,
    "view": {"stroke": None},
    "font": "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif",
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "#ddd"},
    "legend": {"labelFontSize": 12, "orient": "top", "title": None},
}


def svg(specification: dict[str, Any]) -> str:
    """Return a plot as SVG; raise `DependencyError` without the library."""
    return converter().vegalite_to_svg(json.dumps(specification | {"config": _CONFIG}), vl_version="5.20")


def figure(title: str, specification: dict[str, Any]) -> str:
    """Return a plot with its title as HTML."""
    return f'<figure class="plot"><figcaption>{escape(title)}</figcaption>{svg(specification)}</figure>'


def scores_plot(values: Sequence[dict[str, Any]], names: Sequence[str], title: str) -> dict[str, Any]:
    """Return the specification of scores by bin: a line for each parser, with point sizes by the number of words.

    Parameters
    ----------
    values : sequence of dict
        With ``bin``, ``score``, a share, ``parser`` and ``words``.
    names : sequence of str
        The parsers.
    title : str
        Title of the bins.
    """
    order = list(dict.fromkeys(value["bin"] for value in values))
    lowest = min((value["score"] for value in values), default=0.0)
    scale = {"domain": [max(0.0, int(10 * lowest - 0.5) / 10), 1.0]}
    y = {
        "field": "score",
        "type": "quantitative",
        "title": None,
        "scale": scale,
        "axis": {"format": "%", "tickCount": 5},
    }
    colours = {"domain": list(names), "range": list(COLOURS[: len(names)])}
    colour = {"field": "parser", "scale": colours} | ({} if len(names) > 1 else {"legend": None})
    x = {"field": "bin", "sort": order, "title": title, "axis": {"labelAngle": 0}}
    size = {"field": "words", "type": "quantitative", "legend": None, "scale": {"range": [20, 300]}}
    shared = {"x": x, "y": y, "color": colour}
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": list(values)},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.8}, "encoding": shared},
            {"mark": {"type": "circle", "opacity": 1}, "encoding": shared | {"size": size}},
        ],
    }


def reliability_plot(rows: Sequence[tuple[float, float, int]]) -> dict[str, Any]:
    """Return the specification of accuracy by confidence, with the diagonal of perfect calibration."""
    values = [{"confidence": mean, "right": share, "words": count} for mean, share, count in rows]
    axis = {"type": "quantitative", "scale": {"domain": [0.0, 1.0]}, "axis": {"format": "%", "tickCount": 5}}
    x, y = axis | {"field": "confidence", "title": "confidence"}, axis | {"field": "right", "title": "heads right"}
    diagonal = {
        "data": {"values": [{"confidence": 0.0, "right": 0.0}, {"confidence": 1.0, "right": 1.0}]},
        "mark": {"type": "line", "strokeDash": [4, 4], "color": "#98a2b3", "strokeWidth": 1.2},
        "encoding": {"x": x, "y": y},
    }
    size = {"field": "words", "type": "quantitative", "legend": None, "scale": {"range": [20, 350]}}
    points = {
        "mark": {"type": "circle", "color": COLOURS[0], "opacity": 0.9},
        "encoding": {"x": x, "y": y, "size": size},
    }
    line = {"mark": {"type": "line", "color": COLOURS[0], "strokeWidth": 1.5}, "encoding": {"x": x, "y": y}}
    return {"width": WIDTH, "height": HEIGHT, "data": {"values": values}, "layer": [diagonal, line, points]}


def bounds_plot(dual: Sequence[float], primal: Sequence[float]) -> dict[str, Any]:
    """Return the specification of the course of dual decomposition: the dual, the lowest bound, and the best tree.

    Its axes are at the positions in `CHART`, so that a script can mark an iteration.
    """
    values, low, high = [], float("inf"), float("-inf")
    for k, (upper, lower) in enumerate(zip(dual, primal, strict=True), 1):
        low, high = min(low, upper), max(high, lower)
        values += [
            {"k": k, "value": value, "what": what} for value, what in ((upper, _DUAL), (low, _BOUND), (high, _TREE))
        ]
    x = {"field": "k", "type": "quantitative", "title": "iteration", "axis": {"tickMinStep": 1, "format": "d"}}
    x["scale"] = {"domain": [1, max(len(dual), 2)], "nice": False}
    y = {"field": "value", "type": "quantitative", "title": None, "scale": {"zero": False}}
    colour = {"field": "what", "scale": {"domain": [_DUAL, _BOUND, _TREE], "range": ["#98a2b3", *COLOURS[::-1]]}}
    colour["legend"] = {"orient": "right"}
    height = CHART["bottom"] - CHART["top"]
    return {
        "autosize": {"type": "none"},
        "padding": {"left": CHART["left"], "top": CHART["top"], "bottom": 45, "right": 130},
        "width": CHART["width"],
        "height": height,
        "data": {"values": values},
        "mark": {"type": "line", "interpolate": "linear", "strokeWidth": 1.8},
        "encoding": {"x": x, "y": y, "color": colour},
    }


_DUAL, _BOUND, _TREE = "dual value", "lowest bound", "best tree"
