"""The help of commands: what they do, an example, the usual options, and all of them on demand."""

import shlex

import pytest

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
