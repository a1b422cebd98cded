"""Pictures as SVG: self-contained files that look the same everywhere and can adapt to dark pages."""

from __future__ import annotations

from html import escape

from nonproj.pictures.content import ENHANCED, LABEL, OTHER, PLAIN, RIGHT, WRONG, Picture
from nonproj.pictures.fonts import text_width
from nonproj.pictures.layout import FORM_SIZE, LABEL_SIZE, TAG_SIZE, Layout, PlacedArc, lay_out

ARROW, CORNER = 6.0, 10.0
"""Height of an arrowhead, and the radius of an arc's corners."""

COLOURS = {
    "ground": ("#ffffff", "#15181d"),
    "text": ("#1b2230", "#e8ebf1"),
    "faint": ("#667085", "#98a2b3"),
    PLAIN: ("#667085", "#98a2b3"),
    RIGHT: ("#667085", "#98a2b3"),
    "cross": ("#0072b2", "#56b4e9"),
    LABEL: ("#a8730a", "#e69f00"),
    WRONG: ("#d55e00", "#ff8a3d"),
    OTHER: ("#00825f", "#3fc99b"),
    ENHANCED: ("#667085", "#98a2b3"),
    "shade": ("#e69f00", "#e69f00"),
}
"""Colours on light and on dark backgrounds, after Okabe and Ito's colour-blind-safe palette."""

DASHES = {WRONG: "7 3.5", LABEL: "", OTHER: "1.5 3.5", ENHANCED: "2 2"}
"""Stroke styles, so that colour is not the only cue."""

FONTS = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"


