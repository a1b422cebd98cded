"""Fetching and converting treebanks: known bytes, or an error with advice."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys

import pytest
from scripts import SCRIPTS, archive_of, imported, zipped

EMPTY = hashlib.sha256(b"").hexdigest()


@pytest.fixture
def scripts():
    """The modules of data_scripts, as its programs see each other."""
    with imported("convert_ddt", "convert_nltk", "convert_ud", "fetch", "treebanks") as modules:
        yield dict(zip(("ddt", "nltk", "ud", "fetch", "treebanks"), modules, strict=True))


@pytest.fixture
def run(scripts, capsys, monkeypatch):
    """Run the program of a module; return its exit code and what it writes."""
    monkeypatch.delenv("NONPROJ_TREEBANKS", raising=False)

    def run_main(module, *arguments):
        capsys.readouterr()
        return scripts[module].main([str(argument) for argument in arguments]), *capsys.readouterr()

    return run_main


@pytest.fixture
def replace(scripts, monkeypatch):
    """Replace facts of a known treebank, and return it."""

    def set_facts(language, **facts):
        treebank = scripts["treebanks"].TREEBANKS[language]._replace(**facts)
        monkeypatch.setitem(scripts["treebanks"].TREEBANKS, language, treebank)
        return treebank

    return set_facts


# The Danish Dependency Treebank

TEXT = """\
<tei.2>
<s>
<W lemma="det" msd="PP3NSU-NU" in="2:subj|4:[subj]" out="">Det</W>
<p>
<W lemma="regne" msd="VADR=----A-" in="" out="-2:subj|1:pnct">reg ner</W>
<W lemma="." msd="XP" in="-1:pnct" out="">.</W>
</s>
<W lemma="&amp;" msd="CC" in="1:&lt;mod&gt;|-3:ref" out=""> &amp; </W>
<W lemma="saa" msd="RGU" in="-2:x|-1:[y]" out="">s\xe5</W>
<W lemma="store" msd="ANP[CN]PU=[DI]U" in="-1:mod|-2:late" out="">store</W>
"""


def test_a_small_text(scripts):
    first, second = scripts["ddt"].sentences(TEXT)
    expected = (
        "1 Det _ P PP person=3|gender=neuter|number=sing|case=unmarked|reflexive=no|register=unmarked 2 subj _ _\n"
    )
    expected += "2 regner _ V VA mood=indic|tense=present|voice=active 0 ROOT _ _\n3 . _ X XP _ 2 pnct _ _\n\n"
    assert first.replace("\t", " ") == expected
    tag = "degree=pos|gender=common/neuter|number=plur|case=unmarked|def=def/indef|transcat=unmarked"
    assert [line.split("\t")[1:8] for line in second.splitlines()[:-1]] == [
        ["&", "_", "C", "CC", "_", "2", "<mod>"],
        ["s\xe5", "_", "RG", "RG", "degree=unmarked", "0", "ROOT"],  # its primary edge points at markup
        ["store", "_", "A", "AN", tag, "2", "mod"],  # the first of two heads
    ]


def test_sentences_end_where_no_edge_passes(scripts):
    words = [scripts["ddt"].Word("x", "XP", edges) for edges in ([(2, "a")], [], [], [], [(3, "b"), (5, "c")], [], [])]
    assert list(scripts["ddt"].cut(words)) == [(0, 3), (3, 6), (6, 7)]
    assert list(scripts["ddt"].cut([])) == []


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        ("ddt", ["a.tar.gz"], "a.tar.gz: not a readable tar archive"),
        ("ddt", ["none.tar.gz"], "none.tar.gz: not a readable tar archive"),
        ("ddt", ["empty"], "empty: holds no files named like 0001-dk.tag"),
        ("ddt", ["dk"], "dk: 0001-dk.tag is not a DTAG file"),
        ("nltk", ["english-wsj", "a.zip"], "a.zip: not a readable zip archive"),
        ("nltk", ["basque", "b.zip"], "eus.train and eus.test expected, only eus.train found"),
        ("nltk", ["english-wsj", "c.zip"], "c.zip: holds no files named like wsj_"),
        ("nltk", ["english-wsj", "d.zip"], "wsj_0001.dp: three columns expected in 'a b'"),
        ("ud", ["greek", "a.tar.gz"], "a.tar.gz: not a readable tar archive"),
        ("ud", ["greek", "b.tar.gz"], "b.tar.gz: holds no file el_gdt-ud-test.conllu; an archive of"),
        ("ud", ["english-ewt", "c.tar.gz"], "holds no file not-to-release/sources/email/none.xml.conllu"),
    ],
)
def test_sources_that_are_none(run, tmp_path, monkeypatch, module, words, message):
    monkeypatch.chdir(tmp_path)
    for folder in ("dk", "empty"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a.tar.gz").write_bytes(b"x" * 600)
    (tmp_path / "a.zip").write_bytes(b"PK")
    (tmp_path / "dk" / "0001-dk.tag").write_bytes(b'<W msd="QQZ" in="x:y">x</W>\n')
    zipped(tmp_path / "b.zip", {"eus.train": ""})
    zipped(tmp_path / "c.zip", {"x": "y"})
    zipped(tmp_path / "d.zip", {"wsj_0001.dp": "a b\n"})
    archive_of(tmp_path / "b.tar.gz", "b", {"el_gdt-ud-train.conllu": b"1"})
    archive_of(tmp_path / "c.tar.gz", "c", {"not-to-release/file-lists/files.train": b"email/none.xml.conllu\n"})
    code, output, error = run(module, *words, "--out", "out")
    assert (code, output, error.count("\n")) == (2, "", 1)
    assert error.startswith(f"convert_{module}: {words[-1]}: ") and message in error
    assert not (tmp_path / "out").exists()


# Basque and English


@pytest.mark.thorough
def test_basque_is_recoded(scripts, tmp_path, treebanks):
    expected = [(treebanks / name).read_bytes() for name in scripts["treebanks"].TREEBANKS["basque"][:2]]
    names = ("conll2007/eus.train", "conll2007/eus.test")
    latin = {name: data.decode().encode("latin-1") for name, data in zip(names, expected, strict=True)}
    source = zipped(tmp_path / "conll2007.zip", latin)
    assert list(scripts["nltk"].convert_basque(source)) == expected


@pytest.mark.thorough
def test_english_gets_its_columns(scripts, tmp_path, treebanks):
    """The way back: three columns from our file, cut into files of 20 sentences, make our file again."""
    expected = [(treebanks / name).read_text() for name in scripts["treebanks"].TREEBANKS["english-wsj"][:2]]
    blocks = "".join(expected).strip("\n").split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    texts = ["".join(f"{row[1]}\t{row[3]}\t{row[6]}\n" for row in block) for block in rows]
    files = ["\n".join(texts[start : start + 20]) for start in range(0, len(texts), 20)]
    members = {f"dependency_treebank/wsj_{number:04}.dp": text for number, text in enumerate(files, 1)}
    members["dependency_treebank/README"] = "not a text"
    source = zipped(tmp_path / "dependency_treebank.zip", dict(reversed(members.items())))
    assert [data.decode() for data in scripts["nltk"].convert_english(source)] == expected


# Universal Dependencies


def ewt_repository(treebanks):
    """The files of the repository, the way back: each document in a separate file, and the lists in their order."""
    members, lists = {"README.md": b"#", "not-to-release/sources/reviews/000000.xml.conllu": b"in no list"}, {}
    for part in ("train", "dev", "test"):
        text = (treebanks / "english-ewt" / f"en_ewt-ud-{part}.conllu").read_bytes()
        names = []
        for document in re.split(rb"(?m)^(?=# newdoc id)", text)[1:]:
            group, _, name = document.split(b"\n", 1)[0].decode().removeprefix("# newdoc id = ").partition("-")
            names.append(f"{group}/{name}.xml.conllu")
            members[f"not-to-release/sources/{names[-1]}"] = document
        lists[f"not-to-release/file-lists/files.{part}"] = "".join(f"{name}\n" for name in names).encode()
    return dict(reversed((members | lists).items()))


@pytest.mark.thorough
def test_ewt_is_put_together_from_its_documents(scripts, run, tmp_path, treebanks):
    members = ewt_repository(treebanks)
    assert len(members) == 540 + 318 + 316 + 3 + 2
    source = archive_of(tmp_path / "ewt.tar.gz", "UD_English-EWT-x", members)
    assert run("ud", "english-ewt", source, "--out", tmp_path / "out") == (0, "", "")
    for name, _ in scripts["treebanks"].TREEBANKS["english-ewt"].files:
        assert (tmp_path / "out" / pathlib.Path(name).name).read_bytes() == (treebanks / name).read_bytes()


RELEASED = ("afrikaans", "galician", "gothic", "latin", "tamil", "uyghur", "vietnamese", "wolof")
OTHERS = ("basque", "danish", "dutch", "english-ewt", "english-wsj", "greek", "turkish")


@pytest.mark.thorough
@pytest.mark.parametrize("language", RELEASED)
def test_a_treebank_is_taken_from_its_repository_or_a_copy_of_it(scripts, released, tmp_path, replace, language):
    fetch, treebank = scripts["fetch"].fetch, scripts["treebanks"].TREEBANKS[language]
    copy = released / treebank.repository.removeprefix("UD_")
    names = [pathlib.Path(name).name for name, _ in treebank.files]
    assert sorted(names) == sorted(path.name for path in copy.glob("*.conllu"))  # no dev file: Galician, Latin
    assert fetch(language, tmp_path / "out", [tmp_path, released]) == tuple(copy / name for name in names)
    members = {path.name: path.read_bytes() for path in copy.iterdir()} | {"not-to-release/x.conllu": b"x"}
    source = archive_of(tmp_path / "r2.12.tar.gz", f"{treebank.repository}-r2.12", members)
    assert treebank.sources[0].endswith(f"/{treebank.repository}/archive/refs/tags/{source.name}")
    replace(language, sources=(source.as_uri(),))
    made = fetch(language, tmp_path / "out")
    assert [path.relative_to(tmp_path).as_posix() for path in made] == [f"out/{language}/{name}" for name in names]
    assert [path.read_bytes() for path in made] == [members[name] for name in names]


@pytest.mark.parametrize("name", ["tamil", "Tamil-TTB", "UD_Tamil-TTB", "."])
def test_a_treebank_may_be_in_a_folder_of_several_names(scripts, tmp_path, replace, name):
    replace("tamil", train_digest=EMPTY, test_digest=EMPTY, dev_digest=EMPTY)
    (tmp_path / "a" / name).mkdir(parents=True, exist_ok=True)
    paths = tuple(tmp_path / "a" / name / f"ta_ttb-ud-{part}.conllu" for part in ("train", "test", "dev"))
    for number, path in enumerate(paths, 1):
        path.touch()
        assert scripts["fetch"].locate("tamil", tmp_path / "a") == (paths if number == 3 else None)
    paths[0].write_text("x")
    with pytest.raises(scripts["treebanks"].TreebankError, match="SHA-256 is"):
        scripts["fetch"].locate("tamil", tmp_path / "a")


def test_several_folders_are_searched_in_turn(scripts, run, tmp_path, monkeypatch, replace):
    folders = {"latin": tmp_path / "a b", "dutch": tmp_path / "c"}
    files = {language: replace(language, train_digest=EMPTY, test_digest=EMPTY).files for language in folders}
    paths = {language: [folder / name for name, _ in files[language]] for language, folder in folders.items()}
    for path in (each for found in paths.values() for each in found):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    both = os.pathsep.join(map(str, folders.values()))
    monkeypatch.setenv("NONPROJ_TREEBANKS", both)
    for words in ([], ["--source", both]):
        for language in folders:
            expected = "".join(f"{path}\n" for path in paths[language])
            assert run("fetch", language, "--out", tmp_path / "out", "--paths", *words)[:2] == (0, expected)
    missing = f"{tmp_path}{os.pathsep}{tmp_path / 'no'}"
    code, _, error = run("fetch", "latin", "--out", tmp_path / "out", "--source", missing)
    assert (code, error.splitlines()[1:]) == (2, [f"fetch latin: {tmp_path / 'no'}: no such folder"])
    monkeypatch.delenv("NONPROJ_TREEBANKS")
    assert [folder.name for folder in scripts["fetch"].treebank_folders(None)] == ["treebanks", "ud"]


# Fetching


@pytest.mark.parametrize(
    "language", ["english", *(pytest.param(name, marks=pytest.mark.thorough) for name in OTHERS[:-1])]
)
def test_a_folder_of_treebanks_is_used_as_it_is(treebanks, language, tmp_path, scripts, run, monkeypatch):
    """English is the web treebank, whose files have labels."""
    own = scripts["treebanks"].TREEBANKS[{"english": "english-ewt"}.get(language, language)]
    code, output, error = run("fetch", language, "--out", tmp_path / "out", "--source", treebanks)
    assert (code, output, error.count("\n")) == (0, "", 1) and own.title in error
    monkeypatch.setenv("NONPROJ_TREEBANKS", str(treebanks))
    code, output, _ = run("fetch", language, "--out", tmp_path / "out", "--paths")
    assert (code, output.splitlines()) == (0, [str(treebanks / name) for name, _ in own.files])
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_urls_are_downloaded_and_converted(treebanks, tmp_path, scripts, replace):
    """Fetch as from the network, with local files behind the URLs; what was made is found again, unless damaged."""
    fetch, greek = scripts["fetch"].fetch, {path.name: path.read_bytes() for path in (treebanks / "greek").iterdir()}
    sources = {
        "dutch": [treebanks / name for name in scripts["treebanks"].TREEBANKS["dutch"][:2]],
        "danish": [treebanks / "danish/ddt-1.0-tag.tar.gz"],
        "greek": [archive_of(tmp_path / "1485f849d.tar.gz", "UD_Greek-GDT", greek)],
    }
    for language, paths in sources.items():
        treebank = replace(language, sources=tuple(path.as_uri() for path in paths))
        paths = fetch(language, tmp_path / "out")
        assert [path.read_bytes() for path in paths] == [(treebanks / name).read_bytes() for name, _ in treebank.files]
        assert fetch(language, tmp_path / "out") == paths
        paths[0].write_bytes(paths[0].read_bytes()[:-1])
        with pytest.raises(scripts["treebanks"].TreebankError, match="SHA-256 is"):
            fetch(language, tmp_path / "out")
    assert not [path for path in (tmp_path / "out").rglob("*") if path.name.startswith(".")]


def test_downloads_that_fail_say_what_to_do(run, tmp_path, replace):
    missing = (tmp_path / "none.zip").as_uri()
    first, second = (name for name, _ in replace("basque", sources=(missing,)).files)
    code, output, error = run("fetch", "basque", "--out", tmp_path / "out", "--source", tmp_path)
    advice = f"without a network, name a folder with {first} and {second} (TREEBANKS=FOLDER or --source FOLDER), "
    advice += "or a copy of that source (ARCHIVE=FILE or --archive FILE); "
    advice += "'make train' alone trains on a Turkish treebank of the package index"
    assert (code, output) == (2, "") and not (tmp_path / "out").exists()
    assert re.search(
        rf"^fetch basque: {missing} cannot be downloaded \(.*\); {re.escape(advice)}$", error, re.MULTILINE
    )


def test_the_wrong_archive_is_refused(run, tmp_path):
    source, missing = zipped(tmp_path / "conll2007.zip", {"eus.train": b"1", "eus.test": b"2"}), tmp_path / "no"
    for language, words, told in (
        ("basque", ["--archive", source], "made from conll2007.zip: SHA-256 is "),
        ("dutch", ["--archive", missing], f"fetch dutch: {missing}: no such file or folder\n"),
        ("dutch", ["--source", missing], f"fetch dutch: {missing}: no such folder\n"),
    ):
        code, _, error = run("fetch", language, "--out", tmp_path / "out", *words)
        assert code == 2 and told in error and not (tmp_path / "out").exists()


def test_turkish_is_split_reproducibly(scripts, tmp_path):
    blocks = [f"# text = {number}\n1\tx\n" for number in range(25)]
    source = zipped(tmp_path / "turkish.whl", {"data/web.conllu": "\n".join(blocks).rstrip("\n")})
    train, test = (data.decode() for data in scripts["fetch"].convert_turkish(source))
    assert test == "".join(blocks[number] + "\n" for number in (9, 19))
    assert train == "".join(block + "\n" for number, block in enumerate(blocks) if number not in (9, 19))
    with pytest.raises(scripts["treebanks"].TreebankError, match="not the wheel of turkish-treebanks"):
        scripts["fetch"].convert_turkish(zipped(tmp_path / "b.whl", {"x": "y"}))


def test_packages_come_through_pip(scripts, tmp_path, monkeypatch):
    seen = []

    def pip(command, **_):
        seen.append(command)
        (pathlib.Path(command[command.index("--dest") + 1]) / "good-1.whl").write_bytes(b"")
        return subprocess.CompletedProcess(command, 0, "", "WARNING: w\n")

    monkeypatch.setattr(scripts["fetch"].subprocess, "run", pip)
    assert scripts["fetch"].download("good==1", tmp_path).name == "good-1.whl"
    assert seen[0][1:5] == ["-P", "-m", "pip", "download"] and not any("://" in part for part in seen[0])


def test_every_treebank_is_described(scripts):
    table = scripts["treebanks"].TREEBANKS
    assert sorted(table) == sorted(scripts["fetch"].CONVERTERS) == sorted((*OTHERS, *RELEASED))
    assert scripts["treebanks"].RELEASED == RELEASED
    for language, treebank in table.items():
        assert len(treebank.files) in (2, 3)
        for name, digest in treebank.files:
            assert name.startswith(f"{language.removesuffix('-wsj')}/") and re.fullmatch("[0-9a-f]{64}", digest)


def test_scripts_need_nothing_but_python(tmp_path):
    """They run before the package is installed: without site packages and from any folder."""
    for name in ("fetch.py", "convert_ddt.py", "convert_nltk.py", "convert_ud.py"):
        command = [sys.executable, "-E", "-s", "-S", str(SCRIPTS / name), "--help"]
        result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert result.returncode == 0 and result.stdout.startswith("usage:"), result.stderr
    lines = [line for path in SCRIPTS.glob("*.py") for line in path.read_text().splitlines() if "import" in line]
    assert "nonproj" not in "".join(lines)
