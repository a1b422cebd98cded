"""A perceptron of random weights and a sentence that it learns from, with the scores of all parts by the twin."""

import naive_scoring as naive
import numpy as np
from problems import draw_arcs, draw_tree
from toy import draw_sentence

from nonproj.dual.options import DualOptions
from nonproj.learning.perceptron import PartExample, Perceptron
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.space import part_space
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vocabulary import TokenEncoder

BITS, LABELS = 12, 3
FILES = load_templates(parts="third", labelled=True)


def draw_parts(rng, heads, name):
    """The parts over random candidate arcs, those of a tree among them."""
    n = len(heads) - 1
    arcs, mask = draw_arcs(rng, n), np.zeros((n + 1, n + 1), bool)
    mask[arcs.head, arcs.modifier] = True
    mask[heads[1:], np.arange(1, n + 1)] = True
    return part_space(arc_space_from_mask(mask), name)


def draw_update(seed, name, n, margin=0.0, relaxed=True, label_margin=None, **options):
    """A perceptron of random weights, a sentence with its example, and the rest that the twin needs.

    With a margin of labels, these are scored with the arcs.
    """
    rng = np.random.default_rng(seed)
    sentence, heads = draw_sentence(rng, n), draw_tree(rng, n)
    encoder = TokenEncoder.from_sentences([sentence], attributes_of(FILES), 1)
    parts = draw_parts(rng, heads, name)
    labels = None if label_margin is None else rng.integers(0, LABELS, n)
    scorer = Scorer(FILES, encoder.attributes, name, 0 if labels is None else LABELS)
    perceptron = Perceptron(scorer, BITS, margin, DualOptions(**options), relaxed, label_margin or 0.0)
    # Multiples of 1/64 are exact in float32, and ties between sums of dozens of them are rare.
    perceptron.weights[:] = rng.integers(-64, 65, 1 << BITS) / 64
    return perceptron, PartExample(encoder.encode(sentence), heads, parts, labels), sentence, encoder


def twin_scores(perceptron, example, sentence, encoder):
    """The scores of all parts by the twin, and the places of each part."""
    parts = [(FILES[name], *part) for name in example.parts.names for part in naive.listed(name, example.parts.arcs)]
    places = [naive.places(sentence, encoder.vocabularies, spec, words, BITS, side) for spec, words, side in parts]
    return np.array([sum(float(perceptron.weights[i]) for i in found) for found in places]), places
