"""The stages before the parser: segmenter, tagger, the tags that the parser learns from, and users' components."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from nonproj.errors import ConfigError, DataError, ModelError, one_line
from nonproj.evaluation.scores import nonprojective
from nonproj.io.batches import check_length
from nonproj.io.conll import DEPREL, FEATS, LEMMA, UPOS, XPOS
from nonproj.io.copies import with_rows
from nonproj.io.masking import HINT, MASK, MOSTLY, NOTABLE, masked_share
from nonproj.io.partial import count_crossing, is_partial
from nonproj.io.strings import FEATURES, LABEL, TAG, fits
from nonproj.learning.material import trees_of
from nonproj.learning.stage import Learnt, Stage
from nonproj.linear.component import Component, Setting
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.scoring.clusters import PREFIXES, Clusters
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vectors import VECTOR, WordNumbers, WordVectors
from nonproj.tagging.analyzer import Analyzer, jackknife, quick
from nonproj.text.segmenter import Segmenter
from nonproj.types import Sentence

_WRITTEN = {UPOS: ("UPOS", TAG), XPOS: ("XPOS", TAG), FEATS: ("FEATS", FEATURES), DEPREL: ("DEPREL", LABEL)}
"""The columns that models write, but for lemmas, which are made by edit scripts."""

VECTOR_WORDS = 50_000
"""Words of a file of vectors that a model keeps, beside those of the treebank; the figures in
``research/results/features.md`` are with as many."""

TAGGED_ALONE = 100_000
"""From this number of words on, taggers learn from the treebank alone, and not from automatically parsed sentences."""

TAG_COLUMNS = "tag_columns"
"""The array of a checkpoint that holds the tags of the training sentences."""

log = logging.getLogger("nonproj")


def usable_silver(silver: Sequence[Sentence], sentences: Sequence[Sentence], multi_root: bool) -> list[Sentence]:
    """Return the automatically parsed sentences that can be learnt from: not those with several roots, if none has.

    Warn if they have labels that the sentences of the treebank lack.
    """
    known = {label for sentence in sentences for label in sentence.labels}
    if others := sorted({label for sentence in silver for label in sentence.labels} - known):
        names = ", ".join(map(one_line, others[:3])) + (", …" if len(others) > 3 else "")
        log.warning("automatically parsed sentences have labels that the treebank lacks: %s", names)
    pairs = zip(silver, trees_of(silver), strict=True)
    found = [sentence for sentence, tree in pairs if multi_root or np.count_nonzero(tree == 0) == 1]
    if len(found) < len(silver):
        text = "%d of %d automatically parsed sentences are left out: they have several roots"
        log.warning(text, len(silver) - len(found), len(silver))
    return found


def taken(silver: Sequence[Sentence], words: float) -> int:
    """Return how many automatically parsed sentences an epoch takes, about as long as so many words together.

    Examples
    --------
    >>> taken([Sentence([["1", "Ja", *"________"]] * 10)] * 8, 40.0), taken([], 40.0)
    (4, 0)
    """
    of_all = sum(map(len, silver))
    return min(len(silver), max(1, round(words * len(silver) / of_all))) if silver else 0


def silver_for_tagger(silver: Sequence[Sentence], sentences: Sequence[Sentence], seed: int) -> list[Sentence]:
    """Return random automatically parsed sentences for a tagger, about as many words as the treebank has.

    None for a treebank of `TAGGED_ALONE` words, whose own tags teach more: see ``research/results/features.md``.
    """
    words = sum(map(len, sentences))
    if words >= TAGGED_ALONE:
        return []
    order = np.random.default_rng((seed, 17)).permutation(len(silver))
    return [silver[i] for i in np.sort(order[: taken(silver, words)])]


def load_vectors(config: Config, sentences: Sequence[Sentence]) -> WordVectors | None:
    """Return the word vectors of a configuration, those of the sentences' words among them; None without a file."""
    options = config.features
    if options.vectors is None:
        return None
    forms = {row[1] for sentence in sentences for row in sentence.rows}
    found = WordVectors.read(options.vectors, VECTOR_WORDS, forms | {form.lower() for form in forms})
    known = WordNumbers(found.words).of(sorted(forms)) >= 0
    text = "vectors of %d words with %d dimensions, for %.0f %% of the treebank's words"
    log.info(text, *found.table.shape, 100 * known.mean())
    return found


