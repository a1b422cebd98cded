"""What rounding weights costs: the size of a model's package and its accuracy, by the amount of rounding.

    python -m research.experiments.rounding english-ewt greek --models models     # a stopped run can be resumed

Missing models are trained with the default options.  Everything is measured on the development
file.  Writes ``rounding.csv`` and ``rounding.md`` in the folder of results.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nonproj.cli.package import contents_of
from nonproj.io import conll
from nonproj.io.temporary import replacing
from nonproj.model.model import Model
from nonproj.model.rounding import rounded
from nonproj.model.wheel import write_wheel
from nonproj.types import Sentence
from research.experiments.__main__ import run_program
from research.experiments.distilling import figures
from research.experiments.layout import percent, table
from research.experiments.neural import known
from research.experiments.neural_training import development
from research.experiments.provenance import script, stamp
from research.experiments.setting import Setting, model_file
from research.experiments.store import Row, write_rows
from research.experiments.text import PARTS, made, parse_arguments

AMOUNTS = (0.0, 1.0, 2.0, 3.0, 4.0)
"""Values of the option ``--rounding`` of ``nonproj package``."""

MEASURED = ("english-ewt", "greek", "afrikaans", "vietnamese", "tamil")
"""The treebanks of the page."""

FILE = "rounding.csv"

INTRODUCTION = """# Rounding weights

Weights of linear models are rounded to multiples of a step in proportion to their size, and small ones become zero
(`nonproj.model.rounding`); files keep their size, but compress better. The package is a wheel made by `nonproj package`
(0: not rounded). Development files: tags, UAS and LAS with given words and predicted tags (all words, punctuation
included), and LAS from raw text by the official script of the CoNLL 2018 shared task. The steps of the single tables
were chosen on English, those of the splitters on Tamil. `python -m research.experiments.rounding` makes this page.
"""

log = logging.getLogger("experiments")


def measure(setting: Setting, languages: Sequence[str], amounts: Sequence[float] = AMOUNTS) -> None:
    """Measure the models of some treebanks, rounded by each amount; rows that exist are kept."""
    for language in languages:
        gold = list(conll.read(development(setting, language), require_heads=True))
        model = Model.load_trained(model_file(setting, language, PARTS))
        facts: Row = {"language": language, "made": made(setting, language)}
        for amount in amounts:
            rows = [row for row in known(setting, FILE) if row["language"] != language or row["made"] == facts["made"]]
            if not any(row["language"] == language and row["amount"] == amount for row in rows):
                log.info("rounding, %s, %g", language, amount)
                row = figures_of(setting, language, rounded(model, amount), gold)
                write_rows(setting.results / FILE, [*rows, facts | {"amount": amount} | row])
                write_page(setting)


def figures_of(setting: Setting, language: str, model: Model, gold: list[Sentence]) -> Row:
    """Return the accuracy of a model on the development file, and the size of its package."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nonproj"
        model.save(path)
        row = figures(setting, language, path, gold)[0]
        wheel = write_wheel(contents_of(model, "measured", "1.0.0"), Path(folder))
        return row | {"wheel": wheel.stat().st_size / 1e6}


# -- the page ----------------------------------------------------------------------------------------------------------


def write_page(setting: Setting) -> None:
    """Write the page."""
    titles, lines = script("treebanks").TREEBANKS, []
    for row in known(setting, FILE):
        shares = [percent(row[each]) for each in ("upos", "uas", "las", "raw_las")]
        title = titles[str(row["language"])].title
        lines.append([title, f"{row['amount']:g}", f"{row['wheel']:.1f}", f"{row['megabytes']:.1f}", *shares])
    header = ["", "rounding", "package, MB", "installed, MB", "UPOS", "UAS", "LAS", "raw text: LAS"]
    path = setting.results / "rounding.md"
    with replacing(path) as temporary:
        temporary.write_text(f"{INTRODUCTION}\n{table(header, lines)}\n", encoding="utf-8")
    stamp(path, "rounding")


def _run(arguments: list[str] | None) -> None:
    """Run the command line."""
    measure(*parse_arguments(arguments, "research.experiments.rounding", __doc__.split("\n")[0], default=MEASURED))


if __name__ == "__main__":
    sys.exit(run_program(_run, None))
