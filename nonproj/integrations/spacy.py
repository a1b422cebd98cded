"""A component for spaCy pipelines: ``nlp.add_pipe("nonproj", config={"model": "greek.nonproj"})``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from spacy import util
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.language import Language
from spacy.parts_of_speech import IDS
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from nonproj.confidence.classifier import Confidence
from nonproj.errors import ModelError, one_line
from nonproj.evaluation.card import record
from nonproj.evaluation.scores import is_punctuation
from nonproj.evaluation.suitability import FitCheck
from nonproj.io.columns import FEATS, LEMMA
from nonproj.io.conll import COLUMNS
from nonproj.model.installed import announced_default, located
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.parses import Parse
from nonproj.text.formats import TextInput
from nonproj.types import Sentence

SENTENCES = ("auto", "segmenter", "rule")
"""Sources of sentence starts.  ``auto``: those set before, else the model's segmenter, else spaCy's rule."""

ROOT_LABEL = "ROOT"
"""The label of roots in spaCy's own models and matchers."""

UNIVERSAL = frozenset(IDS) - {"", "CONJ", "EOL", "SPACE"}
"""The tags of Universal Dependencies, the only values of ``token.pos``."""

SCORES = {"dep_uas": 0.4, "dep_las": 0.4, "sents_f": 0.2, "dep_las_per_type": None, "sents_p": None, "sents_r": None}
"""The metrics of trees and sentences that ``nlp.evaluate`` computes, with default weights."""

log = logging.getLogger("nonproj")

_MODEL_FILE = "model.nonproj"
_META = "nonproj"
"""Key of a pipeline's metadata: the components whose models are in its folder when it is written to disk."""

_EXTENSIONS = {
    Doc: ("certified", "gap", "confidence"),
    Span: ("certified", "gap", "score", "bound", "confidence"),
    Token: ("confidence", "label_confidence"),
}


