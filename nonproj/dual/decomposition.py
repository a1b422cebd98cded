"""Dual decomposition: a maximum spanning arborescence against one automaton for each head (Koo et al. 2010, figures 1
and 2).

All of a sentence's decoding is one call into compiled code over its sparse arcs (`nonproj.dual.subgradient`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import check_problem
from nonproj.dual.subgradient import _AGREED, _STOPPED, POLYAK, Trace, _decode, _find_tree
from nonproj.parts.space import _tree_score
from nonproj.trees.checks import check_status
from nonproj.types import ARC, MODELS, ArcSpace, Decoded, PartIndex, PartScores

RULES = ("paper", "polyak")
"""Names of the step rules, in the order of their numbers."""


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


_NO_TRACE = Trace(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int32))


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
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 1)
    >>> scores = PartScores(np.array([1.0, 2.0, 4.0, 8.0]), np.zeros(index.sibling_start[-1]), np.zeros(0))
    >>> dual_decomposition(arcs, index, scores, 1)[:5]
    (array([-1,  0,  1], dtype=int32), 9.0, 9.0, True, True)
    """
    scores, options = check_all(arcs, index, scores, model, options)
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
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 1)
    >>> scores = PartScores(np.array([1.0, 2.0, 4.0, 8.0]), np.zeros(index.sibling_start[-1]), np.zeros(0))
    >>> from nonproj.dual.subgradient import APPENDIX_A
    >>> decoded, trace = dual_trace(arcs, index, scores, 1, DualOptions(rule=APPENDIX_A))
    >>> len(trace.dual) == decoded.iterations, float(trace.dual.min()), decoded.bound
    (True, 9.0, 9.0)
    """
    scores, options = check_all(arcs, index, scores, model, options)
    return _run(arcs, index, scores, model, options, True)


def check_all(
    arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int, options: DualOptions
) -> tuple[PartScores, DualOptions]:
    """Return scores and options as kernels want them, or name what is wrong, as `dual_decomposition` does."""
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
        check_status(_find_tree(arcs, scores.arc, options, heads))
        score = _tree_score(arcs, index, scores, heads)
        return Decoded(heads, score, score, True, True, 0, 0.0), trace
    found = _decode(arcs, index, scores, int(model), options, trace, heads)
    result = conclude(heads, found)
    return result, Trace(*[values[: result.iterations] for values in trace]) if traced else trace


def conclude(heads: np.ndarray, found: tuple) -> Decoded:
    """Return what the subgradient method found.

    Parameters
    ----------
    heads : ndarray of shape (N,), int32
        The tree that it wrote.
    found : tuple
        Outcome, iterations, score, bound and automata decoded, as the kernel returns them.

    Raises
    ------
    ValueError
        If there is no tree.
    """
    outcome, iterations, score, bound, decoded = found
    if outcome < 0:
        check_status(-outcome)
    share = decoded / (iterations * len(heads))
    # A closed gap may round to either side of zero; no bound is below a tree's score.
    return Decoded(heads, score, max(bound, score), outcome == _AGREED, outcome != _STOPPED, iterations, share)


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
