"""The command line and its files: none is lost with any standard streams, and swapped or wrong files get a hint."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tqdm
from command import ROOT, Terminal, run_copy
from instances import seeds
from toy import treebank

from nonproj.cli.main import main
from nonproj.io import conll

SMALL = ["--config", str(ROOT / "configs" / "smoke.yaml"), "--epochs", "1", "--parts", "arc", "-qq"]


@pytest.fixture
def here(model_of, tmp_path, monkeypatch) -> Path:
    """A folder to work in, with a model ``m``, a treebank ``t`` and a configuration ``c``."""
    shutil.copy(model_of("small"), tmp_path / "m")
    (tmp_path / "t").write_text(treebank(5), encoding="utf-8")
    (tmp_path / "c").write_text("{treebank: {train: t, test: t2, held_out: 0.0}, training: {epochs: 1}}")
    (tmp_path / "t2").write_text(treebank(2), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def shell(command: str, **options) -> subprocess.CompletedProcess:
    """Run a command of the shell, in which nonproj is the program."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = ["bash", "-c", f'nonproj() {{ {shlex.quote(sys.executable)} -m nonproj "$@"; }}\n{command}']
    return subprocess.run(words, capture_output=True, env=environment, check=False, timeout=200, **options)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("parse m t -o m", "m: output is the same file as the model"),
        ("parse m t -o twin", "twin: output is the same file as the model"),
        ("parse m t --stats m", "m: --stats is the same file as the model"),
        ("parse m t --stats t", "t: --stats is the same file as the input"),
        ("parse m t -o o --stats o", "o: --stats is the same file as the output"),
        ("parse m t --stats -", "<stdout>: --stats is the same file as the output"),
        ("parse m t -o /dev/stdout --stats /dev/fd/1", "/dev/fd/1: --stats is the same file as the output"),
        ("train t -o t", "t: model is the same file as the treebank"),
        ("train t -c c -o c", "c: model is the same file as the configuration"),
        ("train -c c -o t2", "t2: model is the same file as the test file"),
        ("train t --held-out t2 -o t2", "t2: model is the same file as the held-out file"),
        ("train z.checkpoint -o z", "z.checkpoint: checkpoint is the same file as the treebank"),
        ("train t --set features.folder=. -o t2", "t2: model is the same file as the template file t2"),
        ("train t -o -", "-: a model needs a file name"),
        ("show t -o t", "t: output is the same file as the input"),
        ("show t --course", "--course: needs a model: -m MODEL"),
    ],
)
def test_no_output_is_an_input(here, capsys, words, message):
    os.link("m", "twin")
    (here / "z.checkpoint").write_bytes(Path("t").read_bytes())
    before = contents(here)
    assert main(words.split()) == 2
    assert capsys.readouterr() == ("", f"nonproj: {message}\n")
    assert contents(here) == before


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("f/sub", "parse m in -o f"),
        ("f/sub/b.conllu", "parse m in -o f -j 2"),
        ("f/parse.partial", "parse m in -o f --resume"),
        ("n.checkpoint", f"train t -o n {' '.join(SMALL)}"),
        ("n.log", f"train t -o n {' '.join(SMALL[:-1])}"),
        ("n.text1.conllu", f"distil m text --treebank t -o n {' '.join(SMALL)}"),
        ("f/nonproj_model_x-1.0-py3-none-any.whl", "package m -o f --name x --package-version 1.0 --licence MIT"),
    ],
)
def test_links_are_followed_only_if_the_user_names_them(here, capsys, link, words):
    """An archive may have put them beside what he names."""
    for folder in ("in/sub", "f", "elsewhere"):
        Path(folder).mkdir(parents=True)
    Path("in/sub/b.conllu").write_text(treebank(2), encoding="utf-8")
    Path("text").write_text("Det regner.\n")
    Path("victim").write_text("mine")
    Path(link).parent.mkdir(exist_ok=True)
    Path(link).symlink_to(here / ("elsewhere" if link == "f/sub" else "victim"))
    assert main(words.split()) == 2
    message = f"nonproj: {link}: is a link, which is followed only if you name it yourself; remove it\n"
    assert capsys.readouterr() == ("", message)
    assert Path("victim").read_text() == "mine" and not list(Path("elsewhere").iterdir())


def test_a_link_that_the_user_names_is_followed(here):
    for path in ("elsewhere", "in"):
        Path(path).mkdir()
    Path("in/b.conllu").write_text(treebank(2), encoding="utf-8")
    Path("f").symlink_to("elsewhere")
    Path("n").symlink_to("elsewhere/n")
    assert main(["parse", "m", "in", "-o", "f", "-qq"]) == 0
    assert main(["train", "t", "-o", "n", *SMALL]) == 0
    assert Path("f").is_symlink() and Path("n").is_symlink()
    assert sorted(path.name for path in Path("elsewhere").iterdir()) == ["b.conllu", "n"]


