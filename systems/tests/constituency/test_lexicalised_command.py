"""The command nonproj-systems lexicalised end to end: own files, certificates, errors by their exact message."""

import io
import re
import sys

import pytest
from command import SMALL

from nonproj.cli.main import main as train
from nonproj_systems.cli import main
from nonproj_systems.constituency.brackets import read_trees
from nonproj_systems.constituency.heads import dependencies

TREES = [
    "(S (NP (NN dog)) (VP (VB see) (NP (NN cat))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN in) (NP (NN tree)))) (VP (VB run)))",
    "(S (NP (NN cat)) (VP (VB run) (PP (IN in) (NP (DT the) (NN tree)))))",
    "(S (VP (VB see) (NP (NP (NN dog)) (PP (IN of) (NP (NN cat))))))",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with trees, Model 1, and a dependency parser trained on the dependencies of the trees."""
    folder = tmp_path_factory.mktemp("lexicalised")
    (folder / "trees").write_text("\n".join(TREES * 6), encoding="utf-8")
    command = ["lexicalised", "train", folder / "trees", "-o", folder / "model", "--rare", "1", "-q"]
    assert main([*map(str, command), "--conll", str(folder / "conll")]) == 0
    words = ["train", folder / "conll", "-o", folder / "parser", "--parts", "arc", "--held-out", "0", *SMALL]
    assert train([*map(str, words), "--set", "tagger.epochs=0", "--set", "labeler.epochs=0", "--tags", "gold"]) == 0
    return folder


def test_the_dependencies_of_the_trees_are_written(folder):
    rows = [line.split("\t") for line in (folder / "conll").read_text().splitlines() if line]
    heads = [head for tree in read_trees(folder / "trees") for head in dependencies(tree)]
    assert [int(row[6]) for row in rows] == heads
    assert {len(row) for row in rows} == {10}


@pytest.mark.parametrize("more", [[], ["--hard"], ["--exact", "--gamma", "0.1"], ["--max-iterations", "2"]], ids=str)
def test_sentences_are_parsed_jointly(folder, capsys, more):
    (folder / "in").write_text("dog/NN see/VB cat/NN\n\nthe/DT dog/NN in/IN tree/NN run/VB\n", encoding="utf-8")
    words = ["lexicalised", "parse", folder / "model", folder / "in", "-d", folder / "parser", "-o", folder / "out"]
    assert main([*map(str, words), "--tagged", *more]) == 0
    lines = (folder / "out").read_text().splitlines()
    assert [bool(line) for line in lines] == [True, False, True]
    assert [tree.words() for tree in read_trees(folder / "out")] == [
        ["dog", "see", "cat"],
        ["the", "dog", "in", "tree", "run"],
    ]
    assert re.search(r"nonproj-systems: 2 sentences: 2 (parsed|certified); \d+\.\d s\n", capsys.readouterr().err)


def test_tagged_words_are_parsed_by_model_1_alone(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"dog/NN see/VB cat/NN\nwho/NEW\n")))
    assert main(["lexicalised", "parse", str(folder / "model"), "--tagged"]) == 0
    found = capsys.readouterr()
    assert found.out == "(TOP (S (NP (NN dog)) (VP (VB see) (NP (NN cat)))))\n(TOP (FRAG (NEW who)))\n"
    assert re.fullmatch(r"nonproj-systems: 2 sentences: 1 parsed, 1 outside the grammar; \d+\.\d s\n", found.err)


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        ([], "dog", "words need tags: --tagged for words with tags, or --dependencies for a parser that tags"),
        (["--tagged", "--hard"], "a/NN", "--hard, --exact and --gamma need a parser of dependencies"),
        (["--tagged"], "a/NN\nb", "{folder}/in:2: 'b' has no tag; a word with its tag is expected, as in dog/NN"),
        (["--gamma", "-1"], "", "argument --gamma: '-1' is not a number from 0"),
        (["--max-iterations", "0"], "", "argument --max-iterations: '0' is not a positive integer"),
    ],
)  # fmt: skip
def test_errors_are_one_line(folder, capsys, words, text, message):
    (folder / "in").write_text(text, encoding="utf-8")
    command = ["lexicalised", "parse", str(folder / "model"), str(folder / "in"), "-o", str(folder / "none"), *words]
    try:
        code = main(command)
    except SystemExit as error:
        code = error.code
    err = capsys.readouterr().err
    assert code == 2 and err.count("\n") == 1
    assert message.format(folder=folder) in err


def test_a_parser_without_tagger_needs_tags(folder, capsys):
    (folder / "in").write_text("dog\n", encoding="utf-8")
    assert main(["lexicalised", "parse", str(folder / "model"), str(folder / "in"), "-d", str(folder / "parser")]) == 2
    message = "this model has no tagger; words need tags: --tagged"
    assert capsys.readouterr().err == f"nonproj-systems: {folder}/parser: {message}\n"


def test_trees_of_traces_train_no_model(folder, capsys):
    (folder / "traces").write_text("(S (-NONE- *))\n", encoding="utf-8")
    assert main(["lexicalised", "train", str(folder / "traces"), "-o", str(folder / "empty")]) == 2
    message = "all trees consist of traces; trees with words are expected"
    assert capsys.readouterr().err == f"nonproj-systems: {folder}/traces: {message}\n"
    assert not (folder / "empty").exists()


def test_other_files_are_refused(folder, capsys):
    command = ["lexicalised", "parse", str(folder / "trees"), str(folder / "in"), "--tagged"]
    assert main(command) == 2
    assert capsys.readouterr().err == (f"nonproj-systems: {folder}/trees: not a model of nonproj\n")
    assert main(["lexicalised", "train", str(folder / "conll"), "-o", str(folder / "m")]) == 2
    message = "'1' is outside of all brackets; a tree such as (S (NN word)) is expected"
    assert capsys.readouterr().err == f"nonproj-systems: {folder}/conll:1: {message}\n"
    assert main(["lexicalised"]) == 2
    assert "an action is expected" in capsys.readouterr().err
