"""Enhanced graphs: learnt by paths and templates, predicted for any tree, stored, and switched off."""

from __future__ import annotations

import io
import logging
import random
from dataclasses import replace
from pathlib import Path

import naive_graphs as naive
import numpy as np
import pytest
from toy import raw_treebank, sentence, treebank

from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.io.graphs import Graph, read_graph
from nonproj.learning.graphs import GraphExamples, explain, learn_graphs, learn_inventory
from nonproj.linear.state import load
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.scoring.graphs import GraphModel, TreeWords, fill

SMALL = {"parts": ["arc"], "features.bits": 12, "pruner.bits": 12, "labeler.bits": 16, "training.epochs": 1}
SMALL |= {"network.epochs": 0, "confidence.share": 0.0, "segmenter.epochs": 0, "tagger.epochs": 0}


def enhanced(heads: list[int], labels: list[str], forms: list[str]) -> Graph:
    """The graph of a tree of the toy language: participles are below the verb, too, with a label for each."""
    graph = []
    for head, label, form in zip(heads, labels, forms, strict=True):
        more = [(heads[head - 1], f"acl:{form}")] if label == "acl" and head else []
        graph.append(sorted([(head, label), *more]))
    return graph


def with_graphs(text: str) -> str:
    """A text of the toy language with graphs."""
    found = ""
    for own in conll.read(io.StringIO(text)):
        found += conll.replace(own, own.heads, graph=enhanced(own.heads.tolist(), own.labels, own.forms))
    return found


def read(text: str) -> list:
    """The sentences of a text."""
    return list(conll.read(io.StringIO(text)))


@pytest.fixture(name="examples", scope="module")
def fixture_examples() -> GraphExamples:
    """Sentences of the toy language with graphs."""
    return GraphExamples.of(read(with_graphs(treebank(150))))


@pytest.fixture(name="model", scope="module")
def fixture_model() -> Model:
    """A parser that has learnt graphs."""
    return train(read(with_graphs(treebank(150))), Config().with_overrides(SMALL))


def test_graphs_of_gold_trees_are_learnt(examples):
    model = learn_graphs(examples, 6, 0)
    assert examples.enhanced() > 50
    assert GraphExamples.of(read(with_graphs(treebank(100, 7)))).f1(model) > 0.99


def test_candidates_are_those_of_the_definition(examples):
    inventory = learn_inventory(examples)
    for words, graph in examples.trees(inventory.relative):
        found = {(own.nodes[0], own.nodes[-1], inventory.paths[own.path]) for own in inventory.candidates(words)}
        assert found == naive.candidates(words.heads[1:], words.labels[1:], inventory.paths)
        arcs = {(word, head) for word, own in enumerate(graph, 1) for head, _ in own}
        assert arcs <= {each[:2] for each in found}


def test_candidates_of_a_treebank_are_those_of_the_definition(released):
    sentences = list(conll.read(released / "Swedish-Talbanken" / "sv_talbanken-ud-dev.conllu"))[:150]
    examples = GraphExamples.of(sentences)
    inventory = learn_inventory(examples)
    for words, graph in examples.trees(inventory.relative):
        listed = list(inventory.candidates(words))
        found = {(own.nodes[0], own.nodes[-1], inventory.paths[own.path]) for own in listed}
        assert found == naive.candidates(words.heads[1:], words.labels[1:], inventory.paths)
        labels = {(own.nodes[0], own.nodes[-1], label) for own in listed for label in own.labels}
        arcs = {(word, head, label) for word, own in enumerate(graph, 1) for head, label in own}
        assert len(arcs - labels) <= len([arc for arc in arcs if ">" in arc[2]]) + 2  # of rare templates and long paths


def test_templates_make_the_label_that_they_explain(examples):
    for words, graph in examples.trees():
        for word, arcs in enumerate(graph, 1):
            for head, label in arcs:
                nodes = (word, head)
                assert all(fill(words, words.named(nodes), each) == label for each in explain(words, nodes, label))


def test_labels_have_texts_of_letters_only():
    rows = [["1", "@", "@", *"____"], ["2", "Rome", "Rome", *"____"]]
    words = TreeWords(rows, [2, 0], ["case", "obl"])
    assert fill(words, words.named((2, 0)), "0.deprel 0.case.all") is None


def test_parses_have_graphs_of_their_trees(model):
    sentences = read(treebank(30, 5))
    for own, parse in Parser(model).parse_all(sentences):
        assert naive.is_connected(parse.graph)
        wanted = enhanced(parse.decoded.heads.tolist(), parse.labels, own.forms)
        assert len(parse.graph) == len(wanted)
    right = [
        parse.graph == enhanced(parse.decoded.heads.tolist(), parse.labels, own.forms)
        for own, parse in Parser(model).parse_all(sentences)
    ]
    assert np.mean(right) > 0.9
    alone = [Parser(model).parse(own).graph for own in sentences]
    assert alone == [parse.graph for _, parse in Parser(model).parse_all(sentences)]


