"""The pages of the workbench, which must keep up with the program."""

import importlib.util
import re
import shlex
from pathlib import Path

from nonproj.cli.main import parse_arguments
from nonproj.cli.plugins import WORKBENCH as COMMANDS

WORKBENCH = Path(__file__).resolve().parents[2]
PAGES = sorted([WORKBENCH / "README.md", *WORKBENCH.glob("docs/*.md")])


def test_commands_of_the_pages_parse():
    found = 0
    for path in PAGES:
        for block in re.findall(r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            for command in re.findall(r"^(nonproj .+)$", block.replace("\\\n", " "), re.MULTILINE):
                words = shlex.split(command.split(" # ")[0].split(" > ")[0])[1:]
                assert parse_arguments(words).command == words[0], f"{path}: {command}"
                found += 1
    assert found >= 9


def test_all_pages_with_snippets_are_run():
    tests = "".join(path.read_text(encoding="utf-8") for path in (WORKBENCH / "tests").rglob("test_*.py"))
    found = {f"workbench/docs/{path.name}" for path in PAGES if "```python\n" in path.read_text(encoding="utf-8")}
    assert found == set(re.findall(r'run_page\("(.*?)"', tests))


def test_the_reference_is_that_of_the_code():
    spec = importlib.util.spec_from_file_location("workbench_reference", WORKBENCH / "docs" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (WORKBENCH / "docs" / "commands.md").read_text(encoding="utf-8")
    assert text == module.page(), "run: python workbench/docs/reference.py"
    assert re.findall("^## (.*)$", text, re.MULTILINE) == ["All commands", *(f"nonproj {name}" for name in COMMANDS)]
