"""Model cards: training data, accuracy and intended use of a model, as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from nonproj.errors import counted, one_line
from nonproj.evaluation.calibration import Outcomes
from nonproj.evaluation.report import CROSSING
from nonproj.options.config import Config

_PARTS = {"arc": "arcs", "sibling": "adjacent siblings", "grandparent": "grandparents"}

_TEST = {
    "uas": "UAS, without punctuation",
    "las": "LAS, without punctuation",
    "uas_punctuation": "UAS with punctuation",
    "las_punctuation": "LAS with punctuation",
    **{f"nonprojective_{key}": f"non-projective arcs, {name}" for key, name in CROSSING.items()},
    "agreed": "trees certified by agreement",
    "certified": "trees certified",
}
"""The test results that a model records, with their names on a card."""

_CALIBRATION = {
    "calibration_error": "expected calibration error",
    "area": "AUC of correct against wrong",
    "surest_50": "accuracy of the most confident 50 %",
    "surest_75": "accuracy of the most confident 75 %",
    "surest_90": "accuracy of the most confident 90 %",
}
"""The calibration results that a model records, with their names on a card."""

UNKNOWN_LICENCE = "unknown; the terms of the treebank may restrict the use of the model"

_USE = """The model parses text in the language and genre of its treebank, for research and as a tool for annotators. On
other genres (speech, social media, older spelling) it is less accurate, and the output does not indicate this. Given
tags should follow the treebank's scheme. A certificate proves that a tree is the best one under the model over its
candidate arcs, not that it is correct. If decisions about people depend on the output, a person must check it."""


def figures_of_test(figures: dict[str, Any]) -> dict[str, float | int | None]:
    """Return the record of an evaluation in a model's training history, which may only have single values.

    Parameters
    ----------
    figures : dict
        The result of `nonproj.evaluation.scores.Evaluation.as_dict`.

    Examples
    --------
    >>> part = {"uas": 0.9, "las": 0.8, "nonprojective": {"f1": 0.5}}
    >>> both = {"without_punctuation": part, "with_punctuation": part, "certificates": None}
    >>> figures_of_test({"sentences": 2, "words": 9} | both)["las"]
    0.8
    """
    found = {name: figures[name] for name in ("sentences", "words")}
    found |= {name: figures["without_punctuation"][name] for name in ("uas", "las")}
    every = figures["with_punctuation"]
    found |= {f"{name}_punctuation": every[name] for name in ("uas", "las")}
    found |= {f"nonprojective_{name}": every["nonprojective"].get(name) for name in CROSSING}
    return found | {name: (figures["certificates"] or {}).get(name) for name in ("agreed", "certified")}


def calibration_of_test(judged: Mapping[str, Outcomes]) -> dict[str, float | int]:
    """Return the record of a model's calibration.

    Parameters
    ----------
    judged : mapping of str to Outcomes
        The result of `nonproj.evaluation.calibration.judge`.
    """
    return {
        f"{kind}_{name}": value
        for kind in ("heads", "labels")
        for name, value in judged[kind].as_dict().items()
        if name in _CALIBRATION
    }


def model_card(path: str, description: dict[str, Any], size: int) -> str:
    """Return the card of a model.

    Parameters
    ----------
    path : str
        The model file, whose name is the title of the card.
    description : dict
        The result of `nonproj.model.model.Model.describe`.
    size : int
        The size of the file in bytes.

    Returns
    -------
    str
        Markdown: treebank, licence, figures, options, training, use, limits, how to load the model.
    """
    name, training = one_line(PurePath(path).name), description["training"]
    data, test, calibration, raw_text = (record(training, key) for key in ("data", "test", "calibration", "raw_text"))
    *others, last = (_PARTS.get(part, part) for part in description["config"]["parts"])
    parts = " and ".join(filter(None, [", ".join(others), last]))
    version = training.get("version", "unknown")
    lines = [f"# {name}", "", f"A dependency parser that scores {parts}, by nonproj {version}."]
    lines += ["", "## Data", "", *_table(("", ""), _data(data, training))]
    lines += ["", "## Accuracy", ""]
    lines += _table(("on the test file", ""), _figures(test)) if test else ["The model was not evaluated in training."]
    if raw_text:
        rows = ((metric, _percent(value)) for metric, value in raw_text.items())
        lines += ["", *_table(("F1 on its raw text, by the CoNLL 2018 shared task", ""), rows)]
    if calibration:
        lines += ["", "## Confidence", "", *_table(("on the test file", ""), _calibration(calibration))]
    lines += ["", "## Training", "", *_table(("", ""), _training(training, description, size))]
    changed = list(_changed(description["config"]))
    lines += ["", "Options that differ from the defaults:" if changed else "All options have their defaults.", ""]
    lines += _table(("option", "value"), changed) + [""] if changed else []
    lines += ["## Use and limits", "", _USE, "", "## Loading it", ""]
    lines += ["```python", "import nonproj", "", f'nlp = nonproj.load("{name}")', "```", ""]
    lines += ["```sh", f"nonproj parse {name} in.conllu -o out.conllu", "```"]
    return "\n".join(lines) + "\n"


def _data(data: dict[str, Any], training: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the facts about the treebank."""
    yield "treebank", data.get("name") or "not named"
    if language := data.get("language"):
        yield "language", language
    yield "licence", data.get("licence") or UNKNOWN_LICENCE
    if encoder := training.get("encoder"):
        licence = encoder.get("licence") or "unknown"
        known = f"; fine-tuned on {encoder['treebanks']}: the strictest terms count" if encoder.get("treebanks") else ""
        yield "pretrained encoder", f"{encoder.get('name')} ({encoder.get('kind')}), licence: {licence}{known}"
    if vectors := training.get("vectors"):
        terms = f"{_number(vectors.get('words'))} words; the terms of the vectors may restrict the use of the model"
        if "pieces" in vectors:
            licence = vectors.get("licence") or "unknown"
            terms = f"by {_number(vectors['pieces'])} pieces of words of the encoder, licence: {licence}"
        yield "word vectors", f"`{vectors.get('name')}`, {terms}"
    for role, title in (("train", "training file"), ("test", "test file")):
        if data.get(f"{role}_file"):
            yield title, _file(data[f"{role}_file"], data.get(f"{role}_sha256"))
    yield "trained on", _size(training)
    if silver := training.get("silver"):
        named = f" of `{silver['texts']}`" if silver.get("texts") else ""
        teacher = f"by `{silver['teacher']}`" if silver.get("teacher") else "automatically"
        terms = "the terms of the text may restrict the use of the model"
        yield "and on", f"{_size(silver)}{named}, parsed {teacher}; {terms}"
    yield from _related(training)
    if continued := record(training, "continued"):
        yield "continues", _file(continued.get("model"), continued.get("sha256"))
        text = f"{_size(continued)} of {continued.get('treebanks')}; the strictest terms count"
        yield "which has learnt from", text
    if data.get("held_out_sentences"):
        yield "held out", counted(data["held_out_sentences"], "sentence")
    if "nonprojective_arcs" in training:
        yield "non-projective arcs", _percent(training["nonprojective_arcs"])
    yield "roots", "several roots in a tree" if training.get("multi_root") else "one root in each tree"


