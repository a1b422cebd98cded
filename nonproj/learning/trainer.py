"""Training of a whole model: vocabularies, labeler, pruner, candidate arcs, then the perceptron, epoch by epoch."""

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
from nonproj.evaluation.parsing import evaluate_parser
from nonproj.evaluation.scores import nonprojective
from nonproj.learning.checkpoint import (
    HISTORY,
    check_checkpoint,
    load_checkpoint,
    pack_arcs,
    resumed_arcs,
    shards_of,
    state_names,
    training_digest,
)
from nonproj.learning.confidence import Shards, learn_confidence
from nonproj.learning.label_numbers import label_lines, number_labels
from nonproj.learning.labeler import fit_labeler
from nonproj.learning.material import Material
from nonproj.learning.mixing import Mixing, check_shards, learner_of, make_examples, train_apart
from nonproj.learning.network import learn_network
from nonproj.learning.perceptron import Perceptron
from nonproj.learning.preparation import check_sentences, load_features, prepare, restore
from nonproj.learning.pruner import Pruner, add_gold, candidates, count_gold, fit_pruner
from nonproj.linear.component import Component, cross_fit, in_order
from nonproj.linear.perceptron import mean_of, start_epoch
from nonproj.linear.weights import quantise
from nonproj.model.checks import COMPONENTS
from nonproj.model.model import LABEL_LINES, Model
from nonproj.options.config import Config
from nonproj.parts.registry import part_set
from nonproj.pipeline.parser import Parser
from nonproj.scoring.label_lines import TAG
from nonproj.scoring.templates import LABEL_BITS, LABELLED_ARC, attributes_of
from nonproj.scoring.vocabulary import FIRST, Encoder, prefer_coarse
from nonproj.types import ArcSpace, Sentence

LEARNING = 3
"""Raised with every change by which the same options, templates and sentences give another model: figures that were
measured before are then shown to be of an earlier version (``experiments/provenance.py``)."""

PROJECTIVE_BELOW = 0.001
"""Parsers return projective trees by default if a smaller share of the training arcs is non-projective.

Chosen on held-out sentences (``results/accuracy.md``): UAS rises with a share of 0 and falls from 0.18 % on.
"""

log = logging.getLogger("nonproj")


def train(  # noqa: PLR0913 (options by name, for users)
    sentences: Sequence[Sentence],
    config: Config,
    *,
    held_out: Sequence[Sentence] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Callable[..., Any] | None = None,
    workers=None,
    shards: int | None = None,
    processes=None,
    components: Sequence[type[Component]] = (),
) -> Model:
    """Train a parser.

    Parameters
    ----------
    sentences : sequence of Sentence
        With gold heads and labels.
    config : Config
    held_out : sequence of Sentence, optional
        Parsed after each epoch; not trained on.
    checkpoint : Path, optional
        Written after each epoch; the caller removes it once the model is saved.
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

    Returns
    -------
    Model
        After Ctrl-C, the averaged model of the last complete epoch, with ``meta["interrupted"]`` true.

    Raises
    ------
    DataError
        If a sentence has no gold heads, or is longer than ``decoding.max_words``.
    ConfigError
        If there is nothing to train on, or the checkpoint is of other sentences or options.
    ModelError
        If the checkpoint is damaged, or training cannot continue from what it holds.
    ClusterError
        If workers cannot be reached; the checkpoint is that of the last complete epoch.

    Examples
    --------
    >>> model = train(list(conll.read("train.conllu")), Config())  # doctest: +SKIP
    """
    progress = progress or (lambda items, _: items)
    trainer = Trainer(sentences, config, held_out or [], checkpoint, progress, workers, shards)
    trainer.processes, trainer.components = processes, in_order(components, COMPONENTS)
    return trainer.run(resume)


