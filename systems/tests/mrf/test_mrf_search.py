"""Markov random fields: certified labels are optimal, by enumeration and by the integer program; bounds are bounds."""

import itertools
from fractions import Fraction

import naive_mrf as naive
import numpy as np
import pytest
from instances import seeds

from nonproj_systems.mrf import search
from nonproj_systems.mrf.clusters import add_clusters, descend, gains, start_from
from nonproj_systems.mrf.cycles import separate
from nonproj_systems.mrf.elimination import eliminate
from nonproj_systems.mrf.inference import infer
from nonproj_systems.mrf.model import MRF, grid
from nonproj_systems.mrf.passing import Clock, pass_messages
from nonproj_systems.mrf.restriction import restrict

FORBIDDEN = range(1000, 1060)


def random(seed):
    """Return a random field, every second one with ties; in those of `FORBIDDEN` some states and pairs are."""
    rng = np.random.default_rng(seed)
    raw = naive.random_field(rng, integers=seed % 2 == 1, density=rng.uniform(0.3, 1.0))
    if seed in FORBIDDEN:
        for scores in (*raw[0], *raw[2]):
            scores[rng.random(scores.shape) < 0.15] = -np.inf
        for scores in raw[0]:
            scores[rng.integers(len(scores))] = 0.0
    return raw


@pytest.fixture
def without_elimination(monkeypatch):
    """Small fields are easy for variable elimination; without it, clusters and branches have something to do."""
    monkeypatch.setattr(search, "eliminate", lambda field: None)


@pytest.mark.parametrize("seed", [*seeds(220), *FORBIDDEN])
def test_certified_labels_are_optimal(seed, without_elimination):
    raw = random(seed)
    field, best = MRF(*raw), naive.maximum(raw)
    for options in ({"method": "trws"}, {"method": "trees", "max_iterations": 60}, {}, {"exact": True}):
        bounds: list[float] = []
        found = infer(field, progress=lambda bound, _, bounds=bounds: bounds.append(bound), **options)
        assert found.bound >= best - 1e-7
        if best == -np.inf:
            assert found.value == -np.inf and found.status in ("infeasible", "open")
            assert not options.get("exact") or found.status == "infeasible"
            continue
        assert all(bound >= best - 1e-7 for bound in bounds)  # weak duality at every iteration
        assert found.value <= best + 1e-9 and abs(found.value - naive.score(raw, found.labels)) < 1e-9
        if found.certified:
            assert abs(found.value - best) < 1e-6
        if options.get("exact"):
            assert found.status == "optimal"


@pytest.mark.parametrize("seed", range(0, 220, 4))
def test_programs_agree(seed):
    """The integer program is the optimum; the linear program is between it and every bound of trees."""
    pytest.importorskip("highspy")
    from nonproj_systems.mrf.linear_program import solve_program

    for raw in (random(seed), random(FORBIDDEN[seed % 60])):
        field, best = MRF(*raw), naive.maximum(raw)
        status, value, bound, labels = solve_program(field, integer=True)
        if best == -np.inf:
            assert status == "infeasible"
            continue
        assert status == "optimal" and abs(value - best) < 1e-6 and abs(field.score(labels) - best) < 1e-6
        _, relaxed, _, labels = solve_program(field)
        assert relaxed >= best - 1e-6 and (labels is None or abs(field.score(labels) - best) < 1e-6)
        if np.isneginf(field.penalty):
            assert pass_messages(field, Clock()).bound >= relaxed - 1e-6
        exact = infer(field, exact=True)
        assert exact.certified and abs(exact.value - value) < 1e-6


@pytest.mark.parametrize("seed", seeds(40))
def test_variable_elimination_is_exact(seed):
    raw = random(seed)
    value, labels = eliminate(MRF(*raw))
    assert abs(value - naive.maximum(raw)) < 1e-9 and abs(naive.score(raw, labels) - value) < 1e-9


def test_variable_elimination_gives_up_before_it_takes_too_much():
    clique = MRF(np.zeros((8, 3)), [(i, j) for i in range(8) for j in range(i)], np.eye(3))
    assert eliminate(clique, max_table=3**7) is None and eliminate(clique, max_work=3**8) is None
    assert eliminate(clique, max_table=3**8)[0] == 28.0


@pytest.mark.parametrize("seed", seeds(40))
def test_a_restriction_has_the_scores_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    raw = random(seed)
    field = MRF(*raw)
    allowed = rng.random(len(field.graph.unary)) < 0.6
    allowed[field.graph.first[:-1] + rng.integers(field.n_states)] = True
    constant, labels, parts = restrict(field, allowed)
    for _ in range(5):
        total = constant
        for part in parts:
            mine = rng.integers(part.field.n_states)
            total += part.field.score(mine)
            part.lift(mine, labels)
        assert abs(total - naive.score(raw, labels)) < 1e-9
        assert allowed[field.graph.first[:-1] + labels].all()
    assert all((part.field.n_states > 1).all() for part in parts)
    inner = [(i, j) for i, j in raw[1] if all(np.add.reduceat(allowed, field.graph.first[:-1])[[i, j]] > 1)]
    free = [i for i in range(field.n_nodes) if allowed[field.graph.first[i] : field.graph.first[i + 1]].sum() > 1]
    assert len(parts) == (naive.components(inner, free) if free else 0)


