"""Treebanks of Universal Dependencies by the name of a language, from a server like the one of the repositories."""

import functools
import http.server
import io
import pathlib
import sys
import tarfile
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = b"# Summary\n\n=== Machine-readable metadata\nLicense: CC BY-SA 4.0\n"


@pytest.fixture
def scripts(monkeypatch):
    """The modules `fetch` and `universal`, and the class of their errors."""
    monkeypatch.syspath_prepend(str(ROOT / "data_scripts"))
    import fetch
    import treebanks
    import universal

    yield fetch, universal, treebanks.TreebankError
    for name in ("convert_ddt", "convert_nltk", "convert_ud", "fetch", "multilingual", "treebanks", "universal"):
        sys.modules.pop(name)


@pytest.fixture
def host(scripts, tmp_path, monkeypatch):
    """A folder whose files a server provides, in place of the host of the repositories."""
    folder = tmp_path / "host"
    folder.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(scripts[1], "HOST", f"http://127.0.0.1:{server.server_port}")
        yield folder
        server.shutdown()


def repository(name, **parts):
    """The files of a repository; parts are named as in ``train`` or ``train_a_1``."""
    code = {"German": "de", "Czech": "cs", "Xibe": "sjo"}[name.partition("-")[0].removeprefix("UD_")]
    stem = f"{code}_{name.partition('-')[2].lower()}-ud"
    files = {f"{stem}-{part.replace('_', '-')}.conllu": text.encode() for part, text in parts.items()}
    beside = {"README.md": README, "LICENSE.txt": b"a licence", f"not-to-release/{stem}-train.conllu": b"old"}
    return files | beside | {"stats.xml": b"<x/>"}


def archive(folder, name, files):
    """Put the archive of a repository where the host has it."""
    path = folder / name / "archive/refs/tags/r2.12.tar.gz"
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as packed:
        for member, data in files.items():
            info = tarfile.TarInfo(f"{name}-r2.12/{member}")
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("German", "UD_German-GSD"),
        ("de", "UD_German-GSD"),
        ("german-hdt", "UD_German-HDT"),
        ("old church slavonic", "UD_Old_Church_Slavonic-PROIEL"),
        ("Old_East_Slavic", "UD_Old_East_Slavic-TOROT"),
        ("sme", "UD_North_Sami-Giella"),
        ("UD_Xibe-XDT", "UD_Xibe-XDT"),
    ],
)
def test_a_name_stands_for_a_treebank(scripts, name, taken):
    assert scripts[1].choice_of(name).taken == taken


def test_no_two_names_are_the_same(scripts):
    rows = scripts[1].languages()
    codes = [code for code, _ in rows.values()]
    every = [each for _, repositories in rows.values() for each in repositories]
    assert len(set(codes)) == len(codes) > 70 and len(set(every)) == len(every) > 130
    assert {"de", "fr", "es", "zh", "ar", "ru", "cs", "en"} <= set(codes)
    assert not set(codes) & {name.lower() for name in rows} and scripts[1].table().count("\n") == len(rows)


def test_unknown_names_are_corrected(scripts, tmp_path, capsys):
    for name, advice in (("germna", "did you mean german"), ("klingon", "a language in English, its code, or UD_")):
        assert scripts[0].main([name, "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"fetch {name}: no treebank is known by this name: {advice}")
        assert "--list" in error and error.count("\n") == 1


def test_a_language_is_fetched_and_recorded(scripts, host, tmp_path, capsys):
    files = repository("UD_German-GSD", train="1\ta\n\n", dev="1\tb\n\n", test="1\tc\n\n")
    archive(host, "UD_German-GSD", files)
    out = tmp_path / "my data"
    assert scripts[0].main(["german", "--out", str(out)]) == 0
    told = capsys.readouterr().err.splitlines()
    first = "Universal Dependencies 2.12 has UD_German-GSD and UD_German-HDT: name another to take it"
    assert told[0] == f"german: taking UD_German-GSD; {first}" and told[1].endswith("/r2.12.tar.gz")
    folder = out / "UD_German-GSD-r2.12"
    assert told[2] == f"{folder}: licence CC BY-SA 4.0; digests in SHA256SUMS" and len(told) == 3
    names = [f"de_gsd-ud-{part}.conllu" for part in ("train", "test", "dev")]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "LICENSE.txt", "README.md", "SHA256SUMS"])
    assert all((folder / name).read_bytes() == files[name] for name in names)
    for path in host.rglob("*.tar.gz"):
        path.unlink()
    assert scripts[0].main(["de", "--out", str(out), "--paths"]) == 0
    assert capsys.readouterr() == ("".join(f"{folder / name}\n" for name in names), "")
    (folder / names[0]).write_bytes(b"1\tx\n\n")
    assert scripts[0].main(["de", "--out", str(out), "--paths"]) == 2
    assert "SHA-256 is" in capsys.readouterr().err


def test_the_record_of_a_model_names_release_and_licence(scripts, host, tmp_path):
    from nonproj.cli.treebanks import describe

    archive(host, "UD_German-GSD", repository("UD_German-GSD", train="1\ta\n\n", test="1\tc\n\n"))
    train, test = scripts[0].fetch("german", tmp_path)
    assert describe(str(train), "0" * 64) == ("UD German GSD 2.12", "CC BY-SA 4.0", "de") and test.is_file()


def test_training_files_in_pieces_are_joined(scripts, host, tmp_path):
    pieces = {"train_b_1": "1\tb\n", "train_a_1": "1\ta\n\n", "train_a_2": "1\tA\n\n", "test": "1\tt\n\n"}
    archive(host, "UD_Czech-PDT", repository("UD_Czech-PDT", **pieces))
    train, test = scripts[0].fetch("UD_Czech-PDT", tmp_path)
    assert train.name == "cs_pdt-ud-train.conllu" and train.read_bytes() == b"1\ta\n\n1\tA\n\n1\tb\n\n"
    assert test.read_bytes() == b"1\tt\n\n"


def test_what_cannot_be_trained_on_is_refused(scripts, host, tmp_path):
    archive(host, "UD_Xibe-XDT", repository("UD_Xibe-XDT", test="1\tt\n\n"))
    with pytest.raises(scripts[2], match="UD_Xibe-XDT has no training file; name another treebank"):
        scripts[0].fetch("UD_Xibe-XDT", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_a_network_there_is_advice(scripts, host, tmp_path, monkeypatch):
    with pytest.raises(scripts[2]) as caught:
        scripts[0].fetch("german", tmp_path)
    assert "(File not found); without a network, name a folder that contains UD_German-GSD (" in str(caught.value)
    source = archive(host, "elsewhere", repository("UD_German-GSD", train="1\ta\n\n", test="1\tc\n\n"))
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
