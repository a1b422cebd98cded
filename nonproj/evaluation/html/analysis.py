"""Figures and tables of a report: errors by kind of word, two parsers side by side, certificates, confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nonproj.errors import counted
from nonproj.evaluation.calibration import Outcomes
from nonproj.evaluation.errors import error_tables
from nonproj.evaluation.html.items import ReportItem
from nonproj.evaluation.report import CROSSING, FIGURES
from nonproj.evaluation.scores import Evaluation
from nonproj.evaluation.significance import compare
from nonproj.pictures.content import partial_heads

Table = dict[str, Any]
"""``title``, ``note``, ``columns`` (with ``name`` and ``kind``) and ``rows``, for the page's script."""

Tile = tuple[str, str, str]
"""A value, its name and its explanation."""

SHOWN = 40
"""Maximum number of rows of a table: the most frequent labels, tags or confusions."""

_TITLES = {
    "sentence_length": ("By sentence length", "length"),
    "arc_length": ("By arc length", "gold arc"),
    "depth": ("By depth in the gold tree", "arcs from the root"),
    "nonprojective": ("By crossing", "gold arc"),
    "nonprojective_label": ("Non-projective arcs, by label", "gold label"),
    "label": ("By label", "gold label"),
    "tag": ("By tag", "tag"),
}
"""Title of each table of `nonproj.evaluation.errors.error_tables`, and of its first column."""


def evaluations_of(items: Sequence[ReportItem]) -> tuple[list[Evaluation], bool]:
    """Return the evaluation of each parser against the gold trees, and whether all trees have labels.

    Without gold trees the other parser takes their place, so that scores are shares of agreement.
    """
    trees, expected = [[(item.heads, item.labels) for item in items]], [item.gold for item in items if item.gold]
    others = [item.other for item in items if item.other]
    if expected and others:
        trees.append([(partial_heads(sentence), sentence.labels) for sentence in others])
    expected = expected or others
    labelled = all(any(set(labels) - {"_"} for _, labels in each) for each in trees)
    labelled = labelled and any(set(sentence.labels) - {"_"} for sentence in expected)
    evaluations = []
    for each in trees:
        evaluation = Evaluation()
        for sentence, (heads, labels) in zip(expected, each, strict=True):
            evaluation.add(sentence, heads, labels if labelled else None)
        evaluations.append(evaluation)
    return evaluations, labelled


def analyse(items: Sequence[ReportItem], names: Sequence[str], given: str = "") -> tuple[list[Tile], list[Table]]:
    """Return the tiles and tables of a report; see `Tile` and `Table`.

    Parameters
    ----------
    items : sequence of ReportItem
    names : sequence of str
        The name of each parser.
    given : str
        Input of the parser, in words.
    """
    words = sum(len(item.labels) for item in items)
    tiles = size_tiles(len(items), words, given)
    tables: list[Table] = []
    partial = any((heads < 0).any() for item in items for heads in _trees(item))
    if partial:
        tiles += _partial_tiles(items, names)
    elif items and (items[0].gold is not None or items[0].other is not None):
        evaluations, labelled = evaluations_of(items)
        gold = items[0].gold is not None
        names = list(names[: len(evaluations)])
        tiles += _score_tiles(evaluations, names, gold)
        tables.append(_summary(evaluations, names, labelled, gold))
        errors = error_tables(evaluations, labelled=labelled)
        tables += _error_tables(errors, names, gold)
        if gold:
            tables += _reliability_tables(items)
    certificates = [item.statistics for item in items if "certified" in item.statistics]
    if certificates:
        tiles.append((_percent(np.mean([each["certified"] for each in certificates])), "trees certified", _CERTIFIED))
    return tiles, tables


def size_tiles(sentences: int, words: int, given: str = "") -> list[Tile]:
    """Return tiles with the numbers of sentences and words; ``given``, the parser's input, explains the latter."""
    tiles = []
    for count, title in ((counted(sentences, "sentence", ","), ""), (counted(words, "word", ","), given)):
        number, noun = count.split()
        tiles.append((number, noun, title))
    return tiles


def _trees(item: ReportItem) -> list[np.ndarray]:
    """Return the trees of a sentence."""
    return [item.heads, *(partial_heads(tree) for tree in (item.gold, item.other) if tree is not None)]


def _partial_tiles(items: Sequence[ReportItem], names: Sequence[str]) -> list[Tile]:
    """Return tiles for partial trees: the share of words with a head, and the share of these heads that are correct."""
    trees = [[item.heads for item in items], [partial_heads(item.other) for item in items if item.other is not None]]
    gold = [partial_heads(item.gold) for item in items if item.gold is not None]
    tiles = []
    for each, name in zip(filter(None, trees), names, strict=False):
        heads, of = np.concatenate(each), f" of {name}" if trees[1] else ""
        tiles.append((_percent(float(np.mean(heads >= 0))), f"words with a head{of}", "the others were omitted"))
        if gold and (heads >= 0).any():
            right = float(np.mean((heads == np.concatenate(gold))[heads >= 0]))
            tiles.append((_percent(right), f"correct heads among these{of}", "words with a head, punctuation included"))
    return tiles