def load_features(config: Config, labelled: bool) -> tuple[dict[str, dict[str, Any]], Clusters | None]:
    """Return the templates of a configuration, and its word clusters; ``labelled`` if there are several labels.

    Raises
    ------
    ConfigError
        A template file is missing or wrong, or templates name clusters or vectors, of which there are none.
    DataError, FileError
        As `nonproj.scoring.clusters.Clusters.read`.
    """
    options, joint = config.features, config.labeler.joint and labelled
    clusters = None if options.clusters is None else Clusters.read(options.clusters)
    files = load_templates(options.folder, config.parts, joint, labelled, clusters is not None)
    if VECTOR in attributes_of(files) and options.vectors is None:
        raise ConfigError("features.vectors", f"a file of word vectors is expected; the templates name {VECTOR}")
    named = [name for name in attributes_of(files) if name in PREFIXES]
    if named and clusters is None:
        raise ConfigError("features.clusters", f"a file of word clusters is expected; the templates name {named[0]}")
    if clusters:
        if not named:
            log.warning("%s: no template names the word clusters", one_line(str(options.clusters)))
        log.info("%d words in clusters", len(clusters))
    return files, clusters


def check_sentences(sentences: Sequence[Sentence], max_words: int) -> None:
    """Raise an error if there are no sentences, or one cannot be trained on; warn if no tree or label is gold."""
    if not sentences:
        raise ConfigError("treebank.train", "there is no sentence to train on")
    known: set[tuple[int, str]] = set()
    for sentence in sentences:
        check_length(sentence, max_words)
        if sentence.heads is None:
            raise DataError(sentence.path, sentence.line, "HEAD is absent (_); training needs gold heads")
        check_columns(sentence, known)
    _check_forms(sentences)
    if not any(set(sentence.labels) - {"_"} for sentence in sentences):
        path, flat = one_line(sentences[0].path), not any((tree[1:] > 0).any() for tree in trees_of(sentences))
        if flat:
            log.warning("%s: all heads are 0 and all labels are _; a treebank with gold trees is expected", path)
        else:
            log.warning("%s: all labels are _; labels are not learnt, and parses have none", path)


def _check_forms(sentences: Sequence[Sentence]) -> None:
    """Raise `DataError` if most words are masked; warn if some are."""
    share = masked_share(sentences)
    if share <= NOTABLE:
        return
    first = next(sentence for sentence in sentences if MASK in sentence.forms)
    message = f"{100 * share:.0f} % of the words are {MASK}: {HINT}"
    if share > MOSTLY:
        raise DataError(first.path, first.line, message)
    log.warning("%s", one_line(f"{first.path}: {message}"))


def check_columns(sentence: Sentence, known: set[tuple[int, str]]) -> None:
    """Raise `DataError` if a model could not store a tag or label of a sentence, which it would write one day.

    What it only looks up, such as a form, may be anything: the model does without it.  ``known`` are columns and
    strings that were found to be right; new ones are added.
    """
    for number, row in enumerate(sentence.rows):
        for column, (name, kind) in _WRITTEN.items():
            text = row[column]
            if (column, text) in known:
                continue
            if not fits(text, kind):
                line = sentence.line + (sentence.word_lines[number] if sentence.word_lines else 0)
                if not text:
                    raise DataError(sentence.path, line, f"{name} is empty; a value or _ expected")
                limits = f"up to {kind.longest} characters, none of control, are expected for training"
                raise DataError(sentence.path, line, f"{name} is {text[:100]!r}; {limits}")
            known.add((column, text))


class SegmenterStage(Stage):
    """The segmenter of plain text."""

    name, kind = "segmenter", Segmenter

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Learn from the sentences' text, if there is any."""
        config = setting.config
        if not config.segmenter.epochs:
            return Learnt()
        began = time.perf_counter()
        segmenter = Segmenter.fit(sentences, config.segmenter, config.seed, setting.progress)
        log.info("segmenter: %.1f s, %s", time.perf_counter() - began, segmenter.description)
        return Learnt(segmenter, segmenter.state())


