"""Parse, price and cut against brute force: the two tables of Riedel, Smith and McCallum (2012).

    python -m benchmarks.price_and_cut models/danish-grandparents.nonproj data/danish/danish_ddt_test.conll

Times are of the process and hold everything from the sentence to the tree: encoding, scoring, bounds, program.  With
``--families`` the program with some of the rows only is solved, as in their second table, all of it at once.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from nonproj import conll
from nonproj.decode.arborescence import maximum_arborescence_sparse
from nonproj.decode.linear_program import add_tree
from nonproj.decode.part_polytope import grandparent_limits, grandparent_rows
from nonproj.decode.program import Program
from nonproj.model import Model
from nonproj.parts import full_arc_space, part_index
from nonproj.price_and_cut import PricingParser
from nonproj.scoring.bounds import chain_bounds
from nonproj.types import GRANDPARENT

FAMILIES = (("GPArc", "ArcGP"), ("OneGP", "NoGP"), ("ArcGP", "GPArc", "OneGP", "NoGP"))


def timed(function, *arguments):
    """Return what a function returns, and the seconds of the process."""
    begin = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - begin


def first_table(parser: PricingParser, sentences) -> None:
    """Speed, chains scored and added, objective, integral solutions, attachment; price and cut, then brute force."""
    rows, apart, bounding = [], [], 0.0
    templates = len(parser.parser.model.templates["grandparent"]["templates"])
    for sentence in sentences:
        (ours, counts), quick = timed(parser.parse, sentence)
        (other, all_of), slow = timed(parser.brute_force, sentence)
        _, hashed, _ = parser._scores(sentence)
        bounding += timed(chain_bounds, hashed, *parser._weights)[1]
        apart.append(abs(ours.bound - other.bound) / max(1.0, abs(other.bound)))
        for result, parts, seconds in ((ours, counts, quick), (other, all_of, slow)):
            right = np.count_nonzero(result.heads[1:] == sentence.heads[1:])
            values = (seconds, parts.chains, parts.scored, parts.added, parts.rows, parts.solves, parts.iterations)
            rows.append([*values, result.agreed, result.certified, right, len(sentence), result.bound, parts.looked_up])
    table = np.array(rows, float).reshape(len(sentences), 2, -1)
    sums = table.sum(axis=0)
    far, worst = np.mean(np.array(apart) >= 1e-6), max(apart)
    say(f"{len(sentences)} sentences, {int(sums[0, 10])} words")
    say(f"objectives differ by {worst:.1e} of themselves at most, by 1e-6 or more in {far:.2%} of sentences")
    say(f"bounds take {sums[0, 12] / sums[0, 1] / templates:.2%} of the look-ups of all scores, and {bounding:.2f} s")
    for name, mine, each in zip(("price and cut", "brute force"), sums, table.transpose(1, 0, 2), strict=True):
        seconds, chains, scored, added, n_rows, solves, iterations, agreed, certified, right, words, value, _ = mine
        count, share = len(sentences), (each[:, 2] / np.maximum(each[:, 1], 1)).mean()
        say(
            f"{name:14s} {seconds:8.2f} s, {count / seconds:7.2f} sentences/s, {sums[1, 0] / seconds:6.2f} times; "
            f"chains scored {scored / chains:.2%} (mean of sentences {share:.2%}), added {added / chains:.2%}; "
            f"rows {n_rows / count:.0f}, solves {solves / count:.1f}, simplex {iterations / count:.0f} a sentence; "
            f"objective {value / sums[1, 11]:.6%}, integral {agreed / count:.1%}, "
            f"certified {certified / count:.1%}, UAS {right / words:.2%}"
        )


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def solve_with(parser: PricingParser, sentence, families) -> tuple[np.ndarray, bool]:
    """Solve the program with some families of rows over a flow of one commodity; return heads, and if integral."""
    tokens = parser.parser.encode(sentence)
    arcs = full_arc_space(len(sentence))
    index, scores = parser.parser.score(tokens, arcs)
    program = Program()
    add_tree(program, arcs, scores.arc, "single", parser.options.single_root)
    first = program.add_columns(scores.grandparent, 0.0, grandparent_limits(arcs, index))
    program.add_rows(grandparent_rows(arcs, part_index(arcs, GRANDPARENT), first, families))
    status = program.solve()
    if status != "optimal":
        raise ArithmeticError(status)
    values = np.concatenate([program.values[: len(arcs.head)], program.values[first:]])
    integral = bool(np.abs(values - np.rint(values)).max() < 1e-6)
    return maximum_arborescence_sparse(arcs, values[: len(arcs.head)], parser.options.single_root), integral


def second_table(parser: PricingParser, sentences) -> None:
    """Speed, integral solutions and attachment for three sets of rows."""
    for families in FAMILIES:
        seconds, integral, right = 0.0, 0, 0
        for sentence in sentences:
            (heads, whole), spent = timed(solve_with, parser, sentence, families)
            seconds += spent
            integral += whole
            right += np.count_nonzero(heads[1:] == sentence.heads[1:])
        words = sum(map(len, sentences))
        say(
            f"{'+'.join(families):24s} {seconds:8.2f} s, {len(sentences) / seconds:6.2f} sentences/s, "
            f"integral {integral / len(sentences):.1%}, UAS {right / words:.2%}"
        )


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("treebank")
    parser.add_argument("--every", type=int, default=1, help="every so many sentences only")
    parser.add_argument("--longest", type=int, default=1000, help="sentences of at most so many words")
    parser.add_argument("--families", action="store_true", help="the second table in place of the first")
    options = parser.parse_args()
    pricing = PricingParser(Model.load(options.model))
    sentences = [s for s in conll.read(options.treebank) if len(s) <= options.longest][:: options.every]
    for sentence in sentences[:2]:  # compiles
        pricing.parse(sentence), pricing.brute_force(sentence)
    (second_table if options.families else first_table)(pricing, sentences)


if __name__ == "__main__":
    main()
