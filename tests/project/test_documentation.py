"""The README and the documentation, checked against the program."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from scripts import make_files, program

import nonproj
from nonproj.cli.main import build_parser, parse_arguments
from nonproj.cli.plugins import WORKBENCH
from nonproj.options.config import options
from nonproj.text.segmenter import Segmenter

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
OUTSIDE = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")]
NAMES = ["research/*.md", "research/attack/README.md", "research/results/*.md", "research/benchmarks/*.md"]
NAMES += ["packaging/*.md", "docs/**/*.md"]
NAMES += [f"{name}/{page}" for name in ("systems", "workbench") for page in ("README.md", "[a-z]*/*.md")]
PAGES = sorted([*OUTSIDE, *(path for name in NAMES for path in ROOT.glob(name))])
GUIDES = ("coming-from", "confidence", "graphs", "constraints", "nbest", "python", "scores", "spacy")
RUN_HERE = ["README.md", *(f"docs/{name}.md" for name in GUIDES)]


def name_of(path: Path) -> str:
    """Return the name of a file in the repository."""
    return path.relative_to(ROOT).as_posix()


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of code of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_of) -> Path:
    """Return a folder with the treebanks and the model that the pages name."""
    folder = make_files(tmp_path_factory.mktemp("documentation"), model_of("complete"))
    (folder / "models").mkdir()
    shutil.copy(folder / "my.nonproj", folder / "models" / "turkish-grandparent.nonproj")
    return folder


@pytest.mark.parametrize("name", RUN_HERE)
def test_the_snippets_of_a_page_run(name, folder, monkeypatch, capsys):
    if name == "docs/spacy.md":
        pytest.importorskip("spacy")
        import nonproj.integrations.spacy  # noqa: F401 registers the component where the package is not installed
    monkeypatch.chdir(folder)
    code = "\n".join(blocks((ROOT / name).read_text(encoding="utf-8"), "python"))
    exec(compile(code.replace("epochs=5", "epochs=1, folds=0, bits=16"), name, "exec"), {})  # the pages are our own
    shown = {"docs/python.md": "'punct')]", "docs/spacy.md": "'punct', ", "docs/nbest.md": "[2 3 0"}
    assert shown.get(name, "") in capsys.readouterr().out


def test_all_pages_with_snippets_are_run():
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    run = {*RUN_HERE, *re.findall(r'run_page\("(.*?)"', tests)}
    with_snippets = {name_of(path) for path in PAGES if "```python\n" in path.read_text(encoding="utf-8")}
    assert {name for name in with_snippets if not name.startswith(("systems/", "workbench/"))} == run


def test_commands_of_the_pages_parse():
    """The workbench's pages are checked by its own tests."""
    found = 0
    for path in (path for path in PAGES if not path.is_relative_to(ROOT / "workbench")):
        for block in blocks(path.read_text(encoding="utf-8"), "sh"):
            for command in re.findall(r"(?:^|\| )(nonproj (?:(?! \| ).)+)", block.replace("\\\n", " "), re.MULTILINE):
                words = shlex.split(command.split(" # ")[0].split(" > ")[0])[1:]
                assert parse_arguments(words).command == words[0], f"{path}: {command}"
                found += 1
    assert found > 30


def test_targets_of_the_pages_exist():
    makefiles = "".join(path.read_text() for path in (ROOT / "Makefile", *ROOT.glob("*/targets.mk")))
    targets = set(re.findall(r"^([a-z][a-z-]*)(?:%)?:", makefiles, re.MULTILINE))
    named = {word for path in PAGES for word in re.findall(r"(?:^|`)make ([a-z-]+)", path.read_text(), re.MULTILINE)}
    assert {"train", "test", "lint"} <= named
    assert {"reproduce" if name.startswith("reproduce-") else name for name in named} <= targets


def links(path: Path) -> list[Path]:
    """Return the files to which a page has links."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [path.parent / target for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)]


def test_links_exist():
    assert not [(name_of(path), target) for path in PAGES for target in links(path) if not target.exists()]


def test_every_page_is_in_a_table_of_contents():
    listed = []
    for path in PAGES:
        for block in re.findall(r"```{toctree}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed += [name_of((path.parent / f"{entry}.md").resolve()) for entry in entries]
    assert len(listed) == len(set(listed)) < 80, "the sidebar has a link to each"
    beside = re.search(r'_BESIDE = re.compile\(r"(.*)"\)', (DOCS / "conf.py").read_text(encoding="utf-8"))[1]
    apart = {name for name in map(name_of, PAGES) if re.fullmatch(beside, name.removesuffix(".md"))}
    assert set(listed) == {name_of(path) for path in PAGES} - {"docs/index.md"} - apart
    linked = {place.resolve() for path in PAGES if name_of(path) not in apart for place in links(path)}
    assert {ROOT / name for name in apart} <= linked


def test_guides_are_short():
    """But for the reference, which is generated, and the start page with its tables of contents."""
    guides = [path for path in DOCS.glob("*.md") if path.stem not in ("commands", "index")]
    assert not [path for path in guides if path.read_text(encoding="utf-8").count("\n") > 150]


PAGES_OF_CODE = ["options", "advanced-options", "commands"]


@pytest.mark.parametrize("name", PAGES_OF_CODE)
def test_the_reference_is_that_of_the_code(name):
    module = program(DOCS / "reference.py")
    expected = dict(zip(PAGES_OF_CODE, (module.option_page, module.advanced_page, module.command_page), strict=True))
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == expected[name](), "run: python docs/reference.py"


def test_the_reference_names_all_options_and_commands():
    """By the schema and the parser themselves, not by the program that wrote the pages."""
    text = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("options.md", "advanced-options.md"))
    assert len(list(options())) <= 65, "another option is another promise: which one goes?"
    for name, option in options():
        row = rf"^\| `{re.escape(name)}` \| \S+ \| {re.escape(option.help)} \| "
        assert len(re.findall(row, text, re.MULTILINE)) == 1, name
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    for name, command in build_parser(()).commands.items():
        assert f"\n## nonproj {name}" in text or name in WORKBENCH and f"`{name}`" in text
        for word in (word for action in command.arguments for word in action.option_strings):
            assert f"`{word}" in text, word


@pytest.mark.parametrize("finder", ["rules", "trained"])
def test_the_text_of_the_readme_has_the_sentences_it_promises(finder):
    """By rules, and by the segmenter of the model that the README uses."""
    text, count = re.search(r'doc = nlp\("(.*?)"\)\nlen\(doc\.sentences\)  # (\d)', README).groups()
    segmenter = Segmenter.unicode() if finder == "rules" else nonproj.load().parser.segmenter
    sentences = [sentence.forms for sentence in segmenter.segment(text)]
    assert len(sentences) == int(count) > 1
    assert "".join(map("".join, sentences)) == text.replace(" ", "")
    assert all(words[-1] == "." for words in sentences)
