"""Words of several units: words that contain blanks, and text without blanks."""

import functools
import io
import random

import hard_texts
import naive_text as naive
import numpy as np
import pytest
from instances import seeds
from restoring import restore

from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.io.copies import surface_tokens
from nonproj.io.lexicon import LexiconWord, entry
from nonproj.linear.state import load
from nonproj.options.sections import SegmenterConfig
from nonproj.text.characters import KINDS
from nonproj.text.corpus import SurfaceToken, raw_text
from nonproj.text.formats import TextInput
from nonproj.text.layout import ONE_BLANK, WRAPPED, lay_out, spans
from nonproj.text.lexicon import UserLexicon
from nonproj.text.output import CERTAIN
from nonproj.text.segmenter import Segmenter
from nonproj.text.token_table import TokenTable, token_table
from nonproj.text.tokens import ALWAYS, SOMETIMES
from nonproj.text.training_text import folds_of
from nonproj.text.words import _match, open_places, score_joins

WORDS = ["thành phố", "thành", "phố", "gia đình", "gia", "vị", "cơ quan nhà", "nhà", "cơ", "là", "và", "ở"]


def treebank(blanks: bool, count: int = 100, size: int = 9) -> str:
    """Random sentences over few words, with blanks between words or without any."""
    chance, text = random.Random(3), ""
    for _ in range(count):
        words = [chance.choice(WORDS) for _ in range(size)]
        words = [*words, "."] if blanks else [word.replace(" ", "") for word in words]
        glued = [not blanks or index == len(words) - 2 for index in range(len(words))]
        for number, (word, misc) in enumerate(zip(words, glued, strict=True), 1):
            text += f"{number}\t{word}" + "\t_" * 7 + ("\tSpaceAfter=No\n" if misc else "\t_\n")
        text += "\n"
    return text


@functools.cache
def fitted(blanks: bool) -> Segmenter:
    return Segmenter.fit(list(conll.read(io.StringIO(treebank(blanks)))), SegmenterConfig(bits=14, network_share=0.0))


@pytest.fixture
def with_blanks() -> Segmenter:
    return fitted(True)


def forms(segmenter: Segmenter, text: str) -> list[list[str]]:
    return [sentence.forms for sentence in segmenter.segment(text)]


def test_tokens_that_are_parts_of_words_are_learnt():
    """As in the web treebank of Turkish: few places between two letters end a token, but those can be learnt."""
    chance, sentences = random.Random(5), []
    stems = ["".join(chance.choice("bdfgmnprst") + chance.choice("aeiou") for _ in range(5)) for _ in range(80)]
    for _ in range(200):
        endings = [f" +{chance.choice(['ler', 'dan'])}" if chance.random() < 0.25 else "" for _ in range(6)]
        sentences.append(" ".join(map("".join, zip(chance.sample(stems, 6), endings, strict=True))))
    text = "".join(sentences)
    assert text.count("+") < 0.05 * sum(map(str.isalpha, text))  # fewer than where the model decides
    segmenter = Segmenter.fit(
        list(conll.read(io.StringIO(hard_texts.treebank(sentences)))), SegmenterConfig(bits=16, network_share=0.0)
    )
    found = sum(forms(segmenter, f"{stems[0]}ler {stems[1]} bagumifodidan {stems[2]}"), [])
    assert found == [stems[0], "ler", stems[1], "bagumifodi", "dan", stems[2]]


# -- the model against its twin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(30))
def test_scores_equal_the_twin(seed):
    chance, random_numbers = random.Random(seed), np.random.default_rng(seed)
    text = "".join(chance.choice(["a", "b", "B", "ab", "1", " ", " ", "  ", "\n", "\n\n"]) for _ in range(60))
    layout = lay_out(text)
    if not len(layout.start):
        return
    separate = random_numbers.random(len(text)) < (0.3 if seed % 2 else 0)
    start, end = spans(layout, separate)
    units = TokenTable(*token_table(layout, start, end))
    candidate = np.where(random_numbers.random((KINDS, KINDS)) < 0.5, ALWAYS, SOMETIMES).astype(np.uint8)
    allowed = open_places(units, candidate, seed % 3 > 0)
    lexicon = (random_numbers.integers(0, 30, 1 << 6) * random_numbers.integers(0, 2, 1 << 6)).astype(np.uint8)
    weights = random_numbers.normal(size=1 << 8).astype(np.float32)
    found = score_joins(units, allowed, lexicon, weights)
    written = [text[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)]
    assert found.tolist() == naive.join_scores(written, allowed.tolist(), lambda h: int(lexicon[h >> 26]), weights)


def test_open_places_are_blanks_and_ends_of_filled_lines():
    """No line that is not full, no second blank and no paragraph is inside a word; nor are characters, unless asked."""
    text = "aaaa bb  cc dd\nee ff\ngggggggggg h.\n\nj"
    layout = lay_out(text)
    start, end = layout.start, layout.end
    units = TokenTable(*token_table(layout, start, end))
    after = [text[a:b] for a, b in zip(start, end, strict=True)]
    candidate = np.zeros((KINDS, KINDS), np.uint8)
    blanks = dict(zip(after, layout.blanks.tolist(), strict=True))
    found = dict(zip(after, open_places(units, candidate, True).tolist(), strict=True))
    assert found == {form: kind in (ONE_BLANK, WRAPPED) for form, kind in blanks.items()}
    assert not open_places(units, candidate, False).any()
    assert found["aaaa"] and not found["bb"] and found["ff"] and not found["h."] and not found["j"]


