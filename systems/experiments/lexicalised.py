"""Lexicalised phrase structure and dependencies jointly (Rush et al. 2010, section 7.1): their table 2 and figure 5.

Models are trained on the training files of the WSJ sample; gamma is chosen on the development files.  Tags are those
of the dependency parser's tagger, for all systems.
"""

from __future__ import annotations

import hashlib
import logging
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.kernels.interpreters import environment, python
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import tag
from nonproj_systems.constituency.brackets import Tree
from nonproj_systems.constituency.collins import Collins
from nonproj_systems.constituency.evalb import DELETED_TAGS, Counts, compare
from nonproj_systems.constituency.forest import best_derivation
from nonproj_systems.constituency.heads import dependencies
from nonproj_systems.constituency.joint_dependencies import MAX_ITERATIONS, JointParser, tagged_sentence
from nonproj_systems.constituency.lexicalised import LexicalisedParser, conll_lines
from nonproj_systems.constituency.split import read_split
from research.experiments.setting import fetched
from research.experiments.store import Row, stored

GAMMAS = (0.005, 0.01, 0.02, 0.03, 0.05)
ITERATIONS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, MAX_ITERATIONS)
MAX_WORDS, CHUNK, DEV_SENTENCES = 40, 25, 120

log = logging.getLogger("experiments")


class Models(NamedTuple):
    """Models of the experiment: the parsers, and a digest that names its units."""

    phrases: LexicalisedParser
    dependencies: Parser
    digest: str


def main(results: Path, data: Path, short: bool) -> None:
    """Run all units that have no result yet, and write the page, the table and the picture."""
    from systems.experiments.lexicalised_page import write_page

    trees = read_split(fetched("systems/data_scripts/fetch_brackets.py", data, "--path")[0])
    if short:
        trees = {"train": trees["train"][:150], "dev": trees["dev"][:4], "test": trees["test"][:4]}
    folder = results / "runs"
    models = _models(trees["train"], folder)
    dev = [tree for tree in trees["dev"] if len(tree.leaves()) <= MAX_WORDS][:DEV_SENTENCES]
    rows = _units("dev", dev, models, folder, GAMMAS)
    gamma = max(GAMMAS, key=lambda g: _f1(row for row in rows if row["system"] == f"joint {g}"))
    log.info("gamma %s", gamma)
    test = [tree for tree in trees["test"] if len(tree.leaves()) <= MAX_WORDS]
    write_page(results, rows, _units("test", test, models, folder, (gamma,)), gamma, len(trees["test"]))


def _f1(rows: Iterable[Row]) -> float:
    """Return the F1 of rows."""
    rows = list(rows)
    return 2 * sum(r["matched"] for r in rows) / max(1, sum(r["gold"] + r["parsed"] for r in rows))


def _models(trees: list[Tree], folder: Path) -> Models:
    """Return the models of the training trees; the dependency parser is trained once, and kept."""
    text = "".join(line for tree in trees for line in conll_lines(tree)).encode()
    digest = hashlib.blake2b(text, digest_size=6).hexdigest()
    treebank, file = folder / f"lexicalised-{digest}.conll", folder / f"lexicalised-{digest}.nonproj"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        treebank.write_bytes(text)
        command = python("-m", "nonproj", "train", str(treebank), "-o", str(file), "--held-out", "0", "-q")
        subprocess.run([*command, "--parts", "grandparent"], check=True, env=environment())
    phrases = LexicalisedParser(Collins.train(trees))
    return Models(phrases, Parser(Model.load(file), tags="all"), digest)


def _units(part: str, trees: list[Tree], models: Models, folder: Path, gammas: tuple[float, ...]) -> list[Row]:
    """Return the rows of all sentences, chunk by chunk; chunks with a file are read from it."""
    rows = []
    for begin in range(0, len(trees), CHUNK):
        values = "-".join(map(str, gammas))
        path = folder / f"lexicalised-{models.digest}-{part}-{values}-{begin}-{len(trees)}.csv"
        chunk = list(enumerate(trees))[begin : begin + CHUNK]
        found = (_sentence(number, tree, models, gammas, part == "test") for number, tree in chunk)
        rows += stored(path, lambda found=found: [row for each in found for row in each])
    return rows


