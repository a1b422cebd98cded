"""Training in the background."""

import time

import pytest
from command import ROOT
from opening import opened, row, sentence, suggester_of
from toy import treebank

from nonproj.options.config import Config
from nonproj_workbench.annotation import retraining
from nonproj_workbench.annotation.retraining import Retraining, training_texts


@pytest.fixture(scope="module")
def config():
    return Config.load(ROOT / "configs" / "smoke.yaml").with_overrides({"training.epochs": 1})


def wait(client, seconds=300):
    """Wait until training ends, and return its state."""
    deadline = time.monotonic() + seconds
    while (state := client.get("status")["training"])["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return state


def test_a_model_is_trained_and_exchanged(tmp_path, config):
    path = tmp_path / "a.conllu"
    work = Retraining(f"{path}.nonproj", config, 12, None, suggester_of)
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


def test_a_failure_is_reported(tmp_path, config):
    work = Retraining(str(tmp_path / "none" / "m.nonproj"), config, 0, None, suggester_of)
    text = "".join("# annotation = done\n" + sentence(0, 1) for _ in range(10))
    with opened(tmp_path / "a.conllu", text, retraining=work) as client:
        assert client.http.post("/api/retrain", headers=client.headers).status_code == 200
        state = wait(client)
        assert state["state"] == "failed" and "there is no folder" in state["message"]
        assert client.get("status")["model"] is None


def test_training_ends_with_the_session(tmp_path, config):
    work = Retraining(
        str(tmp_path / "m.nonproj"), config.with_overrides({"training.epochs": 10000}), 0, None, suggester_of
    )
    text = "".join("# annotation = done\n" + block + "\n\n" for block in treebank(20).strip().split("\n\n"))
    with opened(tmp_path / "a.conllu", text, retraining=work) as client:
        client.http.post("/api/retrain", headers=client.headers)
        answer = client.http.post("/api/retrain", headers=client.headers)
        assert answer.status_code == 400 and "is being trained already" in answer.json()["error"]
        time.sleep(0.5)
    assert work._process is None or work._process.poll() is not None


def test_partial_trees(monkeypatch):
    """Of a sentence that is not done, only what is decided."""
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
