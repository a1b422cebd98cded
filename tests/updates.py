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
from nonproj.types import PartSpace, Sentence

BITS = 12
FILES = load_templates(parts="third")


def draw_parts(rng: np.random.Generator, heads: np.ndarray, name: str) -> PartSpace:
    """The parts over random candidate arcs, those of a tree among them."""
    n = len(heads) - 1
    arcs, mask = draw_arcs(rng, n), np.zeros((n + 1, n + 1), bool)
    mask[arcs.head, arcs.modifier] = True
    mask[heads[1:], np.arange(1, n + 1)] = True
    return part_space(arc_space_from_mask(mask), name)


def draw_update(
    seed: int, name: str, n: int, margin: float = 0.0, relaxed: bool = True, **options
) -> tuple[Perceptron, PartExample, Sentence, TokenEncoder]:
    """A perceptron of random weights, a sentence with its example, and the rest that the twin needs."""
    rng = np.random.default_rng(seed)
    sentence, heads = draw_sentence(rng, n), draw_tree(rng, n)
    encoder = TokenEncoder.from_sentences([sentence], attributes_of(FILES), 1)
    parts = draw_parts(rng, heads, name)
    perceptron = Perceptron(Scorer(FILES, encoder.attributes, name), BITS, margin, DualOptions(**options), relaxed)
    # Multiples of 1/64 are exact in float32, and ties between sums of dozens of them are rare.
    perceptron.weights[:] = rng.integers(-64, 65, 1 << BITS) / 64
    return perceptron, PartExample(encoder.encode(sentence), heads, parts), sentence, encoder


def twin_scores(
    perceptron: Perceptron, example: PartExample, sentence: Sentence, encoder: TokenEncoder
) -> tuple[np.ndarray, list[list[int]]]:
    """The scores of all parts by the twin, and the places of each part."""
    places = []
    for name in example.parts.names:
        for words, side in naive.listed(name, example.parts.arcs):
            places.append(naive.places(sentence, encoder.vocabularies, FILES[name], words, BITS, side))
    return np.array([sum(float(perceptron.weights[i]) for i in found) for found in places]), places