def _file(name: object, digest: object) -> str:
    """Return the name of a file, and its digest, if that is known."""
    return f"`{name}`" + (f", SHA-256 `{digest}`" if digest else "")


def _size(texts: dict[str, Any]) -> str:
    """Return the size of training texts."""
    return ", ".join(counted(texts.get(f"{noun}s", "?"), noun) for noun in ("sentence", "word"))


def _figures(test: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the results on the test file."""
    yield "size", _size(test)
    yield "words and sentences", "from the file"
    if test.get("tags"):
        yield "tags", str(test["tags"])
    for key, title in _TEST.items():
        if test.get(key) is not None:
            yield title, _percent(test[key])


def _calibration(calibration: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the calibration of the probabilities of heads, and of heads with labels."""
    for kind, of in (("heads", "heads"), ("labels", "heads with labels")):
        for name, title in _CALIBRATION.items():
            if (value := calibration.get(f"{kind}_{name}")) is not None:
                share = name.startswith("surest")
                yield f"{of}: {title}", _percent(value) if share else _number(value)


def _training(training: dict[str, Any], description: dict[str, Any], size: int) -> Iterator[tuple[str, str]]:
    """Yield the facts about training, and the size of the model."""
    yield "seed", str(description["config"]["seed"])
    yield "epochs", str(len(training.get("log", [])))
    if training.get("interrupted"):
        yield "interrupted", "yes; the model is that of the last complete epoch"
    for name, version in record(training, "software").items():
        yield name, str(version)
    yield "labels", str(description["labels"])
    if training.get("rounding"):
        yield "weights", f"rounded ({_number(training['rounding'])})"
    yield "file", f"{size / 1e6:.1f} MB"


def _changed(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the options that differ from their defaults, except treebank and seed, which have their own lines."""
    defaults = Config().as_dict()
    for name, value in config.items():
        if isinstance(value, dict):
            for key, inner in value.items():
                if name != "treebank" and inner != defaults[name][key]:
                    yield f"`{name}.{key}`", _number(inner)
        elif name != "seed" and value != defaults[name]:
            yield f"`{name}`", ", ".join(value) if isinstance(value, list | tuple) else _number(value)


def _related(training: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rows of the card about related treebanks."""
    if related := training.get("related"):
        yield "and on", f"{_size(related)} of related treebanks: {related.get('treebanks', 'not named')}"
    for what in ("tags", "heads", "labels"):
        if figures := record(training, f"{what}_together"):
            alone, together = (_percent(figures.get(name)) for name in ("alone", "together"))
            verb = "learnt" if figures.get("helps") else "not learnt"
            yield f"{what} of these", f"{verb}: of held-out words {alone} are right alone, {together} together"


def record(training: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a record of the training history; empty if absent, or of another type, as other programs may write."""
    value = training.get(key)
    return value if isinstance(value, dict) else {}


def _percent(share: object) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.2f} %" if isinstance(share, int | float) else str(share)


def _number(value: object) -> str:
    """Return a value as YAML writes it, numbers in a few digits."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(head: tuple[str, str], rows: Iterable[tuple[str, object]]) -> list[str]:
    """Return the lines of a Markdown table."""
    cells = [(name, one_line(str(value)).replace("|", "\\|")) for name, value in rows]
    return [f"| {name} | {value} |" for name, value in (head, ("---", "---"), *cells)]
