"""The parser: the averaged perceptron over all parts of a sentence.

The templates of each part type score the parts over the candidate arcs.  Inference is over the relaxed set Z, in which
each head chooses for itself, or over trees, by dual decomposition (``training.decoder``); the loss is a hinge, whose
subgradient is predicted minus gold parts (`nonproj.learning.perceptron`).  The parser is evaluated on held-out
sentences after each epoch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nonproj.components.base import FitContext, TableComponent, WeightTable, assemble, resumed_table
from nonproj.components.checkpoint import check_history
from nonproj.components.network import kept_network
from nonproj.components.pruner import pruning_figures
from nonproj.dual.decoding import dual_decomposition
from nonproj.evaluation.parsing import evaluate_parser, tested_tags
from nonproj.learning.corpus import Corpus
from nonproj.learning.hyperparameters import AUXILIARY
from nonproj.learning.perceptron import PartExample, Perceptron, examples_of
from nonproj.learning.related_gain import RelatedGain, cross_fitted_gain
from nonproj.linear.state import State
from nonproj.linear.streams import Stream
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import part_space
from nonproj.pipeline.parser import Parser
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.templates import LABELLED_ARC
from nonproj.scoring.tree_labels import LABEL_MARGIN
from nonproj.types import ArcSpace, Sentence

log = logging.getLogger("nonproj")


class ParserComponent(TableComponent):
    """The component that trains the parser, the last one of a model."""

    name, needs, figures = "parser", ("vocabulary", "pruner"), ("log", "pruning_held-out")

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> WeightTable:
        """Learn for the epochs that the training history lacks; Ctrl-C leaves the result of the last complete epoch."""
        training, table, history = ParserTraining(corpus, context), None, context.meta.setdefault("log", [])
        try:
            if context.unfinished.state:
                training.resume(*context.unfinished.state, history)
                table = training.mean()
                log.info("resuming after epoch %d", len(history))
            for epoch in range(len(history), context.config.training.epochs):
                began = time.perf_counter()
                missed = training.run(epoch)
                seconds, table = time.perf_counter() - began, training.mean()
                entry = {"epoch": epoch + 1, "mistakes": missed}  # no times: the same training makes the same file
                text = f"{context.title(f'epoch {epoch + 1}')}: {seconds:.1f} s, {missed} training mistakes"
                if corpus.held_out:
                    figures = evaluate(corpus.held_out, context, table)
                    entry |= figures
                    pair = figures["uas"], figures["las"]
                    uas, las = ("–" if each is None else f"{100 * each:.2f}" for each in pair)
                    text += f"; held-out UAS {uas}, LAS {las}, certified {100 * figures['certified']:.1f} %"
                history.append(entry)
                log.info(text, extra={"evaluated": bool(corpus.held_out)})
                context.unfinished.save(training.state())
        except KeyboardInterrupt:
            if table is None or context.part_of:
                raise
            log.warning("interrupted; the model is that of the last complete epoch")
            context.meta["interrupted"] = True
        assert table is not None
        return table

    @classmethod
    def compare(cls, corpus: Corpus, context: FitContext) -> RelatedGain:
        """Return the gain in the accuracy of heads from related treebanks, by cross-fitting.

        The parsers score arcs only, without labels and without pruning.
        """
        numbers, decoding, margin = corpus.numbers, context.decoding, context.config.training.margin
        templates = {name: each for name, each in context.files.templates.items() if name != LABELLED_ARC}
        scorer = Scorer(templates, context.vocabulary.encoder.attributes, "arc")

        def example(i: int) -> PartExample:
            tree = numbers.trees[i]
            return PartExample(numbers.tokens[i], tree, part_space(full_arc_space(len(tree) - 1), "arc"))

        def learn(part: Corpus) -> np.ndarray:
            learner = Perceptron(scorer, AUXILIARY.compared_bits, margin, decoding)
            for epoch in range(AUXILIARY.compared_epochs):
                learner.start_epoch(epoch, AUXILIARY.compared_epochs)
                for i in context.progress(part.order(epoch, Stream.PARSER), context.title(f"epoch {epoch + 1}")):
                    learner.update(example(i))
            return learner.mean()

        def count(weights: np.ndarray, inside: np.ndarray) -> list[int]:
            right = []
            for each in map(example, inside):
                scores = scorer.score_unlabelled(scorer.features(each.tokens, each.parts, len(weights)), weights)
                tree = dual_decomposition(each.parts, scores, decoding).tree
                right.append(int((tree[1:] == each.heads[1:]).sum()))
            return right

        words = np.array([len(tree) - 1 for tree in numbers.trees[: corpus.n_own]])
        folds = context.config.pruner.folds
        return cross_fitted_gain("heads", words, corpus, folds, learn, count, context.spread)


def evaluate(held_out: Sequence[Sentence], context: FitContext, table: WeightTable) -> dict[str, Any]:
    """Return accuracies (None if there is only punctuation) and the share of certified trees of held-out sentences."""
    spaces: list[ArcSpace] = []
    model = assemble(context.with_fitted(ParserComponent.name, table))
    parser = Parser(model, tags=tested_tags(context.config))
    evaluation = evaluate_parser(
        parser, context.progress(held_out, "held-out"), on_parse=lambda parse: spaces.append(parse.arcs)
    )
    if not context.meta["log"]:
        context.meta["pruning_held-out"] = pruning_figures("held-out", held_out, spaces)
    figures = evaluation.as_dict()
    scores = figures["without_punctuation"]
    return {"uas": scores["uas"], "las": scores["las"], "certified": figures["certificates"]["certified"]}


class ParserTraining:
    """A parser in training.

    Parameters
    ----------
    corpus : Corpus
    context : FitContext
    """

    def __init__(self, corpus: Corpus, context: FitContext):
        vocabulary, config, options = context.vocabulary, context.config, context.config.training
        network, templates = kept_network(context), context.files.templates
        labels = len(vocabulary.labels), vocabulary.lines
        scorer = Scorer(templates, vocabulary.encoder.attributes, config.parts, *labels, network)
        # Margins are in units of a step, as the network's scores are.
        margin, label_margin = options.margin / context.step, LABEL_MARGIN / context.step
        relaxed = options.decoder == "relaxed"
        self.perceptron = Perceptron(scorer, config.features.bits, margin, context.decoding, relaxed, label_margin)
        context.begin(ParserComponent.name, self.perceptron.weights, context.step)
        self.corpus, self.context, self.examples = corpus, context, examples_of(corpus, config.parts)

    def run(self, epoch: int) -> int:
        """Train for the epoch with this number, from 0; return the number of words whose gold arc was missed."""
        context, corpus = self.context, self.corpus
        self.perceptron.start_epoch(epoch, context.config.training.average_from)
        order = np.searchsorted(corpus.chosen, corpus.order(epoch, Stream.PARSER))
        numbers = context.progress(order, context.title(f"epoch {epoch + 1}"))
        return sum(self.perceptron.update(self.examples[i]) for i in numbers)

    def mean(self) -> WeightTable:
        """Return the averaged weights, rounded as in a model."""
        table, scale = self.perceptron.rounded_mean()
        return WeightTable(table, scale * self.context.step)

    def state(self) -> State:
        """Return weights, running total, and the number of the next step."""
        return {"step": self.perceptron.step}, {"weights": self.perceptron.weights, "total": self.perceptron.total}

    def resume(self, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], history: object) -> None:
        """Continue from a state after some epochs; raise `ModelError` if it is invalid."""
        config, steps = self.context.config, int(self.corpus.in_epoch(0).sum())
        check_history(history, values.get("step"), steps, config.training.average_from)
        bits = config.features.bits
        self.perceptron.weights = np.array(resumed_table(arrays, "weights", bits))
        self.perceptron.total = np.array(resumed_table(arrays, "total", bits, "float64"))
        self.perceptron.step = values["step"]
