"""Seconds of installation on an empty machine, and of the first trees.

    python -m research.benchmarks.installation WHEELS [--packages nonproj nonproj-kernels nonproj-model-english]

WHEELS is a folder with the packages and all that they need: ``make dist kernels``, a package of a model, and
``pip download -d WHEELS WHEELS/nonproj-*.whl``.  It is served over HTTP on this machine, as an index would be.  The
environment is empty; home, caches and the working folder, too.  Figures are elapsed seconds, and processor seconds,
which other programs on the machine hardly change.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TEXT = "A hearing is scheduled on the issue today.\n"


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the files of a folder over HTTP; yield the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def timed(name: str, words: list[str], folder: Path, text: str = "") -> str:
    """Run a command with empty home and working folders, print its time, and return its output."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder / "home"), "PYTHONUTF8": "1"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        words, cwd=folder / "work", env=environment, input=text, capture_output=True, encoding="utf-8", check=False
    )
    elapsed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{name}: code {done.returncode}\n{done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sys.stdout.write(f"| {name} | {elapsed:.1f} | {used:.1f} |\n")
    sys.stdout.flush()
    return done.stdout


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path, metavar="WHEELS")
    default = ["nonproj", "nonproj-kernels", "nonproj-model-english"]
    parser.add_argument("--packages", nargs="+", default=default, help=f"default: {' '.join(default)}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, served(options.wheels) as index:
        folder = Path(name)
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        python, nonproj = (str(folder / "env" / "bin" / program) for program in ("python", "nonproj"))
        sys.stdout.write("| step | elapsed, s | processor, s |\n|---|---|---|\n")
        timed("python -m venv", [sys.executable, "-P", "-m", "venv", str(folder / "env")], folder)
        pip = [python, "-P", "-m", "pip", "--isolated", "install", "--quiet", "--no-index", "--no-cache-dir"]
        timed("pip install", [*pip, "--find-links", index, *options.packages], folder)
        for number in ("first", "second", "third"):
            output = timed(f"{number} tree", [nonproj, "parse", "--text", "-"], folder, TEXT)
        rows = [line.split("\t") for line in output.splitlines() if line[:1].isdigit()]
        size = sum(path.lstat().st_size for path in (folder / "env").rglob("*") if path.is_file())
        sys.stdout.write(f"\n{' '.join(f'{row[1]}->{row[6]}' for row in rows)}; {size / 1e6:.0f} MB installed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
