"""Share of planted errors among the first suspicions of ``nonproj audit``, by treebank, kind and ranking.

Errors are planted in the development file (`research.experiments.planting`), which is audited with a model that has
learnt from the training file.  Writes ``audit.csv`` and ``audit.md``.
It needs the workbench: make setup-workbench.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sklearn.metrics import average_precision_score

from nonproj.io import conll
from nonproj.io.checks import ReadingRules
from nonproj.io.temporary import replacing
from nonproj.types import Sentence
from nonproj_workbench.audit.folds import Fold, predict_fold, read_predictions
from nonproj_workbench.audit.nuclei import variations
from nonproj_workbench.audit.predictions import Prediction
from nonproj_workbench.audit.suspicions import Suspicion, find_suspicions
from research.experiments.layout import percent, table
from research.experiments.planting import KINDS, Planted, Usage, plant
from research.experiments.provenance import publish, script
from research.experiments.setting import ExperimentSettings, configuration, development, model_file, treebank
from research.experiments.store import Row, known, replace_rows
from research.experiments.text import LANGUAGES as ALL
from research.experiments.text import PARTS, made

SHARE, SEED = 0.02, 1
"""Share of the words with an error of each kind; seed of the choice."""

LANGUAGES = ("english-ewt", "greek", "afrikaans")
"""The treebanks of the page: rankings were chosen on the first."""

FILE = "audit.csv"

RANKINGS: dict[str, Callable[[Suspicion], float]] = {
    "margin": lambda each: -1.0 if each.margin is None else each.margin,
    "confidence": lambda each: each.confidence or 0.0,
    "variation": lambda each: each.others / (each.own + each.others + 1),
    "combined": lambda each: each.score,
}
"""Scores of suspicions: by how much the prediction scores more than the annotation, the probability that the head is
wrong, variation nuclei, and their combination, as ``nonproj audit`` ranks them."""

INTRODUCTION = """# Finding errors in treebanks

`nonproj audit` on development files in which errors are planted: heads, labels and tags of 2 % of the words each,
changed plausibly without asking a model (`research/experiments/planting.py`). Predictions are those of the model of
`make train LANG=...`. Real errors of the annotation count as mistakes. Precision is that of as many suspicions as there
are planted errors, and of a quarter of these; average precision is the area under the curve of precision and recall.
Rankings: by the exact difference of scores (*margin*); by the probability that the head is wrong (*confidence*); by the
same words in the same context, annotated otherwise (*variation*); and by their sum (*combined*), whose weights were
chosen on English; [the file](audit.csv) has all rankings of all treebanks. `python -m research.experiments audit` makes
this page.
"""

log = logging.getLogger("experiments")


def measure(setting: ExperimentSettings, languages: Sequence[str]) -> None:
    """Measure treebanks one by one; rows of others are kept."""
    for language in languages:
        log.info("audit, %s", language)
        facts: Row = {"language": language, "made": made(setting, language)}
        rows = [facts | row for row in figures(setting, language)]
        replace_rows(setting.results / FILE, language, rows, [*LANGUAGES, *ALL])
        write_page(setting)


def figures(setting: ExperimentSettings, language: str) -> list[Row]:
    """Return the precision of each ranking of each kind of error."""
    learnt = list(conll.read(treebank(setting, language)[0], require_heads=True))
    sentences, planted, path = planted_file(setting, language, learnt)
    predictions = predicted(setting, language, path)
    suspicions = find_suspicions(sentences, predictions, variations([*sentences, *learnt], len(sentences)))
    words = sum(map(len, sentences))
    rows: list[Row] = []
    for kind in KINDS:
        places = {(each.sentence, each.word) for each in planted if each.kind == kind}
        for name, score in RANKINGS.items():
            if name == "confidence" and not any(each.confidence for each in suspicions[kind]):
                continue
            scores = {each[1:3]: score(each) for each in suspicions[kind]}
            row: Row = {"kind": kind, "ranking": name, "words": words, "planted": len(places)}
            rows.append(row | {"listed": len(places & scores.keys())} | precision(scores, places, words))
    return rows


def precision(scores: Mapping[tuple[int, int], float], places: set[tuple[int, int]], words: int) -> Row:
    """Return the precision of a ranking, and the area under its curve.

    Parameters
    ----------
    scores : mapping
        From places to scores; all other words come last.
    places : set
        Places of the planted errors.
    words : int

    Examples
    --------
    >>> scores = {(0, 1): 3.0, (0, 2): 2.0, (1, 1): 1.0}
    >>> precision(scores, {(0, 1), (1, 1)}, 10)["first"]
    0.5
    """
    ranked = sorted(scores, key=lambda place: (-scores[place], place))
    n = len(places)
    quarter = max(1, n // 4)
    right = [place in places for place in ranked]
    least = min(scores.values(), default=0.0) - 1.0
    values = [scores[place] for place in ranked] + [least] * (words - len(ranked))
    missed = n - sum(right)
    truth = [*right, *[True] * missed, *[False] * (words - len(ranked) - missed)]
    average = float(average_precision_score(truth, values)) if n else 0.0
    return {"first": sum(right[:n]) / max(1, n), "quarter": sum(right[:quarter]) / quarter, "average": average}


def planted_file(
    setting: ExperimentSettings, language: str, learnt: Sequence[Sentence]
) -> tuple[list[Sentence], list[Planted], Path]:
    """Write the development file with planted errors; return its sentences, the errors and its path."""
    sentences = list(conll.read(development(setting, language), require_heads=True))[: setting.sentences or None]
    rows, planted = plant(sentences, Usage([*learnt, *sentences]), SHARE, SEED)
    path = setting.models / f"{language}-planted.conllu"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text("".join(map(with_columns, sentences, rows)), encoding="utf-8")
    return list(conll.read(path, require_heads=True)), planted, path


def with_columns(sentence: Sentence, rows: Sequence[Sequence[str]]) -> str:
    """Return the text of a sentence with other rows."""
    lines = list(sentence.lines)
    for index, row in zip(sentence.word_lines, rows, strict=True):
        lines[index] = "\t".join(row) + "\n"
    return "".join(lines)


def predicted(setting: ExperimentSettings, language: str, path: Path) -> list[Prediction]:
    """Return the predictions of the sentences of a file by the model that has learnt from the training file."""
    training, model = treebank(setting, language)[0], model_file(setting, language, PARTS)
    config = configuration(setting, language, PARTS)
    fold = Fold((str(path),), (str(training),), ReadingRules(), config, 1, 0, "", False, str(model))
    lines = predict_fold(fold).decode().splitlines()
    sentences = list(conll.read(path, require_heads=True))
    return read_predictions(iter(lines), sentences)


# -- the page ----------------------------------------------------------------------------------------------------------


def write_page(setting: ExperimentSettings) -> None:
    """Write the page; what is written by hand below the table is kept."""
    titles, lines = script("treebanks").TREEBANKS, []
    for row in known(setting.results / FILE):
        if row["ranking"] != "combined" and row["language"] != LANGUAGES[0]:
            continue
        title = titles[str(row["language"])].title.split(",")[0]
        counts = [f"{row['planted']:,}", f"{row['listed']:,}"]
        shares = [percent(row[each], 1) for each in ("first", "quarter", "average")]
        lines.append([title, f"{row['kind']}s", row["ranking"], *counts, *shares])
    header = ["", "errors", "ranking", "planted", "listed", "precision", "of a quarter", "average precision"]
    publish(setting.results, "audit", [INTRODUCTION, table(header, lines)], by_hand="## ")
