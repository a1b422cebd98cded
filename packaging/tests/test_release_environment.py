"""The program that installs packages of models into an empty environment, with those of the golden model."""

import importlib
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command import kept_kernels

from nonproj.cli.package import contents_of
from nonproj.model.model import Model
from nonproj.model.wheel import write_wheel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def module(monkeypatch):
    """The program."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    yield importlib.import_module("environment")
    sys.modules.pop("environment", None)


@pytest.fixture
def environment(module, tmp_path, monkeypatch):
    """An environment that has nonproj, its dependencies and its kernels without an installation: the current ones."""
    for name, value in kept_kernels().items():
        monkeypatch.setenv(name, value)
    (tmp_path / "empty").mkdir()
    found = module.Environment(tmp_path / "empty")
    (packages,) = (tmp_path / "empty" / "env" / "lib").glob("python*/site-packages")
    (packages / "here.pth").write_text("\n".join([str(ROOT), *site.getsitepackages()]), encoding="utf-8")
    return found


def wheel(folder: Path, name: str, licence: str = "CC BY-SA 4.0") -> Path:
    """Write the wheel of the golden model under a name."""
    return write_wheel(
        contents_of(Model.load(ROOT / "tests" / "golden" / "model.nonproj"), name, "1.0.0", licence), folder
    )


def test_packages_are_found_by_name_and_broken_ones_are_reported(module, environment, tmp_path):
    good = [module.package_of(wheel(tmp_path, name)) for name in ("klingon", "klingon-small")]
    assert good[1][1:] == ("klingon-small", "1.0.0", "CC BY-SA 4.0")
    assert module.problems(environment, good, "den hund ser kat.\n") == []
    broken = wheel(tmp_path, "broken")
    shutil.move(broken, tmp_path / "whole.whl")
    with zipfile.ZipFile(tmp_path / "whole.whl") as source, zipfile.ZipFile(broken, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data[: len(data) // 2] if name.endswith(".nonproj") else data)
    bad = module.package_of(broken)
    found = module.problems(
        environment, [bad, good[0]._replace(licence="another"), bad._replace(name="other")], "hus\n"
    )
    assert len(found) == 5, found
    assert all(line.startswith("broken: ") and ": incomplete: " in line for line in found[:2])
    assert found[2] == "klingon: listed with version 1.0.0 and licence CC BY-SA 4.0"
    assert found[3] == "other: not listed by 'nonproj models'"
    assert found[4].startswith("other: ") and "no installed model has this name" in found[4]


def test_the_environment_is_empty(module, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(ROOT))
    found = module.Environment(tmp_path)
    assert found.run(found.python, "-c", "import os; print(os.listdir(), os.listdir(os.environ['HOME']))") == "[] []\n"
    with pytest.raises(subprocess.CalledProcessError, match="nonproj"):
        found.run(found.python, "-c", "import nonproj")


def test_a_folder_without_packages_is_refused(module, tmp_path, capsys):
    with pytest.raises(SystemExit):
        module.main([str(tmp_path)])
    assert "no package of a model" in capsys.readouterr().err
