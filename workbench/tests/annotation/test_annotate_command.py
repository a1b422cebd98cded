"""``nonproj annotate`` as a process: options, signals, and files."""

import contextlib
import os
import signal

import pytest
from command import run
from opening import Annotator, sentence
from toy import read, treebank

from nonproj.components.trainer import train
from nonproj.options.config import Config

TEXT = sentence(0, 1) + sentence(0, 1, 1)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text(TEXT)
    return path


OTHERS = [pytest.param(number, marks=pytest.mark.thorough) for number in (signal.SIGINT, signal.SIGHUP)]


@pytest.mark.parametrize("number", [signal.SIGTERM, *OTHERS])
def test_signals_save_and_release(path, number):
    running = Annotator(path)
    running.edit(0, op="done", value=True)
    assert running.stop(number) == 0
    assert path.read_text() == "# annotation = done\n" + TEXT and os.listdir(path.parent) == [path.name]


def test_a_killed_process(path):
    """Edits in the journal are there when the file is opened again, and the lock is free."""
    running = Annotator(path)
    for k in range(5):
        running.edit(1, op="column", word=1, column="lemma", value=f"lemma{k}")
    running.stop(signal.SIGKILL)
    again = Annotator(path)
    assert again.ask("sentence/1")["words"][0]["lemma"] == "lemma4"
    again.stop()
    assert "lemma4" in path.read_text() and any("repeated" in line for line in again.messages)


def test_two_processes(path):
    running = Annotator(path)
    other = run("annotate", str(path))
    assert other.returncode == 2 and "is open in another 'nonproj annotate'; end it first" in other.stderr
    assert "Traceback" not in other.stderr and other.stderr.count("\n") == 1
    running.stop()


@pytest.mark.thorough
def test_the_validator_is_omitted_for_a_model_of_other_tags(tmp_path, noisy_model):
    """It would reject the tag of each word."""
    pytest.importorskip("udtools")
    text = treebank(40)
    for tag in ("NOUN", "VERB", "ADJ", "DET", "PART", "PUNCT"):
        text = text.replace(f"\t{tag}\t", f"\t{tag[:2]}\t")
    options = {"features.bits": 14, "pruner.bits": 14, "labeler.bits": 14, "training.epochs": 1}
    train(read(text), Config().with_overrides(options)).save(tmp_path / "other.nonproj")
    path = tmp_path / "trees.conllu"
    path.write_text("# sent_id = 1\n" + text.partition("\n\n")[0] + "\n\n")
    for model, expected in ((tmp_path / "other.nonproj", False), (noisy_model, True)):
        running = Annotator(path, "-m", model)
        assert running.ask("file")["validator"] is expected
        running.stop()


def test_an_output_of_its_own(path, tmp_path):
    output = tmp_path / "out.conllu"
    running = Annotator(path, "-o", output)
    running.edit(0, op="done", value=True)
    running.stop()
    assert path.read_text() == TEXT and output.read_text() == "# annotation = done\n" + TEXT
    again = run("annotate", str(path), "-o", str(output))
    assert again.returncode == 2 and f"exists already; to continue, nonproj annotate {output}" in again.stderr


def test_a_comparison_is_resumed(path, tmp_path):
    second, output = tmp_path / "second.conllu", tmp_path / "out.conllu"
    second.write_text(sentence(0, 1) + sentence(0, 1, 2))
    running = Annotator(path, "--compare", second, "-o", output)
    running.edit(1, op="take", word=3, source="second")
    running.stop()
    running = Annotator(path, "--compare", second, "-o", output)
    assert running.ask("sentence/1")["words"][2]["head"] == 2
    assert running.ask("file")["sentences"]["differs"] == [0, 0]
    running.stop()
    assert path.read_text() == TEXT


def test_a_token_from_the_environment(path, monkeypatch):
    monkeypatch.setenv("NONPROJ_TOKEN", "mine")
    running = Annotator(path)
    assert running.token == "mine"
    running.stop()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-"], "-: annotation needs a file, which it writes"),
        (["none.conllu"], "none.conllu: no such file"),
        (["."], ".: not a file; a file of a treebank is expected"),
        (
            ["text.txt"],
            "text.txt: is not a treebank; make trees of plain text first: nonproj parse --text MODEL text.txt",
        ),
        (["bad.conllu"], "bad.conllu:1: 9 columns, 10 expected"),
        (["a.conllu", "--compare", "a.conllu"], "--compare: needs -o OUT"),
        (["a.conllu", "-o", "a.conllu"], "a.conllu: output is the same file as the file"),
        (["a.conllu", "--compare", "b.conllu", "-o", "b.conllu"], "output is the same file as the second file"),
        (["a.conllu", "--compare", "b.conllu", "-o", "c.conllu"], "b.conllu: has 2 sentences, a.conllu has 1"),
        (["a.conllu", "-m", "a.conllu"], "a.conllu: not a model of nonproj, but a treebank"),
        (["a.conllu", "--retrain-with", "b.conllu"], "--retrain-with: needs --retrain"),
        (["a.conllu", "--trust", "al"], "unknown --trust 'al'; did you mean all?"),
        (["a.conllu", "--level", "4"], "level 4 needs the code of the language"),
        (["a.conllu", "-o", "none/c.conllu"], "there is no folder 'none'"),
    ],
)
def test_errors_are_one_line(tmp_path, words, message):
    (tmp_path / "a.conllu").write_text(sentence(0))
    (tmp_path / "b.conllu").write_text(sentence(0) * 2)
    (tmp_path / "bad.conllu").write_text("1\ta\t_\t_\t_\t_\t0\tx\t_\n\n")
    (tmp_path / "text.txt").write_text("Det regner.\n")
    found = run("annotate", *words, cwd=tmp_path)
    assert found.returncode == 2 and message in found.stderr and "Traceback" not in found.stderr
    assert not list(tmp_path.glob("*.journal")) and not (tmp_path / "c.conllu").exists()


def test_a_port_in_use(path):
    running = Annotator(path)
    port = running.port
    other = run("annotate", str(path), "--port", port)
    assert other.returncode == 2 and "--port 0 takes a free one" in other.stderr
    running.stop()


def test_only_this_machine_is_listened_on(path):
    running = Annotator(path)
    with contextlib.suppress(OSError):
        lines = open("/proc/net/tcp").read().splitlines()  # noqa: SIM115
        port = f"{int(running.port):04X}"
        assert [line.split()[1] for line in lines if line.split()[1].endswith(f":{port}")][0].startswith("0100007F")
    running.stop()
