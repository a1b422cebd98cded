"""`nonproj.decode_scores` against ``ufal.chu_liu_edmonds``: batches of random scores, lengths of real sentences.

    python -m benchmarks.arrays TREEBANK

Prints milliseconds of processor time for up to 1,000 sentences, several times in turns, and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from nonproj.array_decoding import decode_scores
from nonproj.io import conll

SENTENCES, TURNS = 1000, 7


def milliseconds(call: Callable) -> tuple[float, object]:
    """Return the processor time of a call, and what it returns."""
    start = time.process_time()
    found = call()
    return 1e3 * (time.process_time() - start), found


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare both on one treebank's lengths."""
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("treebank")
    options = parser.parse_args(arguments)
    lengths = [len(sentence) for sentence in islice(conll.read(options.treebank), SENTENCES)]
    scores = np.random.default_rng(0).normal(size=(len(lengths), max(lengths) + 1, max(lengths) + 1))
    singles = [np.ascontiguousarray(scores[b, : n + 1, : n + 1].T) for b, n in enumerate(lengths)]
    decode_scores(scores[:2], lengths=lengths[:2])
    times = []
    for _ in range(TURNS):
        ours, found = milliseconds(lambda: decode_scores(scores, lengths=lengths, single_root=False))
        single, _ = milliseconds(lambda: decode_scores(scores, lengths=lengths))
        theirs, trees = milliseconds(lambda: [chu_liu_edmonds(each) for each in singles])
        for b, (heads, _) in enumerate(trees):
            value = sum(scores[b, h, m] for m, h in enumerate(heads) if m)
            assert abs(value - found.scores[b]) < 1e-6, f"sentence {b}: scores {value} and {found.scores[b]}"
        times.append((ours, single, theirs))
    ours, single, theirs = np.median(times, axis=0)
    text = f"{len(lengths)} sentences, {sum(lengths)} words: {ours:.1f} ms, with a single root {single:.1f} ms; "
    sys.stdout.write(f"{text}ufal.chu_liu_edmonds {theirs:.1f} ms, {theirs / ours:.1f} times as long\n")


if __name__ == "__main__":
    main()
