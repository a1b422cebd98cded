"""Non-projective arcs: precision, recall and F1 of this version beside earlier versions and other parsers.

``measure`` parses test files with gold tags and from raw text; rows of other parsers, which `add` has added, are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from nonproj.evaluation.alignment import align, judge_text, partners
from nonproj.io.conll import read
from nonproj.trees.crossing import nonprojective
from nonproj.types import Sentence
from research.experiments.layout import percent, table
from research.experiments.provenance import publish
from research.experiments.raw import parsed
from research.experiments.setting import ExperimentSettings, model_file, treebank
from research.experiments.store import Row, known, write_rows

LANGUAGES = ("danish", "dutch", "basque", "greek", "turkish", "latin", "gothic", "uyghur", "wolof")
ALL = (*LANGUAGES, "UD_Slovenian-SST", "english-ewt")
INPUTS = ("gold tags", "raw text")
OURS, FILE, COUNTS = "nonproj", "crossing.csv", ("gold", "predicted", "right")
WITHOUT_TEXT = ("danish", "dutch", "basque")

INTRODUCTION = """# Non-projective arcs

Test files, with gold words and tags and from raw text; default models, each trained once on the training file. An arc
is non-projective if a word between its ends does not descend from its head; a predicted one is right if it has the
gold head and is non-projective in both trees. UAS and LAS (F1 of aligned words, with punctuation and whole labels)
are in per cent.
"""
"""The first lines of the page."""

AFTER = """`python -m research.experiments crossing --languages all` measures this version again, and keeps the rows of
other parsers. [History](../history.md) says how the costs of
crossed arcs were chosen, and what else was tried."""


def measure(setting: ExperimentSettings, languages: Sequence[str]) -> None:
    """Measure treebanks one by one, and write the page."""
    for language in languages:
        model, gold = model_file(setting, language, "grandparent"), treebank(setting, language)[1]
        given = {"gold tags": (str(gold), "--no-tag"), "raw text": ()}
        for name in INPUTS[: 1 if language in WITHOUT_TEXT else 2]:
            with parsed(model, gold, *given[name]) as target:
                add(setting.results, {"language": language, "input": name, "parser": OURS}, gold, target)


def add(results: Path, names: Row, gold: Path, found: Path) -> None:
    """Add the figures of a parsed file to those that are known, and write the page."""
    rows = [row for row in known(results / FILE) if not names.items() <= row.items()]
    rows.append(names | figures(list(read(gold)), list(read(found))))
    rows.sort(key=lambda row: (ALL.index(str(row["language"])), INPUTS.index(str(row["input"]))))
    write_rows(results / FILE, rows)
    write_page(results, rows)


def figures(gold: Sequence[Sentence], found: Sequence[Sentence]) -> Row:
    """Return the numbers of non-projective arcs, UAS and LAS of parsed sentences.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> gold = from_words(["Hvad", "ser", "du", "på"])
    >>> gold.tree = np.array([-1, 4, 0, 2, 2])
    >>> figures([gold], [gold])
    {'gold': 1, 'predicted': 1, 'right': 1, 'uas': 1.0, 'las': 1.0}
    """
    partner = partners(*align(gold, found))[1][:-1]
    judged = judge_text(gold, found, [each.heads for each in found], [each.labels for each in found])
    right, labelled = (np.concatenate(flags) for flags in zip(*(each[:2] for each in judged), strict=True))
    theirs, ours = _nonprojective(gold), _nonprojective(found)
    common = ours & right & np.append(theirs, False)[partner]
    words = (len(theirs) + len(ours)) / 2
    counts = dict(zip(COUNTS, (int(flags.sum()) for flags in (theirs, ours, common)), strict=True))
    return counts | {"uas": float(right.sum() / words), "las": float(labelled.sum() / words)}


def _nonprojective(sentences: Iterable[Sentence]) -> np.ndarray:
    """Return a mask of the non-projective arcs of all sentences, bool[n]."""
    return np.concatenate([nonprojective(sentence.heads) for sentence in sentences])


def write_page(results: Path, rows: Sequence[Row]) -> None:
    """Write the page, a table for each input."""
    header = ["", "", "gold", "precision", "recall", "F1", "UAS", "LAS"]
    parts = [INTRODUCTION]
    for name in INPUTS:
        lines = [line_of(row, str(row["language"]), str(row["parser"])) for row in rows if row["input"] == name]
        parts += [f"## {name.capitalize()}", table(header, lines)]
    publish(results, "crossing", [*parts, AFTER], by_hand="## All files together")


def line_of(row: Row, language: str, parser: str) -> list[str]:
    """Return the line of a row."""
    gold, predicted, right = (int(str(row[name])) for name in COUNTS)
    shares = [right / predicted if predicted else None, right / gold if gold else None]
    shares.append(2 * right / (gold + predicted) if gold + predicted else None)
    figures = [*(percent(share, 1) for share in shares), *map(percent, (row["uas"], row["las"]))]
    return [language, parser, str(gold), *figures]
