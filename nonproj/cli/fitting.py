"""A warning before a command parses input that does not fit its model."""

from __future__ import annotations

import argparse
import dataclasses
import io
import logging
import os
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from nonproj.cli.loading import compile_ahead, decoding_options, load_model
from nonproj.errors import NonprojError, one_line
from nonproj.evaluation.parsing import tested_tags
from nonproj.evaluation.suitability import first_sentences, misfit_warning
from nonproj.io.broken import read_units, sentences_in
from nonproj.io.checks import ReadingRules
from nonproj.io.files import OpenedInput, open_input, unpacked
from nonproj.io.masking import HINT, MASK, NOTABLE, masked_share
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.text.formats import TextInput
from nonproj.text.input import read_text_units
from nonproj.text.segmenter import Segmenter
from nonproj.types import Sentence

_BYTES, _TEXT_BYTES = 1 << 17, 1 << 15
"""Number of bytes that are inspected, of treebanks and of plain text."""

log = logging.getLogger("nonproj")


def parser_and_input(options: argparse.Namespace, path: str, *, confidence: bool = False) -> tuple[Parser, OpenedInput]:
    """Return the parser of the model of ``--model``, and the treebank to parse, after a warning if it does not fit.

    Parameters
    ----------
    options : argparse.Namespace
        ``model``, ``gold``, ``tags`` and, optionally, options of `nonproj.cli.arguments.add_decoding`.
    path : str
        The treebank.
    confidence : bool
        Whether the model must have a confidence classifier.
    """
    model = load_model(options.model, path, confidence=confidence)
    decoding = decoding_options(model.config.decoding, options)
    decoding = dataclasses.replace(decoding, confidence=confidence or decoding.confidence)
    compile_ahead(options, model, decoding)
    source = open_input(path)
    tags = options.tags or (tested_tags(model.config) if options.gold else "missing")
    warn_of_misfit(model, source.name, peek_sentences(source, model), tags)
    return Parser(model, decoding, tags), source


def warn_of_misfit(model: Model, name: str, sentences: Sequence[Sentence], tags: str | None = "missing") -> bool:
    """Warn if some sentences do not fit a model; return whether there was a warning.

    Parameters
    ----------
    model : Model
    name : str
        Name of the input.
    sentences : sequence of Sentence
        The first sentences of the input.
    tags : str or None
        See `nonproj.evaluation.suitability.misfit_of`; None if the command has no option ``--tag``.
    """
    if (share := masked_share(sentences)) > NOTABLE:
        log.warning("%s", one_line(f"{name}: {100 * share:.0f} % of the words are {MASK}: {HINT}"))
        return False
    text = misfit_warning(model, name, sentences, tags or "missing", "" if tags is None else "--tag")
    if text:
        log.warning(text)
    return bool(text)


def peek_sentences(source: OpenedInput, model: Model, plain: TextInput | None = None) -> list[Sentence]:
    """Return the first sentences of an input without consuming it, as far as they can be read.

    A file is opened a second time.  Of a pipe, only what has arrived is inspected.

    Parameters
    ----------
    source : OpenedInput
    model : Model
        Its segmenter reads plain text.
    plain : TextInput, optional
        Options for reading plain text; None for a treebank.
    """
    beginning = _first_bytes(source, _BYTES if plain is None else _TEXT_BYTES)
    opened = OpenedInput(io.BytesIO(beginning), source.name)
    try:
        if plain is None:
            units: Iterable[Any] = read_units(opened, ReadingRules(ignore_heads=True, may_be_empty=True))
        else:
            units = read_text_units(opened, model.loaded(Segmenter) or Segmenter.unicode(), plain)
        return first_sentences(sentences_in(units, lambda broken: None))
    except NonprojError:  # the command reports it
        return []


def _first_bytes(source: OpenedInput, size: int) -> bytes:
    """Return the beginning of an input, up to the end of a line."""
    data = b""
    try:
        if os.path.isfile(source.name):
            with open(source.name, "rb") as stream:
                data = unpacked(stream).read(size)
        elif hasattr(source.stream, "peek"):
            data = source.stream.peek()
    except (OSError, EOFError, zlib.error):  # the command reports it
        return b""
    return data[: data.rfind(b"\n") + 1]
