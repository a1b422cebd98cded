"""Commands that are nearly right: each works, or says in one line what would be right."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from command import SMALL, start, wait_until
from toy import treebank

import nonproj
from nonproj.cli.main import main, parse_arguments
from nonproj.errors import ConfigError, FileError
from nonproj.io.tables import format_of
from nonproj.io.temporary import reserved
from nonproj.options.config import Config


def refused(words: list[str], capsys) -> str:
    """Run a command that is refused, and return its one line."""
    with pytest.raises(SystemExit) as left:
        main(words)
    error = capsys.readouterr().err
    assert left.value.code == 2 and error.count("\n") == 1
    return error


# -- options -----------------------------------------------------------------------------------------------------------


def test_verbosity_may_be_before_the_command(capsys):
    options = parse_arguments(["-vv", "--quiet", "models", "-q"])
    assert (options.command, options.verbose, options.quiet) == ("models", 2, 2)
    assert main(["-v", "--version"]) == 0
    assert capsys.readouterr().out == f"nonproj {nonproj.__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs=2", "parse", "a"], "nonproj: --jobs belongs behind the command: nonproj parse --jobs=2 (try"),
        (["-j", "2", "parse", "a"], "nonproj: -j belongs behind the command: nonproj parse -j (try"),
        (["-v", "--modle", "parse"], "nonproj: unknown option --modle (try"),
        (["-v"], "nonproj: a command is expected: train,"),
    ],
)
def test_other_options_before_the_command_are_refused(words, message, capsys):
    assert refused(words, capsys).startswith(message)


@pytest.mark.parametrize("ending", ["parquett", "PARQUET", "jsnol.gz"])
def test_misspelt_endings_are_refused(ending, tmp_path, capsys):
    assert main(["parse", "-m", "none", "none.conllu", "-o", str(tmp_path / f"out.{ending}")]) == 2
    assert re.search(r"unknown ending; did you mean \.(parquet|jsonl)\?", capsys.readouterr().err)
    assert format_of(f"out.{ending}", "conllu") == "conllu"


@pytest.mark.parametrize("ending", ["csv", "TSV", "csv.gz"])
def test_tables_in_text_are_not_conll(ending, tmp_path, capsys):
    out = tmp_path / f"out.{ending}"
    assert main(["parse", "-m", "none", "none.conllu", "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert ".parquet or .jsonl" in error and error.count("\n") == 1 and not out.exists()
    assert format_of(out, "conllu") == "conllu"


@pytest.mark.parametrize("name", ["out", "out.txt", "out.conll", "out.conllx.gz", "out.d/parsed", "out.2024", "jsno"])
def test_other_endings_are_of_conll_files(name):
    assert format_of(name, None) == "conllu"


@pytest.mark.parametrize(
    ("key", "suggestion"),
    [
        ("epochs", "training.epochs or pruner.epochs or "),
        ("trainign.epochs", "training.epochs?"),
        ("part", "parts?"),
        ("step", "decoding.step?"),
    ],
)
def test_an_option_without_its_section(key, suggestion):
    with pytest.raises(ConfigError) as error:
        Config().with_overrides({key: "5"}, text=True)
    assert error.value.message.startswith(f"unknown option; did you mean {suggestion}")


@pytest.mark.parametrize("kind", [nonproj.Parser, nonproj.TextParser])
@pytest.mark.parametrize("convert", [str, Path])
def test_a_path_in_the_place_of_a_model(kind, convert):
    with pytest.raises(TypeError, match=r"not a path; nonproj\.load\('danish\.nonproj'\) returns a parser of text"):
        kind(convert("danish.nonproj"))


# -- two runs with one output ------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_second_training_into_one_file_is_refused(tmp_path, capsys, monkeypatch):
    for name, count in (("large", 400), ("small", 30)):
        (tmp_path / f"{name}.conll").write_text(treebank(count), encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "m.nonproj")
    words = ["train", str(tmp_path / "small.conll"), *SMALL, "-o"]
    large = ["train", str(tmp_path / "large.conll"), *SMALL, "--epochs", "900"]
    first = start(*large, "-o", str(tmp_path / "m.nonproj"))
    wait_until(lambda: any(path.name.startswith(".nonproj") for path in tmp_path.iterdir()), first)
    for name in ("m.nonproj", "link"):
        assert main([*words, str(tmp_path / name)]) == 2
        assert capsys.readouterr().err == f"nonproj: {tmp_path / name}: another run is writing it\n"
    assert main([*words, str(tmp_path / "other.nonproj")]) == 0
    assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert main([*words, str(tmp_path / "m.nonproj")]) == 0
    assert nonproj.Model.load(tmp_path / "m.nonproj").is_trained
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".nonproj")]


def test_what_is_reserved_is_free_afterwards_whatever_happens(tmp_path):
    path = tmp_path / "a"
    for _ in range(2):
        with pytest.raises(KeyError), reserved(path):
            assert len(os.listdir(tmp_path)) == 1
            with pytest.raises(FileError, match="another run is writing it"), reserved(path):
                pass
            assert len(os.listdir(tmp_path)) == 1
            raise KeyError
        assert not os.listdir(tmp_path)
    with pytest.raises(FileError, match="cannot be written: no such file"), reserved(tmp_path / "none" / "a"):
        pass
