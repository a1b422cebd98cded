"""Joint decoding of tags and trees against the pipeline, from gold tokens: accuracy, certificates and speed.

    python -m systems.experiments.joint_tags MODEL GOLD [--beam 40 ...]

Prints a table: correct words of each kind by both, and the p-value of a paired permutation test over sentences.  MLAS
counts as in the CoNLL 2018 shared task, sentence by sentence, and needs ``udtools`` and a UD treebank.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Sequence

import numpy as np
from scipy.stats import permutation_test

from nonproj.io import conll
from nonproj.io.columns import DEPREL, FEATS, HEAD, UPOS
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.parses import Parse
from nonproj.types import Sentence
from nonproj_systems.joint_tags.parser import CandidateOptions, joint_parser

FIGURES = ("UPOS", "UFeats", "UAS", "LAS", "MLAS")


def correct_words(gold: Sentence, found: Sentence, parse: Parse) -> list[int]:
    """Return the correct words of a sentence for each of the first four figures, punctuation included.

    Subtypes of relations do not count.
    """
    heads, counts = parse.decoded.heads.tolist(), [0, 0, 0, 0]
    for i, (row, other) in enumerate(zip(gold.rows, found.rows, strict=True)):
        head = int(row[HEAD]) == heads[i]
        label = row[DEPREL].split(":")[0] == parse.labels[i].split(":")[0]
        for k, right in enumerate((row[UPOS] == other[UPOS], row[FEATS] == other[FEATS], head, head and label)):
            counts[k] += right
    return counts


def morphological(gold: Sentence, found: Sentence, parse: Parse) -> tuple[int, int]:
    """Return the correct words of MLAS, and the words counted, twice the denominator of its F1."""
    from nonproj.evaluation.universal import ud_scores

    texts = [io.StringIO(), io.StringIO()]
    texts[0].write(_text(gold, None))
    texts[1].write(_text(found, parse))
    for text in texts:
        text.seek(0)
    score = ud_scores(*texts)["MLAS"]
    return int(score["correct"]), int(score["gold"]) + int(score["system"])


def _text(sentence: Sentence, parse: Parse | None) -> str:
    """Return the words of a sentence as CoNLL-U."""
    rows = []
    for i, row in enumerate(sentence.rows):
        arc = [str(parse.decoded.heads[i]), parse.labels[i]] if parse else row[HEAD : DEPREL + 1]
        rows.append("\t".join([str(i + 1), row[1], "_", *row[3:6], *arc, "_", "_"]))
    return "\n".join(rows) + "\n\n"


def measure(parser: Parser, gold: Sequence[Sentence]) -> tuple[list, float]:
    """Return the parses of the sentences, and the processor seconds that they took."""
    list(parser.parse_all(gold[:5]))
    start = time.process_time()
    parses = list(parser.parse_all(gold))
    return parses, time.process_time() - start


def p_value(gains: np.ndarray) -> float:
    """Return the two-sided p-value of the sum of the gains by sentence."""
    gains = gains[gains != 0]
    if len(gains) < 2:
        return 1.0
    rng = np.random.default_rng(0)
    settings = {"permutation_type": "samples", "n_resamples": 9_999, "vectorized": True, "batch": 500, "rng": rng}
    return float(permutation_test((gains,), np.sum, **settings).pvalue)


def table(gold: Sequence[Sentence], runs: Sequence[tuple[list, float]], mlas: bool) -> str:
    """Return the figures of the pipeline and of joint decoding as a table in Markdown."""
    words = sum(map(len, gold))
    counts = [np.array([correct_words(g, s, p) for g, (s, p) in zip(gold, parses, strict=True)]) for parses, _ in runs]
    shares = [100.0 * count.sum(axis=0) / words for count in counts]
    gains = list((counts[1] - counts[0]).T)
    if mlas:
        found = [
            np.array([morphological(g, s, p) for g, (s, p) in zip(gold, parses, strict=True)]) for parses, _ in runs
        ]
        shares = [
            np.append(share, 200.0 * f[:, 0].sum() / f[:, 1].sum()) for share, f in zip(shares, found, strict=True)
        ]
        gains.append(found[1][:, 0] - found[0][:, 0])
    lines = ["| | pipeline | joint | p |", "|---|---|---|---|"]
    for name, one, two, gain in zip(FIGURES, *shares, gains, strict=False):
        lines.append(f"| {name} | {one:.2f} | {two:.2f} | {p_value(gain):.3f} |")
    decoded = [[parse.decoded for _, parse in parses] for parses, _ in runs]
    for name, number in (
        ("certified without search, %", lambda d: 100.0 * (d.certified and d.nodes == 0)),
        ("certified, %", lambda d: 100.0 * d.certified),
        ("iterations", lambda d: d.iterations),
    ):
        one, two = (np.mean([number(d) for d in each]) for each in decoded)
        lines.append(f"| {name} | {one:.1f} | {two:.1f} | |")
    speeds = [words / seconds for _, seconds in runs]
    lines.append(f"| words/s of processor time | {speeds[0]:,.0f} | {speeds[1]:,.0f} | |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one model on one file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("gold")
    for name, default in CandidateOptions()._asdict().items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default: {default}")
    parser.add_argument("--mlas", action="store_true", help="count MLAS too")
    options = parser.parse_args(arguments)
    model = Model.load(options.model)
    candidates = CandidateOptions(options.weight, options.beam, options.most)
    gold = list(conll.read(options.gold, require_heads=True))
    runs = [measure(each, gold) for each in (Parser(model, tags="all"), joint_parser(model, None, "all", candidates))]
    sys.stdout.write(f"{len(gold)} sentences, {sum(map(len, gold))} words\n\n{table(gold, runs, options.mlas)}\n")


if __name__ == "__main__":
    main()
