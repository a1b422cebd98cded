"""Parsing of text with one call: ``nonproj.load("greek.nonproj")(text)``."""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import numpy as np

from nonproj.evaluation.suitability import FitCheck
from nonproj.io import conll
from nonproj.io.objects import from_conllu, from_words
from nonproj.model.installed import announced_default, located
from nonproj.model.model import Model
from nonproj.nlp.document import Document, ParsedSentence
from nonproj.options.sections import DecodingConfig
from nonproj.pipeline.loaded import check_model
from nonproj.pipeline.parser import BATCH, PAIRS, Parser, batches
from nonproj.pipeline.stages import prune
from nonproj.text.formats import TextInput
from nonproj.text.lexicon import LexiconSource
from nonproj.trees.checks import check_integer
from nonproj.trees.marginals import marginals_trusted
from nonproj.trees.sampling import sample_trees
from nonproj.types import Float64s, Int32s, Sentence
from nonproj.workers.objects import parse_in_processes

C = TypeVar("C")
"""The type of the object that `TextParser.pipe` returns beside each document."""


def load(
    path: str | Path | None = None, *, tags: str = "missing", lexicon: LexiconSource = None, **decoding: Any
) -> TextParser:
    """Return a parser of text from a model file.

    Parameters
    ----------
    path : str or Path
        A file written by ``nonproj train`` or `DependencyParser.save`, or the name of an installed model; by default
        that of the environment variable ``NONPROJ_MODEL``, or else the English one that comes with nonproj.
    tags : {"missing", "all", "none"}
        Tags, features and lemmas that are predicted; see `nonproj.pipeline.parser.Parser`.
    lexicon : str, Path or UserLexicon, optional
        Lexicon of known words; see `nonproj.pipeline.parser.Parser`.
    **decoding
        Options of the section ``decoding`` to change, such as ``projective=True``, ``exact=False`` or ``full=True``.

    Raises
    ------
    ModelError
        The file is not a model, or no installed model has this name.
    ConfigError
        An option is invalid.
    DataError, FileError
        The lexicon cannot be read.

    Examples
    --------
    >>> nlp = load("greek.nonproj")  # doctest: +SKIP
    >>> doc = nlp("Η Ευρώπη αλλάζει. Εμείς;")  # doctest: +SKIP
    >>> doc.sentences[0].heads  # doctest: +SKIP
    array([2, 3, 0, 3], dtype=int32)
    """
    path = announced_default() if path is None else located(path) if isinstance(path, str) else path
    model = Model.load_trained(path)
    options = model.config.with_overrides({f"decoding.{name}": value for name, value in decoding.items()}).decoding
    return TextParser(model, options, tags, name=str(path), lexicon=lexicon)


