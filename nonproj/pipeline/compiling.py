"""Compilation, on two cores, of the kernels that a parser needs.

Numba compiles a kernel at its first call, one after the other.  The kernels for decoding take as long to compile as all
others together, so another process compiles them concurrently; this process then finds them in the cache on disk.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from nonproj.dual.decoding import decode_trusted
from nonproj.dual.problem import problem_of
from nonproj.dual.search import SearchResult
from nonproj.kernels.folders import is_cached, kept_in
from nonproj.kernels.interpreters import START, environment, python
from nonproj.kernels.kernel import compiling
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import part_space
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import crossing_costs, encode, evidence, label, number, prune, score
from nonproj.scoring.templates import CROSSED_ARC, LABEL_PAIRS
from nonproj.trees.arborescence import maximum_arborescence
from nonproj.trees.projective import is_projective
from nonproj.types import Decoded, Sentence

SCORING = ("scorer._score_parts", "marginals._marginals", "labels._score_labels")
"""Kernels that every parse needs: module and name."""

CROSSING = ("projective.is_projective",)
"""Kernels for costs of crossed arcs."""

CONFIDENCE = ("evidence._fill_features", "exclusion._exclude", "classifier._estimate")
"""Kernels for confidence."""

PAIRS = ("label_pairs._score_label_pairs", "tree_labels._decode_labels")
"""Kernels for pairs of labels."""


def compile_for_parsing(path: str, model: Model, decoding: DecodingConfig) -> None:
    """Compile the kernels needed to parse with a model, unless they are in the cache already.

    Parameters
    ----------
    path : str
        The model file, for the other process.
    model : Model
    decoding : DecodingConfig
    """
    projective = model.meta.get("projective", False) if decoding.projective == "auto" else decoding.projective
    crossing = decoding.crossing and CROSSED_ARC in model.components
    needed = needed_kernels(tuple(model.config.parts), bool(projective))
    if crossing and not projective:
        needed += CROSSING
    if "confidence" in model.components and decoding.confidence:
        needed += CONFIDENCE
    if LABEL_PAIRS[0] in model.templates:
        needed += PAIRS
    if not kept_in() or all(map(is_cached, needed)):
        return
    with helper("nonproj.pipeline.compiling", path, "projective" if projective else "crossing" if crossing else "any"):
        compile_scoring(Parser(model, decoding))


def needed_kernels(parts: tuple[str, ...], projective: bool) -> tuple[str, ...]:
    """Return the names of kernels whose presence in the cache shows that parsing needs no compilation.

    Examples
    --------
    >>> needed_kernels(("arc",), False)[3:]
    ('arborescence.best_arborescence',)
    """
    if len(parts) > 1:
        return (*SCORING, "subgradient._descend")
    return (*SCORING, "projective.best_projective_tree" if projective else "arborescence.best_arborescence")


def compile_scoring(parser: Parser) -> None:
    """Compile the kernels of all stages except decoding, by passing a sentence through them."""
    rows = [[str(i), "_", "_", "_", "_", "_", "_", "_", "_", "_"] for i in (1, 2, 3)]
    sentence = Sentence(rows, tag_margins=np.ones(3), boundary_margins=np.ones((4, 2), np.float32))
    batch = prune(encode(Batch(parser.loaded, parser.request, [sentence])))
    batch = score(number(batch._replace(arcs=[full_arc_space(3)])))
    crossing_costs(batch, [0])
    problem = problem_of(batch.spaces[0], batch.scores[0], parser.request.options)
    decoded = Decoded(np.array([-1, 0, 1, 1], np.int32), 0.0, 0.0, True, True, 1, 1.0)
    batch = label(batch._replace(found=[SearchResult([decoded], problem, problem.copies)]))
    if parser.request.confidence and (classifier := parser.loaded.classifier) is not None:
        classifier.confidence(evidence(batch, 0, np.inf))
    maximum_arborescence(np.zeros((3, 3)))  # pruning needs it in most files, but only for few sentences


def compile_decoding(parser: Parser) -> None:
    """Compile the kernels of decoding, by decoding a sentence of three words."""
    parts, request = part_space(full_arc_space(3), parser.loaded.scorer.types), parser.request
    scores = np.zeros(len(parts))
    found = decode_trusted(parts, scores, request.options, request.search)[0]
    if request.crossing:
        is_projective(found.tree)
        decode_trusted(parts, scores, request.options._replace(projective=True), request.search)


_PROGRAM = f"""{START}
import os, runpy, sys, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""Program that runs a module, and ends when the process that started it ends and so closes its end of the pipe."""


@contextmanager
def helper(module: str, *arguments: str) -> Iterator[None]:
    """Run a module of the package in another process, and wait for it at the end; its failure is ignored."""
    process = subprocess.Popen(
        python("-c", _PROGRAM, module, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    try:
        yield
        with compiling:
            process.wait()
    finally:
        process.kill()
        process.communicate()


def main(arguments: Sequence[str]) -> None:
    """Compile the kernels of decoding: ``python -m nonproj.pipeline.compiling MODEL projective|crossing|any``."""
    path, trees = arguments
    model = Model.load(path)
    crossing, exact = float(trees == "crossing"), model.config.decoding.exact
    decoding = DecodingConfig(projective=trees == "projective", crossing=crossing, exact=exact)
    compile_decoding(Parser(model, decoding))


if __name__ == "__main__":
    main(sys.argv[1:])
