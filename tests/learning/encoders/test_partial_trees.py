"""Fine-tuning with partial trees: losses against enumeration, and a tiny encoder learns from some heads."""

import dataclasses

import numpy as np
import pytest
from fine_tuning import examples, heads_alone, learner_of, options, shares
from naive_partial import log_likelihood, obeying
from naive_trees import pairs_of
from problems import naive_relaxed

torch = pytest.importorskip("torch")

from nonproj.components.trainer import train  # noqa: E402
from nonproj.learning.encoders.losses import TAU, difference, head_loss, likely_arcs, tree_loss  # noqa: E402
from nonproj.learning.partial import completion_of  # noqa: E402
from nonproj.parts.space import part_space, tree_indicators  # noqa: E402
from nonproj.pipeline.parser import Parser  # noqa: E402

PARTIAL, WHOLE = [-1, 2, -1, -1, 3], [-1, 2, 0, 2, 3]
"""The heads of a partial and of a whole tree of four words."""


def allowed_arcs(heads):
    """The arcs that a tree with the given heads can have."""
    n = len(heads)
    return np.array([[h != m and heads[m] in (-1, h) or m == 0 < h for m in range(n)] for h in range(n)])


def partial_example(seed):
    """Random scores of all arcs of four words, and the arcs that the tree with the heads `PARTIAL` can have."""
    scores, allowed = np.random.default_rng(seed).normal(size=(5, 5)), allowed_arcs(PARTIAL)
    np.fill_diagonal(scores, -np.inf)
    allowed[1, 3] = False  # forbidden, as by NotHead=
    return scores, allowed


@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_of_given_heads_and_its_gradient(seed):
    """Each word by itself: of word 2 nothing is known, and of word 3 only that one arc is forbidden."""
    scores, allowed = partial_example(seed)
    p = np.exp(scores) / np.exp(scores).sum(axis=0)
    expected = -np.log(p[2, 1]) - np.log(p[3, 4]) - np.log(1.0 - p[1, 3])
    of_arcs = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
    loss = head_loss(of_arcs, np.array(PARTIAL), allowed)
    loss.backward()
    assert loss.item() == pytest.approx(expected, abs=1e-5)
    p[[2, 3], [1, 4]] -= 1.0
    p[:, 3] -= np.where(allowed[:, 3], p[:, 3], 0.0) / (1.0 - p[1, 3])
    p[:, [0, 2]] = 0.0
    np.testing.assert_allclose(of_arcs.grad.numpy(), p, atol=1e-5)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_of_trees_and_its_gradient(seed, single_root, whole):
    """The likelihood of a partial tree is that of all trees that obey, by enumeration; only one does if it is whole."""
    scores, allowed = partial_example(seed)
    heads, forbidden, *rest = (WHOLE, []) if whole else (PARTIAL, [(1, 3)], allowed)
    given = (heads, forbidden), ([-1] * 5, [])
    obey, everything = (log_likelihood(scores, obeying(4, *each, single_root)) for each in given)
    of_arcs = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
    loss = tree_loss(of_arcs, np.array(heads), single_root, *rest)
    loss.backward()
    assert loss.item() == pytest.approx(everything[0] - obey[0], abs=1e-5)
    np.testing.assert_allclose(of_arcs.grad.numpy(), everything[1] - obey[1], atol=1e-5)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ["sibling", "grandparent"])
@pytest.mark.parametrize("seed", range(5))
def test_the_hinge_loss_goes_down_towards_the_trees_that_obey(seed, name, whole):
    """From the best structure to one no worse than these; words without a given head have no costs."""
    of_arcs, allowed = partial_example(seed)
    heads, forbidden, *rest = (WHOLE, []) if whole else (PARTIAL, [(1, 3)], allowed)
    arcs = likely_arcs(of_arcs, np.array(heads), False, *rest)
    pairs, parts = set(pairs_of(arcs)), part_space(arcs, name)
    assert {(2, 1), (3, 4)} <= pairs
    trees = (tree for tree in obeying(4, heads, forbidden) if pairs.issuperset(zip(tree[1:], range(1, 5), strict=True)))
    marks, heads = [tree_indicators(parts, np.array(tree, np.int32)) for tree in trees], np.array(heads)
    scores = np.random.default_rng(seed).normal(size=len(parts)).astype(np.float32)
    augmented, given = scores.astype(np.float64), heads[arcs.modifier] >= 0
    augmented[: len(pairs)] += np.where(given, np.where(arcs.head == heads[arcs.modifier], -0.75, 0.75), 0.0)
    completed = marks[0] if whole else completion_of(parts, allowed).relaxed(scores.astype(np.float64), TAU)
    assert scores @ completed >= max(scores @ each for each in marks) - 1e-5
    found = difference(parts, scores, heads, 1.5, *rest)
    np.testing.assert_allclose(found, naive_relaxed(parts, augmented, TAU) - completed, atol=1e-6)
    forced = scores + 100 * marks[0].astype(np.float32)
    assert not difference(parts, forced, heads, 1.5, *rest).any()


def test_an_encoder_learns_from_partial_trees(folder, sentences, caplog):
    """A third of all heads is given, in every tenth sentence none, and no label of the others."""
    rng, partial = np.random.default_rng(0), []
    for i, sentence in enumerate(sentences * 2):
        given = (rng.random(len(sentence)) < 1 / 3) & (i % 10 > 0)
        rows = [row if g else [*row[:6], "_", "_", *row[8:]] for row, g in zip(sentence.rows, given, strict=True)]
        partial.append(dataclasses.replace(sentence, rows=rows, tree=None))
    with caplog.at_level("INFO", "nonproj"):
        parser = Parser(train(partial, options(folder, encoder__epochs=24)))
    bare = sum(all(row[6] == "_" for row in sentence.rows) for sentence in partial)
    assert bare >= 12 and any(message.endswith(f"; {bare} sentences have no head") for message in caplog.messages)
    assert heads_alone(parser, sentences) >= 0.95 and shares(parser, sentences)[1] >= 0.95


def test_words_without_a_head_have_no_part_in_the_losses(folder):
    """Each given head counts the same; the losses of a tree without the others are those of its given heads."""
    learner = learner_of(folder, types="arc")
    for module in (learner.bert, learner.heads):
        module.eval()
    text = examples(folder, [["den", "hund", "ser", "den", "kathund"]])[0]
    whole, of_both, odd = learner.losses([text]), [], np.arange(6) % 2 == 1
    for given in (odd, ~odd):
        heads, labels = np.where(given, text.heads, -1), np.where(given[1:], text.labels, -1)
        of_both.append(learner.losses([text._replace(heads=heads, labels=labels, allowed=allowed_arcs(heads))]))
    for name in ("heads", "labels"):
        assert sum(each[name].item() for each in of_both) == pytest.approx(whole[name].item(), rel=1e-5)
