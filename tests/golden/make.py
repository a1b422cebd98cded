"""Make the golden model and its output, by ``python tests/golden/make.py``.

The model is kept, so that a change in what a model file means cannot go unnoticed: features that hash to other places,
another order of templates or attributes, another scale of weights.  Make it again only when such a change is intended.
"""

import contextlib
import io
import random
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from toy import treebank  # noqa: E402

from nonproj.cli.main import main  # noqa: E402
from nonproj.components.trainer import train  # noqa: E402
from nonproj.io import conll  # noqa: E402
from nonproj.options.config import Config  # noqa: E402

OPTIONS = {"features.bits": 12, "pruner.bits": 11, "labeler.bits": 12, "network.size": 16, "decoding.threshold": 1e-5}
OPTIONS |= {"training.epochs": 2, "training.margin": 5.0, "pruner.epochs": 1}
OPTIONS |= dict.fromkeys(("pruner.folds", "tagger.epochs", "segmenter.epochs"), 0)
"""Small tables and little training, so that features collide and sentences need many iterations."""

RUNS = {"pruned": [], "full": ["--full"], "projective": ["--projective", "--single-root", "--no-exact"]}
"""Options of the command line for each output."""


def sentences_of(count: int, seed: int, scrambled: bool = False) -> str:
    """Return sentences of the toy language with morphological features; scrambled ones mean nothing and are hard."""
    chance, lines = random.Random(seed), []
    for block in treebank(count, seed).strip().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines()]
        if scrambled:
            words = [row[1:6] for row in rows]
            chance.shuffle(words)
            rows = [[row[0], *word, *row[6:]] for row, word in zip(rows, words, strict=True)]
        for row in rows:
            row[4], row[5] = f"{row[3]}{len(row[1]) % 2}", f"end={row[1][-1]}|length={len(row[1])}"
        lines += ["\t".join(row) for row in rows] + [""]
    return "\n".join(lines) + "\n"


def make() -> None:
    """Write the model, the sentences that it parses, and its output."""
    model = train(list(conll.read(io.StringIO(sentences_of(60, 0)))), Config().with_overrides(OPTIONS))
    model.save(FOLDER / "model.nonproj")
    text = sentences_of(10, 1) + sentences_of(10, 2, scrambled=True).replace("hund", "ulv")
    (FOLDER / "input.conll").write_text(text, encoding="utf-8")
    for name in RUNS:
        parse(name, FOLDER)


def parse(name: str, folder: Path) -> None:
    """Write the output and the statistics of a run into a folder, as ``name.conll`` and ``name.jsonl``."""
    files = ["-o", str(folder / f"{name}.conll"), "--stats", str(folder / f"{name}.jsonl")]
    with contextlib.chdir(FOLDER):
        assert main(["parse", "-m", "model.nonproj", "input.conll", *files, *RUNS[name]]) == 0


if __name__ == "__main__":
    make()
