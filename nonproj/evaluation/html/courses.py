"""The course of dual decomposition on selected sentences, as shown in the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nonproj.automata.compiled import has_compiled_automata
from nonproj.dual.course import Iteration, course
from nonproj.errors import ConfigError
from nonproj.evaluation.html.items import ReportItem
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import score
from nonproj.types import ArcSpace


def check_courses(parser: Parser) -> None:
    """Raise `ConfigError` if the iterations of a model's decoder cannot be shown."""
    names = tuple(part_type.name for part_type in parser.loaded.scorer.types)
    if not has_compiled_automata(parser.loaded.scorer.types):
        reason = "are decoded without iterations" if len(names) == 1 else "have no compiled automata"
        raise ConfigError("--course", f"the part types of the model, {', '.join(names)}, {reason}")


def courses_of(items: Sequence[ReportItem], parser: Parser, count: int) -> dict[int, dict[str, Any]]:
    """Return the report's data on the course of decoding, for the sentences with the most iterations.

    Parameters
    ----------
    items : sequence of ReportItem
        The results of the parser.
    parser : Parser
    count : int
        Number of sentences.

    Returns
    -------
    dict
        For each index in ``items`` a dictionary with ``k``, a list with dual, primal, heads, the words whose arc in the
        tree is disputed, and disputed arcs that are not in the tree (head, word, and 1, or 2 for those chosen only
        as arcs from grandparents).
    """
    order = sorted(range(len(items)), key=lambda i: (-items[i].statistics.get("iterations", 0), i))
    found: dict[int, dict[str, Any]] = {}
    for i in order[:count]:
        batch = parser.with_request(tags="none").run([items[i].sentence], until=score)
        [parts], [scores] = batch.spaces, batch.scores
        if made := course(parts, scores, parser.request.options):
            found[i] = {"k": [_as_list(each, parts.arcs) for each in made]}
    return found


def _as_list(iteration: Iteration, arcs: ArcSpace) -> list[Any]:
    """Return the data of an iteration for the page's script."""
    y = iteration.tree[arcs.modifier] == arcs.head
    z, second = iteration.z == 1, iteration.z_grandparent == 1
    missing = arcs.modifier[y & ~(z & second)].tolist()
    extra = np.flatnonzero(~y & (z | second))
    which = np.where(z[extra], 1, 2)
    rows = np.stack([arcs.head[extra], arcs.modifier[extra], which], axis=1).tolist()
    return [round(iteration.dual, 6), round(iteration.primal, 6), iteration.tree[1:].tolist(), missing, rows]
