"""The interface of a part type, implemented by arcs, siblings, grandparents and new types."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from nonproj.parts.automaton import HeadAutomata
from nonproj.types import ArcSpace, PartRows


class PartType(ABC):
    """A type of part: its parts over given arcs, those of a tree, and the words of each part.

    The parts of a type have consecutive numbers, ``start[0]`` to ``start[-1] - 1`` of the sentence's flat vector of
    parts; the other entries of ``start`` are private to the type.  In all methods ``arcs`` is the `ArcSpace` of the
    sentence and ``start`` the result of `number`.

    A structure is given as in Koo et al. (2010), section 4: ``z`` int8[A] marks the arcs that heads choose as
    modifiers, ``z_grandparent`` int8[A] the arc from the grandparent that the automaton of each word chooses.  In a
    tree the two are the same.

    Attributes
    ----------
    name : str
        The name in configurations; also that of its template file, ``name.yaml``.
    slots : tuple of str
        One letter for each word of a part, as used in templates: at least one, at most seven.
    codes : tuple of str
        The three geometric codes that a template file may name, the first of them ``none``; see `PartRows.codes`.
    templates : str
        The template file: its name in the folder of templates, or an absolute path.
    influence : float
        Maximum number of parts of this type that appear or disappear when a head gets one more modifier.
    """

    name: str
    slots: tuple[str, ...]
    codes: tuple[str, str, str] = ("none", "direction", "distance")
    influence: float = 1.0

    @property
    def templates(self) -> str:
        """The template file."""
        return f"{self.name}.yaml"

    @abstractmethod
    def number(self, arcs: ArcSpace, first: int) -> np.ndarray:
        """Number the parts from ``first``: return int64[K] from ``first`` to ``first`` plus the number of parts."""

    @abstractmethod
    def rows(self, arcs: ArcSpace, start: np.ndarray) -> PartRows:
        """Return the words and the geometric codes of every part, in the order of their numbers."""

    @abstractmethod
    def used(self, arcs: ArcSpace, start: np.ndarray, z: np.ndarray, z_grandparent: np.ndarray) -> np.ndarray:
        """Return the numbers, int64, of a structure's parts."""

    @abstractmethod
    def restrict(self, arcs: ArcSpace, start: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return the numbers, int64, of the parts whose arcs are all to ``keep``, bool[A].

        They are numbers over all arcs, in the order of the parts' numbers over the remaining arcs.
        """

    def automata(self, arcs: ArcSpace, start: np.ndarray, scores: np.ndarray) -> HeadAutomata | None:
        """Return the type's scores among ``scores``, float64[P], as head automata; None if all are arc scores.

        Needed for sets of part types that have no compiled automaton (`nonproj.automata.compiled.COMPILED`).
        """
        raise NotImplementedError(f"part type {self.name} has no head automata in general form")
