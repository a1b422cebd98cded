"""The HTML report: one self-contained file whose script draws the data sentence by sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from nonproj.errors import one_line
from nonproj.evaluation.html.analysis import Table, Tile, analyse
from nonproj.evaluation.html.items import ReportItem, comment
from nonproj.io.copies import as_conllu, surface_tokens
from nonproj.pictures.content import partial_heads, shown
from nonproj.pictures.fonts import is_right_to_left
from nonproj.pictures.pages import join_modules, policy, resource

if TYPE_CHECKING:
    from nonproj.pipeline.parser import Parser


class SourceNames(NamedTuple):
    """The sources of the trees of a report.

    Attributes
    ----------
    parsed : str
        A parsed file, or a model.
    gold, other : str or None
        The gold file, and that of another parser.
    """

    parsed: str
    gold: str | None = None
    other: str | None = None


class Numbering(dict[str, int]):
    """The number of each string, in the order of first use.

    Examples
    --------
    >>> numbers = Numbering({"": 0})
    >>> numbers["a"], numbers["b"], numbers["a"], list(numbers)
    (1, 2, 1, ['', 'a', 'b'])
    """

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def page_data(
    items: Iterable[ReportItem], names: SourceNames, tiles: Sequence[Tile], tables: Sequence[Table]
) -> dict[str, Any]:
    """Return the data for the page's script.

    Parameters
    ----------
    items : iterable of ReportItem
    names : SourceNames
    tiles, tables
        As `nonproj.evaluation.html.analysis.analyse` returns them.

    Returns
    -------
    dict
        ``trees`` with their names; ``pairs`` of trees that can be shown together and the initial one, ``beside``; the
        strings ``labels``, ``tags``, ``feats`` and ``lemmas``; ``tiles``, ``tables``; and ``sentences``, each with
        ``w`` (forms), ``t`` (tags), ``f`` (features) and ``m`` (lemmas), ``h`` (heads of each tree), ``l`` (labels of
        each tree), ``x`` (its text), ``i`` (``sent_id``), ``p`` (its line), ``c`` (confidence in per cent), ``q``
        (confidence of the whole tree), ``s`` (`CERTIFICATE`), ``r`` (from right to left), ``n`` (notes of an audit),
        and the data of `nonproj.evaluation.html.courses`.
    """
    numbers = {name: Numbering({"": 0}) for name in ("labels", "tags", "feats", "lemmas")}
    sentences = [_sentence(item, **numbers) for item in items]
    trees, pairs, beside = _trees(names)
    data = {"trees": trees, "pairs": pairs, "beside": beside} | {name: list(each) for name, each in numbers.items()}
    return data | {"tiles": list(tiles), "tables": list(tables), "sentences": sentences}


def _trees(names: SourceNames) -> tuple[list[dict[str, Any]], list[list[int]], int]:
    """Return the names of the trees, the pairs that can be shown, and the tree initially shown beside the first."""
    trees = [{"name": _short(names.parsed), "gold": False}]
    if names.other:
        trees.append({"name": _short(names.other), "gold": False})
        if trees[0]["name"] == trees[1]["name"]:
            for tree, path in zip(trees, names[::2], strict=True):
                tree["name"] = one_line(path or "")
    if names.gold:
        trees.append({"name": "gold", "gold": True})
    last = len(trees) - 1
    pairs = [[0, last]] if last else [[0, -1]]
    if last == 2:
        pairs += [[1, 2], [0, 1]]
    return trees, pairs, last if last else -1


def _short(path: str) -> str:
    return "standard input" if path == "-" else one_line(PurePath(path).name) or path


def _sentence(
    item: ReportItem, labels: Numbering, tags: Numbering, feats: Numbering, lemmas: Numbering
) -> dict[str, Any]:
    """Return the data of a sentence for the page's script: see `page_data`."""
    rows = item.sentence.rows
    trees = [(item.heads.tolist(), item.labels)]
    trees += [(partial_heads(each).tolist(), each.labels) for each in (item.other, item.gold) if each is not None]
    data: dict[str, Any] = {
        "w": item.sentence.forms,
        "t": [tags[shown(row[3]) or shown(row[4])] for row in rows],
        "f": [feats[shown(row[5])] for row in rows],
        "m": [lemmas[shown(row[2])] for row in rows],
        "h": [heads for heads, _ in trees],
        "l": [[labels[shown(label)] for label in each] for _, each in trees],
        "p": item.sentence.line,
        "x": _text(item),
    }
    if item.name:
        data["i"] = item.name
    if item.confidence is not None:
        data["c"] = [round(100 * share) for share in item.confidence]
    if "certified" in item.statistics:
        known = {name: item.statistics[name] for name in CERTIFICATE if name in item.statistics}
        data["s"] = {n: round(v, 6) if isinstance(v, float) else v for n, v in known.items() if isfinite(v)}
    if "confidence" in item.statistics:
        data["q"] = float(f"{item.statistics['confidence']:.3g}")
    if is_right_to_left(item.sentence.forms):
        data["r"] = 1
    return data


