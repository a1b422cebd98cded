"""The command line."""

import argparse
import functools
import gc
import gzip
import io
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from command import SMALL, enter, start
from toy import treebank

from nonproj.cli import common
from nonproj.cli.main import main, parse_arguments
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import BATCH
from nonproj.trees.crossing import nonprojective


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
        (["inspect", "a", "--card", "--json"], "not allowed with"),
        (["parse", "a", "--search-limit", "1e3"], "argument --search-limit: '1e3' is not an integer"),
        (["parse", "a", "b", "--cut-words", "5"], "--cut-words applies to plain text: --text, --lines, --words or"),
        (["parse", "a", "b", "--breaks"], "--breaks applies to plain text: --text, --lines, --words or --tokens"),
        (["parse", "a", "b", "--format", "xml"], "unknown --format 'xml'; known: conllu, jsonl, parquet"),
        (["parse", "-m", "a", "--text", "--lexicon", "-"], "cannot both be standard input"),
        (["evaluate", "a", "-", "-"], "PARSED and PARSED cannot both be standard input (-)"),
        (["evaluate", "-", "a", "--ud", "--errors", "--train", "-"], "GOLD and --train cannot both be standard"),
        (["show", "-", "--gold", "-"], "FILE and --gold cannot both be standard input (-)"),
        (["train", "-", "-o", "m", "--test", "-"], "TRAIN and --test cannot both be standard input (-)"),
        (["parse", "-m", "a", "--single-root", "--multi-root"], "not allowed with"),
        (["parse", "m", "a", "--jobs", "2", "--scheduler", "tcp://a:1"], "not allowed with"),
        (["evaluate", "a"], "expected GOLD PARSED, GOLD A B or -m MODEL GOLD"),
        (["evaluate", "a", "b", "-m", "c"], "expected GOLD PARSED, GOLD A B or -m MODEL GOLD"),
        (["evaluate", "--ud", "a"], "nonproj evaluate: expected --ud GOLD A [B] (try"),
        (["evaluate", "a", "b", "--json", "c", "d"], "unknown argument 'd'"),
        (["evaluate", "a", "b", "--multi-root"], "--multi-root applies to parsing and needs --model"),
        (["distil", "a", "b", "--treebank", "c", "-o", "d", "--most-words", "0"], "argument --most-words: '0'"),
        (["serve", "a", "--port", "99999"], "'99999' is not a number from 0 to 65535"),
        (["package", "a", "--rounding", "-1"], "'-1' is not a number from 0 to 100"),
        (["package", "a", "--language", "Danish"], "'Danish' is not the code of a language, such as da or got"),
        (["--jobs=2", "parse", "a"], "nonproj: --jobs belongs behind the command: nonproj parse --jobs=2 (try"),
        (["-j", "2", "parse", "a"], "nonproj: -j belongs behind the command: nonproj parse -j (try"),
        (["-v", "--modle", "parse"], "nonproj: unknown option --modle (try"),
        (["-v"], "nonproj: a command is expected: train,"),
        ([], "a command is expected: train, distil, parse, evaluate, show, inspect,"),
        *(
            (["parse", "m", "a", f"--jobs={number}"], f"'{number}' is not a number from 1 to 1024, or -1")
            for number in ("0", "-2", "two", "1.5", "100000")
        ),
        *(
            (["parse", "m", "a", "--scheduler", each], f"{each!r} is not the address of a Dask scheduler, such as tcp:")
            for each in ("", " ", "tcp://", "tls://", "http://x", "tcp://a", "tcp://a:0", "tcp://a:b", "a b:1")
        ),
        *(
            (["parse", "a", "b", f"--scheduler-timeout={seconds}"], f"'{seconds}' is not a number of seconds")
            for seconds in ("0", "-1", "nan", "inf", "soon")
        ),
    ],
)
def test_usage_errors_are_one_line(words, message, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    error = capsys.readouterr().err
    assert (left.value.code, error.startswith("nonproj"), error.count("\n")) == (2, True, 1)
    assert message in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parse", "-m", "none.nonproj", "a"], "none.nonproj"),
        (["parse", "-m", "a", "b", "c"], "--output: several files need a folder to write to: -o FOLDER"),
        (["parse", "-m", "a", "b", "-o", "d.conllu", "c"], "folder to write to, not the file d.conllu: -o FOLDER"),
        (["parse", "-m", "a", "b", "-o", "c.parquett"], "c.parquett: unknown ending; did you mean .parquet?"),
        (["parse", "-m", "a", "b", "-o", "c.PARQUET"], "c.PARQUET: unknown ending; did you mean .parquet?"),
        (["parse", "-m", "a", "b", "-o", "c.jsnol.gz"], "c.jsnol.gz: unknown ending; did you mean .jsonl?"),
        (["parse", "-m", "a", "b", "-o", "c.TSV"], "c.TSV: tables are not written as .TSV; use .parquet or .jsonl"),
        (["parse", "-m", "a", "b", "-o", "c.csv.gz"], "c.csv.gz: tables are not written as .csv; use .parquet or"),
        (["train", "bad.conll", "-o", "m"], "bad.conll:2: 2 columns, 10 expected"),
        (["train", "bad.conll", "-o", "none/m"], "none/m: cannot be written: there is no folder 'none'"),
        (["train", "a", "-o", "m", "--set", "training.epoch=3"], "training.epoch"),
        (["train", "a", "-o", "m", "--set", "training.epochs"], "section.key=value is expected after --set"),
        (["train", "a", "-o", "m", "--epochs", "0"], "training.epochs: 0"),
        (["train", "good.conll", "-o", "m", "--held-out", "1.5"], "treebank.held_out: 1.5"),
        (["train", "good.conll", "-o", "m", "--test", "none.conll"], "none.conll: no such file"),
        (["evaluate", "good.conll", "none.conll"], "none.conll: no such file"),
        (["inspect", "bad.conll"], "bad.conll"),
        (["serve", "none.nonproj", "--port=0"], "nonproj: none.nonproj: no such file"),
        (["parse", "klingon", "good.conll"], "nonproj: klingon: no such file, and no installed model has this name ("),
        *(
            ([*words.split(), "klingon"], "nonproj: klingon: no such file, and no installed model has this name (")
            for words in ("evaluate good.conll -m", "show good.conll -m", "inspect", "package", "serve --port=0")
        ),
    ],
)
def test_errors_are_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("good.conll").write_text(treebank(3), encoding="utf-8")
    Path("bad.conll").write_text("1\ta\t_\tA\tA\t_\t0\troot\t_\t_\n2\tb\n\n", encoding="utf-8")
    assert main(words) == 2
    output, error = capsys.readouterr()
    assert (output, error.startswith("nonproj: "), error.count("\n")) == ("", True, 1)
    assert message in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.conll", "good.conll"]


