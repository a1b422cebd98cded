"""Travelling salesman problems from the definitions: distances, 1-trees by enumeration, tours by dynamic programming
and by integer programs with subtour rows, and the subtour bound over all rows."""

import itertools
import math

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp


def distance(kind, first, second):
    """The distance of TSPLIB95 of two points, one pair at a time."""
    dx, dy = first[0] - second[0], first[1] - second[1]
    if kind == "EUC_2D":
        return int(math.sqrt(dx * dx + dy * dy) + 0.5)
    if kind == "CEIL_2D":
        return math.ceil(math.sqrt(dx * dx + dy * dy))
    if kind == "MAN_2D":
        return int(abs(dx) + abs(dy) + 0.5)
    if kind == "MAX_2D":
        return max(int(abs(dx) + 0.5), int(abs(dy) + 0.5))
    if kind == "ATT":
        r = math.sqrt((dx * dx + dy * dy) / 10.0)
        t = int(r + 0.5)
        return t + 1 if t < r else t
    lat1, lon1, lat2, lon2 = (3.141592 * (int(x) + 5.0 * (x - int(x)) / 3.0) / 180.0 for x in (*first, *second))
    q1, q2, q3 = math.cos(lon1 - lon2), math.cos(lat1 - lat2), math.cos(lat1 + lat2)
    return int(6378.388 * math.acos(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)) + 1.0)


def pairs(n):
    """All edges (i, j), i < j."""
    return list(itertools.combinations(range(n), 2))


def components(n, edges, nodes=None):
    """The components of a graph, as a list of sets."""
    parts = [{i} for i in (range(n) if nodes is None else nodes)]
    for i, j in edges:
        first, second = (next(part for part in parts if k in part) for k in (i, j))
        if first is not second:
            parts.remove(second)
            first |= second
    return parts


def one_trees(n):
    """All 1-trees as sorted lists of edges: a tree on all nodes but 0, and two edges at node 0."""
    inner, ends = list(itertools.combinations(range(1, n), 2)), list(itertools.combinations(range(1, n), 2))
    found = []
    for edges in itertools.combinations(inner, n - 2):
        if len(components(n, edges, range(1, n))) == 1:
            found += [sorted([*edges, (0, i), (0, j)]) for i, j in ends]
    return found


def cost(costs, edges):
    """The sum of the costs of edges."""
    return math.fsum(costs[i][j] for i, j in edges)


def degrees(n, edges):
    """The number of edges at each node."""
    return [sum(i in edge for edge in edges) for i in range(n)]


def lagrangian(weights, u, trees):
    """The dual at multipliers and a minimum 1-tree, by enumeration of all 1-trees."""
    n = len(weights)
    values = [cost(weights, tree) + math.fsum(u[i] * (d - 2) for i, d in enumerate(degrees(n, tree))) for tree in trees]
    return min(values), trees[values.index(min(values))]


def kruskal(weights, u):
    """The dual at multipliers and a minimum 1-tree, by sorting the edges."""
    n = len(weights)
    price = {(i, j): weights[i][j] + (u[i] + u[j]) for i, j in pairs(n)}
    order = sorted(price, key=price.get)
    chosen, part = [], {i: {i} for i in range(1, n)}
    for i, j in order:
        if i > 0 and part[i] is not part[j]:
            chosen.append((i, j))
            part[i] |= part[j]
            for k in part[j]:
                part[k] = part[i]
    chosen += [edge for edge in order if edge[0] == 0][:2]
    return math.fsum(price[edge] for edge in chosen) - 2.0 * math.fsum(u), chosen


def shortest(weights):
    """The length of a shortest tour, by dynamic programming over sets of nodes (Held and Karp 1962)."""
    n = len(weights)
    best = {(1 << i, i): weights[0][i] for i in range(1, n)}
    for _ in range(n - 2):
        longer = {}
        for (seen, i), length in best.items():
            for j in range(1, n):
                if not seen >> j & 1:
                    key, value = (seen | 1 << j, j), length + weights[i][j]
                    if value < longer.get(key, math.inf):
                        longer[key] = value
        best = longer
    return min(length + weights[i][0] for (_, i), length in best.items())


def integer_program(weights):
    """The length of a shortest tour, by integer programs (HiGHS) with rows for the subtours of each solution."""
    n, edges = len(weights), pairs(len(weights))
    costs = np.array([weights[i][j] for i, j in edges], float)
    rows, lower, upper = [[float(k in edge) for edge in edges] for k in range(n)], [2.0] * n, [2.0] * n
    while True:
        found = milp(
            costs,
            constraints=LinearConstraint(np.array(rows), lower, upper),
            bounds=Bounds(0, 1),
            integrality=np.ones(len(edges)),
            options={"mip_rel_gap": 0.0},
        )
        parts = components(n, [edge for edge, x in zip(edges, found.x, strict=True) if x > 0.5])
        if len(parts) == 1:
            return round(found.fun)
        for part in parts:
            rows.append([float((i in part) != (j in part)) for i, j in edges])
            lower.append(2.0)
            upper.append(math.inf)


def subtour_bound(weights):
    """The optimum of the linear program with a row for every subset of nodes: the best bound by 1-trees."""
    n, edges = len(weights), pairs(len(weights))
    costs = [weights[i][j] for i, j in edges]
    degree = [[float(k in edge) for edge in edges] for k in range(n)]
    subsets = [set(s) for size in range(2, n - 1) for s in itertools.combinations(range(1, n), size)]
    rows = [[-float((i in part) != (j in part)) for i, j in edges] for part in subsets] or None
    return linprog(costs, rows, [-2.0] * len(subsets) or None, degree, [2.0] * n, (0, 1)).fun
