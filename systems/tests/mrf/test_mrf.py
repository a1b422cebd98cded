"""Markov random fields: kernels and oracles equal their twins; covers; errors."""

import naive_mrf as naive
import numpy as np
import pytest
from instances import seeds

from nonproj_systems.mrf.cover import make_forests, rows_and_columns, spanning_forests
from nonproj_systems.mrf.model import MRF, grid, grid_edges
from nonproj_systems.mrf.oracles import ForestOracle
from nonproj_systems.mrf.trws import decode, improve, n_messages, sweep

SEEDS = seeds(60)


def random(seed, **options):
    """Return a random field as raw lists, and as an `MRF`; every second one has ties."""
    raw = naive.random_field(np.random.default_rng(seed), integers=seed % 2 == 1, **options)
    return raw, MRF(*raw)


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_equal_the_definition(seed):
    raw, field = random(seed)
    for labels in list(naive.all_labels(raw))[:50]:
        assert abs(field.score(labels) - naive.score(raw, labels)) < 1e-9
    assert all(np.array_equal(field.table(e), table) for e, table in enumerate(raw[2]))


@pytest.mark.parametrize("seed", SEEDS)
def test_sweeps_equal_the_twin(seed):
    raw, field = random(seed, n=7)
    graph, messages = field.graph, np.zeros(n_messages(field.graph))
    theirs, bounds, best = naive.new_messages(raw), [], naive.maximum(raw)
    for k in range(8):
        bounds.append(sweep(graph, messages, k % 2 == 0))
        assert abs(bounds[-1] - naive.sweep(raw, theirs, k % 2 == 0)) < 1e-9
        for (e, i), message in theirs.items():
            begin = graph.message[e, int(graph.ends[e, 1] == i)]
            assert np.abs(messages[begin : begin + len(message)] - message).max() < 1e-9
    assert min(bounds) >= best - 1e-9 and (np.diff(bounds) <= 1e-9).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_local_search_ends_where_no_single_label_can_be_better(seed):
    raw, field = random(seed, n=7)
    graph, messages = field.graph, np.zeros(n_messages(field.graph))
    rng = np.random.default_rng(seed)
    labels = rng.integers(field.n_states)
    expected = naive.improve(raw, labels)
    assert abs(improve(graph, labels) - naive.score(raw, expected)) < 1e-9
    assert labels.tolist() == expected or seed % 2 == 1  # ties may go either way
    for forward in (True, False):
        sweep(graph, messages, forward)
    value = decode(graph, messages, labels)
    assert abs(value - naive.score(raw, naive.improve(raw, labels))) < 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_trees_are_solved_by_passing_messages(seed):
    """If all nodes are one chain in their order, the bound and the score of the decoded labels are the optimum."""
    rng = np.random.default_rng(seed)
    unary = [rng.standard_normal(k) for k in rng.integers(1, 5, 6)]
    tables = [rng.standard_normal((len(a), len(b))) for a, b in zip(unary, unary[1:], strict=False)]
    raw = unary, [(i, i + 1) for i in range(5)], tables
    graph = MRF(*raw).graph
    messages, labels = np.zeros(n_messages(graph)), np.zeros(6, np.int64)
    bound = sweep(graph, messages, False)
    assert abs(bound - naive.maximum(raw)) < 1e-9
    assert abs(decode(graph, messages, labels) - bound) < 1e-9


COVERS = {"trees": spanning_forests, "rows": rows_and_columns}


@pytest.mark.parametrize("name", COVERS)
@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_covers_are_forests_with_all_edges(name, seed):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 5, 2).tolist()
    fields = [grid(np.zeros((height, width, 2)), np.eye(2))]
    fields += [] if name == "rows" else [random(seed, n=9)[1]]
    for field in fields:
        cover = COVERS[name](field)
        assert set(np.concatenate([np.empty(0), *cover]).astype(int).tolist()) == set(range(field.n_edges))
        for edges in cover:
            pairs = field.graph.ends[edges].tolist()
            nodes = sorted({i for pair in pairs for i in pair})
            assert naive.components(pairs, nodes) == len(nodes) - len(pairs)  # no cycles
        if name == "trees":
            whole = naive.components(field.graph.ends.tolist(), range(field.n_nodes))
            assert all(len(edges) == field.n_nodes - whole for edges in cover)
    if name == "trees" and height > 1 < width:
        assert len(spanning_forests(fields[0])) == 2


def test_a_cover_with_a_cycle_or_a_missing_edge_is_refused():
    triangle = MRF(np.zeros((3, 2)), [[0, 1], [1, 2], [0, 2]], np.eye(2))
    with pytest.raises(ValueError, match="^forest 0 has a cycle; trees are expected$"):
        make_forests(triangle, [np.arange(3)])
    with pytest.raises(ValueError, match="^edge 2 is in no forest; each edge must be in one or more$"):
        make_forests(triangle, [np.arange(2)])
    with pytest.raises(ValueError, match="^rows and columns are those of a grid; the field has no shape$"):
        rows_and_columns(triangle)


