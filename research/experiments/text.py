"""Parsing of raw text on treebanks of Universal Dependencies, beside the published figures of Stanza and UDPipe 2.

Writes ``text.csv`` and ``text.md``; treebanks that are not measured keep their figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from nonproj.evaluation.universal import ud_scores
from research.experiments.layout import percent, table
from research.experiments.provenance import NAMES, of_models, publish, script
from research.experiments.raw import parsed
from research.experiments.setting import ROOT, ExperimentSettings, fingerprint, model_file, treebank
from research.experiments.store import Row, read_rows, replace_rows, stored

STANZA, UDPIPE = (
    yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("stanza.yaml", "udpipe2.yaml")
)
METRICS = tuple(STANZA["metrics"])
RELEASED = tuple(script("treebanks").RELEASED)
LANGUAGES = (*RELEASED, "greek", "english-ewt")
FURTHER = tuple(name for name in UDPIPE["rows"] if name not in LANGUAGES)
"""Treebanks of the release without an entry in ``data_scripts/treebanks.py``."""

ALL = (*LANGUAGES, *FURTHER)
PARTS = "grandparent"

SHORT = ROOT / "research" / "experiments" / "text-short.yaml"

INTRODUCTION = """# From raw text, beside neural pipelines

F1 by the official script of the CoNLL 2018 shared task, in per cent, on the test files. The raw text of a file is the
`# text` of its sentences, joined by blanks except after `SpaceAfter=No`, with a blank line before each paragraph.
Models are those of `make train LANG=...`, with the default options; nothing was tuned on a test file. Stanza's figures,
with pretrained vectors and character language models, and UDPipe 2's, with pretrained encoders and all treebanks of a
language, are published ones of release 2.12; our Greek and English are of other releases.

`make bench-text-all` measures ten treebanks, and `ARGS="--languages all"` all of them.
"""
EARLIER = "†"
NOTE = f"{EARLIER} measured on an earlier version"
NOT_MEASURED = ["not measured", *[""] * (len(METRICS) - 1)]


def measure(setting: ExperimentSettings, languages: Sequence[str]) -> None:
    """Measure treebanks one by one; write the page, with what was measured before, after each of them."""
    path = setting.results / "text.csv"
    for language in languages:
        replace_rows(path, language, measured(setting, language), ALL)
        write_page(setting, read_rows(path))


def measured(setting: ExperimentSettings, language: str) -> list[Row]:
    """Return the row of a treebank, read from the file of an earlier run with the same model and test file if any."""
    digest = fingerprint(setting, (), language, PARTS)
    path = setting.results / "runs" / "text" / f"{language}-{digest}.csv"
    return stored(path, lambda: [run(setting, language)])


def run(setting: ExperimentSettings, language: str) -> Row:
    """Parse the raw text of the test file, and return the F1 scores."""
    model, test = model_file(setting, language, PARTS), treebank(setting, language)[1]
    scores = scores_of(model, test)
    return {"language": language} | scores | {"made": made(setting, language)}


def scores_of(model: Path, test: Path) -> Row:
    """Parse the raw text of a gold file, and return the F1 scores."""
    with parsed(model, test) as target:
        scores = ud_scores(test, target)
    return {name: scores[name]["f1"] for name in METRICS}


def made(setting: ExperimentSettings, language: str) -> str:
    """Return the ingredients of a treebank's figures, in the words of a page's record."""
    found = of_models([(language, PARTS)], setting=setting, text=True)
    return ", ".join(f"{name} {value}" for name, value in zip(NAMES, found, strict=True))


# -- the page ----------------------------------------------------------------------------------------------------------


def figures_table(setting: ExperimentSettings, rows: Sequence[Row], languages: Sequence[str]) -> str:
    """Return the table of some treebanks, with published figures below ours, and means over several."""
    lines, marked = [], False
    for language in languages:
        row = next((row for row in rows if row["language"] == language), None)
        cells = [percent(row[metric]) for metric in METRICS] if row else NOT_MEASURED
        earlier = row is not None and row["made"] != made(setting, language)
        marked |= earlier
        lines.append([title_of(language), "nonproj" + f" {EARLIER}" * earlier, *cells])
        lines += published([language])
    lines += means(rows, RELEASED, f"mean of the first {len(RELEASED)}")
    if len(languages) > len(LANGUAGES):
        lines += means(rows, languages, f"mean of all {len(languages)}")
    text = table(["", "", *METRICS], lines)
    return f"{text}\n\n{NOTE}; see [text.csv](text.csv) for the inputs of each row." if marked else text


def title_of(language: str) -> str:
    """Return the name of a treebank with its release.

    Examples
    --------
    >>> title_of("tamil"), title_of("UD_Ancient_Hebrew-PTNK")
    ('UD Tamil TTB 2.12', 'UD Ancient Hebrew PTNK 2.12')
    """
    known = script("treebanks").TREEBANKS
    return known[language].title if language in known else f"{language.replace('_', ' ').replace('-', ' ')} 2.12"


def published(languages: Sequence[str]) -> list[list[str]]:
    """Return a row of published figures, averaged over the treebanks, for each pipeline that has all of them."""
    return [
        ["", name, *(f"{sum(values) / len(values):.2f}" for values in zip(*map(known.get, languages), strict=True))]
        for name, known in (("Stanza 1.5.1", STANZA["rows"]), ("UDPipe 2", UDPIPE["rows"]))
        if all(language in known for language in languages)
    ]


def means(rows: Sequence[Row], languages: Sequence[str], title: str) -> list[list[str]]:
    """Return the means over some treebanks, ours only if all of them are measured."""
    chosen, cells = [row for row in rows if row["language"] in languages], NOT_MEASURED
    if len(chosen) == len(languages):
        cells = [percent(sum(float(str(row[metric])) for row in chosen) / len(chosen)) for metric in METRICS]
    return [[title, "nonproj", *cells], *published(languages)]


def write_page(setting: ExperimentSettings, rows: Sequence[Row]) -> None:
    """Write the page."""
    sources = f"Published figures: {STANZA['source']}; {UDPIPE['source']}."
    publish(setting.results, "text", [INTRODUCTION, figures_table(setting, rows, ALL), sources])
