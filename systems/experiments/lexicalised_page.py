"""The page, the table and the picture of the experiment `experiments.lexicalised`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from research.experiments.layout import figure, percent, pick, table
from research.experiments.provenance import publish
from research.experiments.store import Row, write_rows

PAPER = {"Model 1": (88.4, 87.8, 88.1, 91.4), "dependencies": (None, None, None, None),
         "hard": (89.9, 89.6, 89.7, 93.3), "joint": (91.0, 90.4, 90.7, 93.8)}  # fmt: skip
"""Table 2 of Rush et al. (2010): precision, recall, F1 and dependency accuracy."""

NAMES = {"Model 1": "Model 1 alone", "dependencies": "dependency parser alone",
         "hard": "hard combination", "joint": "dual decomposition"}  # fmt: skip

RANGES = ((1, 1, 43.5), (2, 2, 20.1), (3, 3, 10.2), (4, 4, 4.9), (5, 10, 14.0), (11, 20, 5.7), (21, 50, 1.4))
"""Numbers of iterations, and the paper's share of sentences solved within them (table 1)."""

SHOWN = (1, 2, 5, 10, 20)
"""Limits of iterations in the table, beside the highest; the picture has all."""

TEXT = """# Lexicalised phrase structure and dependencies

[docs/lexicalised.md](../docs/lexicalised.md) describes the system (Rush et al. 2010, section 7.1); `make
reproduce-systems-lexicalised` makes this page.

**Data.** The WSJ sample (5 % of the Penn Treebank) by the fixed split of `nonproj_systems.constituency.split`: 3,155
training sentences. Test: the {sentences} of {all} test sentences with at most 40 words. The weight gamma, {gamma}, has
the highest F1 on the first {dev} development sentences of at most 40 words. The paper trains on 39,832 sentences and
tests on 2,416.

## Accuracy (table 2 of the paper)

The paper's figures, then ours in bold. Labelled precision, recall and F1 by the conventions of evalb; dependencies
(UAS) by Collins' head rules, without punctuation.

{accuracy}

The hard combination gives the best dependency tree to Model 1, or as many of its arcs as possible ({infeasible} of
{sentences} sentences).

## Certificates (table 1)

{certificates} % of the sentences are solved exactly within {limit} iterations, with a proof (paper: 99.6 %). Share of
sentences by the iteration of the certificate, in per cent:

{iterations}

{search}

## Accuracy, certificates and matches by iterations (figure 5)

![accuracy, certificates and matches by the number of iterations](lexicalised.png)

With a limit of K iterations the best tree seen so far is the output; it matches if it is the same tree as with K = 50.

{figure}

## Time

Processor seconds per sentence: chart of Model 1 {chart}; dual decomposition {relax}, median {median}; dependency parser
alone {dependencies}. The longest total is {longest} s.

## Differences to the paper

- Model 1 is Collins' with three levels of back-off; the paper's is a variant in a TAG formalism. Tags are given, by
  the dependency parser's tagger, to all systems.
- The chart is pruned, and the joint problem is over the arcs that both sides allow. Certificates are about this space.
- The dependency parser has siblings and grandparents (Koo et al. 2010), trained by the perceptron; its oracle is exact
  by dual decomposition and branch and bound. The paper's is a dynamic program of second order.
"""


