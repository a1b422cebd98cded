"""What a part type is: the interface that arcs, siblings and grandparents implement, and that new types implement."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from nonproj.parts.automaton import HeadAutomata
from nonproj.parts.constraints import Rows
from nonproj.types import ArcSpace, PartRows


class PartType(ABC):
    """One type of part: which parts exist over given arcs, which of them a tree has, and which words they look at.

    The parts of a type are numbered in a row, from ``start[0]`` to ``start[-1] - 1`` of the sentence's flat vector of
    parts; what the entries between mean is the type's own business.  In all methods ``arcs`` is the `ArcSpace` of the
    sentence and ``start`` what `number` returned.

    A structure is given as in Koo et al. (2010), section 4: ``z`` int8[A] marks the arcs that heads choose as
    modifiers, ``z_grandparent`` int8[A] the arc that each word chooses as the way to its grandparent.  In a tree the
    two are the same.

    Attributes
    ----------
    name : str
        The name in configurations; also that of its template file, ``name.yaml``.
    slots : tuple of str
        One letter for each word that a part looks at, as templates name them: at least one, at most seven.
    codes : tuple of str
        The three geometric codes that a template file may name, the first of them ``none``; see `PartRows.codes`.
    templates : str
        The template file: its name in the folder of templates, or an absolute path.
    influence : float
        At most so many parts of this type appear or disappear when a head chooses one modifier more.
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
        """Return the numbers, int64, of the parts that a structure has."""

    @abstractmethod
    def restrict(self, arcs: ArcSpace, start: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return which parts exist over the arcs that remain, ``keep`` bool[A].

        The result, int64, has their numbers among the parts of all arcs, in the order of those over the remaining arcs.
        """

    def automata(self, arcs: ArcSpace, start: np.ndarray, scores: np.ndarray) -> HeadAutomata | None:
        """Return the type's share of ``scores``, float64[P], as head automata; None where arcs alone carry it.

        Needed for sets of part types that have no compiled automaton (`nonproj.automata.compiled.COMPILED`).
        """
        raise NotImplementedError(f"part type {self.name} has no head automata in general form")

    def upper(self, arcs: ArcSpace, start: np.ndarray) -> np.ndarray:
        """Return the upper bounds, float64, of the columns in a linear program: 1, or 0 for impossible parts."""
        return np.ones(start[-1] - start[0])

    def constraints(self, arcs: ArcSpace, start: np.ndarray, first: int) -> Rows:
        """Return the rows that tie the parts, columns from ``first`` on, to the arcs, columns 0 to A - 1.

        With integral arcs they must leave exactly the parts that `used` returns.
        """
        raise NotImplementedError(f"part type {self.name} has no linear constraints")
