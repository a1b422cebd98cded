"""Phrase-based translation: exact decoding of Multi30k's test set, search errors of stack decoding, BLEU.

Units of one hundred sentences, decoded exactly and by stacks of several sizes.  A unit's rows are kept in
``runs/translation`` with the trained model, so a stopped run resumes; remove that folder when the code changes.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from nonproj_systems.translation.decoding import DecodingOptions, decode
from nonproj_systems.translation.instance import Instance, score_derivation
from nonproj_systems.translation.model import TranslationModel, train
from nonproj_systems.translation.program import solve_program
from nonproj_systems.translation.stack import decode_by_stacks
from nonproj_systems.translation.template import make_graph
from nonproj_systems.translation.text import read_pairs
from nonproj_systems.translation.tuning import tune
from research.experiments.setting import ROOT
from research.experiments.store import Row, read_rows, write_rows
from systems.experiments.translation_page import write_page

BEAMS = (10, 30, 100, 1000)
UNIT = 100
PROGRAM_WORDS, PROGRAM_SENTENCES, PROGRAM_SECONDS = 8, 5, 60.0

log = logging.getLogger("experiments")


def fetch(data: Path | None) -> Path:
    """Return the folder of the sentence pairs."""
    command = [
        sys.executable,
        str(ROOT / "systems" / "data_scripts" / "fetch_translation.py"),
        "--out",
        str(data or ROOT / "data"),
    ]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode:
        raise SystemExit(found.returncode)
    return Path(found.stdout.strip())


def get_model(folder: Path, runs: Path, pairs: int | None, tuned_on: int) -> TranslationModel:
    """Return the model trained on the training part and tuned on the validation part; kept in ``runs``."""
    path = runs / "model.nonproj"
    if not path.exists():
        begin = time.process_time()
        source, target = read_pairs(folder / "train.de.gz", folder / "train.en.gz")
        model = train(source[:pairs], target[:pairs], log=log.info)
        trained = time.process_time()
        held_out = read_pairs(folder / "val.de.gz", folder / "val.en.gz")
        score = tune(model, *(side[:tuned_on] for side in held_out), log=log.info)
        row = {"train_seconds": trained - begin, "tune_seconds": time.process_time() - trained, "val_bleu": score}
        row |= {"tuned_on": tuned_on, "pairs": len(source[:pairs])} | model.weights
        write_rows(runs / "model.csv", [row])
        runs.mkdir(parents=True, exist_ok=True)
        model.save(path)
    return TranslationModel.load(path)


def exactly(number: int, instance: Instance, texts: list[list[str]]) -> Row:
    """Return the row of a sentence that is decoded exactly."""
    begin = time.process_time()
    found = decode(instance, DecodingOptions())
    seconds = time.process_time() - begin
    row = describe(number, found.derivation, found.value, texts, seconds)
    row |= {"words": instance.n_words, "phrases": len(instance.start), "arcs": len(make_graph(instance).source)}
    row |= {"bound": found.bound, "certified": int(found.certified), "status": found.status}
    first = found.rounds[0]
    row |= {
        "iterations": found.iterations,
        "first_iterations": first.iterations,
        "first_certified": int(first.certified),
    }
    return row | {"rounds": len(found.counted), "counted": sum(map(len, found.counted))}


def by_stacks(beam: int) -> Callable[[int, Instance, list[list[str]]], Row]:
    """Return the function that decodes a sentence by stacks, and returns its row."""

    def run(number: int, instance: Instance, texts: list[list[str]]) -> Row:
        begin = time.process_time()
        derivation = decode_by_stacks(instance, beam).tolist()
        seconds = time.process_time() - begin
        value = score_derivation(instance, derivation) if derivation else -float("inf")
        return describe(number, derivation, value, texts, seconds)

    return run


def by_program(number: int, instance: Instance, texts: list[list[str]]) -> Row:
    """Return the row of a sentence whose integer program HiGHS solves."""
    begin = time.process_time()
    status, value, _ = solve_program(instance, make_graph(instance), seconds=PROGRAM_SECONDS)
    return {"sentence": number, "value": value, "seconds": time.process_time() - begin, "status": status}


def describe(number: int, derivation: list[int], value: float, texts: list[list[str]], seconds: float) -> Row:
    """Return what all rows have."""
    text = " ".join(word for option in derivation for word in texts[option])
    return {"sentence": number, "value": value, "seconds": seconds, "text": f"= {text}"}


def run_unit(model: TranslationModel, source: list, first: int, last: int, decoder: Callable) -> list[Row]:
    """Return the rows of some sentences."""
    rows = []
    for number in range(first, min(last, len(source))):
        instance, texts = model.instance(source[number])
        rows.append(decoder(number, instance, texts))
    return rows


def collect(runs: Path, model: TranslationModel, source: list) -> dict[str, list[Row]]:
    """Return the rows of all decoders by name; run the units that are missing."""
    decoders = {"exact": exactly} | {f"beam {beam}": by_stacks(beam) for beam in BEAMS}
    found: dict[str, list[Row]] = {}
    for name, decoder in decoders.items():
        run_unit(model, source, 0, 1, decoder)  # compiles
        decode(model.instance(source[0])[0], DecodingOptions(iterations=1))  # tightening as well
        for first in range(0, len(source), UNIT):
            path = runs / f"{name.replace(' ', '-')}-{first}.csv"
            if not path.exists():
                begin = time.process_time()
                write_rows(path, run_unit(model, source, first, first + UNIT, decoder))
                log.info("%s, sentences %d on: %.1f s", name, first, time.process_time() - begin)
            found.setdefault(name, []).extend(read_rows(path))
    short = [k for k, tokens in enumerate(source) if len(tokens) <= PROGRAM_WORDS][:PROGRAM_SENTENCES]
    for number in short:
        path = runs / f"program-{number}.csv"
        if not path.exists():
            write_rows(path, run_unit(model, source, number, number + 1, by_program))
        found.setdefault("program", []).extend(read_rows(path))
    return found


def main(results: Path, data: Path | None, short: bool) -> None:
    """Run what is missing, then write ``translation.md``, ``.csv`` and ``.png`` into the folder ``results``."""
    folder, runs = fetch(data), results / "runs" / "translation"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    model = get_model(folder, runs, 2000 if short else None, 20 if short else 500)
    source, _ = read_pairs(folder / "test_2016_flickr.de.gz", folder / "test_2016_flickr.en.gz")
    rows = collect(runs, model, source[:20] if short else source)
    write_page(results, folder, runs, rows)
