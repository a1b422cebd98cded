"""The page, table and picture of `experiments.translation`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import sacrebleu

from nonproj_systems.translation.decoding import decode
from nonproj_systems.translation.model import TranslationModel
from nonproj_systems.translation.text import detokenize, read_lines, read_pairs
from research.experiments.store import Row, appearing, read_rows, write_rows

ITERATIONS = (1, 10, 50, 100, 250, 500)
LENGTHS = ((1, 10), (11, 20), (21, 120))
TIGHT = 1e-6
"""Scores differ if by more than this."""


def write_page(results: Path, folder: Path, runs: Path, rows: dict[str, list[Row]]) -> None:
    """Write ``translation.md``, ``translation.csv`` and ``translation.png``."""
    exact, model = rows["exact"], read_rows(runs / "model.csv")[0]
    references = list(read_lines(folder / "test_2016_flickr.en.gz"))[: len(exact)]
    bleu = {name: score_bleu(found, references) for name, found in rows.items() if name != "program"}
    sections = [
        HEADER.format(n=len(exact), **model),
        "## Exact decoding\n\n" + summary(exact),
        "### By length\n\n" + by_length(exact),
        "### Iterations and tightening\n\n" + by_iterations(exact) + "\n\n![](translation.png)",
        "## Search errors of stack decoding\n\n" + search_errors(rows, bleu),
        "## Integer programs\n\n" + programs(rows),
        "## The model\n\n" + weights(model, bleu["exact"]),
        DIFFERENCES,
    ]
    with appearing(results / "translation.md") as temporary:
        temporary.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    write_rows(results / "translation.csv", table_of_sentences(rows))
    draw(results / "translation.png", exact, folder, runs)


def table(head: Sequence[str], lines: Sequence[Sequence]) -> str:
    """Return a table in Markdown."""
    found = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in found)


def percent(part: float, whole: float) -> str:
    """Return a share as text."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def column(rows: list[Row], name: str) -> np.ndarray:
    """Return a column as numbers."""
    return np.array([float(row[name]) for row in rows])


def summary(exact: list[Row]) -> str:
    """Return what was solved, beside the paper."""
    n, certified, seconds = len(exact), column(exact, "certified"), column(exact, "seconds")
    first = column(exact, "first_certified")
    gaps = [(row["value"], row["bound"]) for row in exact if not row["certified"]]
    lines = [
        ["proven optimal", percent(certified.sum(), n) + f" ({int(certified.sum())} of {n})", "over 99 %"],
        ["proven optimal without tightening", percent(first.sum(), n), ""],
        [
            "median and mean iterations",
            f"{np.median(column(exact, 'iterations')):g}, {column(exact, 'iterations').mean():.1f}",
            "",
        ],
        [
            "processor seconds per sentence: mean, median, most",
            f"{seconds.mean():.3f}, {np.median(seconds):.3f}, {seconds.max():.2f}",
            "",
        ],
    ]
    text = table(["", "here", "Chang and Collins (2011)"], lines)
    if gaps:
        text += "\n\nGaps left (score, bound): " + ", ".join(f"{a:.2f}, {b:.2f}" for a, b in gaps) + "."
    return text


def by_length(exact: list[Row]) -> str:
    """Return a table by number of source tokens."""
    lines = []
    for low, high in LENGTHS:
        rows = [row for row in exact if low <= row["words"] <= high]
        if rows:
            certified = int(column(rows, "certified").sum())
            means = [
                f"{column(rows, name).mean():.{digits}f}"
                for name, digits in (("phrases", 0), ("arcs", 0), ("iterations", 1), ("rounds", 2), ("seconds", 3))
            ]
            lines.append([f"{low} to {max(int(row['words']) for row in rows)}", len(rows), certified, *means])
    head = ["tokens", "sentences", "proven", "phrases", "arcs", "iterations", "rounds of tightening", "seconds"]
    return table(head, lines)


def by_iterations(exact: list[Row]) -> str:
    """Return tables of shares by iterations and of rounds of tightening."""
    n, iterations, certified = len(exact), column(exact, "iterations"), column(exact, "certified")
    first, alone = column(exact, "first_iterations"), column(exact, "first_certified")
    lines = [
        [f"at most {k}", percent((certified * (iterations <= k)).sum(), n), percent((alone * (first <= k)).sum(), n)]
        for k in ITERATIONS
    ]
    rounds, counted = column(exact, "rounds"), column(exact, "counted")
    more = [
        [int(k), int((rounds == k).sum()), int((certified * (rounds == k)).sum()), f"{counted[rounds == k].mean():.1f}"]
        for k in np.unique(rounds)
    ]
    head = ["iterations", "proven optimal", "of these without tightening"]
    return table(head, lines) + "\n\n" + table(["rounds", "sentences", "proven", "words counted exactly (mean)"], more)


def search_errors(rows: dict[str, list[Row]], bleu: dict[str, str]) -> str:
    """Return the table of beams."""
    exact, lines = rows["exact"], []
    optimum, certified = column(exact, "value"), column(exact, "certified") > 0
    for name, found in rows.items():
        if name == "program":
            continue
        value, seconds = column(found, "value"), column(found, "seconds")
        failed = np.isinf(value)
        wrong = certified & ~failed & (value < optimum - TIGHT)
        loss = f"{(optimum - value)[wrong].mean():.2f}" if wrong.any() else "-"
        lines.append(
            [
                name,
                int(wrong.sum()),
                percent((wrong | failed).sum(), len(found)),
                int(failed.sum()),
                loss,
                f"{seconds.mean():.3f}",
                bleu[name],
            ]
        )
        if (certified & (value > optimum + TIGHT)).any():
            raise ValueError(f"{name} beats a proven optimum")
    head = ["decoder", "search errors", "with failures", "no translation", "mean loss of score", "seconds", "BLEU"]
    return table(head, lines) + "\n\n" + BEAMS


