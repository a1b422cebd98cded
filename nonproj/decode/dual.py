"""Dual decomposition: a maximum spanning arborescence against one automaton for each head (Koo et al. 2010, figures 1
and 2).

All of a sentence's decoding is one call into compiled code over its sparse arcs.  The readable form of the loop is
`nonproj.lagrange`; tests hold the two equal, step by step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.decode.arborescence import _best_tree, _report
from nonproj.decode.automata import _decode_head, _new_workspace, check_problem
from nonproj.decode.projective import _best_projective_tree
from nonproj.parts import _tree_score
from nonproj.types import ARC, GRANDPARENT, MODELS, ArcSpace, Decoded, PartIndex, PartScores

_AGREED, _CLOSED, _STOPPED = 0, 1, 2

APPENDIX_A, POLYAK = 0, 1
"""Step rules."""

RULES = ("paper", "polyak")
"""Their names, in the order of their numbers."""

POLYAK_SCALE, POLYAK_PATIENCE, POLYAK_DECAY = 1.7, 20, 0.7
"""Scale of Polyak's step, and by how much it shrinks after so many iterations in a row without a better bound."""

NUDGE = 1e-6
"""Polyak's step is at least this share of the best tree's score, or a closed gap would leave a tie as it is."""

GRACE = 10
"""Iterations still granted after the gap has closed: subproblems that tie mostly agree one or two iterations later."""


class DualOptions(NamedTuple):
    """How to decode.

    Attributes
    ----------
    max_iterations : int
        K; without a certificate by then, the best tree seen is returned (section 7.5).
    beta : float
        Share of the arc scores that the arborescence sees (appendix A.2).
    tau : float
        In a grandparent model the share of the rest that the automaton of an arc's head sees; the automaton of its
        modifier sees what is left.
    single_root : bool
        Whether exactly one word is headed by the root.
    projective : bool
        Look for projective trees, by Eisner's algorithm (section 7.7).
    tolerance : float
        A gap of at most ``tolerance * (1 + |score|)`` counts as none.
    rule : int
        ``APPENDIX_A`` (the paper's step sizes) or ``POLYAK``, see `dual_decomposition`.
    """

    max_iterations: int = 250
    beta: float = 0.5
    tau: float = 0.5
    single_root: bool = False
    projective: bool = False
    tolerance: float = 1e-9
    rule: int = POLYAK


DEFAULTS = DualOptions()


class Trace(NamedTuple):
    """What happened at each of ``k`` iterations.

    Attributes
    ----------
    dual : ndarray of shape (k,), float64
        ``L(u)``, the bound at this iteration's multipliers.
    primal : ndarray of shape (k,), float64
        The score of this iteration's tree.
    step : ndarray of shape (k,), float64
        The step taken after it; 0 at the last.
    decoded : ndarray of shape (k,), int32
        Automata decoded, the others being as they were.
    """

    dual: np.ndarray
    primal: np.ndarray
    step: np.ndarray
    decoded: np.ndarray


_NO_TRACE = Trace(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int32))


class Pace(NamedTuple):
    """What a step rule remembers: ``values`` float64[3], the last dual, the first gap, Polyak's scale; ``counts``
    int64[2], increases of the dual, iterations since the bound fell."""

    values: np.ndarray
    counts: np.ndarray


def dual_decomposition(
    arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int, options: DualOptions = DEFAULTS
) -> Decoded:
    """Find the best tree over the given arcs, with a bound and, mostly, a certificate.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used; some tree must.
    index : PartIndex
        The parts over them.
    scores : PartScores
        Of float64.
    model : int
        ``ARC`` (the arborescence alone), ``SIBLING`` or ``GRANDPARENT``.
    options : DualOptions

    Returns
    -------
    Decoded

    Raises
    ------
    ValueError
        If there is no such model or no tree, the index is another model's, an array of scores does not have one finite
        entry for each part, or an option is out of its range.

    Notes
    -----
    Koo et al. (2010), figures 1 and 2, early stopping of section 7.5, lazy decoding of section 7.4.

    ``APPENDIX_A`` takes the steps of appendix A.1: the first iteration's gap over one more than the number of times the
    dual has risen. ``POLYAK`` takes the gap between the dual and the best tree seen, over the number of multipliers
    that move (the subgradient's squared norm), times a scale that shrinks when the bound stalls (Polyak 1969,
    "Minimization of unsmooth functionals").  It needs a quarter to a half of the iterations.

    Examples
    --------
    >>> from nonproj.parts import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 1)
    >>> scores = PartScores(np.array([1.0, 2.0, 4.0, 8.0]), np.zeros(index.sibling_start[-1]), np.zeros(0))
    >>> dual_decomposition(arcs, index, scores, 1)[:5]
    (array([-1,  0,  1], dtype=int32), 9.0, 9.0, True, True)
    """
    scores, options = _check(arcs, index, scores, model, options)
    return _run(arcs, index, scores, model, options, False)[0]


