"""Make the package of a model of a release, a text and its trees: ``python tests/compatibility/make_model.py VERSION``.

A release adds a folder of its own, ``tests/compatibility/VERSION``, if the format of models, an option or a component
has changed since the last one.  Folders of earlier releases are never made again: later versions must install the
package, load the model and parse the input to the same trees.
"""

import contextlib
import io
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from toy import raw_treebank  # noqa: E402

from nonproj.cli.main import main  # noqa: E402
from nonproj.io import conll  # noqa: E402
from nonproj.model.model import Model  # noqa: E402

OPTIONS = {"features.bits": 12, "pruner.bits": 10, "labeler.bits": 12, "tagger.bits": 12, "segmenter.bits": 14}
OPTIONS |= {"tagger.epochs": 4, "tagger.restarts": 1, "tagger.network_epochs": 1, "segmenter.network_share": 0.0}
OPTIONS |= {"network.size": 8, "network.context": 8, "network.epochs": 1, "training.epochs": 5, "pruner.folds": 2}
OPTIONS |= {"labeler.epochs": 4, "confidence.share": 0.3, "treebank.name": "Toy", "treebank.licence": "CC0"}
"""Small tables, and all components of a default model but the network over sentence ends, whose table is large."""

NAME = "toy"

RUNS = {
    "text": ["--text", "--confidence", "text.txt"],
    "tagged": ["--words", "words.txt", "--nbest", "2"],
    "untagged": ["--sentences-by-trees", "--full", "untagged.conllu"],
}
"""Options of the command line, and the input, for each output."""


def make(folder: Path) -> None:
    """Write the package, its input and its output into a new folder."""
    folder.mkdir()
    write_clusters(folder / "clusters.txt")
    (folder / "train.conllu").write_text(noisy(raw_treebank(300, 0)), encoding="utf-8")
    sentences = list(conll.read(io.StringIO(raw_treebank(12, 1))))
    lines = [line.partition(" = ")[2] for each in sentences for line in each.lines if line.startswith("# text")]
    (folder / "text.txt").write_text(" ".join(line.strip() for line in lines) + "\n", encoding="utf-8")
    (folder / "words.txt").write_text("".join(" ".join(each.forms) + "\n" for each in sentences), encoding="utf-8")
    rows = ["".join(f"{i}\t{form}" + "\t_" * 8 + "\n" for i, form in enumerate(each.forms, 1)) for each in sentences]
    (folder / "untagged.conllu").write_text("\n".join([*rows, ""]), encoding="utf-8")
    with contextlib.chdir(folder):
        settings = [f"--set={name}={value}" for name, value in OPTIONS.items()]
        settings.append("--set=features.clusters=clusters.txt")
        assert main(["train", "train.conllu", "-o", "model.nonproj", "-q", *settings]) == 0
        coarsen(Path("model.nonproj"))
        assert main(["package", "model.nonproj", "--name", NAME, "--rounding", "4", "-q"]) == 0
        for name in ("train.conllu", "clusters.txt", "model.nonproj"):
            os.unlink(name)
    install(folder, folder / "site")
    for name in RUNS:
        parse(name, folder, model_in(folder / "site"), folder)
    shutil.rmtree(folder / "site")


def noisy(text: str) -> str:
    """Return a treebank in which nobody can know the head of every third determiner or adjective."""
    chance, blocks = random.Random(1), []
    for block in text.strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n")]
        verb = next(row[0] for row in rows if row[6:7] == ["0"])
        for row in rows:
            if row[7:8] in (["det"], ["amod"]) and chance.random() < 0.3:
                row[6] = verb
        blocks.append("\n".join("\t".join(row) for row in rows))
    return "\n\n".join([*blocks, ""])


def coarsen(path: Path) -> None:
    """Round the large tables that a package leaves as they are, so that they compress, too."""
    model = Model.load(path, mmap=False)
    for name, table in model.weights.items():
        if name == "tagger.tagger.network_hidden":
            model.weights[name] = np.round(table * 8) / np.float32(8)
        elif name.endswith(("context_hidden", "context_output")):
            model.weights[name] = (np.trunc(table / 96) * 96).astype(table.dtype)
    model.save(path)


def install(release: Path, site: Path) -> None:
    """Install the package of a release into an empty folder."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(site)]
    subprocess.run([*command, *map(str, release.glob("*.whl"))], check=True)


def model_in(site: Path) -> str:
    """Return the file of the model in such a folder."""
    (path,) = site.glob(f"*/{NAME}.nonproj")
    return str(path)


def write_clusters(path: Path) -> None:
    """Write clusters of the words of the toy language."""
    words = {"000": ("hund", "kat"), "001": ("mand", "hus"), "01": ("ser", "jager", "kender"), "1": ("stor", "lille")}
    path.write_text("".join(f"{bits}\t{word}\n" for bits, found in words.items() for word in found), encoding="utf-8")


def parse(name: str, release: Path, model: str, folder: Path) -> None:
    """Write the output of a run with a model, as CoNLL-U and as lines of JSON, into a folder."""
    with contextlib.chdir(release):
        for ending in ("conllu", "jsonl"):
            assert main(["parse", "-m", model, *RUNS[name], "-o", str(folder / f"{name}.{ending}"), "-q"]) == 0


if __name__ == "__main__":
    make(FOLDER / sys.argv[1])
