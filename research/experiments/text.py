"""From raw text to trees on ten treebanks of Universal Dependencies, beside the published figures of Stanza.

    python -m research.experiments.text                  # all treebanks; a stopped run can be resumed
    python -m research.experiments.text tamil latin      # only these; the others keep their figures

Writes ``text.csv`` and ``text.md`` in the folder of results, and the table on the page ``research/figures.md``.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from nonproj.evaluation.universal import ud_scores
from nonproj.io.temporary import replacing
from nonproj.kernels.interpreters import environment, python
from research.benchmarks.text import blocks, put, raw_text
from research.experiments.__main__ import run_program
from research.experiments.layout import percent, table
from research.experiments.provenance import NAMES, of_models, script, stamp
from research.experiments.setting import RESULTS, ROOT, Setting, fingerprint, model_file, treebank
from research.experiments.store import Row, read_rows, write_rows

STANZA = yaml.safe_load(Path(__file__).with_name("stanza.yaml").read_text(encoding="utf-8"))
METRICS = tuple(STANZA["metrics"])
RELEASED = tuple(script("treebanks").RELEASED)
LANGUAGES = (*RELEASED, "greek", "english-ewt")
PARTS = "grandparent"

FIGURES = ROOT / "research" / "figures.md"
SHORT = ROOT / "research" / "experiments" / "text-short.yaml"

INTRODUCTION = """# From raw text, beside a neural pipeline

F1 by the official script of the CoNLL 2018 shared task, in per cent, on the test files. The raw text of a file is the
`# text` of its sentences, joined by blanks except after `SpaceAfter=No`, with a blank line before each paragraph.
Models are those of `make train LANG=...`: trained on the training file alone, with the default options and without any
other text. Nothing was tuned on a test file. Stanza's figures are published ones, with pretrained word vectors and
character language models. Its models for Greek and English were trained and tested on the files of release 2.12, ours
on those of `data_scripts/treebanks.py`, so these two rows are only similar.

`make bench-text-all` makes this page, for the treebanks in `ARGS` or all of them; `nonproj evaluate --ud --errors`
shows the errors behind a row by kind.
"""
EARLIER = "†"
NOTE = f"{EARLIER} measured on an earlier version; see [text.csv](text.csv) for the inputs of each row."
NOT_MEASURED = ["not measured", *[""] * (len(METRICS) - 1)]

log = logging.getLogger("experiments")


def main(results: Path, data: Path, short: bool) -> None:
    """Measure all treebanks, or only the smallest one with a small model, and write the page."""
    if short:
        measure(Setting(results, results / "models", data, config=SHORT, training=60), ("tamil",))
    else:
        measure(Setting(results, ROOT / "models", data), LANGUAGES)


def measure(setting: Setting, languages: Sequence[str]) -> None:
    """Measure treebanks one by one; write the page, with what was measured before, after each of them."""
    path = setting.results / "text.csv"
    for language in languages:
        rows = measured(setting, language)
        kept = read_rows(path) if path.exists() else []
        kept = [row for row in kept if row["language"] != language] + rows
        kept.sort(key=lambda row: LANGUAGES.index(str(row["language"])))
        write_rows(path, kept)
        write_page(setting, kept)


def measured(setting: Setting, language: str) -> list[Row]:
    """Return the row of a treebank, read from the file of an earlier run with the same model and test file if any."""
    digest = fingerprint(setting, (), language, PARTS)
    path = setting.results / "runs" / "text" / f"{language}-{digest}.csv"
    if not path.exists():
        log.info("text, %s", language)
        write_rows(path, [run(setting, language)])
    return read_rows(path)


def run(setting: Setting, language: str) -> Row:
    """Parse the raw text of the test file, and return the F1 scores."""
    model, test = model_file(setting, language, PARTS), treebank(setting, language)[1]
    scores = scores_of(model, test)
    return {"language": language} | scores | {"made": made(setting, language)}


def scores_of(model: Path, test: Path) -> Row:
    """Parse the raw text of a gold file, and return the F1 scores."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.txt", Path(folder) / "out.conllu"
        source.write_text(raw_text(blocks(test)), encoding="utf-8")
        command = python("-m", "nonproj", "parse", "-q", str(model), "--text", str(source), "-o", str(target))
        subprocess.run(command, check=True, cwd=ROOT, env=environment())
        scores = ud_scores(test, target)
    return {name: scores[name]["f1"] for name in METRICS}


