"""Simulated annotation: which arcs are worth annotating, and the actions that decoding after each correction saves.

Writes ``annotating.csv``, ``annotating-curves.csv``, ``annotating.md`` and ``annotating.png``.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from nonproj.components.trainer import train
from nonproj.evaluation.parsing import evaluate_parser
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import prune
from nonproj.trees.marginals import marginals
from nonproj.types import Sentence
from research.experiments.correcting import constrained, corrections
from research.experiments.layout import figure, percent, pick, table
from research.experiments.provenance import publish
from research.experiments.setting import ROOT, ExperimentSettings, treebank
from research.experiments.store import Row, read_rows, stored, write_rows

LANGUAGES = ("danish", "greek")
HELD_OUT = 300
"""Number of sentences at the end of a training file that are held out."""

START, POOL = 100, 600
"""Numbers of annotated sentences at the start, and of sentences in the pool from which more are annotated."""

ROUNDS, ARCS = 2, 800
"""Rounds of annotation, and arcs annotated in each."""

DOUBT = 0.8
"""Probability below which heads are annotated by the strategy ``doubtful``."""

LEARNT = {"danish": (100, 1000), "greek": (100, 0)}
"""Numbers of training sentences of the models to be corrected; 0: all that are not held out."""

COMMON = {
    "training.tags": "gold",
    "training.epochs": 6,
    "confidence.share": 0.0,
    "segmenter.epochs": 0,
    "tagger.epochs": 0,
    "treebank.held_out": 0.0,
}
CORRECTED = COMMON | {"parts": "grandparent", "network.epochs": 5}
"""Options of the models to be corrected, beside those of ``configs/LANGUAGE.yaml``."""

CURVES = COMMON | {"parts": "sibling", "network.epochs": 0, "features.bits": 21, "labeler.epochs": 4}
"""Options of the models of the curves."""

ROOTS = {"danish": "multi", "greek": "single"}

NAMES = {
    "random": "whole sentences, in random order",
    "sentences": "whole sentences, least certain first",
    "arcs": "single arcs, least certain first",
    "doubtful": "arcs below 80 %, sentence by sentence",
}

INTRODUCTION = f"""# Annotation, simulated

The annotator is the gold standard. The last {HELD_OUT} sentences of the training files are held out, and all
figures are of these; no test file is used. Tags are gold. `python -m research.experiments annotating` makes this page.

## What decoding again is worth

The annotator reads a parsed sentence from left to right and corrects each wrong word: its head, or head and label. With
`--constraints misc`, the rest of the sentence is decoded again after each of these actions, under all that was read
([annotating.csv](annotating.csv) also has those under the corrections alone). "Saved" is the share of the actions that
decoding again saves, with its standard error; "worse" is the share of sentences that took more actions.
"""

BETWEEN = f"""
## What is worth annotating

Training starts from {START} whole sentences. In each of {ROUNDS} rounds, {ARCS} arcs are annotated among {POOL} other
sentences, and training starts anew. The certainty of an arc is the marginal of the word's best head in the
first-order model, that of a sentence is the mean of its words'. Models are small: arcs and siblings, six epochs, no
network. [annotating-curves.csv](annotating-curves.csv) has the other rounds.
"""

log = logging.getLogger("experiments")


def measure(setting: ExperimentSettings, languages: Sequence[str], seeds: int = 3) -> None:
    """Simulate corrections, and annotation for ``seeds`` random orders of the sentences; write the page."""
    units = [(language, count) for language in languages for count in LEARNT[language]]
    _units(setting, "annotating", units, corrected)
    pairs = [(language, seed) for seed in range(seeds) for language in languages]
    _units(setting, "annotating-curves", pairs, curve)
    write_page(setting)


def _units(
    setting: ExperimentSettings, name: str, units: Sequence[tuple[str, int]], run: Callable[..., list[Row]]
) -> None:
    """Run units of work whose rows are not yet stored, and write the table of all of them."""
    rows: list[Row] = []
    for language, number in units:
        path = setting.results / "runs" / name / f"{language}-{number}.csv"
        rows += stored(path, partial(run, setting, language, number))
        write_rows(setting.results / f"{name}.csv", rows)


def material(setting: ExperimentSettings, language: str) -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences to learn from, and the held-out ones."""
    sentences = list(conll.read(treebank(setting, language)[0], require_heads=True))
    return sentences[:-HELD_OUT], sentences[-HELD_OUT:]


