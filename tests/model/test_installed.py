"""Models installed as packages: wheels that pip installs, and what the name of a model means."""

import gzip
import importlib
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
from containers import a_model

from nonproj import __version__
from nonproj.errors import ModelError
from nonproj.model.installed import InstalledModel, _say, announced_default, default, installed, is_name, located
from nonproj.model.model import Model
from nonproj.model.wheel import WheelContents, is_version, write_wheel


def contents(name="danish", version="1.2.0", requires=(), summary='A "test" \\ model'):
    card = "# danish\n\nÆøå: a card.\n"
    return WheelContents(name, version, summary, "CC BY-SA 4.0", card, requires, a_model().to_bytes())


def install(folder, name="danish"):
    """Put the files of a wheel where pip puts them."""
    shutil.unpack_archive(write_wheel(contents(name), folder.parent), folder, "zip")


def test_pip_installs_a_wheel_whose_model_is_found_by_name(site, tmp_path):
    assert installed() == [] and installed("danish") == []
    wheel = write_wheel(contents(requires=("nonproj>=1.2",)), tmp_path)
    assert wheel.name == "nonproj_model_danish-1.2.0-py3-none-any.whl"
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(site)]
    subprocess.run([*command, str(wheel)], check=True)
    path = site / "nonproj_model_danish" / "danish.nonproj"
    assert installed() == [InstalledModel("danish", "nonproj-model-danish", "1.2.0", path)] == installed("danish")
    assert located("danish") == path and Model.load(located("danish")).labels == ["subj", "æ"]
    (found,) = (each for each in distributions() if each.name == "nonproj-model-danish")
    assert found.metadata["License"] == "CC BY-SA 4.0" and found.metadata["Summary"] == 'A "test" \\ model'
    assert found.requires == ["nonproj>=1.2"]
    assert found.metadata["Description"].strip() == "# danish\n\nÆøå: a card."
    module = importlib.import_module("nonproj_model_danish")
    assert module.__doc__ == 'A "test" \\ model' and callable(module.load)


def test_the_same_model_makes_the_same_wheel(tmp_path):
    wheel = write_wheel(contents(), tmp_path)
    one = wheel.read_bytes()
    assert write_wheel(contents(), tmp_path).read_bytes() == one
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        record = archive.read("nonproj_model_danish-1.2.0.dist-info/RECORD").decode().splitlines()
        assert [line.partition(",")[0] for line in record] == archive.namelist()


def test_a_file_comes_before_a_name_unless_both_exist(site, tmp_path):
    Path("danish").write_text("no model", encoding="utf-8")
    assert str(located("danish")) == "danish"
    install(site)
    with pytest.raises(ModelError, match=r"danish: both a file and an installed model; \./danish is the file"):
        located("danish")
    for path in ("./danish", "danish.nonproj", "missing.nonproj", str(tmp_path), site / "x"):
        assert located(path) == Path(path)
    Path("danish").unlink()
    Path("danish").mkdir()
    assert located("danish").is_relative_to(site), "a folder does not hide it"


def test_two_packages_with_one_name_are_an_error(site, tmp_path, monkeypatch):
    install(site)
    other = tmp_path / "other"
    install(other, "dansk")
    (points,) = other.glob("*.dist-info/entry_points.txt")
    points.write_text("[nonproj.models]\ndanish = nonproj_model_dansk\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(other))
    with pytest.raises(ModelError, match="several packages .* nonproj-model-danish, nonproj-model-dansk"):
        located("danish")


def test_damaged_packages_and_unknown_names(site, tmp_path):
    with pytest.raises(ModelError, match=r"klingon: no such file, .* \(none is installed\)"):
        located("klingon")
    install(site)
    with pytest.raises(ModelError, match=r"\(installed: danish\)"):
        located("klingon")
    (site / "nonproj_model_danish" / "danish.nonproj").unlink()
    with pytest.raises(ModelError, match="the package nonproj-model-danish lacks its file"):
        located("danish")


@pytest.fixture
def own(site, tmp_path):
    """The English model that comes with nonproj."""
    path = tmp_path / "own" / "english" / "english.nonproj"
    path.parent.mkdir(parents=True)
    (path.parent / "LICENSE").touch()
    path.write_bytes(gzip.compress(a_model().to_bytes()))
    return path


def test_packages_never_change_the_default_silently(own, site, tmp_path, monkeypatch):
    for name in ("danish", "greek", "english"):
        assert default() == own
        install(site, name)
    assert default() == own
    path = site / "nonproj_model_danish" / "danish.nonproj"
    for name, expected in (("danish", path), ("./x.nonproj", Path("x.nonproj"))):
        monkeypatch.setenv("NONPROJ_MODEL", name)
        assert default() == expected
    monkeypatch.setenv("NONPROJ_MODEL", "klingon")
    three = r"\(installed: danish, english, greek\)"
    with pytest.raises(ModelError, match=f"^NONPROJ_MODEL: klingon: no such file, .* {three}"):
        default()
    monkeypatch.delenv("NONPROJ_MODEL")
    own.unlink()
    with pytest.raises(ModelError, match=f"no model is named, and .* set NONPROJ_MODEL {three}"):
        default()


def test_the_default_is_announced_once(own, site, tmp_path, monkeypatch, caplog):
    _say.cache_clear()  # whatever other tests have loaded
    caplog.set_level("WARNING", "nonproj")
    assert announced_default() == announced_default() == own
    install(site)
    monkeypatch.setenv("NONPROJ_MODEL", "danish")
    assert announced_default() == announced_default() != own
    english = "parsing with english, the model that comes with nonproj"
    danish = "parsing with danish, the model of NONPROJ_MODEL"
    assert [each.getMessage() for each in caplog.records] == [english, danish]


def test_own_models_come_after_packages(own, site, tmp_path):
    bundled = InstalledModel("english", "nonproj", __version__, own)
    assert installed() == installed("english") == [bundled] and installed("danish") == []
    assert Model.load(located("english")).labels == ["subj", "æ"]
    install(site, "english")
    assert located("english") == site / "nonproj_model_english" / "english.nonproj"
    assert [each.package for each in installed()] == ["nonproj", "nonproj-model-english"]


NO_NAMES = ["", "-", "--x", "a--b", "Danish", "a b", "a/b", "../x", "x.nonproj", "æ", "a\n", "_"]
NO_VERSIONS = ["", "v1", "1.0-2", "1..0", "1.0\n", "1/2", "latest", "1.0+Ab"]


@pytest.mark.parametrize(("test", "text"), [*((is_name, x) for x in NO_NAMES), *((is_version, x) for x in NO_VERSIONS)])
def test_what_is_no_name_or_version(test, text):
    assert not test(text)
