"""Pretrained encoders: from raw text to trees beside Stanza and UDPipe 2, and what exact trees are worth with them.

Missing models are trained, which needs PyTorch: ``pip install 'nonproj[train-encoder]'``, and, but for English, the
encoder of many languages: ``make train LANG=multilingual ENCODER=e5-small``.  Writes ``neural.csv``,
``neural-trees.csv`` and ``neural.md``; treebanks that are not measured keep their figures.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from research.experiments.layout import percent, pick, table
from research.experiments.neural_trees import ARBORESCENCE, EXACT, METHODS, TOGETHER, decoded_rows
from research.experiments.provenance import NAMES, of_models, publish
from research.experiments.setting import RESULTS, ExperimentSettings, configuration, fetched, trained_file, treebank
from research.experiments.store import Row, known, read_rows, replace_rows
from research.experiments.text import (
    ALL,
    EARLIER,
    LANGUAGES,
    METRICS,
    NOTE,
    PARTS,
    RELEASED,
    STANZA,
    UDPIPE,
    scores_of,
    title_of,
)

ENCODERS = {"english-ewt": "minilm"}
OTHERS = "multilingual"
"""The encoder of each treebank, and of those that are not named."""

MULTILINGUAL = "multilingual-grandparent-e5-small.nonproj"
"""The model whose encoder the others start from."""

TEXT, TREES = "neural.csv", "neural-trees.csv"
COMPARED = ("UPOS", "UFeats", "UAS", "LAS", "MLAS")
PUBLISHED = {"Stanza 1.5.1": STANZA["rows"], "UDPipe 2": UDPIPE["rows"]}

INTRODUCTION = """# Pretrained encoders

Models of `nonproj train --encoder` with the default options and without confidence: for English from MiniLM (6 layers,
23 million weights), for the others from multilingual-e5-small (12 layers, 21 million weights beside its vocabulary)
that has first learnt from 28 small treebanks, most of these among them ([encoders](../../docs/encoders.md)). Nothing
was learnt from, or tuned on, a test file. `python -m research.experiments neural` makes this page.

## From raw text

F1 by the official script of the CoNLL 2018 shared task, in per cent, on the test files; [text.md](text.md) has linear
models and published figures by treebank.
"""

EXACTNESS = """## What exact trees are worth

