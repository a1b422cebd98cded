"""Cross-fitting of whole models: who learns from what, and predictions that are put together again."""

import json
from pathlib import Path

import pytest
from command import ROOT
from toy import sentences

from nonproj.io import conll
from nonproj.io.checks import ReadingRules
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj_workbench.audit import folds
from nonproj_workbench.audit.folds import Fold, predict_fold, read_predictions, split

GOLDEN = ROOT / "tests" / "golden"


def test_no_model_learns_from_words_that_it_predicts():
    treebank, others = sentences(40), sentences(40, 1)
    seen = []
    for number in range(4):
        inside, rest = split(treebank, others, 4, number)
        words = {tuple(treebank[i].forms) for i in inside}
        assert words and not words & {tuple(sentence.forms) for sentence in rest}
        assert len([each for each in rest if any(each is other for other in others)]) > 20
        seen += inside
    assert sorted(seen) == list(range(40))


def test_the_predictions_of_all_folds_are_those_of_the_model():
    path = str(GOLDEN / "input.conll")
    treebank, model = list(conll.read(path)), str(GOLDEN / "model.nonproj")
    parts = [
        predict_fold(Fold((path,), (), ReadingRules(), Config(), 3, k, "", False, model)).decode() for k in range(3)
    ]
    lines = [line for part in reversed(parts) for line in part.splitlines()]
    found = read_predictions(iter(lines), treebank)
    expected = [parse.decoded.heads.tolist() for _, parse in Parser(Model.load_trained(model)).parse_all(treebank)]
    assert [each.heads for each in found] == expected
    gold = [sentence.tree[1:].tolist() for sentence in treebank]
    for one, other in zip(found, gold, strict=True):
        assert [difference is None for difference in one.differences] == [
            a == b for a, b in zip(one.heads, other, strict=True)
        ]
    with pytest.raises(ValueError, match="predictions are missing"):
        read_predictions(iter(lines[1:]), treebank)


def test_a_model_is_trained_on_the_other_folds_only(tmp_path, monkeypatch):
    path, treebank = tmp_path / "trees.conll", sentences(30)
    path.write_text("".join(line for sentence in treebank for line in sentence.lines), encoding="utf-8")
    learnt = []

    def train(material, config, run):
        learnt.append(len(material))
        assert run.checkpoint == Path("fold.checkpoint") and not run.resume
        return Model.load_trained(GOLDEN / "model.nonproj")

    monkeypatch.setattr(folds, "train", train)
    fold = Fold((str(path),), (), ReadingRules(), Config(), 3, 1, "fold.checkpoint", True)
    numbers = [json.loads(line)["sentence"] for line in predict_fold(fold).splitlines()]
    assert numbers and learnt == [len(split(treebank, [], 3, 1)[1])]
    assert len(numbers) + learnt[0] <= 30