@pytest.mark.parametrize("size", [500, 5000])
def test_the_lexicon_is_asked_in_linear_time(size):
    """Every unit and pair is known, which is the worst case: words have up to twelve units all the same."""
    layout = lay_out("a " * size)
    units = TokenTable(*token_table(layout, layout.start, layout.end))
    found = _match(units, np.ones(size, np.bool_), np.full(1 << 8, 3, np.uint8))
    assert (found.before // 128).max() == 12 and (found.across // 128).max() == 12


# -- words with blanks -------------------------------------------------------------------------------------------------


def test_a_word_may_be_on_two_lines(with_blanks):
    """Its form has one blank, and the text can be restored."""
    text = "và gia vị ở là nhà và thành\nphố là cơ quan nhà vị\ngia đình."
    sentences = with_blanks.segment(text)
    found = [form for sentence in sentences for form in sentence.forms]
    assert "thành phố" in found and restore(sentences) == text
    misc = next(misc for sentence in sentences for form, misc, _ in surface_tokens(sentence) if form == "thành phố")
    assert "OrigForm=th\\u00E0nh\\nph\\u1ED1" in misc
    assert all("\n" not in line[:-1] for sentence in sentences for line in sentence.lines)


def test_a_line_that_is_a_sentence_ends_its_last_word(with_blanks):
    """Running text may be wrapped inside a word, but not a file with a sentence on each line."""
    text = "và gia vị ở là nhà và thành\nphố là cơ quan nhà vị\ngia đình."
    found = [sentence.forms for sentence in with_blanks.segment(text, TextInput("lines"))]
    assert [" ".join(sentence).replace(" .", ".") for sentence in found] == text.split("\n")


def test_no_word_goes_on_over_the_ends_of_a_token_of_a_lexicon(with_blanks):
    text, lexicon = "là thành phố gia đình.", UserLexicon((entry("phố gia", [LexiconWord("phố gia")]),))
    assert forms(with_blanks, text) == [["là", "thành phố", "gia đình", "."]]
    assert forms(with_blanks.using(lexicon=lexicon), text) == [["là", "thành", "phố gia", "đình", "."]]


def test_a_treebank_without_such_words_has_no_model_of_them():
    text = treebank(True, 20).replace("thành phố", "thành").replace("gia đình", "gia").replace("cơ quan nhà", "cơ")
    finder = Segmenter.fit(list(conll.read(io.StringIO(text))), SegmenterConfig(bits=12, network_share=0.0)).finder
    assert finder.words is None and not finder.blanks


def test_certainty_is_that_of_the_least_certain_decision(with_blanks):
    text = "gia đình ở thành phố là thành và phố vị."
    sentence = with_blanks.using(with_margins=True).segment(text)[0]
    assert with_blanks.segment(text)[0].boundary_margins is None
    assert len(sentence.boundary_margins) == len(sentence.forms) + 1
    found = with_blanks.finder.tokens(lay_out(text)).log_odds
    assert (found > 0).all() and found.max() < CERTAIN
    assert sentence.boundary_margins[1:, 0].tolist() == found.tolist()


def test_lines_are_broken_inside_words_of_the_training_text():
    raw = raw_text([[[SurfaceToken("a" * 40, True), SurfaceToken("b" * 30 + " " + "c" * 30, True)]]])
    assert raw.text == "a" * 40 + " " + "b" * 30 + "\n" + "c" * 30 + "\n"
    assert np.flatnonzero(raw.token_ends).tolist() == [39, 101]


# -- text without blanks -----------------------------------------------------------------------------------------------


def test_text_without_blanks():
    segmenter = fitted(False)
    assert not segmenter.finder.blanks and (segmenter.finder.token_model.candidate == ALWAYS).any()
    words = ["gia đình", "ở", "thành phố", "là", "gia", "vị", "cơ quan nhà", "và"]
    assert sum(forms(segmenter, "".join(words).replace(" ", "")), []) == [word.replace(" ", "") for word in words]


@pytest.mark.parametrize("blanks", [False, True])
def test_the_model_is_stored_and_checked(blanks):
    segmenter = fitted(blanks)
    meta, arrays = segmenter.state()
    text = "gia đình ở thành phố." if blanks else "giađìnhởthànhphố"
    assert forms(load(Segmenter, (meta, arrays)), text) == forms(segmenter, text)
    for name in ("lexicon", "words"):
        with pytest.raises(ModelError, match=f"^the segmenter's '{name}'"):
            load(Segmenter, (meta, arrays | {name: arrays[name][:-1]}))


# -- statistics of words -----------------------------------------------------------------------------------------------


def test_a_treebank_of_one_paragraph_has_folds():
    """Statistics of words are those of other folds: without folds, a rare word's own place would be among them."""
    paragraph = [[SurfaceToken(str(number), True)] for number in range(12)]
    folds = folds_of([paragraph])
    assert [sum(map(len, fold)) for fold in folds] == [3, 2, 3, 2, 2]
    assert [token for fold in folds for part in fold for sentence in part for token in sentence] == sum(paragraph, [])


def test_lines_are_broken_before_whole_chunks():
    """The punctuation behind a word counts: else a filled line looks as if its writer had ended it."""
    words = [SurfaceToken("a" * 77, True), SurfaceToken("bb", False), SurfaceToken(",", True), SurfaceToken("cc", True)]
    raw = raw_text([[words, words]])
    lines = raw.text.split("\n")
    assert lines[:2] == ["a" * 77, "bb, cc"] and max(map(len, lines)) <= 80
    blanks = lay_out(raw_text([[words] * 9]).text).blanks
    assert set(blanks[:-1].tolist()) <= {ONE_BLANK, WRAPPED}