@pytest.mark.parametrize("seed", seeds(30))
def test_oracles_equal_enumeration(seed):
    """Maxima of a forest, with the scores of multipliers and shares."""
    rng = np.random.default_rng(seed)
    _, field = random(seed, n=6, density=0.4)
    forests = make_forests(field, spanning_forests(field))
    for f in range(len(forests.begin) - 1):
        oracle = ForestOracle(field, forests, f)
        a, b = forests.begin[f : f + 2]
        scores = (
            rng.standard_normal(len(oracle.view)) if seed % 2 == 0 else np.round(rng.standard_normal(len(oracle.view)))
        )
        nodes = forests.node[a:b].tolist()
        extra = np.split(scores, np.cumsum(field.n_states[nodes])[:-1])
        graph = field.graph
        own = [graph.unary[graph.first[i] : graph.first[i + 1]] for i in nodes]
        unary = [s * u + x for s, u, x in zip(forests.node_share[a:b], own, extra, strict=True)]
        inner = [p for p in range(a, b) if forests.parent[p] >= 0]
        edges = [(nodes.index(i), nodes.index(j)) for i, j in graph.ends[forests.edge[inner]].tolist()]
        raw = unary, edges, [forests.edge_share[p] * field.table(forests.edge[p]) for p in inner]
        value, chosen, labels = oracle(scores)
        assert abs(value - naive.maximum(raw)) < 1e-9 and abs(naive.score(raw, labels) - value) < 1e-9
        assert np.flatnonzero(chosen).tolist() == (np.cumsum([0, *map(len, unary)])[:-1] + labels).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "there are no nodes; one or more are expected"),
        (([[0.0], []], [], []), "node 1 has no states; one or more are expected"),
        (([[0.0, np.nan]], [], []), "a score of node 0 is nan; a finite number or -inf is expected"),
        (([[0.0], [-np.inf]], [], []), "all states of node 1 are forbidden"),
        (([[0.0], [0.0]], [[0, 2]], [[[1.0]]]), "edge 0 joins 0 and 2; nodes from 0 to 1 are expected"),
        (([[0.0], [0.0]], [[1, 1]], [[[1.0]]]), "edge 0 joins node 1 to itself; two different nodes are expected"),
        (
            ([[0.0], [0.0]], [[0, 1], [1, 0]], [[[1.0]]] * 2),
            "edge 1 joins the nodes of edge 0; one edge with the sum of their tables is expected",
        ),
        (([[0.0], [0.0]], [[0, 1]], []), "1 edges have 0 tables; one for each is expected"),
        (([[0.0], [0.0, 1.0]], [[0, 1]], [np.eye(2)]), "the table of edge 0 has the shape (2, 2); (1, 2) is expected"),
        (
            ([[0.0], [0.0]], [[0, 1]], [[[np.inf]]]),
            "a score of a pair is NaN or +inf; a finite number or -inf is expected",
        ),
        ((np.zeros((2, 2)), [[0, 1]], np.eye(3)), "the table of all edges has the shape (3, 3); (2, 2) is expected"),
        (
            (np.zeros((2, 2)), [[0, 1]], np.zeros((2, 2, 2))),
            "the tables have the shape (2, 2, 2); (1, 2, 2) is expected",
        ),
        (
            (np.zeros((2, 2)), [[0, 1]], np.eye(2), [1.0, 2.0]),
            "weights have the shape (2,); 1 finite numbers are expected",
        ),
        (
            (np.zeros((2, 2)), [[0, 1]], np.where(np.eye(2) > 0.0, 0.0, -np.inf), [1.0]),
            "a table with weights has the score -inf; give such tables without weights",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError) as error:
        MRF(*arguments)
    assert str(error.value) == message


def test_a_score_needs_a_state_for_each_node():
    with pytest.raises(ValueError, match="^a state for each of 2 nodes is expected, counted from 0$"):
        MRF(np.zeros((2, 2)), [], []).score([0, 2])
    with pytest.raises(
        ValueError, match=r"^the scores of a grid have the shape \(2, 2\); \(height, width, states\) is"
    ):
        grid(np.zeros((2, 2)), np.eye(2))


def test_one_table_serves_many_edges():
    weights = np.random.default_rng(0).random(7)
    shared = grid(np.zeros((2, 3, 2)), np.eye(2), weights)
    apart = MRF(np.zeros((6, 2)), naive.grid_edges(2, 3), [w * np.eye(2) for w in weights])
    assert len(shared.graph.values) == 4 and grid_edges(2, 3).tolist() == list(map(list, naive.grid_edges(2, 3)))
    for labels in np.ndindex(*[2] * 6):
        assert abs(shared.score(labels) - apart.score(labels)) < 1e-12
