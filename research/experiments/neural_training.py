"""Ways to fine-tune an encoder, compared on development files: losses of words, of trees, and of whole structures.

    python -m research.experiments.neural_training                  # all treebanks; a stopped run can be resumed
    python -m research.experiments.neural_training vietnamese       # only these; the others keep their figures

Each way fine-tunes the encoder of `research.experiments.neural` with the same seed, which needs PyTorch.  Writes
``neural-training.csv`` and ``neural-training.md`` in the folder of results.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from nonproj.io.temporary import replacing
from research.experiments.__main__ import run_program
from research.experiments.layout import percent, pick, table
from research.experiments.neural import encoder_model, known, made
from research.experiments.neural_trees import ARBORESCENCE, EXACT, TOGETHER, decoded_rows
from research.experiments.provenance import script, stamp
from research.experiments.setting import ROOT, Setting
from research.experiments.store import write_rows
from research.experiments.text import LANGUAGES, parse_arguments

WAYS: dict[str, tuple[str, dict[str, object]]] = {
    "words": ("heads of words", {"encoder.losses": "words"}),
    "trees": ("trees", {"encoder.losses": "trees"}),
    "words-structures": ("heads of words, structures", {}),
    "trees-structures": ("trees, structures", {"encoder.losses": "trees-structures"}),
}
"""The losses by name: their title, and the options that are not the default ones."""

DEFAULT = "words-structures"
SHOWN = (ARBORESCENCE, EXACT, TOGETHER)
FILE = "neural-training.csv"

INTRODUCTION = """# Ways to train an encoder

Each encoder is fine-tuned on the training file with four losses, and judged on the development file: gold words,
predicted tags, all words, punctuation included. "Heads of words" is the cross-entropy of each word's head; "trees" the
negative log-likelihood of the gold tree among all arborescences, whose gradient is marginals minus gold; "structures"
adds the hinge loss over the relaxed set Z of whole structures after 30 % of the steps, from which siblings and
grandparents are learnt. The default is "heads of words, structures". The first figures are those of the best
arborescence by the encoder's arcs, then of the best tree with its siblings and grandparents, and of the best tree by
the sums with the linear model's scores. `python -m research.experiments.neural_training` makes this page.
"""

log = logging.getLogger("experiments")


def measure(setting: Setting, languages: Sequence[str]) -> None:
    """Measure treebanks one by one; write the page, with what was measured before, after each way."""
    for language in languages:
        for way, (_, changes) in WAYS.items():
            log.info("training, %s, %s", language, way)
            model = encoder_model(setting, language, changes, "" if way == DEFAULT else f"-{way}")
            rows = decoded_rows(model, development(setting, language), setting.sentences)
            facts = {"language": language, "way": way, "made": made(setting, language)}
            found = [facts | row for row in rows if row["method"] in SHOWN]
            kept = [row for row in known(setting, FILE) if (row["language"], row["way"]) != (language, way)] + found
            kept.sort(key=lambda row: (LANGUAGES.index(str(row["language"])), list(WAYS).index(str(row["way"]))))
            write_rows(setting.results / FILE, kept)
            write_page(setting)


def development(setting: Setting, language: str) -> Path:
    """Return the development file of a treebank; fetch it if it is missing."""
    if language in setting.files:
        return setting.files[language][1]
    command = [sys.executable, str(ROOT / "data_scripts" / "fetch.py"), language, "--out", str(setting.data), "--paths"]
    files = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout.splitlines()
    if len(files) < 3:
        raise SystemExit(f"{language} has no development file; choose another treebank")
    return Path(files[2])


def ways_table(setting: Setting) -> str:
    """Return the table of all treebanks and ways."""
    titles, lines, rows = script("treebanks").TREEBANKS, [], known(setting, FILE)
    for language in dict.fromkeys(str(row["language"]) for row in rows):
        for i, way in enumerate(dict.fromkeys(str(row["way"]) for row in pick(rows, language=language))):
            own = {str(row["method"]): row for row in pick(rows, language=language, way=way)}
            figures = [f"{percent(own[method]['uas'])} / {percent(own[method]['las'])}" for method in SHOWN]
            lines.append(["" if i else titles[language].title, WAYS[way][0], *figures])
    return table(["", "losses", "arborescence", "exact tree", "with linear scores"], lines)


def write_page(setting: Setting) -> None:
    """Write the page."""
    path = setting.results / "neural-training.md"
    with replacing(path) as temporary:
        temporary.write_text(f"{INTRODUCTION}\n{ways_table(setting)}\n", encoding="utf-8")
    stamp(path, "neural-training")


def _run(arguments: list[str] | None) -> None:
    """Run the command line."""
    measure(*parse_arguments(arguments, "research.experiments.neural_training", __doc__.split("\n")[0]))


if __name__ == "__main__":
    sys.exit(run_program(_run, None))