class TextParser:
    """Splits text into sentences and words, tags and parses them; threads may share it.

    Parameters
    ----------
    model : Model
    decoding : DecodingConfig, optional
        By default the model's.
    tags : {"missing", "all", "none"}
        Tags that are predicted; see `load`.
    name : str
        Name of the model in ``repr`` and warnings.
    lexicon : str, Path or UserLexicon, optional
        See `load`.

    Attributes
    ----------
    model : Model
    parser : Parser
        The parser of sentences, which gives access to single stages.
    """

    def __init__(
        self,
        model: Model,
        decoding: DecodingConfig | None = None,
        tags: str = "missing",
        *,
        name: str = "<memory>",
        lexicon: LexiconSource = None,
    ):
        check_model(model)
        self.model, self.decoding, self.tags, self.name = model, decoding or model.config.decoding, tags, name
        self.parser, self._fit = Parser(model, self.decoding, tags, lexicon=lexicon), FitCheck(model, tags)
        self._input = TextInput().within(self.parser.request.cut_words, self.parser.request.max_words)

    def __repr__(self) -> str:
        tagger = "no tagger" if self.parser.loaded.analyzer is None else "tagger"
        return f"TextParser({self.name!r}: {self.parser.segmenter.description}; {tagger}; parser)"

    def __call__(self, text: str) -> Document:
        """Return the parsed text.

        Parameters
        ----------
        text : str
            Plain text of any length; empty lines separate paragraphs.

        Raises
        ------
        TypeError
            ``text`` is not a string.
        DataError
            The text has a lone surrogate.
        """
        sentences = self.segment(text)
        parses = self.parser.parse_all(self._fit.over(sentences) if self._fit.due else sentences)
        return Document(text, [ParsedSentence(*pair) for pair in parses])

    @overload
    def pipe(
        self, texts: Iterable[str], *, batch_size: int = ..., as_tuples: Literal[False] = False, n_process: int = 1
    ) -> Iterator[Document]: ...
    @overload
    def pipe(
        self, texts: Iterable[tuple[str, C]], *, batch_size: int = ..., as_tuples: Literal[True], n_process: int = 1
    ) -> Iterator[tuple[Document, C]]: ...
    def pipe(
        self, texts: Iterable[Any], *, batch_size: int = BATCH, as_tuples: bool = False, n_process: int = 1
    ) -> Iterator[Any]:
        """Parse a stream of texts in constant memory; sentences of several texts are parsed together.

        Parameters
        ----------
        texts : iterable of str, or of pairs
        batch_size : int
            Number of sentences parsed together, in one process.
        as_tuples : bool
            Whether ``texts`` are pairs of a text and a context of any kind; the results are then pairs, too.
        n_process : int
            Number of processes that parse, -1 for one per core.  Starting them takes a few seconds.

        Raises
        ------
        TypeError
            ``texts`` is a string, or one of them is not.
        ValueError
            ``n_process`` is neither positive nor -1.

        Examples
        --------
        >>> for doc, number in nlp.pipe([("Det regner.", 17)], as_tuples=True):  # doctest: +SKIP
        ...     print(number, doc[0].heads)
        """
        if isinstance(texts, str):
            raise TypeError("a string is not a stream of texts; call the parser itself to parse one text")
        if n_process != -1:
            check_integer(n_process, "n_process", 1)
        parse_all = partial(self.parser.parse_all, batch_size=batch_size)
        if n_process != 1:
            parse_all = partial(parse_in_processes, self.parser, jobs=n_process)
        if not as_tuples:
            return self._documents(texts, parse_all)
        pairs, kept = itertools.tee(map(_checked_pair, texts))
        documents = self._documents((text for text, _ in pairs), parse_all)
        return ((document, context) for document, (_, context) in zip(documents, kept, strict=False))

    def _documents(self, texts: Iterable[str], parse_all: Callable[..., Iterator[Any]]) -> Iterator[Document]:
        waiting: deque[Any] = deque()

        def sentences() -> Iterator[Sentence]:
            """Yield the sentences of all texts, and keep each text until its sentences are parsed."""
            for text in texts:
                found = self.segment(text)
                waiting.append((text, len(found)))
                yield from found

        parsed = []
        for pair in parse_all(self._fit.over(sentences())):
            parsed.append(ParsedSentence(*pair))
            while waiting and waiting[0][1] <= len(parsed):
                text, size = waiting.popleft()
                yield Document(text, parsed[:size])
                del parsed[:size]
        for text, _ in waiting:
            yield Document(text)

    def nbest(self, text: str, k: int) -> list[list[ParsedSentence]]:
        """Return the k best trees of each sentence of a text, best first; fewer if a sentence has fewer.

        Raises
        ------
        ConfigError
            ``k`` is not from 1 to 10,000.

        Examples
        --------
        >>> for tree in nlp.nbest("Det regner.", 2)[0]:  # doctest: +SKIP
        ...     print(tree.heads, tree.score, tree.certified)
        """
        decoding = dataclasses.replace(self.decoding, nbest=k)
        document = next(self._documents([text], self.parser.with_request(nbest=decoding.nbest).parse_all))
        return [[each, *each.others] for each in document.sentences]

    def marginals(self, text: str) -> list[Float64s]:
        """Return the probability of each arc, for each sentence of a text, under the first-order model of the pruner.

        Returns
        -------
        list of ndarray of shape (N, N), float64
            ``[h, m]`` for the arc from word ``h``, 0 for the root, to word ``m``: see `nonproj.trees.marginals`.  The
            columns 1 .. n sum to 1.

        Examples
        --------
        >>> nlp.marginals("Det regner.")[0].shape  # doctest: +SKIP
        (4, 4)
        """
        single_root = self.parser.request.options.single_root
        return [marginals_trusted(scores, single_root, strict=False)[0] for scores in self._first_order(text)]

    def samples(self, text: str, count: int, seed: int = 0) -> list[Int32s]:
        """Draw trees for each sentence of a text from the first-order model of the pruner.

        Parameters
        ----------
        text : str
        count : int
            Number of trees per sentence.
        seed : int

        Returns
        -------
        list of ndarray of shape (count, n), int32
            The head of each word, from 1; 0 is the root: see `nonproj.trees.sampling.sample_trees`.

        Examples
        --------
        >>> nlp.samples("Det regner.", 100)[0].shape  # doctest: +SKIP
        (100, 3)
        """
        rng = np.random.default_rng(check_integer(seed, "seed", 0))
        single_root = self.parser.request.options.single_root
        scores = self._first_order(text)
        return [sample_trees(each, count, single_root=single_root, seed=rng) for each in scores]

    def _first_order(self, text: str) -> Iterator[Float64s]:
        """Yield the score of every arc of each sentence of a text under the first-order model, float64[N, N]."""
        for group in batches(self.segment(text), BATCH, PAIRS):
            yield from self.parser.run(group, until=prune).first_order

    def segment(self, text: str, options: TextInput | None = None) -> list[Sentence]:
        """Return the sentences and words of a text, without tags and trees; sentences that are too long are split.

        Raises TypeError if ``text`` is not a string, and `DataError` if it has a lone surrogate.
        """
        if not isinstance(text, str):
            raise TypeError(f"a text is of type {type(text).__name__}, a string is expected")
        own = options and options.within(self.parser.request.cut_words, self.parser.request.max_words)
        return self.parser.segmenter.segment(text, own or self._input)

    def parse(self, tokens: Sequence[Any]) -> ParsedSentence:
        """Parse a single sentence that has already been split into words.

        Parameters
        ----------
        tokens : list of str, list of rows, Sentence or conllu.TokenList
            Words; or rows of columns in the order of CoNLL-U, which may have tags; see `nonproj.io.objects.from_words`.

        Raises
        ------
        ValueError
            There are no words, or they have the wrong type.
        DataError
            The sentence is malformed or too long.

        Examples
        --------
        >>> nlp.parse(["Det", "regner", "."]).heads  # doctest: +SKIP
        array([2, 0, 2], dtype=int32)
        """
        return next(self.parse_all([tokens]))

    def parse_all(self, sentences: Iterable[Any] | str | Path, batch_size: int = BATCH) -> Iterator[ParsedSentence]:
        """Parse a stream of sentences in constant memory.

        Parameters
        ----------
        sentences : iterable, str or Path
            Each as for `parse`; or the path of a CoNLL-X or CoNLL-U file.
        batch_size : int
            Number of sentences parsed together.
        """
        if isinstance(sentences, str | Path):
            stream = conll.read(sentences, ignore_heads=True)
        else:
            stream = map(_sentence, sentences)
        for sentence, parse in self.parser.parse_all(self._fit.over(stream), batch_size):
            yield ParsedSentence(sentence, parse)

    def __reduce__(self) -> tuple[Callable[..., TextParser], tuple[Any, ...]]:
        return _restore, (self.model.to_bytes(), self.decoding, self.tags, self.name, self.parser.request.lexicon)


def _restore(data: bytes, decoding: DecodingConfig, tags: str, name: str, lexicon: LexiconSource) -> TextParser:
    """Return the parser from the parts that `TextParser.__reduce__` pickles."""
    return TextParser(Model.from_bytes(data), decoding, tags, name=name, lexicon=lexicon)


def _checked_pair(item: Any) -> tuple[Any, Any]:
    """Return a pair of a text and its context; raise TypeError for anything else."""
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2:
        raise TypeError(f"{item!r:.60}: with as_tuples, pairs of a text and a context are expected")
    return item[0], item[1]


def _sentence(tokens: Any) -> Sentence:
    """Return a sentence of words or rows, or the sentence of a ``TokenList``."""
    if isinstance(tokens, Sentence):
        return tokens
    if isinstance(tokens, str):
        raise ValueError("a string is not a list of words; call the parser itself to parse text")
    if hasattr(tokens, "serialize"):
        return from_conllu(tokens, ignore_heads=True)
    if not isinstance(tokens, Sequence):
        raise ValueError(f"a sentence is of type {type(tokens).__name__}; words, rows, Sentence or TokenList expected")
    return from_words(tokens)
