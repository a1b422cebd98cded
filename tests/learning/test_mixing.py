"""Iterative parameter mixing: its result, independence of the workers, and recovery from their deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import toy
from toy import treebank

from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.dual.options import dual_options
from nonproj.learning.mixing import ParameterMixing, PerceptronArguments, make_examples, train_shard
from nonproj.linear.perceptron import SparseEntries, sparse
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.arcs import full_arc_space
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.workers import cluster as dask_cluster
from nonproj.workers import pool

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--config", str(ROOT / "configs" / "smoke.yaml"), "-qq"]

INTERRUPTED = """
import sys
from nonproj.cli.main import main
from nonproj.learning.mixing import ParameterMixing
epoch, calls = ParameterMixing.epoch, []
def interrupted(self, *arguments):
    calls.append(0)
    if len(calls) == 3:
        raise KeyboardInterrupt
    return epoch(self, *arguments)
ParameterMixing.epoch = interrupted
sys.exit(main(sys.argv[1:]))
"""


def plain(items):
    """No progress is shown."""
    return items


class Material:
    """Some sentences, all their arcs, and a learner."""

    def __init__(self, count: int, parts: str = "sibling", **options):
        sentences = toy.sentences(count)
        files = load_templates()
        encoder = TokenEncoder.from_sentences(sentences, attributes_of(files), 1)
        config = Config().with_overrides({"parts": parts})
        decoding = dual_options(config.decoding, True)
        self.learner = PerceptronArguments(files, encoder.attributes, config.parts, 14, 30.0, decoding, True)
        self.tokens = [encoder.encode(sentence) for sentence in sentences]
        self.heads = [sentence.tree for sentence in sentences]
        self.arcs = [full_arc_space(len(sentence)) for sentence in sentences]
        self.count = count

    def mixing(self, workers, shards: int) -> ParameterMixing:
        return ParameterMixing(workers, self.learner, (self.tokens, self.heads, self.arcs), shards)

    def orders(self, epochs: int) -> list[np.ndarray]:
        return [np.random.default_rng(epoch).permutation(self.count) for epoch in range(epochs)]

    def trained(self, workers, shards: int, epochs: int = 2, progress=plain):
        perceptron, mixing = self.learner.perceptron(), self.mixing(workers, shards)
        self.missed = [mixing.epoch(perceptron, order, progress) for order in self.orders(epochs)]
        return perceptron


@pytest.fixture(scope="module")
def material() -> Material:
    return Material(11)


def assert_equal(one, other) -> None:
    """The state of two perceptrons is the same, bit by bit."""
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.total, other.total)
    assert one.step == other.step
    assert one.weights.any()


# -- what it computes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", ["arc", "sibling", "grandparent"])
def test_one_shard_is_serial_training(parts):
    material = Material(9, parts)
    serial = material.learner.perceptron()
    examples = make_examples(material.learner.parts, material.tokens, material.heads, material.arcs)
    missed = [sum(serial.update(examples[i]) for i in order) for order in material.orders(3)]
    assert_equal(material.trained(pool.InProcess(), 1, 3), serial)
    assert material.missed == missed


@pytest.mark.parametrize("shards", [2, 3, 5])
def test_weights_are_means_and_their_average_is_over_all_steps_and_shards(material, shards):
    """By the definition: every step of every shard is written down; a shard that has done all its steps waits."""
    examples = make_examples(material.learner.parts, material.tokens, material.heads, material.arcs)
    mixed = np.zeros(1 << material.learner.bits)
    history, steps = [mixed], -(-material.count // shards)
    for order in material.orders(2):
        ways = []
        for shard in range(shards):
            perceptron = material.learner.perceptron()
            perceptron.weights[:] = mixed
            way = []
            for i in order:
                if i % shards == shard:
                    perceptron.update(examples[i])
                    way.append(perceptron.weights.astype(float))
            ways.append(way + way[-1:] * (steps - len(way)))
        history += [np.mean(weights, axis=0) for weights in zip(*ways, strict=True)]
        mixed = history[-1]
    perceptron = material.trained(pool.InProcess(), shards)
    np.testing.assert_allclose(perceptron.weights, mixed, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(perceptron.mean(), np.mean(history, axis=0), rtol=1e-4, atol=1e-5)
    assert perceptron.step == len(history) == 1 + 2 * steps
    assert mixed.any()


def test_an_epoch_of_a_shard_tells_only_what_changed(material):
    shard = make_examples(material.learner.parts, material.tokens[:2], material.heads[:2], material.arcs[:2])
    start = np.zeros(1 << material.learner.bits, np.float32)
    start[[3, 5]] = 7.0
    update = train_shard(material.learner, sparse(start), 4, shard, np.array([1, 0]))
    perceptron = material.learner.perceptron()
    perceptron.weights[:], perceptron.step = start, 4
    missed = perceptron.update(shard[1]) + perceptron.update(shard[0])
    changed = np.flatnonzero(perceptron.weights != start)
    assert (update.missed, update.steps) == (missed, 2)
    np.testing.assert_array_equal(update.weights.places, changed)
    np.testing.assert_array_equal(update.weights.values, perceptron.weights[changed])
    assert isinstance(update.total, SparseEntries)
    table = np.zeros(len(start))
    table[update.total.places] = update.total.values
    np.testing.assert_array_equal(table, perceptron.total)


def test_shards_learn_a_language():
    """Every word but those of a third of the test has the right head."""
    overrides = {"training.epochs": 5, "features.bits": 16, "pruner.bits": 14, "labeler.bits": 14, "pruner.folds": 0}
    sentences = toy.sentences(60)
    held_out = toy.sentences(30, seed=1)
    config = Config().with_overrides(overrides)
    model = train(sentences, config, held_out=held_out, workers=pool.InProcess(), shards=2)
    assert model.meta["shards"] == 2
    assert model.meta["log"][-1]["uas"] > 0.9


# -- who computes it ---------------------------------------------------------------------------------------------------


class Forgetful(pool.InProcess):
    """Loses the data shared with it a number of times."""

    def __init__(self, times: int):
        self.times, self.done_before = times, 0

    def result(self, future, function, arguments):
        self.done_before += 1
        if self.times and self.done_before % 3 == 0:
            self.times -= 1
            raise pool.LostError("lost")
        return super().result(future, function, arguments)


def test_what_all_workers_have_lost_is_shared_again(material):
    here = material.trained(pool.InProcess(), 4)
    missed = material.missed
    assert_equal(material.trained(Forgetful(2), 4), here)
    assert material.missed == missed
    with pytest.raises(pool.LostError):
        material.trained(Forgetful(100), 4)


@pytest.mark.parametrize("deaths", [pytest.param(0, marks=pytest.mark.thorough), 1])
def test_a_cluster_computes_the_same_whoever_dies(material, cluster, deaths):
    """A worker is killed as soon as the first shard is done, and its work is repeated."""
    here = material.trained(pool.InProcess(), 4)
    missed = material.missed
    with dask_cluster.Cluster(cluster.scheduler_address) as workers:
        workers.client.wait_for_workers(2, timeout=100)

        steps = []

        def progress(items):
            for item in items:
                steps.append(item)
                if len(steps) == 1:
                    for pid in sorted(workers.client.run(os.getpid, on_error="ignore").values())[:deaths]:
                        os.kill(pid, signal.SIGKILL)
                yield item

        assert_equal(material.trained(workers, 4, progress=progress), here)
    assert material.missed == missed


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a treebank and a model trained on two shards of it, here."""
    folder = tmp_path_factory.mktemp("mixing")
    (folder / "train.conll").write_text(treebank(30), encoding="utf-8")
    words = ["train", str(folder / "train.conll"), "-o", str(folder / "here.nonproj"), "--epochs", "3", *SMALL]
    assert main([*words, "--shards", "2"]) == 0
    return folder


