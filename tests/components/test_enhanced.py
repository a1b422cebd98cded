"""Enhanced graphs: learnt by paths and templates, predicted for any tree, stored, and switched off."""

import json
import logging
import random
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import naive_graphs as naive
import numpy as np
import pytest
from toy import FROM_GOLD_TAGS, raw_treebank, read, sentences, treebank

from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.io.graphs import Graph, read_graph
from nonproj.learning.graphs import count_enhanced, explain, learn_graphs, learn_paths, path_of, trees_of
from nonproj.learning.graphs import with_graphs as pairs_of
from nonproj.linear.state import load
from nonproj.model.model import Model
from nonproj.nlp.text_parser import TextParser
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.scoring.graphs import NEAREST, GraphModel, TreeWords, fill
from nonproj.types import Sentence

SMALL = FROM_GOLD_TAGS | {"parts": ["arc"], "training.epochs": 1, "network.epochs": 0}


def enhanced(heads: list[int], labels: list[str], forms: list[str]) -> Graph:
    """The graph of a tree of the toy language: participles are below the verb, too, with a label for each."""
    graph = []
    for head, label, form in zip(heads, labels, forms, strict=True):
        more = [(heads[head - 1], f"acl:{form}")] if label == "acl" and head else []
        graph.append(sorted([(head, label), *more]))
    return graph


def with_graphs(text: str) -> str:
    """A text of the toy language with graphs."""
    graphs = ((own, enhanced(own.heads.tolist(), own.labels, own.forms)) for own in read(text))
    return "".join(conll.replace(own, own.heads, graph=graph) for own, graph in graphs)


@pytest.fixture(name="pairs", scope="module")
def fixture_pairs() -> list[tuple[Sentence, Graph]]:
    """Sentences of the toy language with graphs."""
    return pairs_of(read(with_graphs(treebank(150))))


@pytest.fixture(name="model", scope="module")
def fixture_model() -> Model:
    """A parser that has learnt graphs."""
    return train(read(with_graphs(treebank(150))), Config().with_overrides(SMALL))


def test_graphs_of_gold_trees_are_learnt_but_not_the_tree_alone(pairs):
    model, held_out = learn_graphs(pairs, 0), pairs_of(read(with_graphs(treebank(100, 7))))
    assert count_enhanced(pairs) > 50
    assert all(model.graph(own, own.heads.tolist(), own.labels) == graph for own, graph in held_out)
    graphs = ((s, [[pair] for pair in zip(s.heads, s.labels, strict=True)]) for s in sentences(60))
    assert count_enhanced(pairs_of(read("".join(conll.replace(s, s.heads, graph=graph) for s, graph in graphs)))) == 0


def check_candidates(pairs):
    """Compare the candidates of all sentences with those of the definition, and return labels that none has."""
    model, missed = learn_paths(pairs), list[str]()
    for words, graph in trees_of(pairs, model.relative):
        listed = list(model.candidates(words))
        defined = naive.candidates(words.heads[1:], words.labels[1:], list(model.paths))
        found = {(own.nodes[0], own.nodes[-1], own.path) for own in listed}
        assert found <= defined
        for down, up, path in defined - found:  # no template makes a label
            named = words.named(path_of(words, down, up)[1])
            assert not any(fill(words, named, template) for template in model.paths[path])
        labels = {(own.nodes[0], own.nodes[-1], label) for own in listed for label in own.labels.values()}
        labels |= {(w, words.heads[w], label) for w, label in enumerate(words.labels) if label in model.plain}
        missed += [label for word, own in enumerate(graph, 1) for h, label in own if (word, h, label) not in labels]
    return missed


def test_candidates_are_those_of_the_definition(pairs, released):
    """Of the toy language, and of a treebank, whose longest paths have none."""
    treebank = list(conll.read(released / "Swedish-Talbanken" / "sv_talbanken-ud-dev.conllu"))[:150]
    assert not check_candidates(pairs) and len(check_candidates(pairs_of(treebank))) <= 2


def test_templates_make_the_label_that_they_explain(pairs):
    """Of letters only."""
    for words, graph in trees_of(pairs):
        for word, arcs in enumerate(graph, 1):
            for head, label in arcs:
                named = words.named((word, head))
                assert all(fill(words, named, each) == label for each in explain(words, (word, head), label))
    words = TreeWords([["1", "@", "@", *"____"], ["2", "Rome", "Rome", *"____"]], [2, 0], ["case", "obl"])
    assert fill(words, words.named((2, 0)), "0.deprel 0.case.all") is None


