"""Check that a wheel or an sdist is complete: install it into an empty environment and use it outside the checkout.

    python tests/installed.py dist/nonproj-1.0.0-py3-none-any.whl dist/nonproj-1.0.0.tar.gz

Parses a text by the model that comes with it, trains a small one, parses a file and a text by that, and compares the
data files with those of the checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from toy import treebank

ROOT = Path(__file__).resolve().parents[1]
SMALL = "--epochs 1 --parts arc --set features.bits=16 --set pruner.bits=16 --set labeler.bits=16 --set tagger.epochs=1"
BESIDE = ("README.md", "LICENSE", "CHANGELOG.md", "Makefile", "tests/toy.py", "configs/turkish.yaml", "docs/index.md")


def data_files() -> set[str]:
    """Return the data files of the package, as they are named in a wheel."""
    found = {path for path in (ROOT / "nonproj").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    names = {path.relative_to(ROOT).as_posix() for path in found}
    return names | {f"nonproj/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "features").rglob("*.yaml")}


def missing(package: Path) -> list[str]:
    """Return the files that should be in a package and are not."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return sorted(data_files() - set(wheel.namelist()))
    with tarfile.open(package) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {name.removeprefix("nonproj/") if "/features/" in name else name for name in data_files()}
    return sorted((expected | set(BESIDE)) - names)


def use(package: Path, folder: Path) -> None:
    """Install a package into an environment in a folder, and use it there."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NONPROJ", "VIRTUAL"))}
    clean |= {"NONPROJ_CACHE": os.environ.get("NONPROJ_CACHE", str(folder / "cache")), "PYTHONUTF8": "1"}

    def run(*words: str, text: str | None = None) -> str:
        done = subprocess.run(
            words, cwd=folder, env=clean, input=text, capture_output=True, encoding="utf-8", check=False
        )
        if done.returncode:
            raise SystemExit(f"{package.name}: {' '.join(words)} ended with code {done.returncode}\n{done.stderr}")
        return done.stdout

    run(sys.executable, "-m", "venv", "env")
    python, nonproj = (str(folder / "env" / "bin" / name) for name in ("python", "nonproj"))
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package.resolve()))
    run(python, "-m", "pip", "check")
    tree = run(nonproj, "parse", "--text", "-", text="A hearing is scheduled on the issue today.\n")
    assert tree.count("\n9\t.\t") == 1 and "\troot\t" in tree, tree
    run(python, "-c", "import nonproj; assert nonproj.load()('It rains.').sentences[0].certified")
    where = run(python, "-c", "import nonproj; print(nonproj.__file__)").strip()
    assert Path(where).is_relative_to(folder.resolve()), f"{where} is not the installed package"
    version = run(nonproj, "--version").strip()
    assert version.removeprefix("nonproj ") in package.name, f"{version} in {package.name}"
    for name, count, seed in (("train", 40, 0), ("test", 6, 1)):
        (folder / f"{name}.conllu").write_text(treebank(count, seed), encoding="utf-8")
    run(nonproj, "train", "train.conllu", "--test", "test.conllu", "-o", "toy.nonproj", "-qq", *SMALL.split())
    parsed = run(nonproj, "parse", "toy.nonproj", "test.conllu", "--stats-comments")
    assert parsed.count("# nonproj certified = true") == 6, parsed
    assert "\tnsubj\t" in run(nonproj, "parse", "toy.nonproj", "--text", "-", text="den hund ser kat.\n")
    assert "# toy.nonproj" in run(nonproj, "inspect", "--card", "toy.nonproj")


def main(packages: list[str]) -> None:
    """Check each of the packages."""
    for name in packages:
        if absent := missing(Path(name)):
            raise SystemExit(f"{name}: without {', '.join(absent)}")
        with tempfile.TemporaryDirectory() as folder:
            use(Path(name), Path(folder))
        sys.stdout.write(f"{name}: complete; installed and used in an empty environment\n")


if __name__ == "__main__":
    main(sys.argv[1:])
