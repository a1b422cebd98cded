"""Jobs that continue after a killed run: ``parse --resume``."""

import gzip
import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest
from command import start, wait_until
from instances import places
from pieces import interrupted
from toy import treebank

from nonproj.cli.main import main
from nonproj.errors import FileError
from nonproj.io import temporary
from nonproj.model.model import Model
from nonproj.workers import parsing, partial
from nonproj.workers.partial import JobLog, Record

FACTS = {"model": "3f", "input": "a0", "options": {"--nbest": 1}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, toy_folder) -> Path:
    """A folder with a model and some files, one of them long."""
    folder = shutil.copytree(toy_folder, tmp_path_factory.mktemp("resume"), dirs_exist_ok=True)
    (folder / "long.conll").write_text(treebank(3000, seed=2), encoding="utf-8")
    return folder


# -- the same bytes ----------------------------------------------------------------------------------------------------

VARIANTS = {
    "treebank": ["in.conll"],
    "text": ["in.txt", "--text", "--token-ranges"],
    "lines": ["in.txt", "--lines"],
    "several trees": ["in.conll", "--nbest", "3"],
    "skip": ["bad.conll", "--on-error", "skip"],
    "skipped text": ["bad.txt", "--text", "--on-error", "skip"],
    "two processes": ["in.conll", "--stats-comments"],
    "compressed": ["in.conll.gz"],
}


def write_inputs() -> None:
    """Files with and without broken lines."""
    Path("in.conll.gz").write_bytes(gzip.compress(treebank(90, seed=1).encode()))
    text = "\n".join(f"Den hund ser kat {n}. Mand jager den hus." for n in range(40))
    Path("in.txt").write_text(text.replace("7.", "7.\n\n"), encoding="utf-8")
    Path("bad.txt").write_bytes(text.replace("1.", "bl\u00e5").encode("latin-1"))
    blocks = treebank(60, seed=4).split("\n\n")
    blocks[40] = "1\tto\tfew"
    blocks[7] = blocks[7].replace("hus", "h\u00e5s")
    Path("bad.conll").write_bytes("\n\n".join(blocks).encode("latin-1", "replace"))


QUICK = ("text", "skip", "two processes", "compressed")
ALL = [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in VARIANTS]


@pytest.mark.parametrize("name", ALL)
def test_a_resumed_job_writes_what_a_calm_one_writes(here, monkeypatch, name, capsys):
    write_inputs()
    words, jobs = ["parse", "toy.nonproj", *VARIANTS[name]], ["--jobs", "2"] if name == "two processes" else []
    calm, out = (Path(each + ".gz" if name == "compressed" else each) for each in ("calm", "out"))
    code = main([*words, "-o", str(calm), "--stats", "calm.stats"])
    report = capsys.readouterr().err
    command = [*words, "-o", str(out), "--stats", "stats", "--resume", *jobs]
    done = [interrupted(monkeypatch, after, *command) for after in (1, 0, 2)]
    assert done == [1, 0, 2]
    assert not [path for path in here.iterdir() if path.name.startswith(".") or path.name == out.name]
    capsys.readouterr()
    assert main(command) == code
    assert out.read_bytes() == calm.read_bytes()
    assert Path("stats").read_bytes() == Path("calm.stats").read_bytes()
    assert not Path(f"{out}.partial").exists() and capsys.readouterr().err == report


def test_what_is_done_is_not_done_again(here, monkeypatch):
    command = ["parse", "toy.nonproj", "in.conll", "-o", "out", "--resume"]
    assert interrupted(monkeypatch, 3, *command) == 3
    parsed, parse = [], parsing.parse_piece
    monkeypatch.setattr("nonproj.workers.parsing.parse_piece", lambda *task: parsed.append(task) or parse(*task))
    tasks = list(parsing.tasks_of("in.conll", parsing.TextOptions(on_error="skip")))
    assert main(command) == 0
    assert len(parsed) == len(tasks) - 3 > 0