# -- parse -------------------------------------------------------------------------------------------------------------


def statistics() -> list[dict]:
    """The statistics that a parse has written."""
    return [json.loads(line, parse_constant=pytest.fail) for line in Path("s.jsonl").read_text().splitlines()]


def test_parse_changes_two_columns_only_and_reads_pipes_and_gzip(here, monkeypatch, capsysbinary):
    assert main(["parse", "-m", "toy.nonproj", "test.conll", "-o", "out.conll"]) == 0
    data, parsed = Path("test.conll").read_bytes(), Path("out.conll").read_bytes()
    assert columns(parsed.decode()) == columns(data.decode())
    assert main(["parse", "-m", "toy.nonproj", "out.conll", "-o", "out.conll"]) == 0
    assert Path("out.conll").read_bytes() == parsed  # the input's heads are not looked at
    Path("test.conll.gz").write_bytes(gzip.compress(data))
    assert main(["parse", "-m", "toy.nonproj", "test.conll.gz", "-o", "out.conll.gz"]) == 0
    assert gzip.decompress(Path("out.conll.gz").read_bytes()) == parsed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["parse", "-m", "toy.nonproj"]) == 0
    assert capsysbinary.readouterr().out == parsed


def test_statistics(here):
    arguments = ["parse", "-m", "toy.nonproj", "test.conll", "--stats", "s.jsonl", "-o", "out.conll"]
    assert main([*arguments, "--stats-comments"]) == 0
    facts, lines = statistics(), Path("test.conll").read_text(encoding="utf-8").splitlines()
    assert [(fact["sentence"], fact["path"]) for fact in facts] == [(n, "test.conll") for n in range(1, 16)]
    for fact in facts:
        assert lines[fact["line"] - 1].startswith("1\t")
        assert fact["gap"] == fact["bound"] - fact["score"] >= -1e-6
        assert fact["certified"] or not fact["agreed"]
    lines = Path("out.conll").read_text(encoding="utf-8").splitlines()
    certified = [line.partition(" certified = ")[2] for line in lines if line.startswith("# nonproj certified = ")]
    assert certified == [json.dumps(fact["certified"]) for fact in facts]
    assert main(["parse", "-m", "toy.nonproj", "test.conll", "-o", os.devnull, "--stats", os.devnull]) == 0


