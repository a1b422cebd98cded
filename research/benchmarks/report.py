"""Markdown tables of one run, from the history alone.

python -m research.benchmarks.report [--file research/benchmarks/history.csv] [--markdown research/benchmarks/README.md]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from research.benchmarks import history
from research.benchmarks.history import Figure
from research.benchmarks.lengths import LENGTHS, dominant
from research.benchmarks.memory import SIZES
from research.benchmarks.stages import STAGES

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
"""Text between these lines of a page is replaced."""

Key = tuple[str, str]


class Figures:
    """The figures of one run by treebank, model and measure.

    Parameters
    ----------
    figures : iterable of Figure
    """

    def __init__(self, figures: Iterable[Figure]):
        self._values: dict[tuple[Key, str], float] = {}
        self.keys: list[Key] = []
        self.stamp = ""
        for f in figures:
            self._values[(f.treebank, f.model), f.measure] = f.value
            self.stamp = f"{f.date[:10]}, commit {f.commit}, Python {f.python}, numba {f.numba}"
            if (f.treebank, f.model) not in self.keys:
                self.keys.append((f.treebank, f.model))

    def get(self, key: Key, measure: str) -> float | None:
        """Return a figure, or None if it was not measured."""
        return self._values.get((key, measure))

    def show(self, key: Key, measure: str, form: str = ".1f") -> str:
        """Return a figure as text, or a dash if it was not measured."""
        value = self.get(key, measure)
        return "–" if value is None else format(value, form)

    @property
    def measures(self) -> set[str]:
        """The names of all measures."""
        return {measure for _, measure in self._values}

    def having(self, measure: str) -> list[Key]:
        """Return the treebanks and models that have a measure."""
        return [key for key in self.keys if self.get(key, measure) is not None]


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, without the columns that were not measured in any row.

    Examples
    --------
    >>> print(markdown(["stage", "time", "ratio"], [["read", "1.5", "–"]]))
    | stage | time |
    |---|---|
    | read | 1.5 |
    """
    rows = list(rows)
    kept = [k for k in range(len(heads)) if not rows or any(row[k] != "–" for row in rows)]
    text = ["| " + " | ".join(line[k] for k in kept) + " |" for line in [heads, *rows]]
    return "\n".join([text[0], "|" + "---|" * len(kept), *text[1:]])


def _name(key: Key) -> str:
    return f"{key[1]} on {key[0]}"


# -- the tables --------------------------------------------------------------------------------------------------------


def speed(figures: Figures) -> str:
    """Return the table of speed from file to file, compared with UDPipe."""
    heads = ["model on file", "words/s", "words per processor second", "UAS", "UDPipe words/s", "UAS", "speed ratio"]
    measures = ("words_per_second", "words_per_second.cpu", "uas", "udpipe.words_per_second.cpu", "udpipe.uas")
    forms = (",.0f", ",.0f", ".2f", ",.0f", ".2f")
    rows = []
    for key in figures.having("words_per_second"):
        cells = [figures.show(key, m, form) for m, form in zip(measures, forms, strict=True)]
        rows.append([_name(key), *cells, figures.show(key, "udpipe.ratio")])
    return "### From file to file\n\n" + markdown(heads, rows)


def by_stage(figures: Figures) -> str:
    """Return the table of time per word by stage, and of counts."""
    keys = figures.having("stage.all.cpu")
    rows = [[s, *[figures.show(key, f"stage.{s}.cpu", ".2f") for key in keys]] for s in (*STAGES, "all")]
    counts = (
        ("candidate arcs per word", "arcs_per_word", ".2f"),
        ("parts per word", "parts_per_word", ".1f"),
        ("iterations per sentence", "iterations", ".1f"),
        ("automata decoded per word", "automata_per_word", ".2f"),
        ("share of automata decoded", "recomputed", ".3f"),
        ("share of trees certified", "certified", ".4f"),
    )
    rows += [[text, *[figures.show(key, name, form) for key in keys]] for text, name, form in counts]
    title = "### Time by stage\n\nProcessor microseconds per word; counts below.\n\n"
    return title + markdown(["stage", *map(_name, keys)], rows)


def by_length(figures: Figures) -> str:
    """Return the table of time per word by sentence length, with the slowest stage."""
    keys = figures.having("length.exponent")
    rows = []
    for key in keys:
        cells = []
        for length in LENGTHS:
            stages = {s: figures.get(key, f"length.{length}.{s}") for s in STAGES}
            total, most = figures.show(key, f"length.{length}.all", ".0f"), "–"
            if None not in stages.values():
                most = f"{total} ({dominant(stages)} {max(stages.values()):.0f})"
            cells.append(most)
        rows.append([_name(key), *cells, figures.show(key, "length.exponent", ".2f")])
    title = "### Time by sentence length\n\n"
    title += "Processor microseconds per word; in brackets those of the slowest stage; exponent of the length.\n\n"
    return title + markdown(["model on file", *[f"{n} words" for n in LENGTHS], "exponent"], rows)


