"""Rows of the arborescence polytope and its relaxations: sparse matrices, without scores or a solver.

Columns ``0 .. A - 1`` of every program are the arcs.  Each function returns one family of rows over the arcs and, if
needed, over more columns, the first of which is column ``first``.  Infinite bounds are absent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.types import ArcSpace
from nonproj_systems.programs.constraints import ConstraintRows, at_most, rows_of, stack


def one_head(arcs: ArcSpace, single_root: bool = False) -> ConstraintRows:
    """Return rows that give every word one head and, with a single root, the root one modifier.

    The first ``n`` rows are OneHead of Riedel et al. (2012), section 3.1.  With the root's row, the polytope is a face
    of the arborescence polytope, so its vertices are still integral.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> rows = one_head(full_arc_space(2), single_root=True)
    >>> list(zip(rows.row.tolist(), rows.column.tolist()))
    [(0, 0), (0, 1), (1, 2), (1, 3), (2, 0), (2, 2)]
    """
    n_nodes = len(arcs.start) - 1
    groups = [np.arange(arcs.start[m], arcs.start[m + 1]) for m in range(1, n_nodes)]
    if single_root:
        groups.append(np.flatnonzero(arcs.head == 0))
    return rows_of([(group, np.ones(len(group))) for group in groups], 1.0, 1.0)


def single_commodity(arcs: ArcSpace, first: int) -> ConstraintRows:
    """Return rows that connect all words by one flow: a relaxation of the arborescence polytope, exact for integers.

    Parameters
    ----------
    arcs : ArcSpace
    first : int
        The column of arc 0's flow; the ``A`` flows, from 0 to ``n``, are consecutive columns.

    Returns
    -------
    ConstraintRows
        Source, Consume and NoFlow of Martins, Smith and Xing (2009) in the notation of Riedel et al. (2012), section
        3.1: the root sends ``n`` units of flow, each word consumes one, and an arc carries at most ``n`` times its own
        value.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> rows = single_commodity(full_arc_space(2), first=4)
    >>> rows.lower.tolist(), rows.upper.tolist()
    ([2.0, 1.0, 1.0, -inf, -inf, -inf, -inf], [2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    """
    n_arcs, n_nodes = len(arcs.head), len(arcs.start) - 1
    flows = first + np.arange(n_arcs)
    leaving = arcs.head != 0
    # Row 0 is Source, row m is Consume of word m.
    balance = ConstraintRows(
        np.concatenate([arcs.head[~leaving], arcs.modifier, arcs.head[leaving]]).astype(np.int64),
        np.concatenate([flows[~leaving], flows, flows[leaving]]),
        np.concatenate([np.ones(np.count_nonzero(~leaving)), np.ones(n_arcs), -np.ones(np.count_nonzero(leaving))]),
        *[np.array([n_nodes - 1.0] + [1.0] * (n_nodes - 1))] * 2,
    )
    return stack([balance, at_most(flows, np.arange(n_arcs), n_nodes - 1.0)])


class Commodities(NamedTuple):
    """The columns of the multi-commodity flow: flow ``i`` carries word ``word[i]``'s commodity over arc ``arc[i]``.

    Both int64[F].  There are no columns for arcs from or into a commodity's own word: the commodity does not leave the
    word, and its flow into the word equals the values of the arcs.
    """

    word: np.ndarray
    arc: np.ndarray


def commodities(arcs: ArcSpace) -> Commodities:
    """List the columns that `multi_commodity` needs.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> commodities(full_arc_space(2))
    Commodities(word=array([1, 2]), arc=array([2, 0]))
    """
    words = np.arange(1, len(arcs.start) - 1)
    word, arc = np.nonzero((arcs.head[None] != words[:, None]) & (arcs.modifier[None] != words[:, None]))
    return Commodities(word + 1, arc)


def multi_commodity(arcs: ArcSpace, first: int) -> ConstraintRows:
    """Return rows that connect each word by its own flow: with `one_head`, the arborescence polytope itself.

    Parameters
    ----------
    arcs : ArcSpace
    first : int
        The first column of the flows, which are from 0 to 1 and in the order of `commodities`.

    Returns
    -------
    ConstraintRows
        The root sends one unit of each commodity to its word, no other word consumes any, and an arc carries at most
        its own value of each (Martins et al. 2009; for integrality see Magnanti and Wolsey 1995, "Optimal trees").

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> len(multi_commodity(full_arc_space(3), first=9).lower)
    18
    """
    n_words = len(arcs.start) - 2
    word, arc = commodities(arcs)
    flows = first + np.arange(len(word))
    # The balance of commodity k at word j is row (k - 1) * n + j - 1; rows with j = k stay empty and are dropped.
    into = (word - 1) * n_words + arcs.modifier[arc] - 1
    out = (word - 1) * n_words + arcs.head[arc] - 1
    inner = arcs.head[arc] != 0
    # The flow over an arc into the commodity's own word is the value of the arc.
    last = np.flatnonzero(arcs.head != 0)
    end = (arcs.modifier[last].astype(np.int64) - 1) * n_words + arcs.head[last] - 1
    row = np.concatenate([into, out[inner], end])
    passed = np.flatnonzero(np.arange(n_words**2) % (n_words + 1)) if n_words else np.zeros(0, np.int64)
    balance = ConstraintRows(
        np.searchsorted(passed, row),
        np.concatenate([flows, flows[inner], last]),
        np.concatenate([np.ones(len(flows)), -np.ones(np.count_nonzero(inner) + len(last))]),
        *[np.zeros(len(passed))] * 2,
    )
    return stack([balance, at_most(flows, arc, 1.0)])
