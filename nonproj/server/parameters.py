"""The parameters of requests: names, values, and the resulting task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from nonproj.errors import closest
from nonproj.server.processing import RequestError, Task
from nonproj.text.formats import LINES, TEXT, WORDS, TextInput

VERSION = "=v2"
"""The version of CoNLL-U, which may follow its name, as in UDPipe."""

INPUTS = ("conllu", f"conllu{VERSION}", "horizontal", "generic_tokenizer")
OUTPUTS = ("conllu", f"conllu{VERSION}", "horizontal", "vertical")
TOKENIZER = ("presegmented", "ranges", "breaks", "normalized_spaces")

_OF_UDPIPE = re.compile(r"-ud-\d+\.\d+-\d+$")
"""The end of the names of UDPipe's models: the release of Universal Dependencies, and a date."""

NO = "none"
"""The value that turns a step off, as a missing parameter does."""


NAMES = ("data", "model", "tokenizer", "input", "tagger", "parser", "output", "certificates")
"""All parameters of ``/process``: those of UDPipe, and our own at the end."""


def _nearest(word: str, known: Iterable[str]) -> str:
    """Return a suggestion if a known word is similar."""
    near = closest(word, known)
    return f"; did you mean {near!r}?" if near else ""


def check_names(given: Mapping[str, str]) -> None:
    """Raise RequestError if a parameter is unknown.

    Examples
    --------
    >>> check_names({"data": "a", "tokeniser": ""})
    Traceback (most recent call last):
    nonproj.server.processing.RequestError: unknown parameter 'tokeniser'; did you mean 'tokenizer'?
    """
    for name in given:
        if name not in NAMES:
            suggestion = _nearest(name, NAMES) or f"; known: {', '.join(NAMES)}"
            raise RequestError(f"unknown parameter {name[:100]!r}{suggestion}")


def model_name(given: str, names: Sequence[str]) -> str:
    """Return the name of the model that a request means; raise RequestError if there is none.

    It is the given name, or else one that continues it with a hyphen, or else any that begins with it; of several, the
    first.  A name of UDPipe's models stands for its treebank or, if there is no such model, for its language.

    Examples
    --------
    >>> model_name("danish", ["turkish-arc", "danish-arc"]), model_name("", ["turkish-arc", "danish-arc"])
    ('danish-arc', 'turkish-arc')
    >>> model_name("english-gum-ud-2.12-230717", ["danish-arc", "english-ewt"])
    'english-ewt'
    """
    language, _, treebank = given.partition("-")
    beginnings = [given]
    if of_udpipe := _OF_UDPIPE.search(treebank):
        beginnings += [f"{language}-{treebank[: of_udpipe.start()]}", language]
    found = next(filter(None, ([name for name in names if name.startswith(each)] for each in beginnings)), [])
    if not found:
        raise RequestError(f"model: {given!r} is unknown{_nearest(given, names)}; known: {', '.join(names)}")
    return min(found, key=lambda name: (name != given, not name.startswith(f"{given}-")))


def task_of(given: Mapping[str, str], components: Sequence[str]) -> Task:
    """Return the task described by the parameters, for a model with these components.

    Raises
    ------
    RequestError
        A value is invalid, the data is missing, or the model lacks the component.
    """
    wanted = {name: given.get(name, NO) != NO for name in ("tokenizer", "tagger", "parser", "certificates")}
    kind, output = (given.get(name, "conllu") for name in ("input", "output"))
    if "data" not in given:
        raise RequestError("data: the parameter is missing")
    for name in ("tokenizer", "tagger", "parser"):
        if wanted[name] and name not in components:
            raise RequestError(f"{name}: the model has no such component")
    for name, value, known in (("input", kind, INPUTS), ("output", output, OUTPUTS)):
        if value not in known:
            raise RequestError(f"{name}: {value!r} is not a format{_nearest(value, known)}; known: {', '.join(known)}")
    chosen = given["tokenizer"].split(";") if wanted["tokenizer"] else []
    if unknown := next((option for option in chosen if option and option not in TOKENIZER), None):
        hint = f"{_nearest(unknown, TOKENIZER)}; known: {', '.join(TOKENIZER)}"
        raise RequestError(f"tokenizer: {unknown!r} is no option{hint}")
    plain = TextInput(WORDS) if kind == "horizontal" else None
    if wanted["tokenizer"] or kind == "generic_tokenizer":
        form = LINES if "presegmented" in chosen else TEXT
        plain = TextInput(form, ranges="ranges" in chosen, breaks=form == TEXT and "breaks" in chosen)
    steps = wanted["tagger"], wanted["parser"], wanted["certificates"]
    return Task(given["data"], plain, "normalized_spaces" in chosen, *steps, output.removesuffix(VERSION))
