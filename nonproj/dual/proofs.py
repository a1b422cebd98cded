"""The proof of a sentence's trees, from the record of a search; `nonproj.dual.check_proofs` says what it proves.

A proof is a dictionary of JSON values:

=============== ========================================================================================================
``format``      `FORMAT`, with ``version``
``name``        of the sentence
``words``       SHA-256 of its words and tags, see `digest_of_words`; null where scores were given without words
``model``       SHA-256 of the model file; null where scores were given without a model
``options``     an object of the options that change scores or candidates, except those that are fields of their own
``single_root`` whether only trees with one word under the root count; ``projective``, only those without crossing arcs
``costs``       for each candidate arc its cost in a tree in which it is crossed; null for zeros
``outside``     why other arcs are no candidates: ``"pruned"``, ``"forbidden"`` or ``"pruned or forbidden"``;
                ``"nothing"`` if there are none
``candidates``  for each word its candidate heads, ascending; 0 is the root
``scores``      of the parts, by type: arcs by modifier and head, others in the order of `nonproj.parts`
``trees``       best first: ``heads``, ``score`` (minus costs), and ``within``, the most by which another tree can be
                better, null without a certificate
``excluded``    numbers of the arcs that the search left out: with one of them, no tree scores as much as those listed
``multipliers`` pairs of lists: for each arc, the share of its score in the automaton of its head, and the share in that
                of its modifier; null for zeros
``search``      how the trees were divided: see `nonproj.dual.check_proofs.highest_bound`
``digest``      of all before it, SHA-256; only in a file
=============== ========================================================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj.dual.crossing import CrossingCosts, crossing_costs
from nonproj.dual.domain import allowed_parts, normalise_scores, with_scale
from nonproj.dual.nodes import Branch, CrossedArc
from nonproj.dual.options import DualOptions, SearchOptions
from nonproj.dual.problem import problem_of
from nonproj.dual.search import SearchResult, search
from nonproj.parts.space import tree_indicators
from nonproj.types import Bools, Decoded, Float64s, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FORMAT, VERSION = "nonproj proof", 4

PROVABLE = ("arc", "sibling", "grandparent", "grandsibling", "trisibling")
"""Part types that a proof can cover."""


class ScoreSource(NamedTuple):
    """Source of scores: the fields ``name``, ``words``, ``model`` and ``options`` of a proof."""

    name: str = ""
    words: str | None = None
    model: str | None = None
    options: Mapping[str, Any] = {}


NO_SOURCE = ScoreSource()


def digest_of_words(rows: Iterable[Sequence[str]]) -> str:
    """Return the SHA-256 of words and tags: of a line with the columns FORM to FEATS for each word, in UTF-8."""
    text = "".join("\t".join(row[1:6]) + "\n" for row in rows)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def proof_of(
    found: SearchResult,
    parts: PartSpace,
    scores: Float64s,
    options: DualOptions,
    crossing: CrossingCosts | None = None,
    source: ScoreSource = NO_SOURCE,
    outside: str = "pruned",
) -> dict[str, Any]:
    """Return the proof of the trees that a search has found.

    Parameters
    ----------
    found : SearchResult
        Result of a search that was recorded.
    parts : PartSpace
        All parts over the candidate arcs, including arcs that the search left out because no best tree has them.
    scores : ndarray of shape (P,), float64
        Their scores, finite.
    options : DualOptions
        Options of the search, with the scale of its problem.
    crossing : CrossingCosts, optional
        Over the candidate arcs.
    source : ScoreSource
    outside : str
        See the table above.

    Raises
    ------
    ValueError
        If the search was not recorded, or a part type is not one of `PROVABLE`.
    """
    unknown = [part for part in parts.names if part not in PROVABLE]
    if unknown or found.branch is None:
        reason = f"cover parts of the types {', '.join(PROVABLE)}, not {', '.join(unknown)}"
        raise ValueError(f"proofs {reason}" if unknown else "the search was not recorded")
    arcs = parts.arcs
    shares = _Shares(found, parts)
    steps = _steps(found.branch, found.problem.head, found.problem.modifier, shares)
    tables = zip(parts.names, parts.offsets, parts.offsets[1:], strict=False)
    return {
        "format": FORMAT,
        "version": VERSION,
        **source._asdict(),
        "single_root": bool(options.single_root),
        "projective": bool(options.projective),
        "costs": crossing.costs.tolist() if crossing and crossing.costs.any() else None,
        "outside": outside if len(arcs.head) < (len(arcs.start) - 2) ** 2 else "nothing",
        "candidates": [
            arcs.head[begin:end].tolist() for begin, end in zip(arcs.start[1:], arcs.start[2:], strict=False)
        ],
        "scores": {part: scores[begin:end].tolist() for part, begin, end in tables},
        "trees": [_tree(each, found, parts, scores, options, crossing) for each in found],
        "excluded": np.delete(np.arange(len(arcs.head)), shares.places).tolist(),
        "multipliers": shares.pairs(),
        "search": steps,
    }


def search_with_proof(
    parts: PartSpace,
    scores: Float64s,
    options: DualOptions,
    limits: SearchOptions,
    k: int = 1,
    name: str = "",
    costs: ArrayLike | None = None,
) -> tuple[SearchResult, dict[str, Any]]:
    """Return the k best trees, as `nonproj.dual.decoding.k_best` finds them, and their proof.

    Parameters
    ----------
    parts, scores, options, limits, k, costs
        As for `nonproj.dual.decoding.k_best`; the candidates of the proof are the arcs that are not forbidden.
    name : str

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "arc")
    >>> found, proof = search_with_proof(parts, np.array([1.0, 2.0, 4.0, 9.0]), DualOptions(), SearchOptions())
    >>> proof["candidates"], proof["trees"][0]["heads"], proof["search"]
    ([[0, 2], [0, 1]], [0, 1], [0])
    """
    crossing = crossing_costs(parts.arcs, costs, options.projective)
    parts, scores = allowed_parts(parts, scores)
    given = normalise_scores(parts, scores, options, k, crossing)
    problem = problem_of(given.parts, given.relative, given.options, given.own)
    found = search(problem, given.options, limits, k, given.crossing, record=True)
    # Sums of a list's largest scores may have lost digits that rank its first trees.
    options = given.options if k == 1 else with_scale(given.options, problem.instance.scores)
    of_arcs = crossing and crossing.over(parts.arcs)
    return found, proof_of(found, parts, scores, options, of_arcs, ScoreSource(name), "forbidden")


def _tree(
    decoded: Decoded,
    found: SearchResult,
    parts: PartSpace,
    scores: Float64s,
    options: DualOptions,
    crossing: CrossingCosts | None,
) -> dict[str, Any]:
    """Return a tree, its exact value, and the gap that its certificate allows."""
    terms = scores[tree_indicators(parts, decoded.tree) > 0.0].tolist()
    if crossing:
        terms += [-each for each in crossing.payments(decoded.tree)]
    constant = found.problem.own.constant if found.problem.own is not None else 0.0
    gap = options.gap_at(decoded.score - constant)
    return {"heads": decoded.heads.tolist(), "score": math.fsum(terms), "within": gap if decoded.certified else None}


class _Shares:
    """Shares of the automata in the scores of arcs, for each set of trees at which a search ended."""

    def __init__(self, found: SearchResult, parts: PartSpace):
        self.above, self.many = "grandparent" in parts.names, len(parts.names) > 1
        head, modifier, n_nodes = found.problem.head, found.problem.modifier, len(parts.arcs.start) - 1
        self.n_arcs = len(parts.arcs.head)
        order = parts.arcs.modifier.astype(np.int64) * n_nodes + parts.arcs.head
        self.places = np.searchsorted(order, modifier.astype(np.int64) * n_nodes + head)
        self.numbers: dict[int, int] = {}
        self.bounded: list[tuple[Float64s, Bools]] = []

    def number(self, branch: Branch) -> int:
        """Return the number of a set's shares; sets that were bounded together have the same."""
        number = self.numbers.setdefault(id(branch.copies), len(self.numbers))
        if number == len(self.bounded):
            self.bounded.append((branch.copies, branch.keep))
        copies, keep = self.bounded[number]
        self.bounded[number] = copies, keep | branch.keep
        return number

    def pairs(self) -> list[list[list[float] | None]]:
        """Return the pairs of shares, by their numbers."""
        return [[self.share(1, *own), self.share(2, *own)] for own in self.bounded]

    def share(self, copy: int, copies: Float64s, keep: Bools) -> list[float] | None:
        """Return the shares of one kind of automaton, None if all are zero."""
        if not self.many or (copy == 2 and not self.above):
            return None
        found = np.zeros(self.n_arcs)
        found[self.places] = np.where(keep, copies[copy * len(keep) : (copy + 1) * len(keep)], 0.0)
        return found.tolist()


def _steps(branch: Branch, head: np.ndarray, modifier: np.ndarray, shares: _Shares) -> list[Any]:
    """Return the steps of a search; that of a set of trees comes before those of its parts."""
    steps, waiting = list[Any](), [branch]
    while waiting:
        each = waiting.pop()
        if each.division is None:
            steps.append(shares.number(each))
            continue
        if isinstance(each.division, np.ndarray):
            waiting += each.parts
            steps.append({"without": shares.places[each.division].tolist(), "shares": shares.number(each)})
            continue
        arc, rest = each.division, each.parts[1]
        waiting += each.parts[::-1]
        if isinstance(arc, str):
            steps.append(arc)
        elif isinstance(arc, CrossedArc):
            steps.append(["crossed", int(head[arc.arc]), int(modifier[arc.arc])])
        elif rest.keep[modifier == modifier[arc]].any():
            steps.append([int(head[arc]), int(modifier[arc])])
        else:
            waiting.pop(-2)  # the word has no other arc
    return steps


def as_line(proof: dict[str, Any]) -> str:
    """Return a proof as a line of JSON, with its digest."""
    text = json.dumps(proof)
    return f'{text[:-1]}, "digest": "{hashlib.sha256(text.encode()).hexdigest()}"}}'
