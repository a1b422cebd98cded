"""Completion in a shell, by the package shtab."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from nonproj.cli.main import build_parser

shtab = pytest.importorskip("shtab")
BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pa"], ["package", "parse"]),
        (["parse", "--nb"], ["--nbest"]),
        (["parse", "--on-error", ""], ["skip", "stop"]),
        (["parse", "-m", "da"], ["danish.nonproj", "data"]),
        (["evaluate", "go"], ["gold.conllu"]),
        (["package", "danish.nonproj", "--licence", "da"], []),
    ],
    ids=" ".join,
)
def test_bash_completes_commands_options_values_and_files(words, expected, tmp_path):
    for name in ("danish.nonproj", "gold.conllu"):
        (tmp_path / name).touch()
    (tmp_path / "data").mkdir()
    script = shtab.complete(build_parser(), shell="bash")
    quoted = " ".join(f"'{word}'" for word in words)
    script += f"\nCOMP_WORDS=(nonproj {quoted}); COMP_CWORD={len(words)}; _shtab_nonproj\n"
    script += 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    result = subprocess.run([BASH, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sorted(line.rstrip("/") for line in result.stdout.splitlines() if line) == expected


@pytest.mark.parametrize("shell", shtab.SUPPORTED_SHELLS)
def test_all_shells_have_a_script_with_files(shell):
    assert "nonproj" in shtab.complete(build_parser(), shell=shell)
    (model,) = (each for each in build_parser().commands["evaluate"].arguments if each.dest == "model")
    assert model.complete[shell] == shtab.FILE[shell]