@pytest.mark.thorough
def test_killed_jobs_are_resumed(folder, tmp_path):
    """Killed at random moments; the next run need not have as many processes."""
    chance, kept = random.Random(1), tmp_path / "out.partial"
    words = ["parse", str(folder / "toy.nonproj"), str(folder / "long.conll"), "--stats-comments"]
    places = [["-o", str(place / "out"), "--stats", str(place / "stats")] for place in (folder, tmp_path)]
    assert main([*words, *places[0]]) == 0
    for jobs in ("1", "2"):
        size = 0
        for _ in range(3):
            process = start(*words, *places[1], "--resume", "--jobs", jobs)
            more = chance.uniform(1.0, 30_000)
            wait_until(lambda size=size, more=more: kept.exists() and kept.stat().st_size > size + more, process)
            process.kill()
            process.communicate()
            assert not (tmp_path / "out").exists()
            assert kept.stat().st_size > size
            size = kept.stat().st_size
        assert main([*words, *places[1], "--resume", "--jobs", "3" if jobs == "1" else "1"]) == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "stats"]
        for name in ("out", "stats"):
            assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
            (tmp_path / name).unlink()


def test_a_signal_keeps_what_is_done(folder, tmp_path):
    words = ["parse", str(folder / "toy.nonproj"), str(folder / "long.conll"), "-o", str(tmp_path / "out"), "--resume"]
    kept = tmp_path / "out.partial"
    process = start(*words)
    wait_until(lambda: kept.exists() and kept.stat().st_size > 10_000, process)
    process.send_signal(signal.SIGTERM)
    assert process.communicate()[1] == b"nonproj: terminated\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.partial"]
    with open(kept, "rb") as stream:
        assert json.loads(stream.readline())["format"] == "nonproj partial output 1"


