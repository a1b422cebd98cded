"""The parser: the averaged perceptron over all parts of a sentence.

The templates of each part type score the parts over the candidate arcs.  Inference is over the relaxed set Z, in which
each head chooses for itself, or over trees, by dual decomposition (``training.decoder``); the loss is a hinge, whose
subgradient is predicted minus gold parts (`nonproj.learning.perceptron`).  It learns in this process, in other
processes, or by workers with shards (`nonproj.learning.mixing`), and is evaluated on held-out sentences after each
epoch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from nonproj.components.base import FitContext, TableComponent, WeightTable, assemble, resumed_table
from nonproj.components.checkpoint import check_history
from nonproj.components.network import kept_network
from nonproj.components.pruner import pruning_figures
from nonproj.evaluation.parsing import evaluate_parser, tested_tags
from nonproj.learning.mixing import (
    ParameterMixing,
    SerialTraining,
    example_columns,
    learner_of,
    train_apart,
    training_on,
)
from nonproj.linear.perceptron import rounded_mean, start_epoch
from nonproj.linear.state import State
from nonproj.linear.streams import Stream
from nonproj.pipeline.parser import Parser
from nonproj.types import ArcSpace, Sentence

log = logging.getLogger("nonproj")


class ParserComponent(TableComponent):
    """The parser, the last component of a model."""

    name, needs, figures = "parser", ("vocabulary", "pruner"), ("log", "pruning_held-out")

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> WeightTable:
        """Learn for the epochs that the training history lacks; Ctrl-C leaves the result of the last complete epoch."""
        perceptrons, table, history = Perceptrons(context), None, context.meta.setdefault("log", [])
        try:
            if context.unfinished.state:
                perceptrons.resume(*context.unfinished.state, history)
                table = perceptrons.mean()
                log.info("resuming after epoch %d", len(history))
            for epoch in range(len(history), context.config.training.epochs):
                began = time.perf_counter()
                missed = perceptrons.run(epoch)
                seconds, table = time.perf_counter() - began, perceptrons.mean()
                entry = {"epoch": epoch + 1, "mistakes": missed}  # no times: the same training makes the same file
                text = f"{context.title(f'epoch {epoch + 1}')}: {seconds:.1f} s, {missed} training mistakes"
                if context.data.held_out:
                    figures = evaluate(context, table)
                    entry |= figures
                    pair = figures["uas"], figures["las"]
                    uas, las = ("–" if each is None else f"{100 * each:.2f}" for each in pair)
                    text += f"; held-out UAS {uas}, LAS {las}, certified {100 * figures['certified']:.1f} %"
                history.append(entry)
                log.info(text)
                context.unfinished.save(perceptrons.state())
        except KeyboardInterrupt:
            if table is None or context.part_of:
                raise
            log.warning("interrupted; the model is that of the last complete epoch")
            context.meta["interrupted"] = True
        assert table is not None
        return table


def evaluate(context: FitContext, table: WeightTable) -> dict[str, Any]:
    """Return accuracies (None if there is only punctuation) and the share of certified trees of held-out sentences."""
    spaces: list[ArcSpace] = []
    model = assemble(context.having(fitted={**context.fitted, ParserComponent.name: table}))
    parser, held_out = Parser(model, tags=tested_tags(context.config)), context.data.held_out
    evaluation = evaluate_parser(
        parser, context.progress(held_out, "held-out"), on_parse=lambda parse: spaces.append(parse.arcs)
    )
    if not context.meta["log"]:
        context.meta["pruning_held-out"] = pruning_figures("held-out", held_out, spaces)
    figures = evaluation.as_dict()
    scores = figures["without_punctuation"]
    return {"uas": scores["uas"], "las": scores["las"], "certified": figures["certificates"]["certified"]}


class Perceptrons:
    """The perceptrons of ``training.models``, which differ in the order of the sentences.

    Parameters
    ----------
    context : FitContext
    """

    def __init__(self, context: FitContext):
        files, network = context.files.templates, kept_network(context)
        self.context, self.learner = context, learner_of(context.data, context.config, files, network, context.step)
        self.perceptrons = [self.learner.perceptron() for _ in range(context.config.training.models)]
        for perceptron in self.perceptrons:
            context.begin(ParserComponent.name, perceptron.weights, context.step)

    @cached_property
    def training(self) -> ParameterMixing | SerialTraining:
        """What trains the perceptrons one after the other."""
        return training_on(self.context.data, self.learner, self.context.shards)

    def run(self, epoch: int) -> int:
        """Train for the epoch with this number, from 0; return the number of words whose gold arc was missed."""
        context, data, several = self.context, self.context.data, self.perceptrons
        start_epoch(epoch, several, context.config.training.average_from)
        orders = [data.order(epoch, Stream.PARSER, number) for number in range(len(several))]
        orders = [np.searchsorted(data.chosen, order) for order in orders]
        if context.processes and len(several) > 1 and not context.shards:
            return train_apart(context.processes, self.learner, several, orders, example_columns(data)) // len(several)
        missed, title = 0, context.title(f"epoch {epoch + 1}")
        for number, (perceptron, order) in enumerate(zip(several, orders, strict=True), 1):
            name = f"{title}, model {number}" if len(several) > 1 else title
            missed += self.training.epoch(perceptron, order, lambda items, name=name: context.progress(items, name))
        return missed // len(several)

    def mean(self) -> WeightTable:
        """Return the mean of the averaged weights, rounded as in a model."""
        table, scale = rounded_mean(self.perceptrons)
        return WeightTable(table, scale * self.context.step)

    def state(self) -> State:
        """Return weights, running totals, and the number of the next step."""
        pairs = enumerate(self.perceptrons, 1)
        arrays = {f"{name}{k}": table for k, p in pairs for name, table in (("weights", p.weights), ("total", p.total))}
        return {"step": self.perceptrons[0].step}, arrays

    def resume(self, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], history: object) -> None:
        """Continue from a state after some epochs; raise `ModelError` if it is unsound."""
        context, shards = self.context, self.context.shards.number if self.context.shards else 1
        mask, options, bits = context.data.in_epoch(0), context.config.training, self.learner.bits
        steps = max(int(mask[k::shards].sum()) for k in range(shards))
        check_history(history, values.get("step"), steps, options.average_from)
        for k, perceptron in enumerate(self.perceptrons, 1):
            perceptron.weights = np.array(resumed_table(arrays, f"weights{k}", bits))
            perceptron.total = np.array(resumed_table(arrays, f"total{k}", bits, "float64"))
            perceptron.step = values["step"]
