"""Threads that share a parser: the bytes of one thread, and nothing shared that parsing changes."""

import copy
import operator
import pickle
import random
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import toy
from classifiers import add_classifier
from command import ROOT
from instances import seeds
from threadpoolctl import threadpool_info, threadpool_limits

import nonproj
from nonproj.components.trainer import train
from nonproj.evaluation.suitability import FitCheck
from nonproj.kernels.threads import LoadedOnce, PerThread, one_thread
from nonproj.options.config import Config
from nonproj.text.corpus import SurfaceToken
from nonproj.text.languages import languages
from nonproj.text.multiword import Multiwords
from nonproj.text.rules import UnicodeRules
from nonproj.text.segmenter import Segmenter

THREADS = 8
SMALL = {"features.bits": 14, "pruner.bits": 14, "labeler.bits": 14, "training.epochs": 2, "labeler.epochs": 2}
SMALL |= {"tagger.epochs": 2, "segmenter.epochs": 2, "pruner.folds": 0, "decoding.threshold": 1e-6}
SMALL |= toy.QUICK | {"confidence.share": 0.0}
LETTERS = "abcdefghijklmnopqrstuvwxyzæøåABC0123'"


@pytest.fixture(autouse=True)
def eager_threads(monkeypatch):
    """Threads that interrupt each other all the time, and caches that are full after a few texts."""
    monkeypatch.setattr("nonproj.scoring.vocabulary._CACHED_WORDS", 300)
    monkeypatch.setattr("nonproj.tagging.tagger._CACHED_FORMS", 300)
    monkeypatch.setattr("nonproj.tagging.lemmatizer._CACHED_WORDS", 300)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def by_threads(call: Callable, items: Iterable) -> list:
    """The results of a call, by threads that all start at once; each takes every eighth item."""
    items, together = list(items), threading.Barrier(THREADS)

    def work(first: int) -> list:
        together.wait()
        return [call(item) for item in items[first::THREADS]]

    results = [None] * len(items)
    with ThreadPoolExecutor(THREADS) as pool:
        for first, found in enumerate(pool.map(work, range(THREADS))):
            results[first::THREADS] = found
    return results


def word(chance: random.Random) -> str:
    """A word that no model knows."""
    return "".join(chance.choice(LETTERS) for _ in range(chance.randint(1, 9)))


def texts(count: int, seed: int = 0) -> list[str]:
    """Texts of the toy language, in which half of the words are unknown."""
    chance, made = random.Random(seed), []
    for _ in range(count):
        forms = [form if chance.random() < 0.5 else word(chance) for form, *_ in toy.sentence(chance)]
        made.append(" ".join(forms[:-1]) + ".")
    return made


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """A model of the toy language with a tagger of ambiguous words, a trained segmenter and a classifier."""
    model = train(toy.ambiguous(toy.read(toy.raw_treebank(80)), slice(2, 6)), Config().with_overrides(SMALL))
    add_classifier(model)
    path = tmp_path_factory.mktemp("threads") / "toy.nonproj"
    model.save(path)
    return path


def written(parsed) -> str:
    """Contents of a document or sentence."""
    return parsed.to_conllu(certificates=True) + repr(parsed.words)


# -- the bytes of one thread -------------------------------------------------------------------------------------------


def of_text(call: Callable, path: Path, **options) -> Callable:
    """A function of a text by a parser of its own."""
    nlp = nonproj.load(path, **options)
    return lambda text: call(nlp, text)


def of_the_estimator(path: Path) -> Callable:
    """Trees by an estimator of its own."""
    nlp, estimator = nonproj.load(path), nonproj.DependencyParser.load(path)
    return lambda text: [heads.tobytes() for heads in estimator.predict(nlp.segment(text))]


def of_spacy(path: Path, sentences: str) -> Callable:
    """Annotations by a pipeline of spaCy."""
    nlp = pytest.importorskip("spacy").blank("da")
    nlp.add_pipe("nonproj", config={"model": str(path), "sentences": sentences})
    names = operator.attrgetter("text", "head.i", "dep_", "lemma_", "tag_", "is_sent_start", "_.confidence")
    return lambda text: list(map(names, nlp(text)))


CALLS = {
    "documents": partial(of_text, lambda nlp, text: written(nlp(text))),
    "nbest": partial(of_text, lambda nlp, text: [[*map(written, trees)] for trees in nlp.nbest(text, 3)]),
    "marginals": partial(of_text, lambda nlp, text: [p.tobytes() for p in nlp.marginals(text)]),
    "samples": partial(of_text, lambda nlp, text: [trees.tobytes() for trees in nlp.samples(text, 3)]),
    "pipe": partial(of_text, lambda nlp, text: "".join(map(written, nlp.pipe([text, text[::-1]])))),
    "estimator": of_the_estimator,
    "spaCy": partial(of_spacy, sentences="segmenter"),
    "spaCy by rules": partial(of_spacy, sentences="rule"),
}


@pytest.mark.parametrize("name", CALLS)
def test_eight_threads_return_the_bytes_of_one(path, name):
    """Tokens, tags, lemmas, trees, labels, certificates and confidence of up to 1,000 texts."""
    count = len(seeds(1000, part=20)) if name == "documents" else len(seeds(120))
    make, given = CALLS[name], texts(count, seed=len(name))
    assert by_threads(make(path), given) == list(map(make(path), given))


@pytest.mark.thorough
def test_a_model_of_real_text():
    """Its tags have features; a third of the words is unknown."""
    chance, make = random.Random(0), CALLS["documents"]
    lines = (ROOT / "tests" / "prose" / "english.txt").read_text(encoding="utf-8").splitlines() * 10
    given = [" ".join(form if chance.random() < 0.7 else word(chance) for form in line.split()) for line in lines]
    assert nonproj.load("english").parser.loaded.classifier is not None
    assert by_threads(make("english"), given) == list(map(make("english"), given))


