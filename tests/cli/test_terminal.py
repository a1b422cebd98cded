"""A terminal shows control characters and changes of direction of a file; files and pipes get them unchanged."""

from pathlib import Path

import pytest
from command import on_terminal, run_copy
from pieces import work_in

NASTY = "a\x1b[2J\x07\x9b31m\u202eb\u2066c\u2028d\u200fe"
SHOWN = r"a\x1b[2J\x07\x9b31m\u202eb\u2066c\u2028d" + "\u200fe"
TREE = f"# text = {NASTY} x\n1\t{NASTY}\t_\tN\tN\t_\t2\t{NASTY}\t_\t{NASTY}\n2\tx\t_\tN\tN\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def here(toy_folder, tmp_path, monkeypatch) -> Path:
    """A folder to work in, with a tree, a malformed one, and a file with an odd name."""
    work_in(tmp_path, toy_folder, monkeypatch)
    Path("t").write_text(TREE, encoding="utf-8")
    Path("broken").write_text(TREE.replace("2\tx", f"{NASTY}\tx"), encoding="utf-8")
    Path(f"no{NASTY}").write_text("", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("parse toy.nonproj t --no-tag -q", 3),
        ("parse toy.nonproj t --no-tag -q -o /dev/stdout --format jsonl", 0),  # JSON has escapes of its own
        ("parse toy.nonproj t --no-tag -q -o /dev/stdout", 3),
        ("parse toy.nonproj broken -q", 1),
        ("parse toy.nonproj broken --on-error skip -q", 1),
        (f"parse toy.nonproj no{NASTY}none", 1),
        (f"parse -q toy.nonproj t -o /none/{NASTY}", 1),
        ("show t", 2),
        ("evaluate t t --errors", 1),
        ("evaluate t t --errors --json", 0),
    ],
)
def test_a_terminal_shows_what_it_must_not_obey(here, words, count):
    shown = on_terminal(*words.split(" "))
    assert not set(shown) & (set("\x07\x9b\u202e\u2066\u2028\r")) and "\x1b[2J" not in shown
    assert shown.count(r"\u202eb") >= count and ("show" in words or "\x1b" not in shown)


def test_files_and_pipes_get_texts_unchanged(here):
    piped = run_copy("nonproj", *["parse", "toy.nonproj", "t", "--no-tag", "-q"]).stdout
    assert piped.count(NASTY) == 3
    assert on_terminal(*["parse", "toy.nonproj", "t", "--no-tag", "-q"]) == piped.replace(NASTY, SHOWN)
    Path("crlf").write_text(TREE.replace("\n", "\r\n"), newline="", encoding="utf-8")
    assert r"\x0d" not in on_terminal(*["parse", "toy.nonproj", "crlf", "--no-tag", "-q"])
