"""Pretrained encoders: from raw text to trees beside Stanza, and what exact trees are worth with them.

    python -m research.experiments.neural                  # all treebanks; a stopped run can be resumed
    python -m research.experiments.neural tamil latin      # only these; the others keep their figures
    python -m research.experiments.neural danish           # words without tags: see `research.experiments.untagged`

Encoders are those of ``data_scripts/fetch_encoder.py``, in the folder ``encoders`` of the data.  Missing models are
trained, which needs PyTorch: ``pip install 'nonproj[train-encoder]'``.  Writes ``neural.csv``, ``neural-trees.csv``,
``neural-untagged.csv`` and ``neural.md`` in the folder of results.
"""

from __future__ import annotations

import dataclasses
import logging
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.io.temporary import replacing
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.tagging.analyzer import Analyzer
from research.experiments.__main__ import run_program
from research.experiments.layout import percent, pick, table
from research.experiments.neural_trees import ARBORESCENCE, EXACT, METHODS, TOGETHER, decoded_rows
from research.experiments.provenance import NAMES, of_models, script, stamp
from research.experiments.setting import RESULTS, ROOT, Setting, model_file, treebank
from research.experiments.store import Row, read_rows, write_rows
from research.experiments.text import (
    EARLIER,
    LANGUAGES,
    METRICS,
    PARTS,
    RELEASED,
    SHORT,
    STANZA,
    parse_arguments,
    scores_of,
)
from research.experiments.untagged import CHANGES, LANGUAGE, own_setting, untagged_rows, untagged_section

ENCODERS = {"english-ewt": "minilm"}
OTHERS = "e5-small"
"""The encoder of each treebank, and of those that are not named."""

NO_CHANGES: Mapping[str, object] = {}

TEXT, TREES, UNTAGGED = "neural.csv", "neural-trees.csv", "neural-untagged.csv"
COMPARED = ("UPOS", "UAS", "LAS", "MLAS")

INTRODUCTION = """# Pretrained encoders

Models of `nonproj train --encoder` with the default options and without confidence: MiniLM (6 layers, 23 million
weights) for English, multilingual-e5-small (12 layers, 21 million weights beside its vocabulary, published with 4 bits)
for the others, both from `data_scripts/fetch_encoder.py`, with eight bits in the model. They are trained on the
training files alone. Nothing was tuned on a test file. `python -m research.experiments neural` makes this page.
[Encoders](../../docs/encoders.md) explains the method.

## From raw text

F1 by the official script of the CoNLL 2018 shared task, in per cent, on the test files; raw text, linear models and
Stanza's published figures are those of [text.md](text.md), where Greek and English are of other releases.
"""

EXACTNESS = """## What exact trees are worth

Test files with gold words and predicted tags; all words count, punctuation included. The first four rows of a treebank
decode the scores of the encoder alone, the last one the sums with those of the linear model. Labels are the best ones
of each arc, by the same scores; in the last row those of a tree are chosen together. "Complete" are trees whose heads
are all right. "Invalid" is the number of sentences with a cycle, or with several roots. Precision and recall are those
of non-projective arcs. The gain is the difference in UAS from the best arborescence and half of its 95 % interval, from
the differences of the sentences; p is that of a paired permutation test.
"""

SEARCH = """Certificates of the trees with siblings and grandparents, and decoding time: processor time on one core,
scores not included. "Wrong" is the number of certified trees that score less than the solution of an integer program
over the same candidate arcs, of those compared.
"""

log = logging.getLogger("experiments")


def main(results: Path, data: Path, short: bool) -> None:
    """Measure all treebanks, or only the smallest one with a small model and few sentences, and write the page."""
    if short:
        setting = Setting(results, results / "models", data, config=SHORT, training=60, sentences=20)
        measure(setting, ("tamil",), {"encoder.epochs": 1})
    else:
        measure(Setting(results, ROOT / "models", data), (*LANGUAGES, LANGUAGE))


def measure(setting: Setting, languages: Sequence[str], changes: Mapping[str, object] = NO_CHANGES) -> None:
    """Measure treebanks one by one; write the page, with what was measured before, after each of them."""
    for language in languages:
        if language == LANGUAGE:
            measure_untagged(setting, changes or CHANGES)
            continue
        model, test = encoder_model(setting, language, changes), treebank(setting, language)[1]
        log.info("neural, %s", language)
        facts = {"language": language, "encoder": encoder_of(language), "made": made(setting, language)}
        found = {TEXT: [facts | scores_of(model, test)]}
        found[TREES] = [facts | row for row in decoded_rows(model, test, setting.sentences)]
        for name, rows in found.items():
            kept = [row for row in known(setting, name) if row["language"] != language] + rows
            kept.sort(key=lambda row: LANGUAGES.index(str(row["language"])))
            write_rows(setting.results / name, kept)
        write_page(setting)