def options_of(language: str, changes: dict[str, object]) -> Config:
    """Return the options of a model."""
    return Config.load(ROOT / "configs" / f"{language}.yaml").with_overrides(
        changes | {"treebank.root": ROOTS[language]}
    )


# -- corrections


def corrected(setting: ExperimentSettings, language: str, count: int) -> list[Row]:
    """Return the figures of corrections of a model that has learnt from ``count`` sentences; see `LEARNT`."""
    sentences, held_out = material(setting, language)
    path = setting.models / f"annotating-{language}-{count}.nonproj"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        train(sentences[: count or None], options_of(language, CORRECTED)).save(path)
    facts: Row = {"language": language, "learnt": count or len(sentences)}
    return [facts | row for row in corrections(constrained(Model.load(path)), held_out)]


# -- curves


def curve(setting: ExperimentSettings, language: str, seed: int) -> list[Row]:
    """Return the accuracy after each round of each strategy."""
    sentences, held_out = material(setting, language)
    order = np.random.default_rng(seed).permutation(len(sentences))
    whole = [sentences[i] for i in order[:START].tolist()]
    pool = [sentences[i] for i in order[START : START + POOL].tolist()]
    first = train(whole, options_of(language, CURVES))
    facts: Row = {"language": language, "seed": seed}
    rows = [facts | {"strategy": "start", "round": 0, "arcs": sum(map(len, whole))} | _accuracy(first, held_out)]
    for strategy in NAMES:
        model, given = first, [np.zeros(len(sentence), np.bool_) for sentence in pool]
        for number in range(1, ROUNDS + 1):
            annotate(strategy, Parser(model, tags="none"), pool, given, number * ARCS)
            model = train([*whole, *partial_trees(pool, given)], options_of(language, CURVES))
            arcs = sum(map(len, whole)) + sum(int(each.sum()) for each in given)
            row: Row = {"strategy": strategy, "round": number, "arcs": arcs}
            rows.append(facts | row | _accuracy(model, held_out))
            log.info("%s, seed %d, %s: %s", language, seed, strategy, rows[-1])
    return rows


def _accuracy(model: Model, held_out: Sequence[Sentence]) -> Row:
    """Return UAS and LAS."""
    found = evaluate_parser(Parser(model, tags="none"), held_out)
    return {"uas": found.uas, "las": found.las}


def annotate(strategy: str, parser: Parser, pool: Sequence[Sentence], given: list[np.ndarray], arcs: int) -> None:
    """Annotate words of the pool by a strategy of `NAMES`, until ``arcs`` arcs are given; ``given`` is changed.

    The last sentence is annotated as far as there are arcs left.
    """
    certain = [certainty(parser, sentence) for sentence in pool]
    left = arcs - sum(int(each.sum()) for each in given)
    if strategy == "arcs":
        places = [(p, i, m) for i, each in enumerate(certain) for m, p in enumerate(each) if not given[i][m]]
        for _, i, m in sorted(places)[:left]:
            given[i][m] = True
        return
    doubtful = [
        (each < DOUBT) & ~own if strategy == "doubtful" else ~own for each, own in zip(certain, given, strict=True)
    ]
    key = [0.0 if strategy == "random" else float(each.mean()) for each in certain]
    for i in np.argsort(key, kind="stable").tolist():
        words = np.flatnonzero(doubtful[i])[:left]
        given[i][words] = True
        left -= len(words)


