"""Install packages of models into one empty environment, and use each by its name.

    python packaging/environment.py models/wheels [--package .] [--text 'An example.']

The environment has this checkout's package (or the one that is named) and its dependencies, from pip's index; home,
caches and the working folder are empty.  ``nonproj models`` must list every package, with its licence; ``nonproj.load``
and ``nonproj parse --text`` must find every model by its name.  Models of the wheels stay where they are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

TEXT = "An example: 1 + 1 = 2. ¿Qué? Ça va; это\u00a0да!\n\nவணக்கம். 3,5 % …\n"
"""A text in several languages, in which every model finds sentences."""

CODE = """
import sys, nonproj
document = nonproj.load(sys.argv[1])(sys.argv[2])
print(sum(1 for _ in document.words), all(sentence.certified in (True, False) for sentence in document.sentences))
"""


class Package(NamedTuple):
    """The package of a model: its file, and the name of the model, the version and the licence in its metadata."""

    wheel: Path
    name: str
    version: str
    licence: str


def package_of(wheel: Path) -> Package:
    """Return the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        headers = BytesHeaderParser().parsebytes(archive.read(name))
    return Package(wheel, headers["Name"].removeprefix("nonproj-model-"), headers["Version"], headers["License"])


class Environment:
    """An empty environment in a folder, with empty folders for everything that programs keep elsewhere."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.python = str(folder / "env" / "bin" / "python")
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG", "LC_"))}
        kept |= {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder / "home"), "PYTHONUTF8": "1"}
        self._variables = kept | {"NONPROJ_CACHE": os.environ.get("NONPROJ_CACHE", str(folder / "cache"))}
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        self.run(sys.executable, "-P", "-m", "venv", "--without-pip", str(folder / "env"))

    def install(self, *words: str) -> None:
        """Run pip of the current environment in this one."""
        pip = [
            sys.executable,
            "-P",
            "-m",
            "pip",
            "--python",
            self.python,
            "--disable-pip-version-check",
            "install",
            "--quiet",
        ]
        self.run(*pip, *words)

    def run(self, *words: str, text: str = "") -> str:
        """Return the output of a command in the empty working folder.

        Raises
        ------
        CalledProcessError
            It failed.
        """
        return subprocess.run(
            words,
            cwd=self._folder / "work",
            env=self._variables,
            input=text,
            check=True,
            capture_output=True,
            encoding="utf-8",
        ).stdout


def problems(environment: Environment, packages: list[Package], text: str = TEXT) -> list[str]:
    """Install packages of models, and return their errors, a line each."""
    environment.install("--no-index", "--no-deps", *(str(each.wheel.resolve()) for each in packages))
    listed = json.loads(environment.run(environment.python, "-P", "-m", "nonproj", "models", "--json"))
    facts, found = {each["name"]: each for each in listed}, []
    for each in packages:
        fact = facts.get(each.name, {"error": "not listed by 'nonproj models'"})
        wrong = [fact["error"]] if "error" in fact else []
        if not wrong and (fact["version"], fact["licence"]) != (each.version, each.licence):
            wrong.append(f"listed with version {fact['version']} and licence {fact['licence']}")
        try:
            words, known = environment.run(environment.python, "-P", "-c", CODE, each.name, text).split()
            parse = (environment.python, "-P", "-m", "nonproj", "parse", each.name, "--text", "-")
            rows = [line for line in environment.run(*parse, text=text).splitlines() if line[:1].isdigit()]
            if (
                known != "True"
                or int(words) == 0
                or sum("-" not in row.partition("\t")[0] for row in rows) != int(words)
            ):
                wrong.append(f"{len(rows)} lines from the command, {words} words in Python")
        except subprocess.CalledProcessError as error:
            wrong.append(error.stderr.strip().splitlines()[-1] if error.stderr.strip() else str(error))
        found += [f"{each.name}: {problem}" for problem in wrong]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the wheels")
    parser.add_argument("--package", default=str(ROOT), help="nonproj itself: a folder or a wheel (default: checkout)")
    options = parser.parse_args(arguments)
    packages = [package_of(wheel) for wheel in sorted(options.folder.glob("nonproj_model_*.whl"))]
    if not packages:
        parser.error(f"{options.folder}: no package of a model")
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder))
        try:
            environment.install(options.package)
            found = problems(environment, packages)
        except subprocess.CalledProcessError as error:
            found = [f"{' '.join(map(str, error.cmd))}: {error.stderr.strip()}"]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(f"{len(packages)} packages, {len(found)} problems\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
