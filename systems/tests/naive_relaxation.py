"""Relaxations from the definitions, in plain Python: parts are lists of solutions, and everything is enumerated.

A part is a triple: its solutions (values of its variables), their scores, and the numbers of its variables.
"""

import itertools
import math

import numpy as np
from scipy.optimize import linprog


def agreements(parts):
    """Pairs of (part, place), the first copy of a variable and another one; and each variable's first copy."""
    first, found = {}, []
    for i, (_, _, view) in enumerate(parts):
        for place, variable in enumerate(view):
            if variable in first:
                found.append((first[variable], (i, place)))
            else:
                first[variable] = (i, place)
    return found, first


class Dual:
    """The Lagrangian dual of parts that agree and of rows ``(coefficients, limit, equal)``, by enumeration."""

    def __init__(self, parts, rows=()):
        self.parts, self.rows = parts, list(rows)
        self.pairs, self.first = agreements(parts)
        self.size = len(self.pairs) + len(self.rows)

    def prices(self, multipliers):
        """The multipliers' price of each variable of each part."""
        prices = [[0.0] * len(view) for _, _, view in self.parts]
        for u, ((i, a), (j, b)) in zip(multipliers, self.pairs, strict=False):
            prices[i][a] += u
            prices[j][b] -= u
        for v, (coefficients, _, _) in zip(multipliers[len(self.pairs) :], self.rows, strict=True):
            for variable, coefficient in enumerate(coefficients):
                i, a = self.first[variable]
                prices[i][a] -= v * coefficient
        return prices

    def __call__(self, multipliers):
        """The dual value, the number of each part's best solution, and the residual of each constraint."""
        total = sum(v * limit for v, (_, limit, _) in zip(multipliers[len(self.pairs) :], self.rows, strict=True))
        chosen = []
        for (solutions, scores, _), price in zip(self.parts, self.prices(multipliers), strict=True):
            values = [
                score + math.fsum(p * x for p, x in zip(price, solution, strict=True))
                for solution, score in zip(solutions, scores, strict=True)
            ]
            chosen.append(values.index(max(values)))
            total += max(values)
        return total, chosen, self.residual([part[0][k] for part, k in zip(self.parts, chosen, strict=True)])

    def residual(self, xs):
        """First copies minus the others, then limits minus left-hand sides, at some values of the parts' variables."""
        found = [xs[i][a] - xs[j][b] for (i, a), (j, b) in self.pairs]
        for coefficients, limit, _ in self.rows:
            found.append(limit - sum(c * xs[self.first[j][0]][self.first[j][1]] for j, c in enumerate(coefficients)))
        return found

    def inequality(self, k):
        """Whether the constraint of a multiplier is an inequality."""
        return k >= len(self.pairs) and not self.rows[k - len(self.pairs)][2]


def optimum(parts, rows=()):
    """The highest value of solutions that agree and satisfy the rows, and their numbers; minus infinity if none do."""
    best = (-math.inf, None)
    for numbers in itertools.product(*[range(len(scores)) for _, scores, _ in parts]):
        x, agree = {}, True
        for (solutions, _, view), k in zip(parts, numbers, strict=True):
            for variable, value in zip(view, solutions[k], strict=True):
                agree = agree and x.setdefault(variable, value) == value
        if agree and all(satisfied(row, x) for row in rows):
            value = math.fsum(part[1][k] for part, k in zip(parts, numbers, strict=True))
            best = max(best, (value, numbers), key=lambda found: found[0])
    return best


def satisfied(row, x):
    """Whether variables satisfy a row."""
    coefficients, limit, equal = row
    left = sum(c * x[j] for j, c in enumerate(coefficients))
    return abs(left - limit) < 1e-9 if equal else left <= limit + 1e-9


