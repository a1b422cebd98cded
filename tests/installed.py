"""Check that a wheel or an sdist is complete: install it into an empty environment and use it outside the checkout.

    python tests/installed.py dist/nonproj-1.0.0-py3-none-any.whl dist/nonproj-1.0.0.tar.gz

Parses a text by the model that comes with it, trains a small one, parses a file and a text by that, and compares the
data files with those of the checkout.
"""

import sys
from pathlib import Path

from distributions import Fresh, check_all
from distributions import missing as missing_of
from toy import treebank

ROOT = Path(__file__).resolve().parents[1]
SMALL = "--epochs 1 --parts arc --set features.bits=16 --set pruner.bits=16 --set labeler.bits=16 --set tagger.epochs=1"
BESIDE = ("CHANGELOG.md", "Makefile", "tests/toy.py", "configs/turkish.yaml", "docs/index.md")
TYPES = {"globals.d.ts", "tsconfig.json"}
"""Files that only a type checker of JavaScript reads."""


def missing(package: Path) -> list[str]:
    """Return the files that should be in a package and are not."""
    paths = [path for path in (ROOT / "nonproj").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    paths = [path for path in paths if path.name not in TYPES]
    templates = list((ROOT / "features").rglob("*.yaml"))
    if package.suffix == ".whl":
        return missing_of(package, ROOT, paths) + missing_of(package, ROOT / "features", templates, "nonproj/features/")
    return missing_of(package, ROOT, [*paths, *templates, *(ROOT / name for name in BESIDE)])


def use(fresh: Fresh, package: Path) -> None:
    """Install a package into an environment, and use it there."""
    fresh.install(package)
    (fresh.folder / "text.txt").write_text("A hearing is scheduled on the issue today.\n", encoding="utf-8")
    tree = fresh.run("nonproj", "parse", "--text", "text.txt")
    assert tree.count("\n9\t.\t") == 1 and "\troot\t" in tree, tree
    fresh.run("python", "-c", "import nonproj; assert nonproj.load()('It rains.').sentences[0].certified")
    where = fresh.run("python", "-c", "import nonproj; print(nonproj.__file__)").strip()
    assert Path(where).is_relative_to(fresh.folder.resolve()), f"{where} is not the installed package"
    version = fresh.run("nonproj", "--version").strip()
    assert version.removeprefix("nonproj ") in package.name, f"{version} in {package.name}"
    for name, count, seed in (("train", 40, 0), ("test", 6, 1)):
        (fresh.folder / f"{name}.conllu").write_text(treebank(count, seed), encoding="utf-8")
    fresh.run("nonproj", "train", "train.conllu", "--test", "test.conllu", "-o", "toy.nonproj", "-qq", *SMALL.split())
    parsed = fresh.run("nonproj", "parse", "toy.nonproj", "test.conllu", "--stats-comments")
    assert parsed.count("# nonproj certified = true") == 6, parsed
    (fresh.folder / "text.txt").write_text("den hund ser kat.\n", encoding="utf-8")
    assert "\tnsubj\t" in fresh.run("nonproj", "parse", "toy.nonproj", "--text", "text.txt")
    assert "# toy.nonproj" in fresh.run("nonproj", "inspect", "--card", "toy.nonproj")


if __name__ == "__main__":
    check_all(sys.argv[1:], missing, use)