class Trainer:
    """One training run; see `train` for the parameters."""

    def __init__(
        self, sentences, config: Config, held_out, checkpoint, progress: Callable[..., Any], workers=None, shards=None
    ):
        check_sentences(sentences, config.decoding.max_words)
        check_decodable(part_set(config.parts))
        self.workers, self.shards, self.processes = workers, shards, None
        self.components: list[type[Component]] = []
        self.given, self.held_out = sentences, held_out
        self.config, self.checkpoint, self.progress = config, checkpoint, progress
        if config.training.models > 1 and not config.training.shuffle:
            raise ConfigError(
                "training.models", "the models differ in the order of the sentences: set training.shuffle"
            )
        self.labels = sorted({label for s in sentences for label in s.labels})
        self.files, self.clusters = load_features(config, labelled=len(self.labels) > 1)
        roots = [int(np.count_nonzero(s.heads == 0)) for s in sentences]
        self.multi_root = config.treebank.root == "multi" or (config.treebank.root == "auto" and max(roots) > 1)
        share = float(np.concatenate([nonprojective(s.heads) for s in sentences]).mean())
        self.meta = {
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
        self.decoding = dual_options(config.decoding, not self.multi_root, self.meta["projective"])
        log.info("%.2f %% of the training arcs are non-projective", 100 * share)

    # -- the run

    def run(self, resume: bool) -> Model:
        """Train all models, from the start or from the checkpoint."""
        began = time.perf_counter()
        saved = self._load_checkpoint() if resume else None
        if saved:
            self.prepared = restore(saved, self.given)
        else:
            self.prepared = prepare(self.given, self.config, self.progress, self.components)
        self.sentences = self.prepared.sentences
        self._encode()
        if self.workers and self.shards is None:
            self.shards = min(self.workers.size, len(self.sentences))
        if self.shards:
            check_shards(self.shards, len(self.sentences))
            self.meta["shards"] = self.shards
        self.weights: dict[str, np.ndarray] = {}
        if saved:
            spaces = resumed_arcs(saved, self.checkpoint, self.config, self.sentences, self.shards)
            self.weights = {name: saved.weights[name] for name in ("pruner", "labeler")}
            self.meta |= {name: saved.meta[name] for name in HISTORY if name in saved.meta}
            log.info("resuming after epoch %d", len(self.meta["log"]))
        else:
            self.weights["labeler"] = fit_labeler(self.material, "labeler").mean()
            spaces = self._train_pruner()
            self.material = self.material._replace(spaces=spaces)
            self.prepared.add("clusters", self.clusters and self.clusters.state())
            self.prepared.add("network", learn_network(self.material))
            workers = Shards(self.workers, self.shards) if self.workers else None
            classifier, history = learn_confidence(self.material, self.given, self.prepared, workers)
            self.meta |= history
            self.prepared.add("confidence", classifier and classifier.state())
        try:
            self._train_parser(self._perceptrons(saved), spaces)
        except KeyboardInterrupt:
            if "parser" not in self.weights:
                raise
            log.warning("interrupted; the model is that of the last complete epoch")
            self.meta["interrupted"] = True
        self.meta["seconds"] = round(self.meta.get("seconds", 0.0) + time.perf_counter() - began, 1)
        return self._quantised_model()

    def _encode(self) -> None:
        """Set encoder, tokens and the numbers of the gold labels."""
        if len(self.labels) > 1 << LABEL_BITS:
            raise ConfigError("treebank.train", f"{len(self.labels)} labels; at most {1 << LABEL_BITS} can be learnt")
        attributes, minimum = attributes_of(self.files), self.config.features.rare
        coarse = bool(self.meta["coarse_tags"])
        self.encoder = Encoder.from_sentences(self.sentences, attributes, minimum, self.clusters, coarse)
        self.attributes = self.encoder.attributes
        self.tokens = [self.encoder.encode(sentence) for sentence in self.sentences]
        self.gold_labels, self.lines = number_labels(self.sentences, self.labels), None
        if LABELLED_ARC in self.files and TAG in self.attributes:
            heads, column = [s.tree for s in self.sentences], self.attributes.index(TAG)
            shape = (FIRST + len(self.encoder.vocabularies[TAG]), len(self.labels))
            order, self.lines = label_lines(self.tokens, heads, self.gold_labels, column, shape)
            self.labels = [self.labels[i] for i in order]
            self.gold_labels = number_labels(self.sentences, self.labels)
        self.material = Material(
            self.config,
            self.files,
            self.encoder,
            self.labels,
            self.lines,
            self.multi_root,
            self.decoding,
            self.progress,
            self.sentences,
            self.tokens,
            self.gold_labels,
            np.arange(len(self.sentences)),
        )

    def _model(self, weights: dict[str, np.ndarray]) -> Model:
        vocabularies, components = self.encoder.vocabularies, self.prepared.components
        return Model(self.config, vocabularies, self.files, self.labels, weights, self.meta, components)

    def _quantised_model(self) -> Model:
        """Return the model as parsers use it, its weights of 16 bits."""
        tables = {name: quantise(weights) for name, weights in self.weights.items()}
        self.meta["scale"] = {name: scale for name, (_, scale) in tables.items()}
        arrays = {LABEL_LINES: self.lines.table} if self.lines else {}
        return self._model({name: weights for name, (weights, _) in tables.items()} | arrays | self.prepared.arrays)

    # -- stages

    def _train_pruner(self) -> list[ArcSpace]:
        """Train the pruner; return the candidate arcs of each sentence, by a pruner trained on the other folds."""
        options, material = self.config.pruner, self.material
        everything = np.arange(len(self.sentences))
        folds = everything // self.prepared.copies % max(options.folds, 1)  # copies of a sentence share a fold
        pruner = fit_pruner(material, "pruner")
        self.weights["pruner"] = pruner.weights

        def fit(rest: np.ndarray) -> Pruner:
            fold = 1 + min(set(folds.tolist()) - set(folds[rest].tolist()), default=-1)
            return fit_pruner(material._replace(chosen=rest), f"pruner fold {fold}") if fold else pruner

        def apply(pruner: Pruner, inside: np.ndarray) -> list[ArcSpace]:
            return [candidates(pruner, self.tokens[i], material) for i in inside]

        spaces = cross_fit(folds, fit, apply)
        self._report_pruning("training", self.sentences, spaces)
        for i, sentence in enumerate(self.sentences):
            spaces[i] = add_gold(spaces[i], sentence.tree)
        return spaces

    def _report_pruning(self, name: str, sentences, spaces) -> None:
        """Log how many gold arcs are candidates, and keep the figures for the model."""
        words = sum(len(s) for s in sentences)
        kept = sum(count_gold(space, s.tree) for space, s in zip(spaces, sentences, strict=True))
        arcs = sum(len(space.head) for space in spaces)
        log.info("pruning of %s: %.2f %% of gold arcs kept, %.2f heads a word", name, 100 * kept / words, arcs / words)
        self.meta[f"pruning_{name}"] = {"gold_kept": kept / words, "heads_per_word": arcs / words}

    def _perceptrons(self, saved: Model | None) -> list[Perceptron]:
        """Return the perceptrons, as many as the configuration says."""
        learner, count = learner_of(self.material), self.config.training.models
        perceptrons = [learner.perceptron() for _ in range(count)]
        if saved:
            for perceptron, (weights, total) in zip(perceptrons, state_names(count), strict=True):
                perceptron.weights = np.array(saved.weights[weights])
                perceptron.total = np.array(saved.weights[total])
                perceptron.step = saved.meta["step"]
            self.weights["parser"] = mean_of(perceptrons)
        return perceptrons

    def _train_parser(self, perceptrons: list[Perceptron], spaces: list[ArcSpace]) -> None:
        """Train for the epochs that the log lacks, and save a checkpoint after each."""
        heads, learner = [sentence.tree for sentence in self.sentences], learner_of(self.material)
        material = (self.tokens, heads, spaces, self.config.parts, self.gold_labels)
        if self.workers:
            mixing = Mixing(self.workers, learner, self.tokens, heads, spaces, self.shards, self.gold_labels)
        elif not self.processes:
            examples = make_examples(*material)
        for epoch in range(len(self.meta["log"]), self.config.training.epochs):
            began, missed = time.perf_counter(), 0
            start_epoch(epoch, perceptrons, self.config.training.average_from)
            orders = [self.material.order(epoch, 0, number) for number in range(len(perceptrons))]
            name = f"epoch {epoch + 1}"
            if self.processes and not self.workers:
                missed = train_apart(self.processes, learner, perceptrons, orders, material)
                orders = []
            for number, (perceptron, order) in enumerate(zip(perceptrons, orders, strict=False), 1):
                text = f"{name}, model {number}" if len(perceptrons) > 1 else name
                if self.workers:
                    missed += mixing.epoch(perceptron, order, lambda items, text=text: self.progress(items, text))
                else:
                    missed += sum(perceptron.update(examples[i]) for i in self.progress(order, text))
            seconds = time.perf_counter() - began
            self.weights["parser"] = mean_of(perceptrons)
            self._finish_epoch(epoch, missed // len(perceptrons), seconds)
            self._save_checkpoint(perceptrons, spaces)

    def _finish_epoch(self, epoch: int, missed: int, seconds: float) -> None:
        """Evaluate, log the epoch, and keep its figures for the model."""
        entry = {"epoch": epoch + 1, "seconds": round(seconds, 2), "mistakes": missed}
        text = f"epoch {epoch + 1}: {seconds:.1f} s, {missed} training mistakes"
        if self.held_out:
            figures = self._evaluate()
            entry |= figures
            uas, las, certified = (100 * figures[name] for name in ("uas", "las", "certified"))
            text += f"; held-out UAS {uas:.2f}, LAS {las:.2f}, certified {certified:.1f} %"
        self.meta["log"].append(entry)
        log.info(text)

    def _evaluate(self) -> dict[str, float]:
        """Return accuracies and the share of certified trees on the held-out sentences."""
        spaces = []
        parser = Parser(self._quantised_model(), tags=tested_tags(self.config))
        held_out = self.progress(self.held_out, "held-out")
        evaluation = evaluate_parser(parser, held_out, on_parse=lambda parse: spaces.append(parse.arcs))
        if not self.meta["log"]:
            self._report_pruning("held-out", self.held_out, spaces)
        figures = evaluation.as_dict()
        scores = figures["without_punctuation"]
        return {"uas": scores["uas"], "las": scores["las"], "certified": figures["certificates"]["certified"]}

    # -- checkpoints

    def _save_checkpoint(self, perceptrons: list[Perceptron], spaces: list[ArcSpace]) -> None:
        if self.checkpoint is None:
            return
        self.meta |= {"step": perceptrons[0].step, "training": self._digest()}
        state = {name: self.weights[name] for name in ("pruner", "labeler")}
        for perceptron, (weights, total) in zip(perceptrons, state_names(len(perceptrons)), strict=True):
            state |= {weights: perceptron.weights, total: perceptron.total}
        state["arcs"] = pack_arcs(spaces)
        state |= self.prepared.checkpoint_arrays()
        self._model(state).save(self.checkpoint)

    def _load_checkpoint(self) -> Model | None:
        saved = load_checkpoint(self.checkpoint)
        if saved is None:
            log.info("no checkpoint; training from the start")
            return None
        if self.workers and self.shards is None:
            self.shards = shards_of(saved)
        check_checkpoint(saved, self.checkpoint, self._digest())
        return saved

    def _digest(self) -> str:
        return training_digest(self.given, self.config, self.files, self.shards)


def tested_tags(config: Config) -> str:
    """Return which tags a parser is tested on: predicted ones, unless it was only trained on gold ones."""
    return "missing" if config.training.tags == "gold" else "all"
