"""Rush et al. (2010), section 7.2: phrase structure and trigram tags, on the test files of the WSJ sample."""

from __future__ import annotations

import hashlib
import time
from functools import partial
from pathlib import Path

import numpy as np

from nonproj_systems.constituency.evalb import Counts, compare, total
from nonproj_systems.constituency.integer_program import joint_program
from nonproj_systems.constituency.joint import decode
from nonproj_systems.constituency.model import TrainingOptions, train
from nonproj_systems.constituency.parser import FIXED, GRAMMAR, JOINT, METHODS, Parsed, Parser, ParsingOptions
from nonproj_systems.constituency.split import read_plain, split_files
from research.experiments.layout import beside, figure, percent, pick, seconds, table
from research.experiments.provenance import publish
from research.experiments.setting import ROOT, fetched
from research.experiments.store import Row, stored, write_rows

PAPER = {
    FIXED: {"precision": 88.1, "recall": 87.6, "f1": 87.9, "tags": 96.7},
    JOINT: {"precision": 88.7, "recall": 88.0, "f1": 88.3, "tags": 97.1},
}
"""Table 3 of the paper."""

WITHIN = {1: 58.7, 2: 74.1, 3: 80.4, 4: 84.0, 10: 94.3, 20: 98.1, 50: 98.9}
"""Table 1 of the paper, cumulative: per cent of the sentences that are exact, by number of iterations."""

PROGRAM_WORDS, PROGRAM_TAGS = 20, 12
"""Words, and candidate tags of a word, of the largest sentences that are compared with the integer program."""

DIFFERENCES = """## Differences from the paper

- Training has 76,000 words of the Wall Street Journal instead of 950,000, so all figures are lower.
- The grammar is an unlexicalised one, the paper's Collins' Model 1; the tagger is a hidden Markov model, the paper's a
  maximum entropy model.
- Where the paper's algorithm takes the last tree without a certificate, this one takes the best tree seen, and goes on
  with branch and bound."""

NAMES = {GRAMMAR: "the grammar alone", FIXED: "fixed tags", JOINT: "the combination"}


def main(results: Path, data: Path, short: bool) -> None:
    """Write the page, the rows and the figure; of one test file and a tenth of the training files if it is short."""
    files = split_files(fetched("systems/data_scripts/fetch_brackets.py", data, "--path")[0])
    if short:
        files = {"train": files["train"][::10], "dev": files["dev"][:1], "test": files["test"][1:2]}
    parser, rows = Parser(train(read_plain(files["train"]))), []
    key, runs = _key(files), results / "runs" / "constituency"
    for method in METHODS:  # compiling is not measured
        parser.parse(["It", "works", "."], method)
    for path in files["test"]:
        rows += stored(runs / f"{path.stem}-{key}.csv", partial(_run, parser, path))
    step = 1 if short else 12
    pruning = stored(runs / f"pruning-{key}.csv", partial(_pruning, parser.model, files["dev"], step))
    programs = stored(runs / f"programs-{key}.csv", partial(_programs, parser, files["test"]))
    write_rows(results / "constituency.csv", rows)
    _plot(rows, results)
    if results.resolve() == ROOT / "systems" / "results":
        _plot(rows, ROOT / "systems" / "docs")
    sizes = {name: len(read_plain(of)) for name, of in files.items()}
    publish(results, "constituency", _page(rows, pruning, programs, sizes))


