"""Check that a wheel or an sdist of the workbench is complete: install it into an empty environment and use it there.

    python workbench/tests/installed.py dist/nonproj-1.0.0-py3-none-any.whl dist/nonproj_workbench-1.0.0*

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

WORKBENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(WORKBENCH.parent / "tests"))

from toy import treebank  # noqa: E402

MODEL = WORKBENCH.parent / "tests" / "golden" / "model.nonproj"


def missing(package: Path) -> list[str]:
    """Return the files that should be in a package and are not."""
    paths = [path for path in (WORKBENCH / "nonproj_workbench").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    expected = {path.relative_to(WORKBENCH).as_posix() for path in paths}
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return sorted(expected - set(wheel.namelist()))
    with tarfile.open(package) as archive:
        return sorted((expected | {"README.md", "LICENSE"}) - {name.partition("/")[2] for name in archive.getnames()})


def use(parser: Path, package: Path, folder: Path) -> None:
    """Install both packages into an environment in a folder, and use them there."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NONPROJ", "VIRTUAL"))}
    clean |= {"NONPROJ_CACHE": os.environ.get("NONPROJ_CACHE", str(folder / "cache")), "PYTHONUTF8": "1"}

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(words, cwd=folder, env=clean, capture_output=True, encoding="utf-8", check=False)
        if done.returncode != code:
            raise SystemExit(f"{package.name}: {' '.join(words)} ended with code {done.returncode}\n{done.stderr}")
        return done.stdout or done.stderr

    run(sys.executable, "-m", "venv", "env")
    python, nonproj = (str(folder / "env" / "bin" / name) for name in ("python", "nonproj"))
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*install, str(parser))
    assert "package nonproj-workbench; run: pip install" in run(nonproj, "annotate", "trees.conll", code=2)
    run(*install, str(package))
    run(python, "-m", "pip", "check")
    (folder / "trees.conll").write_text(treebank(8), encoding="utf-8")
    assert "suspicions: " in run(nonproj, "audit", "-m", str(MODEL), "trees.conll", "-o", "audit", "--level", "0")
    annotator = subprocess.Popen(
        [nonproj, "annotate", "trees.conll"], cwd=folder, env=clean, stdout=subprocess.PIPE, encoding="utf-8"
    )
    address = annotator.stdout.readline() if annotator.stdout else ""
    assert address.startswith("http://127.0.0.1:"), address
    annotator.terminate()
    assert annotator.wait(30) == 0


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