def test_each_of_several_trees_has_its_own_graph(model):
    decoding = replace(model.config.decoding, nbest=3)
    for _, parse in Parser(model, decoding).parse_all(read(treebank(10, 5))):
        for tree in (parse, *parse.others):
            arcs = zip(tree.decoded.heads.tolist(), tree.graph, strict=True)
            assert naive.is_connected(tree.graph) and all(head in dict(own) for head, own in arcs)


@pytest.mark.parametrize("seed", range(5))
def test_every_graph_is_connected_whatever_the_tree(model, seed):
    chance = random.Random(seed)
    rows = [[str(i), form, form, tag, tag, *"_____"] for i, (form, tag, *_) in enumerate(sentence(chance), 1)]
    labels = chance.choices(model.labels, k=len(rows))
    heads = [chance.randrange(word) for word in range(1, len(rows) + 1)]
    graphs = model.loaded(GraphModel)
    [graph] = graphs.graphs([replace(read(treebank(1))[0], rows=rows)], [heads], [labels])
    assert naive.is_connected(graph)
    assert all(head != word for word, arcs in enumerate(graph, 1) for head, _ in arcs)


def test_without_graphs_models_and_parses_are_as_before(model):
    text = treebank(60)
    none, off = (
        train(read(text), Config().with_overrides(SMALL)),
        Config().with_overrides({**SMALL, "graphs.epochs": 0}),
    )
    assert "graphs" not in none.components and "graphs" in model.components
    assert "graphs" not in train(read(with_graphs(text)), off).components
    decoding = replace(model.config.decoding, graphs=False)
    assert all(parse.graph is None for _, parse in Parser(model, decoding).parse_all(read(text)))
    assert all(parse.graph is None for _, parse in Parser(none).parse_all(read(text)))


def test_the_tree_alone_is_no_graph_to_learn():
    sentences = read(treebank(60))
    text = "".join(
        conll.replace(s, s.heads, graph=[[pair] for pair in zip(s.heads, s.labels, strict=True)]) for s in sentences
    )
    assert GraphExamples.of(read(text)).enhanced() == 0
    assert "graphs" not in train(read(text), Config().with_overrides(SMALL)).components


def test_malformed_and_half_graphs_are_left_out(caplog):
    first, second, third = (with_graphs(treebank(1, seed)) for seed in range(3))
    broken = first.replace(":nsubj\t", ":nsubj|99:x\t")
    half = second.replace("0:root\t", "_\t")
    with caplog.at_level(logging.WARNING, "nonproj"):
        examples = GraphExamples.of(read(broken + half + third))
    assert len(examples.sentences) == 1
    [message] = caplog.messages
    assert "DEPS is" in message and message.endswith("this graph is not learnt")


def test_a_model_is_restored_from_its_state(model):
    state = model.component("graphs")
    again = load(GraphModel, state)
    assert again.state()[0] == state[0] and all((again.state()[1][name] == own).all() for name, own in state[1].items())
    values, arrays = state
    for wrong, more in (
        ({"templates": ["1.x y", *values["templates"][1:]]}, {}),
        ({"paths": ["down", *values["paths"][1:]]}, {}),
        ({"paths": [" ".join(["^a"] * 5), *values["paths"][1:]]}, {}),
        ({"relative": [3]}, {}),
        ({}, {"odds": arrays["odds"][1:]}),
        ({}, {"count": arrays["count"] * 2}),
        ({}, {"count": arrays["count"] * 0}),
        ({}, {"weights": np.zeros(100, np.int16)}),
    ):
        with pytest.raises(ModelError, match="graphs"):
            load(GraphModel, (values | wrong, arrays | more))


def test_a_continued_model_keeps_its_graphs(model):
    again = train(read(treebank(20, 3)), start=model)
    assert again.components["graphs"] == model.components["graphs"]


def test_the_command_line_writes_graphs(tmp_path: Path, capsys):
    treebank_file, model, text, out = (
        str(tmp_path / name) for name in ("t.conllu", "m.nonproj", "in.conllu", "out.conllu")
    )
    Path(treebank_file).write_text(with_graphs(raw_treebank(120)), encoding="utf-8")
    Path(text).write_text(with_graphs(raw_treebank(20, 4)), encoding="utf-8")
    options = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}".replace("'", ""))]
    assert main(["train", treebank_file, "-o", model, *options]) == 0
    assert main(["parse", model, text, "-o", out]) == 0
    assert "are left out" not in capsys.readouterr().err
    assert all(read_graph(own) for own in conll.read(out))
    assert main(["evaluate", "--ud", text, out]) == 0
    assert "ELAS" in capsys.readouterr().out
    assert main(["parse", model, text, "-o", out, "--no-graphs"]) == 0
    assert all(read_graph(own) is None for own in conll.read(out))
    assert main(["evaluate", "--ud", text, out]) == 0
    assert "ELAS" not in capsys.readouterr().out
    assert main(["parse", model, text, "-o", out, "--deps", "keep"]) == 0
    assert [read_graph(own) for own in conll.read(out)] == [read_graph(own) for own in conll.read(text)]
