"""The learner of all networks: epochs, the order of examples, steps, learning rates, and the mean of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from nonproj.linear.optimisers import Adam, LaterMean, run_epochs
from nonproj.networks.hyperparameters import Hyperparameters
from nonproj.networks.rows import AdaGrad, RowGradient


class Gradient(NamedTuple):
    """The loss of some examples, and its negative gradient.

    Attributes
    ----------
    loss : float
        In nats.
    wrong, n : int
        Number of wrong choices, and of all.
    rows : list of RowGradient
        Gradients of the tables in `TrainableNetwork.rows`.
    dense : list of ndarray
        Gradients of the tables in `TrainableNetwork.dense`.
    """

    loss: float
    wrong: int
    n: int
    rows: list[RowGradient]
    dense: list[np.ndarray]


class TrainableNetwork(Protocol):
    """A network in training, as the learner sees it.

    Attributes
    ----------
    hyperparameters : Hyperparameters
    sizes : ndarray, int64
        Sizes of all examples, in the unit of `Hyperparameters.batch`.
    rows : list of AdaGrad
        Optimisers of sparse tables: a step moves only some of their rows.
    dense : list of ndarray
        All other tables, float32, which Adam changes in place.
    """

    hyperparameters: Hyperparameters
    sizes: np.ndarray
    rows: list[AdaGrad]
    dense: list[np.ndarray]

    def gradient_of(self, chosen: np.ndarray) -> Gradient:
        """Return loss and gradient of the examples with these numbers, with dropout."""


class Learner:
    """Trains a network.

    Parameters
    ----------
    network : TrainableNetwork
    epochs : sequence of ndarray
        The numbers of the examples of each epoch.
    chance : callable
        Returns the generator of random numbers for the order of examples in an epoch.
    """

    def __init__(
        self, network: TrainableNetwork, epochs: Sequence[np.ndarray], chance: Callable[[int], np.random.Generator]
    ):
        self.network, self.hyper, self._epochs, self._chance = network, network.hyperparameters, epochs, chance
        self._total = sum(int(network.sizes[examples].sum()) for examples in epochs)
        self._adam, self._seen, self._steps = Adam(network.dense), 0, 0

    def learn(self, name: str, progress: Callable[[Iterable[Any], str], Iterable[Any]]) -> None:
        """Train for all epochs.

        Parameters
        ----------
        name : str
            Name of the network, for log and progress.
        progress : callable
            ``progress(iterable, description)`` wraps the loop over the steps of an epoch.
        """
        tables = [*(steps.table for steps in self.network.rows), *self.network.dense]
        mean = LaterMean(tables, len(self._epochs)) if self.hyper.averaged else None

        def run(epoch: int) -> str:
            """Train for an epoch; return its figures for the log."""
            loss, wrong = self.epoch(epoch, lambda steps: progress(steps, f"{name} {epoch + 1}"))
            if mean:
                mean.add()
            return f"loss {loss:.4f} each, {wrong} wrong"

        run_epochs(name, range(len(self._epochs)), run)
        if mean:
            mean.apply()

    def epoch(self, epoch: int, progress: Callable[[Iterable[Any]], Iterable[Any]] = iter) -> tuple[float, int]:
        """Train for an epoch, from 0; return the mean loss of its choices, in nats, and the number of wrong ones."""
        order = self._chance(epoch).permutation(self._epochs[epoch])
        # an example belongs to the step that its last sentence or token is in
        place = (np.cumsum(self.network.sizes[order]) - 1) // self.hyper.batch
        steps = np.split(order, np.flatnonzero(np.diff(place)) + 1) if len(order) else []
        loss, wrong, n = 0.0, 0, 0
        for chosen in progress(steps):
            found = self.step(chosen)
            loss, wrong, n = loss + found.loss, wrong + found.wrong, n + found.n
        return loss / max(n, 1), wrong

    def step(self, chosen: np.ndarray) -> Gradient:
        """Make a step on some examples; return their loss and its gradient.

        Learning rates are those before the step, or those after it if the network has a warm-up.
        """
        found, hyper, rate, seen = self.network.gradient_of(chosen), self.hyper, self.hyper.rate, self._seen
        self._seen, self._steps = seen + int(self.network.sizes[chosen].sum()), self._steps + 1
        if hyper.warm_up:
            rate, seen = rate * min(1.0, self._steps / hyper.warm_up), self._seen
        done = seen / self._total
        for steps, gradient in zip(self.network.rows, found.rows, strict=True):
            steps.step(gradient, 1.0 - (1.0 - hyper.last_row_rate) * done)
        self._adam.step(found.dense, rate * (1.0 - (1.0 - hyper.last_rate) * done))
        return found
