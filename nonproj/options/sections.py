"""The sections of the options: each option is declared once, with its default, help text and allowed values.

Validation, error messages and help follow from the declarations: see `nonproj.options.schema`.  Paths are relative to
the current folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nonproj.options.kinds import LanguageOption
from nonproj.options.schema import Section, option, text

MAX_PRICE = 10**9
"""Maximum price of a non-projective tree."""


@dataclass(frozen=True)
class TreebankConfig(Section, name="treebank"):
    """Training and test data."""

    train: str | None = option(None, "file to train on", (str,), (None,))
    test: str | None = option(None, "file to evaluate on", (str,), (None,))
    held_out: float | str = option(
        0.0,
        "what to evaluate on after each epoch and not to learn from: a file, or a share of the training file (its end)",
        (float, str),
        low=0,
        high=1,
        below=True,
    )
    root: str = option("auto", "roots per tree; auto: as in the training data", (), ("auto", "single", "multi"))
    partial: str = option(
        "head",
        "given heads: HEAD and DEPREL where not _, or Head, NotHead and Deprel in MISC; none: a HEAD of _ is an error",
        (),
        ("head", "misc", "none"),
    )
    silver: str | None = option(
        None,
        "file of automatically parsed sentences to learn from, too, as 'nonproj distil' makes it",
        (str,),
        (None,),
        advanced=True,
    )
    silver_share: float = option(
        1.0,
        "number of their words in an epoch, relative to the treebank's; each epoch draws others",
        (float,),
        low=0,
        above=True,
        advanced=True,
    )
    name: str | None = text(
        "name of the treebank, for the model card; null: the one known for the training file, if any"
    )
    licence: str | None = text(
        "licence of the treebank, for the model card; null: known for the training file or stated in its README, if any"
    )


@dataclass(frozen=True)
class FeaturesConfig(Section, name="features"):
    """Features of the model."""

    folder: str | None = option(None, "folder of feature templates; null: the built-in ones", (str,), (None,))
    clusters: str | None = option(
        None, "file of word clusters: each line has a bit string, a tab and a word; null: none", (str,), (None,)
    )
    vectors: str | None = option(
        None,
        "file of word vectors in word2vec's text or binary format, or with gzip, or model of fastText; null: none",
        (str,),
        (None,),
    )
    tags: str = option(
        "auto",
        "tags that templates name as pos: fine (XPOS) or coarse (UPOS); auto: coarse if XPOS has too many or too few",
        (),
        ("auto", "fine", "coarse"),
        advanced=True,
    )
    bits: int = option(23, "log2 of the size of the weight table", (int,), low=10, high=28, advanced=True)


@dataclass(frozen=True)
class PrunerConfig(Section, name="pruner"):
    """The first-order model that selects the candidate arcs."""

    epochs: int = option(2, "training epochs", (int,), low=1, advanced=True)
    bits: int = option(20, "log2 of the size of the weight table", (int,), low=10, high=28, advanced=True)
    threshold: float = option(
        1e-4,
        "minimum marginal of a candidate arc in training, relative to the word's best head",
        (float,),
        low=0,
        high=1,
        above=True,
        advanced=True,
    )
    max_heads: int = option(10, "maximum number of candidate heads per word", (int,), low=1, high=10**9, advanced=True)
    folds: int = option(
        5, "number of folds for cross-fitted pruning of the training data; 0: none", (int,), (0,), low=2, advanced=True
    )


@dataclass(frozen=True)
class TrainingConfig(Section, name="training"):
    """The averaged perceptron."""

    epochs: int = option(10, "training epochs", (int,), low=1)
    decoder: str = option("relaxed", "relaxed: head automata only; dual: trees", (), ("relaxed", "dual"), advanced=True)
    margin: float = option(300.0, "required margin of the gold tree, per wrong arc", (float,), low=0, advanced=True)
    models: int = option(
        1,
        "number of perceptrons, trained with different sentence orders and averaged",
        (int,),
        low=1,
        high=64,
    )
    average_from: int = option(
        3, "first epoch of averaging; if training has fewer epochs, all are averaged", (int,), low=1, advanced=True
    )
    tags: str = option(
        "both",
        "tags to train on: gold, predicted (by jackknifing), or both: one copy of each sentence with each",
        (),
        ("gold", "predicted", "both"),
    )


@dataclass(frozen=True)
class DecodingConfig(Section, name="decoding"):
    """Dual decomposition, and branch and bound."""

    max_iterations: int = option(
        250, "iteration limit of the subgradient method", (int,), low=1, high=10**9, advanced=True
    )
    exact: bool = option(True, "close remaining duality gaps by branch and bound", (bool,))
    search_limit: int = option(
        600_000, "maximum work, in Viterbi transitions per word", (int,), low=0, high=10**12, advanced=True
    )
    full: bool = option(False, "decode over all arcs, without pruning; ten times slower", (bool,))
    step: str = option(
        "polyak", "step size rule; paper: the rule of Koo et al. 2010", (), ("polyak", "paper"), advanced=True
    )
    projective: str | bool = option(
        "auto", "projective trees only; auto: if under 0.1 % of training arcs are non-projective", (bool,), ("auto",)
    )
    crossing: str | float = option(
        "auto",
        "penalty on the score of a tree with non-projective arcs; auto: as learnt in training",
        (float,),
        ("auto",),
        low=0,
        high=MAX_PRICE,
        advanced=True,
    )
    single_root: str | bool = option("auto", "one root per tree; auto: as in the training data", (bool,), ("auto",))
    threshold: float = option(
        0.005,
        "minimum marginal of a candidate arc in parsing, relative to the word's best head",
        (float,),
        low=0,
        high=1,
        above=True,
        advanced=True,
    )
    nbest: int = option(1, "number of trees per sentence, best first", (int,), low=1, high=10_000)
    constraints: str = option(
        "none",
        "constraints on the trees: Head, NotHead and Deprel in MISC, or HEAD and DEPREL where not _",
        (),
        ("none", "misc", "head"),
    )
    confidence: bool = option(True, "estimate the probability that heads, labels and trees are correct", (bool,))
    sentences_by_trees: bool = option(
        False, "plain text: decide between doubtful sentences by the scores of their trees", (bool,)
    )
    max_words: int = option(
        5000, "maximum sentence length in words; longer sentences are an error", (int,), low=1, high=10_000
    )
    cut_words: int = option(
        128,
        "plain text: maximum sentence length in words; longer runs are split at their most probable boundary",
        (int,),
        low=2,
        high=1000,
        advanced=True,
    )


@dataclass(frozen=True)
class LabelerConfig(Section, name="labeler"):
    """The model that labels the arcs of a tree."""

    epochs: int = option(8, "training epochs; 0: one label for all arcs", (int,), low=0, advanced=True)
    bits: int = option(22, "log2 of the size of the weight table", (int,), low=12, high=28, advanced=True)
    joint: bool = option(
        True, "score labels together with the arcs; needs templates in labelled_arc.yaml", (bool,), advanced=True
    )


@dataclass(frozen=True)
class NetworkConfig(Section, name="network"):
    """The feed-forward network whose scores are added to those of arcs and labels."""

    epochs: int = option(10, "training epochs; 0: no network", (int,), low=0, high=10**6)
    size: int = option(128, "number of hidden units", (int,), low=1, high=4096, advanced=True)
    context: int = option(
        128,
        "size of word vectors, which two recurrent layers put into context; 0: no such layers",
        (int,),
        low=0,
        high=1024,
        advanced=True,
    )
    weight: float = option(
        0.2, "factor of the arc scores (in nats), relative to training.margin", (float,), low=0, high=100, advanced=True
    )
    label_weight: float = option(
        0.5,
        "factor of the label scores (in nats), relative to the labeler's margin",
        (float,),
        low=0,
        high=100,
        advanced=True,
    )


@dataclass(frozen=True)
class EncoderConfig(Section, name="encoder"):
    """A pretrained encoder whose scores are added to those of all parts, labels and tags."""

    folder: str | None = option(
        None, "pretrained encoder: a folder of Hugging Face, or a name to fetch; null: none", (str,), (None,)
    )
    epochs: int | str = option(
        "auto",
        "training epochs; auto: 12, or fewer in a large treebank, so that at most 1,250,000 words are seen",
        (int,),
        ("auto",),
        low=1,
        high=10**6,
        advanced=True,
    )
    learning_rate: float = option(1e-4, "highest learning rate of the encoder", (float,), low=0, advanced=True)
    losses: str = option(
        "words-structures",
        "words: each word's head by itself; trees: the gold tree among all arborescences; -structures: and all parts "
        "of the gold tree, from which siblings and grandparents are learnt",
        (),
        ("words", "trees", "words-structures", "trees-structures"),
        advanced=True,
    )
    bits: int = option(8, "bits of the encoder's weights in the model", (), (8, 32), advanced=True)


@dataclass(frozen=True)
class TaggerConfig(Section, name="tagger"):
    """The tagger and the lemmatizer."""

    epochs: int = option(5, "training epochs; 0: no tagger", (int,), low=0, high=10**6)
    restarts: int = option(
        3, "number of training runs whose weights are averaged", (int,), low=1, high=1000, advanced=True
    )
    bits: int = option(20, "log2 of the size of each weight table", (int,), low=12, high=28, advanced=True)
    network_epochs: int = option(
        10, "training epochs of the network that scores tags; 0: none", (int,), low=0, high=10**6, advanced=True
    )
    folds: int = option(
        5, "number of folds for jackknifed tags of the training data", (int,), low=2, high=1000, advanced=True
    )


@dataclass(frozen=True)
class ConfidenceConfig(Section, name="confidence"):
    """The classifier of right and wrong arcs."""

    share: float = option(
        0.1,
        "share of training sentences for the classifier, parsed by a second parser trained on the others; 0: none",
        (float,),
        low=0,
        high=0.5,
    )


@dataclass(frozen=True)
class SegmenterConfig(Section, name="segmenter"):
    """The models that find tokens and sentences in plain text."""

    epochs: int = option(6, "training epochs; 0: use rules", (int,), low=0, high=10**6)
    bits: int = option(20, "log2 of the size of each weight table", (int,), low=10, high=24, advanced=True)
    network_share: float = option(
        0.25,
        "share of a small network in the score of a sentence boundary; 0: no network",
        (float,),
        low=0,
        high=1,
        advanced=True,
    )
    language: str | None = field(
        default="auto",
        metadata={
            "option": LanguageOption(
                "auto",
                "language of the rules for a treebank without raw text; auto: detected from its words, among "
                "Basque, Danish, Dutch or English",
                (str,),
                (None, "auto", "da"),
            )
        },
    )
