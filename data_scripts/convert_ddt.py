"""Convert the Danish Dependency Treebank (DTAG files, ``0001-dk.tag`` and on) to CoNLL-X with the official split.

    python data_scripts/convert_ddt.py SOURCE --out FOLDER

SOURCE is a tar archive that holds the files, or the folder they are in.  Every line of a DTAG file is a node, markup
between the words included, and ``in="-2:subj"`` names the head by its distance in lines.  Labels in square brackets and
``ref`` are secondary edges; the others make the tree, and a word without any is a root.  A sentence ends where no edge
of the tree passes (the element <s> is something else).  The test set is the first 322 sentences of the corpus.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from treebanks import TreebankError, write_file

TEST_SENTENCES = 322

_FILE = re.compile(r"[0-9]{4}-(dk|da)\.tag")
_WORD = re.compile(r"\s*<W\b(?P<attributes>.*)>(?P<form>.*)</W>\s*")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_VALUE = re.compile(r"\[([^\]]*)\]|(.)")

# The letters of a PAROLE tag after its first two: the features they stand for, by part of speech, "-" for one that
# CoNLL-X leaves out.  The same letter means different things in different features.
_SLOTS = {
    "A": "degree gender number case - def transcat",
    "N": "gender number case - - def",
    "P": "person gender number case possessor reflexive register",
    "R": "degree",
    "V": "mood tense person number gender definiteness transcat voice case",
}
_LETTERS = {
    "case": "N=nom G=gen U=unmarked",
    "def": "D=def I=indef",
    "definiteness": "D=def I=indef",
    "degree": "A=abs C=comp P=pos S=sup U=unmarked",
    "gender": "C=common N=neuter",
    "mood": "D=indic M=imper P=partic G=gerund F=infin",
    "number": "S=sing P=plur",
    "person": "1=1 2=2 3=3",
    "possessor": "S=sing P=plur",
    "reflexive": "N=no Y=yes",
    "register": "U=unmarked O=obsolete F=formal P=polite",
    "tense": "R=present A=past",
    "transcat": "R=adverbial U=unmarked",
    "voice": "A=active P=passive",
}
_VERBAL_TRANSCAT = "A=adject R=adverb U=unmarked"
_COARSE = {"S": "SP", "R": "RG"}


class Word(NamedTuple):
    """A word of a text: its form, its PAROLE tag, and its primary edges as (index of the head in the text, label)."""

    form: str
    tag: str
    edges: list[tuple[int, str]]


def unpack(tag: str) -> tuple[str, str, str]:
    """Return CPOSTAG, POSTAG and FEATS of a PAROLE tag.

    >>> unpack("NCCPU==I")
    ('N', 'NC', 'gender=common|number=plur|case=unmarked|def=indef')
    """
    part = tag[0]
    features = []
    for feature, value in zip(_SLOTS.get(part, "").split(), _VALUE.findall(tag[2:]), strict=False):
        letters = value[0] or value[1]
        if feature == "-" or letters in "-=":
            continue
        text = _VERBAL_TRANSCAT if (part, feature) == ("V", "transcat") else _LETTERS[feature]
        names = dict(pair.split("=") for pair in text.split())
        features.append(f"{feature}={'/'.join(names[letter] for letter in letters)}")
    return _COARSE.get(part, part), part if part in "IU" else tag[:2], "|".join(features) or "_"


def read_words(text: str) -> list[Word]:
    """Return the words of one DTAG file."""
    matches = [(number, match) for number, line in enumerate(text.split("\n")) if (match := _WORD.fullmatch(line))]
    index_of_line = {number: index for index, (number, _) in enumerate(matches)}
    words = []
    for number, match in matches:
        attributes = dict(_ATTRIBUTE.findall(match["attributes"]))
        edges = []
        for edge in filter(None, attributes.get("in", "").split("|")):
            offset, _, label = html.unescape(edge).partition(":")
            head = index_of_line.get(number + int(offset))  # three edges of the corpus point at markup
            if head is not None and label != "ref" and not label.startswith("["):
                edges.append((head, label))
        words.append(Word(html.unescape("".join(match["form"].split())), html.unescape(attributes["msd"]), edges))
    return words


def cut(words: list[Word]) -> Iterator[tuple[int, int]]:
    """Yield the first and last + 1 index of each sentence: no edge passes between two of them."""
    reach = list(range(len(words)))
    for index, word in enumerate(words):
        for head, _ in word.edges:
            low, high = sorted((index, head))
            reach[low] = max(reach[low], high)
    start = furthest = 0
    for index, high in enumerate(reach):
        furthest = max(furthest, high)
        if furthest == index:
            yield start, index + 1
            start = index + 1


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of one DTAG file in CoNLL-X, each with the blank line after it."""
    words = read_words(text)
    for start, end in cut(words):
        lines = []
        for number, word in enumerate(words[start:end], 1):
            head, label = word.edges[0] if word.edges else (start - 1, "ROOT")
            columns = (number, word.form, "_", *unpack(word.tag), head - start + 1, label, "_", "_")
            lines.append("\t".join(map(str, columns)) + "\n")
        yield "".join(lines) + "\n"


def texts(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the DTAG files of an archive or a folder (or its folder ``dk``), by name."""
    if source.is_dir():
        found = {path.name: path.read_bytes() for path in source.rglob("*.tag") if _FILE.fullmatch(path.name)}
    else:
        try:
            with tarfile.open(source) as archive:
                members = {Path(member.name).name: member for member in archive if member.isfile()}
                found = {
                    name: archive.extractfile(member).read()
                    for name, member in members.items()
                    if _FILE.fullmatch(name)
                }
        except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
            reason = str(error).partition("\n")[0]
            raise TreebankError(f"{source}: not a readable tar archive ({reason})") from None
    if not found:
        raise TreebankError(f"{source}: holds no files named like 0001-dk.tag")
    yield from sorted(found.items())


def convert(source: Path, encoding: str = "latin-1") -> tuple[bytes, bytes]:
    """Return the training file and the test file."""
    corpus = []
    for name, data in texts(source):
        try:
            corpus += sentences(data.decode(encoding))
        except (KeyError, ValueError, IndexError) as error:
            raise TreebankError(f"{source}: {name} is not a DTAG file of this treebank ({error!r})") from None
    return tuple("".join(part).encode() for part in (corpus[TEST_SENTENCES:], corpus[:TEST_SENTENCES]))


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", type=Path, help="tar archive or folder with the files 0001-dk.tag and on")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the two files (default: this one)")
    parser.add_argument("--encoding", default="latin-1", help="of the DTAG files (default latin-1)")
    options = parser.parse_args(arguments)
    try:
        for part, data in zip(("train", "test"), convert(options.source, options.encoding), strict=True):
            write_file(options.out / f"danish_ddt_{part}.conll", data)
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"convert_ddt: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
