"""Constraints on trees: reading them, satisfying them, and finding the best tree that does."""

import dataclasses

import numpy as np
import pytest
import toy
from naive_trees import all_trees
from staged import scored

from nonproj.cli.main import main
from nonproj.errors import DataError
from nonproj.io import conll
from nonproj.io.constraints import read_constraints
from nonproj.model.model import Model
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import tree_score
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence


@pytest.fixture(scope="module")
def path(model_of):
    """A small model, with a tagger."""
    return model_of("complete")


def constrained(sentence, misc):
    """A sentence with another column MISC for some words, from 1."""
    rows = [[*row[:9], misc.get(i, row[9])] for i, row in enumerate(sentence.rows, 1)]
    lines = ["\t".join(row) + "\n" for row in rows] + ["\n"]
    return Sentence(rows, path="in.conll", line=1, lines=lines, word_lines=list(range(len(rows))))


THREE = Sentence([[str(i), "a", *"____0___"] for i in (1, 2, 3)])


def parser_of(path, **decoding):
    """A parser with other options of decoding."""
    model = Model.load(path)
    return Parser(model, dataclasses.replace(model.config.decoding, **decoding))


def obeys(tree, demanded, forbidden):
    """Whether a tree has the required heads and none of the forbidden ones."""
    return all(tree[m] == h for m, h in demanded) and all(tree[m] != h for m, h in forbidden)


def test_the_best_tree_that_obeys_is_found(path):
    options = {"full": True, "single_root": True, "projective": False, "crossing": 0.0}
    parser, changed = parser_of(path, constraints="misc", **options), 0
    sentences = [s for s in toy.sentences(60, seed=4) if 3 <= len(s) <= 5]
    assert len(sentences) >= 8
    for seed, sentence in enumerate(sentences):
        rng, n = np.random.default_rng(seed), len(sentence)
        parts, scores = scored(parser, sentence, full_arc_space(n))
        every = [tree for tree in all_trees(n) if sum(h == 0 for h in tree[1:]) == 1]
        gold = every[int(rng.integers(len(every)))]
        m, other = (int(i) for i in rng.choice(np.arange(1, n + 1), 2, replace=False))
        demanded = [(m, gold[m])]
        forbidden = [(other, h) for h in range(n + 1) if h not in (other, gold[other])][:2]
        misc = {m: f"Head={gold[m]}|SpaceAfter=No", other: "|".join(f"NotHead={h}" for _, h in forbidden)}
        found = parser.parse(constrained(sentence, misc)).decoded
        best = max(tree_score(parts, scores, np.array(tree)) for tree in every if obeys(tree, demanded, forbidden))
        assert found.score == pytest.approx(best) and found.certified
        assert obeys(found.tree.tolist(), demanded, forbidden)
        changed += found.tree.tolist() != parser.parse(sentence).decoded.tree.tolist()
    assert changed >= 3


def test_labels_and_heads_of_the_columns_are_obeyed(path):
    parser = parser_of(path, constraints="head")
    for sentence in toy.sentences(8, seed=9):
        parse = parser.parse(sentence)
        assert parse.decoded.tree.tolist() == sentence.tree.tolist() and parse.labels == sentence.labels
        rows = [[*row[:6], "_", "odd", *row[8:]] for row in sentence.rows]
        free = parser.parse(Sentence(rows))
        assert set(free.labels) == {"odd"}
        assert free.decoded.tree.tolist() == parser_of(path).parse(sentence).decoded.tree.tolist()


def test_every_way_of_decoding_obeys(path):
    for way in ({}, {"nbest": 3}, {"full": True}):
        parser = parser_of(path, constraints="misc", threshold=1e-9, **way).with_request(tags="all")
        for sentence in toy.sentences(6, seed=2):
            n = len(sentence)
            [(_, parse)] = parser.parse_all([constrained(sentence, {n: "Head=1|Deprel=odd"})])
            for each in (parse, *(parse.others or ())):
                assert each.decoded.tree[n] == 1 and each.labels[n - 1] == "odd"


def test_the_command_line_obeys_and_names_what_it_cannot(path, tmp_path, capsys):
    text = "1\tden" + "\t_" * 7 + "\tHead=0\n2\thund" + "\t_" * 7 + "\tHead=1\n3\tser" + "\t_" * 8 + "\n\n"
    (tmp_path / "in").write_text(text)
    words = ["parse", str(path), str(tmp_path / "in"), "-q", "--constraints", "misc", "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert next(conll.read(tmp_path / "out")).tree[1:3].tolist() == [0, 1]
    (tmp_path / "out").unlink()
    for old, new, message in (
        ("=1\n", "=9\n", "in:6: word 2: Head=9: a number from 0 to 3, not that of the word itself, is expected\n"),
        ("=0", "=2", "in:5: no tree satisfies the constraints: no tree spans the words: some cannot be"),
        ("=1", "=0", "in:5: no tree satisfies the constraints: no tree with a single root spans the words"),
    ):
        (tmp_path / "in").write_text(text + text.replace(old, new))
        assert main(words) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("misc", "message"),
    [
        ({1: "Head=x"}, "word 1: Head=x: a number from 0 to 3"),
        ({2: "Head=2"}, "word 2: Head=2: .* not that of the word itself"),
        ({3: "NotHead=-1"}, "word 3: NotHead=-1: "),
        ({3: "Head=1|Head=2"}, "word 3: the constraints on its head leave none"),
        ({3: "NotHead=0|NotHead=1|NotHead=2"}, "word 3: the constraints on its head leave none"),
        ({1: "Deprel=a|Deprel=b"}, "word 1: Deprel=b contradicts Deprel=a"),
        ({1: "Deprel="}, "word 1: Deprel=: a label is expected"),
        ({1: "Deprel"}, "word 1: Deprel=: a label is expected"),
    ],
)
def test_wrong_constraints_are_refused(misc, message):
    with pytest.raises(DataError, match=rf"^in\.conll:{next(iter(misc))}: {message}"):
        read_constraints(constrained(THREE, misc), "misc")


def test_what_binds_nothing_is_none():
    assert read_constraints(constrained(THREE, {}), "misc") is None
    assert read_constraints(constrained(THREE, {1: "SpaceAfter=No|Heads=1"}), "misc") is None
    assert read_constraints(constrained(THREE, {1: "Head=2"}), "none") is None
