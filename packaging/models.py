"""Train and evaluate the models of a release; write a card and a package of each of them, and a table of all.

    python packaging/models.py --out models [--data data] [--source FOLDER] [MODEL ...] [--train='--epochs 5']

A MODEL is a treebank, as `data_scripts/fetch.py` names it, and a set of part types, such as danish-grandparent or
UD_Welsh-CCG-arc; by default all of `RELEASE`.  Finished models are kept: an interrupted run continues with the next
model, or after the last complete epoch of an unfinished one.  A model from elsewhere, such as another checkout, is
finished, too, if it was learnt by the same algorithms from the same files with the same options.  A card has the
figures of the treebank's test file, also those from its raw text, where the file has that.  A package is a wheel in the
folder ``wheels``; it is installed into an empty folder, and must parse the test file by name.
`packaging/environment.py` then uses all of them in an empty environment.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data_scripts")]  # the checkout's package, not an installed one

from fetch import fetch, treebank_folders  # noqa: E402
from treebanks import TREEBANKS, Treebank, TreebankError, sha256, write_file  # noqa: E402

from nonproj import __version__  # noqa: E402
from nonproj.cli.main import parse_arguments  # noqa: E402
from nonproj.cli.package import contents_of  # noqa: E402
from nonproj.cli.train import config_of, evaluate_on  # noqa: E402
from nonproj.cli.treebanks import language_of  # noqa: E402
from nonproj.components.preparation import LEARNING  # noqa: E402
from nonproj.errors import ModelError  # noqa: E402
from nonproj.evaluation.card import UNKNOWN_LICENCE, model_card  # noqa: E402
from nonproj.io import conll  # noqa: E402
from nonproj.kernels.interpreters import environment, python  # noqa: E402
from nonproj.model.installed import SUFFIX  # noqa: E402
from nonproj.model.model import Model  # noqa: E402
from nonproj.model.rounding import rounded  # noqa: E402
from nonproj.model.wheel import write_wheel  # noqa: E402
from nonproj.parts.registry import PART_SETS  # noqa: E402
from research.experiments.raw import blocks  # noqa: E402
from research.experiments.text import scores_of  # noqa: E402

RELEASE = (
    "wolof-grandparent",
    "afrikaans-grandparent",
    "uyghur-grandparent",
    "vietnamese-grandparent",
    "UD_Welsh-CCG-grandparent",
    "UD_Maltese-MUDT-grandparent",
    "turkish-grandparent",
    "danish-grandparent",
    "dutch-grandparent",
    "english-ewt-grandparent",
)
"""The models of a release, fastest first: of treebanks whose licences permit any use, some under the same terms."""

SMALL, LARGE = 3.4, 2.0
"""The rounding of the default model, which loses accuracy for its size, and of the largest one."""

CHECKED = 5
"""Sentences of the test file that each package must parse."""

HEAD = f"""# Models of nonproj {__version__}

Trained and evaluated by `make models`; each name links to the model's card. UAS and LAS are on the test file, in
per cent, without punctuation, by the file's words and, where a file has none, predicted tags; from raw text, UPOS and
LAS are those of the CoNLL 2018 shared task. A model is subject to the licence of its treebank.

| model | treebank | licence | UAS | LAS | certified | UPOS from raw text | LAS from raw text | MB | SHA-256 |
|---|---|---|---|---|---|---|---|---|---|
"""


class Job(NamedTuple):
    """A model: its name, the treebank's files, and where it is written."""

    name: str
    train: Path
    test: Path
    output: Path

    @property
    def treebank(self) -> Treebank | None:
        """The entry of `TREEBANKS`, if there is one."""
        return TREEBANKS.get(self.name.rpartition("-")[0])


def command(job: Job, more: list[str]) -> list[str]:
    """Return the command that trains and evaluates a model, or continues it."""
    language, _, parts = job.name.rpartition("-")
    configs = [ROOT / "configs" / f"{name}.yaml" for name in (language, "universal")]
    config = next((["--config", str(path)] for path in configs if path.is_file()), [])
    words = python("-m", "nonproj", "train", str(job.train), "--test", str(job.test), *config)
    words += ["--parts", parts, "-o", str(job.output), "--resume"]
    if known := job.treebank:
        words += ["--set", f"treebank.name={known.title}", "--set", f"treebank.licence={known.licence}"]
    return words + more


def finished(job: Job, more: list[str]) -> bool:
    """Return whether the model exists, is complete and evaluated, and is what the command would train."""
    try:
        model = Model.load(job.output)
    except (ModelError, OSError):
        return False
    meta, data = model.meta, model.meta.get("data") or {}
    wanted, own = config_of(parse_arguments(command(job, more)[4:])), model.config.treebank
    treebank = dataclasses.replace(wanted.treebank, name=own.name, licence=own.licence)  # see `complete`
    same = dataclasses.replace(wanted, treebank=treebank) == model.config
    same &= all(data.get(f"{role}_sha256") == sha256(getattr(job, role).read_bytes()) for role in ("train", "test"))
    same &= (meta["version"], meta.get("learning")) == (__version__, LEARNING)
    return same and not meta["interrupted"] and "test" in meta


def complete(job: Job) -> None:
    """Record what training does not: the treebank's name, licence and language, and the figures from raw text."""
    model, found = Model.load(job.output), dict[str, object]()
    if known := job.treebank:
        named = {"name": known.title, "licence": known.licence, "language": known.code or language_of(known.train)}
        found["data"] = model.meta["data"] | named
    if "raw_text" not in model.meta:
        found |= figures_from_raw_text(model, job.test)
    if model.meta != model.meta | found:
        model.meta |= found
        model.save(job.output)


