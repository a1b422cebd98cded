"""Files that ``nonproj parse -o FOLDER`` reads, and where the parses are written."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from nonproj.errors import ConfigError, FileError
from nonproj.io.files import open_input
from nonproj.io.temporary import reason

CONLL = (".conllu", ".conll", ".conllx", ".conllup")
TEXT = (".txt",)
"""Endings of the text files in a folder that are parsed, also compressed (``.gz``)."""

_TABLES = (".json", ".jsonl", ".parquet", ".gz")


_NOT_IN_ID = re.compile(r"[\s/%\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class ParseTarget(NamedTuple):
    """A file to parse, the file to write and, if there are several, the identifier of the document."""

    source: str
    output: str
    document: str = ""


def is_folder(output: str) -> bool:
    """Return whether an output is a folder, or can only be one: it exists, or ends with a slash.

    Examples
    --------
    >>> is_folder("none/"), is_folder("none")
    (True, False)
    """
    return output.endswith(os.sep) or os.path.isdir(output)


def is_file_name(output: str) -> bool:
    """Return whether an output is a file, or named like one, rather than a folder for several files.

    Examples
    --------
    >>> is_file_name("out.conllu"), is_file_name("out.conllu/"), is_file_name("out")
    (True, False, False)
    """
    named = output == "-" or output.endswith((*CONLL, *TEXT, *_TABLES))
    return not is_folder(output) and (named or os.path.exists(output))


def are_several(inputs: list[str], output: str) -> bool:
    """Return whether the output is a folder for the parses of files and folders."""
    return len(inputs) > 1 or any(map(os.path.isdir, inputs)) or (is_folder(output) and inputs != ["-"])


def targets_of(options: argparse.Namespace) -> list[ParseTarget]:
    """Return the files to parse, and where each is written, in the order of the arguments.

    Raises
    ------
    ConfigError, FileError
        An argument stands for no file, or the output is a file.
    """
    if "-" in options.inputs:
        raise FileError("-", "standard input cannot be one of several files")
    if is_file_name(options.output):
        hint = "" if options.output == "-" else f", not the file {options.output}"
        what = "several files" if options.inputs[1:] else f"the files of {options.inputs[0]}"
        raise ConfigError("--output", f"{what} need a folder to write to{hint}: -o FOLDER")
    endings = TEXT if options.plain else CONLL
    found = (each for word in options.inputs for each in _found(word, endings, options.output))
    files = list({os.path.abspath(path): (path, name) for path, name in found}.values())
    names = [_output_name(name, options) for _, name in files]
    if len(set(names)) < len(names):  # files of the same name from several folders keep their folders
        shared = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path, _ in files])
        names = [_output_name(os.path.relpath(os.path.abspath(path), shared), options) for path, _ in files]
    documents = (_document_id(os.path.splitext(name.removesuffix(".gz"))[0]) for name in names)
    triples = zip(files, names, documents, strict=True)
    return [ParseTarget(path, os.path.join(options.output, name), document) for (path, _), name, document in triples]


def _document_id(name: str) -> str:
    """Return a name as an identifier of CoNLL-U, without blanks and slashes; different names remain different.

    Examples
    --------
    >>> _document_id("letters/of may")
    'letters%2Fof%20may'
    """
    return _NOT_IN_ID.sub(lambda match: "".join(f"%{b:02X}" for b in match[0].encode("utf-8", "surrogateescape")), name)


def _found(word: str, endings: tuple[str, ...], output: str) -> list[tuple[str, str]]:
    """Return the files that an argument stands for, with names relative to its folder, except earlier outputs."""
    if not os.path.isdir(word):
        if os.path.exists(word) and not os.path.isfile(word):
            raise FileError(word, "not a file, which several inputs must be")
        with open_input(word).closing:  # an error is reported before others are parsed
            return [(word, os.path.basename(word))]
    nested = _is_inside(output, word)
    paths = (path for path in _walk(word, endings) if not (nested and _is_inside(path, output)))
    found = [(path, os.path.relpath(path, word)) for path in paths]
    if not found:
        raise FileError(word, f"no file in this folder ends in {' or '.join(endings)}")
    return found


def _is_inside(path: str, folder: str) -> bool:
    """Return whether a file or folder is in a folder, at any depth."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def _walk(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield the files with these endings in a folder and its subfolders, except hidden ones."""

    def refuse(error: OSError) -> None:
        raise FileError(str(error.filename), reason(error))

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(place, name)
            if name.removesuffix(".gz").endswith(endings) and not name.startswith(".") and os.path.isfile(path):
                yield path


def _output_name(name: str, options: argparse.Namespace) -> str:
    """Return the name of an output, with the ending of its format; CoNLL files keep theirs."""
    form, bare = options.format or "conllu", name.removesuffix(".gz")
    packed = ".gz" if name != bare and form != "parquet" else ""
    if form == "conllu" and not options.plain and bare.endswith(CONLL):
        return bare + packed
    stem, ending = os.path.splitext(bare)
    return f"{stem if ending in (*CONLL, *TEXT) else bare}.{form}{packed}"