def decode_trusted(arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int, options: DualOptions) -> Decoded:
    """Decode as `dual_decomposition` does what the program itself has made, without a look at it.

    Parameters
    ----------
    arcs, index, scores, model
        As for `dual_decomposition`, from `part_index` and `nonproj.scoring`.
    options : DualOptions
        From `check_options`.
    """
    return _run(arcs, index, scores, model, options, False)[0]


def dual_trace(
    arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int, options: DualOptions = DEFAULTS
) -> tuple[Decoded, Trace]:
    """Decode as `dual_decomposition` does, and tell what happened at each iteration.

    Parameters
    ----------
    arcs, index, scores, model, options
        As for `dual_decomposition`.

    Returns
    -------
    Decoded
        The same as that of `dual_decomposition`.
    Trace
        One entry for each iteration; none for an arc-factored model.

    Raises
    ------
    ValueError
        As `dual_decomposition`.

    Examples
    --------
    >>> from nonproj.parts import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 1)
    >>> scores = PartScores(np.array([1.0, 2.0, 4.0, 8.0]), np.zeros(index.sibling_start[-1]), np.zeros(0))
    >>> decoded, trace = dual_trace(arcs, index, scores, 1, DualOptions(rule=APPENDIX_A))
    >>> len(trace.dual) == decoded.iterations, float(trace.dual.min()), decoded.bound
    (True, 9.0, 9.0)
    """
    scores, options = _check(arcs, index, scores, model, options)
    return _run(arcs, index, scores, model, options, True)


def _check(arcs, index, scores, model, options) -> tuple[PartScores, DualOptions]:
    """Return scores and options as kernels want them, or name what is wrong."""
    if model not in range(len(MODELS)):
        raise ValueError(f"model is {model!r}; 0 (arc), 1 (sibling) or 2 (grandparent) is expected")
    return check_problem(arcs, index, scores, model), check_options(options)


def _run(arcs, index, scores, model, options, traced) -> tuple[Decoded, Trace]:
    """Decode a problem that is in order, and name what the kernel returned."""
    room = options.max_iterations if traced and model != ARC else 0
    n_nodes = len(arcs.start) - 1
    heads = np.empty(n_nodes, np.int32)
    trace = Trace(np.empty(room), np.empty(room), np.empty(room), np.empty(room, np.int32)) if room else _NO_TRACE
    if model == ARC:
        _report(_find_tree(arcs, scores.arc, options, heads))
        score = _tree_score(arcs, index, scores, heads)
        return Decoded(heads, score, score, True, True, 0, 0.0), trace
    outcome, iterations, score, bound, decoded = _decode(arcs, index, scores, int(model), options, trace, heads)
    if outcome < 0:
        _report(-outcome)
    share = decoded / (iterations * n_nodes)
    # A closed gap may round to either side of zero; no bound is below a tree's score.
    bound = max(bound, score)
    result = Decoded(heads, score, bound, outcome == _AGREED, outcome != _STOPPED, iterations, share)
    return result, Trace(*[values[:iterations] for values in trace]) if traced else trace


def check_options(options: DualOptions) -> DualOptions:
    """Return the options with the types that kernels want, or name the one that is out of its range."""
    options = DualOptions(
        int(options.max_iterations),
        float(options.beta),
        float(options.tau),
        bool(options.single_root),
        bool(options.projective),
        float(options.tolerance),
        int(options.rule),
    )
    if options.max_iterations < 1:
        raise ValueError(f"max_iterations is {options.max_iterations}; 1 or more is expected")
    for name in ("beta", "tau"):
        if not 0.0 <= getattr(options, name) <= 1.0:
            raise ValueError(f"{name} is {getattr(options, name)}; a share from 0 to 1 is expected")
    if not 0.0 <= options.tolerance < np.inf:
        raise ValueError(f"tolerance is {options.tolerance}; 0 or more is expected")
    if options.rule not in range(len(RULES)):
        raise ValueError(f"rule is {options.rule}; 0 (paper) or 1 (polyak) is expected")
    return options


@kernel
def _find_tree(arcs, scores, options, heads):
    """Write the best tree of the wanted kind to int32[N]; return a status as `_best_tree`."""
    if options.projective:
        return _best_projective_tree(arcs, scores, options.single_root, heads)
    return _best_tree(arcs, scores, options.single_root, heads)


@kernel
def _mark_tree(arcs, heads, weights, used):
    """Mark the arcs of a tree; return the sum of their weights and whether any mark changed."""
    value = 0.0
    changed = False
    for a in range(arcs.head.shape[0]):
        mark = 1 if heads[arcs.modifier[a]] == arcs.head[a] else 0
        if mark == 1:
            value += weights[a]
        changed |= used[a] != mark
        used[a] = mark
    return value, changed


