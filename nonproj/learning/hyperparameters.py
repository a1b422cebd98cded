"""Hyperparameters that are not options, of all components except networks and encoders.

They were chosen on held-out sentences (``research/history.md``); options are in `nonproj.options.sections`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreebankHyperparameters:
    """Thresholds of a treebank's shares and counts.

    Attributes
    ----------
    projective_below : float
        Parsers return projective trees by default if a smaller share of the training arcs is non-projective: UAS rises
        with a share of 0 and falls from 0.18 % on.
    min_crossing, min_sentences : int
        Minimum numbers of non-projective arcs, and of sentences with them or with several roots; fewer are taken for
        mistakes, because one wrong head makes either.
    punctuated_from : float
        If a smaller share of the sentences ends with punctuation, trees decide between doubtful sentences of plain text
        by default (`nonproj.text.alternatives`).
    min_count : int
        Minimum count of a known string, 1: hashed features need no cutoff.
    vector_words : int
        Number of words of a file of vectors that a model keeps in addition to those of the treebank.
    max_tags : int
        Maximum number of tags; with more, all labels of all arcs are scored.
    min_places : int
        Minimum count of a label on roots if most of its words are not roots, and the reverse; fewer are mistakes.
    """

    projective_below: float = 0.001
    min_crossing: int = 10
    min_sentences: int = 5
    punctuated_from: float = 0.05
    min_count: int = 1
    vector_words: int = 50_000
    max_tags: int = 512
    min_places: int = 5


@dataclass(frozen=True)
class PrunerHyperparameters:
    """Steps of the pruner.

    Attributes
    ----------
    learning_rate : float
        Learning rate of AdaGrad.
    negligible : float
        Arcs with a smaller gradient are skipped: nine in ten, whose updates together make no difference.
    """

    learning_rate: float = 0.1
    negligible: float = 1e-4


@dataclass(frozen=True)
class ContinuedHyperparameters:
    """Continuing a model; `nonproj.linear.perceptron.CONTINUED_STEP` is the size of its perceptrons' updates.

    Attributes
    ----------
    epochs : int
        Default epochs of the parser's perceptron: there are few sentences, and the network stays.
    square : float
        Initial AdaGrad accumulator of the pruner, whose first steps would undo the model otherwise.
    """

    epochs: int = 10
    square: float = 1.0


@dataclass(frozen=True)
class AuxiliaryHyperparameters:
    """Learning from auxiliary sentences.

    Attributes
    ----------
    tagger_words : int
        Minimum number of words of a treebank whose tagger learns from it alone.
    compared_epochs, compared_bits : int
        Training epochs of the parsers by which related treebanks are judged, and log2 of the sizes of their tables.
    tag_prior : int
        The tag of a word in a related treebank counts as this number of a tagger's votes.
    """

    tagger_words: int = 100_000
    compared_epochs: int = 2
    compared_bits: int = 20
    tag_prior: int = 2


@dataclass(frozen=True)
class ConfidenceHyperparameters:
    """Learning confidence, by additive models.

    Attributes
    ----------
    block : int
        Size of the blocks of held-out sentences, because sentences of one text are alike; less in small treebanks.
    epochs : int
        Epochs of the second parser's perceptron, independent of the first one's: a resumed training may have more.
    min_words, min_wrong : int
        Minimum numbers of held-out words, and of those with a wrong head, for training a classifier.
    sample : int
        Number of sentences from which the median cost is estimated.
    knots : int
        Number of knots of each feature's function, at quantiles.
    min_count : int
        Minimum count of a label or tag; the values of rarer ones are 0.
    strength : float
        The inverse of the strength of regularisation, as scikit-learn's ``C``.
    folds : int
        Number of folds of the examples on which log-odds are calibrated.
    """

    block: int = 100
    epochs: int = 3
    min_words: int = 500
    min_wrong: int = 25
    sample: int = 200
    knots: int = 8
    min_count: int = 30
    strength: float = 0.05
    folds: int = 5


@dataclass(frozen=True)
class CrossingHyperparameters:
    """Learning which arcs cross.

    Attributes
    ----------
    weight : float
        Weight of gold non-projective arcs in the losses of network and parser, relative to others: they are few.
    bits : int
        The logistic model has ``2 ** bits`` weights, but not more than the labeler.
    epochs : int
    learning_rate : float
        Learning rate of AdaGrad.
    unit : float
        The unit of the costs of crossed arcs (`nonproj.scoring.crossing.CrossingScorer`), relative to the parser's
        margin.
    """

    weight: float = 4.0
    bits: int = 18
    epochs: int = 3
    learning_rate: float = 0.1
    unit: float = 0.1


@dataclass(frozen=True)
class GraphHyperparameters:
    """Learning enhanced graphs.

    Attributes
    ----------
    min_words : int
        Minimum number of words whose arcs differ from the tree's; with fewer, no graphs are learnt.
    templates : int
        Maximum number of templates of the labels of a path.
    plain : int
        Minimum count of a label that needs no classifier, because all of its arcs are in the graphs, too.
    sentences : int
        Maximum number of sentences that the classifier learns from.
    bits : int
        The classifier has ``2 ** bits`` weights.
    epochs : int
    learning_rate : float
        Learning rate of AdaGrad.
    """

    min_words: int = 20
    templates: int = 16
    plain: int = 10
    sentences: int = 20_000
    bits: int = 20
    epochs: int = 6
    learning_rate: float = 0.1


TREEBANK, PRUNER, AUXILIARY = TreebankHyperparameters(), PrunerHyperparameters(), AuxiliaryHyperparameters()
CONFIDENCE, CROSSING, GRAPHS = ConfidenceHyperparameters(), CrossingHyperparameters(), GraphHyperparameters()
CONTINUED = ContinuedHyperparameters()