def measure_untagged(setting: Setting, changes: Mapping[str, object]) -> None:
    """Measure Danish without tags, and write the page."""
    own, name = own_setting(setting), encoder_of(LANGUAGE)
    encoder = encoder_model(own, LANGUAGE, changes)
    models = {"linear": model_file(own, LANGUAGE, PARTS), f"with {name}": encoder}
    write_rows(setting.results / UNTAGGED, untagged_rows(setting, models, treebank(setting, LANGUAGE)[1]))
    write_page(setting)


def known(setting: Setting, name: str) -> list[Row]:
    """Return the rows of a file of results, none if there is no file."""
    path = setting.results / name
    return read_rows(path) if path.exists() else []


# -- models ------------------------------------------------------------------------------------------------------------


def encoder_of(language: str) -> str:
    """Return the name of the encoder of a treebank."""
    return ENCODERS.get(language, OTHERS)


def encoder_model(setting: Setting, language: str, changes: Mapping[str, object] = NO_CHANGES) -> Path:
    """Return the file of a model with an encoder; if it is missing, fine-tune the encoder and add it to the linear one.

    Encoder and linear model learn independently, so this is the model of ``nonproj train --encoder``, but for the
    confidence, the price of non-projective trees, and the card.

    Parameters
    ----------
    setting : Setting
    language : str
    changes : mapping of str to value
        Options of the encoder, ``encoder.NAME``, that are not the default ones.
    """
    path = setting.models / f"{language}-{encoder_of(language)}.nonproj"
    if path.exists():
        check_encoder(path, changes)
        return path
    base, folder = model_file(setting, language, PARTS), setting.data / "encoders" / encoder_of(language)
    if not folder.exists():
        command = [
            sys.executable,
            "data_scripts/fetch_encoder.py",
            encoder_of(language),
            "--out",
            str(setting.data.resolve()),
        ]
        subprocess.run(command, check=True, cwd=ROOT)
    from nonproj.learning.encoders.training import EncoderTask, fine_tune  # needs PyTorch
    from nonproj.scoring.encoders.architecture import read_folder

    log.info("training %s", path.name)
    sentences = list(conll.read(treebank(setting, language)[0], require_heads=True))[: setting.training or None]
    model = Model.load_trained(base)
    config = model.config.with_overrides({"encoder.folder": str(folder), **changes})
    unfinished = path.with_name(f"{path.name}.unfinished")
    analyzer = model.loaded(Analyzer)
    task = EncoderTask(model.labels, config, not model.meta["multi_root"], analyzer.tags if analyzer else None)
    scorer = fine_tune(read_folder(folder), sentences, task, lambda items, _: items, unfinished)
    with_encoder(model, scorer.state(), config).save(path)
    unfinished.unlink(missing_ok=True)
    return path


def check_encoder(path: Path, changes: Mapping[str, object] = NO_CHANGES) -> None:
    """Raise `ModelError` unless the encoder of a model was fine-tuned with today's options, and these."""
    found = dataclasses.replace(Model.load(path).config.encoder, folder=None)
    if found != Config().with_overrides(changes).encoder:
        raise ModelError(f"{path}: the options of its encoder are not today's; remove it, or name another --models")


def with_encoder(model: Model, state: tuple[dict, dict[str, np.ndarray]], config: Config) -> Model:
    """Return a model with an encoder, and without what was learnt from trees of the linear model alone."""
    weights = {name: array for name, array in model.weights.items() if not name.startswith("confidence.")}
    components = {name: values for name, values in model.components.items() if name != "confidence"}
    meta = {name: value for name, value in model.meta.items() if name not in ("confidence", "crossing")}
    found = dataclasses.replace(model, config=config, weights=weights, components=components, meta=meta)
    found.add_component("encoder", state)
    return found


def made(setting: Setting, language: str) -> str:
    """Return what the figures of a treebank depend on, in the words of a page's record."""
    found = of_models([(language, PARTS)], {"encoder.folder": encoder_of(language)}, setting, text=True)
    return ", ".join(f"{name} {value}" for name, value in zip(NAMES, found, strict=True))


# -- the page ----------------------------------------------------------------------------------------------------------


