"""``nonproj distil``: a teacher parses text, and a student learns from its trees."""

import shutil

import pytest
from command import SMALL
from toy import raw_treebank

from nonproj.cli import distil
from nonproj.cli.main import main
from nonproj.io import conll
from nonproj.model.model import Model

DISTIL = ["distil", "teacher", "one.txt", "two.txt", "--treebank", "train.conllu", "-o", "student", *SMALL[:-1]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_of):
    """A teacher, a small treebank, a file to test on, and two texts."""
    folder = tmp_path_factory.mktemp("distil")
    shutil.copy(model_of("complete"), folder / "teacher")
    for name, count, seed in (("train", 15, 1), ("test", 10, 2), ("text", 60, 3)):
        (folder / f"{name}.conllu").write_text(raw_treebank(count, seed), encoding="utf-8")
    text = list(conll.read(folder / "text.conllu"))
    lines = [line.removeprefix("# text = ") for s in text for line in s.lines if line.startswith("# text")]
    (folder / "one.txt").write_text("".join(lines[:40]), encoding="utf-8")
    (folder / "two.txt").write_text("".join(lines[30:]), encoding="utf-8")  # some sentences are in both
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """A copy of the folder to work in."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def forms(path):
    """The words of each sentence of a file."""
    return [tuple(row[1] for row in s.rows) for s in conll.read(path)]


def test_a_student_learns_from_the_trees_of_its_teacher(here, capsys):
    assert main([*DISTIL, "--test", "test.conllu", "--lines"]) == 0
    error = capsys.readouterr().err
    assert "parsing one.txt" in error and "parsing two.txt" in error
    known = {*forms("train.conllu"), *forms("test.conllu")}
    wanted = list(dict.fromkeys(each for each in forms("text.conllu") if each not in known and len(each) >= 3))
    assert forms("student.silver.conllu") == wanted
    trees = {}
    for name in ("one", "two"):
        assert main(["parse", "teacher", f"{name}.txt", "--lines", "-o", f"{name}.conllu", "-q"]) == 0
        trees |= {tuple(row[1] for row in s.rows): [row[:8] for row in s.rows] for s in conll.read(f"{name}.conllu")}
    found = [[row[:8] for row in s.rows] for s in conll.read("student.silver.conllu")]
    assert found == [trees[each] for each in wanted]
    meta, words = Model.load_trained("student").meta, sum(map(len, wanted))
    silver = {"sentences": len(wanted), "words": words, "texts": "one.txt, two.txt", "teacher": "teacher"}
    assert (meta["silver"], meta["sentences"]) == (silver, 15) and meta["test"]["words"]
    assert sorted(path.name for path in here.glob("student*")) == ["student", "student.log", "student.silver.conllu"]
    assert main(["inspect", "student", "--card"]) == 0
    assert f"{words} words of `one.txt, two.txt`, parsed by `teacher`" in capsys.readouterr().out


@pytest.mark.thorough
def test_sentences_are_chosen(here, capsys):
    everything = main([*DISTIL, "--lines"]) == 0 and forms("student.silver.conllu")
    (here / "more.conllu").write_text((here / "text.conllu").read_text("utf-8"), encoding="utf-8")
    assert main([*DISTIL, "--lines", "--exclude", "more.conllu"]) == 2
    assert "there is no sentence to learn from; left out: 70 known" in capsys.readouterr().err
    assert main([*DISTIL, "--lines", "--most-words", "50"]) == 0
    few = forms("student.silver.conllu")
    assert 40 <= sum(map(len, few)) <= 50 and set(few) < set(everything)


@pytest.mark.thorough
def test_an_interrupted_run_goes_on(here, capsys, monkeypatch):
    assert main([*DISTIL, "--lines"]) == 0
    (here / "student").rename("calm")
    (here / "student.silver.conllu").unlink()
    parsing = distil.parse.run

    def stop(options):
        if options.input == "two.txt":
            raise KeyboardInterrupt
        return parsing(options)

    monkeypatch.setattr(distil.parse, "run", stop)
    assert main([*DISTIL, "--lines"]) == 130
    assert sorted(path.name for path in here.glob("student*")) == ["student.log", "student.text1.conllu"]
    monkeypatch.undo()
    monkeypatch.chdir(here)
    capsys.readouterr()
    assert main([*DISTIL, "--lines", "--resume"]) == 0
    assert "parsing one.txt" not in (error := capsys.readouterr().err) and "parsing two.txt" in error
    found, expected = Model.load("student").weights, Model.load("calm").weights
    assert found.keys() == expected.keys() and all((found[name] == expected[name]).all() for name in found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--min-confidence", "0.9"], "teacher: the model has no confidence classifier"),
        (["--exclude", "none.conllu"], "none.conllu: no such file"),
        (["--set", "treebank.silver=x"], "treebank.silver: 'nonproj distil' sets this itself"),
        (["--held-out", "none.conllu"], "none.conllu: no such file"),
        (["none.txt"], "none.txt"),
    ],
)
def test_errors_come_before_the_text_is_parsed(here, capsys, words, message):
    assert main([*DISTIL[:3], *words, *DISTIL[4:]]) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error
    assert not list(here.glob("student*"))
