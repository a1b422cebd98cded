"""Lane guided by coverage: atheris, if installed, mutates inputs that reach new lines of the reader."""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

from research.attack import material
from research.attack.campaign import ROOT, BreachError, ExhaustedError, Lane, UnavailableError

SECONDS = 20
"""Seconds of a case, at most."""

_RUNS = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_COVERED = re.compile(r"cov: (\d+)")


class Fuzz(Lane):
    """Runs the fuzzer again and again on a growing collection of treebanks."""

    name = "fuzz"

    def __init__(self, folder: Path):
        super().__init__(folder)
        try:
            import atheris  # noqa: F401
        except ImportError:
            raise UnavailableError("atheris is not installed; run: pip install atheris") from None
        self.corpus = folder / "corpus"
        self.corpus.mkdir()
        for number, text in enumerate(material.texts()):
            (self.corpus / f"{number}").write_bytes(text)
        self.notes = {"inputs": 0, "edges covered": 0}

    def case(self, rng: random.Random, number: int) -> str:
        """Run the fuzzer for a while."""
        if len(list(self.corpus.iterdir())) > 20_000:
            raise ExhaustedError
        seconds = max(1, int(min(SECONDS, self.until - time.monotonic())))
        crash = self.folder / "crash-"
        words = [f"-seed={rng.randrange(1, 1 << 31)}", f"-max_total_time={seconds}", "-max_len=2000", "-timeout=20"]
        words += [f"-artifact_prefix={crash}", "-print_final_stats=1", "-rss_limit_mb=4000", str(self.corpus)]
        command = [sys.executable, "-P", "-m", "research.attack.fuzz", *words]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, check=False)
        with contextlib.suppress(TypeError):
            self.notes["inputs"] += int(_RUNS.search(done.stderr)[1])
            self.notes["edges covered"] = max(int(found) for found in _COVERED.findall(done.stderr))
        found = sorted(self.folder.glob("crash-*"))
        if found or done.returncode:
            self.current = {"input": found[0].read_bytes()} if found else {}
            for path in found:
                path.unlink()
            raise BreachError(done.stdout[-1500:] + done.stderr[-500:])
        return "no failure"


def _main() -> None:
    """Run atheris on the reader; called in a separate process."""
    import atheris

    with atheris.instrument_imports(include=["nonproj.io", "nonproj.errors"]):
        from research.attack import reads

    def attack(data: bytes) -> None:
        rng = random.Random(len(data) + sum(data[:9]))
        reads.check_reading(data, reads.draw_rules(rng), rng)

    atheris.Setup(sys.argv, attack)
    atheris.Fuzz()


if __name__ == "__main__":
    _main()
