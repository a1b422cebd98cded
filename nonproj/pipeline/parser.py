"""The parsing pipeline: sentences in, tagged sentences with labelled trees and their certificates out.

A batch of sentences passes these steps in their order, whether it comes from a file, a text or a request to the server:

1. `Parser.tag`: tags and lemmas, then the components that others have registered
2. `Parser.encode`: strings to integers
3. `Parser.first_order_batch`, `Parser.candidates_of`: scores of all arcs, their marginals, and the arcs left by pruning
4. `Parser.score_batch`: all parts over these arcs, and their scores
5. `Parser.decode_all`: the best tree or trees; `Parser.widen` for those over all arcs
6. `TreeLabeler.label`: the labels of the trees
7. `Parser.evidence`, `Classifier.confidence`: the probabilities that heads and labels are correct
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from nonproj.automata.compiled import is_third_order
from nonproj.confidence.evidence import ConfidenceInput, Evidence, gather
from nonproj.dual.decoding import decode_trusted
from nonproj.dual.domain import with_scale
from nonproj.dual.options import SearchOptions
from nonproj.dual.problem import PartsProblem
from nonproj.dual.proofs import ScoreSource, digest_of_words, proof_of
from nonproj.dual.search import SearchResult, with_known
from nonproj.errors import ConfigError, DataError, SentenceMemoryError, SizeError
from nonproj.io.batches import batches, check_length, groups
from nonproj.io.constraints import Constraints, read_constraints
from nonproj.kernels.threads import LoadedOnce
from nonproj.parts.arcs import arc_space_from_mask, check_count, full_arc_space, with_arcs
from nonproj.parts.space import part_space
from nonproj.pipeline.loaded import LoadedModel
from nonproj.pipeline.parses import Parse as Parse
from nonproj.scoring.batch import Batch, join, join_words
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.scorer import LabelScores, score_pairs
from nonproj.scoring.vocabulary import UNKNOWN, Tokens
from nonproj.text.segmenter import Segmenter
from nonproj.trees.constrained import constrained_marginals
from nonproj.trees.marginals import marginals_trusted
from nonproj.trees.pruning import prune_trusted
from nonproj.types import ArcSpace, Decoded, Float64s, PartSpace, Sentence

FULL_WORDS, FULL_WORDS_THIRD = 160, 50
"""Maximum sentence length for parsing without pruning: the number of parts is 2 n^3, at this length 8 million, or with
third-order parts 5 n^4 / 12, at this length 3 million."""

FULL_EFFORT = 100
"""Factor on the search limit for decoding over all arcs."""

BATCH = 64
"""Number of sentences that pass each stage together, so that the stage finds its weights in the cache."""

PAIRS = 1 << 18
"""Maximum number of word pairs of the sentences that pass a stage together, which limits the memory for long ones."""


class Parser(LoadedModel):
    """Parses sentences with a trained model; threads may share it, because its caches of words are per thread.

    Parameters
    ----------
    model : Model
    decoding : DecodingConfig, optional
        By default the model's.
    tags : {"missing", "all", "none"}
        Which tags, features and lemmas the model's tagger predicts: those that are missing (``_``), all or none.
    proofs : bool
        Whether each parse has a proof: see `nonproj.dual.proofs`.

    Examples
    --------
    >>> parser = Parser(Model.load("danish.nonproj"))  # doctest: +SKIP
    >>> parser.parse(sentence).decoded.heads  # doctest: +SKIP
    """

    @LoadedOnce
    def segmenter(self) -> Segmenter:
        """The segmenter for plain text: the model's, or else one by rules."""
        with_margins = self.classifier is not None and self.classifier.text is not None
        by_trees = self.decoding.sentences_by_trees
        by_trees = self.model.meta.get("unpunctuated", False) if by_trees == "auto" else by_trees
        tree_scores = self.without_encoder().tree_scores if by_trees else None
        return (self.model.loaded(Segmenter) or Segmenter.unicode()).using(with_margins, tree_scores)

    def with_nbest(self, k: int) -> Parser:
        """Return the same parser for another number of trees, ``decoding.nbest``; the two share all loaded components.

        Raises
        ------
        ConfigError
            ``k`` is not from 1 to 10,000.
        """
        found = self._shared()
        found.decoding = dataclasses.replace(self.decoding, nbest=k)
        found.nbest = found.decoding.nbest
        return found

    def with_price(self, price: float) -> Parser:
        """Return the same parser for another price of non-projective trees, as `with_nbest` does."""
        found = self._shared()
        found.price = price
        return found

    def without_encoder(self) -> Parser:
        """Return the same parser without its pretrained encoder, as `with_nbest` does."""
        found = self._shared()
        found.pretrained = found.encoded_tags = None
        return found

    def _shared(self) -> Parser:
        """Return a copy, after loading all components, so that they are not loaded once for each copy."""
        _ = self.analyzer, self.classifier, self.pretrained, self.encoded_tags, self.components
        return copy.copy(self)

    def tag(self, sentences: list[Sentence]) -> list[Sentence]:
        """Return the sentences with the requested tags and lemmas, and the predictions of other components."""
        if self.tags == "none":
            return sentences
        if self.analyzer is not None:
            sentences = self.analyzer.apply(sentences, self.tags == "all", self.encoded_tags)
        for component in self.components:
            sentences = component.apply(sentences)
        return sentences

    def parse(self, sentence: Sentence) -> Parse:
        """Parse one sentence; its gold heads and labels are ignored, and its tags are used unchanged.

        Raises `DataError` if the sentence is longer than ``decoding.max_words``, needs too much memory, or no tree
        satisfies its constraints.
        """
        check_length(sentence, self.max_words)
        try:
            return self._parse_batch([sentence])[0]
        except (MemoryError, SizeError) as error:
            kind, reason = SentenceMemoryError, "there is not enough memory; split it"
            if isinstance(error, SizeError):
                kind, reason = DataError, str(error)
            raise kind(sentence.path, sentence.line, f"a sentence of {len(sentence)} words: {reason}") from None

    def parse_all(self, sentences: Iterable[Sentence], batch_size: int = BATCH) -> Iterator[tuple[Sentence, Parse]]:
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
        """
        for group in batches(sentences, batch_size, self.max_words):
            tagged = self.tag(group)
            for part in groups(tagged, PAIRS):
                yield from zip(tagged[part], self._parse_group(tagged[part]), strict=True)

    def try_all(
        self, sentences: Iterable[Sentence], batch_size: int = BATCH
    ) -> Iterator[tuple[Sentence, Parse | DataError]]:
        """Yield the results of `parse_all`, with an error instead of a parse for a sentence that cannot be parsed."""
        for group in batches(sentences, batch_size):
            parsed = self.parse_all(group, batch_size)
            done = 0
            while done < len(group):
                try:
                    for found in parsed:
                        done += 1
                        yield found
                except DataError as error:
                    yield group[done], error
                    done += 1
                    parsed = self.parse_all(group[done:], batch_size)

    def tree_scores(self, sentences: Iterable[Sentence]) -> Float64s:
        """Return the score of the best tree of each sentence, float64, given the tagger's best tags.

        Minus infinity from a sentence on that is too large.
        """
        given = list(sentences)
        scores, number = np.full(len(given), -np.inf), 0
        with contextlib.suppress(DataError, SizeError, MemoryError):
            for group in batches(given, BATCH, self.max_words):
                tagged = self.tag(group)
                for part in groups(tagged, PAIRS):
                    tokens = self.encode_all(tagged[part])
                    batch = join(tokens)
                    first = self.first_order_batch(batch)
                    own = zip(tagged[part], tokens, first, strict=True)
                    arcs = [self.candidates_of(sentence, each, None, f)[0] for sentence, each, f in own]
                    for space, weights in self.score_batch(batch, arcs)[0]:
                        scores[number] = self.decode(space, weights).score
                        number += 1
        return scores

    def _parse_group(self, sentences: list[Sentence]) -> Iterable[Parse]:
        """Parse sentences together, or one by one up to the first one that is too large or has no tree."""
        with contextlib.suppress(MemoryError, SizeError, DataError):
            return self._parse_batch(sentences)
        return map(self.parse, sentences)

    def _parse_batch(self, sentences: list[Sentence]) -> list[Parse]:
        """Parse sentences stage by stage."""
        tokens = self.encode_all(sentences)
        constraints: list[Constraints | None] = [None] * len(sentences)
        if self.constraints != "none":
            constraints = [read_constraints(sentence, self.constraints) for sentence in sentences]
        batch = join(tokens)
        demanded = join_words(map(self.demanded, constraints), batch) if any(constraints) else {}
        stages = sentences, tokens, constraints, self.first_order_batch(batch)
        arcs, marginals = zip(*map(self.candidates_of, *stages), strict=True)
        scored, known = self.score_batch(batch, arcs, demanded)
        found = list(itertools.starmap(self.decode_all, scored))
        wide, narrow = found, [None] * len(found)
        if self.full:
            first = [each[0] for each in found]
            arcs, wide, narrow = zip(*map(self.widen, tokens, arcs, first, constraints), strict=True)
            wide = [each or own for each, own in zip(wide, found, strict=True)]
            known = None  # other arcs than those of the trees
        labelled = self.labeler.label(batch, [each[0].tree for each in wide], known, demanded)
        parses = []
        for i, (numbers, margins) in enumerate(labelled):
            labels, confidence = self._names(numbers, constraints[i]), None
            if self.classifier is not None:
                of_words = sentences[i].tag_margins, sentences[i].boundary_margins
                bounded = found[i].problem, found[i].copies
                case = ConfidenceInput(tokens[i], *bounded, marginals[i], wide[i][0], numbers, margins, *of_words)
                confidence = self.classifier.confidence(self.evidence(case, self.classifier.limit))
            parse = self._parse(tokens[i], wide[i], arcs[i], narrow[i], labels, constraints[i])
            proof = self.prove(sentences[i], wide[i], narrow[i] is not None) if self.proofs else None
            parses.append(parse._replace(confidence=confidence, proof=proof))
        return parses

    def _parse(
        self,
        tokens: Tokens,
        found: SearchResult,
        arcs: ArcSpace,
        pruned: Decoded | None,
        labels: list[str],
        constraints: Constraints | None,
    ) -> Parse:
        """Return the parse of a sentence, with its other trees if they are wanted."""
        price, others = math.inf if self.options.projective else self.price, None
        if self.nbest > 1:
            more = ((tree, self.label(tokens, tree.tree, constraints)) for tree in found[1:])
            others = tuple(Parse(*each, arcs, pruned, price=price) for each in more)
        unknown = self._count_unknown_tags(tokens)
        return Parse(found[0], labels, arcs, pruned, unknown, others, price=price)

    def evidence(self, case: ConfidenceInput, limit: float) -> Evidence:
        """Return the features of the confidence classifier; ``limit`` is as for `gather`."""
        arcs, heads = case.problem.instance.arcs, case.decoded.tree
        if self.full and np.count_nonzero(heads[arcs.modifier] == arcs.head) < len(heads) - 1:
            # A tree found by decoding over all arcs: use the candidate arcs and its own.
            p, arcs = self.marginals(case.tokens), with_arcs(arcs, heads[1:], np.arange(1, len(heads)))
            parts, scores = self.score(case.tokens, arcs)
            found = decode_trusted(parts, scores, self.options, self.search, 1, self.price)
            case = case._replace(problem=found.problem, copies=found.copies, marginals=p[arcs.head, arcs.modifier])
        return gather(case, self._tag_column, self.options, limit)

    def _count_unknown_tags(self, tokens: Tokens) -> int:
        """Return the number of words whose tag was not seen in training."""
        unknown = () if self._tag_column is None else tokens.atoms[:, self._tag_column] == UNKNOWN
        return int(np.count_nonzero(unknown))

    def encode(self, sentence: Sentence) -> Tokens:
        """Turn strings into integers, and add the scores of the model's pretrained encoder, if there is one."""
        return self.encode_all([sentence])[0]

    def encode_all(self, sentences: Sequence[Sentence]) -> list[Tokens]:
        """Return the result of `encode` for each sentence."""
        tokens = list(map(self.encoder.encode, sentences))
        if self.pretrained is None:
            return tokens
        return self.pretrained.add_to(tokens, [sentence.forms for sentence in sentences])

    def candidates_of(
        self, sentence: Sentence, tokens: Tokens, constraints: Constraints | None, first: np.ndarray | None = None
    ) -> tuple[ArcSpace, np.ndarray]:
        """Return the candidate arcs of a sentence under its constraints, and their marginals, float64[A].

        ``first`` are the first-order scores, if known.  Raises `DataError` if no tree satisfies the constraints.
        """
        try:
            p = self.marginals(tokens, constraints.allowed if constraints else None, first)
            arcs = prune_trusted(p, **self.pruning)
            return arcs, p[arcs.head, arcs.modifier]
        except ValueError as error:
            if constraints is None:
                raise
            raise DataError(sentence.path, sentence.line, f"no tree satisfies the constraints: {error}") from None

    def prune(self, tokens: Tokens, allowed: np.ndarray | None = None) -> ArcSpace:
        """Return the candidate arcs, by the marginals of the first-order model, among those ``allowed``, bool[N, N]."""
        return prune_trusted(self.marginals(tokens, allowed), **self.pruning)

    def marginals(
        self, tokens: Tokens, allowed: np.ndarray | None = None, first: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the marginals of the first-order model over the arcs that are ``allowed``, float64[N, N].

        ``first`` are its scores, if known.
        """
        scores = self.first_order_scores(tokens) if first is None else first
        if allowed is not None:
            return constrained_marginals(scores, allowed, self.options.single_root)[0]
        return marginals_trusted(scores, self.options.single_root, strict=False)[0]

    def first_order_scores(self, tokens: Tokens) -> np.ndarray:
        """Return the score of every arc under the first-order model, in nats, float64[N, N]."""
        return self.first_order_batch(join([tokens]))[0]

    def first_order_batch(self, batch: Batch) -> list[np.ndarray]:
        """Return the result of `first_order_scores` for each sentence of a batch."""
        if batch.encoded is not None:
            return [encoded.first_order() for encoded in batch.encoded]
        weights, scale = self.tables["pruner"]
        return score_pairs(batch, hash_tokens(batch, self.pruner_table, len(weights)), weights, scale)

    def score(
        self, tokens: Tokens, arcs: ArcSpace, constraints: Constraints | None = None
    ) -> tuple[PartSpace, np.ndarray]:
        """Number the parts over the arcs and score them, float64[P], with the required labels, if any."""
        return self.score_batch(join([tokens]), [arcs], self.demanded(constraints))[0][0]

    def score_batch(
        self, batch: Batch, arcs: Sequence[ArcSpace], demanded: Mapping[int, int] | None = None
    ) -> tuple[list[tuple[PartSpace, np.ndarray]], LabelScores | None]:
        """Return the result of `score` for each sentence of a batch, and the label information of `Scorer.score_batch`.

        ``demanded`` are the numbers of the labels that some nodes of the batch must have.
        """
        spaces = list(map(part_space, arcs, itertools.repeat(self.scorer.types)))
        n_parts = sum(map(itemgetter(-1), map(attrgetter("offsets"), spaces)))
        check_count(n_parts, "parts of a batch", batch.n_nodes)
        scores, known = self.scorer.score_batch(batch, spaces, *self.tables["parser"], demanded)
        return list(zip(spaces, scores, strict=True)), known

    def demanded(self, constraints: Constraints | None) -> dict[int, int]:
        """Return the indices of the labels required for some words, as far as the model knows them."""
        if constraints is None:
            return {}
        numbers = {label: number for number, label in enumerate(self.model.labels)}
        return {word: numbers[label] for word, label in constraints.labels.items() if label in numbers}

    def decode(self, parts: PartSpace, scores: np.ndarray) -> Decoded:
        """Return the best tree, by dual decomposition and, where that leaves a gap, by branch and bound."""
        return decode_trusted(parts, scores, self.options, self.search, 1, self.price)[0]

    def decode_all(self, parts: PartSpace, scores: np.ndarray, search: SearchOptions | None = None) -> SearchResult:
        """Return as many of the best trees as ``decoding.nbest`` asks for; ``search`` overrides the limits."""
        limits = search or self.search
        return decode_trusted(parts, scores, self.options, limits, self.nbest, self.price, self.proofs)

    def prove(self, sentence: Sentence, found: SearchResult, full: bool) -> dict[str, Any]:
        """Return the proof of the best trees, over the candidate arcs or over all that are allowed."""
        problem, name = found.problem, f"{sentence.path}:{sentence.line}"
        outside = "forbidden" if full else "pruned" if self.constraints == "none" else "pruned or forbidden"
        if not isinstance(problem, PartsProblem) or problem.own is None:
            raise ConfigError("--proofs", f"there are none for the parts {', '.join(self.model.config.parts)}")
        options = with_scale(self.options, problem.instance.scores)
        given = {"tags": self.tags, "constraints": self.constraints, "threshold": self.decoding.threshold}
        source = ScoreSource(name, digest_of_words(sentence.rows), self.model.sha256, given)
        return proof_of(found, problem.parts, problem.own.scores, options, self.price, source, outside)

    def widen(
        self, tokens: Tokens, arcs: ArcSpace, decoded: Decoded, constraints: Constraints | None = None
    ) -> tuple[ArcSpace, SearchResult | None, Decoded | None]:
        """Return the best trees over all arcs, whose certificates are about the model without pruning.

        Returns
        -------
        arcs : ArcSpace
            All arcs; the given ones if the sentence is longer than ``FULL_WORDS`` or, third order, `FULL_WORDS_THIRD`.
        found : list of Decoded, or None
            The best trees over them, as many as ``decoding.nbest`` asks for.
        pruned : Decoded or None
            The given tree, if all arcs were used.
        """
        if tokens.n_nodes - 1 > (FULL_WORDS_THIRD if is_third_order(self.scorer.types) else FULL_WORDS):
            return arcs, None, None
        everything = arc_space_from_mask(constraints.allowed) if constraints else full_arc_space(tokens.n_nodes - 1)
        limit = self.search._replace(work_per_word=FULL_EFFORT * self.search.work_per_word)
        parts, scores = self.score(tokens, everything, constraints)
        found = self.decode_all(parts, scores, limit)
        return everything, with_known(found, decoded, with_scale(self.options, found.problem.instance.scores)), decoded

    def label(self, tokens: Tokens, heads: np.ndarray, constraints: Constraints | None = None) -> list[str]:
        """Return the best label of each arc of a tree, or the one that is demanded."""
        return self._names(self.label_arcs(tokens, heads, self.demanded(constraints))[0], constraints)

    def label_arcs(
        self, tokens: Tokens, heads: np.ndarray, demanded: Mapping[int, int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each arc's label and its margin, of the labels that are demanded: see `TreeLabeler`."""
        return self.labeler.label(join([tokens]), [heads], None, demanded)[0]

    def _names(self, numbers: np.ndarray, constraints: Constraints | None) -> list[str]:
        """Return labels by their numbers, or those that are demanded."""
        found: list[str] = self._labels[numbers].tolist()
        for word, label in (constraints.labels if constraints else {}).items():
            found[word - 1] = label
        return found

    def label_scores(self, tokens: Tokens, heads: np.ndarray) -> np.ndarray:
        """Return the score of each label of each arc of a tree, float64[n, n_labels]; see `TreeLabeler.scores`."""
        return self.labeler.scores(join([tokens]), heads)
