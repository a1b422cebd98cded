"""Pictures for LaTeX, with the package tikz-dependency."""

from __future__ import annotations

from nonproj.pictures.content import ENHANCED, LABEL, OTHER, WRONG, Picture, TreeArc

_SPECIAL = {character: f"\\{character}" for character in "{}$#_%"} | {
    "\\": "\\textbackslash{}",
    "&": "{\\char38}",  # an ampersand, escaped or not, separates columns
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "{\\char60}",
    ">": "{\\char62}",
}
_STYLES = {WRONG: "wrong", LABEL: "label differs", OTHER: "other", ENHANCED: "gray"}


def to_tikz(picture: Picture) -> str:
    """Return a picture as a LaTeX document; its ``dependency`` environment can be copied into another.

    Examples
    --------
    >>> text = to_tikz(Picture(["50 %"], [""], [TreeArc(0, 1, "root")], []))
    >>> "50 \\\\% \\\\\\\\" in text, "\\\\deproot{1}{root}" in text
    (True, True)
    """
    picture = picture.visible()
    rows = [picture.forms, picture.tags] if any(picture.tags) else [picture.forms]
    lines = [
        "\\documentclass[border=4pt]{standalone}",
        "\\usepackage{iftex}",
        "\\iftutex\\usepackage{fontspec}\\else\\usepackage[T1]{fontenc}\\fi",
        "\\usepackage{tikz-dependency}",
        "\\definecolor{wrong}{HTML}{D55E00}",
        "\\definecolor{label}{HTML}{A8730A}",
        "\\definecolor{other}{HTML}{00825F}",
        "\\tikzset{wrong/.style={wrong, densely dashed}, label differs/.style={label}}",
        "\\tikzset{other/.style={other, densely dotted}}",
        "\\begin{document}",
        "\\begin{dependency}",
        "\\begin{deptext}[column sep=1em]",
        *(" \\& ".join(map(escape_tex, row)) + " \\\\" for row in rows),
        "\\end{deptext}",
        *map(_edge, picture.above),
        *map(_edge, picture.below),
        "\\end{dependency}",
        "\\end{document}",
    ]
    return "\n".join(lines) + "\n"


def _edge(arc: TreeArc) -> str:
    """Return the command that draws an arc."""
    options = ["edge below"] if arc.kind in (OTHER, ENHANCED) else []
    options += [f"edge style={{{_STYLES[arc.kind]}}}"] if arc.kind in _STYLES else []
    choice = f"[{', '.join(options)}]" if options else ""
    if not arc.head:
        return f"\\deproot{choice}{{{arc.modifier}}}{{{escape_tex(arc.label)}}}"
    return f"\\depedge{choice}{{{arc.head}}}{{{arc.modifier}}}{{{escape_tex(arc.label)}}}"


def escape_tex(text: str) -> str:
    """Return text escaped for LaTeX.

    Examples
    --------
    >>> escape_tex("R&D_50 %")
    'R{\\\\char38}D\\\\_50 \\\\%'
    """
    return "".join(_SPECIAL.get(c, c) for c in text if c.isprintable())
