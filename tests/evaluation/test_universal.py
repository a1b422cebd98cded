"""The scores of the CoNLL 2018 shared task against its own program, and our output against the validator."""

import contextlib
import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from judged import analyses

from nonproj.cli.main import main
from nonproj.errors import DataError, DependencyError, install_command
from nonproj.evaluation.universal import METRICS, ud_scores

pytest.importorskip("udtools")

ROOT = Path(__file__).resolve().parents[2]
FILES = ("greek/el_gdt-ud-test.conllu", "english-ewt/en_ewt-ud-test.conllu")


def official(*words) -> str:
    """The output of the shared task's own program."""
    from udtools.cli import main_eval

    with (
        contextlib.redirect_stdout(io.StringIO()) as output,
        mock.patch("sys.argv", ["eval", "--verbose", *map(str, words)]),
    ):
        main_eval()
    return output.getvalue()


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path, Path]:
    """A gold file and two outputs, with other sentences, tokens, tags, lemmas, heads and labels."""
    folder = tmp_path_factory.mktemp("ud")
    paths = tuple(folder / name for name in ("gold.conllu", "one.conllu", "two.conllu"))
    for path, text in zip(paths, analyses(0, 2000), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_the_table_is_that_of_the_official_program(files, capsys):
    gold, system, _ = files
    expected = official(gold, system).splitlines()
    assert main(["evaluate", "--ud", str(gold), str(system)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [line for line in expected if not line.startswith(("ELAS", "EULAS"))]
    figures = {line.split()[0]: float(line.split("|")[3]) for line in lines[2:]}
    assert tuple(figures) == METRICS
    assert all(0.0 < figure < 100.0 for figure in figures.values()), "each metric is put to the test"


def test_counts_are_those_of_the_official_program(files):
    gold, system, _ = files
    rows = [line.replace("|", " ").split() for line in official("--counts", gold, system).splitlines()[2:]]
    scores = ud_scores(gold, system)
    for name, *counts in rows:
        if name in scores:
            found = [scores[name][key] for key in ("correct", "gold", "system", "aligned")]
            assert [str(count) for count in found if count is not None] == counts[: 3 + (found[3] is not None)]


@pytest.mark.thorough
def test_two_files_side_by_side_and_as_json(files, capsys):
    gold, first, second = map(str, files)
    assert main(["evaluate", "--ud", gold, first, second]) == 0
    lines = capsys.readouterr().out.splitlines()
    scores = [ud_scores(gold, path) for path in (first, second)]
    rows = {words[0]: words[1:] for words in map(str.split, lines[5:])}
    assert lines[:2] == [f"A: {first}", f"B: {second}"] and tuple(rows) == METRICS
    for name, cells in rows.items():
        f1 = [100 * score[name]["f1"] for score in scores]
        assert cells == [f"{f1[0]:.2f}", f"{f1[1]:.2f}", f"{f1[0] - f1[1]:+.2f}"]
    assert main(["evaluate", "--ud", gold, first, second, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = {"first": {"file": first, "scores": scores[0]}, "second": {"file": second, "scores": scores[1]}}
    assert told == {"gold": gold} | expected
    assert main(["evaluate", "--ud", gold, first, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"gold": gold, "system": expected["first"]}


def test_compressed_files_and_long_chains(files, tmp_path):
    gold, system, _ = files
    packed = tmp_path / "gold.conllu.gz"
    packed.write_bytes(gzip.compress(gold.read_bytes()))
    assert ud_scores(packed, system) == ud_scores(gold, system)
    chain = "".join(f"{i}\tw\t_\t_\t_\t_\t{i - 1}\tdep\t_\t_\n" for i in range(1, 5001)) + "\n"
    limit = sys.getrecursionlimit()
    assert ud_scores(io.StringIO(chain), io.StringIO(chain))["UAS"]["f1"] == 1.0
    assert sys.getrecursionlimit() == limit


ROW = "{}\t{}\t_\t_\t_\t_\t{}\tdep\t_\t_\n"
GOOD = "# text = ab c\n" + ROW.format(1, "ab", 0) + ROW.format(2, "c", 1) + "\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (ROW.format(1, "ab", 2) + ROW.format(2, "c", 1) + "\n", 3, "cycle in the sentence that ends here"),
        (ROW.format(1, "ab", 0) + ROW.format(2, "c", 0) + "\n", 3, "multiple roots in the sentence that ends here"),
        (ROW.format(1, "ab", 0) + ROW.format(2, "c", 7) + "\n", 3, "HEAD '7' points outside of the sentence"),
        (ROW.format(1, "ab", 0) + ROW.format(2, "c", "x") + "\n", 2, "udtools rejects the file: cannot parse HEAD 'x'"),
        (GOOD + "1\tab\n\n", 5, "does not contain 10 tab-separated columns: '1\\tab'"),
        (GOOD + GOOD[:-1], 7, "does not end with empty line"),
        ("1-2\tabc" + "\t_" * 8 + "\n" + GOOD[14:].replace("\t1\tdep", "\t_\tdep"), 4, "cannot read the sentence"),
        (GOOD.replace("ab\t", "aB\t"), 2, "the text continues with 'Bc', but with 'bc' in {gold}:2"),
        (GOOD + GOOD, 6, "the text continues with 'abc', but ends in {gold}:3"),
        (ROW.format(1, "ab", 0) + "\n", 1, "the text ends here, but continues with 'c' in {gold}:3"),
        ("", 1, "the text ends here, but continues with 'abc' in {gold}:2"),
    ],
)
def test_what_the_official_code_rejects_is_an_error_of_one_line(text, line, message, tmp_path, capsys):
    gold, system = tmp_path / "gold.conllu", tmp_path / "system.conllu"
    gold.write_text(GOOD)
    system.write_text(text)
    assert main(["evaluate", "--ud", str(gold), str(system)]) == 2
    output, error = capsys.readouterr()
    assert output == "" and error.count("\n") == 1
    assert error.startswith(f"nonproj: {system}:{line}: ")
    assert message.format(gold=gold) in error


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "a").write_bytes(GOOD.encode() + b"1\t\xff\n")
    with pytest.raises(DataError, match=r"a:5: byte 0xff is not UTF-8"):
        ud_scores(tmp_path / "a", tmp_path / "a")


def test_without_the_package_one_line_says_how_to_install_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "udtools.udeval", None)
    with pytest.raises(DependencyError):
        ud_scores("a", "b")
    assert main(["evaluate", "--ud", "a", "b"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.endswith(f"run: {install_command('ud')}\n")


def test_nothing_of_the_package_is_imported_otherwise(tmp_path):
    (tmp_path / "a.conllu").write_text(GOOD)
    code = (
        "import sys; from nonproj.cli.main import main; main(['evaluate', 'a.conllu', 'a.conllu']); "
        "import nonproj.evaluation.universal; sys.exit(bool({'udtools', 'udapi'} & set(sys.modules)))"
    )
    options = {"cwd": tmp_path, "env": {"PYTHONPATH": str(ROOT)}, "capture_output": True, "check": False}
    result = subprocess.run([sys.executable, "-c", code], **options)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("words", [["-m", "m", "gold"], ["gold", "a", "--max-line", "9"]])
def test_options_that_do_not_go_together(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "--ud", *words])
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("nonproj evaluate: --ud ")


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_parsed_files_pass_the_validator(name, treebanks, tmp_path):
    """Level 2 of the validator, on trees without enhanced dependencies, which are not the parser's.

    The gold files pass; so errors would be in the written output: format, comments, tokens, text, HEAD and DEPREL.
    """
    from udtools import Validator

    gold, model, out = tmp_path / "gold.conllu", tmp_path / "m.nonproj", tmp_path / "out.conllu"
    text = "\n\n".join((treebanks / name).read_text(encoding="utf-8").split("\n\n")[:60]) + "\n\n"
    text = re.sub(r"^\d+\.\d+\t.*\n", "", text, flags=re.MULTILINE)
    gold.write_text(re.sub(r"^((?:[^\t\n]*\t){8})[^\t\n]*", r"\1_", text, flags=re.MULTILINE), encoding="utf-8")
    config = ["--config", str(ROOT / "configs" / "smoke.yaml"), "--parts", "arc", "--epochs", "1", "-qq"]
    assert main(["train", str(gold), *config, "-o", str(model)]) == 0
    assert main(["parse", str(model), str(gold), "-o", str(out), "-qq"]) == 0
    state = Validator(lang="ud", level=2, output=None).validate_files([str(out)])
    assert not [str(incident) for incident in state.error_tracker if incident.is_error()]
    assert out.read_bytes() != gold.read_bytes()