def text_table(setting: Setting) -> str:
    """Return the table from raw text: the linear model, the one with an encoder, and Stanza."""
    titles, lines = script("treebanks").TREEBANKS, []
    linear, ours = read_rows(RESULTS / "text.csv"), known(setting, TEXT)
    shares: dict[str, list[list[float]]] = {}
    for row in ours:
        language = str(row["language"])
        theirs = dict(zip(METRICS, STANZA["rows"][language], strict=True))
        before = pick(linear, language=language)[0]
        named = {
            "linear": _figures(before, 100),
            f"with {row['encoder']}": _figures(row, 100),
            "Stanza 1.5.1": _figures(theirs, 1),
        }
        for i, (name, figures) in enumerate(named.items()):
            lines.append(
                ["" if i else titles[language].title + _mark(setting, row), name, *(f"{x:.2f}" for x in figures)]
            )
            if language in RELEASED:
                shares.setdefault(name, []).append(figures)
    if shares and len(next(iter(shares.values()))) == len(RELEASED):
        for i, (name, figures) in enumerate(shares.items()):
            title = "" if i else f"mean of the first {len(RELEASED)}"
            lines.append([title, name, *(f"{x:.2f}" for x in np.mean(figures, axis=0))])
    return table(["", "", *COMPARED], lines)


def _mark(setting: Setting, row: Row) -> str:
    """Return the mark of a row that is of an earlier version."""
    return "" if row["made"] == made(setting, str(row["language"])) else f" {EARLIER}"


def _figures(row: Row, factor: float) -> list[float]:
    """Return the compared figures of a row in per cent."""
    return [factor * float(str(row[name])) for name in COMPARED]


def trees_table(setting: Setting) -> str:
    """Return the table of all ways to decode."""
    titles, lines = script("treebanks").TREEBANKS, []
    for row in known(setting, TREES):
        first = row["method"] == next(iter(METHODS))
        shares = [percent(row[name]) for name in ("uas", "las", "complete")]
        crossing = [percent(row[name], 1) for name in ("crossing_precision", "crossing_recall")]
        gain = f"{100 * float(str(row['gain'])):+.2f} ± {100 * float(str(row['interval'])):.2f}"
        invalid = f"{row['invalid']} of {row['sentences']}" if row["invalid"] else "0"
        title = titles[str(row["language"])].title + _mark(setting, row) if first else ""
        tested = ["–", "–"] if row["method"] == ARBORESCENCE else [gain, _probability(row["p_uas"])]
        lines.append([title, METHODS[str(row["method"])], *shares, invalid, *crossing, *tested])
    return table(["", "", "UAS", "LAS", "complete", "invalid", "precision", "recall", "gain", "p"], lines)


def _probability(p: object) -> str:
    """Return a probability with three digits, a dash if there is none."""
    if not isinstance(p, int | float):
        return "–"
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def search_table(setting: Setting) -> str:
    """Return the table of certificates and times."""
    titles, lines = script("treebanks").TREEBANKS, []
    rows = known(setting, TREES)
    for language in dict.fromkeys(str(row["language"]) for row in rows):
        own = {str(row["method"]): row for row in pick(rows, language=language)}
        cells = [f"{own[ARBORESCENCE]['milliseconds']:.3f}"]
        for method in (EXACT, TOGETHER):
            row = own[method]
            cells += [percent(row["certified"], 1), f"{row['iterations']:.1f}", f"{row['milliseconds']:.2f}"]
        wrong, programs = (
            sum(int(own[each].get(name) or 0) for each in (EXACT, TOGETHER)) for name in ("wrong", "programs")
        )
        cells.append(f"{wrong} of {programs}" if programs else "–")
        lines.append([titles[language].title, *cells])
    header = ["", "best arborescence: ms a sentence", "encoder alone: certified %", "iterations", "ms"]
    return table([*header, "with linear scores: certified %", "iterations", "ms", "wrong"], lines)


def write_page(setting: Setting) -> None:
    """Write the page."""
    path = setting.results / "neural.md"
    parts = [INTRODUCTION, text_table(setting)]
    if rows := known(setting, UNTAGGED):
        parts.append(untagged_section(rows))
    parts += [EXACTNESS, trees_table(setting), SEARCH, search_table(setting)]
    if any(_mark(setting, row) for row in known(setting, TEXT)):
        parts.insert(2, f"{EARLIER} measured on an earlier version; see [{TEXT}]({TEXT}) for the inputs of each row.")
    with replacing(path) as temporary:
        temporary.write_text("\n\n".join(part.strip("\n") for part in parts) + "\n", encoding="utf-8")
    stamp(path, "neural")


def _run(arguments: list[str] | None) -> None:
    """Run the command line."""
    measure(*parse_arguments(arguments, "research.experiments.neural", __doc__.split("\n")[0], (*LANGUAGES, LANGUAGE)))


if __name__ == "__main__":
    sys.exit(run_program(_run, None))
