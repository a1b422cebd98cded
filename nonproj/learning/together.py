"""Whether a treebank learns together with related ones, or alone: held-out sentences decide.

Of two ways to learn, the simpler one is taken unless the other is better by more than a standard error (the rule of
Breiman, Friedman, Olshen and Stone 1984, "Classification and Regression Trees", section 3.4.3).  The simpler one is to
learn alone.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from nonproj.types import Int64s

log = logging.getLogger("nonproj")


class Together(NamedTuple):
    """Gain by related treebanks.

    Attributes
    ----------
    alone, together : float
        The share of the words of held-out sentences that are right, learnt without related treebanks and with them.
    error : float
        The standard error of the difference, over sentences.
    """

    alone: float
    together: float
    error: float

    @property
    def helps(self) -> bool:
        """Whether related treebanks are learnt from."""
        return self.together - self.alone > self.error


def compare(what: str, words: Int64s, alone: Int64s, together: Int64s) -> Together:
    """Return what related treebanks are worth, and log it.

    Parameters
    ----------
    what : str
        What has been predicted, for the log.
    words, alone, together : ndarray of shape (S,), int64
        The words of each held-out sentence, and how many are right.

    Examples
    --------
    >>> found = compare("tags", np.array([10, 10, 10]), np.array([7, 8, 6]), np.array([9, 9, 8]))
    >>> found.helps, f"{found.alone:.2f} {found.together:.2f} {found.error:.3f}"
    (True, '0.70 0.87 0.033')
    """
    total, gained = max(1, int(words.sum())), together - alone
    mean = gained.sum() / total
    squares = float(((gained - mean * words) ** 2).sum()) * len(words) / max(1, len(words) - 1)
    found = Together(float(alone.sum() / total), float(together.sum() / total), float(np.sqrt(squares)) / total)
    text = "%s of held-out words: %.2f %% right alone, %.2f %% together with related treebanks (± %.2f): learnt %s"
    shares = (100 * share for share in found)
    log.info(text, what, *shares, "together" if found.helps else "alone")
    return found
