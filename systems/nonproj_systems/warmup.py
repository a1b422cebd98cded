"""Compile the kernels of the systems in advance: a part of ``nonproj compile``.

As in `nonproj.cli.warmup`, each kernel is called with the types of real use, by solving something small.
"""

from __future__ import annotations

import numpy as np

from nonproj.cli.warmup import sentences
from nonproj.components.trainer import train
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj_systems.constituency import model as phrase_models
from nonproj_systems.constituency.brackets import parse_tree
from nonproj_systems.constituency.collins import Collins
from nonproj_systems.constituency.joint_dependencies import GAMMA, JointParser
from nonproj_systems.constituency.lexicalised import LexicalisedParser
from nonproj_systems.constituency.parser import METHODS
from nonproj_systems.constituency.parser import Parser as PhraseParser
from nonproj_systems.mrf.inference import infer
from nonproj_systems.mrf.model import MRF
from nonproj_systems.programs.column_generation import price_and_cut
from nonproj_systems.programs.price_and_cut import PricingParser
from nonproj_systems.translation import model as translation_models
from nonproj_systems.translation.decoding import decode
from nonproj_systems.translation.graph import phrase_bonus, prune
from nonproj_systems.translation.language_model import score_words
from nonproj_systems.translation.refinement import refine
from nonproj_systems.translation.template import make_graph
from nonproj_systems.tsp.instance import make_instance
from nonproj_systems.tsp.solver import Options, solve

SMALL = dict.fromkeys(("features.bits", "pruner.bits", "labeler.bits", "tagger.bits"), 12)
SMALL |= dict.fromkeys(("training.epochs", "pruner.epochs", "tagger.epochs"), 1)
SMALL |= dict.fromkeys(("pruner.folds", "network.epochs", "tagger.network_epochs", "segmenter.epochs"), 0)

TREES = [
    "(S (NP (NN dog)) (VP (VB see) (NP (NN cat))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN in) (NP (NN tree)))) (VP (VB run)))",
]
WORDS, TAGS = ["the", "dog", "see", "cat"], ["DT", "NN", "VB", "NN"]


def warm_up() -> None:
    """Call every kernel of the systems."""
    for system in (parse_phrases, infer_labels, price, translate, find_tours):
        system()


def parse_phrases() -> None:
    """Parse by each method, and by the lexicalised grammar alone and together with a parser of dependencies."""
    trees = [parse_tree(text) for text in TREES]
    parser = PhraseParser(phrase_models.train(trees))
    for method in METHODS:
        parser.parse(WORDS, method)
    grammar = LexicalisedParser(Collins.train(trees, 1))
    grammar.parse(WORDS, TAGS)
    without = {"parts": ["arc"], "tagger.epochs": 0, "labeler.epochs": 0}
    dependencies = Parser(train(sentences(), Config().with_overrides(SMALL | without)))
    for exact in (False, True):
        joint = JointParser(grammar, dependencies, GAMMA, 10, exact)
        joint.parse(WORDS, TAGS)
        joint.hard(WORDS, TAGS)


def infer_labels() -> None:
    """Infer the labels of a ring by both methods."""
    ring = MRF([[0.0, 0.1]] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], [-np.eye(2)] * 5)
    for method in ("trws", "trees"):
        infer(ring, method, exact=True)


def price() -> None:
    """Parse over all arcs by price and cut, also with loose bounds, under which rows are violated."""
    without = {"parts": ["arc", "grandparent"], "labeler.joint": False, "tagger.epochs": 0}
    PricingParser(train(sentences(), Config().with_overrides(SMALL | without))).parse(sentences()[0])
    rng = np.random.default_rng(0)
    price_and_cut(rng.normal(size=(6, 6)), np.full((6, 6, 6), 0.5), lambda parts: np.zeros(len(parts)))


def translate() -> None:
    """Train on two sentence pairs, translate, and count words of a sentence exactly."""
    pairs = [["ein", "Hund", "rennt"]] * 2, [["a", "dog", "runs"]] * 2
    model = translation_models.train(*pairs)
    instance, _ = model.instance(pairs[0][0])
    decode(instance)
    graph, scores = make_graph(instance), np.zeros(instance.n_words)
    prune(graph, phrase_bonus(instance.start, instance.end, scores), -np.inf)
    refine(graph, instance, [0], False, scores)
    score_words(model.lm, [3])


def find_tours() -> None:
    """Find the shortest tour of two triangles joined by three paths, which takes branches to prove."""
    edges = np.array([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 6), (3, 6), (1, 7), (4, 7), (2, 8), (5, 8)])
    lengths = np.full((9, 9), 90)
    lengths[edges[:, 0], edges[:, 1]] = lengths[edges[:, 1], edges[:, 0]] = 10
    for k in range(9):
        lengths = np.minimum(lengths, lengths[:, [k]] + lengths[k])
    solve(make_instance(lengths), Options(kicks=10))
