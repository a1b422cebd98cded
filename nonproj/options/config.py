"""The configuration: all options of a parser, from YAML files, the command line and model files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from nonproj.errors import ConfigError, closest
from nonproj.options.kinds import PartsOption
from nonproj.options.reading import load_yaml
from nonproj.options.schema import Option, Section, dotted, integer, option, section_type, show
from nonproj.options.sections import (
    ConfidenceConfig,
    DecodingConfig,
    EncoderConfig,
    FeaturesConfig,
    LabelerConfig,
    NetworkConfig,
    PrunerConfig,
    SegmenterConfig,
    TaggerConfig,
    TrainingConfig,
    TreebankConfig,
)


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

    parts: tuple[str, ...] = option(
        "grandparent",
        "part types that are scored",
        (),
        ("grandparent", "third", "sibling", "arc"),
        kind=PartsOption,
        described="the name of a set or a list of part types",
    )  # the name of a set; the constructor replaces it with the names of its types
    seed: int = integer(0, "seed of all random choices", 0)
    treebank: TreebankConfig = field(default_factory=TreebankConfig)
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    pruner: PrunerConfig = field(default_factory=PrunerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    labeler: LabelerConfig = field(default_factory=LabelerConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    tagger: TaggerConfig = field(default_factory=TaggerConfig)
    segmenter: SegmenterConfig = field(default_factory=SegmenterConfig)
    confidence: ConfidenceConfig = field(default_factory=ConfidenceConfig)

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Config:
        """Build a configuration from nested mappings; missing options get their defaults, unknown keys are errors."""
        return _build(cls, values)

    def as_dict(self) -> dict[str, Any]:
        """Return nested dictionaries of JSON values; the inverse of `from_dict`."""
        return asdict(self) | {"parts": list(self.parts)}

    def with_overrides(self, overrides: Mapping[str, object], *, text: bool = False) -> Config:
        """Return a copy with some options changed.

        Parameters
        ----------
        overrides : mapping
            From dotted names, such as ``decoding.step``, to values.
        text : bool
            Whether strings are to be parsed, as on the command line.

        Examples
        --------
        >>> Config().with_overrides({"pruner.threshold": "1e-3"}, text=True).pruner.threshold
        0.001
        """
        known, config = dict(options()), self
        for key, value in overrides.items():
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
            A YAML file.

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
     'decoding.confidence', 'decoding.graphs', 'decoding.sentences_by_trees']
    """
    for outer in fields(Config):
        if "option" in outer.metadata:
            yield outer.name, outer.metadata["option"]
        else:
            for inner in fields(section_type(outer)):
                yield f"{outer.name}.{inner.name}", inner.metadata["option"]


def _build(cls: type[Section], values: object) -> Any:
    """Return a section, with its subsections, from nested mappings."""
    if not isinstance(values, Mapping):
        raise ConfigError(cls._name, f"{show(values)} is invalid, a mapping from options to values expected")
    known = {item.name: item for item in fields(cls)}
    arguments = {}
    for name, value in values.items():
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
    everything = sorted((name for name, _ in options()), key=lambda name: not name.startswith("training."))
    names = [name.rpartition(".")[2] for name in everything]
    bare_name = last if last in names else closest(last, names)
    same_name = " or ".join(name for name, bare in zip(everything, names, strict=True) if bare == bare_name)
    beside = [name for name in siblings if name.count(".") == key.count(".")]
    near = closest(key, beside) or same_name or closest(key, everything)
    if near:
        return ConfigError(key, f"unknown option; did you mean {near}?")
    return ConfigError(key, f"unknown option; known: {', '.join(siblings)}")
