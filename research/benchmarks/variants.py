"""The effect of design choices: one model with one change at a time, all in alternation.

    python -m research.benchmarks.variants MODEL FILE

``pruning`` prunes in parsing as in training; ``paper`` uses the step sizes of Koo et al. (2010); ``unsearched`` leaves
out branch and bound; ``huge`` holds the weights in huge pages, ``small`` in pages of 4 KB, both copied from the file;
``sentence`` parses sentence by sentence instead of a batch stage by stage.
"""

from __future__ import annotations

import argparse
import dataclasses
import mmap
import re
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from nonproj.evaluation.scores import evaluate
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from research.benchmarks.clock import Clock, Seconds, Summary, interleave
from research.benchmarks.stages import facts, run_stages, run_whole


def in_pages(model: Model, huge: bool) -> Model:
    """Return a copy of a model with its weights in huge or in small pages, if the system takes such advice."""
    weights = {name: _in_pages(table, huge) for name, table in model.weights.items()}
    return dataclasses.replace(model, weights=weights)


def _in_pages(table: np.ndarray, huge: bool) -> np.ndarray:
    private = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)  # shared memory is never huge
    memory = mmap.mmap(-1, table.nbytes + (4 << 20), **({"flags": private} if private else {}))
    advice = getattr(mmap, "MADV_HUGEPAGE" if huge else "MADV_NOHUGEPAGE", None)
    if advice is not None:
        memory.madvise(advice)
    start = -np.frombuffer(memory, np.uint8).ctypes.data % (2 << 20)  # a huge page is 2 MB, and aligned
    copy = np.frombuffer(memory, table.dtype, table.size, start).reshape(table.shape)
    copy[...] = table
    return copy


def huge_megabytes() -> float:
    """Return the megabytes of this process that lie in huge pages; 0 if the system does not tell."""
    path = Path("/proc/self/smaps_rollup")
    found = re.search(r"AnonHugePages: +(\d+) kB", path.read_text()) if path.exists() else None
    return int(found[1]) / 1024 if found else 0.0


def variants(model: Model) -> dict[str, Parser]:
    """Return the parser of each variant."""
    decoding = dataclasses.replace(model.config.decoding, confidence=False)

    def changed(**options):
        return Parser(model, dataclasses.replace(decoding, **options))

    return {
        "as it is": Parser(model, decoding),
        "pruning": changed(threshold=model.config.pruner.threshold),
        "paper": changed(step="paper"),
        "unsearched": changed(exact=False),
        "huge": Parser(in_pages(model, huge=True), decoding),
        "small": Parser(in_pages(model, huge=False), decoding),
    }


def _one_by_one(parser: Parser, source: Path, target: Path) -> dict[str, Seconds]:
    """Parse a file to a file, sentence by sentence."""
    clock = Clock()

    def parse():
        rows = ((s, p.decoded.heads, p.labels) for s, p in parser.parse_all(conll.read(source), batch_size=1))
        conll.write(rows, target)

    clock.time("whole", parse)
    return dict(clock.seconds)


def measure(model: Model, source: Path, repeats: int) -> tuple[dict[str, Summary], dict[str, dict[str, float]]]:
    """Measure all variants.

    Returns
    -------
    times : dict of str to Summary
        From file to file.
    counts : dict of str to dict
        `stages.facts` and ``uas``; for ``huge`` also ``megabytes``, the size of its huge pages.
    """
    before = huge_megabytes()
    parsers = variants(model)
    megabytes = huge_megabytes() - before
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.conll"
        runs = {name: partial(run_whole, parser, source, target) for name, parser in parsers.items()}
        runs["sentence"] = partial(_one_by_one, parsers["as it is"], source, target)
        times = {name: summary["whole"] for name, summary in interleave(runs, repeats).items()}
        counts = {}
        for name, parser in parsers.items():
            counts[name] = facts(run_stages(parser, source, target)[1])
            gold, parsed = conll.read(source, require_heads=True), conll.read(target)
            counts[name]["uas"] = evaluate(gold, parsed).uas
    counts["sentence"] = counts["as it is"]
    counts["huge"]["megabytes"] = megabytes
    return times, counts


def table(times: Mapping[str, Summary], counts: Mapping[str, Mapping[str, float]]) -> str:
    """Return the comparison as plain text."""
    heads = ("us/word", "ratio", "arcs", "parts", "iterations", "certified", "UAS")
    lines = [f"{'':<12}" + "".join(f"{head:>12}" for head in heads)]
    for name, time in times.items():
        facts_ = counts[name]
        values = [1e6 * time.cpu / facts_["words"], time.cpu / times["as it is"].cpu]
        values += [facts_[key] for key in ("arcs_per_word", "parts_per_word", "iterations")]
        values += [100 * facts_["certified"], 100 * facts_["uas"]]
        lines.append(f"{name:<12}" + "".join(f"{value:>12.2f}" for value in values))
    return "\n".join([*lines, "processor microseconds, arcs and parts per word; iterations per sentence"])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    times, counts = measure(Model.load(options.model), options.file, options.repeats)
    sys.stdout.write(table(times, counts) + "\n")
    sys.stdout.write(f"{counts['huge']['megabytes']:.0f} MB of 'huge' are in huge pages\n")


if __name__ == "__main__":
    main()