def to_svg(picture: Picture, dark: bool | None = None) -> str:
    """Return a picture as an SVG document.

    Parameters
    ----------
    picture : Picture
    dark : bool, optional
        Whether to draw on a dark background; by default the viewer's preference.

    Examples
    --------
    >>> from nonproj.pictures.content import TreeArc
    >>> svg = to_svg(Picture(["Det", "regner"], ["PRON", "VERB"], [TreeArc(2, 1, "nsubj"), TreeArc(0, 2, "root")], []))
    >>> svg.count('class="arc'), svg.count('class="form"')
    (2, 2)
    """
    picture = picture.visible()
    layout = lay_out(picture)
    width, height = layout.width, layout.height
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.1f}" height="{height:.1f}"'
    words = " ".join(picture.forms)
    lines = [
        f'{head} viewBox="0 0 {width:.1f} {height:.1f}" role="img" font-family="{FONTS}" class="nonproj-tree">',
        f"<title>Dependency tree: {escape(words)}</title>",
        f"<desc>{escape(description(picture))}</desc>",
        f"<style>{_style(dark)}</style>",
        f'<rect class="ground" width="{width:.1f}" height="{height:.1f}" rx="8" {_paint("ground", dark)}/>',
        *_words(layout, dark),
        *(_arc(arc, dark) for arc in layout.arcs),
        *(_label(arc, dark) for arc in layout.arcs if arc.arc.label),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def in_notebook(picture: Picture) -> str:
    """Return a picture as HTML for ``_repr_html_``, with a scroll bar if it is too wide."""
    return f'<div style="overflow-x: auto; max-width: 100%">{to_svg(picture)}</div>'


def description(picture: Picture) -> str:
    """Return a description of a picture in words, for screen readers.

    Examples
    --------
    >>> from nonproj.pictures.content import TreeArc
    >>> description(Picture(["Det", "regner"], ["", ""], [TreeArc(2, 1, "nsubj"), TreeArc(0, 2, "root")], []))
    'Det is nsubj of regner; regner is root.'
    """
    clauses = []
    for arcs in (picture.above, picture.below):
        for head, modifier, label, kind in arcs:
            what = f"{picture.forms[modifier - 1]} is {label or 'a dependent'}"
            what += f" of {picture.forms[head - 1]}" if head else "" if label else " of the root"
            note = {WRONG: " (wrong head)", LABEL: " (wrong label)", OTHER: " (in the other tree)"}.get(kind, "")
            clauses.append(what + note)
    return "; ".join(clauses) + "."


def _words(layout: Layout, dark: bool | None) -> list[str]:
    """Return the SVG of words with their tags, shaded by the uncertainty of their heads."""
    lines, picture = [], layout.picture
    for i, (form, tag, x) in enumerate(zip(picture.forms, picture.tags, layout.centers, strict=True)):
        y = layout.words_top + 19
        if picture.confidence is not None:
            half, doubt = text_width(form, FORM_SIZE, True) / 2 + 5, 1.0 - picture.confidence[i]
            box = f'x="{x - half:.1f}" y="{y - 17:.1f}" width="{2 * half:.1f}" height="23" rx="5"'
            lines.append(f'<rect class="shade" {box} fill-opacity="{0.75 * doubt:.3f}" {_paint("shade", dark)}/>')
        attributes = f'text-anchor="middle" font-size="{FORM_SIZE:g}" font-weight="600" {_paint("text", dark)}'
        lines.append(f'<text class="form" x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(form)}</text>')
        if tag:
            attributes = f'text-anchor="middle" font-size="{TAG_SIZE:g}" {_paint("faint", dark)}'
            lines.append(f'<text class="tag" x="{x:.1f}" y="{y + 18:.1f}" {attributes}>{escape(tag)}</text>')
    return lines


def arc_path(arc: PlacedArc) -> str:
    """Return the line of an arc, up to its arrowhead, as SVG path data."""
    up = 1.0 if arc.top < arc.foot else -1.0
    tip = arc.foot - up * ARROW
    if not arc.arc.head:
        return f"M{arc.end:.1f} {arc.top:.1f}V{tip:.1f}"
    side = 1.0 if arc.end > arc.start else -1.0
    r = min(CORNER, abs(arc.end - arc.start) / 2)
    return (
        f"M{arc.start:.1f} {arc.foot:.1f}V{arc.top + up * r:.1f}Q{arc.start:.1f} {arc.top:.1f} "
        f"{arc.start + side * r:.1f} {arc.top:.1f}H{arc.end - side * r:.1f}Q{arc.end:.1f} {arc.top:.1f} "
        f"{arc.end:.1f} {arc.top + up * r:.1f}V{tip:.1f}"
    )


def style_of(arc: PlacedArc) -> str:
    """Return the name of an arc's colour in `COLOURS`."""
    return "cross" if arc.crosses and arc.arc.kind in (PLAIN, RIGHT) else arc.arc.kind


def _arc(arc: PlacedArc, dark: bool | None) -> str:
    """Return the SVG of an arc; a halo in the background colour separates it from arcs that it crosses."""
    name, up = style_of(arc), 1.0 if arc.top < arc.foot else -1.0
    path, kind = arc_path(arc), arc.arc.kind
    wide = 2.0 if name == "cross" or kind not in (PLAIN, RIGHT, ENHANCED) else 1.5
    dashes = f' stroke-dasharray="{DASHES[kind]}"' if DASHES.get(kind) else ""
    lines = [f'<g class="arc {kind}{" cross" if arc.crosses else ""}" data-word="{arc.arc.modifier}">']
    if arc.crosses:
        lines.append(f'<path class="halo" d="{path}" fill="none" stroke-width="6" {_paint("ground", dark, "stroke")}/>')
    lines.append(f'<path d="{path}" fill="none" stroke-width="{wide}"{dashes} {_paint(name, dark, "stroke")}/>')
    x, y = arc.end, arc.foot - up * ARROW
    lines.append(f'<path d="M{x:.1f} {arc.foot:.1f}L{x - 4:.1f} {y:.1f}H{x + 4:.1f}Z" {_paint(name, dark)}/></g>')
    return "".join(lines)


def _label(arc: PlacedArc, dark: bool | None) -> str:
    """Return the SVG of an arc's label, on its line, or beyond the end of an arc from the root."""
    kind = arc.arc.kind
    y = arc.top + 4 if arc.arc.head else arc.top - 5 if arc.top < arc.foot else arc.top + 12
    weight = "" if kind in (PLAIN, RIGHT, ENHANCED) else ' font-weight="600"'
    attributes = f'text-anchor="middle" font-size="{LABEL_SIZE:g}"{weight} stroke-width="6" stroke-linejoin="round"'
    paint = f"{_paint(kind if weight else 'text', dark)} {_paint('ground', dark, 'stroke')}"
    place = f'x="{arc.label_at:.1f}" y="{y:.1f}"'
    return f'<text class="label" {place} {attributes} paint-order="stroke" {paint}>{escape(arc.arc.label)}</text>'


def _paint(name: str, dark: bool | None, attribute: str = "fill") -> str:
    """Return a colour attribute; where the viewer prefers a dark background, the rules of `_style` override it."""
    return f'{attribute}="{COLOURS[name][bool(dark)]}"'


def _style(dark: bool | None) -> str:
    """Return the style rules for dark backgrounds, which replace each colour by its dark variant."""
    if dark is not None:
        return ""
    pairs = dict(COLOURS.values())
    rules = [
        f'.nonproj-tree [{attribute}="{light}"]{{{attribute}:{other}}}'
        for light, other in pairs.items()
        for attribute in ("fill", "stroke")
    ]
    return "@media (prefers-color-scheme:dark){" + "".join(rules) + "}"
