"""Installed files, the names that importing the package provides, and messages for missing packages."""

import importlib
import itertools
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from distributions import libraries, undeclared

import nonproj
from nonproj import errors
from nonproj.errors import install_distribution

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "nonproj"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, TOOLS = SETTINGS["project"], SETTINGS["tool"]


def test_public_names_exist():
    assert len(nonproj.__all__) > 10 and all(getattr(nonproj, name) is not None for name in nonproj.__all__)
    assert set(nonproj.__all__) <= set(dir(nonproj))
    with pytest.raises(AttributeError, match="module 'nonproj' has no attribute 'pasre'"):
        nonproj.pasre  # noqa: B018


def test_the_folder_of_releases_does_not_hide_a_library():
    """`packaging` is a library, too, which others import: from the root, and in these tests, it is found."""
    assert (ROOT / "packaging").is_dir() and not (ROOT / "packaging" / "__init__.py").exists()
    for place in (ROOT, ROOT / "packaging"):
        subprocess.run([sys.executable, "-c", "from packaging.version import Version"], cwd=place, check=True)
    assert Path(pytest.importorskip("packaging.version").__file__).parent != ROOT / "packaging"


def test_every_package_is_installed():
    folders = {path.parent.relative_to(ROOT) for path in PACKAGE.rglob("*.py")}
    assert {".".join(folder.parts) for folder in folders} | {"nonproj.features"} == set(TOOLS["setuptools"]["packages"])
    assert all((ROOT / folder / "__init__.py").is_file() for folder in folders)


def test_types_of_the_public_names_are_installed():
    assert {"py.typed", "__init__.pyi"} <= set(TOOLS["setuptools"]["package-data"]["nonproj"])
    assert (PACKAGE / "py.typed").is_file()
    imported = re.findall(r"^from (\S+) import (\w+) as (\w+)$", (PACKAGE / "__init__.pyi").read_text(), re.MULTILINE)
    assert {name for _, name, _ in imported} == set(nonproj.__all__) - {"__version__"}
    for module, name, other in imported:
        assert name == other and getattr(importlib.import_module(module), name) is getattr(nonproj, name)


def test_the_type_checker_is_strict_everywhere():
    """An ignored error names its code, and no module is excused."""
    for path in PACKAGE.rglob("*.py"):
        assert not re.search(r"# type: ignore(?!\[[a-z-]+\])|# mypy:", path.read_text(encoding="utf-8")), path
    overrides = TOOLS["mypy"]["overrides"]
    assert TOOLS["mypy"]["strict"] and not any("ignore_errors" in rule or "strict" in rule for rule in overrides)


def test_every_library_is_declared():
    """Every import of the package is a dependency or part of an extra."""
    wanted = [*PROJECT["dependencies"], *itertools.chain(*PROJECT["optional-dependencies"].values())]
    assert {"numpy", "vl_convert", "threadpoolctl"} <= set(libraries(PACKAGE))
    assert not undeclared(PACKAGE, wanted)


def test_another_distribution_comes_from_a_checkout(tmp_path, monkeypatch):
    assert shlex.split(install_distribution("workbench")) == ["pip", "install", str(ROOT / "workbench")]
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "nonproj" / "errors.py"))
    assert install_distribution("workbench") == "pip install ./workbench, in a checkout of nonproj"


EXTRA = re.compile(r"""(?:install_command|needs(?:_package)?)\((?:.*, )?["'](\w[\w-]*)["']\)""")


def test_all_messages_are_made_here_and_name_extras_that_exist():
    """No other module writes such a command itself, and what is missing belongs to the extra that is named."""
    named = set()
    for path in (each for folder in (PACKAGE, *ROOT.glob("*/nonproj_*")) for each in folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        named |= set(EXTRA.findall(text))
        assert path.name == "errors.py" or not re.search(r"pip install '?nonproj\b", text), path
    assert {"server", "ud", "cluster", "encoder", "pictures", "columns", "hub"} <= named
    assert named <= set(PROJECT["optional-dependencies"])


def test_pages_name_extras_instead_of_commands():
    """One page says how an extra is installed, which depends on where nonproj came from."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    found = {path.name for path in pages if "install 'nonproj[" in path.read_text(encoding="utf-8")}
    assert found <= {"installation.md", "production.md"}


def test_the_page_on_installation_names_every_dependency_and_extra():
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    names = [re.match(r"[\w-]+", requirement)[0] for requirement in PROJECT["dependencies"]]
    assert not [name for name in names if not re.search(rf"^\| [\w, -]*\b{name}\b", page, re.MULTILINE)]
    assert not [extra for extra in PROJECT["optional-dependencies"] if f"`{extra}`" not in page]
