"""The workflow of continuous integration, which runs elsewhere: the files it names exist, and it is complete."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
JOBS = WORKFLOW["jobs"]
RUNS = [(name, step["run"]) for name, job in JOBS.items() for step in job["steps"] if "run" in step]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "systems/targets.mk"))


def requirements(extra: str):
    """Yield the requirements of an extra, those of the extras that it names included."""
    for requirement in PROJECT["optional-dependencies"][extra]:
        if match := re.fullmatch(r"nonproj\[(.*)\]", requirement):
            for name in match[1].split(","):
                yield from requirements(name)
        else:
            yield requirement


@pytest.mark.parametrize(("job", "command"), RUNS)
def test_every_command_is_a_target_of_make(job, command):
    words = command.replace("${{ matrix.constraints }}", "tests/lowest.txt").split()
    assert words[0] == "make"
    assert re.search(rf"^{re.escape(words[1])}:", MAKEFILE, re.MULTILINE), f"{job}: make {words[1]}"
    for word in words[2:]:
        name, equals, _ = word.partition("=")
        assert equals and re.search(rf"^{name} =", MAKEFILE, re.MULTILINE), f"{job}: {word}"


def test_the_lowest_supported_version_of_python_is_tested():
    lowest, matrix = PROJECT["requires-python"].removeprefix(">="), JOBS["test"]["strategy"]["matrix"]
    assert min(matrix["python"], key=lambda version: [int(n) for n in version.split(".")]) == lowest
    assert all((ROOT / each["constraints"]).is_file() for each in matrix["include"] if each["python"] == lowest)


def test_the_lowest_versions_are_those_of_the_project():
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    found = sorted(line for line in lines if not line.startswith("#"))
    wanted = {*PROJECT["dependencies"], *requirements("test")}
    assert found == sorted(re.sub(r"\[.*?\]", "", each).replace(">=", "==") for each in wanted if ">=" in each)
    assert len(found) > len(PROJECT["dependencies"])


def test_make_installs_by_the_constraints():
    line = MAKEFILE.replace("\\\n", " ")
    assert re.search(r'\$\(CONSTRAINTS:%=--constraint "%"\) --editable', line)
