"""Processing of a request in a worker process, from its data to the body of the response."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from nonproj.errors import DataError, NonprojError, SentenceMemoryError, SizeError, advised
from nonproj.evaluation.certificates import left_out, statistics
from nonproj.evaluation.confidence import confidence_figures
from nonproj.io import conll
from nonproj.io.objects import from_words
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import tag
from nonproj.server.memory import is_exhausted, limit_memory
from nonproj.text.formats import WORDS, TextInput
from nonproj.types import Sentence
from nonproj.workers.parsing import ModelRef, parser_of


class RequestError(NonprojError):
    """A parameter of a request is missing or invalid."""


class Task(NamedTuple):
    """The data of a request, and options of its processing.

    Attributes
    ----------
    data : str
    plain : TextInput or None
        Options of reading plain text; None if ``data`` is CoNLL-U.
    normalized : bool
        Whether to omit the attributes that keep the blanks of plain text.
    tag, parse : bool
    certificates : bool
        Whether to return the statistics of each tree.
    output : str
        One of `nonproj.server.parameters.OUTPUTS`, without a version.
    """

    data: str
    plain: TextInput | None = None
    normalized: bool = False
    tag: bool = False
    parse: bool = False
    certificates: bool = False
    output: str = "conllu"


class Answer(NamedTuple):
    """The body of a response, and the number of sentences and words in it."""

    body: bytes
    sentences: int
    words: int


_parsers: dict[str, Parser] = {}
"""The parsers of this process by the names of their models."""


def prepare(models: Mapping[str, ModelRef], megabytes: int) -> dict[str, list[str]]:
    """Load models, parse a sentence with each so that no request has to wait, and return their components.

    The components of a model are ``tokenizer``, ``tagger``, if it has one, and ``parser``.

    Parameters
    ----------
    models : mapping of str to ModelRef
        The models by name; requests name them.
    megabytes : int
        Memory limit of this process from then on: see `nonproj.server.memory.limit_memory`.
    """
    components = {}
    for name, reference in models.items():
        _parsers[name] = parser_of(reference)
        check_health(name)
        components[name] = ["tokenizer", *["tagger"] * (_parsers[name].loaded.analyzer is not None), "parser"]
    limit_memory(megabytes)
    return components


def check_health(name: str) -> int:
    """Parse a sentence with a model, as a health check, and return its number of words."""
    [(sentence, _)] = _parsers[name].parse_all([from_words(["a", "b", "c", "."])])
    return len(sentence)


def respond(name: str, task: Task) -> Answer:
    """Return the body of the response to a request.

    Parameters
    ----------
    name : str
        Name of the model.
    task : Task
        If ``tag`` is true, all tags are replaced; otherwise, a parser predicts those that are missing.

    Raises
    ------
    RequestError
        The data is malformed; the message names parameters, not options of the command line.
    MemoryError
    """
    parser = _parsers[name]
    try:
        sentences, text, certificates = process(parser, task)
    except NonprojError as error:
        if isinstance(error, DataError | SizeError) and not isinstance(error, SentenceMemoryError):
            limit = f"the server's limit is {parser.request.max_words}: split it"
            raise RequestError(advised(error, {**_ADVICE, "decoding.max_words": limit})) from None
        raise
    except Exception:
        if is_exhausted():
            raise MemoryError from None
        raise
    is_text = task.plain is not None and task.plain.format != WORDS
    content: dict[str, Any] = {
        "model": name,
        "acknowledgements": [f"Tokenizer: {parser.segmenter.description}."] * is_text,
        "result": text,
    }
    if task.certificates:
        content["certificates"] = certificates
    words, nodes = map(sum, zip((0, 0), *map(conll.count_enhanced, sentences if task.parse else ()), strict=True))
    if words or nodes:
        content["warnings"] = [left_out(words, nodes)]
    return Answer(json_body(content), len(sentences), sum(map(len, sentences)))


def json_body(content: dict[str, Any]) -> bytes:
    """Return the body of a response."""
    return json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n"


_ADVICE = {
    "--max-line": "",
    "--text": "; plain text needs the parameter tokenizer",
    "pruner": "split the sentence",
}
"""Advice to clients in messages about data, by the options that the command line would name."""


def process(parser: Parser, task: Task) -> tuple[list[Sentence], str, list[dict[str, Any]]]:
    """Return the sentences of a request, the text of the result, and the certificates, if they are requested.

    Parameters
    ----------
    parser : Parser
    task : Task

    Returns
    -------
    list of Sentence, str, list of dict
        The last has statistics of each sentence: see `nonproj.evaluation.certificates.statistics`.  If the model has a
        confidence classifier, they include the probabilities of each sentence and of its words.

    Raises
    ------
    RequestError, DataError
        The data is malformed.
    """
    sentences, certificates = _read(parser, task), []
    if task.tag:
        parser = parser.with_request(tags="all")
    if task.tag and not task.parse:
        tagged = list(parser.try_all(sentences, until=tag, results=attrgetter("sentences")))
        for error in (result for _, result in tagged if isinstance(result, DataError)):
            raise error
        sentences = [sentence for sentence, _ in tagged]
    if task.parse:
        parses = list(parser.parse_all(sentences))
        certificates = [statistics(p) | confidence_figures(p) for _, p in parses] if task.certificates else []
        parsed = ((sentence, p.decoded.heads, p.labels, (), p.graph) for sentence, p in parses)
        texts = (conll.replace(*each, deps=conll.DROP) for each in parsed)
    else:
        texts = ("".join(sentence.lines) for sentence in sentences)
    if task.output in ("horizontal", "vertical"):
        texts = (_only_words(sentence, task.output) for sentence in sentences)
    text = "".join(texts)
    return sentences, _normalized(text) if task.normalized else text, certificates


def _only_words(sentence: Sentence, output: str) -> str:
    """Return the words of a sentence in UDPipe's form: on one line, with blanks in words replaced, or one a line."""
    if output == "vertical":
        return "".join(f"{form}\n" for form in sentence.forms) + "\n"
    return " ".join(form.replace(" ", "\N{NO-BREAK SPACE}") for form in sentence.forms) + "\n"


_SPACES = re.compile(r"(?m)^(\d\S*\t(?:[^\t\n]*\t){8})([^\t\n]*)$")


def _normalized(text: str) -> str:
    """Return CoNLL-U without the attributes that keep the blanks of plain text.

    Examples
    --------
    >>> line = "1\\ta" + 7 * "\\t_" + "\\t"
    >>> _normalized(line + "SpaceAfter=No|SpacesBefore=\\\\s") == line + "SpaceAfter=No"
    True
    """

    def kept(found: re.Match[str]) -> str:
        attributes = [each for each in found[2].split("|") if not re.match("Spaces(After|Before|InToken)=", each)]
        return found[1] + ("|".join(attributes) or "_")

    return _SPACES.sub(kept, text)


def _read(parser: Parser, task: Task) -> list[Sentence]:
    """Return the sentences of the data."""
    if task.plain is not None:
        limits = parser.request.cut_words, parser.request.max_words
        return parser.segmenter.segment(task.data, task.plain.within(*limits))
    if not task.data.strip():
        return []
    stream = io.StringIO(task.data if task.data.endswith("\n") else task.data + "\n", newline="")
    stream.name = "data"
    return list(conll.read(stream, ignore_heads=task.parse))