def write_page(results: Path, dev: list[Row], test: list[Row], gamma: float, n_all: int) -> None:
    """Write ``lexicalised.md``, ``.csv`` and ``.png``."""
    rows = [row | {"system": "joint" if row["system"] == f"joint {gamma}" else row["system"]} for row in test]
    joint = pick(rows, system="joint")
    limits = sorted({int(row["system"].split()[1]) for row in rows if row["system"].startswith("K ")})
    by_limit = [(k, *_figure(pick(rows, system=f"K {k}"))) for k in limits]
    chart = [row["seconds"] for row in pick(rows, system="Model 1")]
    relax = [row["seconds"] for row in joint]
    hard = pick(rows, system="hard")
    text = TEXT.format(
        sentences=len(joint),
        all=n_all,
        dev=len(pick(dev, system="Model 1")),
        gamma=gamma,
        accuracy=_accuracy(rows),
        infeasible=sum(1 - row["certified"] for row in hard),
        certificates=percent(_certified(joint), 1),
        limit=limits[-1],
        iterations=_iterations(joint),
        search=_search(pick(rows, system="search")),
        figure=table(
            ["K", "F1", "certificates", "matches"],
            [(k, *(percent(v) for v in vs)) for k, *vs in by_limit if k in SHOWN or k == limits[-1]],
        ),
        chart=f"{np.mean(chart):.2f}",
        relax=f"{np.mean(relax):.2f}",
        median=f"{np.median(relax):.2f}",
        dependencies=f"{np.mean([row['seconds'] for row in pick(rows, system='dependencies')]):.3f}",
        longest=f"{max(a + b for a, b in zip(chart, relax, strict=True)):.1f}",
    )
    publish(results, "lexicalised", [text])
    write_rows(results / "lexicalised.csv", rows)
    _plot(results / "lexicalised.png", by_limit)


def _scores(rows: Sequence[Row]) -> tuple[float, float, float, float]:
    """Return precision, recall, F1 and dependency accuracy."""
    gold, parsed, matched, arcs, right = (
        sum(row[name] for row in rows) for name in ("gold", "parsed", "matched", "arcs", "right")
    )
    return matched / max(parsed, 1), matched / max(gold, 1), 2 * matched / max(gold + parsed, 1), right / arcs


def _figure(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return F1, certificates and matches of one limit of iterations."""
    return _scores(rows)[2], _certified(rows), sum(row["match"] or 0 for row in rows) / len(rows)


def _certified(rows: Sequence[Row]) -> float:
    """Return the share of certified sentences."""
    return sum(row["certified"] or 0 for row in rows) / len(rows)


def _accuracy(rows: Sequence[Row]) -> str:
    """Return the table of accuracies."""
    lines = []
    for system, paper in PAPER.items():
        ours = _scores(pick(rows, system=system))
        cells = []
        for published, value in zip(paper, ours, strict=True):
            own = "–" if system == "dependencies" and value != ours[3] else f"**{percent(value)}**"
            cells.append(f"{'–' if published is None else published} / {own}")
        lines.append((NAMES[system], *cells))
    return table(["", "precision", "recall", "F1", "dependencies"], lines)


def _iterations(joint: Sequence[Row]) -> str:
    """Return the table of iterations until the certificate."""
    found = [row["iteration"] or 0 for row in joint if row["certified"]]
    shares = [sum(low <= i <= high for i in found) / len(joint) for low, high, _ in RANGES]
    names = [str(low) if low == high else f"{low}–{high}" for low, high, _ in RANGES]
    paper = ["paper", *(published for _, _, published in RANGES), 0.4]
    ours = ["here", *(percent(share, 1) for share in shares), percent(1 - sum(shares), 1)]
    return table(["iterations", *names, "none"], [paper, ours])


def _search(rows: Sequence[Row]) -> str:
    """Return what branch and bound adds."""
    if not rows:
        return "Branch and bound has nothing to do."
    solved, better = sum(row["certified"] for row in rows), sum(row["gain"] > 1e-6 for row in rows)
    return (
        f"Branch and bound (`--exact`) proves {solved} of the other {len(rows)} sentences optimal, in "
        f"{sum(row['seconds'] for row in rows):.1f} processor seconds in all and at most "
        f"{max(row['iteration'] for row in rows)} nodes; {better} of their trees change."
    )


def _plot(path: Path, limits: list[tuple]) -> None:
    """Draw figure 5 of the paper."""

    def draw(axes) -> None:
        for i, name in enumerate(("F1", "certificates", "matches with K = 50"), 1):
            axes[0].plot([line[0] for line in limits], [100 * line[i] for line in limits], label=name, marker=".")
        axes[0].set(xlabel="maximum number of iterations K", ylabel="per cent")

    figure(path, 1, draw)
