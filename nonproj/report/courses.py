"""The course of dual decomposition on some sentences, as the page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nonproj.automata.compiled import has_compiled_automata
from nonproj.dual.course import Iteration, course
from nonproj.errors import ConfigError, DependencyError
from nonproj.io.constraints import read_constraints
from nonproj.pipeline import Parser
from nonproj.report.items import Item
from nonproj.report.plots import bounds_plot, svg
from nonproj.types import ArcSpace


def check_courses(parser: Parser) -> None:
    """Raise `ConfigError` if a model's decoder makes no iterations that can be shown."""
    if type(parser) is not Parser:
        raise ConfigError("--course", "it is not recorded where tags and trees are decided jointly; leave out --joint")
    names = tuple(part_type.name for part_type in parser.scorer.types)
    if not has_compiled_automata(parser.scorer.types):
        reason = "are decoded without iterations" if len(names) == 1 else "have no compiled automata"
        raise ConfigError("--course", f"the part types of the model, {', '.join(names)}, {reason}")


def courses_of(items: Sequence[Item], parser: Parser, count: int) -> dict[int, dict[str, Any]]:
    """Return for the sentences that took most iterations what the page shows of their course.

    Parameters
    ----------
    items : sequence of Item
        As the parser returned them.
    parser : Parser
    count : int
        How many sentences.

    Returns
    -------
    dict
        For each index in ``items`` a dictionary with ``k``, a list with dual, primal, heads, the words whose arc in the
        tree is disputed, and disputed arcs that are not in the tree (head, word, and 2 for those that are only taken as
        edges to grandparents); and ``chart``, an SVG, unless the library is missing.
    """
    order = sorted(range(len(items)), key=lambda i: (-items[i].statistics.get("iterations", 0), i))
    found: dict[int, dict[str, Any]] = {}
    for i in order[:count]:
        sentence = items[i].sentence
        tokens, constraints = parser.encode(sentence), read_constraints(sentence, parser.constraints)
        arcs, _ = parser.candidates_of(sentence, tokens, constraints)
        parts, scores = parser.score(tokens, arcs, constraints)
        made = course(parts, scores, parser.options)
        if not made:
            continue
        found[i] = {"k": [_as_list(each, parts.arcs) for each in made]}
        try:
            found[i]["chart"] = svg(bounds_plot([each.dual for each in made], [each.primal for each in made]))
        except DependencyError:
            continue
    return found


def _as_list(iteration: Iteration, arcs: ArcSpace) -> list[Any]:
    """Return an iteration as the page's script reads it."""
    y = iteration.tree[arcs.modifier] == arcs.head
    z, second = iteration.z == 1, iteration.z_grandparent == 1
    missing = arcs.modifier[y & ~(z & second)].tolist()
    extra = np.flatnonzero(~y & (z | second))
    which = np.where(z[extra], 1, 2)
    rows = np.stack([arcs.head[extra], arcs.modifier[extra], which], axis=1).tolist()
    return [round(iteration.dual, 6), round(iteration.primal, 6), iteration.tree[1:].tolist(), missing, rows]
