"""The help of commands: what they do, an example, the usual options; completion in a shell, by the package shtab."""

import shlex
import shutil
import subprocess

import pytest
import shtab

from nonproj.cli.main import build_parser, main, parse_arguments
from nonproj.cli.plugins import WORKBENCH

COMMANDS = {name: each for name, each in build_parser(()).commands.items() if name not in WORKBENCH}
COMMON = {"help", "help_all", "verbose", "quiet"}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_help_has_few_options_and_an_example(command):
    shown = [each for each in command.arguments if each not in command.rare and each.dest not in COMMON]
    text = command.format_help()
    assert all(each.option_strings[0] in text for each in shown if each.option_strings)
    assert sum(bool(each.option_strings) for each in shown) <= 12
    if any(each.dest not in COMMON | {"json"} for each in command.arguments):
        example = text.rstrip().rpartition("\nexample: ")[2].replace("\n", " ").rpartition("| ")[2]
        words = shlex.split(example)[1:]
        assert parse_arguments(words).command == words[0] == command.prog.split()[1]


def test_rare_options_are_shown_on_demand(capsys):
    for words, rare in ((["parse", "--help"], False), (["parse", "--help-all"], True)):
        with pytest.raises(SystemExit, match="0"):
            main(words)
        assert ("--max-line BYTES" in capsys.readouterr().out) == rare


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
