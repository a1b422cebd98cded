"""Words inside tokens: the model against its twin, what is learnt, and texts of all scripts."""

import random
from itertools import combinations_with_replacement

import naive_multiword as naive
import numpy as np
import pytest
from hard_texts import NASTY
from instances import seeds
from restoring import restore

from nonproj.text import multiword_model
from nonproj.text.corpus import SurfaceToken
from nonproj.text.formats import TextInput
from nonproj.text.multiword import Multiwords
from nonproj.text.multiword_lexicon import KNOWN, OPEN, WHOLE, MultiwordLexicon, without_marks
from nonproj.text.multiword_model import (
    BITS,
    CONTEXT_TEMPLATES,
    PAIR_TEMPLATES,
    RATE,
    TEMPLATES,
    Examples,
    best_paths,
    lattices,
    learn,
)
from nonproj.text.multiword_segments import COPY, Edit, divide, divisions, edit_of
from nonproj.text.rules import UnicodeRules
from nonproj.text.segmenter import Segmenter

MARKS = "\u05b0\u05b8\u0591"
ALPHABET = ["a", "b", "A", "é", "\u05d5", "\u05d5\u05b0", "\u05d5\u0591\u05b8", "1", "-"]


def draw_form(chance: random.Random, most: int = 5) -> str:
    return "".join(chance.choice(ALPHABET) for _ in range(chance.randint(1, most)))


def draw_lexicon(chance: random.Random) -> MultiwordLexicon:
    """A lexicon of random tokens, of which half are two or three words."""
    tokens: dict[tuple[str, tuple[str, ...]], int] = {}
    for _ in range(30):
        form, words = without_marks(draw_form(chance), MARKS)[0], ()
        cuts = sorted(chance.sample(range(1, len(form)), min(chance.randint(1, 2), len(form) - 1)))
        if cuts and chance.random() < 0.7:
            parts = [form[a:b] for a, b in zip([0, *cuts], [*cuts, len(form)], strict=True)]
            words = tuple(chance.choice([part, part, part + "x", "y" + part[1:]]) for part in parts)
        tokens[form, words] = chance.randint(1, 5)
    return MultiwordLexicon.fit(tokens, divisions({token for token in tokens if token[1]}), MARKS)


# -- the model against its twin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(10))
def test_the_best_analysis_is_the_best_of_all(seed):
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    lexicon, weights = draw_lexicon(chance), numbers.normal(size=1 << BITS).astype(np.float32)
    forms = [draw_form(chance) for _ in range(6)]
    found = [lexicon.alternatives(lexicon.plain(form)) for form in forms]
    margins, paths = best_paths(lattices(forms, found, MARKS), weights)
    for form, segments, margin, path in zip(forms, found, margins.tolist(), paths, strict=True):
        several = [each for each in naive.analyses(segments) if each != [0]]
        if not several:
            assert (margin, path) == (-np.inf, [])
            continue
        whole, *scores = naive.scores(form, MARKS, segments, [[0], *several], weights, (TEMPLATES, PAIR_TEMPLATES))
        assert path == several[int(np.argmax(scores))]
        assert margin == pytest.approx(max(scores) - whole, abs=1e-4)


@pytest.mark.parametrize("seed", seeds(10))
def test_segments_are_those_of_the_definition(seed):
    """Known segments that known ones reach from one end, and others that they reach from both."""
    chance = random.Random(seed)
    lexicon = draw_lexicon(chance)
    known = {segment for segment, words in lexicon.segments.items() if words[0].known}
    for _ in range(20):
        form = lexicon.plain(draw_form(chance, 8))
        whole = 0, len(form)
        places = {place for place in combinations_with_replacement(range(len(form) + 1), 2) if place != whole}
        covered = {place for place in places if _divisible(form[slice(*place)], known)}
        expected = set()
        for a, b in places:
            left, right = (0, a) in covered, (b, len(form)) in covered
            if a < b and form[a:b] in known and (left or right):
                expected.add((a, b, KNOWN))
            elif a < b and form[a:b] not in known and left and right:
                expected.add((a, b, OPEN))
        segments = [s for s in lexicon.alternatives(form) if s.kind in (KNOWN, OPEN)]
        found = {(s.begin, s.end, s.kind) for s in segments}
        assert found <= expected and all(kind == OPEN for _, _, kind in expected - found)
        assert [s.begin for s in segments] == sorted(s.begin for s in segments)
        for s in segments:
            assert edit_of(form[s.begin : s.end], s.words[0]).apply(form[s.begin : s.end]) == s.words[0]


