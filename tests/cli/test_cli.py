"""The command line."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import enter, start
from toy import QUICK, treebank

from nonproj.cli.main import main

SMALL = ["--set", "features.bits=16", "--set", "pruner.bits=16", "--set", "labeler.bits=16"]
SMALL += [f"--set={name}={value}" for name, value in QUICK.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_of) -> Path:
    """A folder with a treebank and a model."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "train.conll").write_text(treebank(60), encoding="utf-8")
    (folder / "test.conll").write_text(treebank(15, seed=1) + "\n\n", encoding="utf-8")
    shutil.copy(model_of("complete"), folder / "toy.nonproj")
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch) -> Path:
    """An empty folder to work in, with links to the treebank and the model."""
    return enter(tmp_path, folder, monkeypatch)


def columns(text: str) -> list[list[str]]:
    """All columns but HEAD and DEPREL."""
    return [line.split("\t")[:6] + line.split("\t")[8:] for line in text.splitlines(keepends=True)]


# -- what needs no model -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "unknown command 'trian'; did you mean train?"),
        (["tsp", "a.tsp", "--json"], "unknown command 'tsp'; known: train, distil,"),
        (["train", "--lr", "3"], "unknown option --lr (try"),
        (["parse", "--modle=a"], "nonproj parse: unknown option --modle; did you mean --model?"),
        (["parse", "in.conllu", "-o"], "argument -o/--output: expected one argument"),
        (["inspect", "a", "b"], "unknown argument 'b'"),
        (["parse", "a", "--search-limit", "1e3"], "argument --search-limit: '1e3' is not an integer"),
        (
            ["parse", "a", "b", "--cut-words", "5"],
            "--cut-words applies to plain text: --text, --lines, --words or --tokens",
        ),
        (["parse", "a", "b", "--breaks"], "--breaks applies to plain text: --text, --lines, --words or --tokens"),
        (["evaluate", "a", "-", "-"], "PARSED and PARSED cannot both be standard input (-)"),
        (["evaluate", "-", "a", "--ud", "--errors", "--train", "-"], "GOLD and --train cannot both be standard"),
        (["show", "-", "--gold", "-"], "FILE and --gold cannot both be standard input (-)"),
        (["train", "-", "-o", "m", "--test", "-"], "TRAIN and --test cannot both be standard input (-)"),
        (["parse", "-m", "a", "--single-root", "--multi-root"], "not allowed with"),
        (["evaluate", "a"], "expected GOLD PARSED, GOLD A B or -m MODEL GOLD"),
        (["evaluate", "a", "b", "-m", "c"], "expected GOLD PARSED, GOLD A B or -m MODEL GOLD"),
        (["evaluate", "--ud", "a"], "nonproj evaluate: expected --ud GOLD A [B] (try"),
        (["evaluate", "a", "b", "--json", "c", "d"], "unknown argument 'd'"),
        (["evaluate", "a", "b", "--multi-root"], "--multi-root applies to parsing and needs --model"),
        ([], "a command is expected: train, distil, parse, evaluate, show, inspect,"),
    ],
)
def test_usage_errors_are_one_line(words, message, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert message in error
    assert error.startswith("nonproj")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parse", "-m", "none.nonproj", "a"], "none.nonproj"),
        (["parse", "-m", "a", "b", "c"], "--output: several files need a folder to write to: -o FOLDER"),
        (
            ["parse", "-m", "a", "b", "-o", "d.conllu", "c"],
            "need a folder to write to, not the file d.conllu: -o FOLDER",
        ),
        (["train", "bad.conll", "-o", "m"], "bad.conll:2: 2 columns, 10 expected"),
        (["train", "bad.conll", "-o", "none/m"], "none/m: cannot be written: there is no folder 'none'"),
        (["train", "a", "-o", "m", "--set", "training.epoch=3"], "training.epoch"),
        (["train", "a", "-o", "m", "--set", "training.epochs"], "section.key=value is expected after --set"),
        (["train", "a", "-o", "m", "--epochs", "0"], "training.epochs: 0"),
        (["train", "good.conll", "-o", "m", "--held-out", "1.5"], "treebank.held_out: 1.5"),
        (["train", "good.conll", "-o", "m", "--test", "none.conll"], "none.conll: no such file"),
        (["evaluate", "good.conll", "none.conll"], "none.conll: no such file"),
        (["inspect", "bad.conll"], "bad.conll"),
    ],
)
def test_errors_are_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("good.conll").write_text(treebank(3), encoding="utf-8")
    Path("bad.conll").write_text("1\ta\t_\tA\tA\t_\t0\troot\t_\t_\n2\tb\n\n", encoding="utf-8")
    assert main(words) == 2
    output, error = capsys.readouterr()
    assert output == ""
    assert message in error
    assert error.startswith("nonproj: ")
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.conll", "good.conll"]


