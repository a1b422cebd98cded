"""Treebanks of Universal Dependencies by the name of a language, as from their host; and many treebanks in one."""

import itertools
import pathlib
import subprocess
import sys

import pytest
from scripts import SCRIPTS, archive_of, imported

from nonproj.cli.treebanks import describe
from nonproj.components.confidence import held_out
from nonproj.io import conll

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = b"# Summary\n\n=== Machine-readable metadata\nLicense: CC BY-SA 4.0\n"


@pytest.fixture
def scripts():
    """The modules `fetch` and `universal`, and the class of their errors."""
    with imported("fetch", "universal", "treebanks") as (fetch, universal, treebanks):
        yield fetch, universal, treebanks.TreebankError


@pytest.fixture
def host(scripts, tmp_path, monkeypatch):
    """A folder in place of the host of the repositories."""
    monkeypatch.setattr(scripts[1], "HOST", (tmp_path / "host").as_uri())
    return tmp_path / "host"


def repository(name, **parts):
    """The files of a repository; parts are named as in ``train`` or ``train_a_1``."""
    code = {"German": "de", "Czech": "cs", "Xibe": "sjo"}[name.partition("-")[0].removeprefix("UD_")]
    stem = f"{code}_{name.partition('-')[2].lower()}-ud"
    files = {f"{stem}-{part.replace('_', '-')}.conllu": text.encode() for part, text in parts.items()}
    beside = {"README.md": README, "LICENSE.txt": b"a licence", f"not-to-release/{stem}-train.conllu": b"old"}
    return files | beside | {"stats.xml": b"<x/>"}


def archive(folder, name, **parts):
    """Put the archive of a repository where the host has it."""
    files = repository(name, **parts)
    return archive_of(folder / name / "archive/refs/tags/r2.12.tar.gz", f"{name}-r2.12", files)


TAKEN = {"German": "German-GSD", "de": "German-GSD", "german-hdt": "German-HDT", "sme": "North_Sami-Giella"}
TAKEN |= {"old church slavonic": "Old_Church_Slavonic-PROIEL", "Old_East_Slavic": "Old_East_Slavic-TOROT"}


@pytest.mark.parametrize(("name", "taken"), [*TAKEN.items(), ("UD_Xibe-XDT", "Xibe-XDT")])
def test_a_name_stands_for_a_treebank(scripts, name, taken):
    assert scripts[1].choice_of(name).taken == f"UD_{taken}"


def test_no_two_names_are_the_same(scripts):
    rows = scripts[1].languages()
    codes, repositories = zip(*rows.values(), strict=True)
    every = list(itertools.chain(*repositories))
    assert len(set(codes)) == len(codes) > 70 and len(set(every)) == len(every) > 130
    assert not set(codes) & {name.lower() for name in rows} and scripts[1].table().count("\n") == len(rows)


def test_unknown_names_are_corrected(scripts, tmp_path, capsys):
    for name, advice in (("germna", "did you mean german"), ("klingon", "a language in English, its code, or UD_")):
        assert scripts[0].main([name, "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"fetch {name}: no treebank is known by this name: {advice}")
        assert "--list" in error and error.count("\n") == 1


def test_a_language_is_fetched_and_recorded(scripts, host, tmp_path, capsys):
    archive(host, "UD_German-GSD", train="1\ta\n\n", dev="1\tb\n\n", test="1\tc\n\n")
    out = tmp_path / "my data"
    assert scripts[0].main(["german", "--out", str(out)]) == 0
    told = capsys.readouterr().err.splitlines()
    first = "Universal Dependencies 2.12 has UD_German-GSD and UD_German-HDT: name another to take it"
    assert told[0] == f"german: taking UD_German-GSD; {first}" and told[1].endswith("/r2.12.tar.gz")
    folder = out / "UD_German-GSD-r2.12"
    assert told[2] == f"{folder}: licence CC BY-SA 4.0; digests in SHA256SUMS" and len(told) == 3
    names = [f"de_gsd-ud-{part}.conllu" for part in ("train", "test", "dev")]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "LICENSE.txt", "README.md", "SHA256SUMS"])
    assert [(folder / name).read_bytes() for name in names] == [b"1\ta\n\n", b"1\tc\n\n", b"1\tb\n\n"]
    assert describe(str(folder / names[0]), "0" * 64) == ("UD German GSD 2.12", "CC BY-SA 4.0", "de")
    for path in host.rglob("*.tar.gz"):
        path.unlink()
    assert scripts[0].main(["de", "--out", str(out), "--paths"]) == 0
    assert capsys.readouterr() == ("".join(f"{folder / name}\n" for name in names), "")
    (folder / names[0]).write_bytes(b"1\tx\n\n")
    assert scripts[0].main(["de", "--out", str(out), "--paths"]) == 2
    assert "SHA-256 is" in capsys.readouterr().err


def test_training_files_in_pieces_are_joined(scripts, host, tmp_path):
    pieces = {"train_b_1": "1\tb\n", "train_a_1": "1\ta\n\n", "train_a_2": "1\tA\n\n", "test": "1\tt\n\n"}
    archive(host, "UD_Czech-PDT", **pieces)
    train, test = scripts[0].fetch("UD_Czech-PDT", tmp_path)
    assert train.name == "cs_pdt-ud-train.conllu" and train.read_bytes() == b"1\ta\n\n1\tA\n\n1\tb\n\n"
    assert test.read_bytes() == b"1\tt\n\n"


