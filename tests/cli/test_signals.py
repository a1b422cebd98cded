"""Signals: the exit of the command line, the files it leaves, and the delay."""

import contextlib
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command import ENDS, ROOT, SMALL, heed, processor_seconds, start, wait_for_work, wait_until
from toy import treebank

from nonproj.cli.main import main
from nonproj.cli.signals import Signals, Terminated, heeding
from nonproj.io.files import open_binary
from nonproj.io.temporary import remove_temporaries
from nonproj.model.model import Model


@pytest.fixture(scope="module")
def folder(tmp_path_factory, toy_folder) -> Path:
    """A folder with a treebank, a model trained on it, and a sentence that takes long."""
    folder = shutil.copytree(toy_folder, tmp_path_factory.mktemp("signals"), dirs_exist_ok=True)
    words = [line.split("\t") for line in treebank(2000).splitlines() if line][:3000]
    lines = ["\t".join([str(i), *word[1:6], str(i - 1), *word[7:]]) for i, word in enumerate(words, 1)]
    (folder / "one-sentence.conll").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    (folder / "long.conll").write_text(treebank(500) * 40, encoding="utf-8")
    return folder


def temporary_files(folder: Path) -> list[Path]:
    """The files whose names begin with a dot."""
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def send(process: subprocess.Popen, *numbers: int, gap: float = 0.0) -> tuple[bytes, float]:
    """Send signals, each ``gap`` seconds of its work after the one before.

    Return what the process still writes to standard error, and the processor time that it uses after the last signal.
    """
    for number in numbers:
        before, ended = processor_seconds(process.pid), children_seconds()
        process.send_signal(number)
        wait_for_work(process, gap)
    _, error = process.communicate(timeout=60)
    return error, children_seconds() - ended - before


def children_seconds() -> float:
    """Return the processor time that this process's children used that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(
    ("number", "code", "message"), [ENDS[0], *(pytest.param(*each, marks=pytest.mark.thorough) for each in ENDS[1:])]
)
@pytest.mark.parametrize("source", ["one-sentence.conll", pytest.param("long.conll", marks=pytest.mark.thorough)])
def test_a_signal_ends_parsing_at_once_and_leaves_nothing(folder, tmp_path, source, number, code, message):
    """Even if a kernel takes many seconds; the promise is one second, of which the process may work all."""
    words = [str(folder / "toy.nonproj"), str(folder / source), "-o", str(tmp_path / "out"), "--stats"]
    process = start("parse", *words, str(tmp_path / "stats"), "--no-exact", "--max-iterations", "100000000")
    wait_until(lambda: len(temporary_files(tmp_path)) == 2, process)
    wait_for_work(process, 1.0)
    error, seconds = send(process, number)
    assert (process.returncode, error, list(tmp_path.iterdir())) == (code, message, [])
    assert seconds < 1.5


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("gap", [0.0, *(pytest.param(gap, marks=pytest.mark.thorough) for gap in (0.02, 0.1, 0.5))])
def test_two_signals_end_training_without_a_traceback(folder, tmp_path, gap, number):
    words = ["train", str(folder / "train.conll"), "-o", str(tmp_path / "a.nonproj"), *SMALL]
    process = start(*words, "--epochs", "100000")
    path = tmp_path / "a.nonproj.checkpoint"
    wait_until(lambda: path.exists() and Model.load(path).meta["log"], process)
    error, _ = send(process, number, number, gap=gap)
    assert process.returncode in (128 + number, -number)  # the latter after the command
    assert b"Traceback" not in error and not temporary_files(tmp_path) and Model.load(path).meta["log"]


def test_an_ending_process_makes_no_more_temporary_files(tmp_path):
    """Its other threads may be about to make one, or to rename a complete one."""
    if not (pid := os.fork()):
        complete = contextlib.ExitStack()
        complete.enter_context(open_binary(tmp_path / "a"))
        remove_temporaries()
        works = (complete.close, lambda: open_binary(tmp_path / "b").__enter__())
        threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
            thread.join(0.2)
        os._exit(not all(thread.is_alive() for thread in threads))
    assert os.waitpid(pid, 0)[1] == 0 and not list(tmp_path.iterdir())


def test_an_interrupt_after_the_command_prints_no_traceback(folder):
    program = "import atexit, os, sys; from nonproj.cli.main import main; atexit.register(os.kill, os.getpid(), 2)"
    command = [sys.executable, "-c", f"{program}; sys.exit(main())", "inspect", str(folder / "toy.nonproj"), "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, env=environment, capture_output=True, preexec_fn=heed, check=False)
    assert (result.returncode, result.stderr) == (-signal.SIGINT, b"")
    assert result.stdout.endswith(b"}\n")


@pytest.mark.thorough
def test_ignored_signals_stay_ignored(folder, tmp_path):
    """As under nohup."""
    words = [str(folder / "toy.nonproj"), str(folder / "train.conll"), "-o", str(tmp_path / "out")]
    process = start("parse", *words, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    for _ in range(20):
        process.send_signal(signal.SIGHUP)
        wait_for_work(process, 0.02)
    assert process.wait(timeout=60) == 0 and (tmp_path / "out").exists()


def test_handlers_are_restored():
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before, threads = [signal.getsignal(number) for number in numbers], threading.active_count()
    with pytest.raises(Terminated), Signals(patient=False, last=False):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in heeding(itertools.repeat(None)):
            pass
    assert list(heeding(range(3))) == [0, 1, 2]
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.set_wakeup_fd(-1) == -1
    assert threading.active_count() == threads


def test_other_threads_can_run_commands(folder, tmp_path):
    words = ["parse", str(folder / "toy.nonproj"), str(folder / "train.conll"), "-o", str(tmp_path / "out")]
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(main, words).result() == 0
