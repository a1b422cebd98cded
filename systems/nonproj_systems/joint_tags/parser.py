"""A parser that decides tags and trees jointly, with a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from nonproj.errors import ConfigError, DataError, ModelError, SizeError
from nonproj.io.batches import batches, groups
from nonproj.io.columns import FEATS, LEMMA, UPOS, XPOS
from nonproj.io.copies import with_rows
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.parts.arcs import check_count
from nonproj.pipeline.parser import BATCH, PAIRS, Parser
from nonproj.pipeline.parses import Parse
from nonproj.scoring.batch import join
from nonproj.scoring.vocabulary import Tokens
from nonproj.tagging.tagset import TAG_COLUMNS
from nonproj.types import ArcSpace, Sentence
from nonproj_systems.joint_tags.chain import ChainScores, prune_chain
from nonproj_systems.joint_tags.decoding import decode_jointly
from nonproj_systems.joint_tags.scoring import encode_readings, join_tagged, joint_tables, score_jointly
from nonproj_systems.joint_tags.space import JointProblem, joint_problem, joint_space, joint_types
from nonproj_systems.tag_chains import TagChain, tag_chains

_REASONS = "it was trained with tagger.epochs=0, or on a treebank without tags"


class CandidateOptions(NamedTuple):
    """Which tags are candidates, and what they count for.

    Attributes
    ----------
    weight : float
        Of the tagger's score, beside the parser's.
    beam : float
        How much less than the best sequence of tags the best one with a candidate may score.
    most : int
        Candidates of a word, at most.
    """

    weight: float = 10.0
    beam: float = 40.0
    most: int = 3


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

    Only where the tagger is asked for all of a sentence's tags; other sentences are parsed by `Parser`.  There is one
    tree for each sentence, over the candidate arcs, without confidence, constraints or a price of crossing arcs.

    Parameters
    ----------
    model : Model
        With a tagger.
    decoding : DecodingConfig, optional
        By default the model's.
    tags : {"missing", "all", "none"}
        As for `Parser`.
    candidates : CandidateOptions

    Raises
    ------
    ModelError
        If the model has no tagger.
    ConfigError
        If the model has parts without compiled automata.
    """

    def __init__(
        self,
        model: Model,
        decoding: DecodingConfig | None = None,
        tags: str = "missing",
        candidates: CandidateOptions = CandidateOptions(),  # noqa: B008
    ):
        super().__init__(model, decoding, tags)
        names = [part_type.name for part_type in self.scorer.types]
        types = joint_types(names)
        if types is None:
            raise ConfigError("parts", f"tags are not decided with the part types {','.join(names)}")
        if self.analyzer is None or self.analyzer.tagger is None:
            raise ModelError(f"the model has no tagger, which joint decoding needs; {_REASONS}")
        self._types, self._tagger, self._lemmatizer = types, self.analyzer.tagger, self.analyzer.lemmatizer
        self._filled, self.candidate_options = self.analyzer.tag_columns, candidates
        self._joint_tables = joint_tables(self.scorer)

    def parse_all(self, sentences: Iterable[Sentence], batch_size: int = BATCH) -> Iterator[tuple[Sentence, Parse]]:
        """Tag and parse a stream of sentences; see `Parser.parse_all`."""
        for group in batches(sentences, batch_size, self.max_words):
            tagged = self.tag(group)
            choices = self.choices(group, tagged)
            joint = self._parse_jointly(list(choices.values()))
            kept = [sentence for i, sentence in enumerate(tagged) if i not in choices]
            parses = iter(self._parse_group(kept) if kept else ())
            for i, sentence in enumerate(tagged):
                yield next(joint) if i in choices else (sentence, next(parses))

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
        """Parse sentences with their candidates stage by stage."""
        sentences = [choice.sentence for choice in choices]
        tokens = self.encode_all(sentences)
        first = self.first_order_batch(join(tokens))
        arcs = [
            self.candidates_of(*each)[0] for each in zip(sentences, tokens, [None] * len(tokens), first, strict=True)
        ]
        found = [decode_jointly(problem, self.options) for problem in self.problems(choices, tokens, arcs)]
        tagged = [self.with_tags(*each) for each in zip(choices, (own.tags for own in found), strict=True)]
        own = [self.encoder.encode(s)._replace(encoded=t.encoded) for s, t in zip(tagged, tokens, strict=True)]
        labelled = self.labeler.label(join(own), [each.decoded.tree for each in found], None, {})
        parses = [
            Parse(each.decoded, self._names(numbers, None), space, None, self._count_unknown_tags(words))
            for each, (numbers, _), space, words in zip(found, labelled, arcs, own, strict=True)
        ]
        return list(zip(tagged, parses, strict=True))

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
        kept, fewer = prune_chain(full, first, self.candidate_options.beam, self.candidate_options.most)
        scaled = ChainScores(*(self.candidate_options.weight * array for array in fewer))
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

    def problem(self, choice: Choice, tokens: Tokens, arcs: ArcSpace) -> JointProblem:
        """Return the joint problem of a sentence over its candidate arcs; ``tokens`` are those with its best tags."""
        return self.problems([choice], [tokens], [arcs])[0]

    def problems(self, choices: list[Choice], tokens: list[Tokens], arcs: list[ArcSpace]) -> list[JointProblem]:
        """Return the joint problem of each sentence: see `problem`."""
        spaces, tagged, count = [], [], 0
        for choice, own, own_arcs in zip(choices, tokens, arcs, strict=True):
            spaces.append(joint_space(own_arcs, choice.candidates.counts, self._types))
            tagged.append(encode_readings(self.encoder, choice.candidates.rows, own, spaces[-1][0].word))
            count += len(spaces[-1][1])
            check_count(count, "parts of a batch", len(choice.sentence))
        words = join_tagged([space for space, _ in spaces], tokens, tagged)
        scores = score_jointly(self.scorer, self._joint_tables, words, spaces, *self.tables["parser"])
        chains = [choice.candidates.chain for choice in choices]
        return [joint_problem(*space, own, chain) for space, own, chain in zip(spaces, scores, chains, strict=True)]

    def with_tags(self, choice: Choice, tags: np.ndarray) -> Sentence:
        """Return the sentence with the tags that were chosen, int32[N]."""
        chosen = np.cumsum(choice.candidates.counts[:-1]) - 1 + tags[1:]
        return with_rows(choice.sentence, [choice.candidates.rows[e] for e in chosen.tolist()])


def _lacks_all(sentence: Sentence) -> bool:
    """Return whether a sentence has no tags."""
    return all(row[column] == "_" for row in sentence.rows for column in TAG_COLUMNS)
