"""Options: one declaration of each for the files in YAML, the command line and the model file.

What is checked, and what errors and help say, follows from it: see `nonproj.options.schema`.  Paths are relative to the
current folder.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from nonproj.errors import ConfigError
from nonproj.options.schema import Option, Section, dotted, option, show


class PartsOption(Option):
    """A set of part types: its name, or the names of the types; checked against those that are registered."""

    @property
    def expected(self) -> str:
        """What would be right, in words."""
        return "the name of a set or a list of part types"

    def check(self, key: str, value: object) -> tuple[str, ...]:
        """Return the names of the part types in their usual order; a string may name a set, or types with commas."""
        from nonproj.parts.registry import PART_SETS, part_set  # imports numba, which the other options do not need

        if isinstance(value, str) and value not in PART_SETS and "," in value:
            value = [name.strip() for name in value.split(",")]
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
            raise ConfigError(key, f"{show(value)} is wrong, {self.expected} expected")
        try:
            return tuple(part_type.name for part_type in part_set(value))
        except ValueError as error:
            raise ConfigError(key, str(error)) from None


@dataclass(frozen=True)
class TreebankConfig(Section, name="treebank"):
    """Where the sentences are."""

    train: str | None = option(None, "file to train on", (str,), (None,))
    test: str | None = option(None, "file to evaluate on", (str,), (None,))
    held_out: float | str = option(
        0.1,
        "share of the training sentences, the last ones, to hold out, or a file",
        (float, str),
        low=0,
        high=1,
        below=True,
    )
    root: str = option(
        "auto", "words a tree may hang from the root; auto: as in the training data", (), ("auto", "single", "multi")
    )


@dataclass(frozen=True)
class FeaturesConfig(Section, name="features"):
    """What the model looks at."""

    folder: str | None = option(
        None, "folder of feature templates; null: those that come with the program", (str,), (None,)
    )
    bits: int = option(23, "binary logarithm of the number of weights", (int,), low=10, high=28)
    rare: int = option(1, "a string must be seen so often in training to be known", (int,), low=1)


@dataclass(frozen=True)
class PrunerConfig(Section, name="pruner"):
    """The first-order model that chooses candidate arcs."""

    epochs: int = option(2, "passes over the training data", (int,), low=1)
    learning_rate: float = option(0.1, "step size of its stochastic gradient", (float,), low=0, above=True)
    bits: int = option(20, "binary logarithm of the number of its weights", (int,), low=10, high=28)
    threshold: float = option(
        1e-4, "least marginal of an arc in training, as a share of the best head's", (float,), low=0, high=1, above=True
    )
    max_heads: int = option(10, "candidate heads of a word at most", (int,), low=1, high=10**9)
    folds: int = option(
        5,
        "prune training data by models that have not seen it, from so many folds; 0: by the one model",
        (int,),
        (0,),
        low=2,
    )


@dataclass(frozen=True)
class TrainingConfig(Section, name="training"):
    """The averaged perceptron."""

    epochs: int = option(10, "passes over the training data", (int,), low=1)
    decoder: str = option(
        "relaxed", "what the perceptron learns against: head automata alone, or trees", (), ("relaxed", "dual")
    )
    margin: float = option(300.0, "score by which the gold tree should win, for each wrong arc", (float,), low=0)
    shuffle: bool = option(True, "a new order of the sentences in each epoch", (bool,))


@dataclass(frozen=True)
class DecodingConfig(Section, name="decoding"):
    """Dual decomposition."""

    max_iterations: int = option(250, "iterations of the subgradient method at most", (int,), low=1, high=10**9)
    exact: bool = option(True, "search on where the gap does not close: branch and bound", (bool,))
    search_limit: int = option(
        1_000_000, "head automata that such a search may decode, for each sentence", (int,), low=0
    )
    full: bool = option(False, "look for the tree among all arcs, pruned ones too; ten times as slow", (bool,))
    step: str = option("polyak", "rule of the step sizes; paper: that of Koo et al. 2010", (), ("polyak", "paper"))
    beta: float = option(0.5, "share of the arc scores that the arborescence is given", (float,), low=0, high=1)
    tau: float = option(
        0.5, "share of the rest that an arc's head is given, its modifier having what is left", (float,), low=0, high=1
    )
    projective: bool = option(False, "projective trees only", (bool,))
    single_root: str | bool = option("auto", "one word hangs from the root; auto: as trained", (bool,), ("auto",))
    threshold: float = option(
        0.003, "least marginal of an arc in parsing, as a share of the best head's", (float,), low=0, high=1, above=True
    )
    tolerance: float = option(1e-9, "gap between bound and score that still counts as none", (float,), low=0)


@dataclass(frozen=True)
class LabelerConfig(Section, name="labeler"):
    """The model that labels the arcs of a tree."""

    epochs: int = option(8, "passes over the training data; 0: one and the same label for all", (int,), low=0)
    margin: float = option(40.0, "score by which the right label must win in training", (float,), low=0)
    bits: int = option(22, "binary logarithm of the number of its weights", (int,), low=12, high=28)


@dataclass(frozen=True)
class Config(Section):
    """All options of a parser.

    Raises
    ------
    ConfigError
        If an option is of the wrong type or out of range.

    Examples
    --------
    >>> config = Config.from_dict({"parts": "sibling", "training": {"epochs": 5}})
    >>> config.parts, config.training.epochs, config.pruner.epochs
    (('arc', 'sibling'), 5, 2)
    >>> Config.from_dict({"training": {"epoch": 5}})
    Traceback (most recent call last):
    nonproj.errors.ConfigError: training.epoch: no such option; did you mean training.epochs?
    """

    parts: tuple[str, ...] = field(
        default="grandparent",
        metadata={
            "option": PartsOption("grandparent", "part types that are scored", (), ("grandparent", "sibling", "arc"))
        },
    )
    seed: int = option(0, "seed of all random choices", (int,), low=0)
    treebank: TreebankConfig = field(default_factory=TreebankConfig)
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    pruner: PrunerConfig = field(default_factory=PrunerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    labeler: LabelerConfig = field(default_factory=LabelerConfig)

    @classmethod
    def from_dict(cls, values: Mapping) -> Config:
        """Make a configuration of nested mappings; what is not given has its default.

        Raises
        ------
        ConfigError
            If a key is unknown, or a value wrong.
        """
        return _build(cls, values)

    def as_dict(self) -> dict:
        """Return nested dictionaries of plain values, fit for JSON; `from_dict` takes them back."""
        return asdict(self) | {"parts": list(self.parts)}

    def with_overrides(self, overrides: Mapping[str, object]) -> Config:
        """Return a copy in which some options have other values.

        Parameters
        ----------
        overrides : mapping
            From dotted names, as in ``decoding.tau``, to values; a string is read as on a command line.

        Examples
        --------
        >>> Config().with_overrides({"pruner.threshold": "1e-3"}).pruner.threshold
        0.001
        """
        known, config = dict(options()), self
        for key, value in overrides.items():
            if key not in known:
                raise _unknown(str(key), list(known))
            value = known[key].parse(key, value) if isinstance(value, str) else value
            section, _, name = key.rpartition(".")
            change = {section: replace(getattr(config, section), **{name: value})} if section else {name: value}
            config = replace(config, **change)
        return config

    @classmethod
    def load(cls, path: str | Path, overrides: Mapping[str, object] | None = None) -> Config:
        """Read a configuration file.

        Parameters
        ----------
        path : str or Path
            YAML.
        overrides : mapping, optional
            As for `with_overrides`; they win over the file.

        Raises
        ------
        ConfigError
            If the file cannot be read, is no YAML, or an option is unknown or wrong.
        """
        values = load_yaml(path)
        try:
            config = cls.from_dict({} if values is None else values)
        except ConfigError as error:
            raise ConfigError(
                error.key or str(path), f"{error.message} (in {path})" if error.key else error.message
            ) from None
        return config.with_overrides(overrides or {})


def options() -> Iterator[tuple[str, Option]]:
    """Yield the dotted name of every option and what it may be.

    Examples
    --------
    >>> [name for name, option in options() if option.kinds == (bool,)]
    ['training.shuffle', 'decoding.exact', 'decoding.full', 'decoding.projective', 'decoding.single_root']
    """
    for outer in fields(Config):
        if "option" in outer.metadata:
            yield outer.name, outer.metadata["option"]
        else:
            for inner in fields(outer.default_factory):
                yield f"{outer.name}.{inner.name}", inner.metadata["option"]


def _build(cls: type, values: object) -> Any:
    """Make a section, and those in it, of nested mappings."""
    if not isinstance(values, Mapping):
        raise ConfigError(cls._name, f"{show(values)} is wrong, a mapping from options to values expected")
    known = {item.name: item for item in fields(cls)}
    arguments = {}
    for name, value in values.items():
        if name not in known:
            raise _unknown(dotted(cls._name, name), [dotted(cls._name, other) for other in known])
        if "option" in known[name].metadata:
            arguments[name] = value
        elif value is not None:  # a section without options is none at all
            arguments[name] = _build(known[name].default_factory, value)
    return cls(**arguments)


def _unknown(key: str, siblings: list[str]) -> ConfigError:
    """The error for an unknown option: it names the nearest one of the same section, or of all."""
    last = key.rpartition(".")[2]
    everything = [name for name, _ in options()]
    same_name = [name for name in everything if name.rpartition(".")[2] == last]
    near = difflib.get_close_matches(key, siblings, 1) or same_name or difflib.get_close_matches(key, everything, 1)
    if near:
        return ConfigError(key, f"no such option; did you mean {' or '.join(near)}?")
    return ConfigError(key, f"no such option; the known ones here are {', '.join(siblings)}")


def load_yaml(path: str | Path) -> Any:
    """Read one document of YAML.

    Raises
    ------
    ConfigError
        Named after the file: it cannot be read, is no YAML, or says something twice.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses a key that is there twice, of which YAML would silently take the last."""

        def construct_mapping(self, node, deep=False):
            """Make a mapping, unless a key stands in it twice."""
            seen = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(problem=f"{key.value} is there twice", problem_mark=key.start_mark)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

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
        raise ConfigError(str(path), f"{where}no valid YAML: {problem or 'characters that are not allowed'}") from None
    except (ValueError, RecursionError) as error:  # dates such as 2024-13-45; nesting without end
        raise ConfigError(str(path), f"no valid YAML: {' '.join(str(error).split())}") from None
