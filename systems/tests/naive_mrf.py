"""Pairwise Markov random fields from the definition: maxima by enumeration, message passing over dictionaries."""

import itertools

import numpy as np


def random_field(rng, integers=False, n=None, states=3, density=0.6):
    """Return scores of nodes, edges and tables of a random field; small integers have ties."""
    n = int(rng.integers(1, 7)) if n is None else n
    sizes = rng.integers(1, states + 1, n)
    edges = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < density]
    edges = [edges[e] if rng.random() < 0.5 else edges[e][::-1] for e in rng.permutation(len(edges))]

    def draw(*shape):
        return rng.integers(-2, 3, shape).astype(float) if integers else 2.0 * rng.standard_normal(shape)

    return [draw(k) for k in sizes], edges, [draw(sizes[i], sizes[j]) for i, j in edges]


def random_grid(rng, height, width, states, integers=False):
    """Return scores of nodes and tables of edges of a random grid, as arrays."""
    shapes = (height, width, states), (height * (width - 1) + width * (height - 1), states, states)
    if integers:
        return [rng.integers(-2, 3, shape).astype(float) for shape in shapes]
    return [rng.standard_normal(shape) * scale for shape, scale in zip(shapes, (1.0, 2.0), strict=True)]


def grid_edges(height, width):
    """Return the edges of a grid: horizontal ones, then vertical ones, row by row."""
    across = [(r * width + c, r * width + c + 1) for r in range(height) for c in range(width - 1)]
    return across + [(r * width + c, (r + 1) * width + c) for r in range(height - 1) for c in range(width)]


def score(field, labels):
    """Return the score of labels."""
    unary, edges, tables = field
    total = sum(float(scores[x]) for scores, x in zip(unary, labels, strict=True))
    return total + sum(float(table[labels[i], labels[j]]) for (i, j), table in zip(edges, tables, strict=True))


def all_labels(field):
    """Return all labels."""
    return itertools.product(*(range(len(scores)) for scores in field[0]))


def maximum(field):
    """Return the highest score."""
    return max(score(field, labels) for labels in all_labels(field))


def new_messages(field):
    """Return messages of zeros, by (edge, node that receives)."""
    unary, edges, _ = field
    return {(e, i): np.zeros(len(unary[i])) for e, ends in enumerate(edges) for i in ends}


def sweep(field, messages, forward):
    """Pass messages as TRW-S does (Kolmogorov 2006, figure 3); return the bound of the chains afterwards."""
    unary, edges, tables = field
    nodes = range(len(unary)) if forward else range(len(unary) - 1, -1, -1)
    bound = 0.0
    for i in nodes:
        mine = [e for e, ends in enumerate(edges) if i in ends]
        belief = unary[i] + sum(messages[e, i] for e in mine)
        others = {e: edges[e][0] + edges[e][1] - i for e in mine}
        ahead = [e for e in mine if (others[e] > i) == forward]
        chains = max(len(ahead), len(mine) - len(ahead), 1)
        bound += (chains - len(ahead)) * float(max(belief)) / chains
        for e in ahead:
            table = tables[e] if edges[e][0] == i else tables[e].T
            sent = (belief / chains - messages[e, i])[:, None] + table
            bound += float(sent.max())
            messages[e, others[e]] = sent.max(axis=0) - sent.max()
    return bound


def improve(field, labels):
    """Change one label at a time, node by node, to the first best one, until none changes; return the labels."""
    unary = field[0]
    labels, changed = list(labels), True
    while changed:
        changed = False
        for i in range(len(unary)):
            values = [score(field, [*labels[:i], x, *labels[i + 1 :]]) for x in range(len(unary[i]))]
            best = int(np.argmax(values))
            if values[best] > values[labels[i]] + 1e-9:
                labels[i], changed = best, True
    return labels


def components(edges, nodes):
    """Return the number of components of a graph."""
    parts = [{i} for i in nodes]
    for i, j in edges:
        touched = [part for part in parts if i in part or j in part]
        parts = [part for part in parts if part not in touched] + [set().union(*touched)]
    return len(parts)