def test_cleaning_leaves_partial_output_alone(tmp_path):
    """The next run in a folder removes temporary files of killed runs; this file has a different name."""
    with JobLog(tmp_path / "out.partial", FACTS) as kept:
        kept.append(Record("1", b"one", b"", {}))
    stale = tmp_path / f"{temporary._OF_THIS_MACHINE}{'0' * 16}"
    stale.touch()
    with temporary.replacing(tmp_path / "out"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.partial"]


def test_a_job_that_stopped_at_an_error_is_resumed_without_it(here, capsys):
    write_inputs()
    assert main(["parse", "toy.nonproj", "bad.conll", "-o", "calm", "--on-error", "skip"]) == 1
    command = ["parse", "toy.nonproj", "bad.conll", "-o", "out", "--resume"]
    assert main(command) == 2
    assert not Path("out").exists()
    assert Path("out.partial").stat().st_size > 0
    assert main([*command, "--on-error", "skip"]) == 1
    assert Path("out").read_bytes() == Path("calm").read_bytes()


# -- refusals ----------------------------------------------------------------------------------------------------------


CHANGES = [
    (["toy.nonproj", "changing.conll"], "the input has changed since"),
    (["other.nonproj", "in.conll"], "the model has changed since this job was started"),
    (["toy.nonproj", "in.conll", "--nbest", "2"], "decoding.nbest was 1 when"),
    (["toy.nonproj", "in.conll", "--tag"], "--tag was missing when this job was started, and is now all"),
    (["toy.nonproj", "in.conll", "--deps", "keep"], "--deps was drop when"),
    (["toy.nonproj", "in.conll", "--stats", "s"], "--stats was False when"),
]


@pytest.mark.parametrize(("words", "message"), CHANGES)
def test_a_job_of_something_else_is_refused_by_name(here, monkeypatch, words, message, capsys):
    assert interrupted(monkeypatch, 2, "parse", "toy.nonproj", "in.conll", "-o", "out", "--resume") == 2
    before = Path("out.partial").read_bytes()
    Path("changing.conll").write_text(treebank(89, seed=1))
    other = Model.load("toy.nonproj", mmap=False)
    other.weights["parser"][7] += 1
    other.save("other.nonproj")
    assert main(["parse", *words, "-o", "out", "--resume"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"nonproj: out.partial: {message}") and error.count("\n") == 1
    assert Path("out.partial").read_bytes() == before and not Path("out").exists()


def test_an_input_that_changes_meanwhile_is_noticed(here, monkeypatch, capsys):
    Path("moving.conll").write_text(treebank(60), encoding="utf-8")
    append = JobLog.append
    monkeypatch.setattr(JobLog, "append", lambda *args: append(*args) or os.utime("moving.conll", (1, 1)))
    assert main(["parse", "toy.nonproj", "moving.conll", "-o", "out", "--resume"]) == 2
    assert "moving.conll: has changed during the run" in capsys.readouterr().err
    assert not Path("out").exists()


NOT_RESUMED = [
    (["in.conll"], "--resume: needs a file to write: -o OUT"),
    (["in.conll", "-o", "/dev/null"], "--resume: needs a file to write: -o OUT"),
    (["-", "-o", "out"], "--resume: needs a file to parse: a pipe cannot be read again"),
    (["in.conll", "-o", "in.conll"], "in.conll: output is the same file as the input"),
    (["out.partial", "-o", "out"], "out.partial: --resume is the same file as the input"),
]


@pytest.mark.parametrize(("words", "message"), NOT_RESUMED)
def test_what_cannot_be_resumed_is_refused(here, capsys, words, message):
    Path("out.partial").write_text(treebank(2), encoding="utf-8")
    assert main(["parse", "toy.nonproj", *words, "--resume"]) == 2
    assert capsys.readouterr().err == f"nonproj: {message}\n"
    assert Path("out.partial").read_text(encoding="utf-8") == treebank(2)


# -- the file ----------------------------------------------------------------------------------------------------------


def records(path: Path) -> list[Record]:
    """Contents of a file."""
    with JobLog(path, FACTS) as kept:
        return list(kept.records())


RECORDS = [Record(str(n), b"text\n" * n, b"{}" * n, {"sentences": n}) for n in range(3)]


@pytest.fixture
def written(tmp_path) -> tuple[Path, bytes, list[int]]:
    """A file of three records, its contents, and its size before and after each of them."""
    with JobLog(tmp_path / "out.partial", FACTS) as kept:
        sizes = [(tmp_path / "out.partial").stat().st_size]
        for record in RECORDS:
            kept.append(record)
            sizes.append((tmp_path / "out.partial").stat().st_size)
    return tmp_path / "out.partial", (tmp_path / "out.partial").read_bytes(), sizes


def test_whatever_is_left_of_the_last_record_is_cut_off(written):
    """A process or a machine may die at any byte; the job can then be continued."""
    path, data, sizes = written
    for cut in places(len(data)):
        path.write_bytes(data[:cut])
        whole = sum(size <= cut for size in sizes[1:])
        assert records(path) == RECORDS[:whole]
        with JobLog(path, FACTS) as kept:
            kept.append(RECORDS[2])
        assert records(path) == [*RECORDS[:whole], RECORDS[2]]


def test_damage_is_noticed(written):
    """A changed byte ends the usable part of a record, like zeros after a power failure."""
    path, data, sizes = written
    for place in (sizes[0] + number for number in places(len(data) - sizes[0])):
        damaged = bytearray(data)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        assert records(path) == RECORDS[: sum(size <= place for size in sizes[1:])]


OTHER_FILES = [b"x", b"\x7fELF\n", b"{}\n", b"[" * 100_000 + b"\n", b"1\tRegn\t_\n"]
OTHER_FILES += [b'{"format": "nonproj partial output 1"\n']


@pytest.mark.parametrize("data", OTHER_FILES)
def test_another_file_is_refused_and_left(tmp_path, data):
    path = tmp_path / "out.partial"
    path.write_bytes(data)
    with pytest.raises(FileError, match="was not written by 'nonproj parse --resume'; remove it"), JobLog(path, FACTS):
        pass
    assert path.read_bytes() == data


def test_a_file_of_somebody_else_or_in_use_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "out.partial"

    def refuse(message: str) -> None:
        with pytest.raises(FileError, match=message), JobLog(path, FACTS):
            pass

    with JobLog(path, FACTS):
        refuse("another run is writing it")
    with monkeypatch.context() as patch:
        patch.setattr(partial, "__version__", "0.0.0")
        refuse("the version of nonproj has changed")
    path.chmod(0o666)
    refuse("must belong to you and be writable by nobody else")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    refuse("is a link, which is followed only if you name it")
    assert not (tmp_path / "elsewhere").exists()
    path.unlink()
    os.mkfifo(path)
    refuse("is neither a file nor a folder; remove it")
