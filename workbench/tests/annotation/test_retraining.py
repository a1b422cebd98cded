"""Training in the background."""

import time
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import ROOT
from opening import opened, row, sentence, suggester_of, wait_until
from toy import read, treebank

from nonproj import Model, train
from nonproj.options.config import Config
from nonproj_workbench.annotation import command, retraining
from nonproj_workbench.annotation.retraining import Retraining, training_texts


@pytest.fixture(scope="module")
def config():
    return Config.load(ROOT / "configs" / "smoke.yaml").with_overrides({"training.epochs": 1})


def wait(client, seconds=300):
    """Wait until training ends, and return its state."""
    wait_until(lambda: client.get("status")["training"]["state"] != "running", seconds)
    return client.get("status")["training"]


def test_a_model_is_trained_and_exchanged(tmp_path, config):
    path = tmp_path / "a.conllu"
    work = Retraining(f"{path}.nonproj", config, 12, None, None, suggester_of)
    bare = "".join(
        line if not line.strip() else "\t".join([*line.split("\t")[:6], "_", "_", "_", "_"]) + "\n"
        for line in treebank(1, seed=9).splitlines(keepends=True)
    )
    with opened(path, treebank(14) + bare, retraining=work) as client:
        assert client.get("file")["retrain"] and client.heads(14)[0] is None
        error = client.http.post("/api/retrain", headers=client.headers)
        assert error.status_code == 400 and "at least 10 are needed" in error.json()["error"]
        for i in range(12):
            client.edit(i, "done", value=True)
        assert client.get("status")["training"]["sentences"] == 12
        client.edit(12, "column", word=1, column="lemma", value="edited")  # meanwhile
        state = wait(client)
        assert state["state"] == "done", state
        assert client.get("status")["model"] == f"{path}.nonproj"
        assert None not in client.heads(14)
        assert client.get("sentence/12")["words"][0]["lemma"] == "edited"
        assert client.get("file")["sentences"]["done"] == [1] * 12 + [0] * 3


@pytest.mark.thorough
def test_a_model_is_continued_on_the_first_sentence(tmp_path, config):
    start, output = tmp_path / "start.nonproj", tmp_path / "a.conllu.nonproj"
    train(read(treebank(20)), config).save(start)
    work = Retraining(str(output), None, 0, None, str(start), suggester_of)
    with opened(tmp_path / "a.conllu", treebank(3, seed=1), retraining=work) as client:
        error = client.http.post("/api/retrain", headers=client.headers)
        assert error.status_code == 400 and "at least 1 are needed" in error.json()["error"]
        client.edit(0, "done", value=True)
        client.http.post("/api/retrain", headers=client.headers)
        state = wait(client)
        assert state["state"] == "done", state
    history = Model.load(output).meta
    assert history["continued"]["model"] == "start.nonproj" and history["sentences"] == 1


@pytest.mark.parametrize(
    ("given", "start", "name"),
    [
        ({}, "m.nonproj", "a.nonproj"),
        ({"model": "a.nonproj"}, "a.nonproj", "a.2.nonproj"),
        ({"retrain_with": "others"}, None, "a.nonproj"),
        ({"config": "c.yaml"}, None, "a.nonproj"),
        ({"components": {"encoder": {}}}, None, "a.nonproj"),
    ],
)
def test_which_model_is_continued(tmp_path, monkeypatch, given, start, name):
    monkeypatch.chdir(tmp_path)
    for file in ("m.nonproj", "a.nonproj", "others", "c.yaml"):
        Path(file).touch()
    model = Model(Config(), {}, {}, ["x"], {}, {}, given.get("components", {}))
    options = Namespace(**{"retrain": 0, "config": None, "retrain_with": None, "model": "m.nonproj", **given})
    work = command._retraining(options, "a", SimpleNamespace(parser=SimpleNamespace(model=model)))
    assert (work.start_model, work.output) == (start, name)


def test_a_failure_is_reported(tmp_path, config):
    work = Retraining(str(tmp_path / "none" / "m.nonproj"), config, 0, None, None, suggester_of)
    text = "".join("# annotation = done\n" + sentence(0, 1) for _ in range(10))
    with opened(tmp_path / "a.conllu", text, retraining=work) as client:
        assert client.http.post("/api/retrain", headers=client.headers).status_code == 200
        state = wait(client)
        assert state["state"] == "failed" and "there is no folder" in state["message"]
        assert client.get("status")["model"] is None


def test_training_ends_with_the_session(tmp_path, config):
    work = Retraining(
        str(tmp_path / "m.nonproj"), config.with_overrides({"training.epochs": 10000}), 0, None, None, suggester_of
    )
    text = "".join("# annotation = done\n" + block + "\n\n" for block in treebank(20).strip().split("\n\n"))
    with opened(tmp_path / "a.conllu", text, retraining=work) as client:
        client.http.post("/api/retrain", headers=client.headers)
        answer = client.http.post("/api/retrain", headers=client.headers)
        assert answer.status_code == 400 and "is being trained already" in answer.json()["error"]
        time.sleep(0.5)
    assert work._process is None or work._process.poll() is not None


def test_partial_trees(monkeypatch):
    """An unfinished sentence contributes only its decisions."""
    text = (
        row(1, "a", 2, "x", misc="SpaceAfter=No|Head=2|Deprel=x")
        + row(2, "b", 0, "y", misc="Head=0")
        + row(3, "c", 1, "z")
        + "\n"
    )
    monkeypatch.setattr(retraining, "learns_from_partial_trees", lambda: True)
    wanted = row(1, "a", 2, "x", misc="SpaceAfter=No") + row(2, "b", 0) + row(3, "c") + "\n"
    assert training_texts(["# annotation = open\n" + text]) == [wanted]
    monkeypatch.setattr(retraining, "learns_from_partial_trees", lambda: False)
    assert training_texts(["# annotation = open\n" + text]) == []
    assert training_texts(["\n# annotation = done\r\n1\ta\t_\t_\t_\t_\t0\tx\t_\t_\r\n"]) == [
        "1\ta\t_\t_\t_\t_\t0\tx\t_\t_\n\n"
    ]
