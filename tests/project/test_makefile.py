"""The Makefile, as far as it can be tested without set-up: planned commands and refusals."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import work_until_end
from scripts import imported

ROOT = Path(__file__).resolve().parents[2]
MAKEFILES = "".join(path.read_text() for path in (ROOT / "Makefile", *sorted(ROOT.glob("*/targets.mk"))))
TESTS = sorted(set(re.findall(r"^(test[a-z-]*):", MAKEFILES, re.MULTILINE)))
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not there")


def make(*words: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """Run make, outside of the make that may run these tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    options = {"cwd": folder, "env": clean | environment, "capture_output": True, "text": True, "check": False}
    return subprocess.run(["make", *words], **options)


def planned(*words: str) -> str:
    """Return the commands that make would run."""
    return make("-n", *words).stdout


def copied(folder: Path, *names: str) -> Path:
    """Copy files and folders of the checkout, as links, and the two files that make reads, into a folder."""
    for name in ("Makefile", "pyproject.toml", *names):
        (folder / name).symlink_to(ROOT / name)
    return folder


def program(path: Path, script: str) -> None:
    """Write a program."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def listed(text: str) -> list[str]:
    """Return the targets that a help text lists."""
    return re.findall(r"^  ([a-z-]+) +\w", text, re.MULTILINE)


def test_help_is_the_default_and_short():
    result = make()
    assert result.returncode == 0 and result.stdout == make("help").stdout
    assert {"help", "setup", "train", "parse", "test", "test-all"} <= set(listed(result.stdout))
    assert len(listed(result.stdout)) <= 12


def test_all_targets_are_listed_on_demand():
    """Once each; those that are not in the short list are in the Makefiles of their folders."""
    lines = re.findall(r"^\.PHONY: (.*)$", MAKEFILES, re.MULTILINE)
    phony = {target for line in lines for target in line.split()} - {"help-all"}
    assert {"setup", "setup-workbench", "setup-systems", "reproduce", "kernels"} <= phony
    assert sorted(listed(make("help-all").stdout)) == sorted(phony)


def test_all_tests_run_all_tests():
    """Tests of the decoders are a part of test; tests that need PyTorch, which takes gigabytes, run separately."""
    made = planned("test-all", "JOBS=1")
    for target in set(TESTS) - {"test-all", "test-decode", "test-encoder"}:
        command = planned(target, "JOBS=1", "QUICK=").splitlines()[-1]
        assert command in made, target
    assert "ruff" in made and "mypy" in made


@pytest.mark.parametrize("quick", ["", "-m quick"])
@pytest.mark.parametrize("target", TESTS)
def test_tests_that_are_named_exist(target, quick):
    named = re.findall(
        r" ((?:tests|nonproj|systems|workbench|research|packaging)/[\w./]*)", planned(target, f"QUICK={quick}")
    )
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_locale_is_no_treebank():
    assert 'fetch.py "turkish"' in make("-n", "train", LANG="da_DK.UTF-8").stdout
    probe = "--eval=probe: ; @echo $${LANG-none} $$LC_ALL"
    assert make(probe, "probe", "LANG=danish", LANG="da_DK.UTF-8").stdout == "none C.UTF-8\n"


FETCH_ENCODER = '$(".venv/bin/python" data_scripts/fetch_encoder.py e5-small --out'
FINE_TUNED = ["'.[train-encoder]'", '--encoder "$encoder"', "latin-grandparent-e5-small."]
WITH_VECTORS = ['--set features.vectors="$vectors"', "latin-grandparent-e5-small-vectors."]
JOINED = ['"multilingual" --out "data"   "tamil" "UD_Gothic-PROIEL" --paths', '--config "configs/multilingual.yaml"']
UNIVERSAL = '--config "configs/universal.yaml"'
MADE = [
    (["PARTS=arc", "EPOCHS=3", "CONFIG=my.yaml"], ['--config "my.yaml"', "--parts arc", "--epochs 3"], []),
    (["LANG=basque", "TREEBANKS=there"], [f'--source "{ROOT / "there"}"', "-o models/basque-grandparent.nonproj"], []),
    (["LANG=latin"], [UNIVERSAL], ["encoder", "vectors", "--source", "--related", "--archive"]),
    (["LANG=latin", "ARCHIVE=there.tar", "ARGS=--resume -v"], ['--archive "there.tar"', "--resume -v"], []),
    (["LANG=greek"], ['--config "configs/greek.yaml"'], []),
    (["LANG=tamil", "PARTS=third"], [UNIVERSAL], []),
    (["LANG=tamil", "CONFIG="], [], ["--config"]),
    (["LANG=old church slavonic"], ['fetch.py "old church slavonic"', "models/old_church_slavonic-grandparent"], []),
    (["LANG=English"], ["models/english-ewt-grandparent.nonproj"], []),
    (["LANG=latin", "ENCODER=e5-small", "DATA=my data"], [f'encoder={FETCH_ENCODER} "my data") &&', *FINE_TUNED], []),
    (["LANG=latin", "VECTORS=e5-small"], [f'vectors={FETCH_ENCODER} "data") &&', *WITH_VECTORS], ["train-encoder"]),
    (["LANG=multilingual", "ENCODER=e5-small", "WITH=tamil UD_Gothic-PROIEL"], JOINED, ["--related"]),
]


@pytest.mark.parametrize(("words", "present", "absent"), MADE)
def test_options_pass_through(words, present, absent):
    made = planned("train", *words)
    assert not [part for part in present if part not in made] + [part for part in absent if part in made]


def test_unknown_options_are_refused_before_anything_is_installed():
    for words, message in (
        ("VECTORS=glove", "VECTORS=glove is not known; known: e5-small"),
        ("ENCODER=e5-smal", "ENCODER=e5-smal is not a known encoder; known: minilm e5-small"),
        ("LANG=multilingual", "make train LANG=multilingual ENCODER=e5-small"),
        ("LANG=multilingual ENCODER=minilm", "make train LANG=multilingual ENCODER=e5-small"),
    ):
        result = make("train", *words.split())
        assert result.returncode == 2 and result.stdout == "" and message in result.stderr


def test_several_folders_of_treebanks():
    folders, words = f"{ROOT / 'there'}:{ROOT / 'my data'}:/other", ("TREEBANKS=there:my data:/other", "LANG=tamil")
    assert f'--source "{folders}"' in planned("train", *words)
    assert make("--eval=probe: ; @echo $$NONPROJ_TREEBANKS", "probe", *words).stdout == f"{folders}\n"


def test_make_knows_the_treebanks_that_can_be_fetched():
    known = re.search(r"LANG is one of: ([a-z -]+); or", make().stdout)[1].split()
    with imported("treebanks") as (treebanks,):
        assert sorted(known) == sorted(treebanks.TREEBANKS) and set(treebanks.RELEASED) < set(known)


def test_a_missing_treebank_is_reported_before_anything_is_installed(tmp_path):
    copied(tmp_path, "data_scripts")
    for words, message in (
        (("LANG=klingon",), "fetch klingon: no treebank is known by this name"),
        (("LANG=welsh", "ARCHIVE=none.tar.gz"), "fetch welsh: none.tar.gz: no such file or folder"),
        (("LANG=danish", "TREEBANKS=none"), f"fetch danish: {tmp_path / 'none'}: no such folder"),
    ):
        result = make("train", f"PYTHON={sys.executable}", *words, folder=tmp_path)
        assert result.returncode == 2 and message in result.stderr
        assert not (tmp_path / ".venv").exists() and not (tmp_path / "models").exists()


def test_what_only_tests_need_is_installed_for_them():
    """And for the tools of those who work on the project, but not for training and parsing."""
    assert "[test]" not in planned("setup", "train", "parse", "evaluate", "VENV=none")
    for target in ("test", "lint", "types", "test-bounds", "test-packaging", "setup-workbench", "setup-systems"):
        assert "'.[test]'" in planned(target, "VENV=none"), target


def test_an_old_python_is_refused(tmp_path):
    copied(tmp_path)
    program(tmp_path / "old", "[ $# = 1 ] && echo Python 3.9.1 && exit; exit 1")
    for name, message in (("old", "Python 3.11 or newer is needed, Python 3.9.1 found"), ("no", "is not installed")):
        result = make("setup", f"PYTHON={tmp_path / name}", folder=tmp_path)
        assert result.returncode == 2 and message in result.stderr
        assert not (tmp_path / ".venv").exists()


def test_a_missing_model_is_named(tmp_path):
    (copied(tmp_path) / ".venv").mkdir()
    for name in (".ready", ".warm"):
        (tmp_path / ".venv" / name).touch()
    result = make("evaluate", "LANG=dutch", "PARTS=arc", folder=tmp_path)
    assert result.returncode == 2
    assert "there is no models/dutch-arc.nonproj; create it with: make train LANG=dutch PARTS=arc" in result.stderr


TARGETS = ["lint", "test", "setup-workbench", "setup-systems", "test-bounds", "test-systems-bounds", "test-systems"]
TARGETS += ["test-workbench", "test-research", "test-packaging", "types", "types-workbench", "types-systems"]
"""Targets that .ci/run makes, in this order."""

BESIDE = set(TARGETS[4:])
"""The targets of two lanes, each with half as many processes; whichever is free takes the next one."""

CHANGED = {"test-research", "test-packaging", "test-bounds", "test-systems-bounds"}
"""The targets that are made only if something has changed."""

HANG = "echo did $@; case $1 in {}) exec sleep 300;; {}) sleep 1; exit 1;; esac"


def commit(folder: Path) -> None:
    """Commit everything in a folder."""
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def ci(folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run .ci/run of a copy, with the folder's own make."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "BASE"} | {"PATH": path} | environment
    options = {"env": environment, "cwd": "/", "capture_output": True, "text": True, "check": False}
    return subprocess.run([folder / ".ci" / "run", "JOBS=3"], **options)


KERNELS = ["nonproj/dual/search.py", "nonproj/trees/projective.py", "systems/nonproj_systems/tsp/one_tree.py"]
"""Modules with kernels."""


def copy_ci(folder: Path, make: str) -> None:
    """Commit .ci/run to a separate repository, with a script in place of make, and modules with kernels."""
    for name in (".ci", "bin", "nonproj/parts", *(str(Path(name).parent) for name in KERNELS)):
        (folder / name).mkdir(parents=True)
    for name in KERNELS:
        (folder / name).write_text("@kernel\ndef f(): pass\n", encoding="utf-8")
    (folder / "nonproj" / "parts" / "base.py").write_text("# no @kernel\n", encoding="utf-8")
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci")
    program(folder / "bin" / "make", make)
    commit(folder)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
@pytest.mark.parametrize(
    ("make", "code", "said", "last"),
    [
        ("echo did $@", 0, TARGETS, ""),
        ("echo did $@; test $1 != lint", 1, ["lint"], "FAILED: make lint"),
        ("echo did $@; test $1 != setup-systems", 1, TARGETS[:4], "FAILED: make setup-systems"),
        (HANG.format("types", "test-bounds"), 1, TARGETS[:11], "FAILED: make test-bounds"),
        (HANG.format("test-systems", "test-packaging"), 1, TARGETS[:10], "FAILED: make test-packaging"),
        ("echo did $@; touch x", 1, TARGETS, "FAILED: the tests changed the checkout"),
    ],
)
def test_continuous_integration_stops_at_the_first_fault(make, code, said, last, tmp_path):
    """The first fault ends everything that still runs."""
    copy_ci(tmp_path, f"echo $$ >>'{tmp_path}.made'; {make}")
    result = ci(tmp_path)
    done = re.findall(r"^did (\S+)(.*)$", result.stdout, re.MULTILINE)
    expected = [(target, " JOBS=3 JOBS=2" if target in BESIDE else " JOBS=3") for target in said]
    assert done[:4] == expected[:4] and sorted(done) == sorted(expected)
    assert "".join(result.stderr.splitlines()[-1:]) == last
    assert (result.returncode, "\npassed: " in result.stdout) == (code, code == 0)
    made = Path(f"{tmp_path}.made").read_text().split()
    assert len(made) == len(said)
    work_until_end(list(map(int, made)))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
def test_continuous_integration_makes_what_has_changed(tmp_path):
    """The tests of folders, and bounds checks of the packages with modules of kernels that have changed."""

    def made(**environment: str) -> dict[str, str]:
        result = ci(tmp_path, **environment)
        found = dict(re.findall(r"^did (\S+) .*: (.*)$", result.stdout, re.MULTILINE))
        assert result.returncode == 0 and set(TARGETS) - CHANGED <= found.keys()
        return {name: found[name] if name.endswith("bounds") else "" for name in CHANGED & found.keys()}

    copy_ci(tmp_path, 'echo "did $@: $BOUNDS"')
    folders = {"test-research": "", "test-packaging": ""}
    kernels = {"test-bounds": "dual trees", "test-systems-bounds": "dual trees"}
    assert made() == made(BASE="nowhere") == folders | kernels and made(BASE="HEAD") == {}
    for name, expected in [
        ("tests/new.py", {}),
        ("research/new.py", {"test-research": ""}),
        ("nonproj/parts/base.py", {}),
        ("nonproj/trees/projective.py", {"test-bounds": "trees"}),
        ("systems/nonproj_systems/tsp/one_tree.py", {"test-systems-bounds": ""}),
        ("nonproj/types.py", kernels),
    ]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with open(tmp_path / name, "a", encoding="utf-8") as stream:
            stream.write("# changed\n")
        commit(tmp_path)
        assert made() == expected, name
    assert made(BASE="HEAD~5") == {"test-research": ""} | kernels


def test_bounds_are_checked_by_the_tests_of_the_packages_named():
    made = planned("test-bounds", "BOUNDS=trees linear", "JOBS=1").splitlines()[-1]
    assert " tests/learning/test_learning.py tests/trees" in made and "tests/dual" not in made
    assert "pytest" not in planned("test-bounds", "BOUNDS=text").splitlines()[-1], "it would run all tests"
    few, everything = (planned("test-bounds", "BOUNDS=dual", *words).splitlines()[-1] for words in ([], ["QUICK="]))
    assert "dual/test_arrays.py" in few and "test_full" not in few and " tests/dual " in everything


def test_tests_run_on_as_many_cores_as_asked_for():
    assert " -n 2" in planned("test")
    for jobs, options in (("JOBS=5", [" -n 5"]), ("JOBS=1", [])):
        commands = [line for line in planned(*TESTS, jobs).splitlines() if " -m pytest " in line]
        assert len(commands) >= len(TESTS) - 1
        assert all(re.findall(r" -n \d+", line) == options for line in commands), jobs


def test_related_treebanks_are_fetched_before_anything_is_installed():
    lines = planned("train", "LANG=wolof", "WITH=tamil UD_Gothic-PROIEL", "ARCHIVE=there.tar").splitlines()
    fetched = next(i for i, line in enumerate(lines) if 'fetch.py "tamil"' in line)
    assert 'fetch.py "UD_Gothic-PROIEL"' in lines[fetched] and "there.tar" not in lines[fetched]
    train = next(i for i, line in enumerate(lines) if 'nonproj" train' in line)
    assert lines[train].count("--related") == 2 and fetched < train
    assert not any('nonproj" compile' in line for line in lines[:fetched])


def test_an_encoder_that_has_learnt_from_many_treebanks(tmp_path):
    copied(tmp_path, "data_scripts", "configs")
    words = "train", "-n", "LANG=tamil", "ENCODER=multilingual"
    missing = make(*words, folder=tmp_path)
    assert missing.returncode == 2
    assert "create it with: make train LANG=multilingual PARTS=grandparent ENCODER=e5-small" in missing.stderr
    (tmp_path / "models").mkdir()
    (tmp_path / "models/multilingual-grandparent-e5-small.nonproj").touch()
    made = make(*words, folder=tmp_path).stdout
    assert 'encoder="models/multilingual-grandparent-e5-small.nonproj"' in made and "fetch_encoder" not in made
    assert "-o models/tamil-grandparent-multilingual.nonproj" in made
    assert make("-n", "evaluate", "LANG=tamil", "ENCODER=multilingual", folder=tmp_path).returncode == 0