def test_a_log_leaves_a_file_of_another_name_alone(here, capsys):
    Path("victim").write_text("mine")
    os.link("victim", "n.log")
    assert main(["train", "t", "-o", "n", *SMALL[:-1]]) == 2
    assert "n.log: has other names (hard links), under which it would change, too; remove it" in capsys.readouterr().err
    assert Path("victim").read_text() == "mine"


def test_standard_output_is_not_the_input(here):
    before = contents(here)
    for words in ("parse m t", "parse m t -o /dev/stdout", "parse m"):
        with open("t", "ab") as output, open("t", "rb") as source:
            result = run_copy("nonproj", *words.split(), stdin=source, stdout=output)
        assert result.returncode == 2 and "output is the same file as the input" in result.stderr
        assert contents(here) == before


@pytest.mark.parametrize(
    ("name", "mode", "jobs"), [("-", "ab", []), ("/dev/stdout", "wb", ["-j2"]), ("/dev/fd/1", "wb", [])]
)
def test_redirected_output_is_not_truncated(here, name, mode, jobs):
    assert main(["parse", "m", "t", "-o", "out"]) == 0
    with open("file", mode, buffering=0) as file:
        file.write(b"before\n")
        assert run_copy("nonproj", "parse", "m", "t", "-o", name, *jobs, stdout=file).returncode == 0
        file.write(b"after\n")
    assert Path("file").read_text() == f"before\n{Path('out').read_text()}after\n"


@pytest.mark.thorough
def test_a_model_may_be_written_to_a_pipe(here):
    assert shell(f"nonproj train t -o >(cat >n) {' '.join(SMALL)}; wait $!").returncode == 0
    assert main(["inspect", "n", "--verify", "--json"]) == 0
    assert not [name for name in os.listdir() if "checkpoint" in name]


CLOSED = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("parse m t >&-", 2, "nonproj: standard output is closed\n"),
        ("parse m t -o out >&-", 0, ""),
        ("parse m t -o out >&- <&-", 0, ""),
        ("parse m t -o out --jobs 2 >&- <&-", 0, ""),
        ("parse m t -o out --stats - >&-", 2, "nonproj: standard output is closed\n"),
        ("parse m -o out <&-", 2, "nonproj: <stdin>: this stream is closed\n"),
        ("evaluate t - <&-", 2, "nonproj: <stdin>: this stream is closed\n"),
        ("inspect m --json >&-", 2, "nonproj: standard output is closed\n"),
        ("--help >&-", 2, "nonproj: standard output is closed\n"),
        ("inspect none 2>&-", 2, ""),
    ],
)
def test_closed_streams(here, command, code, message):
    """In a new interpreter where it may matter to its start, and otherwise in a copy of this process."""
    if command == "parse m t -o out >&- <&-":
        result = shell(f"nonproj {command}", encoding="utf-8")
    else:
        closed = {name: None for name, redirection in CLOSED.items() if redirection in command.split()}
        result = run_copy("nonproj", *(word for word in command.split() if not word.endswith("&-")), **closed)
    assert (result.returncode, result.stderr) == (code, message)
    if not code:
        assert main(["parse", "m", "t", "-o", "again"]) == 0
        assert Path("again").read_bytes() == Path("out").read_bytes()
    assert not [name for name in os.listdir() if name.startswith(".nonproj")]


def test_names_that_are_not_utf8(here, capsys):
    name = os.fsdecode(b"caf\xe9\n\x1b")
    os.rename("t", name)
    assert main(["parse", "m", name, "-o", "out", "--stats", "s"]) == 0
    lines = Path("s").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 5 and json.loads(lines[0])["path"] == "caf\\udce9\n\x1b"
    assert main(["parse", "m", name + "x"]) == 2
    assert capsys.readouterr().err == "nonproj: caf\\udce9\\n\\x1bx: no such file\n"
    Path(os.fsdecode(b"\xe9")).write_bytes(Path("t2").read_bytes())
    given = ([name, "--json"], [os.fsdecode(b"\xe9")])
    results = [run_copy("nonproj", "evaluate", "t2", "t2", *words) for words in given]
    assert not any("Traceback" in result.stderr for result in results)
    assert "\\udce9" in "".join(result.stdout for result in results)


def test_enhanced_dependencies(here, capsys):
    text = re.sub(r"\d+\t\w+\t_\t_\n", "0\troot\t0:root\t_\n", treebank(5))  # of a tree that no sentence gets
    first, rest = text.split("\n\n", 1)
    node = "\t".join([f"{len(first.splitlines())}.1", "x", *"______", "0:root", "Copy=1"])
    Path("enhanced").write_text(f"{first}\n{node}\n\n{rest}")
    line = f"the enhanced dependencies of {text.count('0:root')} words and 1 empty node, which belong to the tree"
    for jobs in ([], ["--jobs", "2"], ["--resume"]):
        capsys.readouterr()
        assert main(["parse", "m", "enhanced", "-o", "dropped", *jobs]) == 0
        assert f"{line} of the input, are left out; --deps keep keeps them\n" in capsys.readouterr().err
        assert main(["parse", "m", "enhanced", "-o", "kept", "--deps", "keep", *jobs]) == 0
        assert "enhanced" not in capsys.readouterr().err
        for before, dropped, kept in zip(*map(conll.read, ("enhanced", "dropped", "kept")), strict=True):
            assert [row[8] for row in kept.rows] == [row[8] for row in before.rows]
            assert {row[8] for row in dropped.rows} == {"_"}