def _divisible(text: str, known: set[str]) -> bool:
    """Whether a text, perhaps an empty one, is a concatenation of known segments."""
    return not text or any(text.startswith(each) and _divisible(text[len(each) :], known) for each in known)


@pytest.mark.parametrize("seed", seeds(10))
def test_a_step_is_along_the_gradient_of_the_likelihood(monkeypatch, seed):
    """One token, one epoch, from weights of zero: all analyses are equally probable, and so are the gold ones.

    The gradient of a weight is then the expected number of its features in an analysis, minus that in a gold one, and a
    first step of AdaGrad follows.  The example's factor keeps gradients near the root of the first squares.
    """
    monkeypatch.setattr(multiword_model, "EPOCHS", 1)
    chance, factor = random.Random(seed), 2e-3
    lexicon = draw_lexicon(chance)
    form = next(f for f in (draw_form(chance) for _ in range(999)) if len(naive.analyses(_of(lexicon, f))) > 3)
    segments = _of(lexicon, form)
    paths = naive.analyses(segments)
    gold = np.array([number in chance.choice(paths) for number in range(len(segments))])
    gold[chance.choice(paths)] = True
    right = [path for path in paths if gold[path].all()]
    outside = (1 << BITS) - 1 - np.arange(len(CONTEXT_TEMPLATES))[None]
    examples = Examples(
        lattices([form], [segments], MARKS), gold, np.zeros(1, np.int64), outside.astype(np.int32), np.array([factor])
    )
    weights = learn(examples, np.random.default_rng(0))
    templates, size = (TEMPLATES, PAIR_TEMPLATES), len(weights)
    expected, of_gold = (naive.feature_shares(form, MARKS, segments, own, size, templates) for own in (paths, right))
    gradients = {place: [a - b for a, b in zip(expected[place], of_gold[place], strict=True)] for place in expected}
    whole = ([0] in paths) / len(paths) - ([0] in right) / len(right)
    gradients |= {int(place): [whole] for place in outside[0]}
    single = {place: factor * own[0] for place, own in gradients.items() if len(own) == 1}
    assert len(single) > 10 and any(abs(gradient) > 1e-4 for gradient in single.values())
    for place, gradient in single.items():
        rounded = round(gradient * 2**24) / 2**24
        step = RATE * rounded / np.sqrt(1.01e-6 + rounded**2) if abs(gradient) > 1e-5 else 0.0
        assert weights[place] == pytest.approx(-step, rel=1e-4, abs=1e-7)
    assert set(np.flatnonzero(weights)) <= set(gradients)


def _of(lexicon, form):
    return lexicon.alternatives(lexicon.plain(form))


# -- edits and divisions -----------------------------------------------------------------------------------------------


def test_edits_make_their_words():
    chance = random.Random(1)
    for _ in range(2000):
        segment, word = draw_form(chance), draw_form(chance)
        edit = edit_of(segment, word)
        assert edit.apply(segment) == word
        assert (edit == COPY) == (segment == word)
    assert edit_of("dóta", "dota") == Edit(True, "", "", "", "")


