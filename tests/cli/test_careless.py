"""Commands that are nearly right: each works, or says in one line what would be right."""

import itertools
import os
from pathlib import Path

import pytest
from toy import treebank

import nonproj
from nonproj.cli.main import main, parse_arguments
from nonproj.errors import FileError
from nonproj.io.tables import format_of
from nonproj.io.temporary import reserved


def test_verbosity_may_be_before_the_command(capsys):
    options = parse_arguments(["-vv", "--quiet", "models", "-q"])
    assert (options.command, options.verbose, options.quiet) == ("models", 2, 2)
    assert main(["-v", "--version"]) == 0
    assert capsys.readouterr().out == f"nonproj {nonproj.__version__}\n"


@pytest.mark.parametrize("name", ["out", "out.txt", "out.conll", "out.conllx.gz", "out.d/parsed", "out.2024", "jsno"])
def test_other_endings_are_of_conll_files(name):
    assert format_of(name, None) == format_of("out.csv", "conllu") == format_of("a.parquett", "conllu") == "conllu"


def test_a_path_in_the_place_of_a_model():
    for kind, convert in itertools.product((nonproj.Parser, nonproj.TextParser), (str, Path)):
        with pytest.raises(TypeError, match=r"not a path; nonproj\.load\('danish\.nonproj'\) returns a parser of text"):
            kind(convert("danish.nonproj"))


def test_a_second_training_into_one_file_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nonproj.io.temporary.time.sleep", lambda seconds: None)
    Path("small.conll").write_text(treebank(30), encoding="utf-8")
    Path("link").symlink_to("m.nonproj")
    with reserved(Path("m.nonproj")):
        for name in ("m.nonproj", "link"):
            assert main(["train", "small.conll", "-o", name]) == 2
            assert capsys.readouterr().err == f"nonproj: {name}: another run is writing it\n"
    assert sorted(os.listdir()) == ["link", "small.conll"]


def test_what_is_reserved_is_free_afterwards_whatever_happens(tmp_path, monkeypatch):
    monkeypatch.setattr("nonproj.io.temporary.time.sleep", lambda seconds: None)
    path = tmp_path / "a"
    for _ in range(2):
        with pytest.raises(KeyError), reserved(path):
            [lock] = os.listdir(tmp_path)
            with pytest.raises(FileError, match="another run is writing it"), reserved(path):
                pass
            assert os.listdir(tmp_path) == [lock]
            raise KeyError
        assert not os.listdir(tmp_path)
        (tmp_path / lock).touch()  # as a killed run leaves it
    with pytest.raises(FileError, match="cannot be written: no such file"), reserved(tmp_path / "none" / "a"):
        pass
