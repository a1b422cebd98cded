"""Installed files of the systems, their dependencies, and the start of their program."""

import itertools
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from distributions import libraries, undeclared

import nonproj
import nonproj_systems
from nonproj_systems import cli

SYSTEMS = Path(__file__).resolve().parents[2]
PACKAGE = SYSTEMS / "nonproj_systems"
SETTINGS = tomllib.loads((SYSTEMS / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]


def test_every_package_is_installed():
    folders = {path.parent.relative_to(SYSTEMS) for path in PACKAGE.rglob("*.py")}
    assert {".".join(folder.parts) for folder in folders} == set(SETTINGS["tool"]["setuptools"]["packages"])
    assert all((SYSTEMS / folder / "__init__.py").is_file() for folder in folders)
    assert SETTINGS["tool"]["setuptools"]["package-data"] == {"nonproj_systems": ["py.typed"]}
    assert (PACKAGE / "py.typed").is_file()


def test_both_distributions_have_one_version():
    assert PROJECT["version"] == nonproj_systems.__version__ == nonproj.__version__
    assert f"nonproj=={nonproj.__version__}" in PROJECT["dependencies"]
    assert (SYSTEMS / "LICENSE").read_bytes() == (SYSTEMS.parent / "LICENSE").read_bytes()


def test_every_library_is_declared():
    """Every import of the package is a dependency or part of an extra."""
    wanted = [*PROJECT["dependencies"], *itertools.chain(*PROJECT["optional-dependencies"].values())]
    assert {"nonproj", "numpy", "matplotlib"} <= libraries(PACKAGE).keys()
    assert not undeclared(PACKAGE, wanted)


def test_the_lowest_versions_are_those_of_the_project():
    lines = [
        line
        for folder in (SYSTEMS.parent, SYSTEMS)
        for line in (folder / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert len(lines) == len({line.partition("==")[0] for line in lines})
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["pictures"], *extras["experiments"], *extras["test"]]
    assert {each.replace(">=", "==") for each in wanted if ">=" in each} <= set(lines)


# -- the program -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_describes_itself(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    assert f"nonproj-systems {name}" in capsys.readouterr().out


def test_the_program_starts_and_says_what_it_expects():
    program = [sys.executable, "-m", "nonproj_systems"]

    def run(*words):
        return subprocess.run([*program, *words], capture_output=True, text=True, check=False)

    assert run("--version").stdout == f"nonproj-systems {nonproj.__version__}\n"
    for words, message in (
        ([], "a command is expected: constituency, lexicalised, translate, tsp, mrf"),
        (
            ["tps"],
            "unknown command 'tps'; did you mean tsp?; known: constituency, lexicalised, translate, tsp, mrf",
        ),
        (["tsp", "a.tsp", "--kick"], "unknown option --kick; did you mean --kicks?"),
    ):
        done = run(*words)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
        assert message in done.stderr and done.stderr.startswith("nonproj-systems")


def test_a_command_imports_its_system_only():
    code = "import sys; from nonproj_systems.cli import build_parser; build_parser('tsp')"
    code += "; print([name for name in sys.modules if name.startswith('nonproj_systems.') or name == 'numba'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['nonproj_systems.cli', 'nonproj_systems.tsp', 'nonproj_systems.tsp.command']\n"