def test_divisions_are_the_cheapest():
    chance = random.Random(2)
    for _ in range(300):
        form, words = draw_form(chance, 5), [draw_form(chance, 3) for _ in range(chance.randint(2, 3))]

        def cost(segment, word):
            return edit_of(segment, word).cost()

        def every(rest, left):
            if len(left) == 1:
                return [cost(rest, left[0])] if rest else []
            return [cost(rest[:k], left[0]) + other for k in range(1, len(rest)) for other in every(rest[k:], left[1:])]

        ends = divide(form, words, cost)
        costs = every(form, words)
        assert bool(ends) == bool(costs)
        if ends:
            own = sum(cost(form[a:b], word) for a, b, word in zip((0, *ends), ends, words, strict=False))
            assert own == min(costs) and len(ends) == len(words) and ends[-1] == len(form)


# -- what is learnt ----------------------------------------------------------------------------------------------------

STEMS = ["tala", "kuma", "piro", "sente", "wota", "mari", "lusa", "neko", "rado", "fimu"]


def treebank(marks: bool = False) -> list:
    """Sentences of a language of which nearly all words have a prefix or a suffix that are words."""
    chance, sentences = random.Random(4), []
    for _ in range(120):
        sentence = []
        for _ in range(6):
            words = [chance.choice(STEMS)]
            if chance.random() < 0.5:
                words.insert(0, "u")
            if chance.random() < 0.5:
                words.append("ke")
            form = "".join(words)
            if marks:
                form = "".join(c + chance.choice(["", "\u05b0", "\u0591"]) for c in form)
            sentence.append(SurfaceToken(form, True, tuple(words) if len(words) > 1 else ()))
        sentences.append(sentence)
    return [sentences]


@pytest.fixture(scope="module")
def productive() -> Multiwords:
    return Multiwords.fit(treebank())


def test_affixes_of_unseen_words(productive):
    found = productive.expand(["uzobike", "zobike", "uzobi", "Uzobike", "UZOBIKE"])[0]
    assert found == {
        0: ("u", "zobi", "ke"), 1: ("zobi", "ke"), 2: ("u", "zobi"), 3: ("U", "zobi", "ke"), 4: ("U", "ZOBI", "KE")
    }  # fmt: skip


def test_silent_marks():
    found = Multiwords.fit(treebank(marks=True))
    assert found.lexicon.marks == "\u0591\u05b0"
    assert found.expand(["u\u05b0zo\u0591bi\u05b0ke"])[0] == {0: ("u", "zobi", "ke")}


@pytest.mark.parametrize("form", ["http://tala.ke", "u@talake", "#talake", "tala_ke", "u/talake", "5", "uke" * 30])
def test_addresses_codes_and_long_tokens_stay_whole(productive, form):
    assert productive.expand([form])[0] == {}


def test_a_treebank_without_multiword_tokens_needs_no_weights():
    found = Multiwords.fit([[[SurfaceToken(form, True) for form in STEMS]]])
    assert found.expand(["utalake"])[0] == {} and found.weights.shape == (1,)


@pytest.mark.parametrize("seed", seeds(10))
def test_no_character_is_lost(productive, seed):
    """Texts of every script, with combining marks, around words that are expanded."""
    chance = random.Random(seed)
    words = ["utalake", "talake\u0301", "U\u05b0talake", "u\u200dke", "ke", "u", *NASTY]
    text = " ".join(chance.choice(words) + chance.choice(["", "ke", "\u0301ke", "u"]) for _ in range(40))
    segmenter = Segmenter(UnicodeRules(), productive, "rules")
    sentences = segmenter.segment(text, TextInput(ranges=True))
    assert restore(sentences) == text
    assert all(row[1] and not row[1].isspace() for sentence in sentences for row in sentence.rows)


def test_time_is_linear_in_the_length(productive):
    """Segments are bounded, and longer tokens have none: no more of them per character in a longer text."""
    counts = [len(productive.lexicon.alternatives("uke" * size)) for size in (4, 8, 13, 14, 1000)]
    assert counts[1] < 5 * counts[0] and counts[3:] == [1, 1]
    assert productive.lexicon.alternatives("uke")[0].kind == WHOLE
