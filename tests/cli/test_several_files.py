"""``nonproj parse MODEL FILES... -o FOLDER``."""

import gzip
import os
import re
from pathlib import Path

import pytest
from pieces import interrupted, work_in
from toy import treebank

from nonproj.cli import main as program
from nonproj.cli.main import main
from nonproj.cli.model_names import are_inputs
from nonproj.workers import parsing
from nonproj.workers.processes import Processes


@pytest.fixture
def here(toy_folder, tmp_path, monkeypatch) -> Path:
    """A folder to work in, with files of several kinds in folders; they are cut into small pieces."""
    monkeypatch.setattr(parsing, "TEXT_PIECE", 100)
    work_in(tmp_path, toy_folder, monkeypatch)
    text = "\n".join(f"Den hund ser kat {n}. Mand jager den hus." for n in range(9))
    for number, name in enumerate(("a.conll", "b/a.conllu", "b/c.conllu", "b/.hidden.conllu")):
        path = Path("data", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(treebank(5 * number + 5, seed=number), encoding="utf-8")
    Path("data/b/d.conllu.gz").write_bytes(gzip.compress(treebank(4, seed=9).encode()))
    for name in ("data/one.txt", "data/b/two.txt", "data/b/notes.md"):
        Path(name).write_text(f"{name}.\n\n{text}\n", encoding="utf-8")
    Path("data/b/empty.txt").touch()
    return tmp_path


TREEBANKS = ["a.conll", "b/a.conllu", "b/c.conllu", "b/d.conllu.gz"]
"""The treebanks in the folder of data."""


def written(folder: str = "out") -> list[str]:
    """The files in a folder and the folders in it."""
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


def alone(source: str, *words: str) -> bytes:
    """The output of a run for a single file."""
    assert main(["parse", "toy.nonproj", source, "-o", f"single{Path(source).suffix}", "-q", *words]) == 0
    return Path(f"single{Path(source).suffix}").read_bytes()


@pytest.mark.parametrize("jobs", [[], ["--jobs", "2"]])
def test_a_folder_is_parsed_like_its_files(here, capsys, jobs):
    assert main(["parse", "toy.nonproj", "data", "-o", "out", *jobs, "--stats", "stats"]) == 0
    assert written() == TREEBANKS
    for name in TREEBANKS:
        assert Path("out", name).read_bytes() == alone(f"data/{name}")
    words = sum(treebank(count, seed).count("\t_\t_\n") for count, seed in ((5, 0), (10, 1), (15, 2), (4, 9)))
    assert capsys.readouterr().err == f"4 files in out: 34 sentences, {words} words\n"
    assert Path("stats").read_text().count('"sentence": 1,') == 4


@pytest.mark.parametrize("more", [["-q"], ["-q", "--jobs", "2"], ["-q", "--resume"]])
def test_documents_of_a_folder_can_be_joined(here, more):
    """Each is named like its file, and so are its sentences, whose text is that of the file alone."""
    Path("data/b/o ne.txt").write_text("Det regner.", encoding="utf-8")
    assert main(["parse", "toy.nonproj", "data", "-o", "out", "--text", *more]) == 0
    texts = {name: Path("out", f"{name}.conllu").read_text(encoding="utf-8") for name in ("one", "b/two", "b/o ne")}
    for name, document in zip(texts, ("one", "b%2Ftwo", "b%2Fo%20ne"), strict=True):
        single = alone(f"data/{name}.txt", "--text").decode()
        assert texts[name].startswith(f"# newdoc id = {document}\n# newpar\n# sent_id = {document}-1\n# text = ")
        bare = texts[name].replace(f"# sent_id = {document}-", "# sent_id = ")
        assert bare.replace(f"# newdoc id = {document}\n", "# newdoc\n") == single
    found = re.findall("# sent_id = (.*)", "".join(texts.values()))
    assert len(set(found)) == len(found) > 20


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["data", "--text"], ["b/empty.conllu", "b/two.conllu", "one.conllu"]),
        (["data", "data/one.txt", "--text"], ["b/empty.conllu", "b/two.conllu", "one.conllu"]),
        (["data/b/notes.md", "data/one.txt", "--text"], ["notes.md.conllu", "one.conllu"]),
        (["data/a.conll", "data/b/a.conllu"], ["a.conll", "a.conllu"]),
        (["data/b", "--format", "jsonl"], ["a.jsonl", "c.jsonl", "d.jsonl.gz"]),
        (["data/a.conll", "data/b/a.conllu", "--format", "jsonl"], ["a.jsonl", "b/a.jsonl"]),
    ],
)
def test_outputs_are_named_like_inputs(here, words, expected):
    assert main(["parse", "toy.nonproj", *words, "-o", "out/", "-q"]) == 0
    assert written() == expected


def test_outputs_in_a_folder_of_inputs_are_not_parsed_again(here):
    for _ in range(2):
        assert main(["parse", "toy.nonproj", "data", "-o", "data/out", "-q"]) == 0
        assert written("data/out") == TREEBANKS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("data/a.conll - -o out", "-: standard input cannot be one of several files"),
        ("data -o out.parquet", "--output: the files of data need a folder to write to, not the file out.parq"),
        ("data", "--output: the files of data need a folder to write to: -o FOLDER"),
        ("empty -o out", "empty: no file in this folder ends in .conllu or .conll or "),
        ("data -o data", "data/a.conll: output of data/a.conll is the same file as the input data/a.conll"),
        ("data/a.conll data/a.conllu -o out --format jsonl", "out/a.jsonl: output of data/a.conllu is"),
        ("data/a.conll none.conll -o out", "none.conll: no such file"),
        ("data/a.conll /dev/null -o out", "/dev/null: not a file, which several inputs must be"),
    ],
)
def test_mistakes_are_found_before_work_begins(here, capsys, words, message, monkeypatch):
    monkeypatch.setattr(parsing, "parse_piece", None)
    Path("empty").mkdir()
    Path("data/a.conllu").write_text(treebank(1))
    for more in ([], ["--resume"]):
        assert main(["parse", "-m", "toy.nonproj", *words.split(), *more]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"nonproj: {message}") and error.count("\n") == 1
    assert not Path("out").exists() or not written()


