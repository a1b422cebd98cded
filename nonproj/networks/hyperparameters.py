"""The hyperparameters of all networks: their sizes, learning rates and dropout.

They were chosen on held-out sentences (``research/history.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nonproj.options.sections import NetworkConfig


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of a network and of its training.

    Attributes
    ----------
    width : int
        Size of a word's vector.
    hidden : int
        Hidden units of a scored item.
    layers : int
        Recurrent layers over words in context.  Without them, the vector of a word consists of one for heads and one
        for modifiers, each with a learning rate of its own.
    batch : int
        Size of a batch, in sentences; in tokens for sentence ends.
    row_rate : float
        Learning rate of rows, by AdaGrad (Duchi, Hazan and Singer 2011).
    row_dropout, lexical_dropout : float
        Dropout probabilities (Srivastava et al. 2014) of the rows of a word, and of those of its form: where these are
        dropped, a network learns to score unknown words.
    min_count : int
        Rarer strings have no row.
    row_deviation : float
        Standard deviation of the initial weights of rows.
    first_square : float
        Initial value of AdaGrad's sums of squared gradients of rows.
    last_row_rate : float
        Share of the learning rate of rows that remains at the end of training; rates fall linearly.
    rate : float
        Learning rate of dense tables, by Adam (Kingma and Ba 2015).
    last_rate : float
        Share of this rate that remains at the end of training.
    warm_up : int
        Number of steps in which this rate rises from 0.
    projection_rate : float
        Learning rate of the matrix that projects pretrained vectors, by AdaGrad.
    deviation : float
        Standard deviation of the initial weights of most tables; that of others depends on their size.
    unit_dropout, context_dropout : float
        Dropout probabilities of hidden units, and of the inputs of each layer over words in context.
    averaged : bool
        Whether weights are averaged over the second half of the epochs, not taken from the last one.
    min_steps, max_factor : int
        Small treebanks are trained for more epochs, up to this number of steps and this factor.
    """

    width: int
    hidden: int
    layers: int
    batch: int
    row_rate: float
    row_dropout: float
    lexical_dropout: float
    min_count: int = 2
    row_deviation: float = 0.1
    first_square: float = 0.0
    last_row_rate: float = 0.1
    rate: float = 0.003
    last_rate: float = 0.1
    warm_up: int = 0
    projection_rate: float = 0.0
    deviation: float = 0.03
    unit_dropout: float = 0.3
    context_dropout: float = 0.2
    averaged: bool = True
    min_steps: int = 0
    max_factor: int = 1

    @property
    def pieces(self) -> int:
        """The number of vectors that a row consists of."""
        return 1 if self.layers else 2

    def epochs(self, epochs: int, size: int) -> int:
        """Return the number of epochs for a treebank, given the number for a large one.

        Parameters
        ----------
        epochs : int
        size : int
            Size of the treebank, in the unit of ``batch``.

        Examples
        --------
        >>> [SENTENCES.epochs(6, tokens) for tokens in (1_000, 20_000, 1_000_000)]
        [60, 30, 6]
        """
        return epochs * min(max(math.ceil(self.min_steps * self.batch / max(epochs * size, 1)), 1), self.max_factor)


def arc_hyperparameters(options: NetworkConfig) -> Hyperparameters:
    """Return the hyperparameters of the network over arcs and labels, whose sizes are options."""
    return Hyperparameters(
        width=options.context or 2 * options.size,
        hidden=options.size,
        layers=2 if options.context else 0,
        batch=8,  # products of matrices with many rows take half of the time of those with few
        row_rate=0.03,
        row_dropout=0.1,
        lexical_dropout=0.4,
        row_deviation=0.1 if options.context else 0.03,
        last_row_rate=1.0,
        warm_up=100,
        projection_rate=0.03,
    )


TAGS = Hyperparameters(
    width=64,
    hidden=128,
    layers=1,
    batch=16,
    row_rate=0.1,
    row_dropout=0.2,
    lexical_dropout=0.5,
    first_square=1e-6,
    projection_rate=0.2,
    averaged=False,
)
"""Hyperparameters of the network over tags."""

SENTENCES = Hyperparameters(
    width=32,
    hidden=32,
    layers=2,
    batch=256,
    row_rate=0.05,
    row_dropout=0.2,
    lexical_dropout=0.5,
    first_square=1e-4,
    min_steps=2000,
    max_factor=10,
)
"""Hyperparameters of the network over sentence ends."""
