"""A user's lexicon in plain text: strings that are one token, tokens that are several words, and abbreviations."""

import random

import numpy as np
import pytest
from instances import seeds
from restoring import restore

from nonproj.errors import ModelError
from nonproj.io.copies import surface_tokens
from nonproj.io.lexicon import LexiconWord, entry
from nonproj.linear.state import load
from nonproj.model.model import Model
from nonproj.text.formats import FORMATS, GIVEN_WORDS, LINES, RUNNING, TOKENS, WORDS, TextInput
from nonproj.text.layout import PARAGRAPH, lay_out
from nonproj.text.lexicon import UserLexicon
from nonproj.text.rules import UnicodeRules
from nonproj.text.segmenter import Segmenter

ALPHABET = "aabBc1.,+'’-("


def lexicon_of(*tokens: str, **words: str) -> UserLexicon:
    """A lexicon of tokens, and of others with their words."""
    entries = [entry(token, [LexiconWord(token)]) for token in tokens]
    return UserLexicon((*entries, *(entry(token, [*map(LexiconWord, own.split())]) for token, own in words.items())))


@pytest.fixture(scope="module", params=["rules", "trained"])
def segmenter(request, model_of) -> Segmenter:
    """Segmenters by rules, and of a model."""
    return Segmenter.unicode() if request.param == "rules" else Model.load(model_of("complete")).loaded(Segmenter)


def naive_matches(forms: list[str], text: str) -> list[tuple[int, int]]:
    """The strings of a text that are forms, with a capital where they begin with a letter."""
    plain, layout = "".join(" " if c.isspace() else "'" if c == "’" else c for c in text), lay_out(text)
    breaks = layout.end[layout.blanks == PARAGRAPH].tolist()
    variants = {*forms, *(form[0].upper() + form[1:] for form in forms)}
    found, i = [], 0

    def joined(place: int) -> bool:
        """Whether a word goes on at a place, or an address, or marks do."""
        if not 0 < place < len(text):
            return False
        return bool(layout.fixed[place - 1]) or (plain[place - 1].isalnum() and plain[place].isalnum())

    def fits(form: str) -> bool:
        end = i + len(form)
        if plain[i:end] != form or joined(i) or joined(end) or any(i < place < end for place in breaks):
            return False
        if form.isalnum():
            return not (plain[end : end + 1] == "'" and plain[end + 1 : end + 2].isalpha())
        return form[-1].isalnum() or plain[end : end + 1] != form[-1]

    while i < len(text):
        fitting = [form for form in variants if fits(form)]
        size = max(map(len, fitting), default=0)
        found += [(i, i + size)] if size else []
        i += size or 1
    return found


def draw(chance: random.Random, length: int, blanks: str = "    \n") -> str:
    return "".join(chance.choice(ALPHABET + blanks) for _ in range(chance.randint(0, length)))


@pytest.mark.parametrize("seed", seeds(200))
def test_matches_equal_those_by_definition(seed):
    chance = random.Random(seed)
    forms = [form for form in (" ".join(draw(chance, 4, " ").split()) for _ in range(8)) if form]
    forms = [form.replace("’", "'") for form in forms]
    text = draw(chance, 80)
    found = [match[:2] for match in lexicon_of(*forms).matches(text, lay_out(text))]
    assert found == naive_matches(forms, text)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", seeds(30))
def test_segmenters_obey(seed, format, segmenter):
    """Matches are tokens, abbreviations end no sentence but at the end of a paragraph, and the text can be restored."""
    chance = random.Random(seed)
    words = ["den", "Hund", "ser", "hus.", "C++", "St.", "no.", "(C++)", "approx.", "No.5", "a.", ".", "c++’s"]
    text = "".join(chance.choice(words) + chance.choice(["", " ", " ", " ", "\n", "\n\n"]) for _ in range(40))
    lexicon = lexicon_of("C++", "St. den", "no.", "approx.", "a", "Hund ser")
    using, options = segmenter.using(lexicon=lexicon), TextInput(format)
    sentences = using.segment(text, options)
    assert restore(sentences) == text
    assert restore(segmenter.segment(text, options)) == text
    tokens = [span for each in sentences for span in dict.fromkeys(each.offsets)]
    lines = format not in RUNNING
    layout = lay_out(text)
    if format not in GIVEN_WORDS:
        bounded = layout._replace(blanks=np.where(layout.blanks > 2, PARAGRAPH, layout.blanks)) if lines else layout
        for match in lexicon.matches(text, bounded):
            assert (match.start, match.end) in tokens or not match.bounded
            assert not any(match.start < place < match.end for span in tokens for place in span)
    last = {each.offsets[-1] for each in sentences}
    ends = set(layout.end[(layout.blanks == PARAGRAPH) | (lines & (layout.blanks > 2))].tolist()) | {len(text.rstrip())}
    for start, end in last if format != WORDS else ():
        assert text[start:end].lower() not in ("no.", "approx.") or end in ends, text[start:end]
    if not any(lexicon.matches(text, layout)):
        assert sentences == segmenter.segment(text, options)


