"""Phrase-based translation: exact decoding of Multi30k's test set, search errors of stack decoding, BLEU.

The rows of each decoder are kept in ``runs/translation`` with the trained model, so a stopped run resumes; remove that
folder when the code changes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import sacrebleu

from nonproj_systems.translation.decoding import decode
from nonproj_systems.translation.instance import Instance, score_derivation
from nonproj_systems.translation.model import WEIGHTS, TranslationModel, train
from nonproj_systems.translation.stack import decode_by_stacks
from nonproj_systems.translation.text import detokenize, read_lines, read_pairs
from nonproj_systems.translation.tuning import tune
from research.experiments.layout import table
from research.experiments.provenance import publish
from research.experiments.setting import fetched
from research.experiments.store import Row, read_rows, stored, write_rows

BEAMS = (10, 30, 100)
LENGTHS = ((1, 10), (11, 20), (21, 120))
TIGHT = 1e-6
"""Scores differ if by more than this."""

Decoder = Callable[[Instance], Row]
log = logging.getLogger("experiments")


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


def exactly(instance: Instance) -> Row:
    """Return the row of a sentence that is decoded exactly, with the numbers of its phrases."""
    found = decode(instance)
    row: Row = {"value": found.value, "derivation": found.derivation, "words": instance.n_words}
    row |= {"phrases": len(instance.start), "bound": found.bound, "certified": int(found.certified)}
    row |= {"iterations": found.iterations, "first_certified": int(found.rounds[0].certified)}
    return row | {"rounds": len(found.counted)}


def by_stacks(beam: int) -> Decoder:
    """Return the function that decodes a sentence by stacks, and returns its row."""

    def run(instance: Instance) -> Row:
        derivation = decode_by_stacks(instance, beam).tolist()
        value = score_derivation(instance, derivation) if derivation else -float("inf")
        return {"value": value, "derivation": derivation}

    return run


def run_all(model: TranslationModel, source: list, decoder: Decoder) -> list[Row]:
    """Return the rows of all sentences."""
    rows = []
    decoder(model.instance(source[0])[0])  # compiles
    for number, tokens in enumerate(source):
        instance, texts = model.instance(tokens)
        begin = time.process_time()
        row = decoder(instance)
        row |= {"sentence": number, "seconds": time.process_time() - begin}
        row["text"] = " ".join(["=", *(word for option in row.pop("derivation") for word in texts[option])])
        rows.append(row)
    return rows


def main(results: Path, data: Path, short: bool) -> None:
    """Run what is missing, then write ``translation.md`` and ``.csv`` into the folder ``results``."""
    folder, runs = fetched("systems/data_scripts/fetch_translation.py", data)[0], results / "runs" / "translation"
    model = get_model(folder, runs, 2000 if short else None, 20 if short else 500)
    source, _ = read_pairs(folder / "test_2016_flickr.de.gz", folder / "test_2016_flickr.en.gz")
    source, rows = source[:20] if short else source, {}
    for name, decoder in {"exact": exactly, **{f"beam {beam}": by_stacks(beam) for beam in BEAMS}}.items():
        rows[name] = stored(runs / f"{name.replace(' ', '-')}.csv", partial(run_all, model, source, decoder))
    references = list(read_lines(folder / "test_2016_flickr.en.gz"))[: len(source)]
    publish(results, "translation", [page(rows, read_rows(runs / "model.csv")[0], references)])
    kept = [{key: value for key, value in row.items() if key != "text"} for row in rows["exact"]]
    write_rows(results / "translation.csv", kept)


# -- the page ----------------------------------------------------------------------------------------------------------


def page(rows: dict[str, list[Row]], model: Row, references: list[str]) -> str:
    """Return the page."""
    exact, bleu = rows["exact"], {name: score_bleu(found, references) for name, found in rows.items()}
    return PAGE.format(
        n=len(exact),
        summary=summary(exact),
        lengths=by_length(exact),
        errors=search_errors(rows, bleu),
        weights=table(["weight", "value"], [[name, f"{model[name]:g}"] for name in WEIGHTS]),
        bleu=bleu["exact"],
        **model,
    )


def column(rows: list[Row], name: str) -> np.ndarray:
    """Return a column as numbers."""
    return np.array([float(row[name]) for row in rows])


def summary(exact: list[Row]) -> str:
    """Return what was solved, beside the paper."""
    n, proven, seconds = len(exact), int(column(exact, "certified").sum()), column(exact, "seconds")
    iterations = column(exact, "iterations")
    times = f"{seconds.mean():.3f}, {np.median(seconds):.3f}, {seconds.max():.2f}"
    lines = [
        ["proven optimal", f"{100 * proven / n:.1f} % ({proven} of {n})", "over 99 %"],
        ["proven optimal without tightening", f"{100 * column(exact, 'first_certified').mean():.1f} %", ""],
        ["median and mean iterations", f"{np.median(iterations):g}, {iterations.mean():.1f}", ""],
        ["processor seconds per sentence: mean, median, most", times, ""],
    ]
    return table(["", "here", "Chang and Collins (2011)"], lines)


def by_length(exact: list[Row]) -> str:
    """Return a table by number of source tokens."""
    lines = []
    for low, high in LENGTHS:
        rows = [row for row in exact if low <= row["words"] <= high]
        if rows:
            digits = {"phrases": 0, "iterations": 1, "rounds": 2, "seconds": 3}
            means = [f"{column(rows, name).mean():.{places}f}" for name, places in digits.items()]
            longest = max(int(row["words"]) for row in rows)
            lines.append([f"{low} to {longest}", len(rows), int(column(rows, "certified").sum()), *means])
    return table(["tokens", "sentences", "proven", "phrases", "iterations", "rounds of tightening", "seconds"], lines)


def search_errors(rows: dict[str, list[Row]], bleu: dict[str, str]) -> str:
    """Return the table of beams."""
    exact, lines = rows["exact"], []
    optimum, certified = column(exact, "value"), column(exact, "certified") > 0
    for name, found in rows.items():
        value, seconds = column(found, "value"), column(found, "seconds")
        failed = np.isinf(value)
        wrong = certified & ~failed & (value < optimum - TIGHT)
        if (certified & (value > optimum + TIGHT)).any():
            raise ValueError(f"{name} beats a proven optimum")
        loss = f"{(optimum - value)[wrong].mean():.2f}" if wrong.any() else "–"
        lines.append([name, int(wrong.sum()), int(failed.sum()), loss, f"{seconds.mean():.3f}", bleu[name]])
    return table(["decoder", "search errors", "no translation", "mean loss of score", "seconds", "BLEU"], lines)


def score_bleu(rows: list[Row], references: list[str]) -> str:
    """Return the lower-cased BLEU of ``sacrebleu`` as text."""
    texts = [detokenize(str(row["text"]).split()[1:]) for row in rows]
    return f"{sacrebleu.corpus_bleu(texts, [references], lowercase=True).score:.2f}"


PAGE = """# Phrase-based translation, decoded exactly

German to English, Multi30k task 1: the {n} sentences of test_2016_flickr, by
`make reproduce-systems-translation`. The method is that of Chang and Collins (2011), summarised in the tutorial of Rush
and Collins (2012), section 6.4; [docs/translation.md](../docs/translation.md) describes it. Times are processor seconds
on one core.

## Exact decoding

{summary}

{lengths}

## Search errors of stack decoding

{errors}

A search error is a translation that scores less than the proven optimum of the same model; the loss is its
mean. BLEU is that of `sacrebleu`, lower-cased.

## The model

Trained on {pairs} pairs in {train_seconds:.0f} processor seconds, tuned on the first {tuned_on} pairs of the validation
part in {tune_seconds:.0f}; BLEU there, on tokens, {val_bleu:.2f}. BLEU on the test set: {bleu}.

{weights}

## Differences from the paper

- Data: captions of 12 words on average instead of sentences of up to 50 words of the European parliament, so iterations
  and seconds do not compare; the share of proven sentences does.
- The first relaxation has states (language model state, number of words, end of the last phrase). The paper's
  states also hold the last span of translated words; here that is the first round of tightening.
- Steps are Polyak's. The beam search to compare with is the project's own, for the same scores, not Moses.
"""
