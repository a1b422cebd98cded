"""Lane of plain text: any text is segmented without loss, or rejected in one line."""

from __future__ import annotations

import gzip
import io
import random
import sys
import time
import unicodedata
from pathlib import Path

from nonproj.errors import DataError, FileError
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.text.formats import FORMATS, TEXT, TextInput
from nonproj.text.input import read_text
from nonproj.text.segmenter import Segmenter
from research.attack import material, mutators
from research.attack.campaign import ROOT, Lane
from research.attack.properties import check_message, require
from research.attack.reads import read_all, stream_of

sys.path.append(str(ROOT / "tests"))  # for `restoring`

from restoring import restore  # noqa: E402

SECONDS = 5.0
"""Processor seconds that a text of a few thousand characters may take."""

_PIECES = (
    """Den den'hund Kat'ser ser. hund, . .. ... ? ! " ' ) ( - -- 1.000 10.30 l.a. Hr. bl.a. x@y.z http://a.b/c?d=e"""
)
_WORDS = _PIECES.split()
_CHARACTERS = [*"aAzé.,;:!?'\"()[]{}-_/\\@#0189 \t", "\r", "\n", "\r\n", "\n\n", "\x0b", "\x0c", "\x1c", "\x1f", "\x85"]
_CHARACTERS += ["\0", "\x7f", "\xa0", "\xad", "\u200b", "\u200c", "\u200d", "\u2028", "\u2029", "\u202e", "\ufeff"]
_CHARACTERS += ["\ufffe"]
_CHARACTERS += ["\u0301", "\u0300", "\u3099", "か\u3099", "\u0f72", "ཀ\u0f72", "한", "\u1112\u1161\u11ab", "漢字", "。"]
_CHARACTERS += ["、", "א", "ب", "क्ष"]
_CHARACTERS += ["\U0001f468\u200d\U0001f469", "\U0001f1e9\U0001f1ea", "\U0001f3fb", "\U000e0067", "\U0010ffff", "ﬁ"]
_CHARACTERS += ["İ", "ß", "ΐ", "ǅ", "…"]

TEXTS = ["", " \n ", "Den'hund ser Kat. Hr. Den ser hus.\n\nDen kat ser den hund? Ja!"]
TEXTS += ["Den'kat jager den lille'hus .\nStor'mand ser\nDEN'HUND SER."]
TEXTS += ["isn't l'eau zum AU Don't\u00a0x'y'z ... \u0301a e\u0301 か\u3099漢字。"]
TEXTS += ["x" * 300 + " " + "'a" * 200 + " " + "." * 50, "\0\x1f\x85\u2028a\r\nb\rc\u200b\ufeffd"]
"""Texts that forged segmenters get."""


class PlainText(Lane):
    """Segments random texts with trained models and rules, from strings and from damaged streams."""

    name = "text"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.segmenters = [Segmenter.unicode()]
        for rich in (True, False):
            model = Model.from_bytes(material.model_with_components("arc", rich))
            self.segmenters.append(Parser(model).segmenter)
        self.notes = {"characters": 0, "sentences": 0}

    def case(self, rng: random.Random, number: int) -> str:
        """Segment one text."""
        text, segmenter, options = draw_text(rng), rng.choice(self.segmenters), draw_input(rng)
        self.notes["characters"] += len(text)
        if rng.random() < 0.5:
            self.current = {"input.txt": text.encode("utf-8", "surrogatepass")}
            self.notes["sentences"] += check_segmentation(segmenter, text, options)
            return "a string"
        return self._stream(rng, text, segmenter, options)

    def _stream(self, rng: random.Random, text: str, segmenter: Segmenter, options: TextInput) -> str:
        """Segment a stream of bytes, which may be damaged."""
        data = text.encode()
        change = rng.randrange(4)
        if change == 1:
            data = mutators.damage(rng, data)
        elif change == 2:
            data = rng.choice((gzip.compress(data), mutators.damage_archive(rng, data + b"x")))
        self.current = {"input.txt": data}
        began, found = time.process_time(), []
        try:
            for sentence in read_text(io.BytesIO(data), segmenter, options):
                found.append(sentence)  # noqa: PERF402 (those before an error count)
        except (DataError, FileError) as error:
            check_message(error)
            outcome = "a stream, rejected"
        else:
            outcome = "a stream"
        seconds = time.process_time() - began
        require(seconds < SECONDS, f"{len(data)} bytes take {seconds:.1f} s")
        check_written(found, options)
        if found and change in (0, 3) and not text.startswith("\ufeff") and outcome == "a stream":
            require(restore(found) == text, f"another text is restored: {restore(found)!r} from {text!r}")
        self.notes["sentences"] += len(found)
        return outcome


def draw_text(rng: random.Random) -> str:
    """Return a text of words, strange characters or repetitions."""
    kind = rng.randrange(5)
    if kind == 0:
        return "".join(rng.choice(_CHARACTERS) for _ in range(rng.randint(0, 60)))
    if kind == 1:
        return rng.choice(" \n\t").join(rng.choice(_WORDS) for _ in range(rng.randint(1, 80)))
    if kind == 2:
        return "".join(chr(rng.choice((rng.randrange(0x250), rng.randrange(0xD800), 0xE000 + rng.randrange(0x102000))))
                       for _ in range(rng.randint(1, 60)))  # fmt: skip
    if kind == 3:
        return "".join(
            rng.choice((*_WORDS, *_CHARACTERS)) * rng.choice((1, 1, 2, 30)) for _ in range(rng.randint(1, 20))
        )
    pieces = [rng.choice((*_WORDS, " ", " ", "\n", *_CHARACTERS)) for _ in range(rng.randint(1, 120))]
    return unicodedata.normalize(rng.choice(("NFC", "NFD", "NFKC", "NFKD")), "".join(pieces))


def draw_input(rng: random.Random) -> TextInput:
    """Return options of reading text."""
    return TextInput(rng.choice((TEXT, TEXT, *FORMATS)), rng.random() < 0.5, rng.choice((2, 5, 30, 1000)))


def check_segmentation(segmenter: Segmenter, text: str, options: TextInput) -> int:
    """Check that a text is segmented in bounded time, without loss; return the number of sentences."""
    began = time.process_time()
    sentences = segmenter.segment(text, options)
    seconds = time.process_time() - began
    require(seconds < SECONDS, f"{len(text)} characters take {seconds:.1f} s")
    check_written(sentences, options)
    if sentences:
        require(restore(sentences) == text, f"another text is restored: {restore(sentences)!r} from {text!r}")
    return len(sentences)


def check_written(sentences: list, options: TextInput) -> None:
    """Check that sentences of a text are CoNLL-U that is read again with the same words, none too long."""
    written = "".join(line for sentence in sentences for line in sentence.lines)
    again, error = read_all(conll.read(stream_of(written.encode()))) if sentences else ([], None)
    require(error is None, f"the output is rejected: {error}")
    require([s.rows for s in again] == [s.rows for s in sentences], "the output is read with other words")
    for sentence in sentences:
        tokens = 1 + sum(row[0].count("-") for row in (line.split("\t") for line in sentence.lines) if len(row) == 10)
        require(len(sentence) <= options.max_words or tokens <= 2, f"{len(sentence)} words in a sentence")
        for form in sentence.forms:
            require(form and not any(unicodedata.category(c) in ("Cc", "Cs") for c in form), f"the word {form!r}")
