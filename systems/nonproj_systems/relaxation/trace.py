"""A record of each iteration, and plots of it as in Rush and Collins (2012), figures 7 and 8."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonproj.errors import needs


@dataclass
class Trace:
    """The iterations of a method: lists with one entry per iteration.

    Attributes
    ----------
    dual, primal : list of float
        The dual value at the iteration's multipliers, and the value of its primal solution: minus infinity without one.
    step : list of float
        The step taken after the iteration; 0 after the last.
    share : list of float
        Share of the oracles called to evaluate the dual: the multipliers of the others did not change.
    calls : list of int
        Number of calls of oracles up to this iteration.
    seconds : list of float
        Processor seconds up to this iteration.

    Examples
    --------
    >>> trace = Trace(dual=[4.0, 2.0, 3.0], primal=[-np.inf, 1.0, 0.0])
    >>> trace.best_dual, trace.best_primal, trace.gap
    (array([4., 2., 2.]), array([-inf,   1.,   1.]), array([inf,  1.,  1.]))
    """

    dual: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.dual)

    def __getitem__(self, name: str) -> list[Any]:
        """Return a list by name, as in ``trace["dual"]``."""
        return getattr(self, name)

    @property
    def best_dual(self) -> np.ndarray:
        """The lowest dual value up to each iteration: the bound so far."""
        return np.minimum.accumulate(self.dual) if self.dual else np.empty(0)

    @property
    def best_primal(self) -> np.ndarray:
        """The highest primal value up to each iteration."""
        return np.maximum.accumulate(self.primal) if self.primal else np.empty(0)

    @property
    def gap(self) -> np.ndarray:
        """Best dual minus best primal value at each iteration."""
        return self.best_dual - self.best_primal

    def plot(self, axes: Any = None) -> Any:
        """Plot current and best values (figures 7 and 8, left) and the gap (figure 8, right); return the figure.

        Parameters
        ----------
        axes : pair of matplotlib axes, optional
            By default those of a new figure.

        Raises
        ------
        ImportError
            If ``axes`` are not given and matplotlib is not installed.
        """
        axes = _axes(2) if axes is None else axes
        rounds = np.arange(1, len(self) + 1)
        best_primal, gap = (np.where(np.isfinite(each), each, np.nan) for each in (self.best_primal, self.gap))
        primal = np.where(np.isfinite(self.primal), self.primal, np.nan)
        axes[0].plot(rounds, self.dual, color="C3", linewidth=0.7, alpha=0.6, label="current dual")
        axes[0].plot(rounds, primal, color="C0", linewidth=0.7, alpha=0.6, label="current primal")
        axes[0].plot(rounds, self.best_dual, color="C3", label="best dual")
        axes[0].plot(rounds, best_primal, color="C0", label="best primal")
        axes[1].plot(rounds, gap, color="C2", label="gap")
        for each, what in zip(axes, ("value", "gap"), strict=True):
            each.set(xlabel="iteration", ylabel=what)
            each.legend()
        return axes[0].figure


def _axes(n: int) -> Any:
    """Return the axes of a new figure."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError(needs("plots need", "matplotlib", "pictures", of="nonproj-systems")) from None
    return pyplot.subplots(1, n, figsize=(5 * n, 3.5), squeeze=False, layout="constrained")[1][0]
