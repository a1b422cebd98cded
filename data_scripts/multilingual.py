"""Join treebanks of many languages into a training and a test file for a multilingual encoder.

    python data_scripts/fetch.py multilingual [TREEBANK ...] --out data

At most `WORDS` words of each training file are taken, those of small ones twice.  XPOS, subtypes of labels and
multiword tokens are left out, and so are the sentences of development and test files, and a tenth of each training
file: a treebank's own model, which starts from this encoder, learns confidence from them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from treebanks import write_file

TREEBANKS = (
    "afrikaans",
    "UD_Ancient_Hebrew-PTNK",
    "UD_Buryat-BDT",
    "UD_Coptic-Scriptorium",
    "english-ewt",
    "UD_Erzya-JR",
    "UD_Faroese-FarPaHC",
    "UD_French-Sequoia",
    "galician",
    "gothic",
    "greek",
    "UD_Indonesian-CSUI",
    "UD_Kazakh-KTB",
    "UD_Kurmanji-MG",
    "latin",
    "UD_Latin-UDante",
    "UD_Lithuanian-HSE",
    "UD_Maltese-MUDT",
    "UD_Marathi-UFAL",
    "UD_Norwegian-NynorskLIA",
    "UD_Scottish_Gaelic-ARCOSG",
    "UD_Slovenian-SST",
    "tamil",
    "UD_Telugu-MTG",
    "uyghur",
    "vietnamese",
    "UD_Welsh-CCG",
    "wolof",
)
"""Treebanks that are joined, if none is named: small ones of many families, as `fetch` knows them."""

WORDS, SMALL, LONGEST = 16_000, 6_000, 80
"""Maximum number of words of a treebank, number below which its sentences are taken twice, maximum of a sentence."""

TEST_SENTENCES = 20
"""Number of sentences taken from each test file, for a first evaluation."""

BLOCK = 100
"""Maximum number of sentences in a block; every tenth block is left out, the one that `confidence.share` takes."""

XPOS, DEPREL, DEPS = 4, 7, 8


def sentences_of(path: Path) -> Iterator[list[list[str]]]:
    """Yield the words of each sentence of a file, as the columns that treebanks share."""
    for text in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in text.split("\n") if line[:1].isdigit()]
        words = [row for row in rows if row[0].isdigit()]
        for row in words:
            row[XPOS], row[DEPREL], row[DEPS:] = "_", row[DEPREL].partition(":")[0], ["_", "_"]
        if words:
            yield words


def forms_of(sentence: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the forms of a sentence."""
    return tuple(row[1] for row in sentence)


def chosen_from(train: Path, unseen: set[tuple[str, ...]], rng: random.Random) -> list[list[list[str]]]:
    """Return the sentences to learn from in a training file, in random order, without those in ``unseen``."""
    sentences = list(sentences_of(train))
    block = max(1, min(BLOCK, len(sentences) // 10))
    usable = [
        sentence
        for i, sentence in enumerate(sentences)
        if i // block % 10 != 9 and len(sentence) <= LONGEST and forms_of(sentence) not in unseen
    ]
    rng.shuffle(usable)
    found, words = [], 0
    for sentence in usable * (2 if sum(map(len, usable)) < SMALL else 1):
        if words >= WORDS:
            break
        found.append(sentence)
        words += len(sentence)
    return found


README = """Treebanks, joined: {0}.

=== Machine-readable metadata
License: those of the treebanks named above
"""
"""Its metadata are read by `nonproj train`."""


def join(
    treebanks: Sequence[tuple[Path, ...]], folder: Path, report: Callable[[str], object] = lambda _: None
) -> tuple[Path, ...]:
    """Write the training and the test file of some treebanks to a folder, and return the two.

    Parameters
    ----------
    treebanks : sequence of tuple of Path
        Training, test and development file (where there is one) of each.
    folder : Path
    report : callable
        Called with a line about each treebank.
    """
    rng, train, test = random.Random(1), [], []
    unseen = {forms_of(sentence) for _, *others in treebanks for path in others for sentence in sentences_of(path)}
    for own, other, *_ in treebanks:
        found = chosen_from(own, unseen, rng)
        report(f"{own.name}: {len(found)} sentences, {sum(map(len, found))} words\n")
        train += found
        test += list(sentences_of(other))[:TEST_SENTENCES]
    rng.shuffle(train)
    paths = tuple(folder / f"multilingual-{part}.conllu" for part in ("train", "test"))
    for path, sentences in zip(paths, (train, test), strict=True):
        lines = ("".join("\t".join(row) + "\n" for row in sentence) + "\n" for sentence in sentences)
        write_file(path, "".join(lines).encode())
    write_file(folder / "README.md", README.format(", ".join(own.stem for own, *_ in treebanks)).encode())
    return paths