_LABELS = "Recall of heads (UAS) and of heads with labels (LAS); precision of heads with labels."
_CERTIFIED = "no tree over the same arcs scores higher; each says over which"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def _score_tiles(evaluations: list[Evaluation], names: list[str], gold: bool) -> list[Tile]:
    """Return tiles with the attachment scores of each parser."""
    tiles = []
    for evaluation, name in zip(evaluations, names, strict=True):
        figures = evaluation.as_dict()["without_punctuation"]
        of = f" of {name}" if len(names) > 1 else ""
        for key, short in (("uas", "UAS" if gold else "same head"), ("las", "LAS" if gold else "same head and label")):
            if figures[key] is not None:
                tiles.append((_percent(figures[key]), short + of, f"{FIGURES[key]}, without punctuation"))
    return tiles


def _columns(names: Sequence[str], name: str, kind: str, bare: bool = False) -> list[Table]:
    """Return a column for each parser."""
    several = len(names) > 1
    return [
        {"name": f"{name} {'AB'[i]}" if several else name, "kind": kind, "second": i == 1, "bare": bare}
        for i in range(len(names))
    ]


def _summary(evaluations: list[Evaluation], names: list[str], labelled: bool, gold: bool) -> Table:
    """Return the table of the main figures, with the significance of differences between two parsers."""
    figures = [evaluation.as_dict()["without_punctuation"] for evaluation in evaluations]
    several, rows = len(names) > 1, []
    found = compare(*evaluations, labelled=labelled) if several else {}
    for key, name in FIGURES.items():
        row = [name, *(each[key] for each in figures)]
        if several:
            known = None not in row
            row += [row[1] - row[2] if known else None, (found.get(key) or {}).get("p")]
        if any(each[key] is not None for each in figures):
            rows.append(row)
    for key, name in CROSSING.items():
        row = [f"non-projective arcs, {name}", *(each["nonprojective"][key] for each in figures)]
        rows.append(row + ([row[1] - row[2] if None not in row else None, None] if several else []))
    note = "Per cent, without punctuation." if gold else "Agreement of the two parsers, per cent, without punctuation."
    columns = [{"name": "", "kind": "text"}, *_columns(names, "all" if not several else "", "share", several)]
    if several:
        note += f" A: {names[0]}; B: {names[1]}; p: two-sided paired permutation test over sentences."
        columns += [{"name": "A − B", "kind": "difference"}, {"name": "p", "kind": "p"}]
    return {"title": "Scores" if gold else "Agreement", "note": note, "columns": columns, "rows": rows}


def _error_tables(errors: dict[str, Any], names: list[str], gold: bool) -> list[Table]:
    """Return the tables of errors by kind of word, and of confused labels."""
    tables = []
    for key, (title, first) in _TITLES.items():
        rows = errors["tables"].get(key, [])
        if not rows:
            continue
        kind = key.removeprefix("nonprojective_") if key.endswith(("label", "tag")) else "text"
        labelled = rows[0]["las"] is not None
        columns = [{"name": first, "kind": kind}, {"name": "words", "kind": "count"}]
        columns += _columns(names, "UAS", "share", bare=labelled)
        columns += _columns(names, "LAS", "share") if labelled else []
        precise = "precision" in rows[0]
        columns += _columns(names, "precision", "share", bare=True) if precise else []
        cells = [
            [row["name"], row["words"], *row["uas"], *(row["las"] or []), *(row["precision"] if precise else [])]
            for row in rows[:SHOWN]
        ]
        note = _LABELS if key == "label" else ""
        more = f"The {SHOWN} most frequent of {len(rows)}." if len(rows) > SHOWN else ""
        tables.append({"title": title, "note": f"{note} {more}".strip(), "columns": columns, "rows": cells})
    if errors["confusions"]:
        columns = [{"name": "gold", "kind": "label"}, {"name": "predicted", "kind": "label"}]
        columns += _columns(names, "words", "count")
        rows = [[pair["gold"], pair["predicted"], *pair["counts"]] for pair in errors["confusions"][:SHOWN]]
        note = "Labels predicted instead of others, regardless of the head."
        tables.append({"title": "Confused labels", "note": note, "columns": columns, "rows": rows})
    if not gold:
        for table in tables:
            table["note"] = f"Agreement of the two parsers. {table['note']}".strip()
    return tables


def judged(items: Sequence[ReportItem]) -> Outcomes | None:
    """Return the confidence of all words that have one, and whether their heads are correct; None without any."""
    pairs = [
        (share, bool(head == right))
        for item in items
        if item.confidence is not None and item.gold is not None
        for share, head, right in zip(item.confidence, item.heads, partial_heads(item.gold), strict=True)
    ]
    return Outcomes(*(np.array(column) for column in zip(*pairs, strict=True))) if pairs else None


def _reliability_tables(items: Sequence[ReportItem]) -> list[Table]:
    """Return the table of confidence against accuracy."""
    words = judged(items)
    if words is None:
        return []
    rows = [[mean, share, int(count)] for mean, share, count in words.bins().tolist() if count]
    columns: list[Table] = [{"name": "mean confidence", "kind": "share", "bare": True}]
    columns += [{"name": "heads right", "kind": "share"}, {"name": "words", "kind": "count"}]
    note = f"Expected calibration error {100 * words.calibration_error():.2f} %"
    if 0 < words.right.sum() < len(words.right):
        note += f", area under the ROC curve {words.area():.3f}"
    note += "; punctuation included."
    return [{"title": "Confidence", "note": note, "columns": columns, "rows": rows}]
