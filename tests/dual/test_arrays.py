"""decode_scores: batches against single sentences, labels against enumeration, hard cases, and errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from naive_domain import used_scores
from naive_trees import tree_array
from pages import run_page

from nonproj.dual.arrays import decode_scores


def exact_values(single_root=True, **arrays):
    """The score of every tree, by its heads, without rounding; the arrays by the names of part types."""
    n = len(arrays["arc"]) - 1
    used = used_scores(n, arrays, single_root, projective=False).astype(np.float64).tolist()
    trees = map(tuple, tree_array(n, single_root).tolist())
    return {tree: sum(map(Fraction, row)) for tree, row in zip(trees, used, strict=True)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("names", [(), ("siblings",), ("label_scores",), ("grandparents", "label_scores")])
def test_padded_batches_and_lists_are_their_sentences(names, dtype):
    rng, sizes = np.random.default_rng(0), (4, 1, 10, 3, 7)
    shapes = {"arc_scores": (10, 10), "siblings": (10,) * 3, "grandparents": (10,) * 3, "label_scores": (10, 10, 2)}
    padded = {name: (10 * rng.normal(size=(5, *shapes[name]))).astype(dtype) for name in ("arc_scores", *names)}
    axes = {name: len(shape) - (name == "label_scores") for name, shape in shapes.items()}
    cut = {name: [own[(slice(n),) * axes[name]] for own, n in zip(padded[name], sizes, strict=True)] for name in padded}
    given = decode_scores(**padded, lengths=np.array(sizes) - 1, marginals=True), decode_scores(**cut, marginals=True)
    for b, n in enumerate(sizes):
        alone = decode_scores(**{name: each[b] for name, each in cut.items()}, marginals=True)
        sums = [0.0] + [1.0] * (n - 1) + [0.0] * (10 - n)
        for found in given:
            assert found.heads[b].tolist() == alone.heads.tolist() + [-1] * (10 - n)
            assert found.scores[b] == pytest.approx(alone.scores) and found.certified[b]
            np.testing.assert_allclose(found.marginals[b, :n, :n], alone.marginals, atol=1e-12)
            np.testing.assert_allclose(found.marginals[b].sum(axis=0), sums, atol=1e-9)
            assert alone.labels is None or found.labels[b].tolist() == alone.labels.tolist() + [-1] * (10 - n)


def test_batches_of_one_sentence_and_lists_of_equal_ones():
    same = list(np.random.default_rng(0).normal(size=(2, 3, 3)))
    assert decode_scores(same[:1]).heads.tolist() == [decode_scores(same[0]).heads.tolist()]
    listed, stacked = (decode_scores(each, lengths=[2, 1]) for each in (same, np.stack(same)))
    assert listed.heads.tolist() == stacked.heads.tolist() and listed.heads.dtype == np.int32


def test_tensors_are_read_in_place():
    torch = pytest.importorskip("torch")
    scores = torch.randn(3, 6, 6, dtype=torch.float32)
    assert np.shares_memory(np.asarray(scores), scores.numpy())
    expected = decode_scores(scores.numpy().astype(np.float64))
    assert decode_scores(scores).heads.tolist() == expected.heads.tolist()


def with_entry(shape, place, number):
    """Zeros but for one number."""
    found = np.zeros(shape)
    found[place] = number
    return found


def test_the_page_on_scores_of_ones_own(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    run_page("docs/own-scores.md", tmp_path, monkeypatch)


# -- labels, lists and other numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("higher", [False, True])
@pytest.mark.parametrize("single_root", [False, True])
def test_labelled_trees_equal_enumeration(higher, single_root):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 4))
        arcs, labels = rng.normal(size=(n + 1, n + 1)), rng.normal(size=(n + 1, n + 1, 3))
        siblings = rng.normal(size=(n + 1,) * 3) * higher
        labels[rng.random(labels.shape) < 0.2] = (-np.inf, np.finfo(np.float32).min)[seed % 2]
        labels[0, :, 0] = 0.5
        every = []
        for tree, value in exact_values(single_root, arc=arcs, sibling=siblings).items():
            for names in itertools.product(range(3), repeat=n):
                own = math.fsum(
                    labels[h, m, label] for m, (h, label) in enumerate(zip(tree[1:], names, strict=True), 1)
                )
                every += [(float(value) + own, tree, names)] if own > -1e30 else []
        given = {"label_scores": labels, "single_root": single_root, "marginals": not higher, "k": 1 if higher else 2}
        found = decode_scores(arcs, siblings if higher else None, **given)
        score, tree, names = max(every)
        assert found.scores == pytest.approx(score) and found.certified
        assert (found.heads.tolist(), found.labels.tolist()) == (list(tree[1:]), list(names))
        if not higher:
            best = {tree: score for score, tree, _ in sorted(every)}
            assert [tree.score for tree in found.trees] == pytest.approx(sorted(best.values(), reverse=True)[:2])
            expected = np.zeros((n + 1, n + 1))
            for score, tree, _ in every:
                expected[tree[1:], range(1, n + 1)] += math.exp(score)
            total = sum(math.exp(score) for score, _, _ in every)
            np.testing.assert_allclose(found.marginals, expected / total, atol=1e-9)


ZEROS, RAGGED = np.zeros((3, 3)), [np.zeros((2, 2)), np.zeros((3, 3))]
NAN = r"label_scores\[1, 0, 2, 1\] is nan; a finite score is expected, or minus infinity for an absent label"


@pytest.mark.parametrize(
    ("arcs", "name", "wrong", "message"),
    [
        (np.zeros((2, 3)), "k", 1, r"arc_scores has shape \(2, 3\); \(N, N\) or \(B, N, N\) with N = words"),
        (np.full((3, 3), -1e300), "k", 1, r"arc_scores\[0, 1\] is -1e\+300; the maximum absolute value is"),
        (with_entry((2, 3, 3), (1, slice(None), 1), -np.inf), "k", 1, "sentence 1: no tree spans the words"),
        (np.zeros((3, 3), complex), "k", 1, "arc_scores is complex; real scores are expected"),
        ([["a", "b"], ["c", "d"]], "k", 1, "arc_scores is of dtype <U1; numbers are expected"),
        ([[1.0, 2.0], [3.0]], "k", 1, "arc_scores has rows of different lengths"),
        ([np.zeros((2, 2)), np.zeros((3, 2))], "k", 1, r"arc_scores\[1\] has shape \(3, 2\); \(N, N\) with N"),
        (ZEROS, "siblings", np.zeros((2, 2, 2)), r"siblings has shape \(2, 2, 2\), which does not match \(3, 3\)"),
        (ZEROS, "siblings", np.zeros((3, 3, 3), complex), "siblings is complex"),
        (RAGGED, "siblings", [np.zeros((3, 3, 3)), np.zeros((2, 2, 2))], "does not match"),
        (RAGGED, "lengths", [1, 2], "lengths is for padded arrays"),
        (ZEROS, "lengths", [3], r"lengths\[0\] is 3; an integer from 0 to 2 is expected"),
        (ZEROS, "lengths", [-1], r"lengths\[0\] is -1; an integer from 0 to 2 is expected"),
        (ZEROS, "lengths", [1, 1], r"lengths has shape \(2,\); \(1,\) is expected, one for each sentence"),
        (ZEROS, "lengths", [1.0], "lengths is of dtype float64; integers are expected"),
        (np.zeros((5000, 3, 3)), "lengths", [2] * 4999 + [7], r"^lengths\[4999\] is 7; an integer from 0 to 2 is exp"),
        (ZEROS, "label_scores", np.zeros((3, 3)), r"label_scores has shape \(3, 3\); \(N, N, L\) or"),
        (ZEROS, "label_scores", np.zeros((2, 2, 4)), "does not match"),
        (np.zeros((2, 3, 3)), "label_scores", with_entry((2, 3, 3, 2), (1, 0, 2, 1), np.nan), NAN),
        (with_entry((3, 3), (1, 2), np.nan), "label_scores", np.zeros((3, 3, 2)), r"arc_scores\[1, 2\] is nan"),
    ],
)
def test_what_is_refused(arcs, name, wrong, message):
    with pytest.raises(ValueError, match=message):
        decode_scores(arcs, **{name: wrong})


def test_labels_that_do_not_count_are_not_looked_at():
    labels = np.zeros((3, 3, 2))
    labels[:, 0] = labels[1, 1] = labels[2, 2] = np.nan
    assert decode_scores(np.zeros((3, 3)), label_scores=labels).labels.tolist() == [0, 0]


def almost_masked(rng):
    """Scores of -1e8 do not forbid an arc, and the last of twenty trees has some: the first is exact all the same."""
    arcs = np.round(rng.normal(size=(4, 4)) * 0.05, 2)
    arcs = np.where(rng.random((4, 4)) < 0.5, -1e8, arcs)
    return {"arc": arcs, "grandparent": np.round(rng.normal(size=(4, 4, 4)) * 0.05, 2)}


def rounded_apart(rng):
    """Scores relative to the best arcs tie where a constant for each word has rounded the scores themselves apart."""
    return {"arc": rng.uniform(0.5, 2) * rng.integers(-2, 3, (5, 5)) + 10 * rng.normal(size=5)}


def small_gains(rng):
    """Gains that are below the rounding error end the local search."""
    arcs = np.where(rng.random((5, 5)) < 0.7, -0.1, 1e-16 * rng.normal(size=(5, 5)))
    return {"arc": arcs, "grandparent": 1e-19 * rng.normal(size=(5, 5, 5))}


@pytest.mark.parametrize("draw", [almost_masked, rounded_apart, small_gains])
def test_ranked_trees_are_in_order_and_under_exact_bounds(draw):
    for seed in [*range(20), 214]:
        arrays = draw(np.random.default_rng(seed))
        left = exact_values(**arrays)
        expected = sorted(map(float, left.values()), reverse=True)[:20]
        found = decode_scores(arrays["arc"], None, arrays.get("grandparent"), k=20)
        scores = [tree.score for tree in found.trees]
        assert scores == sorted(scores, reverse=True) and found.certified and found.scores == scores[0]
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-15)
        for tree in found.trees:
            assert tree.certified and Fraction(tree.bound) >= max(left.values())
            del left[tuple(tree.tree.tolist())]


def test_labels_are_added_before_masks_are_judged():
    labels = np.zeros((3, 3, 1))
    labels[1, 2, 0] = 2e9 + 10
    found = decode_scores([[0, 1, 1], [0, 0, -2e9], [0, 0, 0]], label_scores=labels)
    assert (found.heads.tolist(), float(found.scores), bool(found.certified)) == ([0, 1], 11.0, True)
    labels[1, 2, 0] = 1.0
    with pytest.raises(ValueError, match="no tree"):
        decode_scores([[0, 1, -np.inf], [0, 0, -2e9], [0, 0, 0]], label_scores=labels)


@pytest.mark.parametrize("shift", [-100.0, -1000.0, 1e6, [1e9, -50.0, 3.0, 0.0, 1e3, -1e5, 7.0, 1.0]])
@pytest.mark.parametrize("work", [0, 1_000_000])
def test_a_constant_on_all_arcs_into_a_word_has_no_influence(shift, work):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        arcs = np.round(rng.normal(size=(9, 9)), 3)
        cubes = {name: rng.normal(size=(9, 9, 9)) for name in ("siblings", "grandparents")}
        shifts = np.zeros(9)
        shifts[1:] = shift
        plain, moved = (decode_scores(each, **cubes, work_per_word=work) for each in (arcs, arcs + shifts))
        assert plain.heads.tolist() == moved.heads.tolist()
        assert plain.certified == moved.certified
        assert moved.scores == pytest.approx(plain.scores + shifts.sum(), rel=1e-12, abs=1e-6)
        assert moved.bounds - moved.scores == pytest.approx(plain.bounds - plain.scores, abs=1e-6)


@pytest.mark.parametrize("higher", [("siblings",), ("grandparents",), ("siblings", "grandparents")])
def test_arrays_of_normal_scores_are_proven_by_default(higher):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = 4 + seed % 5
        cubes = {name: rng.normal(size=(n + 1,) * 3) for name in higher}
        assert decode_scores(rng.normal(size=(n + 1, n + 1)), **cubes).certified


@pytest.mark.parametrize("higher", [(), ("siblings", "grandparents")])
def test_no_bound_is_below_the_exact_optimum(higher):
    """Not even in the last bit."""
    below = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 5))
        scales = 10.0 ** rng.integers(-3, 6, 3)
        arcs, *cubes = (scale * rng.normal(size=(n + 1,) * each) for scale, each in zip(scales, (2, 3, 3), strict=True))
        cubes = dict(zip(higher, cubes, strict=False))
        used = exact_values(arc=np.abs(arcs), **{name[:-1]: np.abs(cube) for name, cube in cubes.items()})
        optimum = max(exact_values(arc=arcs, **{name[:-1]: cube for name, cube in cubes.items()}).values())
        found = decode_scores(arcs, **cubes)
        assert Fraction(float(found.bounds)) >= optimum
        assert found.certified and found.bounds - found.scores <= 1e-12 * max(used.values())
        below += Fraction(float(found.scores)) < optimum
    assert below > 5


def test_the_second_tree_is_exact_beside_arcs_that_are_very_low():
    arcs = [[0, 0, 1e-13, 1.8e-13], [0, 0, -7e-14, 5e-14], [0, -5e-14, 0, -1e4], [0, -6e-14, -1e4, 0]]
    assert [tree.heads.tolist() for tree in decode_scores(arcs, k=2).trees] == [[2, 0, 1], [3, 1, 0]]
    arcs[2][1] = -np.inf  # now without a search
    assert decode_scores(arcs).heads.tolist() == [3, 1, 0]


def test_ties_of_score_zero_are_certified():
    """If all scores are 0, so is the tolerance, and no bound may be above its tree by rounding."""
    found = decode_scores([[0, 0.1, 0], [0, 0, 0], [0, 0, 0]], grandparents=np.zeros((3, 3, 3)))
    assert (found.heads.tolist(), found.scores, found.status) == ([0, 1], 0.1, "optimal")
