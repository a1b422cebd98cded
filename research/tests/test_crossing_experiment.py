"""The page of non-projective arcs: figures of parsed files, and rows of other parsers that are kept."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

import toy  # noqa: E402

from nonproj.evaluation.scores import Evaluation  # noqa: E402
from nonproj.io.conll import write  # noqa: E402
from research.experiments import crossing  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402


def test_rows_are_those_of_the_evaluation_and_are_kept(tmp_path):
    gold = list(toy.sentences(30, seed=3))
    heads = [[0, *range(1, len(sentence))] for sentence in gold]
    paths, evaluation = [tmp_path / name for name in ("gold.conllu", "parsed.conllu")], Evaluation()
    write([(sentence, sentence.heads, sentence.labels) for sentence in gold], paths[0])
    write([(sentence, own, sentence.labels) for sentence, own in zip(gold, heads, strict=True)], paths[1])
    for sentence, own in zip(gold, heads, strict=True):
        evaluation.add(sentence, own, sentence.labels)
    names = {"language": "danish", "input": "gold tags"}
    crossing.add(tmp_path, names | {"parser": "chain"}, *paths)
    crossing.add(tmp_path, names | {"parser": "gold"}, paths[0], paths[0])
    chain, same = read_rows(tmp_path / crossing.FILE)
    expected = evaluation.as_dict()["with_punctuation"]
    arcs = expected["nonprojective"]
    assert arcs["gold"] > 0
    assert [chain[name] for name in crossing.COUNTS] == [arcs["gold"], arcs["predicted"], arcs["common"]]
    assert (chain["uas"], chain["las"]) == pytest.approx((expected["uas"], expected["las"]), abs=1e-6)
    assert same["right"] == same["gold"] == arcs["gold"] and same["las"] == 1
    page = (tmp_path / "crossing.md").read_text(encoding="utf-8")
    assert "| danish | chain |" in page and "| danish | gold |" in page