# -- parse -------------------------------------------------------------------------------------------------------------


def test_parse_changes_two_columns_only(here):
    assert main(["parse", "-m", "toy.nonproj", "test.conll", "-o", "out.conll"]) == 0
    text, parsed = Path("test.conll").read_text(encoding="utf-8"), Path("out.conll").read_text(encoding="utf-8")
    assert columns(parsed) == columns(text)
    assert main(["parse", "-m", "toy.nonproj", "out.conll", "-o", "again.conll"]) == 0
    assert Path("again.conll").read_text(encoding="utf-8") == parsed  # the input's heads are not looked at


def test_parse_reads_pipes_and_gzip(here, monkeypatch, capsysbinary):
    main(["parse", "-m", "toy.nonproj", "test.conll", "-o", "out.conll"])
    parsed, data = Path("out.conll").read_bytes(), Path("test.conll").read_bytes()
    Path("test.conll.gz").write_bytes(gzip.compress(data))
    assert main(["parse", "-m", "toy.nonproj", "test.conll.gz", "-o", "out.conll.gz"]) == 0
    assert gzip.decompress(Path("out.conll.gz").read_bytes()) == parsed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["parse", "-m", "toy.nonproj"]) == 0
    assert capsysbinary.readouterr().out == parsed


def test_parse_may_write_its_own_input(here):
    main(["parse", "-m", "toy.nonproj", "test.conll", "-o", "out.conll"])
    Path("same.conll").write_bytes(Path("test.conll").read_bytes())
    assert main(["parse", "-m", "toy.nonproj", "same.conll", "-o", "same.conll"]) == 0
    assert Path("same.conll").read_bytes() == Path("out.conll").read_bytes()


