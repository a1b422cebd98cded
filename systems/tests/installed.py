"""Check that a wheel or an sdist of the systems is complete: install it into an empty environment and use it there.

    python systems/tests/installed.py dist/nonproj-1.0.0-py3-none-any.whl dist/nonproj_systems-1.0.0-py3-none-any.whl

The first is nonproj itself, which is installed with each of the others.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

SYSTEMS = Path(__file__).resolve().parents[1]
SQUARE = "NAME : square\nTYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n"
SQUARE += "1 0 0\n2 0 10\n3 10 10\n4 10 0\nEOF\n"
FIELD = "MARKOV\n2\n2 2\n1\n2 0 1\n4 1 2 8 1\n"


def missing(package: Path) -> list[str]:
    """Return the modules that should be in a package and are not."""
    paths = [*(SYSTEMS / "nonproj_systems").rglob("*.py"), SYSTEMS / "nonproj_systems" / "py.typed"]
    expected = {path.relative_to(SYSTEMS).as_posix() for path in paths}
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return sorted(expected - set(wheel.namelist()))
    with tarfile.open(package) as archive:
        return sorted((expected | {"README.md", "LICENSE"}) - {name.partition("/")[2] for name in archive.getnames()})


def use(parser: Path, package: Path, folder: Path) -> None:
    """Install both packages into an environment in a folder, and use them there."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NONPROJ", "VIRTUAL"))}
    clean |= {"NONPROJ_CACHE": os.environ.get("NONPROJ_CACHE", str(folder / "cache")), "PYTHONUTF8": "1"}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=folder, env=clean, capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            raise SystemExit(f"{package.name}: {' '.join(words)} ended with code {done.returncode}\n{done.stderr}")
        return done.stdout

    run(sys.executable, "-m", "venv", "env")
    python, systems = (str(folder / "env" / "bin" / name) for name in ("python", "nonproj-systems"))
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *map(str, (parser, package)))
    run(python, "-m", "pip", "check")
    version = run(systems, "--version").strip()
    assert version.removeprefix("nonproj-systems ") in package.name, f"{version} in {package.name}"
    (folder / "square.tsp").write_text(SQUARE, encoding="utf-8")
    (folder / "field.uai").write_text(FIELD, encoding="utf-8")
    assert '"length": 40' in run(systems, "tsp", "--json", "square.tsp")
    assert "MPE" in run(systems, "mrf", "field.uai", "-o", "-")


def main(parser: str, *packages: str) -> None:
    """Check each of the packages."""
    for name in packages:
        if absent := missing(Path(name)):
            raise SystemExit(f"{name}: without {', '.join(absent)}")
        with tempfile.TemporaryDirectory() as folder:
            use(Path(parser).resolve(), Path(name).resolve(), Path(folder))
        sys.stdout.write(f"{name}: complete; installed and used in an empty environment\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
