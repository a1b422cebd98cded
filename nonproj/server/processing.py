"""One request, from data to result; called in a worker process."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

from nonproj.errors import NonprojError
from nonproj.evaluation.certificates import statistics
from nonproj.evaluation.confidence import confidence_figures
from nonproj.io import conll
from nonproj.nlp import TextParser
from nonproj.server import formats
from nonproj.text.input import LINES, TEXT, TextInput
from nonproj.types import Sentence
from nonproj.workers.parsing import ModelRef, parser_of

INPUTS = ("conllu", "horizontal", "vertical", "generic_tokenizer")
OUTPUTS = ("conllu", "horizontal", "vertical", "horizontal=paragraphs", "vertical=paragraphs")
TOKENIZER = ("presegmented", "ranges")


class RequestError(NonprojError):
    """A parameter of a request is missing or invalid."""


class Task(NamedTuple):
    """What is to be done.

    Attributes
    ----------
    data : str
    tokenizer : str or None
        Options of the tokenizer, separated by ``;``; None where ``data`` is not plain text.
    input, output : str
        One of `INPUTS` and of `OUTPUTS`.
    tag, parse : bool
    certificates : bool
        Whether to return the statistics of each tree, too.
    """

    data: str
    tokenizer: str | None = None
    input: str = "conllu"
    tag: bool = False
    parse: bool = False
    output: str = "conllu"
    certificates: bool = False


class Result(NamedTuple):
    """The output, and for each sentence its statistics (see `nonproj.evaluation.certificates.statistics`).

    If the model has a confidence classifier, they include the probabilities of each sentence and of its words.
    """

    text: str
    certificates: list[dict[str, Any]]


class ModelInfo(NamedTuple):
    """What a model has: ``tokenizer``, ``tagger``, ``parser``; and what its users should know."""

    components: list[str]
    notes: list[str]


_parsers: dict[ModelRef, TextParser] = {}


def _parser(reference: ModelRef) -> TextParser:
    """Return the parser of a model, which stays loaded."""
    if reference not in _parsers:
        model = parser_of(reference)[0].model
        _parsers[reference] = TextParser(model, reference.decoding, reference.tags, name=reference.path)
    return _parsers[reference]


def prepare(references: list[ModelRef]) -> list[ModelInfo]:
    """Load models, parse a sentence with each so that no request waits for it, and return what they have."""
    found = []
    for reference in references:
        nlp = _parser(reference)
        nlp.parse(["a", "b", "c", "."])
        components = ["tokenizer", *["tagger"] * (nlp.parser.analyzer is not None), "parser"]
        found.append(ModelInfo(components, [f"Tokenizer: {nlp.parser.segmenter.description}."]))
    return found


def process(reference: ModelRef, task: Task) -> Result:
    """Return the result of a request.

    Parameters
    ----------
    reference : ModelRef
    task : Task

    Raises
    ------
    RequestError, DataError
        The data is malformed.
    """
    nlp, certificates = _parser(reference), []
    sentences = _read(nlp, task)
    if task.tag and not task.parse:
        sentences = nlp.parser.tag(sentences)
    if task.parse:
        parses = list(nlp.parser.parse_all(sentences))
        certificates = [statistics(p) | confidence_figures(p) for _, p in parses] if task.certificates else []
        if task.output == "conllu":
            texts = (conll.replace(sentence, parse.decoded.heads, parse.labels) for sentence, parse in parses)
            return Result("".join(texts), certificates)
    return Result(_write(sentences, task.output), certificates)


def _read(nlp: TextParser, task: Task) -> list[Sentence]:
    """Return the sentences of the data."""
    if task.tokenizer is not None:
        options = [option for option in task.tokenizer.split(";") if option]
        unknown = next((option for option in options if option not in TOKENIZER), None)
        if unknown:
            raise RequestError(f"tokenizer: {unknown!r} is no option; known: {', '.join(TOKENIZER)}")
        plain = TextInput(LINES if "presegmented" in options else TEXT, ranges="ranges" in options)
        return nlp.segment(task.data, plain)
    if task.input in ("horizontal", "vertical"):
        read = formats.read_horizontal if task.input == "horizontal" else formats.read_vertical
        return list(read(task.data))
    if not task.data.strip():
        return []
    stream = io.StringIO(task.data if task.data.endswith("\n") else task.data + "\n", newline="")
    stream.name = "data"
    return list(conll.read(stream, ignore_heads=task.parse))


def _write(sentences: list[Sentence], output: str) -> str:
    """Return sentences without a new tree."""
    if output == "conllu":
        texts = (
            "".join(sentence.lines) or "".join("\t".join(row) + "\n" for row in sentence.rows) + "\n"
            for sentence in sentences
        )
        return "".join(texts)
    write = formats.write_horizontal if output.startswith("horizontal") else formats.write_vertical
    return write(sentences, output.endswith("=paragraphs"))
