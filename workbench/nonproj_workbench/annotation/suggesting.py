"""Trees that a model suggests: the best one under the decisions, with its certificate, and the k best."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from nonproj.errors import DataError
from nonproj.evaluation.certificates import statistics
from nonproj.io.columns import FEATS, LEMMA, UPOS, XPOS
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.parses import Parse
from nonproj.pipeline.stages import tag
from nonproj.types import Sentence
from nonproj_workbench.annotation.decisions import Decisions, as_columns
from nonproj_workbench.annotation.draft import Draft, EditError

MOST_TREES = 50
"""Maximum number of trees that `Suggester.best` returns."""

AT_ONCE = 400
"""Maximum number of words of a sentence that is decoded with each edit; longer ones are decoded only on demand."""

KEPT = 16
"""Number of cached trees: after an edit, the page shows the tree that was decoded for it."""


class Suggestion(NamedTuple):
    """A tree that a model suggests.

    Attributes
    ----------
    heads : list of n int
    labels : list of n str
    statistics : dict
        Its certificate, among the trees with the decided arcs: see `nonproj.evaluation.certificates.statistics`.
    constrained : bool
        Whether anything was decided.
    head_confidence, label_confidence : list of n float, or None
        The probabilities that the head, and head and label, are correct; None if the model has no classifier.
    """

    heads: list[int]
    labels: list[str]
    statistics: dict[str, Any]
    constrained: bool
    head_confidence: list[float] | None = None
    label_confidence: list[float] | None = None


class Suggester:
    """Suggests trees by a model; threads may share it.

    Parameters
    ----------
    parser : Parser
    name : str
        Name of the model.
    """

    def __init__(self, parser: Parser, name: str):
        self.parser, self.name = parser.with_request(nbest=1, constraints="misc"), name
        self._lock = threading.Lock()
        self._counts: dict[int, Parser] = {}
        self._decoded: OrderedDict[object, Suggestion] = OrderedDict()

    @property
    def single_root(self) -> bool:
        """Whether its trees have one root."""
        return bool(self.parser.request.options.single_root)

    @property
    def has_confidence(self) -> bool:
        """Whether it has a confidence classifier."""
        return self.parser.request.confidence and self.parser.loaded.classifier is not None

    @property
    def labels(self) -> list[str]:
        """The labels of the model."""
        return list(self.parser.model.labels)

    @property
    def tags(self) -> list[str]:
        """The values of UPOS that the model predicts or, without a tagger, knows."""
        analyzer = self.parser.loaded.analyzer
        if analyzer is not None and analyzer.tagger is not None:
            return sorted({tag[0] for tag in analyzer.tagger.tags.tags})
        return list(self.parser.model.vocabularies.get("cpos", ()))

    def reaches(self, draft: Draft) -> bool:
        """Return whether a sentence is short enough for the model."""
        return len(draft.places) <= self.parser.request.max_words

    def is_quick(self, draft: Draft) -> bool:
        """Return whether a sentence is short enough to be decoded with each edit."""
        return len(draft.places) <= min(AT_ONCE, self.parser.request.max_words)

    def tag(self, draft: Draft, everything: bool = False) -> Draft:
        """Return the draft with the lemmas, tags and features that the model predicts.

        Parameters
        ----------
        draft : Draft
        everything : bool
            Whether all absent columns are filled in, or only those of words without any tag: for tagged words an absent
            lemma or an absence of features may be the annotator's choice.
        """
        new = draft.copy()
        if not everything and not any(_is_untagged(row) for row in new.words):
            return new
        [tagged] = self.parser.run([draft.sentence()], until=tag).sentences
        for row, predicted in zip(new.words, tagged.rows, strict=True):
            if everything or _is_untagged(row):
                row[LEMMA : FEATS + 1] = predicted[LEMMA : FEATS + 1]
        return new

    def decode(self, draft: Draft, decisions: Decisions) -> Suggestion:
        """Return the best tree of a draft under the decisions; tags that it lacks are predicted.

        Raises
        ------
        EditError
            There is no such tree, or the sentence is too long.
        """
        key = tuple(map(tuple, as_columns(decisions, draft.words)))
        with self._lock:
            if key in self._decoded:
                return self._decoded[key]
        found = _suggestion(self._parse(self.parser, draft, decisions), decisions)
        with self._lock:
            self._decoded[key] = found
            while len(self._decoded) > KEPT:
                self._decoded.popitem(last=False)
        return found

    def best(self, draft: Draft, decisions: Decisions, k: int) -> list[Suggestion]:
        """Return up to k (at least 2) trees under the decisions, best first; errors as for `decode`."""
        k = max(2, min(k, MOST_TREES))
        with self._lock:
            if k not in self._counts:
                self._counts[k] = self.parser.with_request(nbest=k)
            parser = self._counts[k]
        first = self._parse(parser, draft, decisions)
        return [_suggestion(parse, decisions) for parse in (first, *(first.others or ()))]

    def _parse(self, parser: Parser, draft: Draft, decisions: Decisions) -> Parse:
        try:
            [(_, parse)] = parser.parse_all([Sentence(as_columns(decisions, draft.words), path="sentence")])
            return parse
        except DataError as error:
            raise EditError(_explained(error, decisions)) from None


def _is_untagged(row: list[str]) -> bool:
    """Return whether a word has no tag."""
    return row[UPOS] == row[XPOS] == "_"


def _explained(error: DataError, decisions: Decisions) -> str:
    """Return the reason why there is no tree; it names the arcs."""
    if "constraints" not in error.message:
        return error.message
    arcs = [f"{word} ← {head}" for word, head in sorted(decisions.heads.items())]
    arcs += [f"{word} ↚ {head}" for word, heads in sorted(decisions.forbidden.items()) for head in sorted(heads)]
    return f"no tree has all of the decided arcs: {', '.join(arcs)}; free one of these words"


def _suggestion(parse: Parse, decisions: Decisions) -> Suggestion:
    """Return the tree of a parse."""
    confidence, constrained = parse.confidence, bool(decisions.size)
    probabilities: Sequence[list[float] | None] = (None, None)
    if confidence is not None:
        probabilities = (confidence.heads.tolist(), confidence.labels.tolist())
    return Suggestion(parse.decoded.heads.tolist(), list(parse.labels), statistics(parse), constrained, *probabilities)
