"""Tags and lemmas that a user's lexicon gives: against enumeration of all sequences that it allows."""

import io
import itertools
import random

import naive_tagging as naive
import numpy as np
import pytest
from instances import seeds

from nonproj.io import conll
from nonproj.io.lexicon import LexiconWord, entry
from nonproj.options.sections import TaggerConfig
from nonproj.tagging import words as tagging_words
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.decoding import Pruning
from nonproj.tagging.tagger import Tagger
from nonproj.text.lexicon import UserLexicon
from nonproj.types import Sentence

TAGS = [("N", "n", "C=1"), ("N", "n", "C=2"), ("N", "p", "_"), ("V", "v", "_"), ("V", "w", "C=1"), ("A", "a", "_")]
FORMS = "abcdefgh"


def row(form: str, lemma: str = "_", tag: tuple[str, ...] = ("_", "_", "_")) -> list[str]:
    return ["1", form, lemma, *tag, "_", "_", "_", "_"]


def lexicon_of(*words: LexiconWord) -> UserLexicon:
    return UserLexicon(tuple(entry(word.form, [word]) for word in words))


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    """An analyzer whose forms have several tags each, by their neighbours."""
    chance = random.Random(1)
    sentences = []
    for _ in range(60):
        forms = [chance.choice(FORMS[:6]) for _ in range(5)]
        tags = [TAGS[(FORMS.index(a) + FORMS.index(b)) % 6] for a, b in itertools.pairwise(["a", *forms])]
        sentences.append(Sentence([row(form, form * 2, tag) for form, tag in zip(forms, tags, strict=True)]))
    return Analyzer.fit(sentences, TaggerConfig(bits=12, epochs=2, restarts=1, network_epochs=0))


def allowed(given: list[LexiconWord]) -> set[tuple[str, str, str]]:
    """The tags that agree with one of the entries of a word."""
    pairs = itertools.product(TAGS, given)
    return {tag for tag, word in pairs if all(own in ("_", has) for own, has in zip(word[2:], tag, strict=True))}


@pytest.mark.parametrize("seed", seeds(40))
def test_the_best_sequence_that_the_lexicon_allows_is_found(seed, analyzer, monkeypatch):
    chance = random.Random(seed)
    forms = [chance.choice(FORMS) for _ in range(chance.randint(1, 4))]
    given: dict[str, list[LexiconWord]] = {}
    for form in chance.sample(FORMS, 4):
        tags = chance.sample(TAGS, chance.randint(1, 2))
        columns = [[value if chance.random() < 0.6 else "_" for value in tag] for tag in tags]
        given[form] = [LexiconWord(form, "_", *each) for each in columns]
    tagger = Tagger.from_state(*analyzer.tagger.state())
    tagger.pruning, seen = Pruning(1e30, 6), []
    share_words = tagging_words.share_words
    monkeypatch.setattr(tagging_words, "share_words", lambda atoms, t: seen.append(atoms) or share_words(atoms, t))
    restricted = Analyzer(tagger, None).using(lexicon_of(*itertools.chain(*given.values())).words_of)
    rows = restricted.annotate([Sentence([row(form) for form in forms])])[0]

    cache, atoms = tagger._forms.own, np.concatenate(seen)
    numbers = {key if isinstance(key, str) else key.form: number for key, number in cache.row.items()}
    sentence, candidates = [], []
    for form in forms:
        number = numbers[form]
        listed = [tagger.tags.tags[t] for t in cache.words.tag[number, : cache.words.count[number]]]
        priors = dict(zip(listed, cache.words.prior[number].tolist(), strict=False))
        if form in given and len(allowed(given[form])) < len(TAGS):
            assert set(listed) == allowed(given[form])
        names = tagging_words.WORD_ATTRIBUTES
        sentence.append((dict(zip(names, atoms[number - 1].tolist(), strict=True)), priors))
        candidates.append(listed)
    weights, given = tagger.weights.astype(float), (tagger.templates["templates"], tagger.tags, sentence)
    scores = {s: weights[naive.features(*given, s, 12)].sum() for s in naive.sequences(candidates)}
    found = tuple((*each[3:6],) for each in rows)
    assert scores[found] == pytest.approx(max(scores.values()))