def test_each_of_several_trees_has_its_own_graph(model):
    parser, right = Parser(model), []
    for own, parse in Parser(model, replace(model.config.decoding, nbest=3)).parse_all(sentences(30, 5)):
        for tree in (parse, *parse.others):
            heads = tree.decoded.heads.tolist()
            arcs = zip(heads, tree.graph, strict=True)
            assert naive.is_connected(tree.graph) and all(head in dict(own) for head, own in arcs)
        right.append(parse.graph == enhanced(parse.decoded.heads.tolist(), parse.labels, own.forms))
        assert parser.parse(own).graph == parse.graph
    assert np.mean(right) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_every_graph_is_connected_whatever_the_tree(model, seed):
    chance, [own] = random.Random(seed), sentences(1, seed)
    labels = chance.choices(model.labels, k=len(own))
    heads = [chance.randrange(word) for word in range(1, len(own) + 1)]
    graph = model.loaded(GraphModel).graph(own, heads, labels)
    assert naive.is_connected(graph)
    assert all(head != word for word, arcs in enumerate(graph, 1) for head, _ in arcs)


def test_without_graphs_models_and_parses_are_as_before(model):
    off = Config().with_overrides(SMALL | {"decoding.graphs": False})
    none = train(sentences(60), Config().with_overrides(SMALL))
    unlearnt = train(read(with_graphs(treebank(60))), off)
    assert "graphs" in model.components and not {"graphs"} & (none.components.keys() | unlearnt.components.keys())
    for parser in (Parser(model, off.decoding), Parser(none)):
        assert all(parse.graph is None for _, parse in parser.parse_all(sentences(60)))


def test_malformed_and_half_graphs_are_left_out(caplog):
    first, second, third = (with_graphs(treebank(1, seed)) for seed in range(3))
    broken = first.replace(":nsubj\t", ":nsubj|99:x\t")
    half = second.replace("0:root\t", "_\t")
    with caplog.at_level(logging.WARNING, "nonproj"):
        pairs = pairs_of(read(broken + half + third))
    assert len(pairs) == 1
    [message] = caplog.messages
    assert "DEPS is" in message and message.endswith("this graph is not learnt")


def test_a_model_is_restored_from_its_state(model):
    values, arrays = model.component("graphs")
    again = load(GraphModel, (values, arrays)).state()
    assert again[0] == values and all((again[1][name] == own).all() for name, own in arrays.items())
    paths = ({"^conj": ["1.x y"]}, {"^conj": "=conj"}, {"down": ["=x"]}, {" ".join(["^a"] * 5): ["=x"]})
    for wrong in (*({"paths": each} for each in paths), {"relative": [3]}, {"plain": ["a\n"]}):
        with pytest.raises(ModelError, match="graphs"):
            load(GraphModel, (values | wrong, arrays))
    with pytest.raises(ModelError, match="graphs"):
        load(GraphModel, (values, arrays | {"weights": np.zeros(1000, np.int16)}))


def test_a_continued_model_keeps_its_graphs(model):
    again = train(sentences(20, 3), start=model)
    assert again.components["graphs"] == model.components["graphs"]


def test_the_command_line_writes_graphs(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model.save("m")
    Path("in.conllu").write_text(with_graphs(raw_treebank(20, 4)), encoding="utf-8")
    parse = ["parse", "m", "in.conllu", "-o"]
    assert main([*parse, "out.jsonl"]) == 0
    lines = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    cells = [[word["deps"] for word in json.loads(line)["words"]] for line in lines]
    for options, shown in (([], True), (["--no-graphs"], False)):
        assert main([*parse, "out.conllu", *options]) == 0
        assert ("are left out" in capsys.readouterr().err) != shown
        parsed = list(conll.read("out.conllu"))
        assert all((read_graph(own) is not None) == shown for own in parsed)
        assert not shown or cells == [[row[8] for row in own.rows] for own in parsed]
        assert main(["evaluate", "--ud", "in.conllu", "out.conllu"]) == 0
        assert ("ELAS" in capsys.readouterr().out) == shown
    assert main([*parse, "out.conllu", "--deps", "keep"]) == 0
    assert [read_graph(own) for own in conll.read("out.conllu")] == [read_graph(own) for own in conll.read("in.conllu")]


def test_documents_have_graphs(model):
    document = TextParser(model)("den hund ser hus sovende .")
    [own] = document.sentences
    assert [word.deps for word in own] == own.parse.graph
    assert [word["deps"] for word in own.to_json()["words"]] == own.parse.graph
    assert read_graph(read(own.to_conllu())[0]) == own.parse.graph
    assert not find_spec("pandas") or document.to_frame()["deps"].tolist() == own.parse.graph


def test_words_of_a_flat_sentence_have_few_candidates():
    model = GraphModel({"^conj vconj": ["=conj"]}, [], [], np.zeros(1 << 12, np.int16))
    rows = [[str(i), "a", "a", "NOUN", "_", "_", "_"] for i in range(1, 1001)]
    words = TreeWords(rows, [0, *[1] * 999], ["root", *["conj"] * 999])
    nodes = [own.nodes for own in model.candidates(words)]
    assert len(nodes) <= 1000 * 2 * NEAREST
    assert {(500, 1, 499), (500, 1, 501)} <= set(nodes)
