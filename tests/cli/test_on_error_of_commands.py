"""``--on-error skip`` of the commands that read treebanks: what is malformed is left out, reported, and exit code 1."""

import json
from pathlib import Path

import pytest
from command import SMALL
from toy import treebank

from nonproj.cli.main import main
from nonproj.model.model import Model

MODEL = str(Path(__file__).resolve().parents[1] / "golden" / "model.nonproj")
MALFORMED = "# sent_id = bad\n1\tb\tb\tX\t_\t_\t0\troot\t_\n\n"
REPORT = "9 columns, 10 expected"


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder with a treebank ``good``, and the same with a malformed sentence, ``bad``."""
    monkeypatch.chdir(tmp_path)
    Path("good").write_text(treebank(12))
    Path("bad").write_text(treebank(12).replace("\n\n", f"\n\n{MALFORMED}", 1))
    return tmp_path


COMMANDS = ["evaluate FILE FILE --json", "evaluate FILE FILE FILE", "evaluate --ud FILE FILE"]
COMMANDS += ["evaluate -m MODEL FILE --json", "show FILE --gold FILE --sentence 3"]
COMMANDS += ["show -m MODEL FILE --gold FILE --sentence 3"]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_malformed_sentence_is_left_out(here, capsys, words):
    if "--ud" in words:
        pytest.importorskip("udtools.udeval")
    given = [[{"MODEL": MODEL, "FILE": name}.get(word, word) for word in words.split()] for name in ("good", "bad")]
    assert main(given[0]) == 0
    expected = capsys.readouterr().out
    assert main(given[1]) == 2
    assert "bad:" in capsys.readouterr().err
    assert main([*given[1], "--on-error", "skip"]) == 1
    out, err = capsys.readouterr()
    assert _without_places(out) == _without_places(expected)
    assert f"bad:{len(treebank(1).splitlines()) + 2}: {REPORT}" in err and "left out" in err


def _without_places(text: str) -> str:
    """Return an output without names of files, lines and seconds."""
    if text.startswith("{"):
        return json.dumps({name: each for name, each in json.loads(text).items() if "second" not in json.dumps(each)})
    lines = text.replace("good", "bad").splitlines()
    return "\n".join(line for line in lines if not line.startswith("bad:") and "second" not in line)


def test_training_leaves_it_out(here, capsys):
    command = ["train", "bad", "-o", "m", "--held-out", "bad", "--test", "bad", *SMALL]
    assert main(command) == 2
    assert not Path("m").exists()
    assert main([*command, "--on-error", "skip"]) == 1
    assert "nonproj: 3 broken sentences left out" in capsys.readouterr().err
    assert Model.load("m").meta["sentences"] == 12


def test_a_file_of_malformed_sentences_only_is_an_error(here, capsys):
    for content, message in ((MALFORMED, f"bad:2: {REPORT}"), ("\n", "bad:1: no sentences")):
        Path("bad").write_text(content)
        assert main(["evaluate", "bad", "bad", "--on-error", "skip"]) == 2
        assert message in capsys.readouterr().err
