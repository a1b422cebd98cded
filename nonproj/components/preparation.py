"""Preparation of training: checks of the treebank, the files that options name, and properties of both."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nonproj import __version__
from nonproj.automata.compiled import check_decodable
from nonproj.components.base import FitContext, RunOptions, TrainingFiles
from nonproj.components.continuing import KEPT, check_continued, history_of
from nonproj.components.encoder import encoder_folder
from nonproj.dual.options import dual_options
from nonproj.errors import ConfigError, DataError, one_line
from nonproj.evaluation.scores import is_punctuation
from nonproj.io.columns import DEPREL, FEATS, MISTAKES, UPOS, XPOS
from nonproj.io.masking import HINT, MASK, MOSTLY, NOTABLE, masked_share
from nonproj.io.strings import FEATURES, LABEL, TAG, fits
from nonproj.learning.conventions import with_known_labels
from nonproj.learning.corpus import RELATED, Auxiliary, Corpus, sentences_per_epoch, trees_of
from nonproj.learning.hyperparameters import TREEBANK
from nonproj.learning.label_numbers import label_set
from nonproj.learning.partial import held_out_trees, learnable, root_words, with_trees
from nonproj.learning.piece_vectors import FETCHED, find_folder, read_piece_vectors
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.registry import part_set
from nonproj.pipeline.parser import length_error
from nonproj.scoring.clusters import PREFIXES, Clusters
from nonproj.scoring.encoders.architecture import licence_of
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vectors import VECTOR, WordNumbers, WordVectors
from nonproj.scoring.vocabulary import prefer_coarse
from nonproj.trees.crossing import count_nonprojective
from nonproj.types import Sentence

LEARNING = 15
"""Incremented whenever the same options, templates and sentences give another model: figures that were measured before
are then marked as those of an earlier version (``research/experiments/provenance.py``).  Fine-tuning of encoders is
left out, because it depends on the version of PyTorch and the processor, too."""

WRITTEN = {UPOS: ("UPOS", TAG), XPOS: ("XPOS", TAG), FEATS: ("FEATS", FEATURES), DEPREL: ("DEPREL", LABEL)}
"""The columns that models write, except lemmas, which are made by edit scripts."""

log = logging.getLogger("nonproj")


def prepare(
    sentences: Sequence[Sentence],
    config: Config,
    held_out: Sequence[Sentence] = (),
    auxiliary: Auxiliary | None = None,
    start: Model | None = None,
    run: RunOptions | None = None,
) -> tuple[Corpus, FitContext]:
    """Return the corpus and the context with which the first component is fitted.

    The parameters and the errors are those of `nonproj.components.trainer.train`.
    """
    source, auxiliary, run = config.treebank.partial, auxiliary or Auxiliary(), run or RunOptions()
    others = auxiliary.sentences
    if start:
        check_continued(start, config, sentences)
        if others:
            raise ConfigError("--from", "excludes related treebanks and automatically parsed sentences")
    treebank, held_out = with_trees(sentences, source), held_out_trees(held_out, source)
    check_sentences([*treebank, *others] if treebank else treebank, config.decoding.max_words)
    multi_root = has_several_roots(treebank, config, start)
    treebank = learnable(treebank, source, dual_options(config.decoding, not multi_root).single_root)
    if auxiliary.is_related:
        others = with_known_labels(others, treebank)
    check_decodable(part_set(config.parts))
    files, known = load_files(config, [*treebank, *others], start), start.meta if start else {}
    share, projective = projectivity(treebank)
    others = usable(replace(auxiliary, sentences=others), treebank, multi_root)
    tags = config.features.tags
    meta: dict[str, Any] = {
        "version": __version__,
        "learning": LEARNING,
        "sentences": len(treebank),
        "words": sum(map(len, treebank)),
        "multi_root": multi_root,
        "nonprojective_arcs": share,
        "projective": projective and known.get("projective") is not False,
        "coarse_tags": tags == "coarse" or (tags == "auto" and prefer_coarse(treebank)),
        "interrupted": False,
        "log": [],
    }
    if not start and np.mean([is_punctuation(s.forms[-1]) for s in treebank]) < TREEBANK.punctuated_from:
        meta["unpunctuated"] = True
    meta |= {name: known[name] for name in KEPT if name in known}
    meta |= {"continued": history_of(start)} if start else {}
    if files.vectors and not start:
        meta["vectors"] = facts_of(files.vectors, str(config.features.vectors))
    if others:
        meta[auxiliary.origin] = {"sentences": len(others), "words": sum(map(len, others))}
    trees = "projective" if meta["projective"] else "non-projective, too"
    log.info("%.2f %% of the training arcs are non-projective; trees are %s", 100 * share, trees)
    if "unpunctuated" in meta and config.decoding.sentences_by_trees == "auto":
        log.info("sentences do not end with punctuation: trees will decide between doubtful ones in plain text")
    words = config.treebank.silver_share * meta["words"]
    count = len(others) if auxiliary.origin == RELATED else sentences_per_epoch(others, words)
    auxiliary = replace(auxiliary, sentences=others, sentences_per_epoch=count)
    corpus = Corpus(treebank, auxiliary, held_out, config.seed, tagged=treebank)
    run = replace(run, jobs=1) if files.encoder else run  # whose training uses all cores
    return corpus, FitContext(config, run, files, start, meta=meta)


def usable(auxiliary: Auxiliary, sentences: Sequence[Sentence], multi_root: bool) -> list[Sentence]:
    """Return the auxiliary sentences to learn from, without those with several roots if the treebank has none.

    Warn if they have labels that the sentences of the treebank lack.
    """
    others, description = auxiliary.sentences, auxiliary.description
    known = {label for sentence in sentences for label in sentence.labels}
    if unknown := sorted({label for sentence in others for label in sentence.labels} - known):
        names = ", ".join(map(one_line, unknown[:3])) + (", …" if len(unknown) > 3 else "")
        log.warning("%s sentences have labels that the treebank lacks: %s", description, names)
    pairs = zip(others, trees_of(others), strict=True)
    found = [sentence for sentence, tree in pairs if multi_root or np.count_nonzero(tree == 0) == 1]
    if len(found) < len(others):
        text = "%d of %d %s sentences are left out: they have several roots"
        log.warning(text, len(others) - len(found), len(others), description)
    return found


def load_files(config: Config, sentences: Sequence[Sentence], start: Model | None) -> TrainingFiles:
    """Return the contents of the files that options name, or those of a continued model."""
    if start:
        return TrainingFiles(start.templates, start.loaded(Clusters), start.loaded(PieceVectors))
    templates, clusters = load_features(config, len(label_set(sentences)) > 1)
    return TrainingFiles(templates, clusters, load_vectors(config, sentences), encoder_folder(config.encoder))


def load_vectors(config: Config, sentences: Sequence[Sentence]) -> WordVectors | PieceVectors | None:
    """Return the configured vectors: of a file's first words and of the sentences' words, or of all words by pieces."""
    options = config.features
    if options.vectors is None:
        return None
    forms = {row[1] for sentence in sentences for row in sentence.rows}
    if folder := vectors_folder(options.vectors):
        pieces = read_piece_vectors(folder, sorted(forms))
        log.info("vectors of all words with %d dimensions, by %d pieces", pieces.dimensions, len(pieces.scores))
        return pieces
    found = WordVectors.read(options.vectors, TREEBANK.vector_words, forms | {form.lower() for form in forms})
    known = WordNumbers(found.words).of(sorted(forms)) >= 0
    text = "vectors of %d words with %d dimensions, for %.0f %% of the treebank's words"
    log.info(text, *found.table.shape, 100 * known.mean())
    return found


def vectors_folder(name: str) -> Path | None:
    """Return the folder of the encoder that gives vectors by pieces; None for a file of word vectors."""
    path = Path(name)
    if folder := find_folder(name):
        return folder
    if path.exists() or len(path.parts) > 1 or path.suffix:
        return None
    advice = f"fetch it: python data_scripts/fetch_encoder.py {name}"
    raise ConfigError("features.vectors", f"there is no file {name!r}, nor an encoder {FETCHED / name}; {advice}")


def facts_of(vectors: WordVectors | PieceVectors, name: str) -> dict[str, Any]:
    """Return the facts about word vectors for the card."""
    found: dict[str, Any] = {"name": Path(name).name}
    if isinstance(vectors, WordVectors):
        return found | {"words": len(vectors.words)}
    folder = find_folder(name)
    return found | {"pieces": len(vectors.scores), "licence": licence_of(folder / "README.md") if folder else ""}


def load_features(config: Config, labelled: bool) -> tuple[dict[str, dict[str, Any]], Clusters | None]:
    """Return the templates of a configuration, and its word clusters; ``labelled`` if there are several labels.

    Raises
    ------
    ConfigError
        A template file is missing or wrong, or templates name clusters or vectors that are absent.
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
        if len(sentence) > max_words:
            raise length_error(sentence, max_words)
        if sentence.heads is None:
            raise DataError(sentence.path, sentence.line, "HEAD is absent (_); training needs gold heads")
        check_columns(sentence, known)
    _check_forms(sentences)
    if label_set(sentences) == ["_"]:
        path, flat = one_line(sentences[0].path), not any((tree[1:] > 0).any() for tree in trees_of(sentences))
        if flat:
            log.warning("%s: all heads are 0 and all labels are _; a treebank with gold trees is expected", path)
        else:
            given = sum(label != "_" for sentence in sentences for label in sentence.labels)
            few = f"all labels but {given} are _" if given else "all labels are _"
            log.warning("%s: %s; labels are not learnt, and parses have none", path, few)


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
    """Raise `DataError` if a tag or label of a sentence, which the model will predict, cannot be stored in a model.

    Strings that it only looks up, such as forms, may be anything: invalid ones are not stored.  ``known`` are columns
    and strings that were found to be valid; new ones are added.
    """
    for number, row in enumerate(sentence.rows):
        for column, (name, kind) in WRITTEN.items():
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


def has_several_roots(sentences: Sequence[Sentence], config: Config, start: Model | None) -> bool:
    """Return whether trees may have several roots: as configured, or if too many sentences have them to be mistakes."""
    if config.treebank.root != "auto" or (start and start.meta.get("multi_root") is True):
        return config.treebank.root != "single"
    count = sum(len(root_words(sentence)) > 1 for sentence in sentences)
    least = max(MISTAKES * len(sentences), min(TREEBANK.min_sentences, len(sentences) / 2))
    if count >= least:
        log.info("%d of %d sentences have several roots: trees may have several", count, len(sentences))
    return count >= least


def projectivity(sentences: Sequence[Sentence]) -> tuple[float, bool]:
    """Return the share of non-projective arcs, an estimate for partial trees, and whether trees are projective.

    Arcs that are few, or in few sentences, may be mistakes.
    """
    given, counts = 0, []
    for tree in trees_of(sentences):
        counts.append(count_nonprojective(tree))
        given += int(np.count_nonzero(tree >= 0))
    share, crossing = sum(counts) / given, sum(count > 0 for count in counts)
    few = sum(counts) < TREEBANK.min_crossing or crossing < TREEBANK.min_sentences
    return share, share < TREEBANK.projective_below or few
