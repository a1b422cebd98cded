"""Parsed text as Python objects: documents, sentences and words, with trees, tags, scores and certificates.

Words are numbered from 1, as in CoNLL-U; 0 is the root.  Character offsets count from 0 in the text of the document, so
``text[start:end]`` is the token.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, overload

from nonproj.confidence.classifier import Confidence
from nonproj.errors import counted
from nonproj.evaluation.certificates import as_comments, statistics
from nonproj.io import conll
from nonproj.io.columns import FEATS, LEMMA, UPOS, XPOS
from nonproj.io.copies import surface_tokens
from nonproj.io.tables import require_pandas
from nonproj.pictures.content import Picture, picture_of
from nonproj.pictures.svg import in_notebook
from nonproj.pipeline.parses import Parse
from nonproj.types import Decoded, Int32s, Sentence

if TYPE_CHECKING:
    import pandas

_SHOWN = 60  # characters of a text that ``repr`` shows

DRAWN = 20  # sentences of a document that notebooks draw

_making = threading.Lock()
"""Lock held while the words of a sentence are made, so that all threads get the same objects."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a parsed sentence.

    Attributes
    ----------
    id : int
        From 1.
    form, lemma, upos, xpos, feats : str
        The columns of CoNLL-U, ``_`` where absent.
    head : int
        The id of the head; 0 is the root.
    label : str
        The label of the arc from the head.
    start, end : int or None
        Character offsets of the token in the text; the words of a multiword token share them.  None without a text.
    confidence, label_confidence : float or None
        The probability that the head is correct, and that head and label are; None without a classifier.
    sentence : ParsedSentence
        The sentence of the word.

    Examples
    --------
    >>> import numpy as np
    >>> from nonproj.io.objects import from_words
    >>> decoded = Decoded(np.array([-1, 2, 0, 2], np.int32), 3.5, 3.5, True, True, 1, 1.0)
    >>> sentence = ParsedSentence(from_words(["Det", "regner", "."]), Parse(decoded, ["nsubj", "root", "punct"], None))
    >>> verb = sentence[1]
    >>> [word.form for word in verb.children], verb.children[0].parent == verb, verb.parent
    (['Det', '.'], True, None)
    """

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    label: str
    start: int | None
    end: int | None
    confidence: float | None
    label_confidence: float | None
    sentence: ParsedSentence = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The form, under its name in spaCy and Stanza."""
        return self.form

    @property
    def deprel(self) -> str:
        """The label, under its name in CoNLL-U and Stanza."""
        return self.label

    @property
    def parent(self) -> Word | None:
        """The head as a word; None if it is the root."""
        return self.sentence[self.head - 1] if self.head else None

    @property
    def children(self) -> list[Word]:
        """The modifiers of the word, in the order of the sentence."""
        return [word for word in self.sentence if word.head == self.id]

    @property
    def deps(self) -> list[tuple[int, str]]:
        """The arcs into the word in the enhanced graph, as pairs of a head's id and a label; empty without graph."""
        return self.sentence.parse.graph[self.id - 1] if self.sentence.parse.graph else []

    @property
    def subtree(self) -> list[Word]:
        """The word and all its descendants, in the order of the sentence; not always contiguous."""
        heads, inside = self.sentence.heads.tolist(), {self.id}
        while more := {word for word, head in enumerate(heads, 1) if head in inside} - inside:
            inside |= more
        return [word for word in self.sentence if word.id in inside]

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, without the sentence, as a dictionary, with `deps` if there is a graph."""
        return {name: getattr(self, name) for name in WORD_FIELDS} | ({"deps": self.deps} if self.deps else {})


WORD_FIELDS = tuple(each.name for each in fields(Word) if each.name != "sentence")
"""The attributes of a word in its dictionary form."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ParsedSentence:
    """A sentence of ``n`` words and its tree; a sequence of `Word`.

    Attributes
    ----------
    sentence : Sentence
        Words, tags, comments and multiword tokens.
    parse : Parse
        The tree, its certificate and its candidate arcs.

    Examples
    --------
    >>> import numpy as np
    >>> from nonproj.io.objects import from_words
    >>> decoded = Decoded(np.array([-1, 2, 0], np.int32), 3.5, 3.5, True, True, 1, 1.0)
    >>> sentence = ParsedSentence(from_words(["Det", "regner"]), Parse(decoded, ["nsubj", "root"], None))
    >>> sentence
    <Det regner: 2 words, certified>
    >>> sentence.heads, sentence.labels, sentence[1].form
    (array([2, 0], dtype=int32), ['nsubj', 'root'], 'regner')
    """

    sentence: Sentence
    parse: Parse
    _words: list[Word] = field(default_factory=list, init=False)  # made when first asked for

    def __len__(self) -> int:
        return len(self.sentence.rows)

    def __iter__(self) -> Iterator[Word]:
        return iter(self._made())

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> list[Word]: ...
    def __getitem__(self, index: int | slice) -> Word | list[Word]:
        return self._made()[index]

    def _repr_html_(self) -> str:
        return in_notebook(self.picture())

    def picture(self) -> Picture:
        """Return the picture of the tree, for `nonproj.pictures.svg.to_svg` and others; notebooks show it."""
        sure = self.confidence
        return picture_of(self.sentence, self.decoded.heads, self.labels, None, sure and sure.heads, self.parse.graph)

    def __repr__(self) -> str:
        state = "certified" if self.certified else f"gap {self.gap:.3g}"
        return f"<{_shortened(self.text)}: {counted(len(self), 'word')}, {state}>"

    @property
    def words(self) -> list[Word]:
        """The words with all their attributes, always the same objects."""
        return list(self._made())

    def _made(self) -> list[Word]:
        if not self._words:
            with _making:
                self._words[:] = self._words or self._make()
        return self._words

    def _make(self) -> list[Word]:
        places: Sequence[tuple[int | None, int | None]] = self.sentence.offsets or [(None, None)] * len(self)
        sure = self.confidence
        pairs = zip(sure.heads.tolist(), sure.labels.tolist(), strict=True) if sure else [(None, None)] * len(self)
        columns = zip(self.sentence.rows, self.heads.tolist(), self.labels, places, pairs, strict=True)
        return [
            Word(number, row[1], row[2], row[3], row[4], row[5], head, label, *place, *pair, self)
            for number, (row, head, label, place, pair) in enumerate(columns, 1)
        ]

    @property
    def heads(self) -> Int32s:
        """The head of each word, int32[n]: ``heads[i]`` is the head of word ``i + 1``; 0 is the root."""
        return self.parse.decoded.heads

    @property
    def labels(self) -> list[str]:
        """The label of each word's arc."""
        return self.parse.labels

    @property
    def confidence(self) -> Confidence | None:
        """The probabilities that heads, labels and the tree are correct; None without a classifier."""
        return self.parse.confidence

    @property
    def others(self) -> list[ParsedSentence]:
        """Next best trees of the sentence, best first, if ``decoding.nbest`` is above 1."""
        return [ParsedSentence(self.sentence, parse) for parse in self.parse.others or ()]

    @property
    def forms(self) -> list[str]:
        """The words."""
        return self.sentence.forms

    @property
    def lemmas(self) -> list[str]:
        """The column LEMMA, ``_`` where absent."""
        return self._column(LEMMA)

    @property
    def upos(self) -> list[str]:
        """The column UPOS (CPOSTAG in CoNLL-X)."""
        return self._column(UPOS)

    @property
    def xpos(self) -> list[str]:
        """The column XPOS (POSTAG in CoNLL-X)."""
        return self._column(XPOS)

    @property
    def feats(self) -> list[str]:
        """The column FEATS, morphological features such as ``Case=Nom|Number=Sing``."""
        return self._column(FEATS)

    def _column(self, number: int) -> list[str]:
        return [row[number] for row in self.sentence.rows]

    @property
    def decoded(self) -> Decoded:
        """The tree and the decoder's statistics."""
        return self.parse.decoded

    @property
    def score(self) -> float:
        """The score of the tree."""
        return float(self.decoded.score)

    @property
    def bound(self) -> float:
        """Upper bound on the score of any tree over the candidate arcs."""
        return float(self.decoded.bound)

    @property
    def gap(self) -> float:
        """``bound - score``."""
        return self.bound - self.score

    @property
    def certified(self) -> bool:
        """Whether the tree is proven optimal over its candidate arcs."""
        return bool(self.decoded.certified)

    @property
    def statistics(self) -> dict[str, Any]:
        """Score, bound, certificate and more: see `nonproj.evaluation.certificates.statistics`."""
        return statistics(self.parse)

    @property
    def text(self) -> str:
        """The text of the sentence: the comment ``# text``, or else tokens, with blanks unless ``SpaceAfter=No``."""
        for line in self.sentence.lines:
            if line.startswith("# text ="):
                return line.removeprefix("# text =").strip()
        pieces = []
        for form, misc, _ in surface_tokens(self.sentence):
            pieces += [form, "" if "SpaceAfter=No" in misc.split("|") else " "]
        return "".join(pieces).rstrip(" ")

    def to_conllu(self, certificates: bool = False) -> str:
        """Return the sentence in CoNLL-U; ``certificates`` adds comments such as ``# nonproj certified = true``."""
        comments = as_comments(self.statistics) if certificates else ()
        return conll.replace(self.sentence, self.decoded.heads, self.labels, comments, self.parse.graph)

    def to_json(self) -> dict[str, Any]:
        """Return the sentence as a dictionary for `json.dumps`: ``text``, ``words`` and the values of `statistics`."""
        return {"text": self.text, "words": [word.to_dict() for word in self.words], **self.statistics}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Document:
    """A parsed text; a sequence of `ParsedSentence`.

    Attributes
    ----------
    text : str
    sentences : list of ParsedSentence
    """

    text: str
    sentences: list[ParsedSentence] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[ParsedSentence]:
        return iter(self.sentences)

    @overload
    def __getitem__(self, index: int) -> ParsedSentence: ...
    @overload
    def __getitem__(self, index: slice) -> list[ParsedSentence]: ...
    def __getitem__(self, index: int | slice) -> ParsedSentence | list[ParsedSentence]:
        return self.sentences[index]

    def _repr_html_(self) -> str:
        trees = [sentence._repr_html_() for sentence in self.sentences[:DRAWN]]
        left = len(self) - len(trees)
        return "\n".join(trees + [f"<p>and {counted(left, 'more sentence')}</p>"] * (left > 0))

    def __repr__(self) -> str:
        certified = sum(sentence.certified for sentence in self.sentences)
        counts = f"{counted(len(self), 'sentence')}, {counted(len(self.words), 'word')}"
        return f"<{_shortened(self.text)}: {counts}, {certified} certified>"

    def __str__(self) -> str:
        return self.text

    @property
    def sents(self) -> Iterator[ParsedSentence]:
        """An iterator over the sentences, under its name in spaCy."""
        return iter(self.sentences)

    @property
    def words(self) -> list[Word]:
        """The words of all sentences."""
        return [word for sentence in self.sentences for word in sentence]

    @property
    def certified(self) -> bool:
        """Whether every tree is proven optimal over its candidate arcs."""
        return all(sentence.certified for sentence in self.sentences)

    @property
    def gap(self) -> float:
        """The sum of the gaps of all sentences."""
        return sum(sentence.gap for sentence in self.sentences)

    def to_conllu(self, certificates: bool = False) -> str:
        """Return all sentences in CoNLL-U; see `ParsedSentence.to_conllu`."""
        return "".join(sentence.to_conllu(certificates) for sentence in self.sentences)

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary for `json.dumps`: ``text`` and ``sentences``; see `ParsedSentence.to_json`."""
        return {"text": self.text, "sentences": [sentence.to_json() for sentence in self.sentences]}

    def to_frame(self) -> pandas.DataFrame:
        """Return a ``pandas.DataFrame`` with a row for each word.

        Its columns are ``sentence`` (the index in `sentences`), the fields of `Word`, ``deps`` if there are enhanced
        graphs, and ``certified``.  Probabilities are NaN without a classifier.
        """
        require_pandas()
        import pandas

        names = [*WORD_FIELDS, *["deps"] * any(sentence.parse.graph for sentence in self.sentences)]
        rows = [
            (number, *(getattr(word, name) for name in names), sentence.certified)
            for number, sentence in enumerate(self.sentences)
            for word in sentence
        ]
        frame = pandas.DataFrame(rows, columns=["sentence", *names, "certified"])
        whole = dict.fromkeys(("sentence", "id", "head"), int) | dict.fromkeys(("start", "end"), "Int64")
        sure = dict.fromkeys(("confidence", "label_confidence"), float)
        return frame.astype(whole | sure | {"certified": bool})


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
