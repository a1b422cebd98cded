"""Compile every kernel in advance, as ``nonproj compile`` does.

Numba compiles at the first call and caches the result on disk.  This module trains and parses with a treebank of three
sentences, so each kernel is called with the types of real use.
"""

from __future__ import annotations

import dataclasses
import io
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np

from nonproj.automata.general import best_paths
from nonproj.components.trainer import train
from nonproj.confidence.classifier import TREE_FEATURES, AdditiveModel, Classifier, ConfidenceModels
from nonproj.confidence.evidence import KINDS, ConfidenceInput, gather
from nonproj.dual.arrays import decode_scores
from nonproj.dual.decoding import branch_and_bound, decode_trusted
from nonproj.dual.options import SEARCH, DualOptions, SearchOptions
from nonproj.dual.problem import TablesProblem
from nonproj.dual.search import search
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.automaton import head_automata
from nonproj.parts.registry import PART_SETS
from nonproj.parts.space import part_space
from nonproj.pipeline.compiling import helper
from nonproj.pipeline.parser import Parser
from nonproj.scoring.encoders.heads import BiaffineLayers, EncodedSentence, sizes_of
from nonproj.scoring.labels import two_best
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.scoring.vocabulary import PADDING, Tokens
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.encoded import add_scores
from nonproj.text.corpus import SurfaceToken
from nonproj.text.layout import MAX_TOKEN
from nonproj.text.multiword import Multiwords
from nonproj.text.segmenter import Segmenter
from nonproj.text.training import TextModels
from nonproj.trees.arborescence import maximum_arborescence
from nonproj.trees.marginals import marginals
from nonproj.trees.projective import is_projective, maximum_projective_tree
from nonproj.trees.pruning import prune
from nonproj.trees.sampling import sample_trees
from nonproj.types import Sentence

_SENTENCES = (
    # A hearing is scheduled on the issue today: two arcs cross.
    ("Et møde er planlagt om sagen i_dag", [2, 3, 0, 3, 2, 5, 4]),
    ("de synger og hunden gøer", [2, 0, 5, 5, 2]),
    ("ja . nej", [0, 1, 0]),
)


def sentences() -> list[Sentence]:
    """Return a treebank of three sentences, one with crossing arcs, one with two roots."""
    made = []
    for text, heads in _SENTENCES:
        rows = [
            [str(i), form, form, form[0], form[:2], f"n={len(form)}|v={form[-1]}", str(head), f"l{head % 3}", "_", "_"]
            for i, (form, head) in enumerate(zip(text.split(), heads, strict=True), 1)
        ]
        made.append(Sentence(rows, np.array([-1, *heads], np.int32)))
    return made


def compile_everything() -> None:
    """Compile every kernel; those for decoding are compiled in another process, at the same time as all others."""
    with helper("nonproj.cli.warmup", "decode"):
        use_other_kernels()
    use_decoders()


def warm_up() -> None:
    """Call every kernel in this process."""
    use_other_kernels()
    use_decoders()


def use_other_kernels() -> None:
    """Call the kernels that need no decoder of parts other than arcs."""
    treebank = sentences()
    analyze(treebank)
    score()
    segment(treebank)
    learn("arc", treebank)


def use_decoders() -> None:
    """Train and parse with all sets of parts beyond arcs; then call the decoders that no model uses."""
    treebank = sentences()
    for name in PART_SETS:
        if name != "arc":
            learn(name, treebank)
    decode()


def learn(name: str, treebank: list[Sentence]) -> None:
    """Train, save, load and parse with a set of part types and each decoder."""
    small: dict[str, object] = dict.fromkeys(("features.bits", "pruner.bits", "labeler.bits"), 12)
    small |= {"training.epochs": 2, "pruner.folds": 0}
    small |= {"treebank.root": "multi", "decoding.projective": False}  # three sentences are too few to decide
    for decoder in ("relaxed", "dual"):
        model = train(treebank, Config().with_overrides(small | {"parts": name, "training.decoder": decoder}))
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        model = Model.load(Path(folder) / "model")
        for options in ({}, {"projective": True}, {"single_root": True}, {"step": "paper"}):
            parser = Parser(model, dataclasses.replace(model.config.decoding, **options))
            for _ in parser.parse_all(treebank):
                pass
        del model, parser  # mapped files cannot be removed everywhere


def analyze(treebank: list[Sentence]) -> None:
    """Train a tagger and lemmatizer, and use them."""
    Analyzer.fit(treebank, Config().with_overrides({"tagger.bits": 12}).tagger).annotate(treebank, overwrite=True)