def certainty(parser: Parser, sentence: Sentence) -> np.ndarray:
    """Return the marginal of each word's best head in the first-order model, float64[n]."""
    [scores] = parser.run([sentence], until=prune).first_order
    return np.asarray(marginals(scores, parser.request.options.single_root)[0].max(axis=0)[1:])


def partial_trees(pool: Sequence[Sentence], given: Sequence[np.ndarray]) -> list[Sentence]:
    """Return the sentences with only their given heads and labels; those without any are left out."""
    found = []
    for sentence, own in zip(pool, given, strict=True):
        if own.any():
            pairs = zip(sentence.rows, own.tolist(), strict=True)
            rows = [row if kept else [*row[:6], "_", "_", *row[8:]] for row, kept in pairs]
            found.append(dataclasses.replace(sentence, rows=rows, tree=sentence.tree if own.all() else None))
    return found


# -- the page


def write_page(setting: ExperimentSettings) -> None:
    """Write the page; what is written by hand below the last table is kept."""
    lines = []
    for row in pick(read_rows(setting.results / "annotating.csv"), strategy="read"):
        what = "heads and labels" if row["labels"] else "heads"
        saved = f"{100 * row['saved']:.1f} ± {100 * row['error']:.1f}"  # type: ignore[operator]
        counts = [f"{row['learnt']:,}", f"{int(row['wrong']):,}", f"{int(row['actions']):,}"]  # type: ignore[call-overload]
        lines.append([str(row["language"]).title(), counts[0], what, *counts[1:], saved, percent(row["worse"], 1)])
    header = ["", "learnt from", "corrected", "wrong words", "actions", "saved, %", "worse, %"]
    rows = read_rows(setting.results / "annotating-curves.csv")
    plot(rows, setting.results)
    parts = [INTRODUCTION, table(header, lines), BETWEEN, _curves(rows), "![UAS by annotated arcs](annotating.png)"]
    publish(setting.results, "annotating", parts, by_hand="## Findings")


def grouped(rows: Sequence[Row]) -> dict[tuple[str, str, int], list[Row]]:
    """Return the rows of all seeds by language, strategy and round."""
    found: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for row in rows:
        found[str(row["language"]), str(row["strategy"]), int(row["round"])].append(row)  # type: ignore[call-overload]
    return found


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, NaN of one value.

    Examples
    --------
    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(np.mean(values)), error


def _curves(rows: Sequence[Row]) -> str:
    """Return the table of the curves."""
    lines = []
    for (language, strategy, number), own in grouped(rows).items():
        if number not in (0, ROUNDS):
            continue
        arcs = float(np.mean([row["arcs"] for row in own]))  # type: ignore[misc]
        cells = [language.title(), NAMES.get(strategy, "at first"), str(number), f"{arcs:,.0f}", str(len(own))]
        for name in ("uas", "las"):
            mean, error = mean_and_error([100 * float(row[name]) for row in own])  # type: ignore[arg-type]
            cells.append(f"{mean:.2f}" + (f" ± {error:.2f}" if len(own) > 1 else ""))
        lines.append(cells)
    return table(["", "annotated", "round", "arcs", "seeds", "UAS", "LAS"], lines)


def plot(rows: Sequence[Row], folder: Path) -> None:
    """Write ``annotating.png``."""
    found = grouped(rows)
    languages = list(dict.fromkeys(language for language, _, _ in found))

    def draw(axes) -> None:
        for each, language in zip(axes, languages, strict=True):
            for strategy, name in NAMES.items():
                points = [found[language, "start", 0]]
                points += [found[key] for k in range(1, ROUNDS + 1) if (key := (language, strategy, k)) in found]
                x = [np.mean([row["arcs"] for row in own]) for own in points]  # type: ignore[misc]
                uas = [mean_and_error([100 * float(row["uas"]) for row in own]) for own in points]  # type: ignore[arg-type]
                each.errorbar(x, *np.nan_to_num(uas).T, marker="o", capsize=2, label=name)
            each.set(title=language.title(), xlabel="annotated arcs", ylabel="UAS")

    figure(folder / "annotating.png", len(languages), draw)
