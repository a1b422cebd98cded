"""Options: accepted values, rejected values and the error messages."""

import dataclasses
import functools
import json
import math
import re

import numpy as np
import pytest

from nonproj.errors import ConfigError
from nonproj.options.config import Config, options
from nonproj.options.reading import load_yaml
from nonproj.options.sections import DecodingConfig, TrainingConfig
from nonproj.scoring.templates import attributes_of, load_templates, part_templates, template_files


def error_of(function, *arguments, **options) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)
    return caught.value


def message(values) -> str:
    return str(error_of(Config.from_dict, values))


def nested(key: str, value) -> dict:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def look_up(config: Config, key: str):
    return functools.reduce(getattr, key.split("."), config)


def test_defaults_are_allowed_and_survive_json():
    config = Config()
    assert Config.from_dict(json.loads(json.dumps(config.as_dict()))) == config
    for key, option in options():
        assert look_up(config, key) == option.check(key, option.default)
        assert option.check(key, option.default) == (option.default if key != "parts" else config.parts)
        assert option.help and option.expected


def test_every_option_survives_the_command_line_and_a_file(tmp_path):
    """Each option set to a value that is not its default, as text, in YAML and as a value."""
    other = {str: "some.conll", float: 0.375, int: 17}
    for key, option in options():
        value = next((c for c in option.choices if c not in (option.default, None)), None)
        if value is None:
            value = other.get(option.kinds[0], not option.default)
        assert value != option.default, key
        text = str(value).lower() if isinstance(value, bool) else str(value)
        expected = Config.from_dict(nested(key, value))
        assert look_up(expected, key) == option.check(key, value) and expected != Config()
        assert Config().with_overrides({key: text}, text=True) == expected == Config().with_overrides({key: value})
        path = tmp_path / "a.yaml"
        path.write_text("\n".join("  " * i + part + ":" for i, part in enumerate(key.split("."))) + f" {text}\n")
        assert Config.load(path) == expected


def test_a_set_of_part_types_may_be_listed_and_a_wrong_one_is_named():
    for value in (["grandparent", "arc"], ("arc", "grandparent"), "grandparent, arc", "arc,grandparent"):
        assert Config.from_dict({"parts": value}).parts == ("arc", "grandparent")
    expected = "parts: no set of part types is named siblings; did you mean sibling?"
    assert message({"parts": "siblings"}) == expected


def test_unknown_options_suggest_the_closest():
    assert message({"training": {"epoch": 3}}) == "training.epoch: unknown option; did you mean training.epochs?"
    assert message({"trainig": {}}) == "trainig: unknown option; did you mean training?"
    text = message({"epochs": 3})
    assert all(key in text for key in ("pruner.epochs", "training.epochs", "labeler.epochs"))
    assert message({"max_iterations": 3}).endswith("did you mean decoding.max_iterations?")
    assert "unknown option; known: parts, seed, treebank" in message({"zzzz": 1})
    assert message({3: 4}).startswith("3: unknown option")
    for key, suggestion in (
        ("epochs", "training.epochs or pruner.epochs or "),
        ("trainign.epochs", "training.epochs?"),
        ("part", "parts?"),
        ("step", "decoding.step?"),
    ):
        error = error_of(Config().with_overrides, {key: "5"}, text=True)
        assert error.message.startswith(f"unknown option; did you mean {suggestion}")


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("training.epochs", (0, True, 3.0, "ten", "3"), "an integer of at least 1"),
        ("seed", ("0",), "an integer of at least 0"),
        ("labeler.joint", (1, "true"), "true or false"),
        ("training.margin", (-1, math.inf, math.nan, False, "2"), "a number of at least 0"),
        ("features.bits", (9, 29), "an integer from 10 to 28"),
        ("encoder.bits", (16,), "8 or 32"),
        ("labeler.bits", (11,), "an integer from 12 to 28"),
        ("pruner.threshold", (0, 1.5), "a number above 0 and at most 1"),
        ("pruner.folds", (1, False), "0 or an integer of at least 2"),
        ("treebank.held_out", (1, None), "a number of at least 0 and below 1 or a path"),
        ("treebank.train", (7, ""), "null or a path"),
        ("decoding.single_root", ("yes", 1), "auto, true or false"),
        ("parts", ([], ["arc", 3]), "the name of a set or a list of part types"),
    ],
)
def test_invalid_values(key, values, expected):
    """A text, too, is not a number in Python."""
    for value in values:
        text = message(nested(key, value))
        assert text.startswith(f"{key}: ") and text.endswith(f" is invalid, {expected} expected")
        assert str(error_of(Config().with_overrides, {key: value})) == text


