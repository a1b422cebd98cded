"""The parser: sentences pass the stages in batches, and return in their order, failing ones with their errors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from nonproj.errors import Advice, DataError, SentenceMemoryError, SizeError, advised
from nonproj.kernels.threads import LoadedOnce
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.loaded import LoadedModel, check_model
from nonproj.pipeline.parses import Parse
from nonproj.pipeline.request import request_of
from nonproj.pipeline.stages import STAGES, Stage, decode
from nonproj.text.lexicon import LexiconSource, UserLexicon
from nonproj.text.segmenter import Segmenter
from nonproj.types import Float64s, Sentence

BATCH = 64
"""Number of sentences that pass each stage together, so that the stage finds its weights in the cache."""

PAIRS = 1 << 18
"""Maximum number of word pairs of the sentences that pass a stage together, which limits the memory for long ones."""

T = TypeVar("T")


class Parser:
    """Parses sentences with a trained model; threads may share it.

    Parameters
    ----------
    model : Model
    decoding : DecodingConfig, optional
        By default the model's.
    tags : {"missing", "all", "none"}
        Tags, features and lemmas that the model's tagger predicts: those that are missing (``_``), all or none.
    proofs : bool
        Whether each parse has a proof: see `nonproj.dual.proofs`.
    lexicon : str, Path or UserLexicon, optional
        A user's lexicon, or its file (see `nonproj.io.lexicon.read_lexicon`).  Its entries are added to those
        of the model's lexicon, if there is one, and take precedence for tokens in both.

    Attributes
    ----------
    model, decoding
        As given.
    stages : tuple of Stage
        The functions that sentences pass, in their order.
    loaded : LoadedModel
        The model's tables and components, for the stages.
    request : Request
        The options of one call, for the stages.

    Examples
    --------
    >>> parser = Parser(Model.load("danish.nonproj"))  # doctest: +SKIP
    >>> parser.parse(sentence).decoded.heads  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Model,
        decoding: DecodingConfig | None = None,
        tags: str = "missing",
        proofs: bool = False,
        lexicon: LexiconSource = None,
    ):
        check_model(model)
        self.model, self.decoding, self.stages = model, decoding or model.config.decoding, STAGES
        self.request, self.loaded = request_of(model, self.decoding, tags, proofs), LoadedModel.of(model)
        known, lexicon = model.loaded(UserLexicon), UserLexicon.of(lexicon)
        self.request = replace(self.request, lexicon=lexicon.over(known) if lexicon else known)

    def with_request(self, **changes: Any) -> Parser:
        """Return a parser with some fields of the `Request` replaced; the two share all loaded components."""
        parser = copy.copy(self)
        parser.request = replace(self.request, **changes)
        vars(parser).pop("segmenter", None)
        return parser

    def with_stages(self, stages: Sequence[Stage]) -> Parser:
        """Return a parser with other stages, the last of which fills ``parses``; the two share all else."""
        parser = copy.copy(self)
        parser.stages = tuple(stages)
        return parser

    @LoadedOnce
    def segmenter(self) -> Segmenter:
        """The segmenter for plain text: the model's, or else one by rules."""
        classifier = self.loaded.classifier if self.request.confidence else None
        with_margins = classifier is not None and classifier.text is not None
        scores = None
        if self.request.by_trees:
            alone = self.with_request(encoder=False, nbest=1, constraints="none", proofs=False)
            scores = partial(tree_scores, alone)
        return (self.model.loaded(Segmenter) or Segmenter.unicode()).using(with_margins, scores, self.request.lexicon)

    def run(self, sentences: Iterable[Sentence], until: Stage | None = None) -> Batch:
        """Return the batch of some sentences, at least one, after a stage; by default after all."""
        batch = Batch(self.loaded, self.request, list(sentences))
        for stage in self.stages if until is None else self.stages[: self.stages.index(until) + 1]:
            batch = stage(batch)
        return batch

    def parse(self, sentence: Sentence) -> Parse:
        """Parse one sentence; its gold heads and labels are ignored, and its tags are used unchanged.

        Raises `DataError` if the sentence is longer than ``decoding.max_words``, needs too much memory, or no tree
        satisfies its constraints.
        """
        [(_, parse)] = self.with_request(tags="none").parse_all([sentence])
        return parse

    def parse_all(self, sentences: Iterable[Any], batch_size: int = BATCH) -> Iterator[tuple[Any, Any]]:
        """Tag and parse a stream of sentences in constant memory.

        Parameters
        ----------
        sentences : iterable of Sentence
        batch_size : int
            Number of sentences read from the stream at a time; with 1, each is parsed before the next is read.

        Yields
        ------
        Sentence
            The sentence, with the tags used for parsing.
        Parse

        Raises
        ------
        DataError
            A sentence cannot be parsed; those before it have been yielded.
        """
        for sentence, parse in self.try_all(sentences, batch_size):
            if isinstance(parse, DataError):
                raise parse
            yield sentence, parse

    def try_all(
        self,
        units: Iterable[Any],
        batch_size: int = BATCH,
        until: Stage | None = None,
        results: Callable[[Batch], Iterable[Any]] = attrgetter("parses"),
    ) -> Iterator[tuple[Any, Any]]:
        """Yield sentences and parses as `parse_all` does, with the error in place of a parse that fails.

        Parameters
        ----------
        units : iterable
            Sentences, and other units between them, which are yielded in their places with None.
        batch_size : int
            As for `parse_all`.
        until : Stage, optional
            The last stage; by default the last of all.
        results : callable
            Returns a result for each sentence of a batch that has passed this stage; by default its `Parse`.
        """
        most = self.request.max_words
        for group in batches(units, batch_size, PAIRS):
            fitting, parsed = list[Sentence](), iter(list[tuple[Sentence, Any]]())
            for unit in group:
                if isinstance(unit, Sentence) and len(unit.rows) <= most:
                    fitting.append(unit)
            if fitting:
                try:
                    batch = self.run(fitting, until)
                    parsed = zip(batch.sentences, results(batch), strict=True)
                    del batch  # its arrays
                except (MemoryError, SizeError, DataError):
                    parsed = self._try_each(fitting, until, results)
            for unit in group:
                if not isinstance(unit, Sentence):
                    yield unit, None
                else:
                    yield (unit, length_error(unit, most)) if len(unit.rows) > most else next(parsed)

    def _try_each(
        self, sentences: list[Sentence], until: Stage | None, results: Callable[[Batch], Iterable[Any]]
    ) -> Iterator[tuple[Sentence, Any]]:
        """Yield the results of sentences that pass the stages one by one, with the errors of those that fail."""
        for sentence in sentences:
            try:
                batch = self.run([sentence], until)
                [result] = results(batch)
            except (MemoryError, SizeError, DataError) as error:
                yield sentence, sentence_error(sentence, error)
            else:
                yield batch.sentences[0], result


