"""The sections of the options: each option is declared once, with its default, help text and allowed values.

Validation, error messages and help follow from the declarations: see `nonproj.options.schema`.  Paths are relative to
the current folder.
"""

from __future__ import annotations

from dataclasses import dataclass

from nonproj.options.schema import Section, choice, flag, integer, number, option, path, text


@dataclass(frozen=True)
class TreebankConfig(Section, name="treebank"):
    """Options of the training and test data."""

    train: str | None = path("file to train on")
    test: str | None = path("file to evaluate on")
    held_out: float | str = option(
        0.0,
        "sentences to evaluate on after each epoch: a file, or a share of the training file (its end)",
        (float, str),
        low=0,
        high=1,
        below=True,
    )
    root: str = choice(
        "auto",
        "roots per tree; auto: several if at least five training sentences, and 0.2 % of them, have several",
        ("auto", "single", "multi"),
    )
    partial: str = choice(
        "head",
        "given heads: HEAD and DEPREL where not _, or Head, NotHead and Deprel in MISC; none: a HEAD of _ is an error",
        ("head", "misc", "none"),
    )
    silver: str | None = path(
        "file of automatically parsed sentences that are also learnt from, as 'nonproj distil' makes it", advanced=True
    )
    silver_share: float = number(
        1.0,
        "number of their words in an epoch, relative to the treebank's; each epoch draws others",
        low=0,
        above=True,
        advanced=True,
    )
    name: str | None = text("name of the treebank, for the model card; null: as known for the training file")
    licence: str | None = text("licence of the treebank, for the model card; null: as known for the training file")


@dataclass(frozen=True)
class FeaturesConfig(Section, name="features"):
    """Options of the model's features: templates, clusters, vectors, and the size of the weight table."""

    folder: str | None = path("folder of feature templates; null: the built-in ones")
    clusters: str | None = path("file of word clusters: each line has a bit string, a tab and a word; null: none")
    vectors: str | None = path(
        "file of word vectors in word2vec's text format; or, for vectors of pieces of words, the folder of an encoder "
        "or the name of one that was fetched; null: none"
    )
    tags: str = choice(
        "auto",
        "tags that templates name as pos: fine (XPOS) or coarse (UPOS); auto: coarse if XPOS has too many or too few",
        ("auto", "fine", "coarse"),
        advanced=True,
    )
    bits: int = integer(23, "log2 of the size of the weight table", 10, 28, advanced=True)


@dataclass(frozen=True)
class PrunerConfig(Section, name="pruner"):
    """Options of the pruner, the first-order model that selects the candidate arcs."""

    epochs: int = integer(2, "training epochs", 1, advanced=True)
    bits: int = integer(20, "log2 of the size of the weight table", 10, 28, advanced=True)
    threshold: float = number(
        2e-3,
        "minimum marginal of a candidate arc in training, relative to the word's best head",
        low=0,
        high=1,
        above=True,
        advanced=True,
    )
    max_heads: int = integer(10, "maximum number of candidate heads per word", 1, 10**9, advanced=True)
    folds: int = option(
        5,
        "number of folds for cross-fitted pruning of the training data; 0: none, which needs a lower pruner.threshold",
        (int,),
        (0,),
        low=2,
        advanced=True,
    )


@dataclass(frozen=True)
class TrainingConfig(Section, name="training"):
    """Options of training the parser, an averaged perceptron."""

    epochs: int = integer(4, "training epochs", 1)
    decoder: str = choice("relaxed", "relaxed: head automata only; dual: trees", ("relaxed", "dual"), advanced=True)
    margin: float = number(300.0, "required margin of the gold tree, per wrong arc", low=0, advanced=True)
    average_from: int = integer(
        3, "first epoch of averaging; if training has fewer epochs, all are averaged", 1, advanced=True
    )
    tags: str = choice(
        "both",
        "tags to train on: gold, predicted (by jackknifing), or both: one copy of each sentence with each",
        ("gold", "predicted", "both"),
    )