def texts(segmenter: Segmenter, text: str, format: str = "text") -> list[list[str]]:
    """The tokens of the sentences of a text."""
    found = segmenter.segment(text, TextInput(format))
    return [[form for form, _, _ in surface_tokens(each)] for each in found]


def test_a_string_is_one_token(segmenter):
    using = segmenter.using(lexicon=lexicon_of("St. John's", "C++"))
    found = texts(using, "Den hund ser St.\nJohn’s, St. John's C++.")
    assert sum(found, []) == ["Den", "hund", "ser", "St. John’s", ",", "St. John's", "C++", "."]
    [first, *_] = using.segment("ser St.\nJohn's")
    assert "OrigForm=St.\\nJohn's" in first.rows[1][9] and first.forms[1] == "St. John's"
    assert sum(texts(using, "ser St.\n\nJohn's"), [])[1] != "St. John's"
    assert sum(texts(using, "ser St.\nJohn's", LINES), [])[1] != "St. John's"
    assert "C++" in sum(texts(using, "ser <b>C++</b>"), [])


def test_a_token_has_several_words(segmenter):
    using = segmenter.using(lexicon=lexicon_of("kat", dunno="do n't know", NYC="New York City"))
    sentences = using.segment("Dunno NYC, kat dunno.")
    assert sum((each.forms for each in sentences), []) == [
        "Do", "n't", "know", "New", "York", "City", ",", "kat", "do", "n't", "know", ".",
    ]  # fmt: skip
    assert sentences[0].lines[4].startswith("1-3\tDunno\t")
    assert texts(using, "dunno NYC", TOKENS) == [["dunno", "NYC"]]


def test_an_abbreviation_ends_no_sentence(segmenter):
    using, text = segmenter.using(lexicon=lexicon_of("hus.", "kat!")), "Den hund ser hus. Den kat ser hus.\n\nDen kat."
    assert [each[-1] for each in texts(using, text)] == ["hus.", "."]
    assert [each[-1] for each in texts(segmenter, text)] == [".", ".", "."]
    assert [each[-1] for each in texts(using, "ser hus.\nDen", LINES)] == ["hus.", "Den"]
    assert [each[-1] for each in texts(using, "ser hus. Den kat .", TOKENS)] == ["."]
    may_end = UserLexicon((entry("hus.", [LexiconWord("hus.")], "Yes"),))
    assert texts(segmenter.using(lexicon=may_end), text)[-2][-1] == "hus."


@pytest.mark.parametrize(
    ("text", "tokens", "spans"),
    [("我在长安大学", ["长安大学", "长安"], [(2, 6)]), ("see a.org/C++/a and C++", ["C++", "a"], [(20, 23)])],
)
def test_scripts_without_blanks_and_addresses(text, tokens, spans):
    assert [match[:2] for match in lexicon_of(*tokens).matches(text, lay_out(text))] == spans


def test_rules_keep_their_tokens_beside_a_lexicon():
    rules = UnicodeRules(["bl.a."])
    segmenter = Segmenter(rules, Segmenter.unicode().multiwords, "").using(lexicon=lexicon_of("C++"))
    assert texts(segmenter, "bl.a. C++-ting") == [["bl.a.", "C++", "-", "ting"]]


@pytest.mark.parametrize(
    "wrong",
    [7, ["a"], ["a", "Yes"], ["a", "?", ["a"]], ["a", None, ["a"]], ["a\n", "Yes", ["a\n"]], ["a", "Yes", 3]]
    + [["a", "Yes", ["a", 3]], ["a", "Yes", [*"abcdef"]]],
)
def test_a_lexicon_is_stored_and_checked(wrong):
    lexicon = lexicon_of("C++", "St. John's", dunno="do n't know")
    assert load(UserLexicon, lexicon.state()) == lexicon
    with pytest.raises(ModelError, match="the lexicon cannot be used: "):
        load(UserLexicon, ({"entries": [wrong]}, {}))


def test_entries_of_another_lexicon_are_added():
    first, second = lexicon_of("a", "b"), UserLexicon((entry("b", [LexiconWord("b", "x")]), *lexicon_of("c").entries))
    assert [each.token for each in first.over(second).entries] == ["a", "b", "c"]
    assert first.over(second).entries[1].words[0].lemma == "_" and first.over(None) == first
