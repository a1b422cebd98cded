"""Packages of models go to an index, and from there to somebody who names them."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from toy import treebank

from nonproj.cli.main import main
from nonproj.kernels.interpreters import environment, python

ROOT = Path(__file__).resolve().parents[2]
SMALL = "-qq --epochs 1 --set features.bits=14 --set pruner.bits=14 --set labeler.bits=14 --set tagger.epochs=1"
NAMES = ("first", "second", "third")


def publish(*words: str) -> subprocess.CompletedProcess:
    """Run the program and return its result."""
    account = {"TWINE_USERNAME": "someone", "TWINE_PASSWORD": "nothing"}
    command = [sys.executable, str(ROOT / "packaging" / "publish.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | account, check=False)


@pytest.fixture
def index(tmp_path):
    """The address of an empty index on this machine."""
    pytest.importorskip("pypiserver")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path / "index"
    folder.mkdir()
    command = [sys.executable, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port), "-P", ".", "-a", "."]
    with subprocess.Popen([*command, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        address = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                with urllib.request.urlopen(address):
                    break
            except OSError:
                time.sleep(0.1)
        yield address
        server.terminate()


@pytest.mark.thorough
def test_three_models_go_to_an_index_and_are_used_by_name_from_there(index, tmp_path):
    pytest.importorskip("twine")
    (tmp_path / "train.conllu").write_text(treebank(30, 0), encoding="utf-8")
    (tmp_path / "in.conllu").write_text(treebank(3, 1), encoding="utf-8")
    wheels, target, model = tmp_path / "wheels", tmp_path / "target", tmp_path / "model.nonproj"
    wheels.mkdir()
    assert main(["train", str(tmp_path / "train.conllu"), "-o", str(model), *SMALL.split()]) == 0
    for name in NAMES:
        words = ["package", str(model), "--name", name, "--licence", "CC0-1.0", "-o", str(wheels)]
        assert main(words) == 0
    found = publish(str(wheels), "--index", index)
    assert found.returncode == 0, found.stdout + found.stderr
    packages = [f"nonproj-model-{name}" for name in NAMES]
    words = ["--no-deps", "--disable-pip-version-check", "--index-url", f"{index}/simple", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *words, *packages], check=True, capture_output=True)
    variables = environment() | {"PYTHONPATH": os.pathsep.join([str(target), str(ROOT)])}
    for name in NAMES:
        command = python("-m", "nonproj", "parse", "-q", name, str(tmp_path / "in.conllu"))
        parsed = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
        assert parsed.count("\n\n") == 3


def test_nothing_to_publish_is_an_error(tmp_path):
    found = publish(str(tmp_path))
    assert (
        found.returncode == 2 and f"no packages in {tmp_path}; make them with: make dist, make models" in found.stderr
    )


def test_a_damaged_package_is_not_uploaded(tmp_path):
    pytest.importorskip("twine")
    (tmp_path / "nonproj_model_broken-1.0.0-py3-none-any.whl").write_bytes(b"nothing")
    found = publish(str(tmp_path), "--index", "http://127.0.0.1:9")
    assert found.returncode != 0 and "Uploading" not in found.stdout
