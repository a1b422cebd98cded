"""The workflows, which run elsewhere: the files they name exist, and they are complete."""

import itertools
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml
from scripts import program

ROOT = Path(__file__).resolve().parents[2]
check = program(ROOT / "packaging" / "check_release.py")
FOLDER = ROOT / ".github" / "workflows"
WORKFLOW, RELEASE = (yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8")) for name in ("ci", "release"))
JOBS, PUBLISHING = WORKFLOW["jobs"], RELEASE["jobs"]
STEPS = [(name, step) for jobs in (JOBS, PUBLISHING) for name, job in jobs.items() for step in job["steps"]]
RUNS = [(name, step["run"]) for name, step in STEPS if "run" in step]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TARGETS = sorted(path.relative_to(ROOT) for path in ROOT.glob("*/targets.mk"))
MAKEFILE = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", *TARGETS))


def numbers(version: str) -> list[int]:
    """Return the numbers of a version."""
    return [int(each) for each in version.split(".")]


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
    assert words[0] == "make" and "=" not in words[1]
    for word in words[1:]:
        name, equals, _ = word.partition("=")
        assert re.search(rf"^{re.escape(name)}{' =' if equals else ':'}", MAKEFILE, re.MULTILINE), f"{job}: {word}"


def test_the_lowest_supported_version_of_python_is_tested():
    lowest, matrix = PROJECT["requires-python"].removeprefix(">="), JOBS["test"]["strategy"]["matrix"]
    assert min(matrix["python"], key=numbers) == lowest
    assert all((ROOT / each["constraints"]).is_file() for each in matrix["include"] if each["python"] == lowest)


def test_the_lowest_versions_are_those_of_the_project():
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    found = sorted(line for line in lines if not line.startswith("#"))
    wanted = {*PROJECT["dependencies"], *requirements("test")}
    assert found == sorted(re.sub(r"\[.*?\]", "", each).replace(">=", "==") for each in wanted if ">=" in each)
    assert len(found) > len(PROJECT["dependencies"])


FIXED = {
    "dask": "2026.1",  # a script in a link to the dashboard is executed
    "h11": "0.16",  # the end of a chunk is not checked, which smuggles requests
    "onnx": "1.21",  # a model reads files outside its folder
    "pytest": "9.0.3",  # predictable names of temporary folders
    "python-multipart": "0.0.30",  # quadratic time; other names of fields than a proxy sees
    "setuptools": "78.1.1",  # a package writes files outside its folder
    "starlette": "1.3.1",  # quadratic time; the host of a URL can be forged
    "torch": "2.10",  # weights are executed
    "tqdm": "4.66.3",  # its command line evaluates arguments
}
"""The first versions without a known vulnerability, of packages that have had one."""


def test_no_version_with_a_known_vulnerability_is_allowed():
    checked = set()
    for path in (ROOT / "pyproject.toml", *(ROOT / name for name in check.OTHERS)):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        wanted = [*table["build-system"]["requires"], *table["project"]["dependencies"]]
        for each in [*wanted, *itertools.chain(*table["project"]["optional-dependencies"].values())]:
            name, _, lowest = re.sub(r"\[.*?\]", "", each).partition(">=")
            if name in FIXED:
                checked.add(name)
                assert numbers(lowest) >= numbers(FIXED[name]), each
    assert checked == set(FIXED)


def test_actions_are_pinned_to_commits():
    """A tag or a branch can be moved to other code; a comment says which release the commit is, one for each action."""
    pins = {}
    for path in sorted(FOLDER.glob("*.y*ml")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.match(r"\s*(- )?uses:", line):
                found = re.fullmatch(r"\s*(?:- )?uses: ([\w-]+/[\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)", line)
                assert found, f"{path.name}: {line.strip()}: OWNER/NAME@COMMIT # vN.N.N expected"
                assert pins.setdefault(found[1], found.groups()[1:]) == found.groups()[1:], line
    assert set(pins) == {step["uses"].partition("@")[0] for _, step in STEPS if "uses" in step}


# -- the release -------------------------------------------------------------------------------------------------------


def test_only_the_job_that_publishes_may_ask_for_a_token_and_it_runs_no_code_of_ours():
    """Trusted publishing: no secret is named anywhere, and what builds the packages has no rights; a tag starts it."""
    assert RELEASE[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads the key `on` as true
    assert RELEASE["concurrency"]["cancel-in-progress"] is False
    assert RELEASE["permissions"] == {"contents": "read"}
    for name, job in PUBLISHING.items():
        assert job.get("permissions") == ({"id-token": "write"} if name == "publish" else None)
        assert ("environment" in job) == (name == "publish")
    assert PUBLISHING["publish"]["environment"]["name"] == "pypi"
    assert not [step for step in PUBLISHING["publish"]["steps"] if "run" in step]
    text = (FOLDER / "release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text and "password" not in re.sub("#.*", "", text)
    steps = [step for job in PUBLISHING.values() for step in job["steps"] if "checkout" in step.get("uses", "")]
    assert steps and all(step["with"] == {"persist-credentials": False} for step in steps)


def test_everything_that_is_published_was_built_and_checked_before():
    """The packages of systems and workbench depend on the parser's."""
    assert set(PUBLISHING["publish"]["needs"]) == {"build", "kernels"}
    runs = [step["run"] for step in PUBLISHING["build"]["steps"] if "run" in step]
    assert runs == ['make release-check TAG="$GITHUB_REF_NAME"', "make dist-systems dist-workbench"]
    uploads = [step["with"]["name"] for _, step in STEPS if step.get("uses", "").startswith("actions/upload-artifact")]
    for each in PUBLISHING["publish"]["strategy"]["matrix"]["include"]:
        assert any(re.match(each["artifacts"].replace("*", ".*") + "$", name) for name in uploads), each
    assert PUBLISHING["kernels"]["strategy"]["matrix"]["python"] == JOBS["test"]["strategy"]["matrix"]["python"]


def copied(folder: Path) -> Path:
    """Copy the files that a release compares."""
    for name in [*check.SAYS_VERSION, "pyproject.toml", *check.OTHERS]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    changelog = folder / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("not released yet", "2026-01-31", 1), encoding="utf-8")
    return folder


def test_a_release_says_its_version_everywhere_and_has_a_date(tmp_path):
    version, dated = PROJECT["version"], "': a date as in 2026-01-31 expected"
    assert check.problems(f"v{version}", copied(tmp_path)) == []
    assert check.problems("v9.9.9", tmp_path) == [f"the tag is v9.9.9; pyproject.toml: v{version}"]
    changes = [(name, version, "0.9.9", "") for name in (*check.SAYS_VERSION, *check.OTHERS)]
    for name, old, new, end in (*changes, ("CHANGELOG.md", "2026-01-31", "not released yet", dated)):
        path = copied(tmp_path) / name
        path.write_text(path.read_text().replace(old, new, 1), encoding="utf-8")
        (problem,) = check.problems(f"v{version}", tmp_path)
        assert problem.startswith(f"{name}: ") and new in problem and problem.endswith(end)
