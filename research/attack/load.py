"""Lane of load: many words by two processes and by a Dask cluster, while a worker is killed every few seconds."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from research.attack import material
from research.attack.campaign import ExhaustedError, Lane
from research.attack.forked import check_gone, descendants
from research.attack.kills import Cluster, spawn
from research.attack.properties import require

MOST_MB = 1000.0
"""Memory that a process may take at its peak, however long the input."""

EVERY = 5.0
"""Least seconds between two kills; something must have been written since the last, however slow the machine."""

_WAYS = ("one process", "--jobs 2", "Dask")


class Load(Lane):
    """Parses one large file three ways, and compares the outputs."""

    name = "load"
    words = 1_000_000

    def __init__(self, folder: Path):
        super().__init__(folder)
        files = material.treebank_files()
        training = next((path for path in files if "danish" in path.name), files[0] if files else None)
        text = training.read_bytes() if training else material.toy_treebank(2000, 1).encode()
        sentences = text.split(b"\n\n")[:-1]
        (folder / "train.conll").write_bytes(b"\n\n".join(sentences[:400]) + b"\n\n")
        from nonproj.cli.main import main

        options = ["--parts", "arc", "--epochs", "2", "--set", "features.bits=18"]
        require(
            main(["train", str(folder / "train.conll"), "-o", str(folder / "a.nonproj"), *material.SMALL, *options])
            == 0,
            "training fails",
        )
        left = self.words
        with open(folder / "in.conll", "wb") as stream:
            while left > 0:
                for sentence in sentences:
                    stream.write(sentence + b"\n\n")
                    left -= sentence.count(b"\n") + 1
                    if left <= 0:
                        break
        self.notes = {"words": self.words - left, "treebank": training.parent.name if training else "toy"}
        self.digest = ""

    def case(self, rng: random.Random, number: int) -> str:
        """Parse the file in the next way."""
        if number >= len(_WAYS):
            raise ExhaustedError
        if number and not self.digest:  # continued in a new process
            self._parse("one process", rng)
        return self._parse(_WAYS[number], rng)

    def _parse(self, way: str, rng: random.Random) -> str:
        cluster = Cluster(self.folder) if way == "Dask" else None
        extra = {"one process": [], "--jobs 2": ["--jobs", "2"], "Dask": ["--scheduler", cluster and cluster.address]}[
            way
        ]
        began, peaks = time.monotonic(), Peaks()
        try:
            if cluster:
                cluster.complete()
            process = spawn(["parse", "a.nonproj", "in.conll", "-o", "out.conll", *extra], self.folder)
            killed, writing = self._watch(process, way, cluster, peaks, rng)
            _, error = process.communicate()
            require(process.returncode == 0, f"{way}: exit code {process.returncode}: {error.decode()[-1500:]}")
            require(error == b"" or b"without a certificate" in error, f"{way}: {error.decode()[-1500:]}")
            check_gone(process.pid)
        finally:
            if cluster:
                cluster.close()
        output = (self.folder / "out.conll").read_bytes()
        digest = hashlib.blake2b(output).hexdigest()
        require(self.digest in ("", digest), f"{way}: another output than one process writes")
        self.digest = digest
        seconds = time.monotonic() - began
        self.notes[way] = {"seconds": round(seconds, 1), "killed": killed, "peak_mb": round(peaks.most, 1)}
        require(peaks.most < MOST_MB, f"{way}: a process takes {peaks.most:.0f} MB")
        require(killed > 0 or way == "one process" or writing < 2 * EVERY, f"{way}: no worker was killed")
        return way

    def _watch(
        self, process: subprocess.Popen, way: str, cluster: Cluster | None, peaks: Peaks, rng
    ) -> tuple[int, float]:
        """Kill workers until the command ends; return how many, and the seconds since the first output."""
        killed, written, last, first = 0, 0, time.monotonic(), float("inf")
        while process.poll() is None:
            time.sleep(0.2)
            workers = [pid for pid in descendants(process.pid) if pid != process.pid]
            peaks.measure([process.pid, *workers, *(worker.pid for worker in (cluster.workers if cluster else []))])
            size = sum(path.stat().st_size for path in self._outputs())
            first = min(first, time.monotonic()) if size else first
            if time.monotonic() - last < EVERY or size <= written:
                continue
            last, written = time.monotonic(), size
            if cluster:
                cluster.kill_worker(rng.randrange(2))
                cluster.complete()
                killed += 1
            elif workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(workers), signal.SIGKILL)
                    killed += 1
        return killed, time.monotonic() - first

    def _outputs(self) -> list[Path]:
        """Return the temporary files."""
        return list(self.folder.glob(".nonproj-*"))


class Peaks:
    """The largest memory of some processes, in megabytes."""

    most = 0.0

    def measure(self, pids: list[int]) -> None:
        """Record the peak memory of each process."""
        for pid in pids:
            with contextlib.suppress(OSError, StopIteration, ProcessLookupError):
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                self.most = max(
                    self.most, int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
                )
