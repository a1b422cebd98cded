"""ARCHITECTURE.md against the code: its table of packages, and every module, option and file that it names."""

import importlib
import re
from pathlib import Path

import pytest

from nonproj.automata.compiled import COMPILED
from nonproj.options.config import options
from nonproj.parts.registry import PART_SETS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "nonproj"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`([\w./*-]+)`", TEXT)))
OPTIONS = {name for name, _ in options()}
COMPONENTS = {
    path.stem for path in PACKAGE.iterdir() if (path.is_dir() or path.suffix == ".py") and path.stem[:2] != "__"
}


def resolves(dotted: str) -> bool:
    """Return whether a dotted name is a module of nonproj, or something in one."""
    parts = dotted.removeprefix("nonproj.").split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(["nonproj", *parts[:split]]))
        except ModuleNotFoundError:
            continue
        for name in parts[split:]:
            found = getattr(found, name, None)
        return found is not None
    return False


def test_the_table_lists_every_package_and_module():
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", TEXT.split("Imports point only upwards")[0], re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"\w+", row)) == sorted(COMPONENTS)


@pytest.mark.parametrize("name", [name for name in NAMES if re.fullmatch(r"[a-z_]+(\.\w+)+", name)])
def test_dotted_names_are_modules_options_or_files(name):
    assert name in OPTIONS or (ROOT / name).exists() or resolves(name) or list(PACKAGE.rglob(name)), name


def test_paths_exist():
    paths = [name for name in NAMES if "/" in name and not name.startswith("research/results/runs")]
    assert not [name for name in paths if not (list(ROOT.glob(name)) or (PACKAGE / name).exists())]


def test_usual_sets_have_compiled_automata():
    """All other sets but that of arcs alone, which needs no automata."""
    assert {types for types in PART_SETS.values() if len(types) > 1} <= set(COMPILED)


def test_the_page_is_one_page():
    assert TEXT.count("\n") <= 120
    assert Path(ROOT / "examples" / "valency.py").is_file()