def programs(rows: dict[str, list[Row]]) -> str:
    """Return the comparison with HiGHS."""
    optimum = {row["sentence"]: row for row in rows["exact"]}
    solved = [row for row in rows["program"] if row["status"] == "optimal"]
    same = sum(abs(row["value"] - optimum[row["sentence"]]["value"]) < 1e-5 for row in solved)
    ours = np.mean([optimum[row["sentence"]]["seconds"] for row in rows["program"]]) if rows["program"] else 0.0
    seconds = column(rows["program"], "seconds").mean() if rows["program"] else 0.0
    number, all_but = len(rows["program"]), len(solved) - same
    return (
        f"The integer program over the arcs of the same graph (`program`), for the first {number} sentences of at most "
        f"8 tokens, with a limit of 60 s: HiGHS solves {len(solved)}, all but {all_but} with the same optimum, in "
        f"{seconds:.1f} s on average; relaxation and tightening take {ours:.4f} s."
    )


def weights(model: Row, bleu: str) -> str:
    """Return the facts about the model."""
    names = ("lm", "phrase", "inverse_phrase", "lexical", "inverse_lexical", "words", "phrases", "distortion")
    lines = [[name, f"{model[name]:g}"] for name in names]
    text = (
        f"Trained on {model['pairs']} pairs in {model['train_seconds']:.0f} processor seconds, tuned on the first "
        f"{model['tuned_on']} pairs of the validation part in {model['tune_seconds']:.0f}; BLEU there, on tokens, "
        f"{model['val_bleu']:.2f}. BLEU on the test set: {bleu}."
    )
    return text + "\n\n" + table(["weight", "value"], lines)


def score_bleu(rows: list[Row], references: list[str]) -> str:
    """Return the lower-cased BLEU of ``sacrebleu`` as text."""
    texts = [detokenize(str(row["text"]).split()[1:]) for row in rows]
    return f"{sacrebleu.corpus_bleu(texts, [references], lowercase=True).score:.2f}"


def table_of_sentences(rows: dict[str, list[Row]]) -> list[Row]:
    """Return one row for each sentence, without its words."""
    found = [{name: value for name, value in row.items() if name != "text"} for row in rows["exact"]]
    for name, others in rows.items():
        if name not in ("exact", "program"):
            for row, other in zip(found, others, strict=True):
                row[f"{name} value"], row[f"{name} seconds"] = other["value"], other["seconds"]
    return found


def draw(path: Path, exact: list[Row], folder: Path, runs: Path) -> None:
    """Draw the course of the dual for one sentence, and the share of proven sentences by iterations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    tightened = [row for row in exact if row["rounds"] and row["certified"]] or exact
    row = max(tightened, key=lambda row: (row["rounds"] == 1, row["words"]))
    model = TranslationModel.load(runs / "model.nonproj")
    source, _ = read_pairs(folder / "test_2016_flickr.de.gz", folder / "test_2016_flickr.en.gz")
    found = decode(model.instance(source[int(row["sentence"])])[0])
    at = 0
    for number, result in enumerate(found.rounds):
        steps = np.arange(at, at + result.iterations)
        left.plot(steps, result.trace.dual, ".-", ms=3, lw=0.8, label="relaxation" if number == 0 else "tightened")
        at += result.iterations
    left.axhline(found.value, color="black", lw=0.8, ls="--", label="optimum")
    spread = abs(found.value - found.rounds[0].dual_bound) + 1.0
    left.set_ylim(found.value - 0.5 * spread, found.value + 6 * spread)
    left.set(xlabel="iteration", ylabel="dual value", title=f"A sentence of {int(row['words'])} tokens")
    left.legend()
    for name, iterations, mask in (
        ("with tightening", "iterations", "certified"),
        ("relaxation alone", "first_iterations", "first_certified"),
    ):
        values = np.sort(np.where(column(exact, mask) > 0, column(exact, iterations), np.inf))
        right.step(values, np.arange(1, len(values) + 1) / len(values) * 100, where="post", label=name)
    right.set(xlabel="iterations", ylabel="proven optimal, %", xscale="log", ylim=(0, 101), title="All sentences")
    right.legend()
    with appearing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")


HEADER = """# Phrase-based translation, decoded exactly

German to English, Multi30k task 1: the {n} sentences of test_2016_flickr, by
`make reproduce-systems-translation`. The method is that of Chang and Collins (2011), summarised in the tutorial of Rush
and Collins (2012), section 6.4; [docs/translation.md](../docs/translation.md) describes it. Times are processor seconds
on one core."""

BEAMS = """A search error is a translation that scores less than the proven optimum of the same model; the loss is its
mean. A stack decoder fails where no hypothesis of its last stacks can be completed within the distortion
limit. BLEU is that of `sacrebleu`, lower-cased."""

DIFFERENCES = """## Differences from the paper

- Data: captions of 12 words on average instead of sentences of up to 50 words of the European parliament, so iterations
  and seconds do not compare; the share of proven sentences does.
- The first relaxation has states (language model state, number of words, end of the last phrase). The paper's
  states also hold the last span of translated words; here that, with words counted exactly, is the first round of
  tightening.
- Language model states are the contexts that the model knows, not all pairs of words; back-off is part of the graph.
- Steps are Polyak's, with the best derivation known; a small beam search (10 hypotheses) finds the first one, and a
  search guided by the multipliers others. Arcs whose max-marginal is below the best derivation are removed before
  tightening.
- The beam search to compare with is the project's own, for the same scores, not Moses."""