class NonprojComponent:
    """Tags and parses documents, using the tokens of the pipeline; threads may share it.

    Sets heads (arcs may cross), labels (``ROOT`` for roots), sentence starts and, depending on ``tags``, tags,
    morphology and lemmas; ``doc._.certified`` (whether every tree is proven optimal) and ``doc._.gap`` (the sum
    of the gaps); and ``certified``, ``gap``, ``score`` and ``bound`` of the spans in ``doc.sents``.  Whitespace tokens
    are attached to the word before them and are not parsed.

    If the model has a confidence classifier, ``token._.confidence`` is the probability that the head is correct,
    ``token._.label_confidence`` that of head and label, ``span._.confidence`` that of all heads of a sentence, and
    ``doc._.confidence`` is the mean over all tokens; otherwise they are None.

    Parameters
    ----------
    name : str
    model : str or None
        The model file, or the name of an installed model; None if the component is going to be read from disk or bytes.
    tags : {"missing", "all", "none"}
        Tags, morphology and lemmas that the model sets: those that no other component has set, all, or none.
    sentences : {"auto", "segmenter", "rule"}
        See `SENTENCES`.
    max_words : int
        Maximum number of tokens of a sentence found by the segmenter or the rule; longer ones are split.
    decoding : dict
        Options of the section ``decoding`` to change.  Trees have one root, as spaCy expects.

    Raises
    ------
    ValueError
        An option is invalid.
    ModelError
        The file is not a model.
    """

    def __init__(
        self,
        name: str = "nonproj",
        *,
        model: str | None = None,
        tags: str = "missing",
        sentences: str = "auto",
        max_words: int = 128,
        decoding: dict[str, Any] | None = None,
    ):
        if sentences not in SENTENCES:
            raise ValueError(f"sentences: {sentences!r} is invalid, one of {', '.join(SENTENCES)} expected")
        if max_words < 1:
            raise ValueError(f"max_words: {max_words!r} is invalid, a positive integer expected")
        self.name, self.source, self.tags, self.sentences, self.max_words = name, model, tags, sentences, max_words
        self.decoding = {"single_root": True} | (decoding or {})
        self._rule = Sentencizer()
        self._handle_error: Callable[..., Any] = util.raise_error
        self._parser: Parser | None = None
        self._fit: FitCheck | None = None
        _set_extensions()
        if model is not None:
            self._use(Model.load_trained(located(model)))

    @property
    def parser(self) -> Parser:
        """The parser of the model."""
        if self._parser is None:
            raise ModelError(f"the component {self.name!r}", "has no model; set 'model'")
        return self._parser

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of arcs, with ``ROOT`` for roots."""
        return tuple(dict.fromkeys([ROOT_LABEL, *self._parser.model.labels])) if self._parser else ()

    def score(self, examples: Iterable[Example], **options: Any) -> dict[str, Any]:
        """Return the scores of trees, sentences, tags, morphology and lemmas, for ``nlp.evaluate``.

        The metrics are spaCy's: ``dep_uas`` and ``dep_las`` (without punctuation), ``sents_f``, and, if the model has a
        tagger, ``tag_acc``, ``pos_acc``, ``morph_acc`` and ``lemma_acc``.
        """
        wanted, chosen = ["parser"], list(examples)
        options = {"ignore_labels": _punctuation_labels(chosen)} | options
        if self.tags != "none" and self.parser.loaded.analyzer is not None:
            wanted += ["tagger", "morphologizer", "lemmatizer"]
        scores: dict[str, Any] = {}
        for name in wanted:
            make_scorer: Any = util.registry.scorers.get(f"spacy.{name}_scorer.v1")
            scores |= make_scorer()(chosen, **options)
        return scores

    def _use(self, model: Model) -> None:
        changes = {f"decoding.{name}": value for name, value in self.decoding.items()}
        decoding = model.config.with_overrides(changes).decoding
        self._parser, self._fit = Parser(model, decoding, self.tags), FitCheck(model, self.tags)

    # -- documents -----------------------------------------------------------------------------------------------------

    def __call__(self, doc: Doc) -> Doc:
        """Parse a document in place and return it."""
        try:
            self._annotate([doc])
        except Exception as error:
            self._handle_error(self.name, self, [doc], error)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse a stream of documents; the sentences of a batch are parsed together."""
        minibatch: Any = util.minibatch
        for docs in minibatch(stream, batch_size):
            try:
                self._annotate(docs)
                yield from docs
            except Exception as error:
                self._handle_error(self.name, self, docs, error)

    def set_error_handler(self, handler: Callable[..., Any]) -> None:
        """Set the error handler; called by ``nlp.set_error_handler``."""
        self._handle_error = handler

    def get_error_handler(self) -> Callable[..., Any]:
        """Return the error handler."""
        return self._handle_error

    def _annotate(self, docs: list[Doc]) -> None:
        """Parse the sentences of several documents together."""
        spans = [self._spans(doc) for doc in docs]
        sentences = [_sentence(doc[a:b], self.tags) for doc, bounds in zip(docs, spans, strict=True) for a, b in bounds]
        parses = list(self.parser.parse_all(self._fit.over(sentences) if self._fit else sentences))
        position = 0
        for doc, bounds in zip(docs, spans, strict=True):
            self._set(doc, bounds, parses[position : position + len(bounds)])
            position += len(bounds)

    def _spans(self, doc: Doc) -> list[tuple[int, int]]:
        """Return the first token of each sentence and the one after its last; each sentence has a word."""
        kept = self.sentences == "auto" and len(doc) > 1 and doc.has_annotation("SENT_START")
        limit = len(doc) if kept else self.max_words
        starts = {token.i for token in doc if token.is_sent_start} if kept else self._starts(doc)
        spans: list[list[int]] = []
        new = False
        for token in doc:
            new = new or token.i in starts
            if not spans or (not token.is_space and spans[-1][2] and (new or spans[-1][2] == limit)):
                spans.append([token.i, token.i, 0])
            spans[-1][1:] = token.i + 1, spans[-1][2] + (not token.is_space)
            new = new and token.is_space
        return [(first, last) for first, last, count in spans if count]

    def _starts(self, doc: Doc) -> set[int]:
        """Return the tokens that start a sentence, by the segmenter or by the rule."""
        has_segmenter = self.parser.model.component("segmenter") is not None
        if self.sentences == "segmenter" or (self.sentences == "auto" and has_segmenter):
            plain = TextInput(max_words=max(2, self.max_words))
            sentences = self.parser.segmenter.segment(doc.text, plain)
            first = {sentence.offsets[0][0] for sentence in sentences}
            return {token.i for token in doc if not first.isdisjoint(range(token.idx, token.idx + len(token)))}
        return {i for i, starts in enumerate(self._rule.predict([doc])[0]) if starts}

    def _set(self, doc: Doc, spans: list[tuple[int, int]], parses: list[tuple[Sentence, Parse]]) -> None:
        """Set all annotations of a document."""
        if spans:
            heads, labels, starts = np.arange(len(doc)), [""] * len(doc), np.full(len(doc), -1)
            starts[0] = 1
            for (first, last), (sentence, parse) in zip(spans, parses, strict=True):
                starts[first] = 1
                _set_tree(doc[first:last], parse, heads, labels)
                if self.tags != "none":
                    _set_tags(doc[first:last], sentence, self.tags == "all", self._has_universal_tags)
            numbers = [doc.vocab.strings.add(label or "dep") for label in labels]
            columns = (heads - np.arange(len(doc))).astype(np.uint64), np.array(numbers, np.uint64)
            annotated: Any = doc  # whose stubs know neither numpy's arrays nor all of its methods
            annotated.from_array([HEAD, DEP], np.stack(columns, axis=1))
            annotated.from_array([SENT_START], starts.astype(np.uint64))  # spaCy derives it from heads, which may cross
        for (first, last), (_, parse) in zip(spans, parses, strict=True):
            decoded, extended = parse.decoded, doc[first:last]._
            extended.certified, extended.gap = bool(decoded.certified), float(decoded.bound - decoded.score)
            extended.score, extended.bound = float(decoded.score), float(decoded.bound)
            if parse.confidence is not None:
                _set_confidence(doc[first:last], parse.confidence)
        sure = [token._.confidence for token in doc if token._.confidence is not None]
        doc._.confidence = float(np.mean(sure)) if sure else None
        doc._.certified = all(bool(parse.decoded.certified) for _, parse in parses)
        doc._.gap = float(sum(parse.decoded.bound - parse.decoded.score for _, parse in parses))

    @cached_property
    def _has_universal_tags(self) -> bool:
        """Whether the tagger's UPOS tags are those of Universal Dependencies."""
        analyzer = self.parser.loaded.analyzer
        tags = analyzer.tagger.tags.tags if analyzer is not None and analyzer.tagger is not None else []
        return {tag[0] for tag in tags} <= UNIVERSAL | {"_"}

    # -- files ---------------------------------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder, so that the pipeline needs no other file."""
        util.to_disk(path, {_MODEL_FILE: self.parser.model.save}, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> NonprojComponent:
        """Read the model from a folder."""
        util.from_disk(path, {_MODEL_FILE: lambda file: self._use(Model.load(file))}, exclude)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model as bytes."""
        return util.to_bytes({"model": self.parser.model.to_bytes}, exclude)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> NonprojComponent:
        """Read the model from bytes."""
        util.from_bytes(data, {"model": lambda content: self._use(Model.from_bytes(content))}, exclude)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_parser": self._parser and self._parser.model.to_bytes(), "_fit": None, "_rule": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"_rule": Sentencizer(), "_parser": None})
        if state["_parser"] is not None:
            self._use(Model.from_bytes(state["_parser"]))


@Language.factory(
    "nonproj",
    assigns=["token.head", "token.dep", "token.tag", "token.pos", "token.morph", "token.lemma", "doc.sents"],
    default_config={"model": None, "tags": "missing", "sentences": "auto", "max_words": 128, "decoding": {}},
    default_score_weights=SCORES,
)
def make_nonproj(
    nlp: Language,
    name: str,
    model: str | None,
    tags: str,
    sentences: str,
    max_words: int,
    decoding: dict[str, Any],
) -> NonprojComponent:
    """Return the component that spaCy calls "nonproj"; see `NonprojComponent`.

    A pipeline read from disk has its model in its folder, so the original model file need not exist.  Otherwise the
    model is the default of `nonproj.load` if none is named; a warning is logged if the pipeline has another language.
    """
    own = nlp.meta.setdefault(_META, [])
    if name in own:
        path = model if model is not None and Path(model).exists() else None
    else:
        path = str(announced_default()) if model is None else model
        own.append(name)
    found = NonprojComponent(name, model=path, tags=tags, sentences=sentences, max_words=max_words, decoding=decoding)
    if path is not None:
        _question_language(nlp.lang, found.parser.model)
    return found


_SAME = {"nb": "no", "nn": "no"}
"""Language codes, and the code that they count as: both written forms of Norwegian."""


def _question_language(language: str | None, model: Model) -> None:
    """Warn if a pipeline has another language than a model."""
    known = record(model.meta, "data").get("language")
    if known and language and language != "xx" and _SAME.get(language, language) != _SAME.get(known, known):
        log.warning("the pipeline is of the language %s, but the model of %s", language, one_line(str(known)))


def _punctuation_labels(examples: Iterable[Example]) -> list[str]:
    """Return labels of punctuation, in lower case: those known to spaCy's scorer, and those only of punctuation."""
    words: dict[str, set[str]] = {}
    for example in examples:
        for token in example.reference:
            if token.dep_ and not token.is_space:
                words.setdefault(token.dep_.lower(), set()).add(token.text)
    return ["p", "punct", *(label for label, forms in words.items() if all(map(is_punctuation, forms)))]


def _set_extensions() -> None:
    """Declare the attributes of documents, spans and tokens, unless they exist."""
    kind: Any
    for kind, names in _EXTENSIONS.items():
        for extension in names:
            if not kind.has_extension(extension):
                kind.set_extension(extension, default=None)


# -- between tokens and rows -------------------------------------------------------------------------------------------


def _words(span: Span) -> list[Token]:
    return [token for token in span if not token.is_space]


def _sentence(span: Span, tags: str) -> Sentence:
    """Return the words of a span, with the tags to keep."""
    rows = []
    for number, token in enumerate(_words(span), 1):
        row = [str(number), " ".join(token.text.split()), *["_"] * (len(COLUMNS) - 2)]
        if tags != "all":
            known = (token.lemma_, token.pos_, token.tag_, str(token.morph))
            row[LEMMA : FEATS + 1] = ["_".join(column.split()) or "_" for column in known]
        rows.append(row)
    return Sentence(rows, path="<doc>")


def _set_tree(span: Span, parse: Parse, heads: np.ndarray, labels: list[str]) -> None:
    """Fill in the heads and labels of a sentence; whitespace depends on the word before it, or on the first."""
    places = [token.i for token in _words(span)]
    for place, head, label in zip(places, parse.decoded.heads.tolist(), parse.labels, strict=True):
        heads[place] = places[head - 1] if head else place
        labels[place] = label if head else ROOT_LABEL
    before = places[0]
    for token in span:
        if token.is_space:
            heads[token.i] = before
        else:
            before = token.i


def _set_confidence(span: Span, confidence: Confidence) -> None:
    """Set the probabilities of a sentence and of its words."""
    span._.confidence = float(confidence.tree)
    pairs = zip(confidence.heads.tolist(), confidence.labels.tolist(), strict=True)
    for token, (head, label) in zip(_words(span), pairs, strict=True):
        token._.confidence, token._.label_confidence = head, label


def _set_tags(span: Span, sentence: Sentence, overwrite: bool, universal: bool) -> None:
    """Set the tags of the words that have none, or of all words.

    Tags of Universal Dependencies go to ``pos``, those of the treebank to ``tag``: XPOS or, if there is none and
    UPOS has no universal tags (``universal``), UPOS.
    """
    token: Any  # whose stubs lack `set_morph`
    for token, row in zip(_words(span), sentence.rows, strict=True):
        lemma, upos, xpos, feats = row[LEMMA : FEATS + 1]
        if lemma != "_" and (overwrite or not token.lemma_):
            token.lemma_ = lemma
        if universal and upos in UNIVERSAL and (overwrite or not token.pos_):
            token.pos_ = upos
        tag = upos if xpos == "_" and not universal else xpos
        if tag != "_" and (overwrite or not token.tag_):
            token.tag_ = tag
        if overwrite or not token.has_morph():
            token.set_morph(feats if all("=" in feat for feat in feats.split("|")) else "")
    for token in span:
        if token.is_space and not token.pos_:
            token.pos_, token.tag_ = "SPACE", token.tag_ or "_SP"
