"""Many treebanks in one: what is taken of each, and what is left out."""

import pathlib
import subprocess
import sys

import pytest

from nonproj.components.confidence import held_out
from nonproj.io import conll

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "data_scripts" / "fetch.py"
SENTENCE = """\
# text = {0} du menim
1-2	{0}du	_	_	_	_	_	_	_	_
1	{0}	{0}	VERB	VB	Number=Sing	0	root	0:root	_
2	du	du	PRON	PN	_	1	nsubj:pass	1:nsubj:pass	SpaceAfter=No
2.1	e	e	PRON	PN	_	_	_	1:obj	_
3	menim	menim	NOUN	NN	_	1	obl	_	_

"""


def treebank(folder, name, code, **parts):
    """Write a treebank of sentences that each have a word of their own."""
    (folder / name).mkdir()
    for part, words in parts.items():
        text = "".join(SENTENCE.format(word) for word in words)
        (folder / name / f"{code}-ud-{part}.conllu").write_text(text)


@pytest.fixture
def folder(tmp_path):
    """Two treebanks; the first one's development and test file have a sentence of the other's training file each."""
    train = [f"a{i}" for i in range(40)]
    treebank(tmp_path, "Xibe-XDT", "sjo_xdt", train=train, test=["b3", "c"], dev=["b4"])
    treebank(tmp_path, "German-GSD", "de_gsd", train=[f"b{i}" for i in range(6000)], test=[f"t{i}" for i in range(30)])
    return tmp_path


def joined(folder, *names):
    """Join treebanks; return the sentences to learn from and to test on, and the messages."""
    options = ["--source", folder, "--out", folder / "out"]  # in the order of the Makefile
    command = [sys.executable, SCRIPT, "multilingual", *options, *names, "--paths"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return *(conll.read_all(path) for path in result.stdout.splitlines()), result.stderr


def test_treebanks_are_joined(folder):
    train, test, messages = joined(folder, "UD_Xibe-XDT", "UD_German-GSD")
    first = [sentence.forms[0] for sentence in train]
    assert messages == "" and len(test) == 2 + 20
    assert not {"b3", "b4", "c"} & set(first)
    rows = {tuple(row[3:]) for sentence in train for row in sentence.rows if row[1] == "du"}
    assert rows == {("PRON", "_", "_", "1", "nsubj", "_", "_")}
    assert not any(line.startswith(("#", "1-2", "2.1")) for sentence in train for line in sentence.lines)
    large = [form for form in first if form[0] == "b"]
    assert 16_000 <= 3 * len(large) < 16_003 and len(set(large)) == len(large)
    assert first != sorted(first)
    again = joined(folder, "UD_Xibe-XDT", "UD_German-GSD")[0]
    assert [sentence.rows for sentence in again] == [sentence.rows for sentence in train]


def test_small_treebanks_count_twice_and_keep_sentences_for_confidence(folder):
    train, _, _ = joined(folder, "UD_Xibe-XDT")
    first = sorted(sentence.forms[0] for sentence in train)
    seen = {f"a{i}" for i, out in enumerate(held_out(40, 0.1)) if not out}
    assert set(first) == seen and len(first) == 2 * len(seen) < 80


def test_a_missing_treebank_is_named(folder):
    command = [sys.executable, SCRIPT, "multilingual", "UD_Xibe-XDT", "klingon", "--source", folder]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and result.stderr.startswith("fetch multilingual: klingon: no treebank is known")
    assert result.stderr.count("\n") == 1
    for words, message in (
        (["tamil", "wolof"], "only multilingual consists of several treebanks"),
        (["multilingual", "--archive", "there.tar.gz"], "multilingual is made from several archives"),
    ):
        result = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
        assert result.returncode == 2 and message in result.stderr
