"""Models, the command `nonproj-systems translate`, tuning, the page, and a part of the real data."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from pages import run_page

from nonproj.errors import ModelError
from nonproj_systems import models
from nonproj_systems.cli import main
from nonproj_systems.translation import decoding, model, program, stack, template, text, translator, tuning

SOURCE = ["Ein Hund rennt.", "Ein Mann rennt.", "Der Mann schläft.", "Der Hund schläft.", "Ein Hund schläft."] * 3
TARGET = ["A dog is running.", "A man is running.", "The man sleeps.", "The dog sleeps.", "A dog sleeps."] * 3


@pytest.fixture(scope="module")
def trained():
    return model.train(*([text.tokenize(line) for line in side] for side in (SOURCE, TARGET)))


@pytest.fixture
def files(tmp_path, trained):
    for name, lines in (("de", SOURCE), ("en", TARGET), ("in", ["Der Hund rennt.", "", "Ein Känguru schläft."])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    trained.save(tmp_path / "model")
    return tmp_path


@pytest.fixture(scope="module")
def multi30k():
    default = Path(__file__).resolve().parents[4] / "shared" / "translation" / "multi30k"
    folder = Path(os.environ.get("NONPROJ_TRANSLATION") or default)
    if not folder.is_dir():
        pytest.skip(f"no sentence pairs in {folder}")
    return folder


def run(capsys, *words):
    """The exit code, output and messages of the command."""
    code = main(["translate", *map(str, words)])
    return (code, *capsys.readouterr())


def test_train_and_decode(files, capsys):
    arguments = "--tune", files / "de", files / "en", "--tune-pairs", 3
    code, out, messages = run(capsys, "train", files / "de", files / "en", "-o", files / "own", *arguments)
    assert (code, out) == (0, "") and "15 sentence pairs, 8 source and 11 target words" in messages
    code, out, messages = run(capsys, "decode", "-m", files / "model", files / "in", "--stats", files / "stats")
    assert (code, messages) == (0, "")
    assert out == "The dog is running.\n\nA känguru sleeps.\n"
    rows = [json.loads(line) for line in (files / "stats").read_text().splitlines()]
    assert [row["line"] for row in rows] == [1, 2, 3] and all(row["certified"] for row in rows)
    assert rows[0]["bound"] == pytest.approx(rows[0]["score"]) and rows[1]["phrases"] == []
    assert [(row["status"], row["iterations"] > 0) for row in rows] == [
        ("exact", True),
        ("exact", False),
        ("exact", True),
    ]
    assert [tuple(phrase[:2]) for phrase in rows[2]["phrases"]][0][0] == 0
    options = "--tokens", "--beam", 5, "-o", files / "out"
    assert run(capsys, "decode", "-m", files / "own", files / "in", *options)[0] == 0
    assert (files / "out").read_text().splitlines()[0] == "the dog is running ."


def test_errors_are_one_line(files, capsys):
    (files / "short").write_text("A dog is running.\n")
    (files / "long").write_text("ja\n" + "ja " * 121 + "\n")
    models.write(files / "other", "translation", 99, {}, {})
    m, de = files / "model", files / "de"
    for words, message in [
        ([], "translate: an action is expected: train or decode"),
        (
            ["train", de, files / "short", "-o", files / "x"],
            f"{de}:2: has no counterpart: {files / 'short'} ends after 1 lines; one line for each sentence is expected",
        ),
        (["decode", "-m", de, files / "in"], f"{de}: not a model of nonproj"),
        (
            ["decode", "-m", files / "other"],
            f"{files / 'other'}: a model for translation of version 99, 2 expected; train it again",
        ),
        (["decode", "-m", m, files / "none"], f"{files / 'none'}: no such file"),
        (
            ["decode", "-m", m, files / "long"],
            f"{files / 'long'}:2: the sentence has 121 tokens; 1 to 120 are expected",
        ),
    ]:
        code, _, messages = run(capsys, *words)
        assert (code, messages) == (2, f"nonproj-systems: {message}\n")
    assert not (files / "x").exists()


@pytest.mark.parametrize(
    "name, change",
    [
        ("lm_arc_next", lambda a: a + 1000),
        ("lm_arc_start", lambda a: a[::-1].copy()),
        ("lm_backoff_state", lambda a: a[:-1]),
        ("lm_backoff_score", lambda a: a * np.nan),
        ("table_target", lambda a: a - 1),
        ("table_scores", lambda a: a[:, :3]),
        ("table_entry_start", lambda a: a[1:]),
        ("table_target_words", lambda a: a + 1000),
        ("table_child", lambda a: a.astype(float)),
        ("lm_last_word", lambda a: a + 7),
        ("lm_arc_score", lambda a: a * 1e300),
        ("lm_arc_score", lambda a: a[::-1].copy() - 50.0),  # an n-gram scores less than backing off
        ("lm_backoff_score", lambda a: a + 100.0),
        ("table_scores", lambda a: a * np.float32(1e30)),
        ("table_target_words", lambda a: np.full_like(a, 1)),
        ("table_target_start", lambda a: np.where(np.arange(len(a)) < len(a) - 1, 0, a[-1])),
    ],
)
def test_damaged_models_are_refused(files, name, change):
    values, arrays = models.read(files / "model", "translation", 2)
    models.write(files / "bad", "translation", 2, values, arrays | {name: change(arrays[name])})
    with pytest.raises(ModelError, match="bad: the model for translation is damaged .*; train it again"):
        model.TranslationModel.load(files / "bad")


@pytest.mark.parametrize(
    "change",
    [
        {"source": ["a", "b", "c\rd"]},
        {"target": lambda words: [*words[:-1], words[0]]},
        {"target": lambda words: [*words[:-1], "x" * 3_000_000]},
        {"target": lambda words: [*words[:-1], 1]},
        {"target": lambda words: [*words[:-1], "a\x85b"]},
        {"weights": lambda weights: weights | {"lm": 1e300}},
        {"weights": lambda weights: weights | {"lm": float("nan")}},
        {"weights": lambda weights: weights | {"lm": -1.0}},
        {"weights": lambda weights: weights | {"lm": [1.0]}},
        {"weights": lambda weights: weights | {"more": 1.0}},
        {"weights": []},
        {"more": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_forged_values_are_refused(files, change):
    values, arrays = models.read(files / "model", "translation", 2)
    for name, new in change.items():
        values[name] = new(values[name]) if callable(new) else new
    models.write(files / "bad", "translation", 2, values, arrays)
    with pytest.raises(
        ModelError, match="bad: (.*; train it again|damaged: the header has a control character.*)$"
    ) as caught:
        model.TranslationModel.load(files / "bad")
    assert len(str(caught.value)) < 500


def test_words_with_control_characters_are_unknown():
    source = [["a", "b\x01", "c"]] * 2
    assert text.Vocabulary.of(source).words == ["<unk>", "a", "c"]


def test_a_model_survives_its_file(files, trained):
    loaded = model.TranslationModel.load(files / "model")
    assert loaded.weights == trained.weights
    for line in SOURCE[:5]:
        ours, theirs = translator.translate(trained, line), translator.translate(loaded, line)
        assert ours == theirs and ours.certified


def test_one_pair_is_enough():
    found = translator.translate(model.train([["ja"]], [["yes"]]), "ja nein")
    assert (found.tokens, found.certified) == (["yes", "nein"], True)


def test_weights_are_checked(trained):
    with pytest.raises(ValueError, match="finite numbers for lm, phrase"):
        trained.set_weights({"lm": 1.0})
    with pytest.raises(ValueError, match="the weight of the language model is -1.0; at least 0 is expected"):
        trained.set_weights({**model.WEIGHTS, "lm": -1.0})
    trained.set_weights(model.WEIGHTS)


def test_tuning_does_not_lower_bleu(trained):
    pairs = [[text.tokenize(line) for line in side[:5]] for side in (SOURCE, ["A dog runs.", *TARGET[1:]])]
    other = model.TranslationModel(trained.source, trained.target, trained.table, trained.lm)
    before = tuning.evaluate(other, *pairs)
    after = tuning.tune(other, *pairs, steps=(0.3,))
    assert after >= before and tuning.evaluate(other, *pairs) == after


def test_the_page(tmp_path, monkeypatch):
    names = run_page("systems/docs/translation.md", tmp_path, monkeypatch)
    assert names["found"].certified and (names["instance"].count(names["found"].derivation) == 1).all()


def test_a_part_of_the_real_data(multi30k):
    """Models of 600 captions: proofs, weak duality, no beam above a bound, the integer program of a short sentence."""
    source, target = text.read_pairs(multi30k / "train.de.gz", multi30k / "train.en.gz")
    trained = model.train(source[:600], target[:600])
    held_out, _ = text.read_pairs(multi30k / "val.de.gz", multi30k / "val.en.gz")
    certified = 0
    for tokens in held_out[:25]:
        instance, _ = trained.instance(tokens, translations=5)
        found = decoding.decode(instance)
        certified += found.certified
        assert (instance.count(found.derivation) == 1).all()
        slack = 1e-9 * (1 + abs(found.value))
        assert all(dual >= found.value - slack for result in found.rounds for dual in result.trace.dual)
        assert found.bound >= found.value
        for beam in (1, 30):
            derivation = stack.decode_by_stacks(instance, beam)
            if len(derivation):
                assert decoding.score_derivation(instance, derivation) <= found.bound + slack
    assert certified >= 24
    pytest.importorskip("highspy")
    instance, _ = trained.instance(min(held_out, key=len), translations=3, limit=2)
    status, value, _ = program.solve_program(instance, template.make_graph(instance))
    assert status == "optimal" and value == pytest.approx(decoding.decode(instance).value, abs=1e-6)
