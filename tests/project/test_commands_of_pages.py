"""The commands on pages of the documentation, run in their order, in a folder with the files that they name."""

import gzip
import importlib
import os
import re
import shlex
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest
from command import kept_kernels
from toy import raw_treebank, treebank

from nonproj.cli.main import main, parse_arguments
from nonproj.cli.package import contents_of
from nonproj.model.model import Model
from nonproj.model.wheel import write_wheel

ROOT = Path(__file__).resolve().parents[2]
TEXT = "den hund ser kat. den kat jager hus.\n"
NEEDED = {"--ud": "udapi", ".pdf": "matplotlib", ".png": "matplotlib", ".parquet": "pyarrow"}
"""Packages that commands with these words need."""

ABSENT = [part for part, package in NEEDED.items() if importlib.util.find_spec(package) is None]


def commands(page: str, heading: str = "") -> list[str]:
    """Return the commands of the blocks of a page, or of those under a heading."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    if heading:
        text = re.split(r"^## ", text.partition(f"\n## {heading}\n")[2], flags=re.MULTILINE)[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    found = [re.sub(r"\s+# .*", "", line) for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    assert found, f"{page}: {heading}"
    return found


@pytest.fixture
def folder(model_of, tmp_path, monkeypatch) -> Path:
    """A folder with the files that the pages name."""
    for name, count, seed in (("train", 40, 0), ("test", 8, 1), ("dev", 8, 2), ("in", 8, 1), ("gold", 8, 1)):
        (tmp_path / f"{name}.conllu").write_text(raw_treebank(count, seed), encoding="utf-8")
    for name in ("models", "texts", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "in.conll.gz").write_bytes(gzip.compress(treebank(8, 1).encode()))
    for name in ("my", "models/turkish-grandparent", "models/german-grandparent"):
        shutil.copy(model_of("confident"), tmp_path / f"{name}.nonproj")
    for name in ("book", "story", "texts/book"):
        (tmp_path / f"{name}.txt").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["parse", "-m", "my.nonproj", "in.conllu", "-o", "out.conllu", "-q"]) == 0
    copies = {"in.conllu": ("data/in.conllu", "extra.conll")}
    copies["out.conllu"] = ("other.conllu", "a.conllu", "b.conllu", "parsed.conllu")
    for source, name in ((source, name) for source, names in copies.items() for name in names):
        shutil.copy(source, name)
    return tmp_path


def check(commands: list[list[str]], capfd) -> None:
    """Run commands, which succeed."""
    assert commands
    for _, *words in commands:
        assert main(words) == 0, f"{words}\n{capfd.readouterr().err}"


PAGES = [("files.md", ""), ("pictures.md", ""), ("text.md", ""), ("../README.md", "On the command line")]


@pytest.mark.parametrize(("page", "heading"), PAGES)
def test_commands_of_a_page_succeed(page, heading, folder, capfd):
    first = (folder / "gold.conllu").read_text(encoding="utf-8").partition("# sent_id = ")[2].partition("\n")[0]
    found = [shlex.split(line.replace("weblog-17", first)) for line in commands(page, heading)]
    found = [words for words in found if words[0] == "nonproj" and not {"|", "--scheduler"} & set(words)]
    check([words for words in found if not any(part in " ".join(words) for part in ABSENT)], capfd)


def test_commands_beside_those_of_other_programs_succeed(folder, capfd):
    page = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| nonproj \| (.*) \|$", page, re.MULTILINE)
    found = [shlex.split(each) for row in rows for each in re.findall(r"`(nonproj .*?)`", row)]
    (train,) = [words for words in found if words[1] == "train"]
    assert parse_arguments(train[1:]).output == "my.nonproj" and len(found) >= 5
    check([words for words in found if words != train and ("--ud" not in words or "--ud" not in ABSENT)], capfd)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_packages_and_the_first_tree_in_an_empty_environment(model_of, folder, tmp_path_factory, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    empty = tmp_path_factory.mktemp("empty")
    environment = importlib.import_module("environment").Environment(empty)
    sys.modules.pop("environment")
    (packages,) = (empty / "env" / "lib").glob("python*/site-packages")
    (packages / "here.pth").write_text("\n".join([str(ROOT), *site.getsitepackages()]), encoding="utf-8")
    programs = {"nonproj": '"$PYTHON" -m nonproj', "pip": f'"{sys.executable}" -m pip --python "$PYTHON"'}
    for name, command in programs.items():
        program = empty / "env" / "bin" / name
        program.write_text(f'#!/bin/sh\nPYTHON="{environment.python}"\nexec {command} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    (tree,) = [line for line in commands("installation.md", "From an empty machine to the first tree") if "|" in line]
    block = "\n".join(commands("models.md", "Packages"))

    def run(script):
        path = os.pathsep.join([str(empty / "env" / "bin"), os.environ["PATH"]])
        variables = {"PATH": path, "PIP_NO_INDEX": "1", "HOME": str(empty / "home")} | kept_kernels()
        words = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def is_tree(text):
        return len(re.findall(r"^\d+\t\S+\t.*\t\d+\t\S+\t_\t", text, re.MULTILINE)) == 9

    assert is_tree(run(tree))
    code = "import nonproj; print(len(nonproj.load()('It rains. It rains.').sentences))"
    assert environment.run(environment.python, "-c", code).strip() == "2"
    assert re.search(r"^faroese +nonproj-model-faroese +1\.0\.0 ", run(block), re.MULTILINE)
    assert (folder / "out.conllu").stat().st_mtime_ns > (folder / "a.conllu").stat().st_mtime_ns
    wheel = write_wheel(contents_of(Model.load(model_of("confident")), "english", "1.0.0"), folder)
    environment.install("--no-index", "--no-deps", str(wheel))
    assert is_tree(run(tree))