def total_score(tight, labels):
    """Return the score of labels by a reparametrisation."""
    sizes = np.diff(tight.first)
    found = tight.nodes[tight.first[:-1] + labels].sum()
    for e, (i, j) in enumerate(tight.ends.tolist()):
        found += tight.edges[tight.begin[e] + labels[i] * sizes[j] + labels[j]]
    for (i, j, k), shares in zip(tight.triples.tolist(), tight.shares.tolist(), strict=True):
        for (a, b), share in zip(((i, j), (i, k), (j, k)), shares, strict=True):
            found -= tight.given[share + labels[a] * sizes[b] + labels[b]]
    return found


@pytest.mark.parametrize("seed", seeds(40))
def test_clusters_tighten_and_keep_all_scores(seed):
    rng = np.random.default_rng(seed)
    raw = naive.random_field(rng, integers=seed % 2 == 1, n=7, density=0.8)
    field, best = MRF(*raw), naive.maximum(raw)
    state = pass_messages(field, Clock())
    tight = start_from(field, field.graph.unary, state.messages)
    bound = descend(tight, 20)
    for _ in range(6):
        new = separate(tight, 5, 1e-6)
        if not new:
            break
        gain = gains(tight, np.array(new))
        tight = add_clusters(tight, new)
        lower = descend(tight, 10)
        # Each cluster alone would gain so much; together they gain at least the most of these.
        assert best - 1e-9 <= lower <= bound - gain.max() + 1e-9
        bound = lower
    for labels in list(naive.all_labels(raw))[:: max(1, len(list(naive.all_labels(raw))) // 20)]:
        assert abs(total_score(tight, np.array(labels)) - naive.score(raw, labels)) < 1e-8


def test_a_frustrated_cycle_is_found_and_closes_the_gap(without_elimination):
    """A ring without chords has no triangles; the linear program satisfies every edge."""
    n = 9
    edges = [(i, i + 1) for i in range(n - 1)] + [(0, n - 1)]
    ring = MRF(np.zeros((n, 2)), edges, [np.eye(2)] * (n - 1) + [1.0 - np.eye(2)])
    plain = infer(ring, "trws")
    assert abs(plain.bound - n) < 1e-9 and plain.value == n - 1
    found = infer(ring)
    assert found.certified and abs(found.bound - (n - 1)) < 1e-6 and found.clusters == n - 2 and not found.branches


@pytest.mark.parametrize("seed", range(6))
def test_grids_are_proven(seed):
    rng = np.random.default_rng(seed)
    unary, tables = naive.random_grid(rng, 8, 7, 2 + seed % 2, integers=seed % 2 == 1)
    found = infer(grid(unary, tables), exact=True)
    expected = eliminate(grid(unary, tables), max_table=1 << 20, max_work=1 << 25)
    assert found.certified and abs(found.value - expected[0]) < 1e-6


def test_limits_and_starts():
    rng = np.random.default_rng(3)
    field = grid(*naive.random_grid(rng, 30, 30, 4))
    short = infer(field, seconds=1e-9)
    assert short.iterations == 1 and short.status == "open" and short.bound > short.value
    long = infer(field, "trws", max_iterations=50)
    again = infer(field, "trws", max_iterations=1, labels=long.labels)
    assert again.value >= long.value - 1e-9
    assert len(long.trace) <= 50 and (np.diff(long.trace.dual) <= 1e-9).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "belief"}, "the method is 'belief'; one of auto, trws, trees is expected"),
        ({"method": "trws", "exact": True}, "the method trws cannot be exact; auto can"),
        ({"labels": [0]}, "a state for each of 2 nodes is expected, counted from 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError) as error:
        infer(MRF(np.zeros((2, 2)), [[0, 1]], np.eye(2)), **options)
    assert str(error.value) == message


@pytest.mark.parametrize("method", ["auto", "trws", "trees"])
def test_bounds_are_rounded_outward(method):
    """The optimum as a fraction, by enumeration: the bound is not below it by a single digit."""
    edges = list(itertools.combinations(range(4), 2))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        unary, tables = rng.normal(size=(4, 2)), rng.normal(size=(6, 2, 2))
        optimum = max(
            sum(Fraction(unary[i, x[i]]) for i in range(4))
            + sum(Fraction(table[x[i], x[j]]) for (i, j), table in zip(edges, tables, strict=True))
            for x in itertools.product(range(2), repeat=4)
        )
        found = infer(MRF(unary, edges, tables), method, max_iterations=1 + seed)
        assert optimum <= Fraction(found.bound) <= optimum + (Fraction(1, 10**9) if found.certified else 100)