def assert_same_model(one: Path, other: Path) -> None:
    """The weights of two models are the same, bit by bit."""
    one, other = Model.load(one), Model.load(other)
    assert set(one.weights) == set(other.weights)
    for name, weights in one.weights.items():
        np.testing.assert_array_equal(weights, other.weights[name], err_msg=name)
    assert one.meta["shards"] == other.meta["shards"] == 2


def test_training_by_a_cluster_is_training_here(folder, cluster, tmp_path):
    with dask_cluster.Cluster(cluster.scheduler_address) as workers:  # one shard per worker
        workers.client.wait_for_workers(2, timeout=100)
    words = ["train", str(folder / "train.conll"), "-o", str(tmp_path / "a.nonproj"), "--epochs", "3", *SMALL]
    assert main([*words, "--scheduler", cluster.scheduler_address]) == 0
    assert_same_model(tmp_path / "a.nonproj", folder / "here.nonproj")


@pytest.mark.thorough
def test_interrupted_and_resumed_is_the_whole_training(folder, tmp_path, capsys):
    target = str(tmp_path / "a.nonproj")
    words = ["train", str(folder / "train.conll"), "-o", target, "--epochs", "3", *SMALL, "--shards"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", INTERRUPTED, *words, "2"]
    assert subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=False).returncode == 130
    assert len(Model.load(target).meta["log"]) == 2
    for other in (["3", "--resume"], ["1", "--resume"]):
        assert main([*words, *other]) == 2
        assert "is of other sentences or options" in capsys.readouterr().err
    assert main([*words, "2", "--resume"]) == 0
    assert_same_model(Path(target), folder / "here.nonproj")


def test_more_shards_than_sentences(folder, tmp_path, capsys):
    words = ["train", str(folder / "train.conll"), "-o", str(tmp_path / "a.nonproj"), *SMALL, "--shards", "31"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error == "nonproj: shards: 31 is not between 1 and 30, the number of sentences\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_a_number_of_shards_is_checked(number, capsys):
    with pytest.raises(SystemExit) as left:
        main(["train", "a", "-o", "b", f"--shards={number}"])
    assert left.value.code == 2
    assert f"'{number}' is not a positive integer" in capsys.readouterr().err
