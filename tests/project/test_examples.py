"""The examples, which must keep up with the program."""

import contextlib
import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import run_copy
from naive_trees import all_trees
from scripts import make_files, program
from toy import FROM_GOLD_TAGS, sentences, treebank

from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.dual.decoding import dual_decomposition
from nonproj.errors import ConfigError, ModelError
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.parts.registry import PART_TYPES, register
from nonproj.parts.space import part_space, restrict, tree_score
from nonproj.pipeline.parser import Parser

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_of) -> Path:
    """Return a folder with treebanks and a model."""
    return make_files(tmp_path_factory.mktemp("examples"), model_of("complete"))


def run(name: str, folder: Path, *words: str) -> str:
    """Run an example and return its output."""
    with contextlib.chdir(folder):
        result = run_copy(str(ROOT / "examples" / name), *words)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_all_examples_are_tested():
    here = Path(__file__).read_text(encoding="utf-8")
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert len(examples) >= 4
    for path in (each for each in examples if "__main__" in each.read_text(encoding="utf-8")):
        assert f'run("{path.name}"' in here, path.name


def test_show_trees(folder):
    picture = run("show_trees.py", folder, "my.nonproj", "test.conllu", "-n", "2")
    assert picture.count("test.conllu:") == 2
    assert len(re.findall(r"^certified: |^no certificate: ", picture, re.MULTILINE)) == 2
    assert len(re.findall(r"─> +\d+ \. +PUNCT +punct of \d+ \w+$", picture, re.MULTILINE)) == 2
    (folder / "plain.conllu").write_text(f"# text = den hund ser.\n{treebank(1)}", encoding="utf-8")
    picture = run("show_trees.py", folder, "my.nonproj", "plain.conllu", "--text")
    assert re.findall(r"─? +\d (\w+|\.) +[A-Z]+ +\w+(?: of|$)", picture, re.MULTILINE) == ["den", "hund", "ser", "."]


@pytest.mark.thorough
def test_next_steps(folder):
    """The commands that it prints can be copied, from the folder in which it ran."""
    path = folder / "my programs" / "nonproj"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nonproj "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    text = treebank(3, 1).replace("1\t", "# text = it's\n1\t", 1)
    text = text.replace("\n\n1\t", "\n\n# text = den hund ser kat.\n1\t", 1)
    (folder / "a test.conllu").write_text(text, encoding="utf-8")
    shown = run("next_steps.py", folder, "my programs/nonproj", "my.nonproj", "a test.conllu")
    parse, report, errors = re.findall(r"^  (\S.* .*)$", shown, re.MULTILINE)[-3:]
    assert "echo 'den hund ser kat.' | " in parse and errors.endswith(" --errors")
    for command in (parse, report, errors):
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert command is not parse or done.stdout.strip() in shown
    assert (folder / "report.html").stat().st_size > 1000


def test_train_and_parse(folder):
    output = run("train_and_parse.py", folder, "train.conllu", "test.conllu", "--epochs", "2", "--parts", "arc")
    assert 50 < float(re.search(r"UAS ([\d.]+)", output)[1]) <= 100
    assert "of 6 trees are provably the best" in output
    output = run("parse_conllu_objects.py", folder, "my.nonproj", "test.conllu")
    assert re.search(r"^\. <-punct- \d+$", output, re.MULTILINE)


# -- a cluster --------------------------------------------------------------------------------------------------------


def rows_of(path: Path) -> list[tuple]:
    """Return words and heads of a table."""
    table = pytest.importorskip("pyarrow.parquet").read_table(path).to_pydict()
    return list(zip(table["form"], table["head"], strict=True))


@pytest.mark.thorough
def test_corpus(folder, tmp_path):
    """Tables are those of the command line, and those that exist are not made again."""
    pytest.importorskip("distributed")
    pytest.importorskip("pyarrow")
    for path in (texts := tmp_path / "texts", tables := tmp_path / "tables"):
        path.mkdir()
    words = "\n\n".join(" ".join(each.forms) for each in sentences(40))
    for name, text in (("0", words), ("1", "Den hund."), ("3", "")):
        (texts / f"{name}.txt").write_text(text, encoding="utf-8")
    (texts / "2.txt.gz").write_bytes(gzip.compress(b"den hund ser kat.\n"))
    (tables / "1.parquet").touch()
    output = run("corpus.py", folder, "my.nonproj", str(texts), str(tables), "--workers", "1")
    assert "3 of 4 texts to parse" in output
    assert sorted(path.name for path in tables.iterdir()) == [f"{number}.parquet" for number in range(4)]
    expected = ["--text", str(texts / "0.txt"), "-o", str(tmp_path / "0.parquet")]
    assert main(["parse", str(folder / "my.nonproj"), *expected]) == 0
    assert rows_of(tables / "0.parquet") == rows_of(tmp_path / "0.parquet")
    assert [form for form, _ in rows_of(tables / "2.parquet")] == ["den", "hund", "ser", "kat", "."]
    assert rows_of(tables / "3.parquet") == [] and not (tables / "1.parquet").stat().st_size


