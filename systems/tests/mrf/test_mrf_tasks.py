"""Tags made consistent over documents, and images: the fields are correct, on random and on real data."""

import itertools
from collections import Counter, defaultdict
from types import SimpleNamespace

import naive_mrf as naive
import numpy as np
import pytest
from instances import seeds

from nonproj_systems.mrf import consistency
from nonproj_systems.mrf.consistency import document_field, documents, tag_document
from nonproj_systems.mrf.images import restore_binary, restore_grey, segment
from nonproj_systems.mrf.inference import infer
from nonproj_systems.mrf.model import MRF
from nonproj_systems.mrf.moves import search_forests
from nonproj_systems.tag_chains import TagChain


def random_chain(rng, n, width=3, n_tags=5):
    """Return a sentence with random candidates and scores."""
    count = rng.integers(1, width + 1, n)
    tags = np.array([rng.permutation(n_tags)[:width] for _ in range(n)], np.int32)
    shapes = (n, width), (n, width, width), (n, width, width, width)
    return TagChain(count, tags, *(rng.standard_normal(shape) for shape in shapes))


def best_document(chains, keys, weight, same):
    """Return the highest score of a document's tags, by enumeration: for each group, the words of its commonest tag."""
    best = -np.inf
    for choice in itertools.product(*(range(count) for chain in chains for count in chain.count)):
        total, begin, tags = 0.0, 0, []
        for chain in chains:
            own = choice[begin : begin + len(chain.count)]
            for i, c in enumerate(own):
                b, a = (own[i - 1] if i > 0 else 0), (own[i - 2] if i > 1 else 0)
                total += chain.own[i, c] + chain.pair[i, b, c] + chain.triple[i, a, b, c]
                tags.append(same(int(chain.tags[i, c])))
            begin += len(own)
        for key in {key for key in keys if key is not None}:
            mine = [tag for tag, other in zip(tags, keys, strict=True) if other == key]
            total += weight * max(mine.count(tag) for tag in mine) if len(mine) > 1 else 0.0
        best = max(best, total)
    return best


@pytest.mark.parametrize("seed", seeds(25))
def test_a_document_is_its_chains_and_its_ties(seed):
    rng = np.random.default_rng(seed)
    chains = [random_chain(rng, int(n)) for n in rng.integers(1, 4, 3)]
    n = sum(len(chain.count) for chain in chains)
    keys = [None if key == 0 else key for key in rng.integers(0, 4, n).tolist()]
    same = int if seed % 2 == 0 else lambda tag: tag // 2
    weight = float(rng.choice([0.0, 0.5, 3.0]))
    document = document_field(chains, keys, weight, same)
    found = infer(document.field, exact=True)
    # A tie all of whose words have one tag in common adds a constant, and gets no node.
    best = best_document(chains, keys, weight, same)
    groups = [[i for i in range(n) if keys[i] == key] for key in {key for key in keys if key is not None}]
    untied = [words for words in groups if len(words) > 1 and words not in document.tied]
    assert found.certified
    assert abs(found.value + weight * sum(map(len, untied)) - best) < 1e-8


def counted_chain(sentence, counts, tags):
    """Return a sentence whose scores are logarithms of counts of tags by form, and of pairs of tags."""
    own = [sorted(counts[form].items()) or [(0, 1)] for form in sentence.forms]
    n, width = len(own), max(map(len, own))
    chain = TagChain(
        np.array([len(each) for each in own]),
        np.zeros((n, width), np.int32),
        *(np.zeros((n, *(width,) * k)) for k in (1, 2, 3)),
    )
    for i, each in enumerate(own):
        for c, (tag, count) in enumerate(each):
            chain.tags[i, c], chain.own[i, c] = tag, np.log(count)
            for b, (before, _) in enumerate(own[i - 1] if i > 0 else []):
                chain.pair[i, b, c] = np.log(0.1 + counts[tags[before], tags[tag]][0])
    return chain


def test_documents_of_a_real_treebank(treebanks, monkeypatch):
    """All documents are proven, with the bound of the linear program, and ties make forms agree more."""
    pytest.importorskip("highspy")
    from nonproj.io.conll import read
    from nonproj_systems.mrf.linear_program import solve_program

    path = treebanks / "english-ewt" / "en_ewt-ud-dev.conllu"
    if not path.exists():
        pytest.skip(f"no {path}")
    sentences = list(itertools.islice(read(path), 300))
    split = list(documents(sentences))
    assert len(split) == sum(any(x.startswith("# newdoc") for x in s.lines) for s in sentences)
    tags = sorted({(row[3], row[4], row[5]) for s in sentences for row in s.rows})
    number, counts = {tag: k for k, tag in enumerate(tags)}, defaultdict(Counter)
    for sentence in sentences:
        gold = [(row[3], row[4], row[5]) for row in sentence.rows]
        for form, tag in zip(sentence.forms, gold, strict=True):
            counts[form][number[tag]] += 1
        for pair in itertools.pairwise(gold):
            counts[pair][0] += 1
    tagger = SimpleNamespace(tags=SimpleNamespace(tags=tags))
    for document in split[:12]:
        chains = [counted_chain(sentence, counts, tags) for sentence in document]
        monkeypatch.setattr(consistency, "tag_chains", lambda tagger, forms, lengths, chains=chains: chains)
        plain, found, _ = tag_document(tagger, document, 0.0)
        assert found.certified and len(plain) == sum(map(len, document))
        tied, found, built = tag_document(tagger, document, 3.0)
        assert found.certified
        _, bound, _, _ = solve_program(built.field)
        assert abs(found.value - bound) < 1e-6 or found.value < bound

        def kinds(tags, groups=built.tied):
            return sum(len({tags[i] for i in words}) for words in groups)

        assert kinds(tied) <= kinds(plain)


