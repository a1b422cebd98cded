"""A stage of training: what is learnt in it, what it needs from earlier ones, and what a model and a checkpoint keep.

The trainer runs a list of stages in order and resumes from those that a checkpoint has; neither knows what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.learning.checkpoint import resumed_table
from nonproj.linear.component import Setting, State, load
from nonproj.model.model import Model
from nonproj.types import Sentence


class Learnt(NamedTuple):
    """The result of a stage.

    Attributes
    ----------
    component : Any
        What later stages use (`Setting.fitted`); None if there is nothing to learn.
    state : State or None
        What a model stores under the name of the stage.
    weights : ndarray or None
        A table of weights, float32, which a trained model has rounded under the name of the stage.
    predicted : Any
        What is predicted for the training data, cross-fitted, from which later stages learn (`Setting.predicted`).
    figures : mapping of str to JSON value
        What is added to the training history.
    """

    component: Any = None
    state: State | None = None
    weights: np.ndarray | None = None
    predicted: Any = None
    figures: Mapping[str, Any] = {}


class Stage:
    """A stage of training; subclasses say what is learnt.

    Attributes
    ----------
    name : str
        Under which models store its state, and later stages find its results.
    needs : tuple of str
        The earlier stages whose results it uses.
    kind : class or None
        That of the component; see `nonproj.linear.component.Stored`.
    weighted : bool
        Whether there is a table of weights; its size is in the options of the stage.
    figures : tuple of str
        The names of `Learnt.figures`.
    """

    name: str
    needs: tuple[str, ...] = ()
    kind: Any = None
    weighted: bool = False
    figures: tuple[str, ...] = ()

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Learn from the sentences of a treebank, and from the results of earlier stages."""
        raise NotImplementedError

    def component(self, state: State, setting: Setting) -> Any:
        """Return the component of a state; raise `ModelError` if it is unsound."""
        return load(self.kind, state)

    def pack(self, predicted: Any) -> dict[str, np.ndarray]:
        """Return `Learnt.predicted` as arrays of a checkpoint."""
        return {}

    def unpack(self, saved: Model, sentences: Sequence[Sentence], setting: Setting) -> Any:
        """Return `Learnt.predicted` from the arrays of a checkpoint; raise `ModelError` if they are unsound."""
        return None

    def resume(self, saved: Model, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Return the result of `fit` from a checkpoint, after checking it; raise `ModelError` if it is unsound."""
        state = saved.component(self.name)
        return Learnt(
            self.component(state, setting) if state else None,
            state,
            resumed_table(saved, self.name, getattr(setting.config, self.name).bits) if self.weighted else None,
            self.unpack(saved, sentences, setting),
            {name: saved.meta[name] for name in self.figures if name in saved.meta},
        )