class TaggerStage(Stage):
    """The tagger, and the sentences with the tags that later stages learn from.

    These are gold or jackknifed, as ``training.tags`` says, or a copy with each; copies are neighbours.  A parser that
    has only seen gold tags does not know the mistakes of its tagger; with jackknifing, each sentence has the tags of a
    tagger that was trained on the other folds.  One that has seen both parses either well.
    """

    name, kind = "tagger", Analyzer

    def __init__(self, vectors: WordVectors | None = None):
        self.vectors = vectors

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Learn the columns LEMMA to FEATS, unless all are empty."""
        config, progress = setting.config, setting.progress
        if not config.tagger.epochs or not _are_tagged(sentences):
            return Learnt(predicted=[*sentences, *setting.silver])
        began, folder = time.perf_counter(), config.features.folder
        tagged = _are_tagged_like(setting.silver, sentences)
        lacking = lack_tags(sentences)
        learnt = [sentence for sentence, lacks in zip(sentences, lacking, strict=True) if not lacks]
        silver = silver_for_tagger(setting.silver if tagged else (), learnt, config.seed)
        analyzer = Analyzer.fit([*learnt, *silver], config.tagger, config.seed, progress, folder, self.vectors)
        log.info("tagger: %.1f s", time.perf_counter() - began)
        if any(lacking):
            log.info("%d sentences lack tags, which are predicted", len(sentences) - len(learnt))
            filled = iter(analyzer.annotate([s for s, lacks in zip(sentences, lacking, strict=True) if lacks]))
            pairs = zip(sentences, lacking, strict=True)
            sentences = [with_rows(sentence, next(filled)) if lacks else sentence for sentence, lacks in pairs]
        versions = [list(sentences)]
        if config.training.tags != "gold" and len(learnt) > 1:
            began = time.perf_counter()
            folds = min(config.tagger.folds, len(learnt))
            rows = iter(jackknife(learnt, config.tagger, folds, config.seed, progress, folder, self.vectors))
            pairs = zip(sentences, lacking, strict=True)
            versions.append([s if lacks else retagged(s, next(rows)) for s, lacks in pairs])
            log.info("tags of %d folds: %.1f s", folds, time.perf_counter() - began)
        versions = versions if config.training.tags == "both" else versions[-1:]
        predicted = [sentence for copies in zip(*versions, strict=True) for sentence in copies]
        if tagged and config.training.tags == "gold":
            predicted += setting.silver
        else:
            predicted += self._tagged(sentences, setting, None if silver else analyzer)
        return (
            Learnt(analyzer, analyzer.state(), predicted=predicted) if analyzer.columns else Learnt(predicted=predicted)
        )

    def _tagged(self, sentences: Sequence[Sentence], setting: Setting, analyzer: Analyzer | None) -> list[Sentence]:
        """Return the automatically parsed sentences with tags of a tagger that has learnt from the treebank alone.

        One is trained unless it is given.
        """
        config, silver = setting.config, list(setting.silver)
        if not silver:
            return []
        if analyzer is None:
            options, folder = quick(config.tagger), config.features.folder
            analyzer = Analyzer.fit(sentences, options, config.seed, setting.progress, folder, self.vectors)
        rows = analyzer.annotate(silver, overwrite=True)
        return [with_rows(*pair) for pair in zip(silver, rows, strict=True)]

    def pack(self, predicted: list[Sentence]) -> dict[str, np.ndarray]:
        """Return the tags of the sentences."""
        return {TAG_COLUMNS: pack_tags(predicted)}

    def unpack(self, saved: Model, sentences: Sequence[Sentence], setting: Setting) -> list[Sentence]:
        """Return the sentences with the tags in a checkpoint."""
        both = self.name in saved.components and setting.config.training.tags == "both" and len(sentences) > 1
        repeated = [sentence for sentence in sentences for _ in range(2 if both else 1)]
        return unpack_tags(saved.weights.get(TAG_COLUMNS), [*repeated, *setting.silver])


class ClusterStage(Stage):
    """The word clusters, which somebody else has learnt."""

    name, kind = "clusters", Clusters

    def __init__(self, clusters: Clusters | None):
        self.clusters = clusters

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Return the clusters."""
        return Learnt(self.clusters, self.clusters.state() if self.clusters else None)