def test_what_cannot_be_trained_on_is_refused(scripts, host, tmp_path):
    archive(host, "UD_Xibe-XDT", test="1\tt\n\n")
    with pytest.raises(scripts[2], match="UD_Xibe-XDT has no training file; name another treebank"):
        scripts[0].fetch("UD_Xibe-XDT", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_a_network_there_is_advice(scripts, host, tmp_path, monkeypatch):
    with pytest.raises(scripts[2]) as caught:
        scripts[0].fetch("german", tmp_path)
    assert "cannot be downloaded (" in str(caught.value)
    assert "); without a network, name a folder that contains UD_German-GSD (" in str(caught.value)
    files = repository("UD_German-GSD", train="1\ta\n\n", test="1\tc\n\n")
    source = archive_of(tmp_path / "there.tar.gz", "x", files)
    paths = scripts[0].fetch("german", tmp_path / "out", (), source)
    assert [path.name for path in paths] == ["de_gsd-ud-train.conllu", "de_gsd-ud-test.conllu"]
    folder = paths[0].parent
    assert scripts[0].fetch("german", tmp_path / "other", [tmp_path, folder.parent]) == paths
    assert scripts[0].fetch("german", tmp_path / "other", [folder]) == paths
    assert scripts[0].fetch("german", tmp_path / "third", (), folder)[0].read_bytes() == paths[0].read_bytes()
    folder.rename(folder.with_name("German-HDT"))
    with pytest.raises(scripts[2], match="UD_German-HDT is at hand: name it instead"):
        scripts[0].fetch("german", tmp_path / "fourth", [folder.parent])
    with pytest.raises(scripts[2], match="not a readable tar archive"):
        scripts[0].fetch("german", tmp_path / "fifth", (), ROOT / "LICENSE")


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
        (folder / name / f"{code}-ud-{part}.conllu").write_text("".join(map(SENTENCE.format, words)))


@pytest.fixture
def folder(tmp_path):
    """Two treebanks; the first one's development and test file have a sentence of the other's training file each."""
    train = [f"a{i}" for i in range(40)]
    treebank(tmp_path, "Xibe-XDT", "sjo_xdt", train=train, test=["b3", "c"], dev=["b4"])
    treebank(tmp_path, "German-GSD", "de_gsd", train=[f"b{i}" for i in range(6000)], test=[f"t{i}" for i in range(30)])
    return tmp_path


@pytest.fixture
def joined(scripts, folder, capsys):
    """Join treebanks; return the sentences to learn from and to test on, and the messages."""

    def join(*names):
        options = ["--source", str(folder), "--out", str(folder / "out")]  # in the order of the Makefile
        assert scripts[0].main(["multilingual", *options, *names, "--paths"]) == 0
        output, error = capsys.readouterr()
        return *(conll.read_all(path) for path in output.splitlines()), error

    return join


def test_treebanks_are_joined(joined, folder):
    train, test, messages = joined("UD_Xibe-XDT", "UD_German-GSD")
    first = [sentence.forms[0] for sentence in train]
    assert messages == "" and len(test) == 2 + 20
    assert not {"b3", "b4", "c"} & set(first)
    rows = {tuple(row[3:]) for sentence in train for row in sentence.rows if row[1] == "du"}
    assert rows == {("PRON", "_", "_", "1", "nsubj", "_", "_")}
    assert not any(line.startswith(("#", "1-2", "2.1")) for sentence in train for line in sentence.lines)
    large = [form for form in first if form[0] == "b"]
    assert 16_000 <= 3 * len(large) < 16_003 and len(set(large)) == len(large)
    assert first != sorted(first)
    words = ["multilingual", "--source", folder, "--out", folder / "again", "UD_Xibe-XDT", "UD_German-GSD"]
    subprocess.run([sys.executable, SCRIPTS / "fetch.py", *words], check=True)  # where strings have other hashes
    again, made = ((folder / name / "multilingual").glob("*") for name in ("again", "out"))
    assert [path.read_bytes() for path in sorted(again)] == [path.read_bytes() for path in sorted(made)] != []


def test_small_treebanks_count_twice_and_keep_sentences_for_confidence(joined):
    train, _, _ = joined("UD_Xibe-XDT")
    first = sorted(sentence.forms[0] for sentence in train)
    seen = {f"a{i}" for i, out in enumerate(held_out(40, 0.1)) if not out}
    assert first == sorted([*seen, *seen]) and len(seen) < 40


def test_a_missing_treebank_is_named(scripts, folder, capsys):
    assert scripts[0].main(["multilingual", "UD_Xibe-XDT", "klingon", "--source", str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fetch multilingual: klingon: no treebank is known") and error.count("\n") == 1
    for words, message in (
        (["tamil", "wolof"], "only multilingual consists of several treebanks"),
        (["multilingual", "--archive", "there.tar.gz"], "multilingual is made from several archives"),
    ):
        with pytest.raises(SystemExit, match="2"):
            scripts[0].main(words)
        assert message in capsys.readouterr().err
