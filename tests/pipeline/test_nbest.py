"""Several trees for each sentence: from files, from Python, by workers, and refusals."""

import dataclasses
import json

import numpy as np
import pytest
import toy
from staged import scored

import nonproj
from nonproj.cli.main import main
from nonproj.dual.decoding import k_best
from nonproj.errors import ConfigError
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import tree_score
from nonproj.pipeline.parser import Parser


@pytest.fixture(scope="module")
def path(model_of, tmp_path_factory):
    """A small model, with a tagger, all of whose arcs are candidates."""
    model, target = Model.load(model_of("complete")), tmp_path_factory.mktemp("nbest") / "toy.nonproj"
    config = model.config.with_overrides({"decoding.threshold": 1e-9, "decoding.crossing": 0.0})
    dataclasses.replace(model, config=config).save(target)
    return target


def test_each_sentence_is_written_once_for_each_tree(path, tmp_path):
    (tmp_path / "in.conll").write_text(toy.treebank(5, seed=3), encoding="utf-8")
    words = ["parse", str(path), str(tmp_path / "in.conll"), "-q", "--nbest", "4"]
    assert main([*words, "-o", str(tmp_path / "out.conll"), "--stats", str(tmp_path / "stats")]) == 0
    given = list(conll.read(tmp_path / "in.conll"))
    written = list(conll.read(tmp_path / "out.conll"))
    records = [json.loads(line) for line in (tmp_path / "stats").read_text().splitlines()]
    assert len(records) == len(given) == 5
    assert [s.forms for s in written] == [s.forms for s, r in zip(given, records, strict=True) for _ in r["nbest"]]
    parser, start = Parser(Model.load(path)), 0
    for sentence, record in zip(given, records, strict=True):
        trees = record["nbest"]
        assert (1 < len(trees) <= 4 or len(sentence) == 1) and trees[0]["score"] == record["score"]
        scores = [tree["score"] for tree in trees]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(tree["heads"]) for tree in trees}) == len(trees)
        found = written[start : start + len(trees)]
        assert [s.heads.tolist() for s in found] == [tree["heads"] for tree in trees]
        parts = scored(parser, sentence)
        for rank, (tree, block) in enumerate(zip(trees, found, strict=True), 1):
            assert tree["certified"] and tree["bound"] == pytest.approx(tree["score"])
            assert tree["score"] == pytest.approx(tree_score(*parts, np.array([-1, *tree["heads"]])))
            assert [row[7] for row in block.rows] == tree["labels"]
            assert f"# nonproj rank = {rank}\n" in block.lines and "# nonproj certified = true\n" in block.lines
        start += len(trees)
    assert main([*words, "-o", str(tmp_path / "again.conll"), "--jobs", "2"]) == 0
    assert (tmp_path / "again.conll").read_bytes() == (tmp_path / "out.conll").read_bytes()


def test_one_tree_is_the_default_and_the_first_of_several(path):
    words = [sentence.forms for sentence in toy.sentences(6, seed=5)]
    one, several = (list(nonproj.load(path, **options).parse_all(words)) for options in ({}, {"nbest": 3}))
    for single, sentence in zip(one, several, strict=True):
        trees = [single.heads.tolist(), *(other.heads.tolist() for other in sentence.others)]
        assert sentence.heads.tolist() == trees[0] not in trees[1:]
        assert all(other.forms == sentence.forms for other in sentence.others)


def test_the_number_of_trees_is_positive(path, capsys):
    with pytest.raises(SystemExit, match="^2$"):
        main(["parse", str(path), "-", "--nbest", "0"])
    error = capsys.readouterr().err
    assert "argument --nbest: '0' is not a positive integer" in error and error.count("\n") == 1


def test_the_k_best_trees_over_all_arcs(path):
    """Each has the score of one over all arcs, and none is worse than its like over the candidate arcs."""
    model = Model.load(path)
    decoding = dataclasses.replace(model.config.decoding, nbest=4, threshold=0.5)
    narrow, full = (Parser(model, dataclasses.replace(decoding, full=full)) for full in (False, True))
    for sentence in toy.sentences(10, seed=4):
        few, all_arcs = narrow.parse(sentence), full.parse(sentence)
        trees = [all_arcs.decoded, *(each.decoded for each in all_arcs.others)]
        before = [few.decoded, *(each.decoded for each in few.others)]
        parts, scores = scored(full, sentence, full_arc_space(len(sentence)))
        for tree in trees:
            assert tree.certified and tree.score == pytest.approx(tree_score(parts, scores, tree.tree), abs=1e-6)
        assert all(each.pruned is not None for each in (all_arcs, *all_arcs.others))
        assert all(tree.score >= like.score - 1e-6 for tree, like in zip(trees, before, strict=False))
        expected = k_best(parts, scores, 4, full.request.options)
        assert [tree.score for tree in trees] == pytest.approx([tree.score for tree in expected])


def test_python_asks_for_several_trees_without_another_parser(path, monkeypatch):
    nlp, text = nonproj.load(path), "den hund ser hus . kat jager den mand ."
    expected = nonproj.load(path, nbest=3)(text)
    monkeypatch.setattr(Parser, "__init__", lambda *_: pytest.fail("another parser is made"))
    wanted = [[tree.to_conllu() for tree in (sentence, *sentence.others)] for sentence in expected]
    for k in (3, np.int64(3)):
        assert [[tree.to_conllu() for tree in trees] for trees in nlp.nbest(text, k)] == wanted
    assert nlp.parser.request.nbest == 1 and not nlp(text).sentences[0].others
    for k in (0, 10_001):
        with pytest.raises(ConfigError, match=f"decoding.nbest: {k} is invalid, an integer from 1 to 10000 expected"):
            nlp.nbest(text, k)
