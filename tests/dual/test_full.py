"""The proof for the model without pruning: trees among all arcs, against enumeration."""

import dataclasses
import json

import naive_trees
import numpy as np
import pytest
import toy
from problems import trees_over
from staged import scored

import nonproj.pipeline.parser
from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.options.config import Config
from nonproj.parts.arcs import full_arc_space
from nonproj.pipeline.parser import Parser


@pytest.fixture(scope="module", params=["arc", "sibling", "grandparent", "third"])
def model(request):
    """A model with random part scores whose pruner knows the language."""
    small = toy.FROM_GOLD_TAGS | {"training.epochs": 1, "network.epochs": 0, "parts": request.param}
    model = train(toy.sentences(30), Config().with_overrides(small))
    table = model.weights["parser"]
    model.weights["parser"] = np.random.default_rng(0).integers(-99, 99, table.shape).astype(table.dtype)
    return model


def parsers(model, **options):
    """Parsers of a model without and with a look at all arcs."""
    decoding = dataclasses.replace(model.config.decoding, crossing=0.0, **options)
    return [Parser(model, dataclasses.replace(decoding, full=full)) for full in (False, True)]


OPTIONS = [{}, {"single_root": True}, {"projective": True}, {"max_iterations": 1}, {"nbest": 2}]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_best_tree_over_all_arcs_is_found(model, options):
    plain, full = parsers(model, **options)
    changed = 0
    for sentence in [s for s in toy.sentences(40, seed=1) if len(s) <= 5]:
        before, after = plain.parse(sentence), full.parse(sentence)
        arcs = full_arc_space(len(sentence))
        parts, scores = scored(full, sentence, arcs)
        trees = trees_over(arcs, full.request.options.single_root, "projective" in options)
        best = sorted(map(naive_trees.tree_scorer(parts, scores), trees), reverse=True)[: options.get("nbest", 1)]
        assert after.decoded.certified
        assert [tree.decoded.score for tree in (after, *(after.others or ()))] == pytest.approx(best, abs=1e-6)
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
    for sentence in toy.sentences(40, seed=1):
        before, after = plain.parse(sentence).decoded, full.parse(sentence).decoded
        assert after.score >= before.score
        assert after.bound >= after.score
        assert after.certified == (after.bound - after.score <= 1e-9 * (1 + abs(after.score)))


def test_long_sentences_keep_the_certificate_that_they_have(model, monkeypatch):
    name = "FULL_WORDS_THIRD" if "trisibling" in model.config.parts else "FULL_WORDS"
    monkeypatch.setattr(nonproj.pipeline.stages, name, 6)
    plain, full = parsers(model)
    lengths = set()
    for sentence in toy.sentences(40, seed=1):
        before, after = plain.parse(sentence), full.parse(sentence)
        lengths.add(len(sentence) > 6)
        assert (after.pruned is None) == (len(sentence) > 6)
        if after.pruned is None:
            assert after.decoded.tree.tolist() == before.decoded.tree.tolist()
            assert len(after.arcs.head) == len(before.arcs.head)
    assert lengths == {True, False}


@pytest.mark.parametrize("model", ["sibling"], indirect=True)
def test_the_command_line_says_what_pruning_had_hidden(model, tmp_path, capsys):
    path, stats = tmp_path / "model", tmp_path / "stats"
    model.save(path)
    (tmp_path / "in").write_text(toy.treebank(20, seed=1), encoding="utf-8")
    words = ["parse", str(path), str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--stats", str(stats), "-v"]
    assert main([*words, "--full"]) == 0
    facts = [json.loads(line) for line in stats.read_text().splitlines()]
    assert all(fact["full"] for fact in facts)
    changed, error = sum(fact["changed"] for fact in facts), capsys.readouterr().err
    assert changed and f"20 of them over all arcs; for {changed}, pruning had removed an arc of the best tree" in error
    assert main([*words, "--no-full"]) == 0
    assert not any(json.loads(line)["full"] for line in stats.read_text().splitlines())
    assert "over all arcs" not in capsys.readouterr().err
