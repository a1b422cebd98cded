"""A parser that decides tags and trees jointly."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import is_third_order
from nonproj.dual.domain import with_scale
from nonproj.dual.joint.chain import prune_chain
from nonproj.dual.joint.decoding import k_best_jointly
from nonproj.dual.joint.space import JointProblem, joint_problem, joint_space, joint_types
from nonproj.dual.options import SearchOptions
from nonproj.dual.search import Searched, with_known
from nonproj.dual.tags import ChainScores
from nonproj.errors import ConfigError, DataError, ModelError, SizeError
from nonproj.io.batches import batches, groups
from nonproj.io.conll import FEATS, LEMMA, UPOS, XPOS
from nonproj.io.constraints import Constraints, read_constraints
from nonproj.io.copies import with_rows
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.parts.arcs import arc_space_from_mask, check_count, full_arc_space
from nonproj.pipeline.joint_scoring import join_tagged, joint_tables, score_jointly
from nonproj.pipeline.parser import BATCH, FULL_EFFORT, FULL_WORDS, FULL_WORDS_THIRD, PAIRS, Parser
from nonproj.pipeline.parses import Parse
from nonproj.scoring.batch import join, join_words
from nonproj.scoring.vocabulary import Tokens
from nonproj.tagging.candidates import TagChain, tag_chains
from nonproj.tagging.tagset import TAG_COLUMNS
from nonproj.types import ArcSpace, Decoded, Float64s, Sentence

_REASONS = "it was trained with tagger.epochs=0, or on a treebank without tags"


class Candidates(NamedTuple):
    """The candidate tags of a sentence.

    Attributes
    ----------
    counts : ndarray of shape (N,), int64
        Candidates of each word; 1 for the root.
    rows : list of list of str
        The ten columns of each tagged word but the root.
    chain : ChainScores
    """

    counts: np.ndarray
    rows: list[list[str]]
    chain: ChainScores


class Choice(NamedTuple):
    """A sentence with its best tags, and its candidate tags."""

    sentence: Sentence
    candidates: Candidates


class JointParser(Parser):
    """Tags and parses with a trained model, deciding tags and trees jointly.

    Only where the tagger is asked for all of a sentence's tags; other sentences are parsed by `Parser`.

    Parameters
    ----------
    model : Model
        With a tagger.
    decoding : DecodingConfig, optional
        By default the model's; its options ``tag_weight``, ``tag_beam`` and ``tag_candidates`` are for joint decoding.
    tags : {"missing", "all", "none"}
        As for `Parser`.

    Raises
    ------
    ModelError
        If the model has no tagger.
    ConfigError
        If the model has parts without compiled automata.
    """

    def __init__(self, model: Model, decoding: DecodingConfig | None = None, tags: str = "missing"):
        super().__init__(model, decoding, tags)
        names = [part_type.name for part_type in self.scorer.types]
        types = joint_types(names)
        if types is None:
            given = ",".join(names)
            raise ConfigError("decoding.joint", f"tags are not decided with the part types {given}; leave out --joint")
        if self.analyzer is None or self.analyzer.tagger is None:
            raise ModelError(f"the model has no tagger, which joint decoding needs; {_REASONS}")
        self._types, self._tagger, self._lemmatizer = types, self.analyzer.tagger, self.analyzer.lemmatizer
        self._filled = self.analyzer.tag_columns
        self._full_words = FULL_WORDS_THIRD if is_third_order(self.scorer.types) else FULL_WORDS
        self._joint_tables = joint_tables(self.scorer)

    def parse_all(self, sentences: Iterable[Sentence], batch_size: int = BATCH) -> Iterator[tuple[Sentence, Parse]]:
        """Tag and parse a stream of sentences; see `Parser.parse_all`."""
        for group in batches(sentences, batch_size):
            tagged = self.tag(group)
            choices = self.choices(group, tagged)
            joint = self._parse_jointly(list(choices.values()))
            kept = [sentence for i, sentence in enumerate(tagged) if i not in choices]
            parses = iter(self._parse_group(kept) if kept else ())
            for i, sentence in enumerate(tagged):
                yield next(joint) if i in choices else (sentence, next(parses))

    def tree_scores(self, sentences: Iterable[Sentence]) -> Float64s:
        """Return the score of the best tree of each sentence, float64, given the tagger's best tags.

        Minus infinity from a sentence on that is too large.
        """
        given = list(sentences)
        scores, number = np.full(len(given), -np.inf), 0
        with contextlib.suppress(DataError, SizeError, MemoryError):
            for group in batches(given, BATCH):
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

    def choices(self, given: list[Sentence], tagged: list[Sentence]) -> dict[int, Choice]:
        """Return the candidates of the sentences, by number, in which a word has several; ``tagged`` have the best."""
        choices: dict[int, Choice] = {}
        lacking: list[list[str]] = []
        for i, chain in enumerate(self.chains(given)):
            found = self.candidates(given[i], tagged[i], chain, lacking) if chain is not None else None
            if found is not None and len(found.rows) > len(tagged[i]):
                choices[i] = Choice(tagged[i], found)
        if lacking and self._lemmatizer is not None:
            words = [(row[1], row[UPOS], row[XPOS], row[FEATS]) for row in lacking]
            for row, lemma in zip(lacking, self._lemmatizer.lemmas(words), strict=True):
                row[LEMMA] = lemma
        return choices

    def chains(self, sentences: list[Sentence]) -> list[TagChain | None]:
        """Return the candidates of each sentence that has no tags, or whose tags are to be replaced."""
        fits = [self.tags != "none" and 0 < len(sentence) <= self.max_words for sentence in sentences]
        chosen = [fit and (self.tags == "all" or _lacks_all(s)) for fit, s in zip(fits, sentences, strict=True)]
        wanted = [s for s, joint in zip(sentences, chosen, strict=True) if joint]
        keys = [row[1] for s in wanted for row in s.rows]
        encoded = None
        if wanted and self.encoded_tags is not None:
            encoded = self.encoded_tags, self.encoded_tags.hidden([s.forms for s in wanted])
        found = iter(tag_chains(self._tagger, keys, [len(s) for s in wanted], encoded))
        return [next(found) if joint else None for joint in chosen]

    def _parse_jointly(self, choices: list[Choice]) -> Iterator[tuple[Sentence, Parse]]:
        """Yield sentences with tags and parses: together, or one by one if one is too large or has no tree."""
        for part in groups([choice.sentence for choice in choices], PAIRS) if choices else ():
            try:
                yield from self._parse_joint_batch(choices[part])
            except (MemoryError, SizeError, DataError):
                for choice in choices[part]:
                    try:
                        yield from self._parse_joint_batch([choice])
                    except (MemoryError, SizeError):
                        yield choice.sentence, self.parse(choice.sentence)

    def _parse_joint_batch(self, choices: list[Choice]) -> list[tuple[Sentence, Parse]]:
        """Parse sentences with their candidates stage by stage, so that each stage finds its table in the cache."""
        sentences = [choice.sentence for choice in choices]
        tokens = self.encode_all(sentences)
        constraints = [read_constraints(sentence, self.constraints) for sentence in sentences]
        stages = sentences, tokens, constraints, self.first_order_batch(join(tokens))
        arcs = [self.candidates_of(*each)[0] for each in zip(*stages, strict=True)]
        problems = self.problems(choices, tokens, arcs, constraints)
        found = [self.decode_jointly(problem, self.search) for problem in problems]
        narrow: list[Decoded | None] = [None] * len(found)
        if self.full:
            for i, each in enumerate(zip(choices, tokens, constraints, strict=True)):
                wide = self.widen_jointly(*each, found[i][0])
                if wide is not None:
                    narrow[i] = found[i][0]
                    arcs[i], found[i] = wide
        trees = [(i, each) for i, own in enumerate(found) for each in own]
        parses: list[list[Parse]] = [[] for _ in choices]
        for some in batches(trees, BATCH):
            tagged = [self.with_tags(choices[i], each) for i, each in some]
            own = [
                self.encoder.encode(s)._replace(encoded=tokens[i].encoded)
                for s, (i, _) in zip(tagged, some, strict=True)
            ]
            labelled = self._label(own, [each for _, each in some], [constraints[i] for i, _ in some])
            for (i, each), sentence, (labels, unknown) in zip(some, tagged, labelled, strict=True):
                parses[i].append(Parse(each, labels, arcs[i], narrow[i], unknown, sentence=sentence))
        return [self._best(*each) for each in zip(choices, parses, strict=True)]

    def _label(
        self, tokens: list[Tokens], trees: list[Decoded], constraints: list[Constraints | None]
    ) -> Iterator[tuple[list[str], int]]:
        """Yield the labels of each sentence's tree, and its number of unknown tags."""
        batch = join(tokens)
        demanded = join_words(map(self.demanded, constraints), batch) if any(constraints) else {}
        labelled = self.labeler.label(batch, [each.tree for each in trees], None, demanded)
        for (numbers, _), own, limits in zip(labelled, tokens, constraints, strict=True):
            yield self._names(numbers, limits), self._count_unknown_tags(own)

    def _best(self, choice: Choice, parses: list[Parse]) -> tuple[Sentence, Parse]:
        """Return a sentence with the tags that go with the best tree, its parse, and those of the next best trees."""
        first, others = parses[0], tuple(parses[1:]) if self.nbest > 1 else None
        return first.sentence or choice.sentence, first._replace(others=others, sentence=None)

    def decode_jointly(self, problem: JointProblem, search: SearchOptions) -> Searched:
        """Return as many of the best trees, with their tags, as ``decoding.nbest`` asks for."""
        return k_best_jointly(problem, self.nbest, self.options, search, self.price)

    def widen_jointly(
        self, choice: Choice, tokens: Tokens, constraints: Constraints | None, known: Decoded
    ) -> tuple[ArcSpace, Searched] | None:
        """Return all arcs and the best trees over them; None if there are too many tagged words."""
        if len(choice.candidates.rows) > self._full_words:
            return None
        n_words = tokens.n_nodes - 1
        everything = arc_space_from_mask(constraints.allowed) if constraints else full_arc_space(n_words)
        problem = self.problem(choice, tokens, everything, constraints)
        limit = self.search._replace(work_per_word=FULL_EFFORT * self.search.work_per_word)
        found = self.decode_jointly(problem, limit)
        return everything, with_known(
            found, known, with_scale(self.options, problem.scores[np.isfinite(problem.scores)])
        )

    def candidates(self, given: Sentence, sentence: Sentence, chain: TagChain, lacking: list[list[str]]) -> Candidates:
        """Return the candidates of a sentence, best first; ``sentence`` has the best tags, ``given`` what it had.

        The rows that need another lemma are appended to ``lacking``.
        """
        n_nodes, width = len(sentence) + 1, chain.own.shape[1]
        flat = np.arange(width) < chain.count[:, None]
        full = ChainScores(
            np.concatenate([[0.0], chain.own[flat]]),
            np.concatenate([np.zeros((1, width, width)), chain.pair]),
            np.concatenate([np.zeros((1, width, width, width)), chain.triple]),
        )
        first = np.concatenate([[0, 1], 1 + np.cumsum(chain.count)])
        kept, fewer = prune_chain(full, first, self.decoding.tag_beam, self.decoding.tag_candidates)
        scaled = ChainScores(*(self.decoding.tag_weight * array for array in fewer))
        counts = (kept >= 0).sum(axis=1)
        if counts.sum() == n_nodes:
            return Candidates(counts, sentence.rows, scaled)
        return Candidates(counts, self._rows(given, sentence, chain, kept, lacking), scaled)

    def _rows(
        self, given: Sentence, sentence: Sentence, chain: TagChain, kept: np.ndarray, lacking: list[list[str]]
    ) -> list[list[str]]:
        """Return the columns of all tagged words; the first of each word has those of the tagger."""
        tags, filled = self._tagger.tags.tags, self._filled
        rows = []
        for i, row in enumerate(sentence.rows):
            rows.append(row)
            for c in kept[i + 1, 1:].tolist():
                if c < 0:
                    break
                other = list(row)
                for column, text in zip(TAG_COLUMNS, tags[chain.tags[i, c]], strict=True):
                    if column in filled:
                        other[column] = text
                if self.tags == "all" or given.rows[i][LEMMA] == "_":
                    lacking.append(other)
                rows.append(other)
        return rows

    def problem(
        self, choice: Choice, tokens: Tokens, arcs: ArcSpace, constraints: Constraints | None = None
    ) -> JointProblem:
        """Return the joint problem of a sentence over its candidate arcs; ``tokens`` are those with its best tags."""
        return self.problems([choice], [tokens], [arcs], [constraints])[0]

    def problems(
        self,
        choices: list[Choice],
        tokens: list[Tokens],
        arcs: list[ArcSpace],
        constraints: list[Constraints | None],
    ) -> list[JointProblem]:
        """Return the joint problem of each sentence: see `problem`."""
        spaces, tagged, count = [], [], 0
        for choice, own, own_arcs in zip(choices, tokens, arcs, strict=True):
            spaces.append(joint_space(own_arcs, choice.candidates.counts, self._types))
            tagged.append(self.encoder.encode_readings(choice.candidates.rows, own, spaces[-1][0].word))
            count += len(spaces[-1][1])
            check_count(count, "parts of a batch", len(choice.sentence))
        words = join_tagged([space for space, _ in spaces], tokens, tagged)
        demanded = join_words(map(self.demanded, constraints), words.best) if any(constraints) else {}
        scores = score_jointly(self.scorer, self._joint_tables, words, spaces, *self.tables["parser"], demanded)
        chains = [choice.candidates.chain for choice in choices]
        return [joint_problem(*space, own, chain) for space, own, chain in zip(spaces, scores, chains, strict=True)]

    def with_tags(self, choice: Choice, found: Decoded) -> Sentence:
        """Return the sentence with the tags that were chosen."""
        assert found.tags is not None
        chosen = np.cumsum(choice.candidates.counts[:-1]) - 1 + found.tags[1:]
        return with_rows(choice.sentence, [choice.candidates.rows[e] for e in chosen.tolist()])


def _lacks_all(sentence: Sentence) -> bool:
    """Return whether a sentence has no tags."""
    return all(row[column] == "_" for row in sentence.rows for column in TAG_COLUMNS)