def multiwords() -> Multiwords:
    """Multiword tokens: one that is certain, and endings that are not."""
    tokens = [SurfaceToken("zum", True, ("zu", "dem"))]
    for stem in ("walk", "go", "is", "see", "want", "cook"):
        tokens += [SurfaceToken(f"{stem}n't", True, (stem, "n't")), SurfaceToken(stem, True)]
    return Multiwords.fit([[tokens]] * 4)


@pytest.mark.parametrize("language", [None, "da"])
def test_rules_for_tokens_and_multiword_tokens(language):
    chance, given = random.Random(5), []
    for _ in seeds(400):
        forms = [chance.choice([word(chance), word(chance) + "n't", "Zum", "bl.a.", "x. Y", "(z)!"]) for _ in range(8)]
        given.append(" ".join(forms))

    def segmenter():
        made = Segmenter(UnicodeRules(["bl.a.", "'s"], languages().get(language)), multiwords(), "")
        return lambda text: [sentence.rows for sentence in made.segment(text)]

    assert by_threads(segmenter(), given) == list(map(segmenter(), given))


# -- what parsing changes ----------------------------------------------------------------------------------------------

_WHOLE = (str, bytes, int, float, bool, type(None), np.generic, np.dtype, type, types.ModuleType, types.FunctionType)


def reached(root: object) -> dict[str, object]:
    """Objects that can be reached from an object: sizes, numbers and contents of arrays.

    Without the caches of threads, and the count of the words that are compared with the model.
    """
    found, seen, waiting = {}, {}, [("", root)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, PerThread | FitCheck | types.MethodType) or id(item) in seen:
            continue
        if isinstance(item, _WHOLE) or callable(item) and not hasattr(item, "__dict__"):
            found[place] = repr(item)
            continue
        seen[id(item)] = item
        if isinstance(item, np.ndarray):
            found[place] = item.shape, hash(item.tobytes())
        elif isinstance(item, dict | list | tuple | set | frozenset):
            found[place] = len(item)
            listed = sorted(item) if isinstance(item, set) else item
            pairs = item.items() if isinstance(item, dict) else enumerate(listed)
            waiting += [(f"{place}[{key!r}]", value) for key, value in pairs]
        else:
            names = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
            slots = [(name, getattr(item, name)) for name in names if hasattr(item, name)]
            waiting += [(f"{place}.{name}", value) for name, value in [*getattr(item, "__dict__", {}).items(), *slots]]
    return found


@pytest.mark.parametrize("options", [{}, {"sentences_by_trees": True}, {"full": True}, {"nbest": 2}], ids=repr)
def test_parsing_changes_nothing_that_is_shared(path, options):
    nlp = nonproj.load(path, **options)
    nlp(texts(1, seed=6)[0])  # loads tagger, segmenter and classifier
    before = reached(nlp)
    assert len(before) > 1000
    for text in texts(len(seeds(60, least=20)), seed=7):
        nlp(text)
    assert reached(nlp) == before


def test_the_walk_sees_caches():
    found = Multiwords.fit([])
    before = reached(found)
    found.lexicon.entries["zum"] = [(("zu", "dem"), 1)]
    assert reached(found) != before


# -- the two helpers ---------------------------------------------------------------------------------------------------


def test_caches_do_not_travel():
    cache = PerThread(dict)
    cache.own["word"] = 1
    assert cache.own == {"word": 1}
    for other in (pickle.loads(pickle.dumps(cache)), copy.deepcopy(cache)):
        assert other.own == {}
    assert cache.renewed() == {} == cache.own
    assert by_threads(lambda number: cache.own.setdefault("first", number), range(THREADS)) == list(range(THREADS))


def test_a_parser_survives_pickling_with_full_caches(path):
    nlp, text = nonproj.load(path), texts(1, seed=8)[0]
    expected = written(nlp(text))
    assert written(pickle.loads(pickle.dumps(nlp))(text)) == expected
    analyzer, given = nlp.parser.loaded.analyzer, nlp.segment(text)[:1]
    assert pickle.loads(pickle.dumps(analyzer)).annotate(given) == analyzer.annotate(given)


def test_an_attribute_is_loaded_once_by_the_first_thread_and_again_only_if_it_failed():
    loads = []

    class Owner:
        @LoadedOnce
        def part(self):
            """A part."""
            loads.append(self)
            time.sleep(0.2)
            return object() if len(loads) > 1 else 1 // 0

    owner, other = Owner(), Owner()
    with pytest.raises(ZeroDivisionError):
        owner.part  # noqa: B018
    found = by_threads(lambda _: owner.part, range(THREADS))
    assert len(set(map(id, found))) == 1 and loads == [owner, owner]
    assert other.part is not owner.part and loads == [owner, owner, other]
    assert Owner.part.__doc__ == "A part."


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_products_take_one_thread_until_the_last_context_ends():
    """Contexts are nested, and overlap in threads; an exception ends one, too."""
    inside, leave = threading.Event(), threading.Event()
    alone = type(one_thread)()  # which finds the libraries that are loaded by now

    def other():
        with alone:
            inside.set()
            leave.wait(60)

    with threadpool_limits(3, "blas"):
        before = blas_threads()
        with alone, alone:
            assert blas_threads() == {1}
            thread = threading.Thread(target=other)
            thread.start()
            assert inside.wait(60)
        assert blas_threads() == {1}
        leave.set()
        thread.join(60)
        assert blas_threads() == before
        with pytest.raises(ZeroDivisionError), alone:
            _ = 1 / 0
        assert blas_threads() == before