def figures_from_raw_text(model: Model, test: Path) -> dict[str, object]:
    """Return the record of a model's figures on the raw text of a test file, empty if a sentence has none."""
    if not all(any(line.startswith("# text = ") for line in lines) for lines in blocks(test)):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{SUFFIX}"
        model.save(path)
        return {"raw_text": scores_of(path, test)}


def write_card(job: Job) -> str:
    """Write the card of a model, and return the model's row in the table."""
    model, data = Model.load(job.output), job.output.read_bytes()
    card = model_card(job.output.name, model.describe(), len(data))
    write_file(job.output.with_suffix(".md"), card.encode())
    test, raw, facts = model.meta["test"], model.meta.get("raw_text", {}), model.meta["data"]
    shares = [*map(test.get, ("uas", "las", "certified")), *map(raw.get, ("UPOS", "LAS"))]
    cells = [f"[{job.output.name}]({job.output.stem}.md)", facts["name"], facts["licence"] or UNKNOWN_LICENCE]
    cells += ["–" if share is None else f"{100 * share:.2f}" for share in shares]
    return f"| {' | '.join([*cells, f'{len(data) / 1e6:.1f}', f'`{sha256(data)}`'])} |\n"


def packages(name: str) -> list[tuple[str, float]]:
    """Return the packages of a model: their names, and how much weights are rounded.

    Examples
    --------
    >>> packages("danish-grandparent"), packages("UD_Welsh-CCG-arc")
    ([('danish', 1.0)], [('welsh-ccg-arc', 1.0)])
    """
    if name == "english-ewt-grandparent":
        return [("english", SMALL), ("english-ewt", LARGE)]
    return [(name.removesuffix("-grandparent").removeprefix("UD_").replace("_", "-").lower(), 1.0)]


def write_packages(job: Job) -> None:
    """Write the packages of a model, with the figures of their own weights, unless they are newer than it; check them.

    Raises
    ------
    TreebankError
        A package cannot be installed, or its model cannot be used.
    """
    folder = job.output.parent / "wheels"
    folder.mkdir(exist_ok=True)
    for name, amount in packages(job.name):
        done = list(folder.glob(f"nonproj_model_{name.replace('-', '_')}-{__version__}-*.whl"))
        if done and done[0].stat().st_mtime_ns > job.output.stat().st_mtime_ns:
            continue
        model = rounded(Model.load(job.output), amount)
        evaluate_on(model, list(conll.read(job.test)), None)
        model.meta |= figures_from_raw_text(model, job.test)
        wheel = write_wheel(contents_of(model, name, __version__), folder)
        try:
            check_package(wheel, name, job.test)
        except subprocess.CalledProcessError as error:
            wheel.unlink()
            raise TreebankError(f"{wheel} cannot be used: {error.stderr.strip()}") from None
        sys.stderr.write(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB\n")


def check_package(wheel: Path, name: str, test: Path) -> None:
    """Install a package into an empty folder, and parse the first sentences of the test file by its name."""
    with tempfile.TemporaryDirectory() as folder:
        pip = python("-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", folder, str(wheel))
        sentences = Path(folder) / "first.conllu"
        with open(sentences, "w", encoding="utf-8") as stream:
            conll.write(((sentence, None) for sentence in list(conll.read(test))[:CHECKED]), stream)
        parse = python("-m", "nonproj", "parse", "-m", name, str(sentences), "-o", f"{folder}/out.conllu")
        env = os.environ | {"PYTHONPATH": os.pathsep.join([folder, str(ROOT)])}
        for words in (pip, parse):
            subprocess.run(words, env=env, check=True, capture_output=True, text=True)


def build(job: Job, more: list[str]) -> None:
    """Train and evaluate one model, unless it is finished.

    Raises
    ------
    TreebankError
        Training failed.
    """
    if finished(job, more):
        sys.stderr.write(f"{job.output} is finished\n")
        return
    code = subprocess.run(command(job, more), cwd=ROOT, env=environment(), check=False).returncode
    if code or not finished(job, more):
        raise TreebankError(f"{job.output} is not finished: 'nonproj train' ended with code {code}")


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"by default {', '.join(RELEASE)}")
    parser.add_argument("--out", type=Path, default=Path("models"), help="folder of models (default: models)")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder to fetch treebanks to (default: data)")
    parser.add_argument("--source", metavar="FOLDERS", help="folders of treebanks (default: NONPROJ_TREEBANKS)")
    parser.add_argument(
        "--train", default="", metavar="OPTIONS", help="more options of 'nonproj train'; with an equals sign"
    )
    options = parser.parse_args(arguments)
    for name in options.models:
        if name.rpartition("-")[2] not in PART_SETS:
            parser.error(f"unknown model {name}: TREEBANK-PARTS is expected, such as danish-grandparent")
    rows, failed = [], 0
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.models or RELEASE:
        try:
            train, test = fetch(name.rpartition("-")[0], options.data, treebank_folders(options.source))[:2]
            job = Job(name, *(path.resolve() for path in (train, test, options.out / f"{name}.nonproj")))
            build(job, shlex.split(options.train))
            complete(job)
            rows.append(write_card(job))
            write_packages(job)
        except (TreebankError, OSError) as error:
            sys.stderr.write(f"models: {name}: {error}\n")
            failed = 2
        write_file(options.out / "README.md", (HEAD + "".join(rows)).encode())
    return failed


if __name__ == "__main__":
    sys.exit(main())
