"""All options, each declared once for YAML files, the command line and model files.

Validation, error messages and help follow from the declarations: see `nonproj.options.schema`.  Paths are relative to
the current folder.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from nonproj.errors import ConfigError
from nonproj.options.kinds import LanguageOption, PartsOption
from nonproj.options.network import NetworkConfig
from nonproj.options.schema import Option, Section, dotted, option, section_type, show, text

MAX_PRICE = 10**9
"""Maximum price of a non-projective tree."""


@dataclass(frozen=True)
class TreebankConfig(Section, name="treebank"):
    """Training and test data."""

    train: str | None = option(None, "file to train on", (str,), (None,))
    test: str | None = option(None, "file to evaluate on", (str,), (None,))
    held_out: float | str = option(
        0.1, "held-out fraction of the training file, from its end, or a file", (float, str), low=0, high=1, below=True
    )
    root: str = option("auto", "roots per tree; auto: as in the training data", (), ("auto", "single", "multi"))
    name: str | None = text("name of the treebank, for the model card")
    licence: str | None = text(
        "licence of the treebank, for the model card; null: from the licence file in its folder, if any"
    )


@dataclass(frozen=True)
class FeaturesConfig(Section, name="features"):
    """Features of the model."""

    folder: str | None = option(None, "folder of feature templates; null: the built-in ones", (str,), (None,))
    clusters: str | None = option(
        None, "file of word clusters: each line has a bit string, a tab and a word; null: none", (str,), (None,)
    )
    tags: str = option(
        "auto",
        "tags that templates name as pos: fine (XPOS) or coarse (UPOS); auto: coarse if XPOS has too many or too few",
        (),
        ("auto", "fine", "coarse"),
    )
    bits: int = option(23, "log2 of the size of the weight table", (int,), low=10, high=28)
    rare: int = option(1, "minimum count: rarer strings are treated as unknown", (int,), low=1)


@dataclass(frozen=True)
class PrunerConfig(Section, name="pruner"):
    """The first-order model that selects the candidate arcs."""

    epochs: int = option(2, "training epochs", (int,), low=1)
    learning_rate: float = option(0.1, "learning rate of stochastic gradient descent", (float,), low=0, above=True)
    bits: int = option(20, "log2 of the size of the weight table", (int,), low=10, high=28)
    threshold: float = option(
        1e-4,
        "minimum marginal of a candidate arc in training, relative to the word's best head",
        (float,),
        low=0,
        high=1,
        above=True,
    )
    max_heads: int = option(10, "maximum number of candidate heads per word", (int,), low=1, high=10**9)
    folds: int = option(
        5, "number of folds for cross-fitted pruning of the training data; 0: none", (int,), (0,), low=2
    )


@dataclass(frozen=True)
class TrainingConfig(Section, name="training"):
    """The averaged perceptron."""

    epochs: int = option(10, "training epochs", (int,), low=1)
    decoder: str = option("relaxed", "relaxed: head automata only; dual: trees", (), ("relaxed", "dual"))
    margin: float = option(300.0, "required margin of the gold tree, per wrong arc", (float,), low=0)
    shuffle: bool = option(True, "shuffle the sentences in each epoch", (bool,))
    models: int = option(
        1,
        "number of perceptrons, trained with different sentence orders and averaged",
        (int,),
        low=1,
        high=64,
    )
    average_from: int = option(
        3, "first epoch of averaging; if training has fewer epochs, all are averaged", (int,), low=1
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

    max_iterations: int = option(250, "iteration limit of the subgradient method", (int,), low=1, high=10**9)
    exact: bool = option(True, "close remaining duality gaps by branch and bound", (bool,))
    search_limit: int = option(600_000, "maximum work, in Viterbi transitions per word", (int,), low=0, high=10**12)
    full: bool = option(False, "decode over all arcs, without pruning; ten times slower", (bool,))
    step: str = option("polyak", "step size rule; paper: the rule of Koo et al. 2010", (), ("polyak", "paper"))
    beta: float = option(0.5, "share of each arc score assigned to the arborescence", (float,), low=0, high=1)
    tau: float = option(
        0.5, "share of the rest assigned to the head's automaton instead of the modifier's", (float,), low=0, high=1
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
    )
    single_root: str | bool = option("auto", "one root per tree; auto: as in the training data", (bool,), ("auto",))
    threshold: float = option(
        0.005,
        "minimum marginal of a candidate arc in parsing, relative to the word's best head",
        (float,),
        low=0,
        high=1,
        above=True,
    )
    tolerance: float = option(
        1e-9, "largest duality gap that counts as zero, relative to the largest score", (float,), low=0
    )
    nbest: int = option(1, "number of trees per sentence, best first", (int,), low=1, high=10_000)
    constraints: str = option(
        "none",
        "constraints on the trees: Head, NotHead and Deprel in MISC, or HEAD and DEPREL where not _",
        (),
        ("none", "misc", "head"),
    )
    confidence: bool = option(True, "estimate the probability that heads, labels and trees are correct", (bool,))
    joint: bool = option(False, "predict tags and trees jointly if a sentence has no tags or all are replaced", (bool,))
    tag_weight: float = option(10.0, "joint decoding: weight of the tagger's score", (float,), low=0)
    tag_beam: float = option(
        40.0,
        "joint decoding: maximum score difference, under the tagger, of a candidate tag from the best tag",
        (float,),
        low=0,
    )
    tag_candidates: int = option(
        3, "joint decoding: maximum number of candidate tags per word", (int,), low=1, high=100
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
    )


@dataclass(frozen=True)
class LabelerConfig(Section, name="labeler"):
    """The model that labels the arcs of a tree."""

    epochs: int = option(8, "training epochs; 0: one label for all arcs", (int,), low=0)
    margin: float = option(40.0, "required margin of the gold label", (float,), low=0)
    bits: int = option(22, "log2 of the size of the weight table", (int,), low=12, high=28)
    pairs: bool = option(
        True,
        "score pairs of labels of adjacent modifiers and of consecutive arcs, and choose the labels of a tree jointly",
        (bool,),
    )
    joint: bool = option(True, "score labels together with the arcs; needs templates in labelled_arc.yaml", (bool,))
    joint_margin: float = option(
        40.0,
        "required margin of the gold label when labels are scored together with the arcs",
        (float,),
        low=0,
    )


@dataclass(frozen=True)
class TaggerConfig(Section, name="tagger"):
    """The tagger and the lemmatizer."""

    epochs: int = option(5, "training epochs; 0: no tagger", (int,), low=0, high=10**6)
    restarts: int = option(3, "number of training runs whose weights are averaged", (int,), low=1, high=1000)
    margin: float = option(20.0, "required margin of the gold tags, per wrong tag", (float,), low=0)
    bits: int = option(20, "log2 of the size of each weight table", (int,), low=12, high=28)
    lexicon_folds: int = option(10, "number of folds for jackknifed lexicons in training", (int,), low=2, high=1000)
    max_tags: int = option(6, "maximum number of candidate tags per word", (int,), low=1, high=100)
    threshold: float = option(
        250.0,
        "maximum score difference, in the first-order pass, of a candidate tag from the best tag",
        (float,),
        low=0,
        above=True,
    )
    network_epochs: int = option(
        10, "training epochs of the network that scores tags; 0: none", (int,), low=0, high=10**6
    )
    network_weight: float = option(
        0.5, "factor of the network's scores (in nats), relative to tagger.margin", (float,), low=0, high=100
    )
    folds: int = option(5, "number of folds for jackknifed tags of the training data", (int,), low=2, high=1000)


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
    epochs: int = option(5, "training epochs of the second parser", (int,), low=1)


@dataclass(frozen=True)
class SegmenterConfig(Section, name="segmenter"):
    """The models that find tokens and sentences in plain text."""

    epochs: int = option(6, "training epochs; 0: use rules", (int,), low=0, high=10**6)
    learning_rate: float = option(0.1, "learning rate of stochastic gradient descent", (float,), low=0, above=True)
    bits: int = option(
        18,
        "log2 of the size of the weight table for tokens; the table for sentences is four times as large",
        (int,),
        low=10,
        high=24,
    )
    copies: int = option(
        1, "number of additional copies of the training text, with varied line breaks", (int,), low=0, high=100
    )
    threshold: float = option(0.0, "minimum score of a sentence boundary", (float,), low=-50, high=50)
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


_DEFAULT_PARTS: Any = "grandparent"  # name of a set; the constructor replaces it with the names of its types


@dataclass(frozen=True)
class Config(Section):
    """All options of a parser.

    Raises
    ------
    ConfigError
        An option has the wrong type or is out of range.

    Examples
    --------
    >>> config = Config.from_dict({"parts": "sibling", "training": {"epochs": 5}})
    >>> config.parts, config.training.epochs, config.pruner.epochs
    (('arc', 'sibling'), 5, 2)
    >>> Config.from_dict({"training": {"epoch": 5}})
    Traceback (most recent call last):
    nonproj.errors.ConfigError: training.epoch: unknown option; did you mean training.epochs?
    """

    parts: tuple[str, ...] = field(
        default=_DEFAULT_PARTS,
        metadata={
            "option": PartsOption(
                "grandparent", "part types that are scored", (), ("grandparent", "third", "sibling", "arc")
            )
        },
    )
    seed: int = option(0, "seed of all random choices", (int,), low=0)
    treebank: TreebankConfig = field(default_factory=TreebankConfig)
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    pruner: PrunerConfig = field(default_factory=PrunerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    labeler: LabelerConfig = field(default_factory=LabelerConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    tagger: TaggerConfig = field(default_factory=TaggerConfig)
    segmenter: SegmenterConfig = field(default_factory=SegmenterConfig)
    confidence: ConfidenceConfig = field(default_factory=ConfidenceConfig)

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Config:
        """Return the configuration in nested mappings, with defaults for missing options; unknown keys are errors."""
        return _build(cls, values)

    def as_dict(self) -> dict[str, Any]:
        """Return nested dictionaries of JSON values; the inverse of `from_dict`."""
        return asdict(self) | {"parts": list(self.parts)}

    def with_overrides(self, overrides: Mapping[str, object], *, text: bool = False) -> Config:
        """Return a copy with some options changed.

        Parameters
        ----------
        overrides : mapping
            From dotted names, such as ``decoding.tau``, to values.
        text : bool
            Whether strings are to be parsed, as on the command line.

        Examples
        --------
        >>> Config().with_overrides({"pruner.threshold": "1e-3"}, text=True).pruner.threshold
        0.001
        """
        known, config = dict(options()), self
        for given, value in overrides.items():
            key = RENAMED.get(given, given)
            if key not in known:
                raise _unknown(str(key), list(known))
            value = known[key].parse(key, value) if text and isinstance(value, str) else value
            section, _, name = key.rpartition(".")
            change = {section: replace(getattr(config, section), **{name: value})} if section else {name: value}
            config = replace(config, **change)
        return config

    @classmethod
    def load(cls, path: str | Path) -> Config:
        """Read a configuration file.

        Parameters
        ----------
        path : str or Path
            YAML.

        Raises
        ------
        ConfigError
            The file cannot be read, is not YAML, or an option is unknown or invalid.
        """
        values = load_yaml(path)
        try:
            return cls.from_dict({} if values is None else values)
        except ConfigError as error:
            if not error.key:
                raise ConfigError(str(path), error.message) from None
            raise ConfigError(error.key, f"{error.message} (in {path})") from None


def options() -> Iterator[tuple[str, Option]]:
    """Yield the dotted name and the declaration of every option.

    Examples
    --------
    >>> [name for name, option in options() if option.kinds == (bool,) and name.startswith("decoding.")]
    ['decoding.exact', 'decoding.full', 'decoding.projective', 'decoding.single_root',
     'decoding.confidence', 'decoding.joint']
    """
    for outer in fields(Config):
        if "option" in outer.metadata:
            yield outer.name, outer.metadata["option"]
        else:
            for inner in fields(section_type(outer)):
                yield f"{outer.name}.{inner.name}", inner.metadata["option"]


RENAMED = {"decoding.tag_gap": "decoding.tag_beam"}
"""Options of earlier versions, which stored models and configuration files may have, and their names now."""


def _build(cls: type[Section], values: object) -> Any:
    """Return a section, with its subsections, from nested mappings."""
    if not isinstance(values, Mapping):
        raise ConfigError(cls._name, f"{show(values)} is invalid, a mapping from options to values expected")
    known = {item.name: item for item in fields(cls)}
    arguments = {}
    for given, value in values.items():
        name = RENAMED.get(dotted(cls._name, given), str(given)).removeprefix(f"{cls._name}.")
        if name not in known:
            raise _unknown(dotted(cls._name, name), [dotted(cls._name, other) for other in known])
        if "option" in known[name].metadata:
            arguments[name] = value
        elif value is not None:  # YAML reads a section without options as null
            arguments[name] = _build(section_type(known[name]), value)
    return cls(**arguments)


def _unknown(key: str, siblings: list[str]) -> ConfigError:
    """Return the error for an unknown option; it suggests the closest name in the section, or anywhere."""
    last = key.rpartition(".")[2]
    everything = [name for name, _ in options()]
    same_name = [name for name in everything if name.rpartition(".")[2] == last]
    near = difflib.get_close_matches(key, siblings, 1) or same_name or difflib.get_close_matches(key, everything, 1)
    if near:
        return ConfigError(key, f"unknown option; did you mean {' or '.join(near)}?")
    return ConfigError(key, f"unknown option; known: {', '.join(siblings)}")


def load_yaml(path: str | Path) -> Any:
    """Read a YAML document.

    Raises
    ------
    ConfigError
        The file cannot be read, is not YAML, or has a duplicate key.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Rejects duplicate keys, of which YAML silently keeps the last."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            """Return a mapping without duplicate keys."""
            seen = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(problem=f"duplicate key {key.value}", problem_mark=key.start_mark)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    # YAML 1.1 reads 1e-4 as a string, for lack of a dot.
    number = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    try:
        with open(path, encoding="utf-8-sig") as stream:
            return yaml.load(stream, Loader)
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "is not UTF-8") from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise ConfigError(str(path), f"{where}invalid YAML: {problem or 'forbidden characters'}") from None
    except (ValueError, RecursionError) as error:  # dates such as 2024-13-45; unlimited nesting
        raise ConfigError(str(path), f"invalid YAML: {' '.join(str(error).split())}") from None
