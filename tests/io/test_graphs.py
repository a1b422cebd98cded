"""Enhanced graphs in files: read, written, connected, refused in one line."""

import io
import itertools
import random

import naive_graphs as naive
import pytest
from instances import seeds

from nonproj.cli.main import main
from nonproj.errors import DataError
from nonproj.io import conll
from nonproj.io.graphs import as_columns, connected, read_graph
from nonproj.pictures.content import TreeArc, picture_of
from nonproj.pictures.terminal import to_terminal
from nonproj.types import Sentence

TEXT = """# sent_id = 1
1	Mary	Mary	PROPN	_	_	2	nsubj	2:nsubj	_
2	won	win	VERB	_	_	0	root	0:root	_
3	gold	gold	NOUN	_	_	2	obj	2:obj	_
4	and	and	CCONJ	_	_	5	cc	5.1:cc	_
5	Peter	Peter	PROPN	_	_	2	conj	5.1:nsubj	_
5.1	won	win	VERB	_	_	_	_	2:conj:and	CopyOf=2
6	silver	silver	NOUN	_	_	5	orphan	5.1:obj	_

"""

PLAIN = [[(2, "nsubj")], [(0, "root")], [(2, "obj")]]


def only(text: str):
    """The sentence of a text."""
    [sentence] = conll.read(io.StringIO(text))
    return sentence


def with_deps(*cells: str, more: str = "") -> str:
    """A sentence of words below the first one, with these cells of DEPS, and further lines."""
    rows = [f"{i}\tw\tw\tX\t_\t_\t{int(i > 1)}\tx\t{cell}\t_\n" for i, cell in enumerate(cells, 1)]
    return "".join(rows) + more + "\n"


def test_arcs_through_empty_nodes_have_the_labels_on_their_way():
    expected = [*PLAIN, [(2, "conj:and>cc")], [(2, "conj:and>nsubj")], [(2, "conj:and>obj")]]
    assert read_graph(only(TEXT)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_graphs_are_read_as_written(seed):
    chance = random.Random(seed)
    n = chance.randint(1, 6)
    graph: list = [set() for _ in range(n)]
    for _ in range(3 * n):
        labels = chance.choices("abc", k=chance.choice((1, 1, 2, 3)))
        chance.choice(graph).add((chance.randint(0, n), ">".join(labels)))
    graph = [sorted(arcs or {(0, "a")}) for arcs in graph]
    sentence = only(with_deps(*"_" * n))
    written = only(conll.replace(sentence, [0] + [1] * (n - 1), graph=graph))
    assert read_graph(written) == graph
    assert [set(arcs) for arcs in graph] == naive.arcs_between_words(written)
    ids = [line.split("\t")[0] for line in written.lines[:-1]]
    assert ids == sorted(ids, key=lambda name: [int(part) for part in name.split(".")])


@pytest.mark.parametrize("seed", range(20))
def test_every_word_is_connected_to_the_root(seed):
    chance = random.Random(seed)
    n = chance.randint(1, 7)
    heads = [chance.randrange(word) for word in range(1, n + 1)]
    graph = [[(chance.randint(0, n), "x")] * (chance.random() < 0.7) for _ in range(n)]
    found = connected(graph, heads, ["t"] * n)
    assert naive.is_connected(found)
    assert all(set(own) <= set(arcs) for own, arcs in zip(graph, found, strict=True))
    added = {arc for own, arcs in zip(graph, found, strict=True) for arc in arcs if arc not in own}
    assert added <= {(head, "t") for head in heads}
    assert connected(found, heads, ["t"] * n) == found


@pytest.mark.filterwarnings("error")
def test_a_new_graph_replaces_the_old_one_with_its_empty_nodes():
    sentence, tree = only(TEXT), [2, 0, 2, 5, 2, 5]
    graph = [*PLAIN, [(5, "cc")], [(2, "conj>nsubj")], [(2, "conj>obj")]]
    text = conll.replace(sentence, tree, graph=graph)
    assert [line.split("\t")[0] for line in text.splitlines()[1:-1]] == ["1", "2", "3", "4", "5", "5.1", "6"]
    assert read_graph(only(text)) == graph and "CopyOf" not in text
    assert conll.replace(sentence, tree, graph=graph, deps=conll.KEEP) == TEXT


def test_lines_of_a_file_with_other_endings_and_without_a_last_one():
    graph = [[(0, "root")], [(1, "conj>obj")]]
    text = conll.replace(only(with_deps("_", "_").replace("\n", "\r\n")), [0, 1], graph=graph)
    assert text.count("\r\n") == text.count("\n") == 4
    assert read_graph(only(conll.replace(only(with_deps("_", "_").rstrip()), [0, 1], graph=graph))) == graph


def test_half_a_graph_is_none_and_cycles_through_empty_nodes_end():
    assert read_graph(only(with_deps("0:root", "_"))) is None
    assert read_graph(only(with_deps("0", "1"))) is None  # PHEAD
    empty = "2.1\t_\t_\t_\t_\t_\t_\t_\t2.2:a\t_\n2.2\t_\t_\t_\t_\t_\t_\t_\t2.1:b|0:c\t_\n"
    assert read_graph(only(with_deps("0:root", "2.1:x", more=empty))) == [[(0, "root")], [(0, "c>a>x")]]


@pytest.mark.parametrize("cell", ["9:x", "1:", "1.1:x", ":x", "a:x", "01:x", "1:x||1:y", "1:x y"])
def test_other_arcs_are_refused_in_one_line(cell):
    with pytest.raises(DataError, match=r"^<stream>:2: DEPS is '.*', HEAD:LABEL expected") as caught:
        read_graph(only(with_deps("0:root", cell)))
    assert "\n" not in str(caught.value)


def test_graphs_of_treebanks_are_read_as_by_definition(released):
    for name in ("Belarusian-HSE/be_hse", "Swedish-Talbanken/sv_talbanken", "Tamil-TTB/ta_ttb"):
        for sentence in itertools.islice(conll.read(released / f"{name}-ud-test.conllu"), len(seeds(2000))):
            graph = read_graph(sentence)
            assert [set(arcs) for arcs in graph] == naive.arcs_between_words(sentence)
            assert connected(graph, sentence.heads.tolist(), sentence.labels) == graph
            cells, empty = as_columns(graph)
            assert len(cells) == len(sentence) and all(cell for _, cell in empty)


def test_pictures_have_arcs_that_are_not_in_the_tree_below(tmp_path):
    path = tmp_path / "parsed.conllu"
    path.write_text(with_deps("0:x", "1:x|3:y", "1:x"), encoding="utf-8")
    for name, arc in (("tree.svg", 'class="arc enhanced"'), ("tree.tex", "edge below")):
        assert main(["show", str(path), "--sentence", "1", "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text(encoding="utf-8").count(arc) == 1
    picture = picture_of(only(path.read_text(encoding="utf-8")), graph=[[(0, "x")], [(1, "x"), (3, "y")], [(1, "x")]])
    assert picture.below == [TreeArc(3, 2, "y", "enhanced")]
    assert to_terminal(picture) == to_terminal(picture._replace(below=[]))


def test_many_paths_through_empty_nodes_take_no_time():
    names = [f"1.{i}" for i in range(1, 31)]
    every = "|".join(["0:root", *(f"{name}:x" for name in names)])
    row = ["1", "Go", *"_____", "root", every, "_"]
    lines = ["\t".join(cells) + "\n" for cells in (row, *([name, *"_______", every, "_"] for name in names))]
    [arcs] = read_graph(Sentence([row], lines=lines, word_lines=[0]))
    assert (0, "root") in arcs and (0, "root>x") in arcs