def _key(files: dict[str, list[Path]]) -> str:
    """Return a digest of the options and of the training files, so that no unit of another run is taken."""
    digest = hashlib.blake2b(repr((TrainingOptions(), ParsingOptions())).encode(), digest_size=6)
    for path in files["train"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _run(parser: Parser, path: Path) -> list[Row]:
    """Parse a file by each method; return a row for each sentence and method."""
    rows = []
    for tree in read_plain([path]):
        for method, (parsed, spent) in _parse(parser, tree.words()).items():
            counts, row = compare(tree, parsed.tree), {"method": method, "file": path.stem}
            row |= {"n_words": len(tree.leaves()), **counts._asdict(), "found": int(parsed.found), "seconds": spent}
            if parsed.decoded is not None:
                found = parsed.decoded
                row |= {"status": found.status, "iterations": found.iterations, "nodes": found.nodes}
                row |= {"value": found.value, "bound": found.bound, "root_certified": int(found.root.certified)}
            rows.append(row)
    return rows


def _parse(parser: Parser, words: list[str]) -> dict[str, tuple[Parsed, float]]:
    """Return a sentence's parse and its seconds by each method; the forest is built once for two of them."""
    began = time.process_time()
    forest = parser.forest(words)
    shared, found = time.process_time() - began, {}
    for method in METHODS:
        began = time.process_time()
        parsed = parser.parse(words, method) if method == FIXED else parser.parse_forest(words, forest, method)
        found[method] = parsed, time.process_time() - began + (0.0 if method == FIXED else shared)
    return found


def _pruning(model, files: list[Path], step: int) -> list[Row]:
    """Decode development sentences with thresholds a hundredth of the usual ones."""
    usual, rows = ParsingOptions(), []
    wide = usual._replace(coarse_threshold=usual.coarse_threshold / 100, threshold=usual.threshold / 100)
    for tree in read_plain(files)[::step]:
        first, second = (Parser(model, options).parse(tree.words()) for options in (usual, wide))
        better = second.value > first.value + 1e-6
        rows.append(
            {"better": int(better), "other_tree": int(second.tree != first.tree), "gain": second.value - first.value}
        )
    return rows


def _programs(parser: Parser, files: list[Path]) -> list[Row]:
    """Compare certified values with the optimum of the integer program over the same pruned forests."""
    rows = []
    for tree in read_plain(files):
        found = parser.forest(tree.words()) if len(tree.leaves()) <= PROGRAM_WORDS else None
        if found is None or np.diff(found.trellis.first).max() > PROGRAM_TAGS:
            continue
        decoded, began = decode(*found), time.process_time()
        solved = joint_program(*found)
        spent = time.process_time() - began
        equal = abs(solved.value - decoded.value) <= 1e-6 * (1 + abs(solved.value))
        rows.append({"certified": int(decoded.certified), "equal": int(equal), "seconds": spent})
    return rows


def _total(rows: list[Row]) -> Counts:
    """Return the counts of some rows, summed."""
    return total(Counts(*(int(row[name]) for name in Counts._fields)) for row in rows)


def _outside(rows: list[Row]) -> str:
    """Return how many sentences the grammar cannot derive, by method."""
    missing = {method: sum(row["found"] == 0 for row in pick(rows, method=method)) for method in METHODS}
    return ", ".join(f"{count} with {NAMES[method]}" for method, count in missing.items())


def _share_within(rows: list[Row], k: int) -> float:
    """Return the share of sentences that are certified within ``k`` iterations of the subgradient method."""
    return float(np.mean([row["root_certified"] == 1 and row["iterations"] <= k for row in rows]))


def _difference(rows: list[Row], resamples: int = 9999) -> tuple[float, float]:
    """Return the difference in F1 between the combination and fixed tags, and its p by a paired permutation test."""
    first, second = (
        np.array([[row["matched"], row["gold"] + row["parsed"]] for row in pick(rows, method=method)], float)
        for method in (JOINT, FIXED)
    )

    def f1(counts: np.ndarray) -> float:
        matched, brackets = counts.sum(axis=0)
        return 2 * matched / brackets

    observed, draw, extreme = f1(first) - f1(second), np.random.default_rng(0), 0
    for _ in range(resamples):
        swap = draw.random(len(first))[:, None] < 0.5
        one, two = np.where(swap, second, first), np.where(swap, first, second)
        extreme += abs(f1(one) - f1(two)) >= abs(observed) - 1e-12
    return observed, (extreme + 1) / (resamples + 1)


def _page(rows: list[Row], pruning: list[Row], programs: list[Row], sizes: dict[str, int]) -> list[str]:
    """Return the paragraphs of the page."""
    joint = pick(rows, method=JOINT)
    accuracy = []
    for method in METHODS:
        mine, known = pick(rows, method=method), PAPER.get(method, {})
        counts = _total(mine)
        short = _total([row for row in mine if row["n_words"] <= 40])
        shown = (
            ("precision", counts.precision),
            ("recall", counts.recall),
            ("f1", counts.f1),
            ("tags", counts.tag_accuracy),
        )
        cells = [beside(known.get(name), percent(value)) for name, value in shown]
        spent = float(np.mean([row["seconds"] for row in mine]))
        accuracy.append([NAMES[method], *cells, percent(short.f1), seconds(spent)])
    header = ["", "precision", "recall", "F1", "tags", "F1, at most 40 words", "seconds per sentence"]
    convergence = [[k, beside(paper, percent(_share_within(joint, k), 1))] for k, paper in WITHIN.items()]
    certified = np.mean([row["status"] != "open" and row["found"] == 1 for row in joint])
    searched = [row for row in joint if row["status"] == "searched"]
    difference, p = _difference(rows)
    exact = pick(programs, certified=1)
    equal = sum(row["equal"] for row in exact)
    better, slowest = sum(row["better"] for row in pruning), max((row["nodes"] for row in searched), default=0)
    program_seconds = seconds(float(np.mean([row["seconds"] for row in programs])))
    return [
        "# Phrase structure and trigram tags",
        f"""Rush et al. (2010), section 7.2, on the WSJ sample: {sizes["train"]:,} sentences for training,
{sizes["dev"]} for development, {sizes["test"]} for testing, by file (`nonproj_systems.constituency.split`). Made by
`make reproduce-systems-constituency`; [docs/constituency.md](../docs/constituency.md) describes the system. The paper /
**ours**, in per cent:""",
        table(header, accuracy),
        f"""The combination's F1 is {100 * difference:+.2f} points from that of fixed tags (p = {p:.2g}, paired
permutation test over sentences). Brackets are scored by the conventions of evalb, tags with punctuation. Seconds are
those of a processor, pruning included, reading and compiling excluded.""",
        "Sentences with a certificate after so many iterations, in per cent; the paper / **ours**:",
        table(["iterations", "exact"], convergence),
        "![Share of sentences with a certificate, by iterations](constituency.png)",
        f"""With branch and bound {percent(certified)} % are certified; it was needed {len(searched)} time(s), with
{slowest} nodes at most. Outside the grammar, with a flat tree: {_outside(rows)}.""",
        f"""Over the sentences of up to {PROGRAM_WORDS} words, each with up to {PROGRAM_TAGS} candidate tags,
the certified value is the optimum of the integer program in {equal} of {len(exact)} cases; HiGHS takes
{program_seconds} seconds for one.""",
        f"""A certificate holds for the pruned forest. Development sentences with a better tree at thresholds a
hundredth as high: {better} of {len(pruning)}.""",
        DIFFERENCES,
    ]


def _plot(rows: list[Row], folder: Path) -> None:
    """Plot the share of sentences with a certificate against iterations."""
    joint = pick(rows, method=JOINT)

    def draw(axes) -> None:
        ks = list(range(1, 51))
        axes[0].plot(ks, [100 * _share_within(joint, k) for k in ks], label="WSJ sample, test files")
        axes[0].plot(list(WITHIN), list(WITHIN.values()), "o", label="Rush et al. (2010), section 23")
        axes[0].set(xscale="log", xlabel="iterations", ylabel="sentences with a certificate (%)", ylim=(0, 102))
        axes[0].set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])

    figure(folder / "constituency.png", 1, draw)
