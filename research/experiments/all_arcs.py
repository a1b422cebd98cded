"""Which pruned arcs a bound over all arcs excludes from every better tree, by how well their scores are known.

    python -m research.experiments.all_arcs danish       # a stopped run can be resumed

In plain Python, over all parts: it says what could be excluded, not at what speed.  Writes ``all-arcs.csv`` and
``all-arcs.md`` in the folder of results.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.parts.arcs import full_arc_space
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import decode, number, score
from nonproj.trees.arborescence import maximum_arborescence
from nonproj.types import Float64s, PartSpace
from research.experiments.__main__ import run_program
from research.experiments.layout import percent, table
from research.experiments.neural import known
from research.experiments.proofs import TRAINING, rows_of_this_version, small_setting
from research.experiments.provenance import stamp
from research.experiments.setting import Setting, model_file, treebank
from research.experiments.store import Row, appearing, write_rows

SETS = ("grandparent",)
SENTENCES, WORDS = 40, 30
"""Number of sentences, and their maximum length."""

FILE = "all-arcs.csv"

INTRODUCTION = f"""# Pruned arcs that a bound excludes

`--full` decodes over all arcs. Could the multipliers of the pruned problem prove as much? Each pruned arc gets a weight
that bounds what it can add to any tree, with any other pruned arcs; one that is in no tree above the incumbent, by the
value of the maximum arborescence over all arcs, is excluded (`research/experiments/all_arcs.py` has the bound and its
proof). The table says how many, by what is known of the scores. *Automata over all arcs*: every automaton decides over
all arcs by their exact scores, and the bound of an arc adds the slack of the arborescence, of its head's automaton
and of its modifier's. The first {SENTENCES} test sentences of up to {WORDS} words, second order, models of {TRAINING}
sentences and two epochs. The bounds are computed in plain Python, so they have no times: the page says what could be
excluded.
`python -m research.experiments.all_arcs` makes it.
"""

CONCLUSION = """
With exact scores the bound leaves 4 and 7 % of the pruned arcs, fewer than automata that decide over all arcs. So
scores are what it costs. Bounds that are functions of two words of a part leave four to five times as many, even with
the best third word of the sentence. With exact scores of the parts that join a pruned arc with a candidate, 1.7 times
as many are left as with all scores; but scoring these parts and the arcs takes longer than a whole parse with pruning
([what did not help](../history.md#what-did-not-help)). For less, arcs have to be bounded before they are scored, too.
On the Danish test file `--full` takes about 260 microseconds a word, where parsing with pruning takes 43 (in turns,
busy machine, start-up not counted).
"""

log = logging.getLogger("experiments")


class Scores(NamedTuple):
    """Bounds of the scores of all parts of a sentence; `exact` has equal ones.

    Positions of siblings are nodes; START is the head itself, and END is node N on the left and N + 1 on the right.

    Attributes
    ----------
    arc : ndarray of shape (N, N)
        By head and modifier.
    sibling, lowest_sibling : ndarray of shape (N, N, N + 2)
        By head, previous and next sibling: at least, and at most, their scores.
    grandparent : ndarray of shape (N, N, N)
        By grandparent, head and modifier.
    """

    arc: Float64s
    sibling: Float64s
    lowest_sibling: Float64s
    grandparent: Float64s


class Problem(NamedTuple):
    """The candidates of a sentence, and the shares of their scores.

    Attributes
    ----------
    candidate : ndarray of shape (N, N), bool
        By head and modifier.
    tree, head, modifier : ndarray of shape (N, N)
        The shares of the arborescence, of the automata of heads, and of the automata of modifiers.
    """

    candidate: np.ndarray
    tree: Float64s
    head: Float64s
    modifier: Float64s


def exact(parts: PartSpace, scores: Float64s) -> Scores:
    """Return the scores of the parts over all arcs, which may lack siblings or grandparents."""
    n_nodes = len(parts.arcs.start) - 1
    arc = np.full((n_nodes, n_nodes), -np.inf)
    arc[parts.arcs.head, parts.arcs.modifier] = scores[parts.range("arc")]
    sibling, grandparent = np.zeros((n_nodes, n_nodes, n_nodes + 2)), np.zeros((n_nodes,) * 3)
    for h in range(n_nodes):
        for side in (0, 1) if "sibling" in parts.names else ():
            path, first = path_of(n_nodes, h, side), parts.start("sibling")[2 * h + side]
            for b in range(1, len(path)):
                begin = first + b * (b - 1) // 2
                sibling[h, path[:b], path[b]] = scores[begin : begin + b]
        if "grandparent" in parts.names and h:
            above = [g for g in range(n_nodes) if g != h]
            below = [*path_of(n_nodes, h, 0)[1:-1], *path_of(n_nodes, h, 1)[1:-1]]
            begin = parts.start("grandparent")[h]
            given = scores[begin : begin + len(above) * len(below)].reshape(len(above), len(below))
            grandparent[np.ix_(above, [h], below)] = given[:, None, :]
    return Scores(arc, sibling, sibling, grandparent)


def path_of(n_nodes: int, h: int, side: int) -> list[int]:
    """Return the positions of a side, outward: START, all words, END."""
    return [h, *range(h - 1, 0, -1), n_nodes] if side == 0 else [h, *range(h + 1, n_nodes), n_nodes + 1]


def by_pairs(scores: Scores) -> Scores:
    """Return the best bounds that are functions of two words of a part, the head among them; the third is free.

    Templates of two words that are looked up in all three pairs can do better; those of three words cannot.
    """
    n_nodes = len(scores.arc)
    upper, lower = scores.sibling.copy(), scores.sibling.copy()
    for h in range(n_nodes):
        for side in (0, 1):
            path = path_of(n_nodes, h, side)
            for a, s in enumerate(path):
                for b in range(a + 1, len(path)):
                    m = path[b]
                    row, column = scores.sibling[h, s, path[a + 1 :]], scores.sibling[h, path[:b], m]
                    upper[h, s, m] = min(row.max(), column.max())
                    lower[h, s, m] = max(row.min(), column.min())
    grandparent = np.minimum(scores.grandparent.max(0)[None], scores.grandparent.max(2)[:, :, None])
    return scores._replace(sibling=upper, lowest_sibling=lower, grandparent=grandparent)


def by_pairs_of_pruned(scores: Scores, candidate: np.ndarray) -> Scores:
    """Return exact scores of the parts with a candidate arc, and the bounds of `by_pairs` of the others."""
    n_nodes, pairs_only = len(scores.arc), by_pairs(scores)
    inner = np.concatenate([candidate, np.ones((n_nodes, 2), bool)], axis=1)  # END
    start = candidate | np.eye(n_nodes, dtype=bool)  # START is the head
    near = start[:, :, None] | inner[:, None, :]
    high = candidate[:, :, None] | candidate[None]
    return Scores(
        scores.arc,
        np.where(near, scores.sibling, pairs_only.sibling),
        np.where(near, scores.sibling, pairs_only.lowest_sibling),
        np.where(high, scores.grandparent, pairs_only.grandparent),
    )


def by_types(scores: Scores) -> Scores:
    """Return bounds that look at no words at all: the best and the worst score of each type of part in the sentence."""
    n_nodes = len(scores.arc)
    places = [(h, *sorted_pair) for h in range(n_nodes) for side in (0, 1) for sorted_pair in pairs(n_nodes, h, side)]
    known_scores = scores.sibling[tuple(np.array(places).T)]
    upper, lower = (np.full_like(scores.sibling, value) for value in (known_scores.max(), known_scores.min()))
    grandparent = np.full_like(scores.grandparent, max(0.0, scores.grandparent.max()))
    return scores._replace(sibling=upper, lowest_sibling=lower, grandparent=grandparent)


def pairs(n_nodes: int, h: int, side: int) -> list[tuple[int, int]]:
    """Return the pairs of positions of a side."""
    path = path_of(n_nodes, h, side)
    return [(s, m) for a, s in enumerate(path) for m in path[a + 1 :]]


# -- the bound ---------------------------------------------------------------------------------------------------------


def best_side(h: int, side: int, problem: Problem, scores: Scores, above: int | None) -> float:
    """Return the best choice of candidate modifiers of h on one side, under a grandparent, which is none of them."""
    path = [m for m in path_of(len(scores.arc), h, side) if m == h or m >= len(scores.arc) or problem.candidate[h, m]]
    path = [m for m in path if m != above or m == h]
    best = [0.0]
    for b in range(1, len(path)):
        m, steps = path[b], scores.sibling[h, path[:b], path[b]]
        own = 0.0
        if m < len(scores.arc):
            own = problem.head[h, m] + (0.0 if above is None else scores.grandparent[above, h, m])
        best.append(float(np.max(best + steps)) + own)
    return best[-1]


def of_automata(problem: Problem, scores: Scores, candidates: Scores) -> tuple[Float64s, Float64s]:
    """Return the value of each automaton over the candidates, and its change under each pruned arc into its head.

    The scores of parts with nothing but candidates are exact in ``candidates``; ``scores`` are bounds.
    """
    n_nodes = len(problem.candidate)
    values, changes = np.zeros(n_nodes), np.zeros((n_nodes, n_nodes))
    values[0] = sum(best_side(0, side, problem, candidates, None) for side in (0, 1))
    for h in range(1, n_nodes):
        under = np.full(n_nodes, -np.inf)
        for g in range(n_nodes):
            if g != h:
                mixed = candidates if problem.candidate[g, h] else candidates._replace(grandparent=scores.grandparent)
                under[g] = sum(best_side(h, side, problem, mixed, g) for side in (0, 1))
        inside = problem.candidate[:, h]
        values[h] = np.max((under + problem.modifier[:, h])[inside])
        changes[~inside, h] = under[~inside] - values[h]
    return values, changes


def insertion(scores: Scores, h: int, m: int) -> float:
    """Return at least what a modifier adds to the siblings and grandparents of its head, wherever it is put in."""
    path = path_of(len(scores.arc), h, int(m > h))
    place = path.index(m)
    before, after = path[:place], path[place + 1 :]
    around = scores.sibling[h, before, m][:, None] + scores.sibling[h, m, after][None]
    added = float((around - scores.lowest_sibling[h][np.ix_(before, after)]).max())
    above = [g for g in range(len(scores.arc)) if h and g not in (h, m)]
    return added + max((float(scores.grandparent[g, h, m]) for g in above), default=0.0)


def weights(problem: Problem, scores: Scores, candidates: Scores) -> tuple[float, Float64s]:
    """Return the sum of all automata over the candidates, and a weight of each arc, [N, N], that bound every tree.

    The score of a tree, whatever its arcs, is at most this sum and the weights of its arcs.  Take its pruned arcs out
    of the automata of their heads, one after the other: each takes at most `insertion` with it, whichever siblings are
    left and whatever the grandparent, pruned ones included.  What remains in the automaton of a word is a choice of
    candidates.  If the word's own head is a candidate, it is at most the value of the automaton; if it was pruned, at
    most that and the change under this head.  The shares of a candidate sum to its score, and a pruned arc has its own
    score, insertion and change.
    """
    values, changes = of_automata(problem, scores, candidates)
    found = np.where(problem.candidate, problem.tree, -np.inf)
    for h, m in zip(*np.nonzero(~problem.candidate), strict=True):
        if m and h != m:
            found[h, m] = scores.arc[h, m] + insertion(scores, h, m) + changes[h, m]
    return float(values.sum()), found


def excluded(problem: Problem, scores: Scores, candidates: Scores, incumbent: float, single_root: bool) -> np.ndarray:
    """Return which pruned arcs are in no tree that scores more than the incumbent, [N, N] bool, in turns."""
    total, found = weights(problem, scores, candidates)
    out = np.zeros_like(problem.candidate)
    while True:
        left = np.where(out, -np.inf, found)
        new = out.copy()
        for h, m in zip(*np.nonzero(~problem.candidate & ~out & np.isfinite(found)), strict=True):
            forced = left.copy()
            forced[np.arange(len(left)) != h, m] = -np.inf
            new[h, m] = total + value_of(forced, single_root) < incumbent
        if (new == out).all():
            return out
        out = new


def value_of(found: Float64s, single_root: bool) -> float:
    """Return the value of the maximum arborescence; minus infinity if there is none."""
    try:
        heads = maximum_arborescence(found, single_root)
    except ValueError:
        return -np.inf
    return float(found[heads[1:], np.arange(1, len(heads))].sum())


# -- automata over all arcs --------------------------------------------------------------------------------------------


def excluded_by_automata(problem: Problem, scores: Scores, incumbent: float, single_root: bool) -> np.ndarray:
    """Return which pruned arcs are in no better tree, by exact scores and automata that decide over all arcs.

    A pruned arc has the arborescence's share of the arc that the maximum arborescence has into the same word, and its
    head's automaton has the rest of its score.
    """
    possible = np.isfinite(scores.arc)
    pruned = possible & ~problem.candidate
    trees = np.where(problem.candidate, problem.tree, -np.inf)
    heads, words = maximum_arborescence(trees, single_root)[1:], np.arange(1, len(trees))
    trees[:, 1:] = np.where(pruned[:, 1:], trees[heads, words], trees[:, 1:])
    head = np.where(pruned, np.where(possible, scores.arc, 0.0) - np.where(pruned, trees, 0.0), problem.head)
    whole = Problem(possible, trees, head, np.where(pruned, 0.0, problem.modifier))
    under, through = zip(*(max_marginals(h, whole, scores) for h in range(len(trees))), strict=True)
    values = np.array([each.max() for each in under])
    total = values.sum()
    out = np.zeros_like(pruned)
    for h, m in zip(*np.nonzero(pruned), strict=True):
        bound = total + with_arc(trees, h, m, single_root) - values[h] - values[m] + through[h][m] + under[m][h]
        out[h, m] = bound < incumbent
    return out


def with_arc(found: Float64s, h: int, m: int, single_root: bool) -> float:
    """Return the value of the maximum arborescence with an arc."""
    forced = found.copy()
    forced[np.arange(len(found)) != h, m] = -np.inf
    return value_of(forced, single_root)


def max_marginals(h: int, problem: Problem, scores: Scores) -> tuple[Float64s, Float64s]:
    """Return the value of an automaton under each grandparent, and with each modifier."""
    n_nodes = len(problem.candidate)
    above = np.array([g for g in range(n_nodes) if g != h]) if h else np.array([0])
    entering = problem.modifier[above, h] if h else np.zeros(1)
    sides, through = [], np.full(n_nodes, -np.inf)
    for side in (0, 1):
        path = path_of(n_nodes, h, side)
        steps = scores.sibling[h][np.ix_(path[:-1], path[1:])]
        own = np.full((len(path), len(above)), 0.0)
        for b, m in enumerate(path[1:-1], 1):
            own[b] = problem.head[h, m] + (scores.grandparent[above, h, m] if h else 0.0)
            own[b, above == m] = -np.inf if h else own[b, above == m]
        forward, backward = np.full(own.shape, -np.inf), np.full(own.shape, -np.inf)
        forward[0], backward[-1] = 0.0, 0.0
        for b in range(1, len(path)):
            forward[b] = (forward[:b] + steps[:b, b - 1][:, None]).max(0) + own[b]
        for a in range(len(path) - 2, -1, -1):
            backward[a] = (backward[a + 1 :] + own[a + 1 :] + steps[a, a:][:, None]).max(0)
        sides.append((path, forward, backward))
    total = entering + sides[0][1][-1] + sides[1][1][-1]
    for side, (path, forward, backward) in enumerate(sides):
        other = entering + sides[1 - side][1][-1]
        for b, m in enumerate(path[1:-1], 1):
            through[m] = (forward[b] + backward[b] + other).max()
    under = np.full(n_nodes, -np.inf)
    under[above] = total
    return under, through


# -- sentences ---------------------------------------------------------------------------------------------------------

BOUNDS: dict[str, Callable[[Scores, np.ndarray], Scores]] = {
    "exact scores": lambda scores, _: scores,
    "exact scores, but of parts of pruned arcs alone by two of their words": by_pairs_of_pruned,
    "exact scores of arcs, all other parts by two of their words": lambda scores, _: by_pairs(scores),
    "exact scores of arcs, all other parts by their type": lambda scores, _: by_types(scores),
}
"""What is known of the scores, as a function of the exact ones and the candidates."""


def figures_of(parser: Parser, sentence) -> Row:
    """Return the pruned arcs of a sentence, and how many each bound excludes."""
    batch = parser.run([sentence], until=decode)
    [found], n_nodes = batch.found, len(sentence) + 1
    arcs, n_arcs = found.problem, len(found.problem.head)
    shares = np.zeros((3, n_nodes, n_nodes))
    shares[:, arcs.head, arcs.modifier] = found.copies.reshape(3, n_arcs)
    mask = np.zeros((n_nodes, n_nodes), bool)
    mask[arcs.head, arcs.modifier] = True
    wide = score(number(batch._replace(arcs=[full_arc_space(n_nodes - 1)])))
    scores = exact(wide.spaces[0], wide.scores[0])
    problem = without_bonus(Problem(mask, *shares), scores)
    incumbent, single_root = found[0].score - 1e-6 * (1.0 + abs(found[0].score)), parser.request.options.single_root
    pruned = np.isfinite(scores.arc) & ~mask
    row: Row = {"sentences": 1, "words": n_nodes - 1, "pruned": int(pruned.sum())}
    for name, bounded in BOUNDS.items():
        row[name] = int(excluded(problem, bounded(scores, mask), scores, incumbent, single_root).sum())
    return row | {AUTOMATA: int(excluded_by_automata(problem, scores, incumbent, single_root).sum())}


AUTOMATA = "exact scores, automata over all arcs"


def without_bonus(problem: Problem, scores: Scores) -> Problem:
    """Return other shares of the arcs that are the only candidates into their words.

    The relaxation forces them by a bonus to the automata of their heads, which a tree with another arc would not pay
    back.  The automaton keeps so much that it is indifferent to them.
    """
    head, tree = problem.head.copy(), problem.tree.copy()
    for m in np.flatnonzero(problem.candidate.sum(0) == 1):
        h = int(np.flatnonzero(problem.candidate[:, m])[0])
        without = problem.candidate.copy()
        without[h, m] = False
        slack = value_of_automaton(h, problem._replace(head=head), scores)
        slack -= value_of_automaton(h, Problem(without, tree, head, problem.modifier), scores)
        head[h, m], tree[h, m] = head[h, m] - slack, tree[h, m] + slack
    return problem._replace(head=head, tree=tree)


def value_of_automaton(h: int, problem: Problem, scores: Scores) -> float:
    """Return the value of an automaton over the candidates."""
    above = np.flatnonzero(problem.candidate[:, h]).tolist() if h else [None]
    return max(
        (0.0 if g is None else float(problem.modifier[g, h])) + sum(best_side(h, s, problem, scores, g) for s in (0, 1))
        for g in above
    )


def measure(setting: Setting, languages: Sequence[str]) -> None:
    """Measure the bounds on some treebanks; rows of this version are kept."""
    for language in languages:
        made, rows = rows_of_this_version(setting, "all-arcs", FILE)
        if any(row["language"] == language for row in rows):
            continue
        log.info("all arcs, %s", language)
        parser = Parser(Model.load(model_file(setting, language, SETS[0])))
        short = (each for each in conll.read(treebank(setting, language)[1]) if len(each) <= WORDS)
        found = [figures_of(parser, sentence) for sentence, _ in zip(short, range(SENTENCES), strict=False)]
        total = {name: sum(row[name] for row in found) for name in found[0]}
        write_rows(setting.results / FILE, [*rows, {"language": language, "made": made} | total])
    write_page(setting)


def write_page(setting: Setting) -> None:
    """Write the page."""
    rows = known(setting, FILE)
    header = [
        "pruned arcs excluded",
        *(f"{str(row['language']).title()}, {row['sentences']} sentences" for row in rows),
    ]
    lines = [["pruned arcs", *(f"{row['pruned']:,}" for row in rows)]]
    lines += [[name, *(f"{percent(row[name] / row['pruned'], 1)} %" for row in rows)] for name in (AUTOMATA, *BOUNDS)]
    path = setting.results / "all-arcs.md"
    with appearing(path) as temporary:
        temporary.write_text(f"{INTRODUCTION}\n{table(header, lines)}\n{CONCLUSION}", encoding="utf-8")
    stamp(path, "all-arcs")


def _run(arguments: list[str] | None) -> None:
    """Run the command line."""
    measure(*small_setting(arguments, "all_arcs", __doc__.split("\n")[0]))


if __name__ == "__main__":
    sys.exit(run_program(_run, None))
