"""Model 1: its trees, probabilities and charts equal those of the twin."""

import itertools

import naive_lexicalised as naive
import numpy as np
import pytest
from instances import seeds

from nonproj.errors import ModelError
from nonproj_systems.constituency.brackets import TOP, Tree, parse_tree
from nonproj_systems.constituency.collins import KIND, VERSION, Collins
from nonproj_systems.constituency.collins_coarse import coarse_grammar, keep_probable
from nonproj_systems.constituency.collins_trees import with_base_phrases, without_base_phrases
from nonproj_systems.constituency.forest import best_derivation
from nonproj_systems.constituency.heads import dependencies, head_child
from nonproj_systems.constituency.lexicalised import LexicalisedParser
from nonproj_systems.constituency.split import read_split
from nonproj_systems.models import write

WORDS = {"NN": ["dog", "cat", "tree"], "VB": ["see", "run"], "DT": ["the", "a"], "IN": ["in", "of"]}


def random_phrase(rng, label, n_words):
    """Return a random tree of a category."""
    if n_words == 1 and (label != "S" or rng.random() < 0.5):
        tag = str(rng.choice(list(WORDS)))
        return Tree(label, (Tree(tag, (), str(rng.choice(WORDS[tag]))),))
    size = int(rng.integers(1 if label == "S" else 2, min(3, n_words) + 1)) if n_words > 1 else 1
    cuts = np.sort(rng.choice(np.arange(1, n_words), size - 1, replace=False)).tolist() if n_words > 1 else []
    children = []
    for begin, end in itertools.pairwise([0, *cuts, n_words]):
        kind = str(rng.choice(["NP", "VP", "tag"])) if end - begin == 1 else str(rng.choice(["NP", "VP", "S"]))
        if size == 1 and kind in (label, "tag"):
            kind = "VP"
        if kind == "tag":
            children += random_phrase(rng, "X", 1).children
        else:
            children.append(random_phrase(rng, kind, end - begin))
    return Tree(label, tuple(children))


def random_treebank(rng, size=12, longest=4):
    """Return random plain trees."""
    return [Tree(TOP, (random_phrase(rng, "S", int(rng.integers(1, longest + 1))),)) for _ in range(size)]


def as_naive(tree):
    """Return a tree with base phrases in the twin's form."""
    counter = itertools.count()

    def convert(node):
        if node.word is not None:
            return node.label, None, next(counter)
        head = head_child(node.label, [child.label for child in node.children])
        return node.label, head, tuple(convert(child) for child in node.children)

    return convert(tree)


def as_tree(tree, words):
    """Return a tree of the twin as a `Tree`."""
    label, head, inside = tree
    return Tree(label, (), words[inside]) if head is None else Tree(label, tuple(as_tree(c, words) for c in inside))


def models(rng, min_count=2, size=12):
    """Return a model of random trees, its twin, and the trees."""
    trees = random_treebank(rng, size)
    marked = [with_base_phrases(tree) for tree in trees]
    twin = naive.NaiveModel([(as_naive(t), t.words(), t.tags()) for t in marked], min_count)
    return Collins.train(trees, min_count), twin, trees


def sentence(rng, n_words):
    """Return random words and tags; now and then a word is unknown."""
    tags = [str(rng.choice(list(WORDS))) for _ in range(n_words)]
    return [str(rng.choice([*WORDS[tag], "zebra"])) for tag in tags], tags


@pytest.mark.parametrize("seed", seeds(40))
def test_the_best_tree_is_that_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    model, twin, _ = models(rng, size=4)
    words, tags = sentence(rng, 3 if len(model.states) <= 7 else int(rng.integers(1, 3)))
    n = len(words)
    states = [tuple(model.symbols[i] for i in pair) for pair in model.states.tolist()]
    bonus = rng.normal(size=(n + 1, n + 1)) * (seed % 2)
    bonus[0, 0] = 0.0
    best, best_tree = -np.inf, None
    for tree in naive.phrases(0, n, tags, states, 4):
        if tree[0] == TOP:
            score = twin.score(tree, words, tags)
            score += sum(bonus[arc] for arc in naive.arcs(tree)) if score > -np.inf else 0.0
            if score > best + 1e-12:
                best, best_tree = score, tree
    parser = LexicalisedParser(model, (0.0,))
    graph = parser.chart(words, tags)
    if best_tree is None:
        assert graph is None
        assert parser.parse(words, tags).score == -np.inf
        return
    score, edges = best_derivation(graph, bonus.ravel())
    assert score == pytest.approx(best, abs=1e-9)
    found = parser.read(graph, edges, score, words, tags)
    assert found.tree == without_base_phrases(as_tree(best_tree, words))
    assert {(int(h), m) for m, h in enumerate(found.heads, 1)} == set(naive.arcs(best_tree))