def program(parts, n_variables, rows=(), integer=False):
    """The optimum of the linear program over the convex hulls of the parts, by HiGHS; or of the integer program.

    Columns are the shared variables, then a weight for each solution of each part.
    """
    sizes = [len(scores) for _, scores, _ in parts]
    total, begin = n_variables + sum(sizes), n_variables
    left, right, upper, limits = [], [], [], []
    for (solutions, _, view), size in zip(parts, sizes, strict=True):
        weights = slice(begin, begin + size)
        row = np.zeros(total)
        row[weights] = 1.0
        left.append(row)
        right.append(1.0)
        for place, variable in enumerate(view):
            row = np.zeros(total)
            row[weights] = [solution[place] for solution in solutions]
            row[variable] -= 1.0
            left.append(row)
            right.append(0.0)
        begin += size
    for coefficients, limit, equal in rows:
        row = np.concatenate([coefficients, np.zeros(total - n_variables)])
        (left if equal else upper).append(row)
        (right if equal else limits).append(limit)
    costs = -np.concatenate([np.zeros(n_variables), *[np.asarray(scores, float) for _, scores, _ in parts]])
    kinds = np.concatenate([np.zeros(n_variables), np.full(total - n_variables, int(integer))])
    above = {"A_ub": np.array(upper), "b_ub": limits} if upper else {}
    found = linprog(costs, A_eq=np.array(left), b_eq=right, bounds=(0, 1), integrality=kinds, **above)
    assert found.status == 0, found.message
    return -found.fun


# -- the subgradient method --------------------------------------------------------------------------------------------


def subgradient(dual, step, iterations):
    """Run the subgradient method; return dual values, steps, multipliers before each step, and weighted averages.

    ``step(duals, residual)`` returns the step after the iteration of the last dual value.
    """
    u, duals, steps, path = [0.0] * dual.size, [], [], []
    weighted = dict.fromkeys(dual.first, 0.0)
    copies = {variable: sum(variable in view for _, _, view in dual.parts) for variable in dual.first}
    for _ in range(iterations):
        value, chosen, residual = dual(u)
        path.append(list(u))
        duals.append(value)
        moving = [0.0 if dual.inequality(k) and u[k] <= 0 and r > 0 else r for k, r in enumerate(residual)]
        if not any(moving):
            steps.append(0.0)
            break
        steps.append(step(duals, moving))
        for (solutions, _, view), k in zip(dual.parts, chosen, strict=True):
            for variable, value in zip(view, solutions[k], strict=True):
                weighted[variable] += steps[-1] * value / copies[variable]
        u = [x - steps[-1] * r for x, r in zip(u, residual, strict=True)]
        u = [max(0.0, x) if dual.inequality(k) else x for k, x in enumerate(u)]
    total = sum(steps)
    return duals, steps, path, [weighted[j] / total for j in sorted(weighted)] if total else None


def increases(duals):
    """Number of times that the dual has risen."""
    return sum(b > a for a, b in itertools.pairwise(duals))


# -- the papers' parser and tagger -------------------------------------------------------------------------------------


def parses(grammar, symbol, words):
    """All derivations of a number of words from a symbol: (score, tags), for rules of any length.

    ``grammar`` lists (left, right, score); a symbol without a rule is a tag, which any one word may have.
    """
    rules = [(right, score) for left, right, score in grammar if left == symbol]
    if not rules:
        return [(0.0, (symbol,))] if words == 1 else []
    found = []
    for right, score in rules:
        for lengths in itertools.product(range(1, words + 1), repeat=len(right)):
            if sum(lengths) == words:
                options = [parses(grammar, child, length) for child, length in zip(right, lengths, strict=True)]
                found += [
                    (score + sum(part[0] for part in choice), sum((part[1] for part in choice), ()))
                    for choice in itertools.product(*options)
                ]
    return found


def taggings(tags, n, unary, bigrams):
    """All tag sequences of n words with their scores."""
    found = []
    for sequence in itertools.product(tags, repeat=n):
        score = sum(unary.get((i, tag), 0.0) for i, tag in enumerate(sequence, 1))
        found.append((score + sum(bigrams.get(pair, 0.0) for pair in itertools.pairwise(sequence)), sequence))
    return found