def made(setting: Setting, language: str) -> str:
    """Return what the figures of a treebank depend on, in the words of a page's record."""
    found = of_models([(language, PARTS)], setting=setting, text=True)
    return ", ".join(f"{name} {value}" for name, value in zip(NAMES, found, strict=True))


# -- the page ----------------------------------------------------------------------------------------------------------


def figures_table(setting: Setting, rows: Sequence[Row]) -> str:
    """Return the table of all treebanks, with Stanza's figures below ours, and the means of the release's treebanks."""
    titles, lines, marked = script("treebanks").TREEBANKS, [], False
    for language in LANGUAGES:
        row = next((row for row in rows if row["language"] == language), None)
        cells = [percent(row[metric]) for metric in METRICS] if row else NOT_MEASURED
        earlier = row is not None and row["made"] != made(setting, language)
        marked |= earlier
        lines.append([titles[language].title, "nonproj" + f" {EARLIER}" * earlier, *cells])
        lines.append(["", "Stanza 1.5.1", *(f"{value:.2f}" for value in STANZA["rows"][language])])
    lines += means(rows)
    text = table(["", "", *METRICS], lines)
    return f"{text}\n\n{NOTE}" if marked else text


def means(rows: Sequence[Row]) -> list[list[str]]:
    """Return the means over the treebanks of the release, ours only if all of them are measured."""
    chosen, cells = [row for row in rows if row["language"] in RELEASED], NOT_MEASURED
    if len(chosen) == len(RELEASED):
        cells = [percent(sum(float(str(row[metric])) for row in chosen) / len(chosen)) for metric in METRICS]
    theirs = zip(*(STANZA["rows"][language] for language in RELEASED), strict=True)
    return [
        [f"mean of the first {len(RELEASED)}", "nonproj", *cells],
        ["", "Stanza 1.5.1", *(f"{sum(values) / len(values):.2f}" for values in theirs)],
    ]


def write_page(setting: Setting, rows: Sequence[Row]) -> None:
    """Write the page, and put its table on that of all figures if it is the project's own."""
    path, text = setting.results / "text.md", figures_table(setting, rows)
    with replacing(path) as temporary:
        temporary.write_text(f"{INTRODUCTION}\n{text}\n\nStanza's figures: {STANZA['source']}.\n", encoding="utf-8")
    stamp(path, "text")
    if setting.results == RESULTS:
        put(FIGURES, "universal", text.replace("(text.csv)", "(results/text.csv)"))


def parse_arguments(
    arguments: list[str] | None,
    program: str,
    description: str,
    known: Sequence[str] = LANGUAGES,
    default: Sequence[str] | None = None,
) -> tuple[Setting, Sequence[str]]:
    """Return the setting and the treebanks that a command line asks for; by default these, or all known ones."""
    usual = ", ".join(default) if default else "all"
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(known)} (default: {usual})")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to (default: research/results)")
    parser.add_argument("--models", type=Path, default=ROOT / "models", help="missing models are trained")
    parser.add_argument(
        "--data", type=Path, default=ROOT / "data", help="folder of treebanks and encoders, fetched if missing"
    )
    options = parser.parse_args(arguments)
    for language in options.languages:
        if language not in known:
            parser.error(f"unknown treebank {language}; choose from {', '.join(known)}")
    return Setting(options.results.resolve(), options.models, options.data), options.languages or default or known


def _run(arguments: list[str] | None) -> None:
    """Run the command line."""
    measure(*parse_arguments(arguments, "research.experiments.text", __doc__.split("\n")[0]))


if __name__ == "__main__":
    sys.exit(run_program(_run, None))
