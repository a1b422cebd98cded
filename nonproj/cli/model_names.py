"""Models named on the command line: a file, the name of an installed model, or none for the default."""

from __future__ import annotations

import argparse
import os
from typing import TextIO

from nonproj.io.kinds import beginning_of, is_model
from nonproj.model.hub import is_on_hub
from nonproj.model.installed import SUFFIX, default, installed, is_name, located


def locate_models(options: argparse.Namespace) -> None:
    """Replace names of models in the options by the files of installed models, and a missing name by the default.

    An unknown name remains, and is reported when the model is loaded, after other mistakes in the options.
    """
    if options.command == "parse" and options.model is None:
        options.model = str(default())
    for name in ("model", "teacher"):
        if getattr(options, name, None):
            setattr(options, name, _path(getattr(options, name)))
    if options.command == "serve":
        options.models = [_path(model) for model in options.models]


def _path(model: str) -> str:
    """Return the file of a model, or the name if there is none."""
    known = os.path.exists(model) or is_on_hub(model) or (is_name(model) and installed(model))
    return str(located(model)) if known else model


def is_terminal(stream: TextIO) -> bool:
    """Return whether somebody would have to type the input."""
    return not stream.closed and stream.isatty()


def is_input(word: str) -> bool:
    """Return whether a single argument is the file to parse: standard input, or a file or pipe that is not a model."""
    if word == "-":
        return True
    if word.endswith(SUFFIX) or os.path.isdir(word) or (is_name(word) and installed(word)):
        return False  # if an installed model has the name of a file, that is an error later
    return os.path.exists(word) and not is_model(beginning_of(word))
