"""The examples and the README, which must not drift from the program."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from toy import treebank

from nonproj.cli.main import main, parse_arguments
from nonproj.dual.decomposition import DualOptions
from nonproj.options.config import options
from nonproj.parts.space import full_arc_space
from nonproj.types import PartScores, Sentence

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALL = ["--set", "features.bits=16", "--set", "pruner.bits=16", "--set", "labeler.bits=16"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with treebanks and a model."""
    folder = tmp_path_factory.mktemp("examples")
    for name, count, seed in (("train", 40, 0), ("test", 6, 1)):
        (folder / f"{name}.conllu").write_text(treebank(count, seed), encoding="utf-8")
    assert main(["train", str(folder / "train.conllu"), "-o", str(folder / "my.nonproj"), "-qq", *SMALL]) == 0
    return folder


def run(name: str, folder: Path, *words: str) -> str:
    """Run an example and return what it says."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    command = [sys.executable, str(ROOT / "examples" / name), *words]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def load(name: str):
    """Import an example."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_examples_are_tested():
    here = Path(__file__).read_text(encoding="utf-8")
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert len(examples) >= 4
    for path in examples:
        assert f'run("{path.name}"' in here, path.name


def test_show_trees(folder):
    picture = run("show_trees.py", folder, "my.nonproj", "test.conllu", "-n", "2")
    assert picture.count("test.conllu:") == 2
    assert len(re.findall(r"^certified: |^no certificate: ", picture, re.MULTILINE)) == 2
    assert len(re.findall(r"─> +\d+ \. +punct +of +\d+ \w+$", picture, re.MULTILINE)) == 2


def test_brackets():
    module = load("show_trees")
    assert doctest.testmod(module).failed == 0
    assert module.draw([-1, 3, 0, 2, 1]) == ["┌┬──>", "││┌─", "│└┴─>", "└───>"]  # 1 -> 4 crosses the root's word
    assert module.draw([-1, 0]) == [""]


def test_train_and_parse(folder):
    said = run("train_and_parse.py", folder, "train.conllu", "test.conllu", "--epochs", "2", "--model", "arc")
    accuracy = float(re.search(r"UAS ([\d.]+)", said)[1])
    assert 50 < accuracy <= 100
    assert "of 6 trees are certified" in said


def test_parse_conllu_objects(folder):
    said = run("parse_conllu_objects.py", folder, "my.nonproj", "test.conllu")
    assert re.search(r"^\. <-punct- \d+$", said, re.MULTILINE)


def check_valency(said: str) -> list[float]:
    """Check the figures and the table that the example prints; return the scores without and with valency."""
    figures = re.findall(r"UAS ([\d.]+), ([\d.]+) % certified", said)
    assert len(figures) == 2 and float(figures[0][1]) == 100
    rows = re.findall(r"^\S+ +(?:left|right)((?: +-?\d+){4})$", said, re.MULTILINE)
    assert len(rows) >= 9
    for row in rows:
        assert abs(sum(map(int, row.split()))) <= 2, "each row sums to zero, but for rounding"
    return [float(accuracy) for accuracy, _ in figures]


def test_valency(folder):
    without, having = check_valency(run("valency.py", folder, "train.conllu", "test.conllu", "--epochs", "2"))
    assert min(without, having) > 50


def test_valency_on_a_real_treebank(treebanks, folder):
    paths = [str(treebanks / "danish" / f"danish_ddt_{part}.conll") for part in ("train", "test")]
    if not all(Path(path).exists() for path in paths):
        pytest.skip(f"no Danish treebank in {treebanks}")
    without, having = check_valency(run("valency.py", folder, *paths, "-n", "300"))
    assert without > 75 and having > without - 1


def test_valency_alone_learns_a_language_of_chains():
    """Where arcs score nothing and each word has one modifier, to its right, counting is all there is to learn."""
    chains = [
        Sentence([[str(i), "a", "a", "A", "A", "_", str(i - 1), "x", "_", "_"] for i in range(1, n + 1)], tree)
        for n, tree in ((n, np.arange(-1, n, dtype=np.int32)) for n in (2, 3, 4, 5))
    ]
    silent = SimpleNamespace(
        encode=len,
        prune=full_arc_space,
        score=lambda n, arcs: (None, PartScores(np.zeros(n * n), np.zeros(0), np.zeros(0))),
        options=DualOptions(),
    )
    valency = load("valency").Valency(chains)
    assert any(valency.parse(silent, chain).heads.tolist() != chain.heads.tolist() for chain in chains)
    valency.learn(silent, chains, epochs=20, margin=0.0)
    for chain in chains:
        decoded = valency.parse(silent, chain)
        assert decoded.certified and decoded.heads.tolist() == chain.heads.tolist()


def test_counting_modifiers():
    module = load("valency")
    assert module.count_modifiers(np.array([-1, 2, 0, 2])).tolist() == [[0, 1], [0, 0], [1, 1], [0, 0]]
    assert module.count_modifiers(np.array([-1, 0, 0, 0, 0])).tolist() == [[0, 3]] + [[0, 0]] * 4


# -- the README --------------------------------------------------------------------------------------------------------


def test_the_readme_has_the_options_of_the_configuration():
    rows = re.findall(r"^\| `([a-z_.]+)` \| (\S+) \| (.+) \|$", README, re.MULTILINE)
    names = {True: "true", False: "false", None: "null"}
    known = [
        (name, names[o.default] if o.default is None or isinstance(o.default, bool) else str(o.default), o.help)
        for name, o in options()
    ]
    assert [row for row in rows if "." in row[0] or row[0] in ("model", "seed")] == known


def test_the_commands_of_the_readme_are_understood():
    commands = re.findall(r"(?:^|\| )(nonproj .+)$", "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL)), re.M)
    assert len(commands) >= 7
    for command in commands:
        words = command.split(" > ")[0].split()[1:]
        assert parse_arguments(words).command == words[0]


def test_the_snippets_of_the_readme_run(folder, monkeypatch, capsys):
    snippets = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(snippets) == 2
    monkeypatch.chdir(folder)
    program = "\n".join(snippets).replace("epochs=5", "epochs=5, bits=16")
    exec(compile(program, "README.md", "exec"), {})  # the README is our own
    assert "'punct')]" in capsys.readouterr().out


def test_the_readme_speaks_of_files_that_are_there():
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert len(targets) >= 3
    for target in targets:
        assert (ROOT / target).exists(), target
