"""What is trained before the parser: the segmenter, the tagger, and the tags that the parser learns from."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.confidence.classifier import Classifier
from nonproj.errors import ConfigError, DataError, ModelError, one_line
from nonproj.io.batches import check_length
from nonproj.io.conll import DEPREL, FEATS, LEMMA, UPOS, XPOS, with_rows
from nonproj.io.strings import FEATURES, LABEL, TAG, fits
from nonproj.linear.component import Component, Setting, register
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.scoring.clusters import PREFIXES, Clusters
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.tagging.analyzer import Analyzer, jackknife
from nonproj.text.segmenter import Segmenter
from nonproj.types import Sentence

_WRITTEN = {UPOS: ("UPOS", TAG), XPOS: ("XPOS", TAG), FEATS: ("FEATS", FEATURES), DEPREL: ("DEPREL", LABEL)}
"""The columns that models write, but for lemmas, which are made by edit scripts."""

TAG_COLUMNS = "tag_columns"
"""The array of a checkpoint that holds the tags of the training sentences."""

log = logging.getLogger("nonproj")


class Prepared(NamedTuple):
    """The components of a model beside its parser, and the sentences to train the parser on.

    Attributes
    ----------
    components : dict of str to dict
        See `nonproj.model.model.Model`.
    arrays : dict of str to ndarray
        Their arrays, as ``COMPONENT.NAME``.
    sentences : list of Sentence
        The training sentences, with gold or predicted tags, or a copy with each.
    copies : int
        How often each sentence occurs; its copies are neighbours.
    """

    components: dict[str, dict[str, Any]]
    arrays: dict[str, np.ndarray]
    sentences: list[Sentence]
    copies: int = 1

    def add(self, name: str, state: tuple[dict[str, Any], dict[str, np.ndarray]] | None) -> None:
        """Add a component, if there is a state of it."""
        if state is not None:
            _add(name, state, self.components, self.arrays)

    def checkpoint_arrays(self) -> dict[str, np.ndarray]:
        """Return what `restore` needs beside the components, the arrays included."""
        return self.arrays | {TAG_COLUMNS: pack_tags(self.sentences)}


def load_features(config: Config, labelled: bool) -> tuple[dict[str, dict[str, Any]], Clusters | None]:
    """Return the templates of a configuration, and its word clusters; ``labelled`` if there are several labels.

    Raises
    ------
    ConfigError
        A template file is missing or wrong, or templates name clusters, of which there are none.
    DataError, FileError
        As `nonproj.scoring.clusters.Clusters.read`.
    """
    options, joint, pairs = config.features, config.labeler.joint and labelled, config.labeler.pairs and labelled
    clusters = None if options.clusters is None else Clusters.read(options.clusters)
    files = load_templates(options.folder, config.parts, joint, pairs, clusters is not None)
    named = [name for name in attributes_of(files) if name in PREFIXES]
    if named and clusters is None:
        raise ConfigError("features.clusters", f"a file of word clusters is expected; the templates name {named[0]}")
    if clusters:
        if not named:
            log.warning("%s: no template names the word clusters", one_line(str(options.clusters)))
        log.info("%d words in clusters", len(clusters))
    return files, clusters


def check_sentences(sentences: Sequence[Sentence], max_words: int) -> None:
    """Raise an error if there are no sentences, or one cannot be trained on; warn if no tree is gold."""
    if not sentences:
        raise ConfigError("treebank.train", "there is no sentence to train on")
    known: set[tuple[int, str]] = set()
    for sentence in sentences:
        check_length(sentence, max_words)
        if sentence.heads is None:
            raise DataError(sentence.path, sentence.line, "HEAD is absent (_); training needs gold heads")
        check_columns(sentence, known)
    if not any(sentence.heads.any() or set(sentence.labels) - {"_"} for sentence in sentences):
        path = one_line(sentences[0].path)
        log.warning("%s: all heads are 0 and all labels are _; a treebank with gold trees is expected", path)


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


def prepare(
    sentences: Sequence[Sentence],
    config: Config,
    progress: Callable[..., Any],
    others: Sequence[type[Component]] = (),
) -> Prepared:
    """Train segmenter and tagger, and replace the gold tags by jackknifed ones if ``training.tags`` says so.

    A parser that has only seen gold tags does not know the mistakes of its tagger; with jackknifing, each sentence has
    the tags of a tagger that was trained on the other folds.  One that has seen both parses either well.
    """
    components, arrays, folder = {}, {}, config.features.folder
    versions = [list(sentences)]
    if config.segmenter.epochs:
        began = time.perf_counter()
        segmenter = Segmenter.fit(sentences, config.segmenter, config.seed, progress)
        _add("segmenter", segmenter.state(), components, arrays)
        log.info("segmenter: %.1f s, %s", time.perf_counter() - began, segmenter.description)
    if config.tagger.epochs and _are_tagged(sentences):
        began = time.perf_counter()
        analyzer = Analyzer.fit(sentences, config.tagger, config.seed, progress, folder)
        if analyzer.columns:
            _add("tagger", analyzer.state(), components, arrays)
        log.info("tagger: %.1f s", time.perf_counter() - began)
        if config.training.tags != "gold" and len(sentences) > 1:
            began = time.perf_counter()
            folds = min(config.tagger.folds, len(sentences))
            rows = jackknife(sentences, config.tagger, folds, config.seed, progress, folder)
            versions.append([with_rows(*pair) for pair in zip(sentences, rows, strict=True)])
            log.info("tags of %d folds: %.1f s", folds, time.perf_counter() - began)
    fitted: dict[str, Component] = {}
    for component in others:
        began, found = time.perf_counter(), component.fit(sentences, Setting(config, progress, dict(fitted)))
        if found is not None:
            register(component)
            fitted[component.name] = found
            _add(component.name, found.state(), components, arrays)
        log.info("%s: %.1f s", component.name, time.perf_counter() - began)
    versions = versions if config.training.tags == "both" else versions[-1:]
    return Prepared(components, arrays, [s for copies in zip(*versions, strict=True) for s in copies], len(versions))


def restore(saved: Model, sentences: Sequence[Sentence]) -> Prepared:
    """Return what `prepare` returned before the checkpoint was written.

    Raises
    ------
    ModelError
        The checkpoint's components or tags are unsound: its digest says only what it is of.
    """
    arrays = {name: array for name, array in saved.weights.items() if name.partition(".")[0] in saved.components}
    for name, component in (
        ("tagger", Analyzer),
        ("segmenter", Segmenter),
        ("confidence", Classifier),
        ("clusters", Clusters),
    ):
        if state := saved.component(name):
            component.from_state(*state)
    saved.registered()
    both = "tagger" in saved.components and saved.config.training.tags == "both" and len(sentences) > 1
    copies = 2 if both else 1
    repeated = [sentence for sentence in sentences for _ in range(copies)]
    return Prepared(saved.components, arrays, unpack_tags(saved.weights.get(TAG_COLUMNS), repeated), copies)


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
    lines = ["\t".join(row[LEMMA : FEATS + 1]) for sentence in sentences for row in sentence.rows]
    return np.frombuffer("\n".join(lines).encode("utf-8", "surrogatepass"), np.uint8)


def unpack_tags(packed: np.ndarray | None, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences with the tags from `pack_tags`; raise `ModelError` if they are of other sentences."""
    try:
        lines = iter(packed.tobytes().decode("utf-8", "surrogatepass").split("\n"))
        tagged = []
        for sentence in sentences:
            rows = []
            for row in sentence.rows:
                columns = next(lines).split("\t")
                if len(columns) != FEATS + 1 - LEMMA:
                    raise ValueError
                rows.append(row[:LEMMA] + columns + row[FEATS + 1 :])
            tagged.append(with_rows(sentence, rows))
        if next(lines, None) is not None:
            raise ValueError
    except (AttributeError, StopIteration, ValueError):
        raise ModelError("the checkpoint has the tags of other sentences; train without --resume") from None
    return tagged


def _are_tagged(sentences: Sequence[Sentence]) -> bool:
    """Return whether any word has a tag, features or a lemma."""
    return any(set(row[LEMMA : FEATS + 1]) != {"_"} for sentence in sentences for row in sentence.rows)


def _add(
    name: str, state: tuple[dict[str, Any], dict[str, np.ndarray]], components: dict[str, Any], arrays: dict[str, Any]
) -> None:
    """Add a component's state to those of the model."""
    components[name] = state[0]
    arrays.update({f"{name}.{key}": array for key, array in state[1].items()})
