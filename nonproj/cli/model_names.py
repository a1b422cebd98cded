"""Models named on the command line: a file, the name of an installed model, or none for the default."""

from __future__ import annotations

import argparse
import os
from typing import Any

from nonproj.cli.arguments import with_values
from nonproj.io.kinds import beginning_of, is_model
from nonproj.model.hub import is_on_hub
from nonproj.model.installed import SUFFIX, announced_default, installed, is_name, located


def locate_models(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options with the names of models replaced by files, and the default model if none is named.

    An unknown name remains, and is reported when the model is loaded, after other mistakes in the options.
    """
    names = {name: model for name in ("model", "teacher", "start") if (model := getattr(options, name, None))}
    paths: dict[str, Any] = {name: _path(model) for name, model in names.items()}
    if options.command == "parse" and options.model is None:
        paths["model"] = str(announced_default())
    if options.command == "serve":
        paths["models"] = [_path(model) for model in options.models] or [str(announced_default())]
    return with_values(options, **paths)


def _path(model: str) -> str:
    """Return the path of a model's file, or the argument itself if no model is found."""
    known = os.path.exists(model) or is_on_hub(model) or (is_name(model) and installed(model))
    return str(located(model)) if known else model


def are_inputs(words: list[str]) -> bool:
    """Return whether no argument is the model: the first is an input, and no other looks like a model."""
    return is_input(words[0]) and not any(map(_is_model, words[1:]))


def is_input(word: str) -> bool:
    """Return whether an argument is data to parse: standard input, a folder, or a file or pipe that is no model."""
    return word == "-" or (os.path.exists(word) and not _is_model(word))


def _is_model(word: str) -> bool:
    """Return whether an argument is a model or has the name of one."""
    if word.endswith(SUFFIX) or (is_name(word) and installed(word)):
        return True  # if an installed model has the name of a file, that is an error later
    return is_model(beginning_of(word))
