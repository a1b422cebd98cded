"""The pages of the systems, which must keep up with the program."""

import importlib.util
import re
import shlex
from pathlib import Path

from nonproj.cli.main import parse_arguments as parse_nonproj
from nonproj_systems.cli import parse_arguments
from research.experiments.provenance import sections

ROOT = Path(__file__).resolve().parents[3]

SYSTEMS = ROOT / "systems"
PAGES = sorted([SYSTEMS / "README.md", *SYSTEMS.glob("docs/*.md")])

SECTIONS = {name: section for name, section in sections().items() if section[0].startswith("systems/")}


def test_all_pages_with_snippets_are_run():
    tests = "".join(path.read_text(encoding="utf-8") for path in (SYSTEMS / "tests").rglob("test_*.py"))
    run = set(re.findall(r'run_page\("(.*?)"', tests))
    assert {p.relative_to(ROOT).as_posix() for p in PAGES if "```python\n" in p.read_text(encoding="utf-8")} == run


def test_commands_of_the_pages_parse():
    found = 0
    for path in PAGES:
        for block in re.findall(r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            for command in re.findall(r"(?:^|\| )(nonproj(?:-systems)? .+)$", block.replace("\\\n", " "), re.MULTILINE):
                program, *words = shlex.split(command.split(" # ")[0].split(" > ")[0])
                parse = parse_arguments if program == "nonproj-systems" else parse_nonproj
                assert parse(words).command == words[0], f"{path}: {command}"
                found += 1
    assert found > 10


def test_the_reference_is_that_of_the_code():
    spec = importlib.util.spec_from_file_location("systems_reference", SYSTEMS / "docs" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (SYSTEMS / "docs" / "commands.md").read_text(encoding="utf-8")
    assert text == module.page(), "run: python systems/docs/reference.py"
    assert len(re.findall("^## nonproj-systems ", text, re.MULTILINE)) == 9


def test_every_page_of_results_has_a_record_and_every_experiment_a_page():
    present = sorted((SYSTEMS / "results").glob("*.md"))
    assert sorted(SECTIONS) == [path.stem for path in present]
    for path in present:
        assert path.read_text(encoding="utf-8").count("Made from: ") == 1, path