def test_a_malformed_file_leaves_those_before_it(here, capsys):
    Path("data/b/broken.conllu").write_text("1\ta\n")
    message = "nonproj: data/b/broken.conllu:1: 2 columns, 10 expected; --on-error skip leaves it out and goes on\n"
    for more in ([], ["--jobs", "2"], ["--resume"]):
        assert main(["parse", "toy.nonproj", "data", "-o", "out", *more]) == 2
        assert capsys.readouterr().err == message
        assert [name for name in written() if name != "parse.partial"] == ["a.conll", "b/a.conllu"]
    assert main(["parse", "toy.nonproj", "data", "-o", "other", "--on-error", "skip", "-q"]) == 1
    assert written("other") == sorted([*TREEBANKS, "b/broken.conllu"])


def test_one_line_for_each_file(here, capsys):
    assert main(["parse", "toy.nonproj", "data/a.conll", "data/b/c.conllu", "-o", "out", "-v"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines[:2]] == ["out/a.conll: 5 sentences", "out/c.conllu: 15 sentences"]
    assert main(["parse", "toy.nonproj", "data/a.conll", "-o", "out", "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_workers_are_started_once(here, monkeypatch):
    begun, begin = [], Processes._begin
    monkeypatch.setattr(Processes, "_begin", lambda self: begun.append(self) or begin(self))
    assert main(["parse", "toy.nonproj", "data", "-o", "out", "--jobs", "2", "-q"]) == 0
    assert len(begun) == 1


# -- resuming ----------------------------------------------------------------------------------------------------------


def parsed_by(monkeypatch, *words: str) -> list[str]:
    """Run a command, and return the files whose pieces it parses."""
    paths, parse = [], parsing.parse_piece
    with monkeypatch.context() as patch:
        patch.setattr(parsing, "parse_piece", lambda *task: paths.append(task[2].path) or parse(*task))
        assert main(list(words)) == 0
    return paths


@pytest.mark.parametrize("jobs", [[], pytest.param(["--jobs", "2"], marks=pytest.mark.thorough)])
@pytest.mark.parametrize("words", [["data"], ["data", "--text", "--format", "jsonl"]])
def test_a_killed_job_goes_on_after_any_record(here, monkeypatch, words, jobs):
    words = ["parse", "toy.nonproj", *words, "-q", "--stats", "stats", "-o"]
    assert main([*words, "calm"]) == 0
    expected = {name: Path("calm", name).read_bytes() for name in written("calm")}
    expected |= {"stats": Path("stats").read_bytes()}
    command = [*words, "out", "--resume"]
    for after in (2, 1, 0, 3, 1):
        assert interrupted(monkeypatch, after, *command, *jobs) == after
        assert "parse.partial" in written() and not any(name.startswith(".nonproj") for name in written())
    assert main([*command, *jobs]) == 0
    found = {name: Path("out", name).read_bytes() for name in written()}
    assert found | {"stats": Path("stats").read_bytes()} == expected


def test_complete_files_are_skipped_and_changed_ones_parsed_again(here, monkeypatch):
    command = ["parse", "toy.nonproj", "data", "-o", "out", "-q", "--resume"]
    Path("data/b/e.conllu").write_text("1\ta\n")
    assert main(command) == 2
    before = {name: os.stat(Path("out", name)).st_mtime_ns for name in written()}
    assert sorted(before) == [*TREEBANKS, "parse.partial"]
    Path("out/b/c.conllu").unlink()
    for name in ("data/a.conll", "data/b/e.conllu", "data/b/new.conllu"):
        Path(name).write_text(treebank(3, seed=30), encoding="utf-8")
    parsed = set(parsed_by(monkeypatch, *command))
    assert parsed == {"data/a.conll", "data/b/c.conllu", "data/b/e.conllu", "data/b/new.conllu"}
    assert before["b/a.conllu"] == os.stat("out/b/a.conllu").st_mtime_ns
    assert Path("out/a.conll").read_bytes() == alone("data/a.conll")
    assert written() == sorted([*TREEBANKS, "b/e.conllu", "b/new.conllu"])


# -- the model among the files -----------------------------------------------------------------------------------------


def test_whether_the_first_argument_is_a_model(here, capsys):
    for words, expected in (
        (["data/a.conll", "data/b/a.conllu"], True),
        (["data/a.conll", "toy.nonproj"], False),  # swapped
        (["missing", "data/a.conll"], False),
        (["data"], True),
    ):
        assert are_inputs(words) == expected
        options = program.parse_arguments(["parse", *words, "-o", "out"])
        assert (options.model is None) == expected
    with pytest.raises(SystemExit, match="2"):
        program.parse_arguments(["parse", "data/a.conll", "data/b/a.conllu"])
    message = "several files need a folder to write to: -o FOLDER; data/a.conll is not a model"
    assert message in capsys.readouterr().err
