"""Installed files of the workbench, its dependencies, and how ``nonproj`` finds its commands."""

import importlib
import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from distributions import libraries, undeclared

import nonproj
import nonproj_workbench
from nonproj.cli.main import build_parser
from nonproj.cli.plugins import GROUP, WORKBENCH, find_command

FOLDER = Path(__file__).resolve().parents[2]
PACKAGE = FOLDER / "nonproj_workbench"
SETTINGS = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]


def test_every_package_and_every_file_is_installed():
    folders = {path.parent.relative_to(FOLDER) for path in PACKAGE.rglob("*.py")}
    assert {".".join(folder.parts) for folder in folders} == set(SETTINGS["tool"]["setuptools"]["packages"])
    assert all((FOLDER / folder / "__init__.py").is_file() for folder in folders)
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]
    data = {
        path for name, found in patterns.items() for p in found for path in (FOLDER / name.replace(".", "/")).glob(p)
    }
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert data == files and PACKAGE / "py.typed" in files


def test_all_distributions_have_one_version():
    assert PROJECT["version"] == nonproj_workbench.__version__ == nonproj.__version__
    assert f"nonproj[server,ud]=={nonproj.__version__}" in PROJECT["dependencies"]
    assert (FOLDER / "LICENSE").read_bytes() == (FOLDER.parent / "LICENSE").read_bytes()


def test_every_library_is_declared():
    """Every import of the package is of a dependency, or of one of nonproj's extra ``server``."""
    parser = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*PROJECT["dependencies"], *parser["optional-dependencies"]["server"]]
    assert {"nonproj", "numpy", "starlette", "yaml"} <= libraries(PACKAGE).keys()
    assert not undeclared(PACKAGE, wanted)


def test_the_lowest_versions_are_those_of_the_parser():
    lines = (FOLDER.parent / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    wanted = [*PROJECT["dependencies"], *itertools.chain(*PROJECT["optional-dependencies"].values())]
    assert {each.replace(">=", "==") for each in wanted if ">=" in each} <= set(lines)


def test_the_type_checker_is_strict_everywhere():
    for path in PACKAGE.rglob("*.py"):
        assert not re.search(r"# type: ignore(?!\[[a-z-]+\])|# mypy:", path.read_text(encoding="utf-8")), path
    settings = SETTINGS["tool"]["mypy"]
    assert settings["strict"] and not any("ignore_errors" in rule for rule in settings["overrides"])


# -- the commands ------------------------------------------------------------------------------------------------------


def test_nonproj_finds_the_commands_and_their_modules():
    assert set(PROJECT["entry-points"][GROUP]) == set(WORKBENCH)
    parser = build_parser()
    for name, summary in WORKBENCH.items():
        command = find_command(name)
        assert command.description.startswith(summary)
        assert callable(importlib.import_module(command.module).run)
        assert parser.commands[name].get_default("plugin") == command
    assert "--level" in parser.commands["audit"].option_names()


def test_errors_in_options_are_reported_at_once():
    program = """
import sys
from nonproj.cli.main import main
try:
    main(["audit", "--modle", "a"])
except SystemExit:
    pass
heavy = {"numpy", "numba", "sklearn", "yaml", "starlette"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "nonproj audit: unknown option --modle; did you mean --model?" in done.stderr
