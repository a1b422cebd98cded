"""The bound over all arcs, against the enumeration of all trees."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest
from instances import seeds
from problems import KINDS, draw_arcs_of_words, draw_scores, trees_over

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")

from nonproj.parts.arcs import arc_space_from_mask, full_arc_space  # noqa: E402
from nonproj.parts.space import part_space  # noqa: E402
from research.experiments.all_arcs import (  # noqa: E402
    BOUNDS,
    Problem,
    exact,
    excluded,
    excluded_by_automata,
    weights,
    without_bonus,
)

SETS = ("sibling", "grandparent", ["arc", "grandparent"])


def draw(seed):
    """Scores of all parts over three or four words, candidates among the arcs, and random shares of their scores."""
    rng = np.random.default_rng(seed)
    n, names = int(rng.integers(3, 5)), SETS[seed % len(SETS)]
    parts = part_space(full_arc_space(n), names)
    scores = draw_scores(rng, KINDS[seed % len(KINDS)], len(parts))
    arcs = draw_arcs_of_words(rng, n, True)
    candidate = np.zeros((n + 1, n + 1), bool)
    candidate[arcs.head, arcs.modifier] = True
    own = exact(parts, scores)
    head, modifier = (np.where(candidate, rng.normal(size=candidate.shape), 0.0) for _ in range(2))
    if "grandparent" not in parts.names:
        modifier[:] = 0.0
    tree = np.where(candidate, own.arc - head - modifier, 0.0)
    return parts, scores, own, Problem(candidate, tree, head, modifier)


def kinds_of_sets(tree, candidate):
    """Whether a tree has two pruned arcs that leave one head, and two of which one continues the other."""
    pruned = [(tree[m], m) for m in range(1, len(tree)) if not candidate[tree[m], m]]
    heads = [h for h, _ in pruned]
    return len(set(heads)) < len(heads), any(m in heads for _, m in pruned)


@pytest.mark.parametrize("bounded", BOUNDS.values(), ids=BOUNDS)
def test_weights_bound_every_tree(bounded):
    """Trees with any set of pruned arcs, among them several of one head and chains, score at most their weights."""
    shared = chained = 0
    for seed in seeds(60):
        parts, scores, own, problem = draw(seed)
        if seed % 2:
            problem = without_bonus(problem, own)
        total, found = weights(problem, bounded(own, problem.candidate), own)
        score = naive_trees.tree_scorer(parts, scores)
        for tree in naive_trees.all_trees(len(own.arc) - 1):
            bound = total + sum(found[tree[m], m] for m in range(1, len(tree)))
            assert score(tree) <= bound + 1e-9, (seed, tree)
            one, two = kinds_of_sets(tree, problem.candidate)
            shared, chained = shared + one, chained + two
    assert shared > 100 and chained > 100


@pytest.mark.parametrize("single_root", [False, True])
def test_no_arc_of_a_better_tree_is_excluded(single_root):
    """An excluded arc is in no tree that scores more than the incumbent, for incumbents of every quality."""
    counts = dict.fromkeys((*BOUNDS, "automata"), 0)
    for seed in seeds(60):
        parts, scores, own, problem = draw(seed)
        if single_root and not any(trees_over(arc_space_from_mask(problem.candidate), True)):
            continue
        score = naive_trees.tree_scorer(parts, scores)
        trees = {tuple(tree): score(tree) for tree in naive_trees.all_trees(len(own.arc) - 1, single_root)}
        incumbent = sorted(trees.values())[-1 - seed % 3]
        bounds = {name: bounded(own, problem.candidate) for name, bounded in BOUNDS.items()}
        found = {name: excluded(problem, each, own, incumbent, single_root) for name, each in bounds.items()}
        found["automata"] = excluded_by_automata(problem, own, incumbent, single_root)
        for name, out in found.items():
            assert not (out & problem.candidate).any()
            counts[name] += int(out.sum())
            for tree, value in trees.items():
                if value > incumbent + 1e-9:
                    assert not out[list(tree[1:]), range(1, len(tree))].any(), (name, seed, tree)
    *kinds, automata = counts.values()
    assert kinds == sorted(kinds, reverse=True) and min(kinds[0], automata) > 0
