"""The rule of forbidden arcs and the best trees under it, by enumeration; for a few words only."""

from fractions import Fraction
from functools import cache

import naive_trees
import numpy as np


def forbidden(values):
    """The scores that forbid their arcs: walk down the scores; the first that is too low forbids, with all below."""
    ordered = sorted((float(value) for value in values if value > -np.inf), reverse=True)
    for i, value in enumerate(ordered):
        furthest = max((abs(other) for other in ordered[:i]), default=0.0)
        if i > 0 and value < -1e8 and value < -1e6 * furthest:
            return lambda score: not score > value
    return lambda score: score == -np.inf


@cache
def part_table(n, single_root, projective):
    """For each tree the indices of its parts in arrays of arcs, siblings and grandparents, -1 where it has no more."""
    size, rows = n + 1, {"arc": [], "sibling": [], "grandparent": []}
    for heads in naive_trees.tree_array(n, single_root, projective).tolist():
        parts = naive_trees.parts_of_tree(heads)
        rows["arc"].append([h * size + m for h, m in parts["arc"]])
        siblings = [(h, h if s == naive_trees.START else s, m) for h, _, s, m in parts["sibling"]]
        rows["sibling"].append([(h * size + s) * size + m for h, s, m in siblings if m != naive_trees.END])
        rows["grandparent"].append([(g * size + h) * size + m for g, h, m in parts["grandparent"]])
    return {name: _padded(listed) for name, listed in rows.items()}


def _padded(listed):
    """Lists of numbers as one array."""
    table = np.full((len(listed), max(map(len, listed))), -1)
    for row, numbers in zip(table, listed, strict=True):
        row[: len(numbers)] = numbers
    return table


def gather(table, values):
    """The scores in a table, with many digits; 0 if it has none."""
    flat = np.append(np.asarray(values, np.float64).ravel(), 0.0).astype(np.longdouble)
    return flat[table]


def used_scores(n, arrays, single_root, projective):
    """The scores of the parts of each tree, one row a tree; ``arrays`` by the names of part types."""
    tables = part_table(n, single_root, projective)
    return np.concatenate([gather(tables[name], values) for name, values in arrays.items()], axis=1)


def allowed_trees(n, arc_scores, single_root, projective):
    """Mask of the trees without a forbidden arc."""
    counts = ~np.eye(n + 1, dtype=bool)
    counts[:, 0] = False
    is_forbidden = forbidden(np.asarray(arc_scores, np.float64)[counts])
    bad = np.vectorize(is_forbidden, otypes=[bool])(np.append(np.asarray(arc_scores, np.float64).ravel(), 0.0))
    return ~bad[part_table(n, single_root, projective)["arc"]].any(axis=1)


def marginals(n, arc_scores, single_root):
    """The probability of each arc, by enumeration; None if there is no tree."""
    allowed = allowed_trees(n, arc_scores, single_root, False)
    if not allowed.any():
        return None
    heads = naive_trees.tree_array(n, single_root)[allowed]
    used = used_scores(n, {"arc": arc_scores}, single_root, False)[allowed].astype(np.float64)
    totals = [sum(map(Fraction, row)) for row in used.tolist()]  # without rounding
    highest = max(totals)
    weights = np.exp([float(max(total - highest, Fraction(-1000))) for total in totals])
    weights /= weights.sum()
    found = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        np.add.at(found[:, m], heads[:, m], weights.astype(float))
    return found
