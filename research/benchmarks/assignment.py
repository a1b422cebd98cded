"""Generalised assignment: problems of the literature for step rules and methods of `nonproj_systems.relaxation`.

``python -m research.benchmarks.assignment`` prints each method's bound above the lowest one, in per cent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nonproj_systems.relaxation.primal import Proposal, Repair
from nonproj_systems.relaxation.problem import Oracle, Problem


class Assignment(NamedTuple):
    """Agents do jobs, each job by one agent, within the agents' capacities, for the highest profit.

    Attributes
    ----------
    profits, loads : ndarray of shape (agents, jobs)
        Loads are integers.
    capacities : ndarray of shape (agents,), int64
    """

    profits: np.ndarray
    loads: np.ndarray
    capacities: np.ndarray


def draw(kind: str, agents: int, jobs: int, seed: int) -> Assignment:
    """Return a random problem of a class of Martello and Toth (1990) and Chu and Beasley (1997): A, B, C or D.

    Examples
    --------
    >>> draw("D", 3, 10, 1).capacities.tolist(), draw("D", 3, 10, 1).loads.sum(1).tolist()
    ([140, 117, 156], [526, 440, 585])
    """
    random = np.random.default_rng(seed)
    if kind == "D":
        loads = random.integers(1, 101, (agents, jobs))
        profits = loads + random.integers(-10, 11, loads.shape) + 10
        return Assignment(profits, loads, (0.8 * loads.sum(1) / agents).astype(np.int64))
    loads, profits = random.integers(5, 26, (agents, jobs)), random.integers(10, 51, (agents, jobs))
    if kind == "C":
        return Assignment(profits, loads, (0.8 * loads.sum(1) / agents).astype(np.int64))
    preferred = profits.argmax(0)
    most = max(loads[i, preferred == i].sum() for i in range(agents))
    capacity = 0.6 * (jobs / agents) * 15 + 0.4 * most
    return Assignment(profits, loads, np.full(agents, int(capacity if kind == "A" else 0.7 * capacity)))


def relaxation(instance: Assignment, share: float = 0.5) -> Problem:
    """Return the problem in parts: a choice for each job and a knapsack for each agent, which share the profits.

    The variables are the pairs (agent, job), agent by agent.
    """
    agents, jobs = instance.profits.shape
    profits = instance.profits.astype(float)

    def choose(scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the best agent for each job."""
        table = (1.0 - share) * profits + scores.reshape(agents, jobs)
        best = table.argmax(0)
        chosen = np.zeros_like(table)
        chosen[best, np.arange(jobs)] = 1.0
        return table.max(0).sum(), chosen.ravel(), best

    def packer(i: int) -> Oracle:
        """Return the oracle of an agent: the best set of jobs within its capacity."""

        def pack(scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
            return knapsack(share * profits[i] + scores, instance.loads[i], instance.capacities[i])

        return pack

    views = [np.arange(agents * jobs), *np.arange(agents * jobs).reshape(agents, jobs)]
    return Problem([choose, *(packer(i) for i in range(agents))], agents * jobs, views)


def knapsack(gains: np.ndarray, loads: np.ndarray, capacity: int) -> tuple[float, np.ndarray, None]:
    """Return the best total gain of items within a capacity, the items as 0 and 1, and None.

    Examples
    --------
    >>> knapsack(np.array([3.0, 4.0, -1.0]), np.array([2, 3, 1]), 4)[:2]
    (4.0, array([0., 1., 0.]))
    """
    best, taken = np.zeros(capacity + 1), np.zeros((len(gains), capacity + 1), np.bool_)
    for j in np.flatnonzero((gains > 0.0) & (loads <= capacity)):
        with_it = best[: capacity + 1 - loads[j]] + gains[j]
        taken[j, loads[j] :] = with_it > best[loads[j] :]
        best[loads[j] :] = np.maximum(best[loads[j] :], with_it)
    chosen, left = np.zeros(len(gains)), capacity
    for j in range(len(gains) - 1, -1, -1):
        if taken[j, left]:
            chosen[j], left = 1.0, left - loads[j]
    return float(best[capacity]), chosen, None


def repair(instance: Assignment) -> Repair:
    """Return a primal heuristic: jobs of overloaded agents move to agents that have room, for the highest profit."""
    profits, loads, capacities = instance

    def heuristic(proposal: Proposal) -> tuple[float, np.ndarray]:
        """Return the value and the agents of a feasible assignment; minus infinity if a job fits no agent."""
        agent_of = proposal.solutions[0].copy()
        jobs = np.arange(len(agent_of))
        room = capacities - np.bincount(agent_of, loads[agent_of, jobs], len(capacities)).astype(np.int64)
        for i in np.flatnonzero(room < 0):
            mine = np.flatnonzero(agent_of == i)
            for j in mine[np.argsort(profits[i, mine] / loads[i, mine], kind="stable")]:
                fits = np.flatnonzero(loads[:, j] <= room)
                fits = fits[fits != i]
                if room[i] < 0 and len(fits):
                    other = fits[profits[fits, j].argmax()]
                    agent_of[j] = other
                    room[i] += loads[i, j]
                    room[other] -= loads[other, j]
        value = float(profits[agent_of, jobs].sum()) if (room >= 0).all() else -np.inf
        return value, agent_of

    return heuristic


CLASSES, SIZES, SEEDS, ITERATIONS = "ABCD", ((5, 15), (8, 24)), (1, 2), 250
"""What `main` compares: classes, agents and jobs, and seeds of problems; iterations of each method."""


def main() -> None:
    """Print by how much the bounds of some methods are above the lowest known bound, in per cent: means and maxima."""
    from nonproj_systems.relaxation.bundle import Bundle
    from nonproj_systems.relaxation.solver import Limits, solve
    from nonproj_systems.relaxation.steps import Decaying, OncePrimal, PerIncrease, Polyak
    from nonproj_systems.relaxation.subgradient import Subgradient

    methods: dict[str, Callable[[], Any]] = {
        "PerIncrease(size=1.0)": lambda: Subgradient(PerIncrease(size=1.0)),
        "Decaying(1.0)": lambda: Subgradient(Decaying(1.0)),
        "PerIncrease()": lambda: Subgradient(PerIncrease()),
        "OncePrimal(Polyak())": lambda: Subgradient(OncePrimal(Polyak())),
        "TargetLevel(), the default": Subgradient,
        "Bundle()": Bundle,
    }
    above: dict[tuple[str, bool], list[float]] = {
        (name, repaired): [] for name in methods for repaired in (False, True)
    }
    for kind, (agents, jobs), seed in ((k, size, seed) for k in CLASSES for size in SIZES for seed in SEEDS):
        instance = draw(kind, agents, jobs, seed)
        problem, bounds = relaxation(instance), {}
        for name, repaired in above:
            heuristic = repair(instance) if repaired else None
            found = solve(problem, methods[name](), repair=heuristic, limits=Limits(ITERATIONS))
            bounds[name, repaired] = found.dual_bound
        lowest = min(bounds.values())
        for key, bound in bounds.items():
            above[key].append(100.0 * (bound - lowest) / lowest)
    for (name, repaired), shares in above.items():
        mean, most = np.mean(shares), max(shares)
        repairs = "with" if repaired else "without"
        sys.stdout.write(f"{name:28}{repairs:>8} repair: mean {mean:7.3f} %, at most {most:7.3f} %\n")


if __name__ == "__main__":
    main()
