"""Errors that users can correct: each is one line, and the command line exits with code 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple


class Advice(NamedTuple):
    """Advice that ends a message, in the terms of the command line, and the option that it is about."""

    option: str
    text: str


class NonprojError(Exception):
    """Base class of all errors caused by input, options or the environment rather than a bug.

    The arguments are the place (optional), the message, and `Advice` that is appended to it (optional).
    """

    def __init__(self, *args: object):
        self.advice = args[-1] if args and isinstance(args[-1], Advice) else None
        super().__init__(*((*args[:-2], f"{args[-2]}{self.advice.text}") if self.advice else args))

    def __str__(self) -> str:
        return one_line(":".join(map(str, self.args[:-1])) + ": " * (len(self.args) > 1) + str(self.args[-1]))


def advised(error: NonprojError, texts: Mapping[str, str]) -> str:
    """Return an error's message with its advice replaced by another interface's, which ``texts`` has by option.

    Examples
    --------
    >>> error = NonprojError("the file is large; ", Advice("--max", "raise --max"))
    >>> print(error, advised(error, {"--max": "split it"}), sep=", ")
    the file is large; raise --max, the file is large; split it
    """
    if error.advice is None or error.advice.option not in texts:
        return str(error)
    return str(error).removesuffix(error.advice.text) + texts[error.advice.option]


def one_line(text: str) -> str:
    """Return a text as one short line: unprintable characters are escaped, and the middle of a long text is cut.

    Names and values in a message come from files and may contain anything.

    Examples
    --------
    >>> print(one_line("a\\tb\\x1b[2J"), len(one_line("a" * 1_000_000)))
    a\\tb\\x1b[2J 455
    """
    ends = text if len(text) <= 1000 else text[:500] + text[-500:]
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in ends)
    return line if len(line) <= 480 else f"{line[:300]} ... {line[-150:]}"


def counted(count: object, noun: str, form: str = "") -> str:
    """Return a number with a noun, in the plural unless it is 1.

    Examples
    --------
    >>> counted(1, "sentence"), counted(1200, "word", ",")
    ('1 sentence', '1,200 words')
    """
    return f"{count:{form}} {noun}{'s' * (count != 1)}"


class DataError(NonprojError):
    """An input file is malformed, or unfit for its purpose.

    Parameters
    ----------
    path, line : str and int
        The file, as the user named it (``<stdin>`` for standard input), and the line number, counted from 1.
    message : str
        The error, and what is expected.
    advice : Advice, optional
        The end of the message.

    Examples
    --------
    >>> print(DataError("a.conll", 7, "9 columns, 10 expected"))
    a.conll:7: 9 columns, 10 expected
    """

    def __init__(self, path: str, line: int, message: str, advice: Advice | None = None):
        super().__init__(path, line, message, *filter(None, [advice]))
        self.path, self.line, self.message = str(path), int(line), str(self.args[-1])


class SentenceMemoryError(DataError, MemoryError):
    """There is not enough memory to parse a sentence; the arguments are those of `DataError`."""


class ConfigError(NonprojError):
    """An option or a configuration file is invalid.

    Parameters
    ----------
    key : str
        The option's dotted name, as in ``decoding.max_iterations``, or the path of the file.
    message : str
        The error, and what is expected.

    Examples
    --------
    >>> print(ConfigError("training.epochs", "0 is not a positive integer"))
    training.epochs: 0 is not a positive integer
    """

    def __init__(self, key: str, message: str):
        super().__init__(key, message)
        self.key, self.message = key, message


class FileError(NonprojError):
    """A file, named as by the user, cannot be opened, read or written for the reason in the message."""

    def __init__(self, path: str, message: str):
        super().__init__(path, message)
        self.path, self.message = str(path), message


class ModelError(NonprojError):
    """A model file cannot be used: not a model, incomplete, or of an unknown format."""


class SizeError(NonprojError, ValueError):
    """A sentence has more words, arcs or parts than can be numbered or held in memory."""


class ClusterError(NonprojError):
    """Worker processes or a cluster cannot be reached, or fail."""


class DependencyError(NonprojError):
    """An optional package is missing; the message says how to install it."""


def needs(what: str, package: str, extra: str, *, of: str = "nonproj") -> str:
    """Return the message for a missing optional package.

    Parameters
    ----------
    what : str
        The feature that needs it, with the verb, as in ``encoders need``.
    package, extra : str
        The package, and the extra that includes it.
    of : str
        The distribution that has the extra.

    Examples
    --------
    >>> needs("encoders need", "tokenizers", "encoder")
    "encoders need the package tokenizers; run: pip install 'nonproj[encoder]'"
    """
    return f"{what} the package {package}; run: {install_command(extra, of)}"


def install_command(extra: str, of: str = "nonproj") -> str:
    """Return the pip command that adds an extra; the installed nonproj is kept, wherever it came from."""
    return f"pip install '{of}[{extra}]'"


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known word that is most similar to a word, or an empty string if none is.

    Examples
    --------
    >>> closest("tokeniser", ["tagger", "tokenizer"]), closest("x", ["tagger"])
    ('tokenizer', '')
    """
    import difflib

    return next(iter(difflib.get_close_matches(word[:100], list(known), 1, cutoff)), "")


def install_distribution(folder: str) -> str:
    """Return the pip command that installs another distribution of this repository, given its folder."""
    import shlex

    path = Path(__file__).resolve().parents[1] / folder
    if (path / "pyproject.toml").is_file():
        return f"pip install {shlex.quote(str(path))}"
    return f"pip install ./{folder}, in a checkout of nonproj"
