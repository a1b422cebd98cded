"""One request, from data to the body of the response; called in a worker process."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from nonproj.errors import DataError, NonprojError, SentenceMemoryError, SizeError, advised, closest
from nonproj.evaluation.certificates import left_out, statistics
from nonproj.evaluation.confidence import confidence_figures
from nonproj.io import conll
from nonproj.nlp.text_parser import TextParser
from nonproj.pipeline.stages import tag
from nonproj.server.memory import is_exhausted, limit_memory
from nonproj.text.formats import LINES, TEXT, WORDS, TextInput
from nonproj.types import Sentence
from nonproj.workers.parsing import ModelRef, parser_of

VERSION = "=v2"
"""The version of CoNLL-U, which may follow its name, as in UDPipe."""

INPUTS = ("conllu", f"conllu{VERSION}", "horizontal", "generic_tokenizer")
OUTPUTS = ("conllu", f"conllu{VERSION}", "horizontal", "vertical")
NORMALIZED = "normalized_spaces"
TOKENIZER = ("presegmented", "ranges", "breaks", NORMALIZED)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a suggestion if a known word is similar.

    Examples
    --------
    >>> nearest("tokeniser", ["tagger", "tokenizer"])
    "; did you mean 'tokenizer'?"
    """
    near = closest(word, known)
    return f"; did you mean {near!r}?" if near else ""


class RequestError(NonprojError):
    """A parameter of a request is missing or invalid."""


class Task(NamedTuple):
    """A task: what to do with the data of a request.

    Attributes
    ----------
    data : str
    tokenizer : str or None
        Options of the tokenizer, separated by ``;``; None if ``data`` is not plain text.
    input : str
        One of `INPUTS`.
    tag, parse : bool
    certificates : bool
        Whether to return the statistics of each tree.
    output : str
        One of `OUTPUTS`.
    """

    data: str
    tokenizer: str | None = None
    input: str = "conllu"
    tag: bool = False
    parse: bool = False
    certificates: bool = False
    output: str = "conllu"


class Answer(NamedTuple):
    """The body of a response, and the number of sentences and words in it."""

    body: bytes
    sentences: int
    words: int


_parsers: dict[ModelRef, TextParser] = {}
_served: dict[str, ModelRef] = {}
"""The models of this process: their parsers, and by name their references."""


def _parser(reference: ModelRef) -> TextParser:
    """Return the parser of a model, which stays loaded."""
    if reference not in _parsers:
        model = parser_of(reference).model
        _parsers[reference] = TextParser(model, reference.decoding, reference.tags, name=reference.path)
    return _parsers[reference]


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
    _served.update(models)
    components = {}
    for name in models:
        check_health(name)
        has_tagger = _parser(_served[name]).parser.loaded.analyzer is not None
        components[name] = ["tokenizer", *["tagger"] * has_tagger, "parser"]
    limit_memory(megabytes)
    return components


def check_health(name: str) -> int:
    """Parse a sentence with a model, as a health check, and return its number of words."""
    return len(_parser(_served[name]).parse(["a", "b", "c", "."]).heads)


def respond(name: str, task: Task) -> Answer:
    """Return the body of the response to a request.

    Parameters
    ----------
    name : str
        Name of the model.
    task : Task
        A tagger replaces all tags; without one, missing tags are predicted.

    Raises
    ------
    RequestError
        The data is malformed; the message names parameters, not options of the command line.
    MemoryError
    """
    reference = _served[name]._replace(tags="all") if task.tag else _served[name]
    try:
        sentences, text, certificates = process(reference, task)
    except NonprojError as error:
        if isinstance(error, DataError | SizeError) and not isinstance(error, SentenceMemoryError):
            limit = f"the server's limit is {_parser(reference).parser.request.max_words}: split it"
            raise RequestError(advised(error, {**_ADVICE, "decoding.max_words": limit})) from None
        raise
    except Exception:
        if is_exhausted():
            raise MemoryError from None
        raise
    is_text = task.tokenizer is not None
    content: dict[str, Any] = {
        "model": name,
        "acknowledgements": [f"Tokenizer: {_parser(reference).parser.segmenter.description}."] * is_text,
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


def process(reference: ModelRef, task: Task) -> tuple[list[Sentence], str, list[dict[str, Any]]]:
    """Return the sentences of a request, the text of the result, and the certificates, if they are wanted.

    Parameters
    ----------
    reference : ModelRef
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
    nlp, certificates = _parser(reference), []
    sentences = _read(nlp, task)
    if task.tag and not task.parse:
        tagged = list(nlp.parser.try_all(sentences, until=tag, results=attrgetter("sentences")))
        for error in (result for _, result in tagged if isinstance(result, DataError)):
            raise error
        sentences = [sentence for sentence, _ in tagged]
    if task.parse:
        parses = list(nlp.parser.parse_all(sentences))
        certificates = [statistics(p) | confidence_figures(p) for _, p in parses] if task.certificates else []
        texts = (conll.replace(s, parse.decoded.heads, parse.labels, deps=conll.DROP) for s, parse in parses)
    else:
        texts = ("".join(sentence.lines) for sentence in sentences)
    if task.output in ("horizontal", "vertical"):
        texts = (_only_words(sentence, task.output) for sentence in sentences)
    text = "".join(texts)
    return sentences, _normalized(text) if NORMALIZED in _options(task.tokenizer) else text, certificates


def _only_words(sentence: Sentence, output: str) -> str:
    """Return the words of a sentence as UDPipe writes them: on a line, blanks in them replaced, or each on its own."""
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


def _options(tokenizer: str | None) -> list[str]:
    """Return the options of the tokenizer."""
    return [option for option in (tokenizer or "").split(";") if option]


def _read(nlp: TextParser, task: Task) -> list[Sentence]:
    """Return the sentences of the data."""
    if task.tokenizer is not None:
        options = _options(task.tokenizer)
        if unknown := next((option for option in options if option not in TOKENIZER), None):
            hint = f"{nearest(unknown, TOKENIZER)}; known: {', '.join(TOKENIZER)}"
            raise RequestError(f"tokenizer: {unknown!r} is no option{hint}")
        plain = TextInput(LINES if "presegmented" in options else TEXT, ranges="ranges" in options)
        plain = plain._replace(breaks=plain.format == TEXT and "breaks" in options)
        return nlp.segment(task.data, plain)
    if task.input == "horizontal":
        return nlp.segment(task.data, TextInput(WORDS))
    if not task.data.strip():
        return []
    stream = io.StringIO(task.data if task.data.endswith("\n") else task.data + "\n", newline="")
    stream.name = "data"
    return list(conll.read(stream, ignore_heads=task.parse))
