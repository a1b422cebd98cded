"""Lane of kills: training and parsing, resumed or with worker processes, at random moments."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from nonproj.model.model import Model
from research.attack import material
from research.attack.campaign import ROOT, Lane
from research.attack.forked import Ended, call, check_gone, descendants
from research.attack.properties import require

NUMBERS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
CODES = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated"), signal.SIGHUP: (129, "hung up")}
EPOCHS = 6

_TRAIN = ["train", "train.conll", "-o", "new.nonproj", *material.SMALL, "--epochs", str(EPOCHS), "--resume"]
_PARSE = ["parse", "toy.nonproj", "in.conll", "-o", "out.conll", "--stats", "stats.json"]
_RESUME = [*_PARSE, "--resume"]


class Kills(Lane):
    """Kills commands and their workers at random moments."""

    name = "kills"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.work = folder / "work"
        material.train(folder / "toy.nonproj", sentences=30)
        (folder / "in.conll").write_text(material.toy_treebank(1500, 9), encoding="utf-8")
        self._reset()
        self.expected = {}
        self.seconds = {}
        for name, words in (("train", _TRAIN), ("parse", _PARSE)):
            ended = call(words, self.work, limit=900.0)  # it may have to compile
            require(ended.code == 0, ended.error)
            self.seconds[name] = ended.seconds
        self.expected = {name: (self.work / name).read_bytes() for name in ("new.nonproj", "out.conll", "stats.json")}
        self._reset()

    def _reset(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        for name in ("toy.nonproj", "in.conll", "train.conll"):
            shutil.copy(self.folder / name, self.work / name)

    def case(self, rng: random.Random, number: int) -> str:
        """Kill something once."""
        forked = (*[self._train] * 4, *[self._parse] * 3, *[self._resume] * 2)
        kind = rng.choice((self._jobs, self._worker, self._resume_jobs) if rng.random() < 0.05 else forked)
        try:
            return kind(rng)
        except Exception:
            self._reset()
            raise

    # -- training

    def _train(self, rng: random.Random) -> str:
        """Kill a training run, which the next case resumes; at its end, the weights equal those of an unkilled run."""
        signals = [(rng.uniform(0, 1.1 * self.seconds["train"]), rng.choice(NUMBERS))]
        if rng.random() < 0.25:  # interrupted, and killed while it stops
            signals = [(signals[0][0], signal.SIGINT), (rng.choice((0.0, 0.01, 0.1)), rng.choice(NUMBERS[2:]))]
        ended = call(_TRAIN, self.work, signals=signals)
        self._check_left(ended, signals[-1][1], {"new.nonproj", "new.nonproj.checkpoint"})
        for path in self.work.glob("new.nonproj*"):
            Model.load(path, verified=True)
        done = ended.code == 0
        resumed = not done and rng.random() < 0.2
        if resumed:
            require(call(_TRAIN, self.work).code == 0, "resuming fails")
        if done or resumed:  # a model that was interrupted is that of the last complete epoch
            self._check_weights()
            self._reset()
        names = " and ".join(signal.Signals(number).name for _, number in signals)
        return "training had ended before" if done else f"training, {names}"

    def _check_weights(self) -> None:
        calm, resumed = Model.from_bytes(self.expected["new.nonproj"]), Model.load(self.work / "new.nonproj")
        for name, weights in calm.weights.items():
            require(np.array_equal(weights, resumed.weights[name]), f"other weights of {name} after resuming")
        require(len(resumed.meta["log"]) == EPOCHS, f"{len(resumed.meta['log'])} epochs")
        require(not (self.work / "new.nonproj.checkpoint").exists(), "the checkpoint is left")

    # -- parsing

    def _parse(self, rng: random.Random) -> str:
        """Kill a parsing in one process."""
        number = rng.choice(NUMBERS)
        ended = call(_PARSE, self.work, signals=[(rng.uniform(0, 1.2 * self.seconds["parse"]), number)])
        return self._check_parse(ended, number, "parsing")

    def _resume(self, rng: random.Random) -> str:
        """Kill a parsing with --resume several times, then let it end: the output equals that of an unkilled run."""
        delays = [rng.uniform(0, 1.1 * self.seconds["parse"]) for _ in range(rng.choice((1, 2, 3)))]
        for delay in delays:
            number = rng.choice(NUMBERS)
            ended = call(_RESUME, self.work, signals=[(delay, number)])
            self._check_left(ended, number, {"out.conll", "stats.json", "out.conll.partial"})
        ended = call(_RESUME, self.work)
        return self._check_resumed(ended, f"parsing with --resume, {len(delays)} kills")

    def _resume_jobs(self, rng: random.Random) -> str:
        """Kill a parsing with --resume and two worker processes, and resume it with as many, or with one."""
        self._stopped([*_RESUME, "--jobs", "2"], rng)
        ended = collect(spawn([*_RESUME, "--jobs", str(rng.choice((1, 2)))], self.work))
        return self._check_resumed(ended, "parsing with --resume --jobs 2")

    def _stopped(self, words: list[str], rng: random.Random) -> tuple[Ended, int]:
        """Kill a command in a new interpreter, whose workers have to end, too; return its end, and the signal."""
        process, number = spawn(words, self.work), rng.choice(NUMBERS)
        time.sleep(rng.uniform(0.0, 6.0))
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        ended = collect(process)
        check_gone(process.pid)
        return ended, number

    def _check_resumed(self, ended: Ended, what: str) -> str:
        require(ended.code == 0, f"resuming fails: {ended.error[-1500:]}")
        require((self.work / "out.conll").exists(), "no output")
        require(not (self.work / "out.conll.partial").exists(), "the partial output is left")
        self._check_parse(ended, signal.SIGKILL, "")
        return what

    def _jobs(self, rng: random.Random) -> str:
        """Kill a parsing with two worker processes."""
        return self._check_parse(*self._stopped([*_PARSE, "--jobs", "2"], rng), "parsing with --jobs 2")

    def _worker(self, rng: random.Random) -> str:
        """Kill workers of a parsing with two worker processes, which has to succeed."""
        process, killed = spawn([*_PARSE, "--jobs", "2"], self.work), 0
        for _ in range(rng.choice((1, 1, 2, 3))):
            time.sleep(rng.uniform(0.3, 2.0))
            workers = [pid for pid in descendants(process.pid) if pid != process.pid]
            if workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(workers), signal.SIGKILL)
                    killed += 1
        ended = collect(process)
        check_gone(process.pid)
        require(ended.code == 0, f"exit code {ended.code} after {killed} dead workers: {ended.error[-1500:]}")
        self._check_parse(ended, signal.SIGKILL, "")
        return "a worker of --jobs 2"

    def _check_parse(self, ended: Ended, number: int, what: str) -> str:
        self._check_left(ended, number, {"out.conll", "stats.json"})
        for name in ("out.conll", "stats.json"):
            path = self.work / name
            require(not path.exists() or path.read_bytes() == self.expected[name], f"{name} is half-written")
        require(ended.code != 0 or (self.work / "out.conll").exists(), "success without output")
        for name in ("out.conll", "stats.json"):
            (self.work / name).unlink(missing_ok=True)
        return f"{what} had ended before" if ended.code == 0 else f"{what}, {signal.Signals(number).name}"

    def _check_left(self, ended: Ended, number: int, outputs: set[str]) -> None:
        """Check the end of a command, its message, and the remaining files."""
        hidden = [path for path in self.work.iterdir() if path.name.startswith(".")]
        if ended.code == -signal.SIGKILL:
            if hidden:  # the next run removes them
                call(["parse", "toy.nonproj", "train.conll", "-o", "short.conll"], self.work)
                (self.work / "short.conll").unlink()
                hidden = [path for path in self.work.iterdir() if path.name.startswith(".")]
        elif ended.code != 0:
            known = {-number, -signal.SIGINT, *(code for code, _ in CODES.values())}
            require(ended.code in known, f"exit code {ended.code}: {ended.error[-1500:]}")
        require("Traceback" not in ended.error, ended.error[-1500:])
        require(len(ended.error.splitlines()) <= 2, f"too many lines: {ended.error[-1500:]}")
        require(not hidden, f"temporary files are left: {hidden}")
        names = {path.name for path in self.work.iterdir()}
        require(
            names <= outputs | {"toy.nonproj", "in.conll", "train.conll"} | {"new.nonproj.checkpoint", "new.nonproj"},
            f"files are left: {names}",
        )
        for name in ("toy.nonproj", "in.conll", "train.conll"):
            require((self.work / name).read_bytes() == (self.folder / name).read_bytes(), f"{name} has changed")


def spawn(words: list[str], folder: Path) -> subprocess.Popen:
    """Start the command line in a new interpreter that leads a session."""
    command = [sys.executable, "-P", "-m", "nonproj", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, start_new_session=True)


def collect(process: subprocess.Popen, limit: float = 120.0) -> Ended:
    """Wait for the end of a process."""
    began = time.monotonic()
    try:
        output, error = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, error = process.communicate()
        require(False, f"no end after {limit:.0f} s: {error.decode(errors='replace')[-1000:]}")
    return Ended(process.returncode, output, error.decode(errors="replace"), time.monotonic() - began)