def _sentence(number: int, gold: Tree, models: Models, gammas: tuple[float, ...], full: bool) -> list[Row]:
    """Return the rows of a sentence: Model 1, the dependency parser, and the combinations."""
    words, phrases = gold.words(), models.phrases
    tagged = models.dependencies.run([tagged_sentence(words, ["_"] * len(words))], until=tag).sentences[0]
    tags = [row[4] for row in tagged.rows]
    sentence, began = tagged_sentence(words, tags), time.process_time()
    graph = phrases.chart(words, tags)
    if graph is None:
        alone = phrases.parse(words, tags)
    else:
        value, edges = best_derivation(graph, np.zeros((len(words) + 1) ** 2))
        alone = phrases.read(graph, edges, value, words, tags)
    rows = [_row(number, "Model 1", gold, alone.tree, alone.heads, time.process_time() - began)]
    if full:
        began = time.process_time()
        heads = models.dependencies.parse(sentence).decoded.heads
        rows.append(_row(number, "dependencies", gold, None, heads, time.process_time() - began))
        found = JointParser(phrases, models.dependencies).hard(words, tags)
        rows.append(
            _row(number, "hard", gold, found.tree, found.heads, 0.0, certified=int((found.heads == heads).all()))
        )
    for gamma in gammas:
        began = time.process_time()
        if graph is None:
            names = [f"K {k}" for k in ITERATIONS] if full else []
            rows += [_row(number, name, gold, alone.tree, alone.heads, 0.0) for name in [f"joint {gamma}", *names]]
            continue
        joint = JointParser(phrases, models.dependencies, gamma)
        instance, seen = joint.instance(sentence, graph, alone.heads), []
        result = joint.relax(instance, lambda r, seen=seen: seen.append((r.solution, r.certified)))
        seconds = time.process_time() - began

        def row(name, solution, instance=instance, **more):
            tree = phrases.tree(instance.graph, solution, words, tags)
            return _row(number, name, gold, tree, instance.heads(solution), more.pop("seconds", 0.0), **more)

        iteration = next((i for i, (_, certified) in enumerate(seen, 1) if certified), 0)
        more = {"iteration": iteration, "gap": result.dual_bound - result.primal_value, "seconds": seconds}
        rows.append(row(f"joint {gamma}", result.solution, certified=int(result.certified), **more))
        for k in ITERATIONS if full else ():
            solution, certified = seen[min(k, len(seen)) - 1]
            same = int(np.array_equal(solution, result.solution))
            rows.append(row(f"K {k}", solution, certified=int(certified), match=same))
        if full and not result.certified:
            rows += _closed(row, joint, instance, result)
    return rows


def _closed(row, joint: JointParser, instance, result) -> list[Row]:
    """Return the row of a sentence without a certificate after longer steps, and branch and bound."""
    began = time.process_time()
    found = joint.search(instance, result.best_multipliers)
    gain = found.primal_value - result.primal_value
    more = {"certified": int(found.certified), "gap": found.dual_bound - found.primal_value, "iteration": found.nodes}
    return [row("search", found.solution, gain=gain, seconds=time.process_time() - began, **more)]


def _row(number: int, system: str, gold: Tree, tree: Tree | None, heads: np.ndarray, seconds: float, **more) -> Row:
    """Return a row: brackets, dependencies, and what else is known."""
    counts = compare(gold, tree) if tree is not None else Counts()
    counted = [tag not in DELETED_TAGS for tag in gold.tags()]
    right = [a == b for a, b in zip(dependencies(gold), heads.tolist(), strict=True)]
    row = {"sentence": number, "system": system, "words": len(counted), "seconds": seconds}
    row |= {"gold": counts.gold, "parsed": counts.parsed, "matched": counts.matched}
    row |= {"arcs": sum(counted), "right": sum(r and c for r, c in zip(right, counted, strict=True))}
    return row | more