def tagged(analyzer: Analyzer, lexicon: UserLexicon, *rows: list[str], overwrite: bool = False) -> list[list[str]]:
    """The columns LEMMA to FEATS of the words of a sentence."""
    found = analyzer.using(lexicon.words_of).annotate([Sentence(list(rows))], overwrite)
    return [each[2:6] for each in found[0]]


def test_neighbours_follow_a_tag_that_is_given(analyzer):
    """Equal words have other tags if one of them has another, as they do if its columns are in the file."""
    changed = 0
    for forms in itertools.product("abc", repeat=3):
        rows = [row(form) for form in forms]
        given = [row(forms[0]), row(forms[1], "_", ("A", "_", "_")), row(forms[2])]
        lexicon = lexicon_of(LexiconWord(forms[1], upos="A"))
        if forms.count(forms[1]) == 1:
            free, own = tagged(analyzer, UserLexicon(()), *rows), tagged(analyzer, lexicon, *rows)
            assert own[1][1:] == ["A", "a", "_"]
            assert [each[1:] for each in own] == [each[1:] for each in tagged(analyzer, UserLexicon(()), *given)]
            changed += free[0] != own[0] or free[2] != own[2]
    assert changed


def test_values_that_no_tag_has_are_written_all_the_same(analyzer):
    lexicon = lexicon_of(LexiconWord("a", "x", "N", "new", "D=3"))
    assert tagged(analyzer, lexicon, row("a")) == [["x", "N", "new", "D=3"]]
    assert tagged(analyzer, lexicon, row("a", "y", ("V", "_", "_")))[0][:2] == ["y", "V"]
    assert tagged(analyzer, lexicon, row("a", "y", ("V", "v", "_")), overwrite=True) == [["x", "N", "new", "D=3"]]


def test_of_several_entries_the_tag_chooses_the_lemma(analyzer):
    lexicon = lexicon_of(LexiconWord("a", "noun", "N"), LexiconWord("a", "verb", "V"))
    found = {(own[1], own[0]) for form in FORMS for own in [tagged(analyzer, lexicon, row(form), row("a"))[1]]}
    assert found <= {("N", "noun"), ("V", "verb")} and len(found) == 2


def test_an_open_entry_restricts_nothing(analyzer):
    lexicon = lexicon_of(LexiconWord("a", "x"), LexiconWord("a", "y", "A"))
    for form in FORMS:
        free, own = (tagged(analyzer, each, row(form), row("a")) for each in (UserLexicon(()), lexicon))
        assert [each[1:] for each in own] == [each[1:] for each in free] and own[1][0] in ("x", "y")


def test_words_of_a_token_have_their_own_entries(analyzer):
    text = "1-2\tab\t" + "\t".join("_" * 8) + "\n"
    text += "".join(f"{i}\t{form}" + "\t_" * 8 + "\n" for i, form in enumerate("aba", 1)) + "\n"
    [sentence] = conll.read(io.StringIO(text))
    words = [LexiconWord("a", "one", "A"), LexiconWord("b", "two", "V", "w")]
    lexicon = UserLexicon((entry("ab", words), entry("b", [LexiconWord("b", "three")])))
    first, second, third = analyzer.using(lexicon.words_of).annotate([sentence])[0]
    assert first[2:5] == ["one", "A", "a"] and second[2:] == ["two", "V", "w", "C=1", "_", "_", "_", "_"]
    assert third[2] == "aa"
    other = UserLexicon((entry("ab", [LexiconWord("a", "one"), LexiconWord("c", "two")]),))
    assert analyzer.using(other.words_of).annotate([sentence]) == analyzer.annotate([sentence])


def test_a_form_in_lower_case_is_found_with_a_capital():
    lexicon = lexicon_of(LexiconWord("us", "we"), LexiconWord("US", "US"), LexiconWord("it's", "x"))
    lemmas = {form: [word.lemma for (word,) in lexicon.words_of(form, [form])] for form in ("us", "Us", "US", "It’s")}
    assert lemmas == {"us": ["we"], "Us": ["we"], "US": ["US"], "It’s": ["x"]}
    assert lexicon.words_of("uS", ["uS"]) == [()]