@kernel
def _decode(arcs, index, scores, model, options, trace, heads):
    """Run the subgradient method; return outcome (or minus a status), iterations, score, bound, automata decoded."""
    n_arcs, n_nodes = arcs.head.shape[0], arcs.start.shape[0] - 1
    tau = options.tau if model == GRANDPARENT else 1.0
    work = _new_workspace(n_arcs)
    # The three copies of an arc's score move with the multipliers: in the tree, in its head's automaton, in its
    # modifier's.
    weights = scores.arc * options.beta
    taken = scores.arc * ((1.0 - options.beta) * tau)
    raised = scores.arc * ((1.0 - options.beta) * (1.0 - tau))
    used, chosen, chosen_up = np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8)
    moved, values = np.ones(n_nodes, np.bool_), np.zeros(n_nodes)
    tree = np.empty(n_nodes, np.int32)
    score, bound, primal = -np.inf, np.inf, -np.inf
    pace = Pace(np.array([np.inf, 0.0, 1.0]), np.zeros(2, np.int64))
    decoded, left = 0, GRACE
    for k in range(options.max_iterations):
        status = _find_tree(arcs, weights, options, tree)
        if status != 0:
            return -status, k, score, bound, decoded
        dual, changed = _mark_tree(arcs, tree, weights, used)
        decoded_now = 0
        for h in range(n_nodes):
            if moved[h]:
                values[h] = _decode_head(arcs, index, scores, taken, raised, model, h, work, chosen, chosen_up)
                moved[h] = False
                decoded_now += 1
            dual += values[h]
        decoded += decoded_now
        if changed or k == 0:
            primal = _tree_score(arcs, index, scores, tree)
            if primal > score:
                score = primal
                heads[:] = tree
        stalled = dual >= bound
        bound = min(bound, dual)
        if trace.dual.shape[0] > k:
            trace.dual[k], trace.primal[k], trace.step[k], trace.decoded[k] = dual, primal, 0.0, decoded_now
        norm = _disputed(used, chosen, chosen_up, model)
        if norm == 0:
            # The tree may tie with an earlier one; what agreed is what is returned.
            heads[:] = tree
            return _AGREED, k + 1, primal, bound, decoded
        if bound - score <= options.tolerance * (1.0 + abs(score)):
            left -= 1
            if left < 0:
                return _CLOSED, k + 1, score, bound, decoded
        step = _step(options.rule, pace, dual, primal, score, stalled, norm)
        if step == 0.0:
            # The paper's rule after a first gap of zero: nothing will move any more.
            return _CLOSED if left < GRACE else _STOPPED, k + 1, score, bound, decoded
        if trace.dual.shape[0] > k:
            trace.step[k] = step
        _move(arcs, step, model, used, chosen, chosen_up, weights, taken, raised, moved)
    outcome = _CLOSED if left < GRACE else _STOPPED
    return outcome, options.max_iterations, score, bound, decoded


@kernel
def _disputed(used, chosen, chosen_up, model):
    """Count the multipliers over which tree and automata disagree."""
    count = 0
    for a in range(used.shape[0]):
        count += used[a] != chosen[a]
        if model == GRANDPARENT:
            count += used[a] != chosen_up[a]
    return count


@kernel
def _step(rule, pace, dual, primal, score, stalled, norm):
    """Return the size of the next step."""
    last, delta, scale = pace.values[0], pace.values[1], pace.values[2]
    increases, stalls = pace.counts[0], pace.counts[1]
    if last == np.inf:
        delta = dual - primal
    elif dual > last:
        increases += 1
    stalls = stalls + 1 if stalled else 0
    if stalls == POLYAK_PATIENCE:
        stalls = 0
        scale *= POLYAK_DECAY
    pace.values[0], pace.values[1], pace.values[2] = dual, delta, scale
    pace.counts[0], pace.counts[1] = increases, stalls
    if rule == APPENDIX_A:
        return delta / (1.0 + increases)
    return max(POLYAK_SCALE * scale * (dual - score) / norm, NUDGE * (1.0 + abs(score)))


@kernel
def _move(arcs, step, model, used, chosen, chosen_up, weights, taken, raised, moved):
    """Step the multipliers u (and v) of the arcs in dispute, and mark the automata that see them."""
    for a in range(used.shape[0]):
        if chosen[a] != used[a]:
            change = step * (chosen[a] - used[a])
            weights[a] += change
            taken[a] -= change
            moved[arcs.head[a]] = True
        if model == GRANDPARENT and chosen_up[a] != used[a]:
            change = step * (chosen_up[a] - used[a])
            weights[a] += change
            raised[a] -= change
            moved[arcs.modifier[a]] = True