Test files with gold words and predicted tags, punctuation included. The first four rows of a treebank decode the
scores of the encoder alone: the best head of each word, the best arborescence and projective tree of arcs, and the best
tree with siblings and grandparents; the last one adds the scores of the linear model. "Invalid" are sentences with a
cycle or several roots. The gain is the difference in UAS from the best arborescence and half of its 95 % interval; p is
that of a paired permutation test. [neural-trees.csv](neural-trees.csv) has other figures, such as those of
non-projective arcs.
"""

SEARCH = """Certificates of the trees with siblings and grandparents, and decoding time: processor time on one core,
scores not included. "Wrong" is the number of certified trees that score less than the solution of an integer program
over the same candidate arcs, of those compared.
"""

log = logging.getLogger("experiments")


def measure(setting: ExperimentSettings, languages: Sequence[str]) -> None:
    """Measure treebanks one by one; write the page, with what was measured before, after each of them."""
    for language in languages:
        model, test = encoder_model(setting, language), treebank(setting, language)[1]
        log.info("neural, %s", language)
        facts = {"language": language, "encoder": encoder_of(language), "made": made(setting, language)}
        found = {TEXT: [facts | scores_of(model, test)]}
        if language in LANGUAGES:
            found[TREES] = [facts | row for row in decoded_rows(model, test, setting.sentences)]
        for name, rows in found.items():
            replace_rows(setting.results / name, language, rows, ALL)
        write_page(setting)


def encoder_of(language: str) -> str:
    """Return the name of the encoder of a treebank."""
    return ENCODERS.get(language, OTHERS)


def encoder_model(setting: ExperimentSettings, language: str) -> Path:
    """Return the file of a model with an encoder; if it is missing, train it.

    Raises
    ------
    ModelError
        The model was trained by another version, or with other options.
    """
    name = encoder_of(language)
    start = setting.models / MULTILINGUAL if name == OTHERS else setting.data / "encoders" / name
    if not start.exists() and name == OTHERS:
        raise SystemExit(f"there is no {start}; create it with: make train LANG=multilingual ENCODER=e5-small")
    if not start.exists():
        fetched("data_scripts/fetch_encoder.py", setting.data, name)
    options = {"encoder.folder": str(start), "confidence.share": 0.0}
    config = configuration(setting, language, PARTS).with_overrides(options)
    return trained_file(setting.models / f"{language}-{name}.nonproj", setting, language, config)


def made(setting: ExperimentSettings, language: str) -> str:
    """Return the ingredients of a treebank's figures, in the words of a page's record."""
    found = of_models([(language, PARTS)], {"encoder.folder": encoder_of(language)}, setting, text=True)
    return ", ".join(f"{name} {value}" for name, value in zip(NAMES, found, strict=True))


# -- the page ----------------------------------------------------------------------------------------------------------


def text_table(setting: ExperimentSettings) -> str:
    """Return the table from raw text: models with an encoder; in the means, linear ones and published figures, too."""
    ours = {str(row["language"]): _figures(row, 100) for row in known(setting.results / TEXT)}
    rows = {"linear": {str(row["language"]): _figures(row, 100) for row in read_rows(RESULTS / "text.csv")}}
    rows["with an encoder"] = ours
    for name, figures in PUBLISHED.items():
        by_name = {language: dict(zip(METRICS, row, strict=True)) for language, row in figures.items()}
        rows[name] = {language: _figures(row, 1) for language, row in by_name.items()}
    marks = {str(row["language"]): _mark(setting, row) for row in known(setting.results / TEXT)}
    groups = [(title_of(language) + marks[language], [language]) for language in ours]
    groups += [(f"mean of the first {len(RELEASED)}", RELEASED), (f"mean of all {len(ALL)}", ALL)]
    lines = []
    for title, languages in groups:
        if set(languages) <= set(ours):
            named = {name: known for name, known in rows.items() if set(languages) <= set(known)}
            means = {name: np.mean([known[each] for each in languages], axis=0) for name, known in named.items()}
            shown = means if len(languages) > 1 else {"with an encoder": means["with an encoder"]}
            for i, (name, row) in enumerate(shown.items()):
                lines.append(["" if i else title, name, *(f"{x:.2f}" for x in row)])
    return table(["", "", *COMPARED], lines)


def ahead(setting: ExperimentSettings) -> str:
    """Return a sentence with the number of treebanks on which models with an encoder are ahead of UDPipe 2."""
    column = METRICS.index("LAS")
    pairs = [
        (100 * float(str(row["LAS"])), UDPIPE["rows"][row["language"]][column])
        for row in known(setting.results / TEXT)
        if row["language"] in UDPIPE["rows"]
    ]
    return f"With an encoder LAS is higher than UDPipe 2's on {sum(a > b for a, b in pairs)} of {len(pairs)} treebanks."


def _mark(setting: ExperimentSettings, row: Row) -> str:
    """Return the mark of a row that is of an earlier version."""
    return "" if row["made"] == made(setting, str(row["language"])) else f" {EARLIER}"


def _figures(row: Row, factor: float) -> list[float]:
    """Return the compared figures of a row in per cent."""
    return [factor * float(str(row[name])) for name in COMPARED]


def trees_table(setting: ExperimentSettings) -> str:
    """Return the table of all ways to decode."""
    lines = []
    for row in known(setting.results / TREES):
        first = row["method"] == next(iter(METHODS))
        shares = [percent(row[name]) for name in ("uas", "las")]

        gain = f"{100 * float(str(row['gain'])):+.2f} ± {100 * float(str(row['interval'])):.2f}"
        invalid = f"{row['invalid']} of {row['sentences']}" if row["invalid"] else "0"
        title = title_of(str(row["language"])) + _mark(setting, row) if first else ""
        tested = ["–", "–"] if row["method"] == ARBORESCENCE else [gain, _probability(row["p_uas"])]
        lines.append([title, METHODS[str(row["method"])], *shares, invalid, *tested])
    return table(["", "", "UAS", "LAS", "invalid", "gain", "p"], lines)


def _probability(p: object) -> str:
    """Return a probability with three digits, a dash if there is none."""
    if not isinstance(p, int | float):
        return "–"
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def search_table(setting: ExperimentSettings) -> str:
    """Return the table of certificates and times."""
    lines, rows = [], known(setting.results / TREES)
    for language in dict.fromkeys(str(row["language"]) for row in rows):
        own = {str(row["method"]): row for row in pick(rows, language=language)}
        cells = [f"{own[ARBORESCENCE]['milliseconds']:.3f}"]
        for method in (EXACT, TOGETHER):
            row = own[method]
            cells += [percent(row["certified"], 1), f"{row['milliseconds']:.2f}"]
        wrong, programs = (
            sum(int(own[each].get(name) or 0) for each in (EXACT, TOGETHER)) for name in ("wrong", "programs")
        )
        cells.append(f"{wrong} of {programs}" if programs else "–")
        lines.append([title_of(language), *cells])
    header = ["", "best arborescence: ms a sentence", "encoder alone: certified %", "ms"]
    return table([*header, "with linear scores: certified %", "ms", "wrong"], lines)


def write_page(setting: ExperimentSettings) -> None:
    """Write the page."""
    parts = [INTRODUCTION, text_table(setting), ahead(setting)]
    parts += [EXACTNESS, trees_table(setting), SEARCH, search_table(setting)]
    if any(_mark(setting, row) for row in known(setting.results / TEXT)):
        parts.insert(2, f"{NOTE}; see [{TEXT}]({TEXT}) for the inputs of each row.")
    publish(setting.results, "neural", parts)