OBEYED = {
    "--single-root": lambda facts, trees: all((heads == 0).sum() == 1 for heads in trees),
    "--projective": lambda facts, trees: not any(nonprojective(heads).any() for heads in trees),
    "--no-projective": lambda facts, trees: any(nonprojective(heads).any() for heads in trees),
    "--max-iterations=1": lambda facts, trees: {fact["iterations"] for fact in facts if not fact["nodes"]} == {1},
    "--exact": lambda facts, trees: all(fact["certified"] for fact in facts),
}


@pytest.mark.parametrize("option", OBEYED)
def test_decoding_options(here, option):
    assert main(["parse", "-m", "toy.nonproj", "test.conll", "-o", "out.conll", option, "--stats", "s.jsonl"]) == 0
    facts, trees = statistics(), [sentence.heads for sentence in conll.read("out.conll")]
    assert len(facts) == len(trees) == 15
    assert OBEYED[option](facts, trees)


def test_branch_and_bound_certifies_what_the_subgradient_method_does_not(here, capsys):
    model = Model.load("toy.nonproj")
    table = model.weights["parser"]
    model.weights["parser"] = np.random.default_rng(0).integers(-99, 99, table.shape).astype(table.dtype)
    model.weights["pruner"] = np.zeros_like(model.weights["pruner"])  # as good as nothing is pruned
    model.components.pop("crossing", None)
    model.save("wild.nonproj")
    words = ["parse", "-m", "wild.nonproj", "test.conll", "-o", "out.conll", "--max-iterations=1", "--stats", "s.jsonl"]
    assert main([*words, "--no-exact"]) == 0
    plain = statistics()
    assert all(fact["nodes"] == 0 and fact["iterations"] == 1 for fact in plain)
    gaps = sum(not fact["certified"] for fact in plain)
    assert capsys.readouterr().err == f"{gaps} of {len(plain)} sentences without a certificate; use --exact\n"
    assert main([*words, "--search-limit", "1"]) == 0
    assert " sentences without a certificate; raise --search-limit\n" in capsys.readouterr().err
    assert main([*words, "--search-limit", "100000000"]) == 0
    assert capsys.readouterr().err == ""
    for fact, before in zip(statistics(), plain, strict=True):
        assert fact["certified"] and bool(fact["nodes"]) <= (not before["certified"])
        assert before["score"] - 1e-6 <= fact["score"] and fact["bound"] <= before["bound"] + 1e-6