def test_fields_of_images_have_the_scores_they_should():
    rng = np.random.default_rng(0)
    black, levels = rng.random((2, 3)) < 0.5, np.array([0.0, 5.0, 10.0])
    grey, colours, centres = 10 * rng.random((2, 3)), 255 * rng.random((2, 3, 3)), 255 * rng.random((2, 3))
    fields = (
        restore_binary(black, 0.2, 1.5),
        restore_grey(grey, levels, 3.0, 0.4, 6.0),
        segment(colours, centres, 40.0, 2.0),
    )
    edges = naive.grid_edges(2, 3)
    flat = colours.reshape(6, 3)
    contrast = np.array([((flat[i] - flat[j]) ** 2).sum() for i, j in edges])
    weights = 2.0 * np.exp(-0.5 * contrast / contrast.mean())
    for _ in range(20):
        x, y, z = rng.integers(0, 2, 6), rng.integers(0, 3, 6), rng.integers(0, 2, 6)
        first = sum(np.log(0.8 if a == b else 0.2) for a, b in zip(x, black.ravel(), strict=True))
        first += 1.5 * sum(x[i] == x[j] for i, j in edges)
        second = -0.5 * (((levels[y] - grey.ravel()) / 3.0) ** 2).sum()
        second -= 0.4 * sum(min(abs(levels[y[i]] - levels[y[j]]), 6.0) for i, j in edges)
        third = -0.5 * ((flat - centres[z]) ** 2).sum() / 40.0**2
        third += sum(w * (z[i] == z[j]) for w, (i, j) in zip(weights, edges, strict=True))
        for field, labels, expected in zip(fields, (x, y, z), (first, second, third), strict=True):
            assert abs(field.score(labels) - expected) < 1e-8


def test_a_probability_of_one_half_tells_nothing():
    with pytest.raises(ValueError, match=r"^flipped is 0\.5; a probability between 0 and 0\.5 is expected$"):
        restore_binary([[True]], 0.5, 1.0)


def test_a_real_image_is_restored_with_proof():
    """Part of a photograph, black and white, a fifth of the pixels flipped: the optimum is that of a minimum cut."""
    datasets = pytest.importorskip("sklearn.datasets")
    photo = datasets.load_sample_image("china.jpg")[100:180, 200:320].mean(axis=2)
    true = photo > np.median(photo)
    noisy = true ^ (np.random.default_rng(0).random(true.shape) < 0.2)
    found = infer(restore_binary(noisy, 0.2, 1.0))
    assert found.certified
    assert (found.labels.reshape(true.shape) != true).sum() < (noisy != true).sum()
    maxflow = pytest.importorskip("maxflow")
    cut = maxflow.Graph[float]()
    nodes = cut.add_grid_nodes(true.shape)
    cut.add_grid_edges(nodes, 1.0, symmetric=True)
    cost = np.log(np.where(noisy, 0.8, 0.2)), np.log(np.where(noisy, 0.2, 0.8))
    cut.add_grid_tedges(nodes, -cost[1], -cost[0])
    n_edges = sum(np.diff(np.indices(true.shape)[k], axis=k).size for k in (0, 1))
    assert abs(n_edges - cut.maxflow() - found.value) < 1e-6


def test_images_agree_with_an_exact_solver():
    toulbar2 = pytest.importorskip("pytoulbar2")
    digits = pytest.importorskip("sklearn.datasets").load_digits().images[:5]
    for seed, digit in enumerate(digits):
        noisy = digit + np.random.default_rng(seed).normal(size=digit.shape, scale=4.0)
        field = restore_grey(noisy, np.arange(0, 17, 4.0), 4.0, 0.2, 8.0)
        found = infer(field, exact=True)
        program = toulbar2.CFN(resolution=6)
        first, unary = field.graph.first, field.graph.unary
        for i in range(field.n_nodes):
            program.AddVariable(f"x{i}", range(int(field.n_states[i])))
        for i in range(field.n_nodes):
            program.AddFunction([i], (-unary[first[i] : first[i + 1]]).tolist())
        for e, ends in enumerate(field.graph.ends.tolist()):
            program.AddFunction(ends, (-field.table(e)).ravel().tolist())
        solution = program.Solve()
        assert found.certified and abs(-solution[1] - found.value) < 1e-3


@pytest.mark.parametrize("seed", seeds(30))
def test_moves_of_forests_never_lose(seed):
    """A move gives a forest its best labels, so on a tree one move is enough; elsewhere scores only rise."""
    rng = np.random.default_rng(seed)
    raw = naive.random_field(rng, integers=seed % 2 == 1, n=7, density=0.5)
    field, labels = MRF(*raw), None
    labels = rng.integers(field.n_states)
    value = naive.score(raw, labels)
    for move in range(10):
        better = search_forests(field, labels, 1, move)
        assert value - 1e-9 <= better <= naive.maximum(raw) + 1e-9
        assert abs(better - naive.score(raw, labels)) < 1e-9
        value = better
    path = [
        raw[0],
        [(i, i + 1) for i in range(6)],
        [rng.standard_normal((len(a), len(b))) for a, b in itertools.pairwise(raw[0])],
    ]
    labels = rng.integers(field.n_states)
    assert abs(search_forests(MRF(*path), labels, 1) - naive.maximum(path)) < 1e-9
