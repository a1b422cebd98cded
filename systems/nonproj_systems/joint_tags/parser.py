"""A parser that decides tags and trees jointly, with a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from nonproj.dual.search import SearchResult
from nonproj.errors import ConfigError, ModelError, SizeError
from nonproj.io.columns import FEATS, LEMMA, UPOS, XPOS
from nonproj.io.copies import with_rows
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.parts.arcs import check_count
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.loaded import LoadedModel
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.parses import Parse
from nonproj.pipeline.request import Request
from nonproj.pipeline.stages import STAGES, collect, encode, label, prune, run_stages, tag
from nonproj.scoring.joined import join
from nonproj.tagging.tagset import TAG_COLUMNS
from nonproj.types import Sentence
from nonproj_systems.joint_tags.chain import ChainScores, prune_chain
from nonproj_systems.joint_tags.decoding import decode_jointly
from nonproj_systems.joint_tags.scoring import encode_readings, join_tagged, joint_tables, score_jointly
from nonproj_systems.joint_tags.space import JointProblem, joint_problem, joint_space, joint_types
from nonproj_systems.tag_chains import TagChain, tag_chains

_REASONS = "it was trained with tagger.epochs=0, or on a treebank without tags"


class CandidateOptions(NamedTuple):
    """Options of the candidate tags.

    Attributes
    ----------
    weight : float
        Weight of the tagger's score, beside the parser's.
    beam : float
        Maximum difference between the best sequence of tags and the best one with a candidate.
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


def joint_parser(
    model: Model,
    decoding: DecodingConfig | None = None,
    tags: str = "missing",
    candidates: CandidateOptions = CandidateOptions(),  # noqa: B008
) -> Parser:
    """Return a parser that decides tags and trees jointly: see `JointStage`.

    Parameters
    ----------
    model : Model
        With a tagger.
    decoding : DecodingConfig, optional
        By default the model's.
    tags : {"missing", "all", "none"}
        As for `Parser`.
    candidates : CandidateOptions
    """
    parser = Parser(model, decoding, tags)
    return parser.with_stages([JointStage(parser.loaded, candidates)])