class OtherStage(Stage):
    """A component that is not one of ours."""

    def __init__(self, component: type[Component]):
        self.name, self.needs, self.kind = component.name, component.needs, component

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Fit it."""
        began, found = time.perf_counter(), self.kind.fit(sentences, setting)
        log.info("%s: %.1f s", self.name, time.perf_counter() - began)
        return Learnt(found, found.state() if found else None)


def retagged(sentence: Sentence, rows: list[list[str]]) -> Sentence:
    """Return a copy of a sentence with other tags; rows that are equal, as most are, are not stored twice.

    Examples
    --------
    >>> sentence = Sentence([["1", "Regn", "regn", "N", *"______"], ["2", ".", ".", "T", *"______"]])
    >>> copy = retagged(sentence, [["1", "Regn", "regn", "V", *"______"], ["2", ".", ".", "T", *"______"]])
    >>> [row is own for row, own in zip(copy.rows, sentence.rows)], copy.rows[0][3]
    ([False, True], 'V')
    """
    shared = [own if own == row else row for own, row in zip(sentence.rows, rows, strict=True)]
    return with_rows(sentence, shared)


def pack_tags(sentences: Sequence[Sentence]) -> np.ndarray:
    """Return the columns LEMMA to FEATS of all words as one array of bytes, uint8: a line of text for each word.

    Examples
    --------
    >>> sentence = Sentence([["1", "Regn", "regn", "N", "NC", "_", "0", "ROOT", "_", "_"]])
    >>> packed = pack_tags([sentence])
    >>> packed.tobytes()
    b'regn\\tN\\tNC\\t_'
    >>> unpack_tags(packed, [sentence])[0].rows == sentence.rows
    True
    """
    texts = ("\n".join("\t".join(row[LEMMA : FEATS + 1]) for row in s.rows) for s in sentences if s.rows)
    return np.frombuffer(b"\n".join(text.encode("utf-8", "surrogatepass") for text in texts), np.uint8)


def unpack_tags(packed: np.ndarray | None, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences with the tags from `pack_tags`; raise `ModelError` if they are of other sentences."""
    if packed is None:
        raise ModelError("it has the tags of other sentences")
    try:
        lines = iter(packed.tobytes().decode("utf-8", "surrogatepass").split("\n"))
        tagged = []
        for sentence in sentences:
            rows = []
            for row in sentence.rows:
                columns = next(lines).split("\t")
                if len(columns) != FEATS + 1 - LEMMA:
                    raise ValueError
                rows.append([*row[:LEMMA], *map(sys.intern, columns), *row[FEATS + 1 :]])
            tagged.append(retagged(sentence, rows))
        if next(lines, None) is not None:
            raise ValueError
    except (StopIteration, ValueError):
        raise ModelError("it has the tags of other sentences") from None
    return tagged


def lack_tags(sentences: Sequence[Sentence]) -> list[bool]:
    """Return which sentences with partial trees have words without a tag, from which no tagger is to learn.

    None has, if all have: the treebank then has words without tags.

    Examples
    --------
    >>> rows = [["1", "Regn", *"________"]], [["1", "Regn", "_", "N", "_", "_", "0", "ROOT", "_", "_"]]
    >>> lack_tags([Sentence(rows[0], np.array([-1, -1])), Sentence(rows[1], np.array([-1, 0]))])
    [True, False]
    """
    used = [column for column in (UPOS, XPOS) if any(row[column] != "_" for s in sentences for row in s.rows)]
    lacking = [
        bool(used) and is_partial(sentence) and any(all(row[c] == "_" for c in used) for row in sentence.rows)
        for sentence in sentences
    ]
    return [False] * len(lacking) if all(lacking) else lacking


def _are_tagged_like(silver: Sequence[Sentence], sentences: Sequence[Sentence]) -> bool:
    """Return whether automatically parsed sentences have values in each column in which the treebank has some."""
    filled = [
        {column for column in range(LEMMA, FEATS + 1) if any(row[column] != "_" for s in each for row in s.rows)}
        for each in (sentences, silver)
    ]
    missing = sorted(filled[0] - filled[1])
    if silver and missing:
        name = _WRITTEN[missing[-1]][0] if missing[-1] in _WRITTEN else "LEMMA"
        log.warning("the automatically parsed sentences have no %s; the tagger does not learn from them", name)
    return not missing


def _are_tagged(sentences: Sequence[Sentence]) -> bool:
    """Return whether any word has a tag, features or a lemma."""
    return any(set(row[LEMMA : FEATS + 1]) != {"_"} for sentence in sentences for row in sentence.rows)


def nonprojective_share(sentences: Sequence[Sentence]) -> float:
    """Return the share of non-projective arcs; of partial trees, what is known of it."""
    trees = trees_of(sentences)
    whole = [nonprojective(tree[1:]) for tree in trees if (tree[1:] >= 0).all()]
    partial = [tree for tree in trees if (tree[1:] < 0).any()]
    given = sum(map(len, whole)) + sum(int(np.count_nonzero(tree >= 0)) for tree in partial)
    return (sum(int(flags.sum()) for flags in whole) + count_crossing(partial)) / given