def _text(item: ReportItem) -> str:
    """Return the text of a sentence: its comment, or its tokens with blanks where MISC has no ``SpaceAfter=No``."""
    tokens = ((form, misc.split("|")) for form, misc, _ in surface_tokens(as_conllu(item.sentence)))
    text = "".join(form if "SpaceAfter=No" in attributes else f"{form} " for form, attributes in tokens)
    return comment(item.sentence, "text") or text.strip()


CERTIFICATE = (
    *("certified", "gap", "score", "bound", "iterations", "nodes"),
    *("arcs", "full", "paid", "projective", "rank"),
)
"""The statistics shown for a certificate."""


def render(data: dict[str, Any], title: str) -> str:
    """Return the page: template, style, scripts and data in one text.

    Only scripts and styles with known digests are allowed, so nothing injected through data is ever run; nothing is
    loaded from other addresses.
    """
    script = "\n" + join_modules(resource(f"nonproj.{package}", name) for package, name in SCRIPTS)
    style = resource("nonproj.pictures", "tree.css") + resource("nonproj.evaluation.html", "report.css")
    parts = {
        "policy": policy(script, style),
        "title": escape(one_line(title)),
        "style": style,
        "script": script,
        "data": embedded(data),
    }
    page = resource("nonproj.evaluation.html", "report.html")
    return re.sub(r"\{(policy|title|style|script|data)\}", lambda match: parts[match[1]], page)


_MODULES = "tree certificate page links sentences finding course drawing results analysis"
SCRIPTS = tuple(
    ("pictures" if name in ("tree", "certificate", "theme") else "evaluation.html", f"{name}.js")
    for name in (*_MODULES.split(), "theme", "controls")
)
"""The packages and names of the page's modules; each imports only from those before it."""


def embedded(data: object) -> str:
    """Return data as JSON that is safe within HTML, for any strings.

    Examples
    --------
    >>> embedded(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace").decode()


def title_of(names: SourceNames) -> str:
    """Return the title of a report."""
    title = _short(names.parsed)
    if names.other:
        title += f" and {_short(names.other)}"
    return f"{title} against {_short(names.gold)}" if names.gold else title


def write_report(
    stream: TextIO,
    items: Iterable[ReportItem],
    names: SourceNames,
    parser: Parser | None = None,
    courses: int = 0,
) -> None:
    """Write a report.

    Parameters
    ----------
    stream : TextIO
    items : iterable of ReportItem
    names : SourceNames
    parser : Parser, optional
        The parser of the sentences, which records courses of dual decomposition.
    courses : int
        Number of sentences whose course is recorded: those with the most iterations.
    """
    found, given, iterations = list(items), "", dict[int, dict[str, Any]]()
    if parser is not None:
        from nonproj.evaluation.html.courses import courses_of  # imports kernels, which files alone do not need
        from nonproj.evaluation.parsing import given_input

        given, iterations = given_input(parser), courses_of(found, parser, courses)
    data = page_data(found, names, *analyse(found, [tree["name"] for tree in _trees(names)[0]], given))
    for number, course in iterations.items():
        data["sentences"][number] |= course
    stream.write(render(data, title_of(names)))
