"""The parser's perceptrons, epoch by epoch: in this process, in other processes, or by workers with shards."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from nonproj.learning.checkpoint import resumed_table
from nonproj.learning.material import Material
from nonproj.learning.mixing import Mixing, Serial, Shards, columns_of, learner_of, train_apart, training_on
from nonproj.linear.perceptron import rounded_mean, start_epoch
from nonproj.model.model import Model
from nonproj.types import Int16s


class Epochs:
    """The perceptrons of ``training.models``, which differ in the order of the sentences.

    Parameters
    ----------
    material : Material
        With candidate arcs.
    shards : Shards or None
        Workers that train each perceptron by iterative parameter mixing.
    processes : Processes or None
        Worker processes that train the perceptrons in parallel, if there are no shards.
    """

    def __init__(self, material: Material, shards: Shards | None, processes: Any = None):
        self.material, self.learner = material, learner_of(material)
        self.shards, self.processes = shards, None if shards else processes
        self.perceptrons = [self.learner.perceptron() for _ in range(material.config.training.models)]

    @cached_property
    def training(self) -> Mixing | Serial:
        """What trains the perceptrons one after the other."""
        return training_on(self.material, self.shards)

    def run(self, epoch: int) -> int:
        """Train for the epoch with this number, from 0; return the number of words whose gold arc was missed."""
        material, several = self.material, self.perceptrons
        start_epoch(epoch, several, material.config.training.average_from)
        orders = [material.order(epoch, 0, number) for number in range(len(several))]
        if self.processes:
            missed = train_apart(self.processes, self.learner, several, orders, columns_of(material))
            return missed // len(several)
        missed = 0
        for number, (perceptron, order) in enumerate(zip(several, orders, strict=True), 1):
            name = f"epoch {epoch + 1}, model {number}" if len(several) > 1 else f"epoch {epoch + 1}"
            missed += self.training.epoch(perceptron, order, lambda items, name=name: material.progress(items, name))
        return missed // len(several)

    def mean(self) -> tuple[Int16s, float]:
        """Return the mean of the averaged weights, rounded as in a model, and its scale."""
        return rounded_mean(self.perceptrons)

    @property
    def step(self) -> int:
        """The number of the next step."""
        return self.perceptrons[0].step

    def arrays(self) -> dict[str, np.ndarray]:
        """Return weights and running totals for a checkpoint."""
        found: dict[str, np.ndarray] = {}
        for (weights, total), perceptron in zip(_names(len(self.perceptrons)), self.perceptrons, strict=True):
            found |= {weights: perceptron.weights, total: perceptron.total}
        return found

    def resume(self, saved: Model) -> None:
        """Continue from a checkpoint; raise `ModelError` if its tables are unsound."""
        bits = self.material.config.features.bits
        for perceptron, names in zip(self.perceptrons, _names(len(self.perceptrons)), strict=True):
            perceptron.weights, perceptron.total = (np.array(resumed_table(saved, name, bits)) for name in names)
            perceptron.step = saved.meta["step"]


def _names(count: int) -> list[tuple[str, str]]:
    """Return the names of the arrays, weights and running total, of each perceptron in a checkpoint."""
    return [(f"perceptron{k}", f"total{k}") if k > 1 else ("perceptron", "total") for k in range(1, count + 1)]
