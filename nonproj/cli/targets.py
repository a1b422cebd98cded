"""The files of ``nonproj parse MODEL FILES... -o FOLDER``: what is read, and where it is written."""

from __future__ import annotations

import argparse
import glob
import os
from collections.abc import Iterator
from typing import NamedTuple

from nonproj.errors import ConfigError, FileError
from nonproj.io.temporary import reason

CONLL = (".conllu", ".conll", ".conllx", ".conllup")
TEXT = (".txt",)
"""Endings of the files that are taken from a folder, also compressed (``.gz``)."""

_TABLES = (".json", ".jsonl", ".parquet", ".gz")


class ParseTarget(NamedTuple):
    """A file to parse, and the file to write."""

    source: str
    output: str


class _Found(NamedTuple):
    """A file to parse, and its name relative to the folder or pattern that it was found by."""

    path: str
    name: str


def is_pattern(word: str) -> bool:
    """Return whether an argument stands for the files that match it, because there is no file of that name.

    Examples
    --------
    >>> is_pattern("*.conllu"), is_pattern("a.conllu")
    (True, False)
    """
    return any(sign in word for sign in "*?[") and not os.path.lexists(word)


def is_folder(output: str) -> bool:
    """Return whether an output is a folder, or can only be one: it exists, or ends with a slash.

    Examples
    --------
    >>> is_folder("none/"), is_folder("none")
    (True, False)
    """
    return output.endswith(os.sep) or os.path.isdir(output)


def is_file_name(output: str) -> bool:
    """Return whether an output is a file, or named like one, and so is not the folder for several files.

    Examples
    --------
    >>> is_file_name("out.conllu"), is_file_name("out.conllu/"), is_file_name("out")
    (True, False, False)
    """
    named = output == "-" or output.endswith((*CONLL, *TEXT, *_TABLES))
    return not is_folder(output) and (named or os.path.exists(output))


def are_several(inputs: list[str], output: str) -> bool:
    """Return whether the output is a folder for the parses of files, folders and patterns."""
    several = len(inputs) > 1 or any(os.path.isdir(word) or is_pattern(word) for word in inputs)
    return several or (is_folder(output) and inputs != ["-"])


def targets_of(options: argparse.Namespace) -> list[ParseTarget]:
    """Return the files to parse, and where each is written, in the order of the arguments.

    Raises
    ------
    ConfigError, FileError
        An argument stands for no file, or two files would be written to one.
    """
    if "-" in options.inputs:
        raise FileError("-", "standard input cannot be one of several files")
    if is_file_name(options.output):
        hint = "" if options.output == "-" else f", not the file {options.output}"
        raise ConfigError("--output", f"several files need a folder to write to{hint}: -o FOLDER")
    endings = TEXT if options.plain else CONLL
    found = (each for word in options.inputs for each in _found(word, endings, options.output))
    files = list({os.path.abspath(each.path): each for each in found}.values())
    names = [_output_name(each.name, options) for each in files]
    if len(set(names)) < len(names):  # files of the same name from several folders keep their folders
        shared = os.path.commonpath([os.path.dirname(os.path.abspath(each.path)) for each in files])
        names = [_output_name(os.path.relpath(os.path.abspath(each.path), shared), options) for each in files]
    return [ParseTarget(each.path, os.path.join(options.output, name)) for each, name in zip(files, names, strict=True)]


def _found(word: str, endings: tuple[str, ...], output: str) -> list[_Found]:
    """Return the files that an argument stands for, but for those that an earlier run has written."""
    if os.path.isdir(word):
        root, paths, problem = word, _walk(word, endings), f"no file in this folder ends in {' or '.join(endings)}"
    elif is_pattern(word):
        root, problem = _fixed_part(word), "no file matches this pattern"
        paths = filter(os.path.isfile, sorted(glob.iglob(word, recursive=True)))
    else:
        _check_readable(word)
        return [_Found(word, os.path.basename(word))]
    nested = _is_inside(output, root)
    found = [_Found(path, os.path.relpath(path, root)) for path in paths if not (nested and _is_inside(path, output))]
    if not found:
        raise FileError(word, problem)
    return found


def _check_readable(path: str) -> None:
    """Raise an error if a file cannot be read, before others are parsed."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise FileError(path, "not a file, which several inputs must be")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise FileError(path, reason(error)) from None


def _is_inside(path: str, folder: str) -> bool:
    """Return whether a file or folder is in a folder, at any depth."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def _walk(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield the files with these endings in a folder and the folders in it, but for hidden ones."""

    def refuse(error: OSError) -> None:
        raise FileError(str(error.filename), reason(error))

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(place, name)
            if name.removesuffix(".gz").endswith(endings) and not name.startswith(".") and os.path.isfile(path):
                yield path


def _fixed_part(pattern: str) -> str:
    """Return the folder of a pattern above its first sign that stands for others.

    Examples
    --------
    >>> _fixed_part("texts/2024/*/[ab].txt"), _fixed_part("*.txt")
    ('texts/2024', '.')
    """
    parts = pattern.split(os.sep)
    fixed = next(number for number, part in enumerate(parts) if is_pattern(part))
    return os.sep.join(parts[:fixed]) or (os.sep if pattern.startswith(os.sep) else os.curdir)


def _output_name(name: str, options: argparse.Namespace) -> str:
    """Return the name of an output, with the ending of its format; CoNLL files keep theirs."""
    form, bare = options.format or "conllu", name.removesuffix(".gz")
    packed = ".gz" if name != bare and form != "parquet" else ""
    if form == "conllu" and not options.plain and bare.endswith(CONLL):
        return bare + packed
    stem, ending = os.path.splitext(bare)
    return f"{stem if ending in (*CONLL, *TEXT) else bare}.{form}{packed}"