@pytest.mark.parametrize(
    ("form", "beginning"), [("conllu", b"1\t"), pytest.param("jsonl", b'{"sentence": 0,', marks=pytest.mark.thorough)]
)
def test_pipes_are_answered_at_once_and_interrupted_without_a_traceback(here, form, beginning):
    words = ["parse", "-m", "toy.nonproj", "--stats", "s.jsonl", "--format", form]
    process = start(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(treebank(1).encode())
    process.stdin.flush()
    assert process.stdout.readline().startswith(beginning)
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=60)[1], process.returncode) == (b"nonproj: interrupted\n", 130)
    assert not [path for path in here.iterdir() if "s.jsonl" in path.name]


def test_closed_output_pipe(here):
    Path("long.conll").write_text(treebank(2000), encoding="utf-8")
    process = start("parse", "-m", "toy.nonproj", "long.conll", stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait(timeout=60)) == (b"", 141)


@pytest.mark.parametrize(
    "words", ["-m M test.conll -o a", "M test.conll -o a", "-o a M test.conll", "M -o a -v test.conll"]
)
def test_order_of_arguments_does_not_matter(words, here):
    options = parse_arguments(["parse", *words.replace("M", "toy.nonproj").split()])
    assert (options.model, options.input, options.output) == ("toy.nonproj", "test.conll", "a")


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_input(toy_folder, tmp_path, request):
    """Eight times as many batches, the same memory, if garbage is looked for as often as outside of tests."""
    request.addfinalizer(functools.partial(gc.set_threshold, *gc.get_threshold()))
    gc.set_threshold(700, 10, 10)
    source, out, stats, peaks = tmp_path / "many.conll", tmp_path / "out", tmp_path / "stats", []
    for copies in (1, 2, 2, 16, 16):  # the first run loads compiled code; peaks depend on when garbage is collected
        count = copies * BATCH
        source.write_text(copies * treebank(BATCH), encoding="utf-8")
        gc.collect()
        tracemalloc.start()
        assert main(["parse", str(toy_folder / "toy.nonproj"), *map(str, (source, "-o", out, "--stats", stats))]) == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert sum(1 for _ in conll.read(out)) == count == len(stats.read_text().splitlines())
    assert min(peaks[3:]) < max(peaks[1:3]) + 2e5


def test_progress_is_lines_where_standard_error_is_no_terminal(monkeypatch, capsys):
    seconds = itertools.count(0, 15)
    monkeypatch.setattr(common.time, "monotonic", lambda: next(seconds))
    shown = common.progress_bar(argparse.Namespace(quiet=0))
    assert list(shown(range(5), "parse")) == list(range(5))
    assert capsys.readouterr().err == "parse: 2 done after 0:30\nparse: 4 done after 1:00\n"
    assert list(common.progress_bar(argparse.Namespace(quiet=1))(range(5), "parse")) == list(range(5))
    assert capsys.readouterr().err == ""


# -- evaluate and inspect ----------------------------------------------------------------------------------------------


def as_json(capsys, *words: str) -> dict:
    """The output of a command as JSON."""
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_evaluate_a_file_or_a_model(here, capsys):
    main(["parse", "-m", "toy.nonproj", "test.conll", "-o", "out.conll"])
    of_file = as_json(capsys, "evaluate", "test.conll", "out.conll")
    of_model = as_json(capsys, "evaluate", "-m", "toy.nonproj", "test.conll")
    assert all(of_file[scope] == of_model[scope] for scope in ("without_punctuation", "with_punctuation"))
    assert of_file["certificates"] is None
    assert of_model["certificates"]["sentences"] == of_model["sentences"] == 15
    assert of_model["speed"]["words_per_second"] > 0
    assert of_model["without_punctuation"]["uas"] > 0.9  # a language that is easy to learn
    assert main(["evaluate", "test.conll", "out.conll"]) == 0
    text = capsys.readouterr().out
    assert "unlabelled attachment (UAS)" in text and "; words, sentences and tags as in the gold file; per cent" in text


