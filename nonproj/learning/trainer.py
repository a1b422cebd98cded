"""Training of a whole model: stages, each of which learns from the results of earlier ones, and last the parser.

`Trainer.before` are the stages that learn from the sentences as they are; `Trainer.stages` learn from the sentences as
numbers, with predicted tags.  The parser is learnt epoch by epoch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nonproj import __version__
from nonproj.automata.compiled import check_decodable
from nonproj.dual.options import dual_options
from nonproj.errors import ConfigError
from nonproj.evaluation.parsing import evaluate_parser, tested_tags
from nonproj.io.partial import given_words
from nonproj.learning.checkpoint import HISTORY, CheckpointFile, check_history, shards_of, stages_of, training_digest
from nonproj.learning.confidence import ConfidenceStage
from nonproj.learning.encoders.stage import EncoderStage
from nonproj.learning.epochs import Epochs
from nonproj.learning.label_numbers import arranged, label_set
from nonproj.learning.labeler import LabelerStage
from nonproj.learning.material import Material, trees_of
from nonproj.learning.memory import release_memory
from nonproj.learning.mixing import Shards, check_shards
from nonproj.learning.network import NetworkStage
from nonproj.learning.partial import allowed_by, held_out_trees, with_trees
from nonproj.learning.preparation import (
    ClusterStage,
    OtherStage,
    SegmenterStage,
    TaggerStage,
    check_sentences,
    load_features,
    load_vectors,
    nonprojective_share,
    taken,
    usable_silver,
)
from nonproj.learning.pruner import PrunerStage, pruning_figures
from nonproj.learning.stage import Learnt, Stage
from nonproj.linear.component import Component, Setting, check_order, register
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.registry import part_set
from nonproj.pipeline.parser import Parser
from nonproj.scoring.templates import attributes_of
from nonproj.scoring.vocabulary import FEAT, Encoder, prefer_coarse
from nonproj.types import ArcSpace, Int16s, Sentence

LEARNING = 7
"""Raised with every change by which the same options, templates and sentences give another model: figures that were
measured before are then shown to be of an earlier version (``research/experiments/provenance.py``).  Fine-tuning of
encoders is left out, because it depends on the version of PyTorch and the processor, too."""

MIN_COUNT = 1
"""Every string of the training sentences is known, even if it occurs once: hashed features need no cutoff."""

PROJECTIVE_BELOW = 0.001
"""Parsers return projective trees by default if a smaller share of the training arcs is non-projective.

