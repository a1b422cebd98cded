"""Run the RUN steps of the Containerfile without a container, then start what they have built.

    python packaging/check_container.py [--skip-kernels]

Each stage gets a folder of its own in a temporary folder, in place of ``/``; COPY copies files into it, RUN runs in a
shell with the paths of the image replaced by those of the folder, and in an environment with nothing but PATH and HOME.
At the end the entry point serves the model of the tests, and the health check of the file must succeed.  Base image,
user and isolation are not tested.  Building the wheels needs the network; all kernels take some 10 minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "packaging" / "Containerfile"
MODEL = ROOT / "tests" / "golden" / "model.nonproj"

PORT = "8001"
"""The port of the health check in the file."""

ABSOLUTE = re.compile(r"(?<![\w.:/-])/(src|wheels|build|opt/nonproj)\b")
"""Paths of the image in commands."""


class Step(NamedTuple):
    """An instruction of a Containerfile, and its arguments as text."""

    instruction: str
    text: str


def steps_of(text: str) -> list[Step]:
    r"""Return the instructions of a Containerfile.

    Examples
    --------
    >>> steps_of("# base\nFROM a\nRUN b \\\n  c\n")
    [Step(instruction='FROM', text='a'), Step(instruction='RUN', text='b c')]
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [Step(*re.split(r"\s+", line, maxsplit=1)) for line in joined.splitlines()]


class Build:
    """The stages of a build, each a folder.

    Parameters
    ----------
    folder : Path
    skip : tuple of str
        RUN steps that contain one of these words are not run.
    """

    def __init__(self, folder: Path, skip: tuple[str, ...]):
        self._folder, self._skip = folder, skip
        self._stages: dict[str, Path] = {}
        self.root, self._work = folder, "/"
        self.variables = {"HOME": str(folder)}

    def run(self, step: Step) -> None:
        """Run a step; those that only describe the image do nothing."""
        match step.instruction:
            case "FROM":
                name = step.text.partition(" AS ")[2] or "image"
                self.root = self._stages[name] = self._folder / name
                (self.root / "bin").mkdir(parents=True)
                (self.root / "bin" / "python").symlink_to(sys.executable)
                self.variables["PATH"] = f"{self.root}/bin:/usr/bin:/bin"
            case "WORKDIR":
                self._work = step.text
                (self.root / self._work.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "COPY":
                self._copy(step.text.split())
            case "RUN":
                self._shell(step.text)
            case "ENV":
                for name, value in (word.split("=", 1) for word in step.text.split()):
                    path = f"{self.root}{value}" if value.startswith("/") else value
                    self.variables[name] = path.replace("$PATH", self.variables["PATH"])

    def _copy(self, words: list[str]) -> None:
        source = ROOT
        if words[0].startswith("--from="):
            source = self._stages[words.pop(0).removeprefix("--from=")]
        target = self.root / self._work.lstrip("/") / words[-1]
        for word in words[:-1]:
            origin = source / word.lstrip("/")
            if origin.is_dir():
                place = self.root / words[-1].lstrip("/") if words[-1].startswith("/") else target
                shutil.copytree(origin, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(origin, target)

    def _shell(self, command: str) -> None:
        if any(word in command for word in self._skip):
            sys.stdout.write(f"skipped: {command}\n")
            return
        sys.stdout.write(f"RUN {command}\n")
        sys.stdout.flush()
        command = ABSOLUTE.sub(rf"{self.root}/\1", command)
        if self._skip != SKIP:
            command = command.replace(" nonproj-kernels", "")
        work = self.root / self._work.lstrip("/") if self.root.name == "build" else self.root
        subprocess.run(["/bin/sh", "-ec", command], cwd=work, env=self.variables, check=True)


SKIP = ("useradd",)
"""Words of commands that would change this system."""


def serve(build: Build, steps: list[Step]) -> None:
    """Run the entry point with the model of the tests until the health check succeeds."""
    (entry,) = (json.loads(step.text) for step in steps if step.instruction == "ENTRYPOINT")
    (health,) = (json.loads(step.text.partition("CMD ")[2]) for step in steps if step.instruction == "HEALTHCHECK")
    os.makedirs(build.variables["NONPROJ_CACHE"], exist_ok=True)
    began = time.monotonic()
    path = build.variables["PATH"]
    entry[0], health[0] = (shutil.which(words[0], path=path) or words[0] for words in (entry, health))
    server = subprocess.Popen([*entry, str(MODEL), "--port", PORT], env=build.variables, cwd=build.root)
    try:
        while subprocess.run(health, env=build.variables, stderr=subprocess.DEVNULL, check=False).returncode:
            if server.poll() is not None or time.monotonic() - began > 600:
                raise SystemExit("the server does not become healthy")
            time.sleep(0.2)
        sys.stdout.write(f"healthy after {time.monotonic() - began:.1f} s\n")
        server.send_signal(signal.SIGTERM)
        if server.wait(60) != 0:
            raise SystemExit(f"the server ended with code {server.returncode}")
    finally:
        server.kill()
        server.wait()


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skip-kernels", action="store_true", help="compile only the kernels that the model needs")
    options = parser.parse_args()
    steps = steps_of(FILE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="nonproj-") as folder:
        build = Build(Path(folder), (*SKIP, "packaging/kernels.py") if options.skip_kernels else SKIP)
        for step in steps:
            build.run(step)
        serve(build, steps)
    sys.stdout.write("the steps of the Containerfile work\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