def test_the_treebanks_own_trees_have_the_twins_probability():
    """The derivation of a training tree is in its chart, with the twin's score."""
    rng = np.random.default_rng(5)
    model, twin, trees = models(rng)
    for tree in trees:
        marked = with_base_phrases(tree)
        parser, score = LexicalisedParser(model, (0.0,)), twin.score(as_naive(marked), tree.words(), tree.tags())
        found = parser.parse(tree.words(), tree.tags())
        assert found.score >= score - 1e-9 > -np.inf
        assert found.score == pytest.approx(twin.score(as_naive(with_base_phrases(found.tree)), tree.words(),
                                                       tree.tags()))  # fmt: skip
        assert found.heads.tolist() == dependencies(found.tree)


def test_heads_of_base_phrases_are_those_of_plain_trees():
    rng = np.random.default_rng(0)
    for tree in random_treebank(rng, 200, 8):
        marked = with_base_phrases(tree)
        assert dependencies(marked) == dependencies(without_base_phrases(marked))
        assert with_base_phrases(without_base_phrases(marked)) == marked


def test_possessives_do_not_make_a_noun_phrase_complex():
    tree = parse_tree("(NP (NP (NNP John) (POS 's)) (NN dog))")
    assert str(with_base_phrases(tree)) == "(TOP (NP (NPB (NP (NPB (NNP John) (POS 's))) (NN dog))))"


def test_pruning_removes_only_improbable_items():
    rng = np.random.default_rng(3)
    model, _, trees = models(rng)
    grammar = coarse_grammar(model)
    for tree in trees:
        tags = model.tag_numbers(tree.tags())
        every, some = (keep_probable(model, grammar, tags, threshold) for threshold in (0.0, 0.1))
        for whole, part in zip(every, some, strict=True):
            assert not (part & ~whole).any()
        assert every.complete[0, -1, model.symbol_ids[TOP]] and some.complete[0, -1, model.symbol_ids[TOP]]


def test_models_survive_a_file(tmp_path):
    model, _, trees = models(np.random.default_rng(1))
    model.save(tmp_path / "model")
    again = LexicalisedParser.load(tmp_path / "model")
    for tree in trees:
        assert again.parse(tree.words(), tree.tags())[2] == LexicalisedParser(model).parse(tree.words(), tree.tags())[2]


def test_damaged_models_are_refused(tmp_path):
    model = models(np.random.default_rng(1))[0]
    values = {"symbols": model.symbols, "words": model.words, "factor": model.factor}
    wrong = model.events.copy()
    wrong[3, 0] |= 127
    for change, events in (
        ({}, None),
        ({}, wrong),
        ({}, model.events[:, :2]),
        ({}, -model.events),
        ({}, model.events + [0, len(model.words) * 2**7, 0]),
        ({"symbols": model.symbols[1:]}, model.events),
        ({"words": model.words[:2]}, model.events),
        ({"words": None}, model.events),
        ({"factor": "5"}, model.events),
    ):
        write(tmp_path / "m", KIND, VERSION, values | change, {} if events is None else {"events": events})
        with pytest.raises(ModelError, match=f"^{tmp_path}/m: a damaged model for lexicalised phrase structure"):
            LexicalisedParser.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        ([], [], "0 words and 0 tags; words and a tag for each are expected"),
        (["dog"], [], "1 words and 0 tags; words and a tag for each are expected"),
        (["dog"] * 151, ["NN"] * 151, "a sentence of 151 words; at most 150 can be parsed: split it"),
    ],
)
def test_errors(words, tags, message):
    parser = LexicalisedParser(models(np.random.default_rng(1))[0])
    with pytest.raises(ValueError, match=f"^{message}$"):
        parser.parse(words, tags)


def test_a_new_tag_has_a_flat_tree():
    parser = LexicalisedParser(models(np.random.default_rng(1))[0])
    found = parser.parse(["dog", "?"], ["NN", "NEW"])
    assert str(found.tree) == "(TOP (FRAG (NN dog) (NEW ?)))"
    assert (found.heads.tolist(), found.score) == ([2, 0], -np.inf)


def test_real_trees(treebanks):
    """Over 90 % of the dependencies of twelve training trees are found; no sentence is lost to pruning."""
    trees = read_split(treebanks / "wsj-brackets")["train"][:150]
    parser = LexicalisedParser(Collins.train(trees))
    chosen = [tree for tree in trees if len(tree.words()) <= 15][:12]
    right = total = 0
    for tree in chosen:
        found = parser.parse(tree.words(), tree.tags())
        assert found.tree.words() == tree.words() and found.tree.tags() == tree.tags()
        assert dependencies(found.tree) == found.heads.tolist()
        gold = dependencies(tree)
        right += sum(a == b for a, b in zip(gold, found.heads.tolist(), strict=True))
        total += len(gold)
    assert right / total > 0.9
