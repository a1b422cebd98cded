"""``nonproj package`` and ``nonproj models``, and commands given the name of an installed model."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from command import run_copy
from toy import raw_treebank

import nonproj
from nonproj.cli.main import main, parse_arguments
from nonproj.cli.model_names import is_input, locate_models
from nonproj.model.installed import _say
from nonproj.model.model import Model


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_of):
    """A model, its test file and a text."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "test.conllu").write_text(raw_treebank(20, 1), encoding="utf-8")
    (folder / "plain.txt").write_text("\n".join(re.findall("# text = (.*)", raw_treebank(20, 1))), encoding="utf-8")
    model = Model.load(model_of("confident"))
    model.meta["data"] = {"name": "Toy", "licence": "CC0", "language": "fo"}
    model.save(folder / "Toy.nonproj")
    return folder


def package(folder, capsys, *words):
    """Run ``nonproj package``; return the path of the wheel, as it prints it."""
    capsys.readouterr()
    assert main(["package", str(folder / "Toy.nonproj"), *words]) == 0
    return capsys.readouterr().out.strip()


def test_a_packaged_model_parses_by_its_name_everywhere(folder, site, capsys):
    wheel = package(folder, capsys, "--name", "toy", "--test", str(folder / "test.conllu")).splitlines()[-1]
    assert wheel == "nonproj_model_toy-1.0.0-py3-none-any.whl"
    shutil.unpack_archive(wheel, site, "zip")
    path, text = site / "nonproj_model_toy" / "toy.nonproj", folder / "plain.txt"
    assert Model.load(path).meta["rounding"] == 1.0 and Model.load(path).meta["test"]["sentences"] == 20
    outputs = set()
    for words in (["toy"], ["-m", "toy"], [str(path)]):
        assert main(["parse", "--lines", *words, str(text), "-q"]) == 0
        outputs.add(capsys.readouterr().out)
    assert [output.count("# sent_id") for output in outputs] == [20]
    assert main(["evaluate", "-m", "toy", str(folder / "test.conllu")]) == 0
    assert main(["inspect", "toy"]) == 0 and "toy.nonproj" in capsys.readouterr().out
    assert nonproj.load("toy")(text.read_text(encoding="utf-8")).sentences
    assert nonproj.DependencyParser.load("toy").model_.labels == Model.load(path).labels
    import nonproj_model_toy

    assert repr(nonproj_model_toy.load()) == repr(nonproj.load("toy"))
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("nonproj", config={"model": "toy"})
    assert all(token.dep_ for token in nlp(text.read_text(encoding="utf-8").splitlines()[0]))


def test_without_a_name_the_model_of_the_environment_parses(folder, site, capsys, monkeypatch):
    text = str(folder / "plain.txt")
    monkeypatch.setattr(sys, "stdin", open(text, encoding="utf-8"))  # noqa: SIM115
    shutil.unpack_archive(package(folder, capsys, "--name", "toy"), site, "zip")
    for words in ([], ["-"], [text], [str(folder / "test.conllu")]):
        assert main(["parse", *words]) == 2
        assert "no model is named, and nonproj comes without one here" in capsys.readouterr().err
    assert main(["parse", "--lines", "toy", text, "-q"]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setenv("NONPROJ_MODEL", "toy")
    assert main(["parse", "--lines", text, "-q"]) == 0
    assert capsys.readouterr().out == expected
    assert repr(nonproj.load()) == repr(nonproj.load("toy"))
    _say.cache_clear()
    for words in ([], ["-"], [str(folder / "Toy.nonproj")]):
        with open(text, encoding="utf-8") as stream:
            found = run_copy("nonproj", "parse", "--lines", *words, stdin=stream)
        announced = "" if "Toy" in "".join(words) else "parsing with toy, the model of NONPROJ_MODEL\n"
        assert (found.stdout.count("# sent_id"), found.stderr) == (20, announced)
        assert found.stdout == expected or not announced


def test_the_server_has_the_same_default():
    options = locate_models(parse_arguments(["serve"]))
    assert [Path(model).name for model in options.models] == ["english.nonproj"]


def test_whether_a_lone_argument_is_a_model_or_the_input(folder, site):
    for name, content in (("empty.conllu", b""), ("plain", b"A text."), ("damaged.nonproj", b"no model")):
        Path(name).write_bytes(content)
    shutil.copy(folder / "Toy.nonproj", "model")
    os.mkdir("folder")
    os.mkfifo("pipe")
    assert all(map(is_input, ("-", "empty.conllu", "plain", "pipe", "folder")))
    assert not any(map(is_input, ("missing.conllu", "missing", "damaged.nonproj", "model")))


def test_models_are_listed(folder, site, capsys, monkeypatch):
    assert main(["models"]) == 0
    assert "no model is installed" in capsys.readouterr().out
    shutil.unpack_archive(package(folder, capsys, "--name", "toy", "--package-version", "2.1"), site, "zip")
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[0].split()) == "name package version language treebank UAS LAS tags MB licence"
    assert lines[1].split()[:5] == ["toy", "nonproj-model-toy", "2.1", "fo", "Toy"] and lines[1].endswith("CC0")
    monkeypatch.setenv("NONPROJ_MODEL", "toy")
    assert main(["models"]) == 0 and capsys.readouterr().out.splitlines()[1].startswith("toy (default)")
    (site / "nonproj_model_toy" / "toy.nonproj").write_bytes(b"not a model")
    assert main(["models"]) == 0 and "cannot be used" in capsys.readouterr().out
    assert main(["models", "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert facts["package"] == "nonproj-model-toy" and facts["version"] == "2.1" and "not a model" in facts["error"]
    assert main(["parse", "toy", str(folder / "test.conllu")]) == 2
    assert "nonproj_model_toy/toy.nonproj: not a model" in capsys.readouterr().err


def test_a_licence_is_asked_for(folder, site, capsys):
    model = Model.load(folder / "Toy.nonproj")
    model.meta["data"] = {}
    model.save(site / "bare.nonproj")
    assert main(["package", str(site / "bare.nonproj")]) == 0
    assert "--licence" in capsys.readouterr().err
    assert main(["package", str(site / "bare.nonproj"), "--licence", "CC BY 4.0", "--language", "got"]) == 0
    wheel, error = capsys.readouterr()
    assert "--licence" not in error
    shutil.unpack_archive(wheel.strip(), site, "zip")
    assert main(["inspect", "--card", "bare"]) == 0
    assert "| language | got |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "MODEL: 'Toy' cannot be the name of a model"),
        (["--name", "A B"], "--name: 'A B' cannot be the name of a model"),
        (["--name", "toy", "--package-version", "v1"], "'v1' is not a version such as 1.0.0"),
        (["--name", "toy", "-o", "missing"], "missing: this is no folder"),
        (["--name", "toy", "--test", "none.conllu"], "none.conllu: no such file"),
    ],
)
def test_mistakes_are_one_line(folder, site, capsys, words, message):
    assert main(["package", str(folder / "Toy.nonproj"), *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list(site.parent.glob("work/*"))