# -- your own scores --------------------------------------------------------------------------------------------------


def test_biaffine(folder):
    """Exact trees are no worse than heads chosen alone."""
    pytest.importorskip("torch")
    output = run("biaffine.py", folder, "train.conllu", "test.conllu", "--epochs", "8")
    pattern = r"UAS of the best heads ([\d.]+) \(\d of 6 are trees .*, of the best trees ([\d.]+)$"
    found = re.findall(pattern, output, re.MULTILINE)
    assert len(found) == 8 and float(found[-1][1]) >= float(found[-1][0]) > 40


# -- a custom part type -----------------------------------------------------------------------------------------------


@pytest.fixture
def valency():
    """Import the example, which registers its part type; forget the type afterwards."""
    yield program(ROOT / "examples" / "valency.py")
    del PART_TYPES["valency"]


@pytest.mark.thorough
def test_valency(folder):
    """Trained without what needs no part types."""
    quicker = [f"--set={name}=0" for name in ("tagger.epochs", "network.epochs", "confidence.share", "pruner.folds")]
    output = run("valency.py", folder, "train.conllu", "test.conllu", "--epochs", "2", *quicker)
    figures = re.findall(r"^(arc|arc \+ valency) +UAS ([\d.]+), ([\d.]+) % certified$", output, re.MULTILINE)
    assert [name for name, *_ in figures] == ["arc", "arc + valency"]
    assert float(figures[0][2]) == 100 and float(figures[1][2]) > 50
    assert min(float(accuracy) for _, accuracy, _ in figures) > 50


def random_problem(n_words: int, seed: int):
    """Return random arcs, always with some tree, their parts with valency, and scores."""
    chance = np.random.default_rng(seed)
    mask = chance.random((n_words + 1, n_words + 1)) < 0.6
    mask[0] = True
    parts = part_space(arc_space_from_mask(mask), ["arc", "valency"])
    return parts, chance.normal(size=len(parts))


def score_by_definition(parts, scores, heads) -> float:
    """Sum the scores of the arcs and counts of a tree."""
    arcs = list(zip(parts.arcs.head.tolist(), parts.arcs.modifier.tolist(), strict=True))
    own = [(head, modifier) for modifier, head in enumerate(heads[1:], 1)]
    if not set(own) <= set(arcs):
        return -np.inf
    total = sum(scores[arcs.index(arc)] for arc in own)
    for head in range(len(heads)):
        for side, words in enumerate((range(1, head), range(head + 1, len(heads)))):
            count = min(sum(heads[word] == head for word in words), 3)
            total += scores[len(arcs) + 4 * (2 * head + side) + count]
    return total


def test_valency_parts_are_those_of_the_definition_and_their_best_tree_is_found(valency):
    certified = 0
    for seed in range(30):
        parts, scores = random_problem(4, seed)
        keep = np.random.default_rng(seed).random(len(parts.arcs.head)) < 0.8
        fewer, numbers = restrict(parts, keep)
        by_definition = [score_by_definition(parts, scores, heads) for heads in all_trees(4)]
        for heads, expected in zip(all_trees(4), by_definition, strict=True):
            assert tree_score(parts, scores, heads) == pytest.approx(expected)
            assert tree_score(fewer, scores[numbers], heads) in (-np.inf, pytest.approx(expected))
        decoded, best = dual_decomposition(parts, scores), max(by_definition)
        assert decoded.score <= best + 1e-9 <= decoded.bound + 2e-9
        certified += decoded.certified
        assert not decoded.certified or decoded.score == pytest.approx(best)
    assert certified > 15


def test_a_model_with_valency_needs_the_type(valency, folder):
    config = FROM_GOLD_TAGS | {"parts": ["arc", "valency"], "training.epochs": 2, "network.epochs": 1}
    model = train(sentences(40), Config().with_overrides(config))
    model.save(folder / "valency.nonproj")
    parsers = Parser(model), Parser(Model.load(folder / "valency.nonproj"))
    for sentence in sentences(6, seed=1):
        first, second = (parser.parse(sentence).decoded for parser in parsers)
        assert first.tree.tolist() == second.tree.tolist() and first.score == second.score
    part_type = PART_TYPES.pop("valency")
    try:
        with pytest.raises(ModelError, match="no part type named valency is registered") as error:
            Model.load(folder / "valency.nonproj")
        assert "\n" not in str(error.value)
        with pytest.raises(ConfigError, match="no part type named valency is registered"):
            Config.from_dict({"parts": ["arc", "valency"]})
    finally:
        register(part_type)


@pytest.mark.thorough
def test_a_component_of_ones_own_is_trained_evaluated_and_cross_fitted(folder):
    output = run("gloss.py", folder, "train.conllu", "test.conllu", "--epochs", "1")
    assert re.fullmatch(r"[0-9.]+ % right\n[0-9.]+ % right on the training data, cross-fitted\n.+\n", output)
    assert len((ROOT / "examples" / "gloss.py").read_text(encoding="utf-8").splitlines()) < 80
