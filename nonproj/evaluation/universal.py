"""The scores of the CoNLL 2018 shared task (Zeman et al. 2018), computed by its official script.

The script is the PyPI package ``udtools`` (the extra ``ud``).  It aligns the tokens and words of
two files by their characters, so the files may differ in tokens, words and sentences, but not in text.  This module
reads files for it, including compressed ones, and turns its messages into errors with a location.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import zlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from nonproj.errors import DataError, DependencyError, install_command
from nonproj.io.files import Source, open_input, stream_error, text_lines

METRICS = (
    *("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    *("UAS", "LAS", "CLAS", "MLAS", "BLEX"),
)
"""The metrics of the shared task, in the order of its table."""

ENHANCED = ("ELAS", "EULAS")
"""The metrics of enhanced graphs, of the shared task of IWPT 2021, for files that have them.

The script leaves out arcs from empty nodes, which the shared task collapses beforehand."""

_DEEPEST = 200_000  # udtools follows the heads of a sentence by recursion
_SHOWN = 20  # characters


def ud_scores(gold: Source, system: Source) -> dict[str, dict[str, Any]]:
    """Return the scores of a CoNLL-U file against a gold file of the same text.

    Parameters
    ----------
    gold, system : str, Path or stream
        Files as for `nonproj.io.conll.read`.

    Returns
    -------
    dict of str to dict
        For each of `METRICS`, and of `ENHANCED` if both files have graphs: ``precision``, ``recall`` and ``f1``,
        shares from 0 to 1; ``aligned_accuracy``, the correct share of the aligned words, None for the first three and
        for graphs; and the numbers ``correct``, ``gold``, ``system`` and ``aligned`` (None likewise).

    Raises
    ------
    DependencyError
        The package udtools cannot be imported.
    FileError
        A file cannot be opened.
    DataError
        udtools rejects a file, or the characters of the two differ.

    Examples
    --------
    >>> import io
    >>> row = "{}\\t{}\\t_\\t{}\\t_\\t_\\t{}\\tdep\\t_\\t_\\n"
    >>> gold = row.format(1, "Det", "PRON", 2) + row.format(2, "regner", "VERB", 0) + "\\n"
    >>> scores = ud_scores(io.StringIO(gold), io.StringIO(gold.replace("PRON", "DET")))
    >>> scores["Words"]["f1"], scores["UPOS"]["f1"]
    (1.0, 0.5)
    """
    udeval = _official_code()
    read = _load(udeval, gold), _load(udeval, system)
    try:
        result = udeval.evaluate(*read)
    except udeval.UDError:
        raise _text_differs(*read) from None
    graphs = ENHANCED if result["ELAS"].gold_total and result["ELAS"].system_total else ()
    return {name: _as_dict(result[name]) for name in (*METRICS, *graphs)}


def universal_features() -> frozenset[str]:
    """Return the names of the features that the official evaluation compares.

    Raises
    ------
    DependencyError
        The package udtools cannot be imported.

    Examples
    --------
    >>> "Case" in universal_features(), "Clitic" in universal_features()
    (True, False)
    """
    return frozenset(_official_code().UNIVERSAL_FEATURES)


def _official_code() -> ModuleType:
    """Return the module of the official script."""
    try:
        return importlib.import_module("udtools.udeval")
    except ImportError as error:
        message = f"the package udtools cannot be imported ({error}); run: {install_command('ud')}"
        raise DependencyError(message) from None


def _as_dict(score: Any) -> dict[str, Any]:
    """Return a score of the official script as a dictionary."""
    names = {name: name for name in ("precision", "recall", "f1", "aligned_accuracy", "correct")}
    names |= {name: f"{name}_total" for name in ("gold", "system", "aligned")}
    return {name: getattr(score, attribute) for name, attribute in names.items()}


class _Lines:
    """Text lines for the official script, and their count."""

    def __init__(self, lines: Iterator[str]):
        self._lines = lines
        self.count = 0

    def readline(self) -> str:
        """Return the next line, or an empty string at the end."""
        line = next(self._lines, "")
        self.count += bool(line)
        return line


def _load(udeval: ModuleType, source: Source) -> Any:
    """Return a file as the official script represents it."""
    stream, name, closing = open_input(source)
    with closing, _deep_recursion():
        lines = _Lines(text_lines(stream))
        try:
            return udeval.load_conllu(lines, name, {})
        except (EOFError, OSError, zlib.error, UnicodeDecodeError) as error:
            raise stream_error(error, name, lines.count) from None
        except udeval.UDError as error:
            raise DataError(name, lines.count, f"udtools rejects the file: {_reworded(str(error))}") from None
        except (ValueError, IndexError, RecursionError) as error:
            message = f"udtools cannot read the sentence that ends here ({error})"
            raise DataError(name, lines.count, message) from None


@contextlib.contextmanager
def _deep_recursion() -> Iterator[None]:
    """Permit deep recursion, for sentences in which a thousand words form a chain."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _reworded(message: str) -> str:
    """Return a message of the official script without its line number, which stands at the front of our errors.

    Examples
    --------
    >>> _reworded("There is a cycle in the sentence that ends at line 7")
    'there is a cycle in the sentence that ends here'
    >>> _reworded("Cannot parse HEAD 'x' at line 7")
    "cannot parse HEAD 'x'"
    """
    message = re.sub(r"that ends at( line)? \d+$", "that ends here", message)
    message = re.sub(r" at line \d+(?=$|:)", "", message)
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def _text_differs(gold: Any, system: Any) -> DataError:
    """Return the error for two files whose characters differ."""
    first = len(os.path.commonprefix([gold.characters, system.characters]))
    expected, found = ("".join(file.characters[first : first + _SHOWN]) for file in (gold, system))
    place = f"{gold.path}:{_line(gold, first)}"
    here = f"the text continues with {found!r}" if found else "the text ends here"
    there = (f"with {expected!r}" if found else f"continues with {expected!r}") if expected else "ends"
    return DataError(system.path, _line(system, first), f"{here}, but {there} in {place}")


def _line(file: Any, character: int) -> int:
    """Return the line of the token with a character, or of the last token."""
    lines: Iterator[int] = (token.line for token in file.tokens if token.end > character)
    return next(lines, file.tokens[-1].line if file.tokens else 1)