def batches(units: Iterable[T], size: int, pairs: float = np.inf) -> Iterator[list[T]]:
    """Yield lists of up to ``size`` units; lists of several sentences have up to ``pairs`` pairs of words in total.

    Raises ``ValueError`` if ``size`` is not positive.

    Examples
    --------
    >>> short, long = Sentence([[]]), Sentence([[]] * 3)
    >>> [list(map(len, each)) for each in batches([short, short, long, short, short, short], 2, 9)]
    [[1, 1], [3], [1, 1], [1]]
    """
    if not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"batch_size is {size}, a positive integer is expected")
    group, total = list[T](), 0
    for unit in units:
        own = len(unit.rows) ** 2 if isinstance(unit, Sentence) else 0
        if group and total + own > pairs:
            yield group
            group, total = [], 0
        group.append(unit)
        total += own
        if len(group) == size:
            yield group
            group, total = [], 0
    if group:
        yield group


def length_error(sentence: Sentence, max_words: int) -> DataError:
    """Return the error for a sentence with too many words: time and memory grow with their square at least.

    Examples
    --------
    >>> length_error(Sentence([[]] * 3, path="x"), 2)
    DataError('x', 1, 'a sentence of 3 words; decoding.max_words is 2: split it, or raise the limit')
    """
    advice = Advice("decoding.max_words", f"decoding.max_words is {max_words}: split it, or raise the limit")
    return DataError(sentence.path, sentence.line, f"a sentence of {len(sentence)} words; ", advice)


def sentence_error(sentence: Sentence, error: Exception) -> DataError:
    """Return the error that parsing a sentence has raised, with the place of the sentence."""
    if isinstance(error, DataError):
        return error
    text = f"a sentence of {len(sentence)} words: "
    if isinstance(error, SizeError):
        advice = error.advice or Advice("", "")
        return DataError(sentence.path, sentence.line, text + advised(error, {advice.option: ""}), advice)
    return SentenceMemoryError(sentence.path, sentence.line, f"{text}there is not enough memory; split it")


def tree_scores(parser: Parser, sentences: Iterable[Sentence]) -> Float64s:
    """Return the score of the best tree of each sentence, float64; minus infinity for one that cannot be parsed."""
    found = parser.try_all(sentences, until=decode, results=lambda batch: [trees[0].score for trees in batch.found])
    return np.array([-np.inf if isinstance(score, DataError) else score for _, score in found], np.float64)
