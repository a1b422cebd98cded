"""Messages for missing packages: the command in them works from where nonproj was installed."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nonproj import errors
from nonproj.errors import install_command, install_distribution, needs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def installed_from(monkeypatch):
    """Return a function that sets what pip has recorded of the origin; None for a package that is not installed."""

    def record(origin):
        class Distribution:
            def read_text(self, name):
                assert name == "direct_url.json"
                return origin if origin is None or isinstance(origin, str) else json.dumps(origin)

        monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution())
        monkeypatch.setattr(errors, "__file__", "/usr/lib/python3/site-packages/nonproj/errors.py")

    return record


def test_from_an_index(installed_from):
    installed_from(None)
    assert install_command("server") == "pip install 'nonproj[server]'"


@pytest.mark.parametrize("name", ["checkout", "my checkout", "o'clock", "größe"])
@pytest.mark.parametrize("editable", [True, False])
def test_from_a_folder(name, editable, tmp_path, installed_from, monkeypatch):
    """The folder is named, or is ``.`` if the user is in it; a shell reads the command as four or five words."""
    folder = tmp_path / name
    folder.mkdir()
    installed_from({"url": folder.as_uri(), "dir_info": {"editable": True} if editable else {}})
    words = ["pip", "install", *(["--editable"] if editable else [])]
    assert shlex.split(install_command("ud")) == [*words, f"{folder}[ud]"]
    monkeypatch.chdir(folder)
    assert shlex.split(install_command("ud")) == [*words, ".[ud]"]


def test_another_distribution_comes_from_where_this_one_came_from(tmp_path, installed_from, monkeypatch):
    """An archive holds one distribution only, and a folder may."""
    name, place = ("nonproj-workbench", "workbench"), "git+https://example.org/nonproj.git#subdirectory=workbench"
    installed_from({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert install_distribution(*name) == "pip install 'nonproj-workbench'"
    (tmp_path / "workbench").mkdir()
    assert install_distribution(*name) == f"pip install --editable '{tmp_path}/workbench'"
    monkeypatch.chdir(tmp_path)
    assert install_distribution(*name) == "pip install --editable './workbench'"
    installed_from({"url": "https://example.org/nonproj.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}})
    assert install_distribution(*name) == f"pip install 'nonproj-workbench @ {place}'"
    (tmp_path / "a.whl").touch()
    installed_from({"url": (tmp_path / "a.whl").as_uri(), "archive_info": {}})
    assert install_distribution(*name) == "pip install 'nonproj-workbench'"
    installed_from(None)
    assert install_distribution(*name) == "pip install 'nonproj-workbench'"


def test_from_a_folder_that_is_gone(tmp_path, installed_from):
    installed_from({"url": (tmp_path / "gone").as_uri(), "dir_info": {}})
    assert install_command("ud") == "pip install 'nonproj[ud]'"


def test_from_a_wheel(tmp_path, installed_from):
    wheel = tmp_path / "nonproj-1.0.0-py3-none-any.whl"
    installed_from({"url": wheel.as_uri(), "archive_info": {}})
    assert install_command("ud") == "pip install 'nonproj[ud]'"
    wheel.touch()
    assert install_command("ud") == f"pip install 'nonproj[ud] @ {wheel.as_uri()}'"


def test_from_a_repository(installed_from):
    installed_from({"url": "https://example.org/nonproj.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}})
    assert install_command("ud") == "pip install 'nonproj[ud] @ git+https://example.org/nonproj.git'"


@pytest.mark.parametrize("record", ["", "{", "[]", '"text"', '{"url": 3, "dir_info": []}', '{"vcs_info": null}'])
def test_a_damaged_record_counts_as_none(record, installed_from):
    installed_from(record)
    assert install_command("ud") == "pip install 'nonproj[ud]'"


def test_on_the_path_without_installation(tmp_path):
    """By a program that finds the sources, but no record of their installation, or one of an earlier build."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    code += "; from nonproj.errors import install_command as c; print(c('ud'))"
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"pip install '{ROOT}[ud]'\n"


def test_where_the_current_folder_is_gone(tmp_path, installed_from, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    installed_from({"url": ROOT.as_uri(), "dir_info": {}})
    assert install_command("ud") == f"pip install '{ROOT}[ud]'"


def test_messages_are_sentences_of_one_form(installed_from):
    installed_from(None)
    message = needs("encoders need", "tokenizers", "encoder")
    assert message == "encoders need the package tokenizers; run: pip install 'nonproj[encoder]'"


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
    assert {"server", "ud", "cluster", "encoder", "pictures", "columns", "hub", "spacy"} <= named
    assert named <= set(project)


def test_pages_name_extras_instead_of_commands():
    """How an extra is installed depends on where nonproj came from, and is said on one page."""
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