def process(figures: Figures) -> str:
    """Return the table of start-up, memory, cores and training."""
    jobs = sorted((m for m in figures.measures if m.startswith("jobs.")), key=lambda m: int(m[5:]))
    columns: list[tuple[str, str, str]] = [
        ("`--help`, s", "start.help", ".2f"),
        ("first parse, s", "start.first", ".2f"),
        ("its processor time, s", "start.first.cpu", ".2f"),
        ("peak memory, MiB", "peak_memory", ".0f"),
        *[(f"words/s, `--jobs {m[5:]}`", m, ",.0f") for m in jobs],
        ("training epoch, s", "train.epoch", ".1f"),
        ("complete training with 2 epochs, s", "train.all", ".0f"),
        ("memory of training, MiB", "train.memory", ".0f"),
    ]
    rows = [[_name(k), *[figures.show(k, m, f) for _, m, f in columns]] for k in figures.having("start.help")]
    return "### Processes\n\n" + markdown(["model on file", *[c[0] for c in columns]], rows)


def arborescence(figures: Figures) -> str:
    """Return the table of the arborescence alone."""
    rows = [
        [
            _name(key),
            figures.show(key, "arborescence.cpu", ".2f"),
            figures.show(key, "chu_liu_edmonds.cpu", ".2f"),
            figures.show(key, "chu_liu_edmonds.ratio"),
        ]
        for key in figures.having("arborescence.cpu")
    ]
    title = "### The arborescence alone\n\nProcessor microseconds per word, on the dense scores of the pruner.\n\n"
    heads = ["model on file", "`maximum_arborescence`", "`ufal.chu_liu_edmonds`", "speed ratio"]
    return title + markdown(heads, rows)


def limit(figures: Figures) -> str:
    """Return the table of scoring kernels and their limits."""
    fields = (("lookups", ".0f"), ("lines", ".0f"), ("touched", ""), ("table", ""))
    times = ("low", "high", "replay", "small", "kernel")
    rows = []
    for key in figures.having("limit.pairs.kernel"):
        for name in ("pairs", "arc", "sibling", "grandparent", "label"):
            if figures.get(key, f"limit.{name}.kernel") is None:
                continue
            cells = []
            for field, form in fields:
                value = figures.get(key, f"limit.{name}.{field}")
                cells.append(format(value, form) if form else f"{value / 2**20:.1f}")
            cells += [figures.show(key, f"limit.{name}.{field}", ".2f") for field in times]
            rows.append([_name(key), name, *cells])
    heads = ["model on file", "kernel", "look-ups", "lines", "touched, MB", "table, MB"]
    heads += ["estimate from", "to", "replay", "small table", "kernel"]
    title = "### Limits of scoring\n\n"
    title += "Look-ups and lines per word; megabytes that a batch touches; microseconds per word.\n\n"
    return title + markdown(heads, rows)


def memory(figures: Figures) -> str:
    """Return the table of reads at random places."""
    key = figures.having(f"memory.{SIZES[0]}.dependent")[-1:]
    rows = [
        [f"{kind} read, ns", *[figures.show(k, f"memory.{size}.{kind}", ".2f") for size in SIZES]]
        for k in key
        for kind in ("dependent", "independent")
    ]
    title = "### Memory\n\nTime of a read at a random place, by table size.\n\n"
    return title + markdown(["", *[_size(size) for size in SIZES]], rows)


def _size(size: int) -> str:
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB"


def counted(figures: Figures) -> str:
    """Return the table of instructions per word."""
    keys = figures.having("instructions.read")
    names = [*STAGES, "kernel.pairs", "kernel.arc", "kernel.sibling", "kernel.grandparent"]
    rows = [[name, *[figures.show(key, f"instructions.{name}", ",.0f") for key in keys]] for name in names]
    title = "### Instructions per word\n\nThe kernels are parts of the stages `prune` and `score`.\n\n"
    return title + markdown(["", *map(_name, keys)], rows)


TABLES: tuple[tuple[Callable[[Figures], str], str], ...] = (
    (speed, "words_per_second"),
    (by_stage, "stage.all.cpu"),
    (by_length, "length.exponent"),
    (arborescence, "arborescence.cpu"),
    (process, "start.help"),
    (limit, "limit.pairs.kernel"),
    (memory, f"memory.{SIZES[0]}.dependent"),
    (counted, "instructions.read"),
)
"""The tables in order, each with a measure without which it is omitted."""


def render(figures: Iterable[Figure]) -> str:
    """Return all tables of one run."""
    found = Figures(figures)
    tables = [table(found) for table, measure in TABLES if found.having(measure)]
    return "\n\n".join([f"One run: {found.stamp}.", *tables]) + "\n"


def put(page: Path, text: str) -> None:
    """Replace the text between `BEGIN` and `END` in a page.

    Raises
    ------
    ValueError
        If the page lacks the two marks in this order.
    """
    content = page.read_text(encoding="utf-8")
    before, begin, rest = content.partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page}: the lines {BEGIN} and {END} are missing")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=history.PATH)
    parser.add_argument("--markdown", type=Path, metavar="PAGE")
    options = parser.parse_args()
    if not options.file.exists():
        raise SystemExit(f"{options.file} does not exist; 'make bench' creates it")
    try:
        text = render(history.last_run(history.load(options.file)))
        if options.markdown:
            put(options.markdown, text)
        else:
            sys.stdout.write(text)
    except ValueError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
