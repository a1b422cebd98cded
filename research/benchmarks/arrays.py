"""Comparison of `nonproj.decode_scores` with the decoders of other parsers, on scores for a treebank's sentences.

    python -m research.benchmarks.arrays TREEBANK [--scores FILE.npz]

Scores are drawn at random, or come from `examples/biaffine.py --save FILE.npz`.  Prints for each decoder that is
installed the median processor time over several turns, in how many sentences it returns several roots or no tree, and
in how many a tree with a lower score than the best one with (or, where it does not ask for it, without) a single root.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from nonproj.dual.arrays import decode_scores
from nonproj.io import conll
from nonproj.io.checks import cycle_of

SENTENCES, TURNS, SECONDS = 1000, 7, 20.0
NEVER = -1e4  # a score that no tree of log-probabilities takes; not all decoders accept minus infinity

Matrix = np.ndarray
"""``float32[N, N]``, ``[h, m]`` of the arc from ``h`` to ``m``; the diagonal and column 0 are `NEVER`."""


class Decoder(NamedTuple):
    """A decoder; its inputs are prepared beforehand and not timed.

    Attributes
    ----------
    name : str
    single_root : bool
        Whether it is asked for trees with a single root.
    prepare : callable
        Makes its input from a list of matrices.
    decode : callable
        Returns the heads of each sentence, those of the root first.
    """

    name: str
    single_root: bool
    prepare: Callable[[list[Matrix]], object]
    decode: Callable


def padded(matrices: Sequence[Matrix]) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices as one array, float32[B, N, N], and the number of words of each, int64[B]."""
    lengths = np.array([len(matrix) - 1 for matrix in matrices])
    scores = np.full((len(matrices), lengths.max() + 1, lengths.max() + 1), NEVER, np.float32)
    for row, matrix in zip(scores, matrices, strict=True):
        row[: len(matrix), : len(matrix)] = matrix
    return scores, lengths


def ours() -> list[Decoder]:
    """Return this package's decoder, with and without the demand for a single root."""

    def make(single_root: bool) -> Callable:

        def decode(given: tuple) -> np.ndarray:
            """Return the heads, that of the root first, as other decoders do."""
            found = decode_scores(given[0], lengths=given[1], single_root=single_root).heads
            return np.concatenate([np.full((len(found), 1), -1), found], axis=1)

        return decode

    return [Decoder("nonproj.decode_scores", single, padded, make(single)) for single in (True, False)]


def ufal() -> list[Decoder]:
    """Return ``ufal.chu_liu_edmonds``, in C++."""
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    def prepare(matrices: list[Matrix]) -> list[np.ndarray]:
        return [np.ascontiguousarray(matrix.T, np.float64) for matrix in matrices]

    def decode(given: list[np.ndarray]) -> list:
        return [chu_liu_edmonds(matrix)[0] for matrix in given]

    return [Decoder("ufal.chu_liu_edmonds", False, prepare, decode)]


def spacy() -> list[Decoder]:
    """Return that of the biaffine parser of spacy-experimental, in Cython and C++."""
    from spacy_experimental.biaffine_parser.mst import chu_liu_edmonds

    def decode(given: list[Matrix]) -> list:
        return [chu_liu_edmonds(matrix, 0) for matrix in given]

    return [Decoder("spacy-experimental, chu_liu_edmonds", False, list, decode)]


def supar() -> list[Decoder]:
    """Return the one of SuPar's `MatrixTree`, in Python and torch, with and without the demand for a single root."""
    import torch
    from supar.structs.fn import mst

    torch.set_num_threads(1)

    def prepare(matrices: list[Matrix]) -> tuple:
        scores, lengths = padded(matrices)
        positions = np.arange(scores.shape[1])
        mask = (positions > 0) & (positions <= lengths[:, None])
        return torch.from_numpy(np.ascontiguousarray(scores.swapaxes(1, 2))), torch.from_numpy(mask)

    def make(single_root: bool) -> Callable:
        return lambda given: mst(given[0].clone(), given[1], multiroot=not single_root).numpy()

    return [Decoder("supar, mst", single, prepare, make(single)) for single in (True, False)]