@dataclass(frozen=True)
class DecodingConfig(Section, name="decoding"):
    """Options of decoding by dual decomposition and branch and bound, and of its input and output."""

    max_iterations: int = integer(250, "iteration limit of the subgradient method", 1, 10**9, advanced=True)
    exact: bool = flag(True, "close remaining duality gaps by branch and bound")
    search_limit: int = integer(600_000, "maximum work, in Viterbi transitions per word", 0, 10**12, advanced=True)
    full: bool = flag(False, "decode over all arcs, without pruning; six times slower")
    step: str = choice(
        "polyak", "step size rule; paper: the rule of Koo et al. 2010", ("polyak", "paper"), advanced=True
    )
    projective: str | bool = option(
        "auto",
        "projective trees only; auto: if under 0.1 % of training arcs, under ten, or those of under five sentences are "
        "non-projective",
        (bool,),
        ("auto",),
    )
    crossing: str | float = option(
        "auto",
        "factor on the costs of crossed arcs; auto: as learnt in training, 0: none",
        (float,),
        ("auto",),
        low=0,
        high=1000,
        advanced=True,
    )
    single_root: str | bool = option("auto", "one root per tree; auto: as in the training data", (bool,), ("auto",))
    threshold: float = number(
        0.005,
        "minimum marginal of a candidate arc in parsing, relative to the word's best head",
        low=0,
        high=1,
        above=True,
        advanced=True,
    )
    nbest: int = integer(1, "number of trees per sentence, best first", 1, 10_000)
    constraints: str = choice(
        "none",
        "constraints on the trees: Head, NotHead and Deprel in MISC, or HEAD and DEPREL where not _",
        ("none", "misc", "head"),
    )
    confidence: bool = flag(True, "estimate the probability that heads, labels and trees are correct")
    graphs: bool = flag(True, "learn enhanced graphs, where the treebank has them in DEPS, and write them")
    sentences_by_trees: str | bool = option(
        "auto",
        "plain text: decide between doubtful sentences by the scores of their trees; auto: if under 5 % of training "
        "sentences end with punctuation",
        (bool,),
        ("auto",),
    )
    max_words: int = integer(5000, "maximum sentence length in words; longer sentences are an error", 1, 10_000)
    cut_words: int = integer(
        128,
        "plain text: maximum sentence length in words; longer runs are split at their most probable boundary",
        2,
        1000,
        advanced=True,
    )


@dataclass(frozen=True)
class LabelerConfig(Section, name="labeler"):
    """Options of the labeler, the model that labels the arcs of a tree."""

    epochs: int = integer(4, "training epochs; 0: one label for all arcs", 0, advanced=True)
    bits: int = integer(22, "log2 of the size of the weight table", 12, 28, advanced=True)
    joint: bool = flag(True, "score labels together with the arcs; needs templates in labelled_arc.yaml", advanced=True)


@dataclass(frozen=True)
class NetworkConfig(Section, name="network"):
    """Options of the network whose scores are added to those of arcs and labels."""

    epochs: int = integer(10, "training epochs; 0: no network", 0, 10**6)
    size: int = integer(128, "number of hidden units", 1, 4096, advanced=True)
    context: int = integer(
        128,
        "size of word vectors, which two recurrent layers put into context; 0: no such layers",
        0,
        1024,
        advanced=True,
    )
    weight: float = number(
        0.2, "factor of the arc scores (in nats), relative to training.margin", low=0, high=100, advanced=True
    )
    label_weight: float = number(
        0.5, "factor of the label scores (in nats), relative to the labeler's margin", low=0, high=100, advanced=True
    )


@dataclass(frozen=True)
class EncoderConfig(Section, name="encoder"):
    """Options of a pretrained encoder, whose scores are added to those of all parts, labels and tags."""

    folder: str | None = path(
        "pretrained encoder: a folder of Hugging Face, a name to fetch, or a model that has one; null: none"
    )
    epochs: int | str = option(
        "auto",
        "training epochs; auto: 12, or 6 from the encoder of a model; more in a tiny treebank, fewer in a large",
        (int,),
        ("auto",),
        low=1,
        high=10**6,
        advanced=True,
    )
    learning_rate: float = number(1e-4, "highest learning rate of the encoder", low=0, advanced=True)
    losses: str = choice(
        "words-structures",
        "words: each word's head by itself; trees: the gold tree among all arborescences; -structures: and all parts "
        "of the gold tree, from which siblings and grandparents are learnt",
        ("words", "trees", "words-structures", "trees-structures"),
        advanced=True,
    )
    bits: int = choice(8, "bits of the encoder's weights in the model", (8, 32), advanced=True)


@dataclass(frozen=True)
class TaggerConfig(Section, name="tagger"):
    """Options of the tagger and the lemmatizer."""

    epochs: int = integer(5, "training epochs; 0: no tagger", 0, 10**6)
    restarts: int = integer(3, "number of training runs whose weights are averaged", 1, 1000, advanced=True)
    bits: int = integer(20, "log2 of the size of each weight table", 12, 28, advanced=True)
    network_epochs: int = integer(
        10, "training epochs of the network that scores tags; 0: none", 0, 10**6, advanced=True
    )
    folds: int = integer(5, "number of folds for jackknifed tags of the training data", 2, 1000, advanced=True)


@dataclass(frozen=True)
class ConfidenceConfig(Section, name="confidence"):
    """Options of the confidence classifier, which tells right arcs from wrong ones."""

    share: float = number(
        0.1,
        "share of training sentences for the classifier, parsed by a second parser trained on the others; 0: none",
        low=0,
        high=0.5,
    )


@dataclass(frozen=True)
class SegmenterConfig(Section, name="segmenter"):
    """Options of the segmenter, which finds tokens and sentences in plain text."""

    epochs: int = integer(6, "training epochs; 0: use rules", 0, 10**6)
    bits: int = integer(20, "log2 of the size of each weight table", 10, 24, advanced=True)
    network_share: float = number(
        0.25,
        "share of a small network in the score of a sentence boundary; 0: no network",
        low=0,
        high=1,
        advanced=True,
    )
    language: str | None = option(
        "auto",
        "language of the rules for a treebank without raw text; auto: detected from its words",
        (str,),
        (None, "auto"),
        described="auto, null, da, en, eu or nl",
    )