def test_a_limit_of_lines(here, capsys):
    for command in ("parse m t", "parse m t --jobs 2", "evaluate t t", "evaluate -m m t", "train t -o n"):
        assert main([*command.split(), "--max-line", "20"]) == 2
        message = "t:1: a line of more than 20 bytes; --max-line sets this limit"
        assert capsys.readouterr() == ("", f"nonproj: {message}\n")
    assert main(["parse", "m", "t", "--max-line", "200"]) == 0


@pytest.mark.thorough
def test_memory_is_bounded_for_a_gzip_bomb(here):
    result = shell("head -c 300000000 /dev/zero | gzip -1 >bomb; ulimit -d 250000; nonproj parse m bomb -o out")
    assert result.stderr == b"nonproj: bomb:1: a line of more than 1048576 bytes; --max-line sets this limit\n"


def test_swapped_files_and_raw_text(here, capsys):
    Path("raw").write_text("Det regner i dag.\n")
    Path("blanks").write_text("1-2    a    _    _    _    _    _    _    _    _\n")
    before, columns = set(os.listdir()), "ten columns between tabs: a file of CoNLL-U is parsed without"
    commands = dict.fromkeys(
        ("parse t m", "parse -m t m", "evaluate -m t m"), r"t: .*; m is one: did you swap the two\?"
    )
    of_texts = ("parse m m", "parse --text m m", "evaluate -m m m", "evaluate t m", "show m", "train m -o new")
    commands |= dict.fromkeys(of_texts, "m: a model of nonproj; a treebank or a text is expected here")
    commands["parse m raw"] = "raw:1: 1 column, 10 expected; plain text is parsed by 'nonproj parse --text'"
    commands["parse m blanks"] = "blanks:1: 1 column, 10 expected; columns are separated by tabs, not by spaces"
    commands |= {
        f"parse m t -o out {way}": f"t:1: {columns} {way.split()[0]}" for way in ("--text", "--lines -j 2", "--words")
    }
    for words, message in commands.items():
        assert main(words.split()) == 2
        assert re.fullmatch(f"nonproj: {message}\n", capsys.readouterr().err)
        assert set(os.listdir()) == before


def test_training_with_held_out_sentences_of_punctuation_only(here, capsys):
    Path("held").write_text("1\t.\t_\t.\t.\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    assert main(["train", "t", "-o", "new", "--held-out", "held", *SMALL[:-1], "-v", "--set", "tagger.epochs=0"]) == 0
    assert "held-out UAS –, LAS –, certified 100.0 %" in capsys.readouterr().err


def test_long_arguments_make_short_messages(capsys):
    with pytest.raises(SystemExit):
        main(["parse", "--" + "x\n" * 10**5])
    assert len(capsys.readouterr().err) < 2000


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_progress_bar_knows_the_size_of_the_file(here, monkeypatch, pack):
    text, steps = pack(Path("t").read_bytes() * len(seeds(400))), []
    Path("long").write_bytes(text)

    class Bar(tqdm.tqdm):
        def update(self, n=1):
            steps.append(n)
            assert self.total == len(text) and self.unit == "B" and n >= 0
            return super().update(n)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    monkeypatch.setattr(sys, "stderr", Terminal())
    for command in ("parse m long -o out", "evaluate -m m long"):
        steps.clear()
        assert main(command.split()) == 0
        assert sum(steps) == len(text)


# -- outputs that cannot be written ------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        *("parse -q m t -o /dev/full", "parse -q m t -o out --stats /dev/full", "parse -q m t", "show t"),
        *("evaluate t t --json", "evaluate t t", "inspect m"),
    ],
)
def test_a_full_device_is_named(words, here):
    with open("/dev/full", "wb") as full:
        done = run_copy("nonproj", *words.split(), stdout=full)
    name = "/dev/full" if "/dev/full" in words else "<stdout>"
    assert (done.returncode, done.stderr) == (2, f"nonproj: {name}: cannot be written: no space left on device\n")
    assert not Path("out").exists()


def test_training_tries_its_folder_before_it_reads_anything(here, capsys, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("nonproj.io.temporary._temporary", refuse)
        assert main(["train", "no-treebank", "-o", "new"]) == 2
    assert main(["train", "no-treebank", "-o", "new"]) == 2
    denied = "nonproj: new: cannot be written: permission denied\n"
    assert capsys.readouterr().err == f"{denied}nonproj: no-treebank: no such file\n"
    assert sorted(path.name for path in here.iterdir()) == ["c", "m", "t", "t2"]