class JointStage:
    """The only stage of a parser that decides tags and trees jointly.

    Only where the tagger is asked for all of a sentence's tags, and some word has several candidates; other sentences
    pass the usual stages.  There is one tree for each sentence, over the candidate arcs, without confidence,
    constraints or costs of crossed arcs.

    Parameters
    ----------
    loaded : LoadedModel
    options : CandidateOptions

    Raises
    ------
    ModelError
        If the model has no tagger.
    ConfigError
        If the model has parts without compiled automata.
    """

    def __init__(self, loaded: LoadedModel, options: CandidateOptions):
        names = [part_type.name for part_type in loaded.scorer.types]
        types = joint_types(names)
        if types is None:
            raise ConfigError("parts", f"tags are not decided with the part types {','.join(names)}")
        if loaded.analyzer is None or loaded.analyzer.tagger is None:
            raise ModelError(f"the model has no tagger, which joint decoding needs; {_REASONS}")
        self.types, self.tagger, self.lemmatizer = types, loaded.analyzer.tagger, loaded.analyzer.lemmatizer
        self.columns, self.options, self.tables = loaded.analyzer.tag_columns, options, joint_tables(loaded.scorer)

    def __call__(self, batch: Batch) -> Batch:
        """Parse the sentences in which a word has several candidates jointly, the others by the usual stages."""
        tagged = tag(batch)
        candidates = self.propose(batch, tagged)
        chosen, rest = ([i for i, own in enumerate(candidates) if (own is None) == usual] for usual in (False, True))
        sentences, parses, parts = list(tagged.sentences), dict[int, Parse](), list[tuple[list[int], Batch]]()
        if rest:
            parts.append((rest, run_stages(tagged.select(rest), STAGES[1:])))
        if chosen:
            own = [each for each in candidates if each is not None]
            parts.append((chosen, self.parse(tagged.select(chosen), own)))
        for numbers, part in parts:
            for i, sentence, parse in zip(numbers, part.sentences, part.parses, strict=True):
                sentences[i], parses[i] = sentence, parse
        return tagged._replace(sentences=sentences, parses=[parses[i] for i in range(len(sentences))])

    def parse(self, batch: Batch, candidates: Sequence[Candidates]) -> Batch:
        """Parse sentences with candidates; a single one that needs too much memory, by the usual stages."""
        request = replace(batch.request, nbest=1, crossing=0.0, full=False, constraints="none")
        try:
            return collect(label(self.decide(prune(encode(batch._replace(request=request))), candidates)))
        except (MemoryError, SizeError):
            if len(batch.sentences) > 1:  # each is then tried by itself
                raise
            return run_stages(batch, STAGES[1:])

    def propose(self, batch: Batch, tagged: Batch) -> list[Candidates | None]:
        """Return the candidates of the sentences in which a word has several; ``tagged`` have the best tags."""
        candidates, lacking = list[Candidates | None](), list[list[str]]()
        for given, best, chain in zip(batch.sentences, tagged.sentences, self.chains(batch), strict=True):
            found = self.candidates(given, best, chain, batch.request, lacking) if chain is not None else None
            candidates.append(found if found is not None and len(found.rows) > len(best) else None)
        if lacking and self.lemmatizer is not None:
            words = [(row[1], row[UPOS], row[XPOS], row[FEATS]) for row in lacking]
            for row, lemma in zip(lacking, self.lemmatizer.lemmas(words), strict=True):
                row[LEMMA] = lemma
        return candidates

    def decide(self, batch: Batch, candidates: Sequence[Candidates]) -> Batch:
        """Find the best tree of each sentence with its tags, and replace the sentences and their tokens."""
        found = [decode_jointly(problem, batch.request.options) for problem in self.problems(batch, candidates)]
        chosen = zip(batch.sentences, candidates, (each.tags for each in found), strict=True)
        sentences = [with_tags(*each) for each in chosen]
        pairs = zip(map(batch.loaded.encoder.encode, sentences), batch.tokens, strict=True)
        tokens = [own._replace(encoded=before.encoded) for own, before in pairs]
        results = [cast("SearchResult", [each.decoded]) for each in found]
        return batch._replace(sentences=sentences, tokens=tokens, joined=join(tokens), found=results)

    def chains(self, batch: Batch) -> list[TagChain | None]:
        """Return the candidates of each sentence that has no tags, or whose tags are to be replaced."""
        tags, chosen = batch.request.tags, list[bool]()
        for sentence in batch.sentences:
            chosen.append(len(sentence) > 0 and (tags == "all" or (tags == "missing" and _lacks_all(sentence))))
        wanted = [s for s, joint in zip(batch.sentences, chosen, strict=True) if joint]
        keys, encoded = [row[1] for s in wanted for row in s.rows], None
        if wanted and batch.request.encoder and (scorer := batch.loaded.encoded_tags) is not None:
            encoded = scorer, scorer.hidden([s.forms for s in wanted])
        found = iter(tag_chains(self.tagger, keys, [len(s) for s in wanted], encoded))
        return [next(found) if joint else None for joint in chosen]

    def candidates(
        self, given: Sentence, sentence: Sentence, chain: TagChain, request: Request, lacking: list[list[str]]
    ) -> Candidates:
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
        kept, fewer = prune_chain(full, first, self.options.beam, self.options.most)
        scaled = ChainScores(*(self.options.weight * array for array in fewer))
        counts = (kept >= 0).sum(axis=1)
        if counts.sum() == n_nodes:
            return Candidates(counts, sentence.rows, scaled)
        replaced = [request.tags == "all" or row[LEMMA] == "_" for row in given.rows]
        return Candidates(counts, self._rows(sentence, chain, kept, replaced, lacking), scaled)

    def _rows(
        self, sentence: Sentence, chain: TagChain, kept: np.ndarray, replaced: list[bool], lacking: list[list[str]]
    ) -> list[list[str]]:
        """Return the columns of all tagged words; the first of each word has those of the tagger."""
        tags, filled = self.tagger.tags.tags, self.columns
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
                if replaced[i]:
                    lacking.append(other)
                rows.append(other)
        return rows

    def problems(self, batch: Batch, candidates: Sequence[Candidates]) -> list[JointProblem]:
        """Return the joint problem of each sentence over its candidate arcs."""
        spaces, tagged, chains, count = [], [], [], 0
        for own, tokens, arcs in zip(candidates, batch.tokens, batch.arcs, strict=True):
            spaces.append(joint_space(arcs, own.counts, self.types))
            tagged.append(encode_readings(batch.loaded.encoder, own.rows, tokens, spaces[-1][0].word))
            chains.append(own.chain)
            count += len(spaces[-1][1])
            check_count(count, "parts of a batch", tokens.n_nodes - 1)
        words = join_tagged([space for space, _ in spaces], list(batch.tokens), tagged)
        scores = score_jointly(batch.loaded.scorer, self.tables, words, spaces, *batch.loaded.tables["parser"])
        return [joint_problem(*space, own, chain) for space, own, chain in zip(spaces, scores, chains, strict=True)]


def with_tags(sentence: Sentence, candidates: Candidates, tags: np.ndarray) -> Sentence:
    """Return a sentence with the tags that were chosen, int32[N]."""
    chosen = np.cumsum(candidates.counts[:-1]) - 1 + tags[1:]
    return with_rows(sentence, [candidates.rows[e] for e in chosen.tolist()])


def _lacks_all(sentence: Sentence) -> bool:
    """Return whether a sentence has no tags."""
    return all(row[column] == "_" for row in sentence.rows for column in TAG_COLUMNS)
