"""Results as text, as data, as tour files of TSPLIB95, and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nonproj.errors import needs, one_line
from nonproj.io.files import open_output
from nonproj.io.temporary import replacing
from nonproj_systems.tsp.instance import Instance
from nonproj_systems.tsp.solver import TourResult


def describe(name: str, result: TourResult) -> str:
    """Return one line about a result; characters of the name that do not print are escaped.

    Examples
    --------
    >>> result = TourResult(np.arange(3), 12, 12.0, "optimal", root_bound=11.5, nodes=3, seconds=0.25)
    >>> print(describe("small", result))
    small: length 12, proven optimal; Held-Karp bound 11.5 (95.83 %); 3 nodes, 0.2 s
    """
    if result.certified:
        proof = "proven optimal"
    else:
        gap = 100.0 * (result.value - result.bound) / max(abs(result.value), 1)
        proof = f"bound {result.bound:.1f}, gap {gap:.2f} % ({result.status})"
    share = f" ({100.0 * result.root_bound / result.value:.2f} %)" if result.value > 0 else ""
    return (
        f"{one_line(name)}: length {result.value}, {proof}; Held-Karp bound {result.root_bound:.1f}{share}; "
        f"{result.nodes} nodes, {result.seconds:.1f} s"
    )


def as_data(name: str, result: TourResult) -> dict[str, Any]:
    """Return a result as data for JSON; cities are numbered from 1, as in the file."""
    return {
        "name": name,
        "cities": len(result.tour),
        "length": result.value,
        "bound": result.bound,
        "status": result.status,
        "root_bound": result.root_bound,
        "iterations": len(result.course),
        "nodes": result.nodes,
        "seconds": round(result.seconds, 3),
        "tour": (result.tour + 1).tolist(),
    }


def write_tour(path: str, name: str, result: TourResult) -> None:
    """Write a tour as a file of TSPLIB95 of type TOUR.

    Raises
    ------
    FileError
        The file cannot be written.
    """
    lines = [f"NAME: {one_line(name)}", "TYPE: TOUR", f"COMMENT: length {result.value}, {result.status}",
             f"DIMENSION: {len(result.tour)}", "TOUR_SECTION", *map(str, result.tour + 1), "-1", "EOF", ""]  # fmt: skip
    with open_output(path) as stream:
        stream.write("\n".join(lines))


def positions(instance: Instance) -> np.ndarray:
    """Return the positions of the cities in a drawing, float64[n, 2]: coordinates, or else multidimensional scaling."""
    if instance.points is not None:
        return instance.points
    squared = instance.weights.astype(np.float64) ** 2
    centred = squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))


def plot(instance: Instance, result: TourResult, axes=None):
    """Plot the 1-tree at the root's multipliers, the tour, and the course of the bound; return the figure.

    Parameters
    ----------
    instance : Instance
    result : TourResult
    axes : pair of matplotlib axes, optional

    Raises
    ------
    ImportError
        If ``axes`` are not given and matplotlib is not installed.
    """
    from nonproj_systems.tsp.one_tree import edges_of
    from nonproj_systems.tsp.oracle import evaluate

    if axes is None:
        try:
            import matplotlib.pyplot as pyplot
        except ImportError:
            raise ImportError(needs("plots need", "matplotlib", "pictures", of="nonproj-systems")) from None
        axes = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")[1]
    points, closed = positions(instance), np.append(result.tour, result.tour[0])
    for i, j in edges_of(evaluate(instance, result.multipliers)[2]):
        axes[0].plot(*points[[i, j]].T, color="C1", linewidth=4.0, alpha=0.4, zorder=1)
    axes[0].plot([], [], color="C1", linewidth=4.0, alpha=0.4, label="1-tree of the bound")
    axes[0].plot(*points[closed].T, color="C0", linewidth=1.0, zorder=2, label=f"tour of length {result.value}")
    axes[0].plot(*points.T, ".", color="black", markersize=4, zorder=3)
    axes[0].set(xticks=[], yticks=[])
    axes[0].set_title(one_line(instance.name), parse_math=False)
    axes[0].set_aspect("equal")
    rounds = np.arange(1, len(result.course) + 1)
    axes[1].plot(rounds, result.course, color="C3", linewidth=0.6, alpha=0.5, label="value of the 1-tree")
    axes[1].plot(rounds, np.maximum.accumulate(result.course), color="C3", label="bound")
    axes[1].axhline(result.value, color="C0", label=result.status if not result.certified else "optimum")
    low = result.course[0]
    axes[1].set(
        xlabel="iteration",
        ylabel="length",
        ylim=(low - 0.05 * (result.value - low), result.value + 0.05 * (result.value - low) + 1e-9),
    )
    axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    axes[1].legend(loc="lower right")
    return axes[0].figure


def save_picture(path: str, instance: Instance, result: TourResult) -> None:
    """Write the picture of `plot` as a file in the format of its name's ending."""
    import matplotlib

    matplotlib.use("Agg")
    figure = plot(instance, result)
    with replacing(Path(path)) as temporary:
        figure.savefig(temporary, format=Path(path).suffix.lstrip(".") or "png", dpi=100)