def test_statistics(here):
    arguments = ["parse", "-m", "toy.nonproj", "test.conll", "--stats", "s.jsonl", "-o", "out.conll"]
    assert main([*arguments, "--stats-comments"]) == 0
    facts = [json.loads(line, parse_constant=pytest.fail) for line in Path("s.jsonl").read_text().splitlines()]
    assert [fact["sentence"] for fact in facts] == list(range(1, 16))
    lines = Path("test.conll").read_text(encoding="utf-8").splitlines()
    for fact in facts:
        assert lines[fact["line"] - 1].startswith("1\t")
        assert fact["path"] == "test.conll"
        assert fact["gap"] == fact["bound"] - fact["score"] >= -1e-6
        assert fact["certified"] or not fact["agreed"]
    comments = [line for line in Path("out.conll").read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
    certified = [line for line in comments if line.startswith("# nonproj certified = ")]
    assert certified == [f"# nonproj certified = {json.dumps(fact['certified'])}" for fact in facts]
    assert main(["parse", "-m", "toy.nonproj", "test.conll", "-o", os.devnull, "--stats", os.devnull]) == 0


@pytest.mark.parametrize(
    "option", ["--single-root", "--projective", "--no-projective", "--max-iterations=1", "--exact"]
)
def test_decoding_options(here, option):
    from nonproj.io.conll import read
    from nonproj.trees.crossing import nonprojective

    assert main(["parse", "-m", "toy.nonproj", "test.conll", "-o", "out.conll", option, "--stats", "s.jsonl"]) == 0
    facts = [json.loads(line) for line in Path("s.jsonl").read_text().splitlines()]
    sentences = list(read("out.conll"))
    assert len(facts) == len(sentences) == 15
    if option == "--single-root":
        assert all((sentence.heads == 0).sum() == 1 for sentence in sentences)
    elif option == "--no-projective":
        assert any(nonprojective(sentence.heads).any() for sentence in sentences)
    elif option == "--projective":
        assert not any(nonprojective(sentence.heads).any() for sentence in sentences)
    elif option == "--exact":
        assert all(fact["certified"] for fact in facts)
    else:
        unsearched = [fact for fact in facts if not fact["nodes"]]
        assert unsearched and all(fact["iterations"] == 1 for fact in unsearched)


def test_branch_and_bound_certifies_what_the_subgradient_method_does_not(here, capsys):
    from nonproj.model.model import Model

    model = Model.load("toy.nonproj")
    table = model.weights["parser"]
    model.weights["parser"] = np.random.default_rng(0).integers(-99, 99, table.shape).astype(table.dtype)
    model.weights["pruner"] = np.zeros_like(model.weights["pruner"])  # as good as nothing is pruned
    model.components.pop("crossing", None)
    model.save("wild.nonproj")
    words = ["parse", "-m", "wild.nonproj", "test.conll", "-o", "out.conll", "--max-iterations=1", "--stats", "s.jsonl"]
    assert main([*words, "--no-exact"]) == 0
    plain = [json.loads(line) for line in Path("s.jsonl").read_text().splitlines()]
    assert all(fact["nodes"] == 0 and fact["iterations"] == 1 for fact in plain)
    gaps = sum(not fact["certified"] for fact in plain)
    assert gaps
    assert capsys.readouterr().err == f"{gaps} of {len(plain)} sentences without a certificate; use --exact\n"
    assert main([*words, "--search-limit", "1"]) == 0
    assert " sentences without a certificate; raise --search-limit\n" in capsys.readouterr().err
    assert main([*words, "--search-limit", "100000000"]) == 0
    assert capsys.readouterr().err == ""
    found = [json.loads(line) for line in Path("s.jsonl").read_text().splitlines()]
    assert any(fact["nodes"] for fact in found)
    for fact, before in zip(found, plain, strict=True):
        assert fact["certified"]
        assert before["score"] <= fact["score"] + 1e-6
        assert fact["bound"] <= before["bound"] + 1e-6
        assert fact["nodes"] == 0 or not before["certified"]


def test_broken_input_leaves_no_output(here, capsys):
    Path("bad.conll").write_text(treebank(2) + "1\ta\n\n", encoding="utf-8")
    before = set(here.iterdir())
    assert main(["parse", "-m", "toy.nonproj", "bad.conll", "-o", "out.conll", "--stats", "s.jsonl"]) == 2
    assert "2 columns, 10 expected" in capsys.readouterr().err
    assert set(here.iterdir()) == before


def test_pipes_are_answered_at_once_and_interrupted_without_a_traceback(here):
    process = start("parse", "-m", "toy.nonproj", "--stats", "s.jsonl", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(treebank(1).encode())
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"1\t")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == b"nonproj: interrupted\n"
    assert not [path for path in here.iterdir() if "s.jsonl" in path.name]


def test_closed_output_pipe(here):
    Path("long.conll").write_text(treebank(2000), encoding="utf-8")
    process = start("parse", "-m", "toy.nonproj", "long.conll", stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141


# -- evaluate and inspect ----------------------------------------------------------------------------------------------


def test_evaluate_a_file_or_a_model(here, capsys):
    main(["parse", "-m", "toy.nonproj", "test.conll", "-o", "out.conll"])
    assert main(["evaluate", "test.conll", "--json", "out.conll"]) == 0
    of_file = json.loads(capsys.readouterr().out)
    assert main(["evaluate", "-m", "toy.nonproj", "test.conll", "--json"]) == 0
    of_model = json.loads(capsys.readouterr().out)
    for scope in ("without_punctuation", "with_punctuation"):
        assert of_file[scope] == of_model[scope]
    assert of_file["certificates"] is None
    assert of_model["certificates"]["sentences"] == of_model["sentences"] == 15
    assert of_model["speed"]["words_per_second"] > 0
    assert of_model["without_punctuation"]["uas"] > 0.9  # a language that is easy to learn
    assert main(["evaluate", "test.conll", "out.conll"]) == 0
    text = capsys.readouterr().out
    assert "unlabelled attachment (UAS)" in text and "; words, sentences and tags as in the gold file; per cent" in text


def test_evaluate_compares_two_files(here, capsys):
    lines = Path("test.conll").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("worse.conll").write_text("".join(line.replace("\tnsubj\t", "\tother\t") for line in lines), encoding="utf-8")
    assert main(["evaluate", "test.conll", "--json", "test.conll", "worse.conll"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["first"], result["second"], result["sentences"]) == ("test.conll", "worse.conll", 15)
    assert result["uas"] == {"first": 1.0, "second": 1.0, "difference": 0.0, "p": 1.0}
    assert result["las"]["second"] < 1.0 == result["las"]["first"]
    assert result["las"]["difference"] == pytest.approx(1 - result["las"]["second"])
    assert 0 < result["las"]["p"] < 0.05
    assert main(["evaluate", "test.conll", "test.conll", "worse.conll"]) == 0
    text = capsys.readouterr().out
    assert "A: test.conll: words, sentences and tags as in the gold file\n" in text
    assert "15 sentences" in text and "labelled attachment (LAS)" in text and f"{result['las']['p']:.4f}" in text
    rows = [line.split("\t") for line in lines]
    bare = "".join("\t".join([*row[:7], "_", *row[8:]] if len(row) == 10 else row) for row in rows)
    Path("bare.conll").write_text(bare, encoding="utf-8")
    assert main(["evaluate", "test.conll", "bare.conll", "test.conll", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["las"] is None


def test_inspect(here, capsys):
    assert main(["inspect", "toy.nonproj", "--verify", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["verified"] is True
    assert facts["config"]["training"]["epochs"] == len(facts["training"]["log"]) == 3
    assert facts["weights"]["parser"]["entries"] == 1 << 16
    assert 0 < facts["weights"]["parser"]["nonzero"] < 1
    assert facts["labels"] == 7
    assert main(["inspect", "toy.nonproj"]) == 0
    text = capsys.readouterr().out
    assert "toy.nonproj: a model of arc, sibling, grandparent" in text
    assert "training.epochs" in text


def test_damaged_model(here, capsys):
    data = bytearray(Path("toy.nonproj").read_bytes())
    data[-100] ^= 1
    Path("damaged.nonproj").write_bytes(data)
    assert main(["inspect", "--verify", "damaged.nonproj"]) == 2
    assert "damaged.nonproj" in capsys.readouterr().err


# -- train -------------------------------------------------------------------------------------------------------------


def test_train_and_evaluate(here, capsys):
    arguments = ["train", "train.conll", "-o", "m.nonproj", "--epochs", "2", "--parts", "sibling", "--seed", "7", "-v"]
    assert main([*arguments, *SMALL, "--test", "test.conll", "--held-out", "0.2"]) == 0
    output, error = capsys.readouterr()
    assert "unlabelled attachment (UAS)" in output
    assert "training on 48 sentences" in error
    assert "epoch 2: " in error
    assert "held-out UAS" in error
    assert not Path("m.nonproj.checkpoint").exists()
    main(["inspect", "m.nonproj", "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert (facts["config"]["parts"], facts["config"]["seed"]) == (["arc", "sibling"], 7)
    assert facts["training"]["sentences"] == 48
    last = facts["training"]["log"][-1]
    main(["evaluate", "-m", "m.nonproj", "train.conll", "--json"])
    figures = json.loads(capsys.readouterr().out)["without_punctuation"]
    assert figures["uas"] == pytest.approx(last["uas"], abs=0.1)  # the held-out sentences are among these
    main(["evaluate", "-m", "m.nonproj", "test.conll"])
    again = capsys.readouterr().out
    assert again.splitlines()[:-1] == output.splitlines()[:-1]  # but for the speed
    assert again.splitlines()[0].endswith(" words; given: words and sentences; predicted: tags; per cent")
    main(["evaluate", "-m", "m.nonproj", "test.conll", "--gold-tags"])
    assert "given: words, sentences and tags; predicted: missing tags; per cent\n" in capsys.readouterr().out


def test_training_interrupted_in_a_stage_says_how_to_go_on(here, monkeypatch, capsys):
    """Before there is a model; what was learnt in earlier stages is kept."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nonproj.components.pruner.PrunerComponent.fit", interrupt)
    assert main(["train", "train.conll", "-o", "m.nonproj", "--parts", "arc", *SMALL]) == 130
    error = capsys.readouterr().err
    assert "kept m.nonproj.checkpoint; continue with the same command and --resume" in error
    assert "interrupted" in error.splitlines()[-1] and "Traceback" not in error
    assert not Path("m.nonproj").exists() and Path("m.nonproj.checkpoint").exists()