def test_values_are_validated_however_they_are_set():
    assert message({"training": 3}) == "training: 3 is invalid, a mapping from options to values expected"
    assert "a list is invalid" in message([])
    assert Config.from_dict({"training": None}) == Config()
    assert error_of(Config, training={"epochs": 3}).key == "training"
    assert str(error_of(TrainingConfig, epochs=0)).startswith("training.epochs: 0 is invalid")
    assert error_of(dataclasses.replace, DecodingConfig(), threshold=2).key == "decoding.threshold"
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().seed = 3


def test_scalars_of_numpy_are_those_of_python():
    given = {"nbest": np.int64(3), "threshold": np.float64(0.25), "crossing": np.int32(1), "exact": np.bool_(False)}
    found = Config().with_overrides({f"decoding.{name}": value for name, value in given.items()}).decoding
    plain = [getattr(found, name) for name in given]
    assert list(zip(map(type, plain), plain, strict=True)) == [(int, 3), (float, 0.25), (float, 1.0), (bool, False)]
    for wrong in (np.float64(2.0), np.bool_(True), np.int64(0), np.array([3])):
        error = error_of(Config().with_overrides, {"decoding.nbest": wrong})
        assert re.match("decoding.nbest: .* is invalid, an integer from 1 to 10000 expected", str(error))


def test_overrides_from_text():
    for path in ("2024", "a: b.conll", "x #1.conll", "[a].conll", "true"):  # a path is itself
        assert Config().with_overrides({"treebank.train": path}, text=True).treebank.train == path
    named = Config().with_overrides({"treebank.train": "a"})
    assert named.with_overrides({"treebank.train": "null"}, text=True) == Config()
    assert Config().with_overrides({"treebank.held_out": "1e-1"}, text=True).treebank.held_out == 0.1
    wrong = {"training.epochs": "!!bool x", "pruner.epochs": "!!int ''", "network.epochs": "9" * 5000, "seed": "["}
    wrong |= {"tagger.epochs": "1:2", "labeler.epochs": "1.5", "seed ": "1", "training": "3", "parts": "{}"}
    for key, text in wrong.items():
        assert error_of(Config().with_overrides, {key: text}, text=True).key == key