def stanza() -> list[Decoder]:
    """Return that of Stanza, in numpy."""
    from stanza.models.common.chuliu_edmonds import chuliu_edmonds_one_root

    def decode(given: list[Matrix]) -> list:
        return [chuliu_edmonds_one_root(matrix) for matrix in given]

    return [
        Decoder("stanza, chuliu_edmonds_one_root", True, lambda all_: [np.ascontiguousarray(s.T) for s in all_], decode)
    ]


def greedy() -> list[Decoder]:
    """Return the best head of each word, chosen independently, as parsers without a decoder do."""
    return [Decoder("best head of each word", True, list, lambda given: [matrix.argmax(axis=0) for matrix in given])]


def installed() -> list[Decoder]:
    """Return the decoders that can be imported."""
    found = []
    for decoders in (greedy, ours, ufal, spacy, supar, stanza):
        try:
            found += decoders()
        except ImportError as error:
            sys.stderr.write(f"{decoders.__name__} is left out: {error}\n")
    return found


def log_probabilities(scores: np.ndarray) -> Matrix:
    """Return the scores of a sentence as log-probabilities of each word's heads, as parsers have them."""
    scores = np.array(scores, np.float64)
    np.fill_diagonal(scores, -np.inf)
    scores -= np.logaddexp.reduce(scores, axis=0)
    np.fill_diagonal(scores, NEVER)
    scores[:, 0] = NEVER
    return np.maximum(scores, NEVER).astype(np.float32)


def measure(decoder: Decoder, matrices: list[Matrix], best: np.ndarray) -> str:
    """Return a row of the table."""
    given = decoder.prepare(matrices)
    decoder.decode(decoder.prepare(matrices[:2]))
    times: list[float] = []
    while len(times) < TURNS and (len(times) < 2 or sum(times) < SECONDS):
        start = time.process_time()
        trees = decoder.decode(given)
        times.append(time.process_time() - start)
    several = broken = lower = 0
    for matrix, heads, target in zip(matrices, trees, best, strict=True):
        heads = np.array([0, *heads[1 : len(matrix)]], int)
        good = not cycle_of(heads.tolist())
        several += good and (heads[1:] == 0).sum() > 1
        broken += not good
        words = np.arange(1, len(matrix))
        lower += good and matrix[heads[1:], words].sum(dtype=float) < target - 1e-4
    root = "single" if decoder.single_root else "any"
    return f"| {decoder.name} | {root} | {1e3 * np.median(times):.1f} | {several} | {broken} | {lower} |"


def compare(matrices: list[Matrix]) -> None:
    """Print the table of all decoders."""
    scores, lengths = padded(matrices)
    best = {root: decode_scores(scores, lengths=lengths, single_root=root).scores for root in (True, False)}
    sys.stdout.write("| decoder | roots asked for | ms | several roots | no tree | score below the best |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for decoder in installed():
        sys.stdout.write(f"{measure(decoder, matrices, best[decoder.single_root])}\n")
        sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare all on one treebank's lengths, or on a file of scores."""
    warnings.filterwarnings("ignore", module="supar")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("treebank")
    parser.add_argument("--scores", help="a file of examples/biaffine.py --save, instead of random scores")
    options = parser.parse_args(arguments)
    if options.scores:
        with np.load(options.scores) as file:
            given = [file[name] for name in islice(file.files, SENTENCES)]
    else:
        chance = np.random.default_rng(0)
        lengths = [len(sentence) for sentence in islice(conll.read(options.treebank), SENTENCES)]
        given = [chance.normal(size=(length + 1, length + 1)) for length in lengths]
    matrices = [log_probabilities(scores) for scores in given]
    sys.stdout.write(f"{len(matrices)} sentences, {sum(map(len, matrices)) - len(matrices)} words\n\n")
    compare(matrices)


if __name__ == "__main__":
    main()
