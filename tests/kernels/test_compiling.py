"""Kernels compiled by the first parse, and its messages."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import run, running, start, wait_until, work_until_end

from nonproj.cli import compile as compile_command
from nonproj.cli import loading
from nonproj.cli.main import main
from nonproj.kernels import folders
from nonproj.kernels import kernel as _kernel
from nonproj.parts.registry import PART_SETS
from nonproj.pipeline.compiling import helper, needed_kernels
from nonproj.workers import processes

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
LINE = "nonproj: compiling kernels, once for each version of nonproj; a first parse takes about a minute"


@pytest.fixture(autouse=True)
def _speaking(monkeypatch):
    """Processes say that they compile, as they do outside tests."""
    monkeypatch.delenv("NONPROJ_SILENT")


NEEDED = """arborescence arc arcs batch compiled domain exclusion grandparent hashing improvement label_pairs labels
linking marginals network projective pruning scorer sibling subgradient tree_labels word_rows workspace"""
"""Modules with kernels that a second-order parse with a search needs: none for training, tagging or tables."""


@pytest.mark.thorough
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_the_first_parse_compiles_what_it_needs_and_says_so_once(tmp_path, monkeypatch):
    """All but the slowest kernel, which is there unless these tests come first."""
    there, folder = folders.kept_in(), tmp_path / "cache" / folders.kept_in().name
    for path in there.glob("*/subgradient._descend-*.nbc"):
        (folder / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path.parent.name)
    monkeypatch.setenv("NONPROJ_CACHE", str(tmp_path / "cache"))
    words = ("parse", str(GOLDEN / "model.nonproj"), str(GOLDEN / "input.conll"), "-o", str(tmp_path / "out.conll"))
    first = run(*words)
    assert (first.returncode, first.stdout, first.stderr.splitlines()[:1]) == (0, "", [LINE])
    assert (tmp_path / "out.conll").read_bytes() == (GOLDEN / "pruned.conll").read_bytes()
    kernels = {path.name.partition("-")[0]: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert set(needed_kernels(PART_SETS["grandparent"], False)) <= set(kernels)
    assert {name.partition(".")[0] for name in kernels} <= set(NEEDED.split())
    assert not {name for name in kernels if name.endswith((".change_places", ".best_projective_tree"))}
    second = run(*words)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", first.stderr.removeprefix(LINE + "\n"))
    assert kernels == {path.name.partition("-")[0]: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}


def test_whether_a_kernel_is_cached_is_seen_from_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "find_folders", lambda: folders.Folders(tmp_path))
    (tmp_path / "trees_0").mkdir()
    (tmp_path / "trees_0" / "marginals._marginals-70.0123456789abcdef.nbc").touch()
    assert folders.count_cached() == 1
    assert folders.is_cached("marginals._marginals")
    assert not folders.is_cached("marginals._marg")
    monkeypatch.setattr(folders, "find_folders", lambda: folders.Folders(None))
    assert not folders.is_cached("marginals._marginals") and folders.count_cached() == 0
    assert folders.kept_in() is None


def test_garbage_is_collected_again_after_compiling():
    watch = _kernel._Compiling()
    try:
        for before in (True, False):
            (gc.enable if before else gc.disable)()
            with watch:
                for _ in range(2):
                    assert not gc.isenabled() and watch.seconds > 0.0
                    with watch:
                        pass
            assert gc.isenabled() == before
    finally:
        gc.enable()


@pytest.fixture
def watch(monkeypatch, caplog) -> _kernel._Compiling:
    """A report that kernels are compiled, after two seconds of it, which are short here."""
    monkeypatch.setattr(_kernel, "NOTICE_AFTER", 0.2)
    caplog.set_level("WARNING", "nonproj.compiling")  # other tests may have run quiet commands
    return _kernel._Compiling()


def test_long_compiling_is_said_once(watch, caplog):
    for _ in range(4):
        with watch:
            watch._timer.join()
    assert caplog.messages == [LINE]


@pytest.mark.parametrize("before", [60.0, 0.0])
def test_many_short_kernels_count_together(watch, caplog, monkeypatch, before):
    monkeypatch.setattr(_kernel, "NOTICE_AFTER", 60.0)
    watch._seconds = before
    with watch:
        timer = watch._timer
        if before:
            timer.join()
    timer.join(10.0)
    assert not timer.is_alive()
    assert (watch.told, caplog.messages) == (bool(before), [LINE] * bool(before))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_it_is_not_said_where_others_say_it(watch, caplog, monkeypatch):
    """Copies of this process, and workers."""
    pid = os.fork()
    if not pid:
        watch.silence()
        os._exit(0)
    os.waitpid(pid, 0)
    started = []
    monkeypatch.setattr(processes.subprocess, "Popen", lambda *_, env, **__: started.append(env))
    monkeypatch.setattr(processes, "compiling", watch)
    processes.WorkerProcess()
    assert started[0][_kernel.SILENT] == "1"
    monkeypatch.setenv(_kernel.SILENT, "1")
    for each in (watch, _kernel._Compiling()):
        with each:
            assert each.told and each._timer is None
    assert not caplog.messages


def test_quiet_commands_and_their_workers_do_not_say_it(tmp_path, capsys):
    none = str(tmp_path / "none")
    assert main(["parse", "-q", none, none]) == 2
    told = _kernel.compiling.told
    assert main(["parse", none, none]) == 2  # and what follows is not quiet any more
    assert told
    assert _kernel._Compiling().told == bool(os.environ.get(_kernel.SILENT))


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_python_says_that_it_compiles(tmp_path, monkeypatch):
    """The process is ended once it has said so."""
    monkeypatch.setenv("NONPROJ_CACHE", str(tmp_path))
    program = "import numpy as np, nonproj.kernels.kernel; nonproj.kernels.kernel.NOTICE_AFTER = 0.01\n"
    program += "nonproj.decode_scores(np.zeros((4, 4)))"
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.readline()
        process.kill()
    assert said == LINE + "\n"


def test_a_terminal_counts_the_kernels(monkeypatch, capsys):
    looks = []
    watch = SimpleNamespace(seconds=0.0, told=False, silence=lambda: None)
    monkeypatch.setattr(loading, "compiling", watch)
    monkeypatch.setattr(loading, "count_cached", lambda: looks.append("one more") or 2 + len(looks))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with loading.counting_kernels():
        watch.seconds = 2.0
        wait_until(lambda: len(looks) > 2)
    lines = capsys.readouterr().err.split("\r")
    assert lines[:2] == ["", f"{LINE}: 1 done"] and lines[-1] == f"{LINE}: {len(lines) - 1} done\n"


def test_a_helper_that_fails_or_stays_does_no_harm(tmp_path):
    with helper("nonproj.no_such_module"):
        pass
    with pytest.raises(KeyboardInterrupt), helper("http.server", "--bind", "127.0.0.1", "0"):
        raise KeyboardInterrupt  # the server would stay for ever


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.thorough)])
def test_compiling_everything_leaves_no_helper_behind(number, tmp_path, monkeypatch):
    monkeypatch.setenv("NONPROJ_CACHE", str(tmp_path))
    process = start("compile", stdout=subprocess.DEVNULL)
    wait_until(lambda: len(running(process.pid)) > 1, process)
    process.send_signal(number)
    assert process.wait(60) == {signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    assert work_until_end(running(process.pid)) < 30


def test_compiling_everything_prints_the_folder(monkeypatch, capsys):
    done = []
    monkeypatch.setenv(folders.IGNORED, "")
    monkeypatch.setattr(compile_command, "compile_everything", lambda: done.append("ours"))
    monkeypatch.setattr(compile_command, "warm_ups", lambda: [lambda: done.append("theirs")])
    monkeypatch.setattr(compile_command, "kept_in", lambda: Path("/there"))
    assert main(["compile"]) == 0
    assert done == ["ours", "theirs"] and capsys.readouterr().out == "/there\n" and os.environ[folders.IGNORED]
    monkeypatch.setattr(compile_command, "kept_in", lambda: None)
    assert main(["compile"]) == 2
    assert capsys.readouterr().err.startswith("nonproj: NONPROJ_CACHE: there is no folder for compiled kernels")