def test_evaluate_compares_two_files(here, capsys):
    text = Path("test.conll").read_text(encoding="utf-8")
    Path("worse.conll").write_text(text.replace("\tnsubj\t", "\tother\t"), encoding="utf-8")
    result = as_json(capsys, "evaluate", "test.conll", "test.conll", "worse.conll")
    assert (result["first"], result["second"], result["sentences"]) == ("test.conll", "worse.conll", 15)
    assert result["uas"] == {"first": 1.0, "second": 1.0, "difference": 0.0, "p": 1.0}
    assert result["las"]["second"] < 1.0 == result["las"]["first"]
    assert result["las"]["difference"] == pytest.approx(1 - result["las"]["second"])
    assert 0 < result["las"]["p"] < 0.05
    assert main(["evaluate", "test.conll", "test.conll", "worse.conll"]) == 0
    shown = capsys.readouterr().out
    assert "A: test.conll: words, sentences and tags as in the gold file\n" in shown
    assert "15 sentences" in shown and "labelled attachment (LAS)" in shown and f"{result['las']['p']:.4f}" in shown
    Path("bare.conll").write_text(re.sub(r"\w+(\t_\t_)$", r"_\1", text, flags=re.MULTILINE), encoding="utf-8")
    assert as_json(capsys, "evaluate", "test.conll", "bare.conll", "test.conll")["las"] is None


def test_inspect(here, capsys):
    facts = as_json(capsys, "inspect", "toy.nonproj", "--verify")
    assert facts["verified"] is True
    assert facts["config"]["training"]["epochs"] == len(facts["training"]["log"]) == 3
    assert (facts["weights"]["parser"]["entries"], facts["labels"]) == (1 << 16, 7)
    assert 0 < facts["weights"]["parser"]["nonzero"] < 1
    assert main(["inspect", "toy.nonproj"]) == 0
    text = capsys.readouterr().out
    assert "toy.nonproj: a model of arc, sibling, grandparent" in text and "training.epochs" in text
    data = bytearray(Path("toy.nonproj").read_bytes())
    data[-100] ^= 1
    Path("damaged.nonproj").write_bytes(data)
    assert main(["inspect", "--verify", "damaged.nonproj"]) == 2
    assert "damaged.nonproj" in capsys.readouterr().err


# -- train -------------------------------------------------------------------------------------------------------------


def test_train_and_evaluate(here, capsys):
    words = ["train", "train.conll", "-o", "m.nonproj", *SMALL[:-1], "--parts=sibling", "--seed=7", "-v"]
    words.append("--set=training.tags=predicted")
    assert main([*words, "--test", "test.conll", "--held-out", "0.2"]) == 0
    output, error = capsys.readouterr()
    assert "unlabelled attachment (UAS)" in output and not Path("m.nonproj.checkpoint").exists()
    assert all(text in error for text in ("training on 48 sentences", "epoch 2: ", "held-out UAS"))
    facts = as_json(capsys, "inspect", "m.nonproj")
    assert (facts["config"]["parts"], facts["config"]["seed"]) == (["arc", "sibling"], 7)
    assert facts["training"]["sentences"] == 48
    figures = as_json(capsys, "evaluate", "-m", "m.nonproj", "train.conll")["without_punctuation"]
    assert figures["uas"] == pytest.approx(facts["training"]["log"][-1]["uas"], abs=0.1)  # the held-out ones are in it
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
    assert main(["train", "train.conll", "-o", "m.nonproj", "--parts", "arc", *SMALL[:-1]]) == 130
    error = capsys.readouterr().err
    assert "kept m.nonproj.checkpoint; continue with the same command and --resume" in error
    assert "interrupted" in error.splitlines()[-1] and "Traceback" not in error
    assert not Path("m.nonproj").exists() and Path("m.nonproj.checkpoint").exists()