def test_configuration_files(tmp_path):
    path = tmp_path / "a.yaml"

    def failure(content: bytes) -> ConfigError:
        path.write_bytes(content)
        return error_of(Config.load, path)

    path.write_bytes(b"")
    assert Config.load(path) == Config()
    path.write_bytes(b"\xef\xbb\xbfseed: 3\npruner: {threshold: 1e-3}\ndecoding: {threshold: 1}\n")
    config = Config.load(path)  # YAML 1.1 reads 1e-3 as a string and 1 as an integer; both are numbers here
    assert (config.seed, config.pruner.threshold) == (3, 1e-3) and type(config.decoding.threshold) is float
    assert failure(b"[1, 2]").key == str(path)
    for content, problem in (
        (b"seed: 1\nmodel: arc\nseed: 2\n", ":3: invalid YAML: duplicate key seed"),
        (b"seed: 1\n\tmodel: arc\n", ":2: invalid YAML: found character '\\t' that cannot start any token"),
        (b"a: [\n", ":2: invalid YAML: expected the node content, but found '<stream end>'"),
        (b"? [a]\n: 3\n", ":1: invalid YAML: found unhashable key"),
        (b"seed: 1\n---\nseed: 2\n", ":2: invalid YAML: but found another document"),
        (b"seed: 1\n\nparts: \x07\n", ":3: invalid YAML: forbidden character '\\x07'"),
        (b"seed: \xff\n", ": is not UTF-8"),
        (b"\n" + b"[" * 1000, ":2: invalid YAML: too many nested lists or mappings"),
        (b"seed: 1\nparts: " + b"9" * 5000, ":2: invalid YAML: an integer of 5000 digits"),
        (b"a: &x [1]\nb: [*x, *x]\n", ":2: invalid YAML: aliases are not allowed, such as *x"),
        (b"a: &x {b: 1}\nc: {<<: *x}\n", ":2: invalid YAML: aliases are not allowed, such as *x"),
        (b"a: &x [*x]\n", ":1: invalid YAML: aliases are not allowed, such as *x"),
        *(
            (b"\nseed: " + tag + rest, f":2: invalid YAML: tags are not allowed, such as {tag.decode()}")
            for tag in (b"!!bool", b"!!int", b"!!float", b"!!timestamp", b"!!python/object/apply:os.getcwd", b"!x")
            for rest in (b" x", b" ''", b" []")
        ),
    ):
        assert str(failure(content)).startswith(f"{path}{problem}")
    for text in ("2024-13-45", "1:30", "190:20:30.15", "0b_", "._", "<<", "="):
        expected = f"seed: {text} is invalid, an integer of at least 0 expected (in {path})"
        assert str(failure(f"seed: {text}".encode())) == expected
    for name in (tmp_path, tmp_path / "none.yaml"):
        error = error_of(load_yaml, name)
        assert error.key == str(name) and error.message.startswith("cannot be read: ")


# Templates


@pytest.fixture
def folder(tmp_path):
    """A small folder of templates."""
    for name, part in template_files("grandparent").items():
        (tmp_path / f"{name}.yaml").write_text(f"part: {part}\ncodes: [direction]\ntemplates:\n  - h.pos m.pos\n")
    return tmp_path


def test_built_in_templates():
    files = load_templates()
    assert {name: spec["part"] for name, spec in files.items()} == template_files("grandparent")
    for spec in files.values():
        assert len(part_templates(spec, attributes_of(files)).salt) == len(set(spec["templates"])) > 10


def test_templates_of_a_folder(folder):
    assert str(error_of(load_templates, folder / "none")).startswith("features.folder: there is no folder")
    files = load_templates(str(folder))
    assert files["pruner"] == {"part": "arc", "codes": ["direction"], "templates": ["h.pos m.pos"]}
    assert attributes_of(files) == ["pos"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: no such file or directory"),
        ("part: [", "invalid YAML"),
        ("", "the keys part, codes, templates expected"),
        ("part: arc\ncode: []\ntemplates: []", "no such key: code; did you mean codes?"),
        ("part: arc\ncodes: [direction]", "the key templates is missing"),
        ("part: label\ncodes: [direction]\ntemplates: [h.pos]", "part is label, arc expected"),
        ("part: arc\ncodes: [direction]\ntemplates: []", "templates is no list of texts"),
        ("part: arc\ncodes: [direction]\ntemplates: [3]", "templates is no list of texts"),
        ("part: arc\ncodes: [order]\ntemplates: [h.pos]", "code 'order': the known ones are none, direction, distance"),
        ("part: arc\ncodes: [direction]\ntemplates: [h.pso]", "'h.pso': known attributes are"),
        ("part: arc\ncodes: [direction]\ntemplates: [s.pos]", "'s.pos': the words of this part are h, m"),
        ("part: arc\ncodes: [direction]\ntemplates: ['']", "an empty template"),
    ],
)
def test_broken_templates_name_the_file(folder, content, problem):
    path = folder / "pruner.yaml"
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    error = error_of(load_templates, folder)
    assert error.key.removesuffix(":1") == str(path) and problem in error.message
