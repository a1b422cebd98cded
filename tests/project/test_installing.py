"""Messages for missing packages, and the commands in them."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
import tomllib
from pathlib import Path

from nonproj import errors
from nonproj.errors import install_distribution

ROOT = Path(__file__).resolve().parents[2]


def test_another_distribution_comes_from_a_checkout(tmp_path, monkeypatch):
    assert shlex.split(install_distribution("workbench")) == ["pip", "install", str(ROOT / "workbench")]
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "nonproj" / "errors.py"))
    assert install_distribution("workbench") == "pip install ./workbench, in a checkout of nonproj"


EXTRA = re.compile(r"""(?:install_command|needs(?:_package)?)\((?:.*, )?["'](\w[\w-]*)["']\)""")


def test_all_messages_are_made_here_and_name_extras_that_exist():
    """No other module writes such a command itself, and what is missing belongs to the extra that is named."""
    project = importlib.metadata.metadata("nonproj").get_all("Provides-Extra")
    named = set()
    for folder in (ROOT / "nonproj", *ROOT.glob("*/nonproj_*")):
        for path in folder.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            named |= set(EXTRA.findall(text))
            if path.name != "errors.py":
                assert "pip install nonproj[" not in text and "pip install 'nonproj" not in text, path
    assert {"server", "ud", "cluster", "encoder", "pictures", "columns", "hub"} <= named
    assert named <= set(project)


def test_pages_name_extras_instead_of_commands():
    """One page says how an extra is installed, which depends on where nonproj came from."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    found = {path.name for path in pages if "install 'nonproj[" in path.read_text(encoding="utf-8")}
    assert found <= {"installation.md", "production.md"}


def test_the_page_on_installation_names_every_dependency_and_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    for requirement in project["dependencies"]:
        name = re.match(r"[\w-]+", requirement)[0]
        assert re.search(rf"^\| [\w, -]*\b{name}\b", page, re.MULTILINE), name
    for extra in project["optional-dependencies"]:
        assert f"`{extra}`" in page, extra