def segment(treebank: list[Sentence]) -> None:
    """Train segmenters of text with blanks between words, without blanks, and with blanks within words; split texts."""
    options = Config().with_overrides({"segmenter.bits": 12, "segmenter.epochs": 1}).segmenter
    text = f"Ja. Nej\n\nde synger, og hunden gøer i dag {'a' * (MAX_TOKEN + 1)}"
    for between, within, copies in ((" ", "_", 1), ("", "_", _OFTEN), (" ", " ", _OFTEN)):
        raw = "".join(_with_text(sentence, between, within) for sentence in treebank)
        segmenter = Segmenter.fit(list(conll.read(io.StringIO(raw * copies))), options)
        assert isinstance(segmenter.finder, TextModels) and (segmenter.finder.words is None) == (copies == 1)
        for tree_scores in (None, lambda stretches: np.zeros(sum(1 for _ in stretches))):
            segmenter.using(True, tree_scores).segment(text)
    Segmenter.unicode().segment(text)
    Multiwords.fit([[[SurfaceToken("im", True, ("in", "dem"))]] * 2]).expand(["im"])


_OFTEN = 50
"""Number of copies of the treebank that suffices to learn words without blanks around them, or with blanks within."""


def _with_text(sentence: Sentence, between: str, within: str) -> str:
    """Return a sentence in CoNLL-U with its text: ``between`` separates words, ``within`` replaces ``_`` in forms."""
    lines = [f"# text = {between.join(sentence.forms).replace('_', within)}\n"]
    for row in sentence.rows:
        misc = "_" if between else "SpaceAfter=No"
        lines.append("\t".join((row[0], row[1].replace("_", within), *row[2:9], misc)) + "\n")
    return "".join(lines) + "\n"


def score() -> None:
    """Call the kernels of marginals, pruning, encoders, and vectors by pieces."""
    scores = np.arange(16.0).reshape(4, 4)
    for single_root in (False, True):
        marginals(scores, single_root)
        maximum_arborescence(scores, single_root)
        maximum_projective_tree(scores, single_root)
    prune([[0.0, 0.1, 0.1], [0.0, 0.0, 0.9], [0.0, 0.9, 0.0]])  # the best heads form a cycle
    layers = BiaffineLayers({name: np.zeros(shape, np.float32) for name, shape in sizes_of(1, 1).items()})
    EncodedSentence(layers, np.zeros((3, 1), np.float32)).parts("sibling", np.array([[0, 3, 1]], np.int32))
    zeros, ones, integers = np.zeros((1, 1), np.float32), np.ones(1, np.int32), np.zeros((1, 1), np.int32)
    add_scores(zeros, zeros, ones, integers, integers[0], 1.0, np.zeros((1, 1)))
    PieceVectors(["a"], zeros[0], np.zeros((1, 1), np.int8)).of(["a"])


def decode() -> None:
    """Decode without and with projective trees, with general automata, and by branch and bound."""
    for projective in (False, True):
        parts = part_space(full_arc_space(3), "grandparent")
        branch_and_bound(parts, np.zeros(len(parts)), DualOptions(projective=projective))
    is_projective(np.array([-1, 0], np.int32))
    decode_scores(np.zeros((3, 3)))
    sample_trees(np.zeros((3, 3)), 1)
    branch()
    estimate()
    arcs = full_arc_space(1)
    tables, zeros = head_automata(arcs, 1), np.zeros(len(arcs.head))
    best_paths(arcs, tables, zeros)
    search(TablesProblem(arcs, tables, zeros, DualOptions()), DualOptions(), SEARCH)


def estimate() -> None:
    """Call the kernels of confidence, without and with projective trees and parts of third order."""
    tokens = Tokens(np.zeros((4 + 2 * PADDING, 1), np.int32), np.zeros(5, np.int32), np.zeros(0, np.int32))
    sizes = len(KINDS["text"]), len(TREE_FEATURES)
    heads, trees = (AdditiveModel(*np.zeros((2, size, 1)), *np.zeros((3, 1))) for size in sizes)
    labels = two_best(np.zeros((3, 2)))
    for name, projective in product(("grandparent", "third"), (False, True)):
        parts, options = part_space(full_arc_space(3), name), DualOptions(projective=projective)
        found = decode_trusted(parts, np.zeros(len(parts)), options, SearchOptions())
        marginal = np.zeros(len(parts.arcs.head))
        case = ConfidenceInput(tokens, found.problem, found.copies, marginal, found[0], *labels)
        case = case._replace(tag_margins=np.zeros(3), boundary_margins=np.zeros((4, 2), np.float32))
        Classifier(0.0, text=ConfidenceModels(heads, heads, trees)).confidence(gather(case, 0, options, np.inf))


def branch() -> None:
    """Run branch and bound on sentences where one iteration leaves a gap."""
    for name, projective in (("grandparent", False), ("grandparent", True), ("third", False)):
        parts, options = part_space(full_arc_space(5), name), DualOptions(max_iterations=1, projective=projective)
        scores = np.random.default_rng(0).normal(size=len(parts))
        branch_and_bound(parts, scores, options, SearchOptions(node_iterations=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["decode"]:
        decode()
    else:
        compile_everything()
