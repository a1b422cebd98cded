"""Head automata from the definition, by enumeration: every choice of modifiers, every sequence of states."""

import itertools
import math

from naive_trees import candidates, pairs_of


class Automaton:
    """The two half-automata of one head, as functions.

    ``take(h, s, t, m)`` and ``skip(h, s, t, m)`` are the scores of the moves, ``initial(q, s)`` and ``final(q, s)``
    those of both ends, for ``q = 2 * h + side``.
    """

    def __init__(self, n_states, take, skip, initial, final):
        self.n_states, self.take, self.skip, self.initial, self.final = n_states, take, skip, initial, final


def path_score(automaton, q, row, taken, states):
    """The score of one sequence of states, one more than candidates."""
    total = automaton.initial(q, states[0]) + automaton.final(q, states[-1])
    for m, was_taken, (s, t) in zip(row, taken, itertools.pairwise(states), strict=True):
        total += (automaton.take if was_taken else automaton.skip)(q // 2, s, t, m)
    return total


def half_score(automaton, q, row, taken):
    """``f_i(y|i)`` on one side: the best score of any sequence of states for these modifiers."""
    sequences = itertools.product(range(automaton.n_states(q)), repeat=len(row) + 1)
    return max(path_score(automaton, q, row, taken, states) for states in sequences)


def tree_score(automaton, arcs, scores, heads):
    """The score of a tree: its arcs, and each half-automaton's best sequence for the modifiers it has there."""
    pairs = pairs_of(arcs)
    if any((heads[m], m) not in pairs for m in range(1, len(heads))):
        return -math.inf
    total = math.fsum(scores[pairs.index((heads[m], m))] for m in range(1, len(heads)))
    for q in range(2 * len(heads)):
        row = candidates(arcs, q // 2, q % 2)
        total += half_score(automaton, q, row, [heads[m] == q // 2 for m in row])
    return total


def best_relaxed(automaton, arcs, scores):
    """The argmax over Z: the value of each head, and the set of arcs (h, m) that all of them take."""
    pairs = pairs_of(arcs)
    values, chosen = [], set()
    for h in range(len(arcs.start) - 1):
        value = 0.0
        for side in (0, 1):
            row = candidates(arcs, h, side)
            best, modifiers = -math.inf, []
            for taken in itertools.product([False, True], repeat=len(row)):
                subset = list(itertools.compress(row, taken))
                score = half_score(automaton, 2 * h + side, row, taken)
                score += math.fsum(scores[pairs.index((h, m))] for m in subset)
                if score > best:
                    best, modifiers = score, subset
            value += best
            chosen |= {(h, m) for m in modifiers}
        values.append(value)
    return values, chosen
