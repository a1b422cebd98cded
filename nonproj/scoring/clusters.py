"""Word clusters: a bit string for each word, learnt from text without annotation (Brown et al. 1992).

Words that occur in similar contexts have bit strings that begin alike, so what a parser learns about the words of its
treebank holds for words that the treebank lacks (Koo, Carreras and Collins 2008).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nonproj.errors import DataError, FileError, ModelError
from nonproj.io.strings import CLUSTERED, check_strings, fits
from nonproj.linear.state import Fitted, Schema

PREFIXES = {"cluster": None, "cluster6": 6, "cluster4": 4}
"""Cluster attributes of a word: all bits of the cluster's bit string (None), or this number of the first ones."""

MAX_BITS = 64
"""Maximum length of a bit string."""


class Clusters(Fitted):
    """The clusters of words.

    Parameters
    ----------
    strings : mapping of str to str
        From words to bit strings.

    Examples
    --------
    >>> clusters = Clusters({"the": "00101100", "Monday": "0111"})
    >>> clusters.of("The", "cluster"), clusters.of("Monday", "cluster6"), clusters.of("the", "cluster4")
    ('00101100', '0111', '0010')
    >>> clusters.of("Xanten", "cluster") is None
    True
    """

    name: ClassVar[str] = "clusters"
    schema: ClassVar[Schema] = Schema({"words": int}, {"text": ("uint8", 1)})

    def __init__(self, strings: Mapping[str, str]):
        self._strings = dict(strings)

    def __len__(self) -> int:
        return len(self._strings)

    def of(self, form: str, attribute: str) -> str | None:
        """Return an attribute of a word, by its form or else its lower-cased form; None if it is in no cluster."""
        bits = self._strings.get(form) or self._strings.get(form.lower())
        return bits and bits[: PREFIXES[attribute]]

    @classmethod
    def read(cls, path: str | Path) -> Clusters:
        """Read a file of clusters.

        Parameters
        ----------
        path : str or Path
            UTF-8.  A line is a bit string, a word and optionally its frequency, separated by tabs, as ``wcluster``
            writes them (Liang 2005).

        Raises
        ------
        DataError
            A line is not of this form, or repeats a word.
        FileError
            The file cannot be read or is empty.
        """
        strings: dict[str, str] = {}
        try:
            with open(path, encoding="utf-8-sig", newline="\n") as stream:
                for number, line in enumerate(stream, 1):
                    columns = line.rstrip("\r\n").split("\t")
                    if not 2 <= len(columns) <= 3 or not _is_cluster(columns[0]) or not columns[1]:
                        message = f"a bit string of at most {MAX_BITS} bits, a tab and a word are expected"
                        raise DataError(str(path), number, message)
                    if columns[1] in strings:
                        raise DataError(str(path), number, f"the word {columns[1]} is listed twice")
                    if not fits(columns[1], CLUSTERED):
                        message = f"a word of up to {CLUSTERED.longest} characters, none of control, is expected"
                        raise DataError(str(path), number, message)
                    strings[columns[1]] = columns[0]
        except OSError as error:
            raise FileError(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}") from None
        except UnicodeDecodeError:
            raise FileError(str(path), "is not UTF-8") from None
        if not strings:
            raise FileError(str(path), "is empty; word clusters are expected")
        return cls(strings)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` restores the clusters."""
        text = "\n".join(f"{bits}\t{word}" for word, bits in self._strings.items())
        return {"words": len(self)}, {"text": np.frombuffer(text.encode(), np.uint8)}

    @classmethod
    def from_state(cls, description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Clusters:
        """Return the clusters of a `state`.

        Raises
        ------
        ModelError
            The state is damaged.
        """
        try:
            lines = arrays["text"].tobytes().decode().split("\n")
            strings = {word: bits for bits, word in (line.split("\t") for line in lines)}
        except ValueError:
            raise ModelError("the word clusters are damaged") from None
        if len(strings) != description["words"] or not all(map(_is_cluster, set(strings.values()))):
            raise ModelError("the word clusters are damaged")
        check_strings(list(strings), CLUSTERED, "the word clusters")
        return cls(strings)


def _is_cluster(bits: str) -> bool:
    """Return whether a text is a bit string."""
    return 0 < len(bits) <= MAX_BITS and set(bits) <= {"0", "1"}