Chosen on held-out sentences (``research/results/accuracy.md``): UAS rises with a share of 0 and falls from 0.18 % on.
"""

PARSER = "parser"
"""The name of the last stage, of which a checkpoint has some epochs."""

log = logging.getLogger("nonproj")


def train(  # noqa: PLR0913 (options by name, for users)
    sentences: Sequence[Sentence],
    config: Config,
    *,
    held_out: Sequence[Sentence] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Callable[..., Any] | None = None,
    workers: Any = None,
    shards: int | None = None,
    processes: Any = None,
    components: Sequence[type[Component]] = (),
    silver: Sequence[Sentence] = (),
) -> Model:
    """Train a parser.

    Parameters
    ----------
    sentences : sequence of Sentence
        With gold heads and labels, of some words at least: see ``treebank.partial``.
    config : Config
    held_out : sequence of Sentence, optional
        Parsed after each epoch; not trained on.
    checkpoint : Path, optional
        Written after each stage and each epoch; the caller removes it once the model is saved.
    resume : bool
        Continue from the checkpoint, which must be of the same sentences and configuration; only the number of epochs
        may differ.
    progress : callable, optional
        ``progress(iterable, description)`` wraps the long loops, as ``tqdm`` does.
    workers : InProcess or Cluster, optional
        Workers that train the parser by iterative parameter mixing; see `nonproj.workers.pool`.
    shards : int, optional
        Number of shards; by default that of the checkpoint, or else one for each worker.
    processes : Processes, optional
        Worker processes that train the perceptrons of ``training.models`` in parallel.
    components : sequence of Component, optional
        Components of your own that the model has, too, in this order; see `nonproj.linear.component`.
    silver : sequence of Sentence, optional
        Automatically parsed sentences, from which tagger, labeler, network and parser learn, too; an epoch takes as
        many as ``treebank.silver_share`` says.  Not for ``workers``.

    Returns
    -------
    Model
        After Ctrl-C, the averaged model of the last complete epoch, with ``meta["interrupted"]`` true.

    Raises
    ------
    DataError
        If no sentence has a gold head, the given heads cannot be in a tree, or a sentence is longer than
        ``decoding.max_words``.
    ConfigError
        If there is nothing to train on, or the checkpoint is of other sentences or options.
    ModelError
        If the checkpoint is damaged, or training cannot continue from what it holds.
    ClusterError
        If workers cannot be reached; the checkpoint is that of the last complete epoch.

    Examples
    --------
    >>> model = train(conll.read_all("train.conllu"), Config())  # doctest: +SKIP
    """
    progress = progress or (lambda items, _: items)
    trainer = Trainer(sentences, config, held_out or [], checkpoint, progress, components, silver)
    trainer.workers, trainer.shards, trainer.processes = workers, shards, processes
    return trainer.run(resume)


class Trainer:
    """One training run; see `train` for the parameters."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        config: Config,
        held_out: Sequence[Sentence],
        checkpoint: Path | None,
        progress: Callable[..., Any],
        components: Sequence[type[Component]] = (),
        silver: Sequence[Sentence] = (),
    ):
        source = config.treebank.partial
        sentences = with_trees(sentences, source)
        held_out = held_out_trees(held_out, source)
        check_sentences([*sentences, *silver] if sentences else sentences, config.decoding.max_words)
        check_decodable(part_set(config.parts))
        self.workers: Any = None
        self.shards: int | None = None
        self.processes: Any = None
        self.given, self.held_out = sentences, held_out
        self.config, self.progress = config, progress
        self.checkpoint = CheckpointFile(checkpoint)
        labels = label_set([*sentences, *silver])
        self.files, clusters = load_features(config, labelled=len(labels) > 1)
        self.vectors = load_vectors(config, [*sentences, *silver])
        own = map(OtherStage, components)
        self.before = [SegmenterStage(), TaggerStage(self.vectors), *own, ClusterStage(clusters)]
        encoder = EncoderStage(config.encoder)
        self.stages = [PrunerStage(), LabelerStage(), NetworkStage(), ConfidenceStage(encoder), encoder]
        check_order([*self.before, *self.stages])
        for component in components:
            register(component)
        self.learnt: dict[str, Learnt] = {}
        self.labels = labels
        self.vocabularies: dict[str, list[str]] = {name: [] for name in (*attributes_of(self.files), FEAT)}
        self.parser: tuple[Int16s, float] | None = None
        roots = [int(np.count_nonzero(tree == 0)) for tree in trees_of(sentences)]
        self.multi_root = config.treebank.root == "multi" or (config.treebank.root == "auto" and max(roots) > 1)
        self.silver = usable_silver(silver, sentences, self.multi_root)
        allowed_by(sentences, source, not self.multi_root)
        share = nonprojective_share(sentences)
        self.meta: dict[str, Any] = {
            "version": __version__,
            "learning": LEARNING,
            "sentences": len(sentences),
            "words": sum(len(s) for s in sentences),
            "multi_root": self.multi_root,
            "nonprojective_arcs": share,
            "projective": share < PROJECTIVE_BELOW,
            "coarse_tags": config.features.tags == "coarse"
            or (config.features.tags == "auto" and prefer_coarse(sentences)),
            "interrupted": False,
            "log": [],
        }
        if self.vectors:
            self.meta["vectors"] = {"name": Path(str(config.features.vectors)).name, "words": len(self.vectors.words)}
        if self.silver:
            self.meta["silver"] = {"sentences": len(self.silver), "words": sum(map(len, self.silver))}
        self.decoding = dual_options(config.decoding, not self.multi_root, self.meta["projective"])
        log.info("%.2f %% of the training arcs are non-projective", 100 * share)

    # -- the run

    def run(self, resume: bool) -> Model:
        """Train all stages, and then the parser, from the start or from the checkpoint."""
        began = time.perf_counter()
        saved = self._load_checkpoint() if resume else None
        names = [stage.name for stage in (*self.before, *self.stages)] + [PARSER]
        done, shards = stages_of(saved, names) if saved else [], self._shards()
        setting = Setting(self.config, self.progress, unfinished=self.checkpoint.unfinished, silver=self.silver)
        if saved is None:
            self.checkpoint.remove_unfinished()
        for stage in self.before:
            self._learn(stage, saved if stage.name in done else None, setting)
        sentences = self.learnt["tagger"].predicted
        self.material = self._encoded(sentences)
        self.labels, self.vocabularies = self.material.labels, self.material.encoder.vocabularies
        if saved and PARSER in done:
            shard_count, mask = self.shards or 1, self.material.in_epoch(0)
            steps = max(int(mask[k::shard_count].sum()) for k in range(shard_count))
            self.checkpoint.check(check_history, saved.meta, steps, self.config.training.average_from)
        setting = setting._replace(material=self.material, shards=shards)
        for stage in self.stages:
            self._learn(stage, saved if stage.name in done else None, setting)
        epochs = Epochs(self.material.pruned(self.learnt["pruner"].predicted), shards, self.processes)
        try:
            if saved and PARSER in done:
                self.checkpoint.check(epochs.resume, saved)
                self.parser = epochs.mean()
                self.meta |= {name: saved.meta[name] for name in HISTORY if name in saved.meta}
                log.info("resuming after epoch %d", len(self.meta["log"]))
            self._train_parser(epochs)
        except KeyboardInterrupt:
            if self.parser is None:
                raise
            log.warning("interrupted; the model is that of the last complete epoch")
            self.meta["interrupted"] = True
        log.info("training took %.1f s", time.perf_counter() - began)
        return self._quantised_model()

    def _learn(self, stage: Stage, saved: Model | None, setting: Setting) -> None:
        """Run a stage, or resume from it in a checkpoint."""
        fitted = {name: learnt.component for name, learnt in self.learnt.items()}
        predicted = {name: learnt.predicted for name, learnt in self.learnt.items()}
        setting = setting._replace(fitted=fitted, predicted=predicted)
        if saved:
            learnt = self.checkpoint.check(stage.resume, saved, self.given, setting)
        else:
            learnt = stage.fit(self.given, setting)
        self.learnt[stage.name] = learnt
        self.meta |= learnt.figures
        if saved is None:
            self._save_checkpoint()
            self.checkpoint.remove_unfinished()
        release_memory()

    def _encoded(self, sentences: Sequence[Sentence]) -> Material:
        """Return sentences as numbers, with the tags that the parser learns from."""
        clusters, coarse = self.learnt["clusters"].component, bool(self.meta["coarse_tags"])
        attributes = attributes_of(self.files)
        with_vectors = self.vectors.words if self.vectors else ()
        encoder = Encoder.from_sentences(sentences, attributes, MIN_COUNT, clusters, coarse, with_vectors)
        tokens = [encoder.encode(sentence) for sentence in sentences]
        labels, gold, lines = arranged(self.files, encoder, sentences, tokens)
        return Material(
            self.config,
            self.files,
            encoder,
            labels,
            lines,
            self.multi_root,
            self.decoding,
            self.progress,
            sentences,
            tokens,
            gold,
            np.arange(len(sentences)),
            vectors=self.vectors,
            silver=len(self.silver),
            allowed=allowed_by(sentences, self.config.treebank.partial, not self.multi_root),
            bare=np.array([i for i, sentence in enumerate(sentences) if not given_words(sentence).any()], np.int64),
            taken=taken(self.silver, self.config.treebank.silver_share * self.meta["words"]),
        )

    def _shards(self) -> Shards | None:
        """Return workers and shards, by default one shard for each worker."""
        if self.workers and self.shards is None:
            self.shards = min(self.workers.size, len(self.given))
        if self.shards and self.silver:
            raise ConfigError("treebank.silver", "excludes training by workers with shards")
        if self.shards:
            check_shards(self.shards, len(self.given))
            self.meta["shards"] = self.shards
        return Shards(self.workers, self.shards) if self.workers and self.shards else None

    def _model(self, arrays: dict[str, np.ndarray]) -> Model:
        """Return a model with these arrays and the components that have been learnt."""
        model = Model(self.config, self.vocabularies, self.files, self.labels, arrays, self.meta)
        for name, learnt in self.learnt.items():
            model.add_component(name, learnt.state)
        return model

    def _tables(self) -> dict[str, np.ndarray]:
        """Return the tables of all stages, float32."""
        return {name: learnt.weights for name, learnt in self.learnt.items() if learnt.weights is not None}

    def _quantised_model(self) -> Model:
        """Return the model as parsers use it, its weights of 16 bits."""
        assert self.parser is not None
        return self._model(self.material.rounded(self._tables(), self.meta, parser=self.parser))

    # -- the parser

    def _train_parser(self, epochs: Epochs) -> None:
        """Train for the epochs that the log lacks, and save a checkpoint after each."""
        for epoch in range(len(self.meta["log"]), self.config.training.epochs):
            began = time.perf_counter()
            missed = epochs.run(epoch)
            seconds = time.perf_counter() - began
            self.parser = epochs.mean()
            self._finish_epoch(epoch, missed, seconds)
            self._save_checkpoint(epochs)

    def _finish_epoch(self, epoch: int, missed: int, seconds: float) -> None:
        """Evaluate, log the epoch, and keep its figures for the model."""
        entry = {"epoch": epoch + 1, "mistakes": missed}  # no times: the same training makes the same file
        text = f"epoch {epoch + 1}: {seconds:.1f} s, {missed} training mistakes"
        if self.held_out:
            figures = self._evaluate()
            entry |= figures
            uas, las = ("–" if each is None else f"{100 * each:.2f}" for each in (figures["uas"], figures["las"]))
            text += f"; held-out UAS {uas}, LAS {las}, certified {100 * figures['certified']:.1f} %"
        self.meta["log"].append(entry)
        log.info(text)

    def _evaluate(self) -> dict[str, Any]:
        """Return accuracies (None if there is only punctuation) and the share of certified held-out trees."""
        spaces: list[ArcSpace] = []
        parser = Parser(self._quantised_model(), tags=tested_tags(self.config))
        held_out = self.progress(self.held_out, "held-out")
        evaluation = evaluate_parser(parser, held_out, on_parse=lambda parse: spaces.append(parse.arcs))
        if not self.meta["log"]:
            self.meta["pruning_held-out"] = pruning_figures("held-out", self.held_out, spaces)
        figures = evaluation.as_dict()
        scores = figures["without_punctuation"]
        return {"uas": scores["uas"], "las": scores["las"], "certified": figures["certificates"]["certified"]}

    # -- checkpoints

    def _save_checkpoint(self, epochs: Epochs | None = None) -> None:
        """Write a checkpoint of all that has been learnt."""
        if self.checkpoint.path is None:
            return
        arrays, names = self._tables(), list(self.learnt)
        for stage in (*self.before, *self.stages)[: len(names)]:
            arrays |= stage.pack(self.learnt[stage.name].predicted)
        training = self._digest()
        if epochs:
            self.meta |= {"step": epochs.step, "training": training}
            arrays |= epochs.arrays()
            names.append(PARSER)
        self.checkpoint.save(self._model(arrays), training, names)

    def _load_checkpoint(self) -> Model | None:
        """Return the checkpoint, if there is one; it must be of this input."""
        saved = self.checkpoint.load()
        if saved:
            if self.workers and self.shards is None:
                self.shards = shards_of(saved)
            self.checkpoint.check_training(saved, self._digest())
        return saved

    def _digest(self) -> str:
        return training_digest([*self.given, *self.silver], self.config, self.files, self.shards, self.vectors)
