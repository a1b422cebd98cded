"""The proof for the model without pruning: trees among all arcs, against enumeration."""

import dataclasses
import io
import json

import naive_trees
import numpy as np
import pytest
from staged import scored
from toy import treebank

import nonproj.pipeline.parser
from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.io import conll
from nonproj.options.config import Config
from nonproj.parts.arcs import full_arc_space
from nonproj.pipeline.parser import Parser

SMALL = {"features.bits": 12, "pruner.bits": 12, "labeler.bits": 12, "pruner.folds": 0, "training.epochs": 1}
SMALL |= {"network.epochs": 0, "tagger.epochs": 0, "segmenter.epochs": 0, "confidence.share": 0.0}


def read(text):
    return list(conll.read(io.StringIO(text)))


@pytest.fixture(scope="module", params=["arc", "sibling", "grandparent"])
def model(request):
    """A model with random part scores whose pruner knows the language."""
    model = train(read(treebank(30)), Config().with_overrides(SMALL | {"parts": request.param}))
    table = model.weights["parser"]
    model.weights["parser"] = np.random.default_rng(0).integers(-99, 99, table.shape).astype(table.dtype)
    return model


def parsers(model, **options):
    """Parsers of a model without and with a look at all arcs."""
    return [Parser(model, dataclasses.replace(model.config.decoding, full=full, **options)) for full in (False, True)]


@pytest.mark.parametrize("options", [{}, {"single_root": True}, {"projective": True}, {"max_iterations": 1}])
def test_the_best_tree_over_all_arcs_is_found(model, options):
    plain, full = parsers(model, **options)
    changed = 0
    for sentence in [s for s in read(treebank(40, seed=1)) if len(s) <= 5]:
        before, after = plain.parse(sentence), full.parse(sentence)
        arcs = full_arc_space(len(sentence))
        parts, scores = scored(full, sentence, arcs)
        trees = naive_trees.all_trees(len(sentence), full.request.options.single_root)
        if "projective" in options:
            trees = [tree for tree in trees if naive_trees.is_projective(tree)]
        best = max(map(naive_trees.tree_scorer(parts, scores), trees))
        assert after.decoded.certified
        assert after.decoded.score == pytest.approx(best, abs=1e-6)
        assert len(after.arcs.head) == len(arcs.head)
        assert (before.pruned, before.changed) == (None, False)
        assert after.pruned.tree.tolist() == before.decoded.tree.tolist()
        assert after.pruned[1:] == before.decoded[1:]
        assert after.changed == (after.decoded.tree.tolist() != before.decoded.tree.tolist())
        changed += after.decoded.score > before.decoded.score + 1e-6
    assert changed


def test_what_the_search_did_not_find_is_not_lost(model):
    """Cut short, it returns the better of both trees, with the bound over all arcs."""
    plain, full = parsers(model, max_iterations=1, search_limit=0)
    for sentence in read(treebank(40, seed=1)):
        before, after = plain.parse(sentence).decoded, full.parse(sentence).decoded
        assert after.score >= before.score
        assert after.bound >= after.score
        assert after.certified == (after.bound - after.score <= 1e-9 * (1 + abs(after.score)))


def test_long_sentences_keep_the_certificate_that_they_have(model, monkeypatch):
    monkeypatch.setattr(nonproj.pipeline.stages, "FULL_WORDS", 6)
    plain, full = parsers(model)
    lengths = set()
    for sentence in read(treebank(40, seed=1)):
        before, after = plain.parse(sentence), full.parse(sentence)
        lengths.add(len(sentence) > 6)
        assert (after.pruned is None) == (len(sentence) > 6)
        if after.pruned is None:
            assert after.decoded.tree.tolist() == before.decoded.tree.tolist()
            assert len(after.arcs.head) == len(before.arcs.head)
    assert lengths == {True, False}


def test_the_command_line_says_what_pruning_had_hidden(model, tmp_path, capsys):
    path, stats = tmp_path / "model", tmp_path / "stats"
    model.save(path)
    (tmp_path / "in").write_text(treebank(20, seed=1), encoding="utf-8")
    words = ["parse", str(path), str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--stats", str(stats), "-v"]
    assert main([*words, "--full"]) == 0
    facts = [json.loads(line) for line in stats.read_text().splitlines()]
    assert all(fact["full"] for fact in facts)
    changed, error = sum(fact["changed"] for fact in facts), capsys.readouterr().err
    assert changed and f"20 of them over all arcs; for {changed}, pruning had removed an arc of the best tree" in error
    assert main([*words, "--no-full"]) == 0
    assert not any(json.loads(line)["full"] for line in stats.read_text().splitlines())
    assert "over all arcs" not in capsys.readouterr().err
