"""Brackets and quotation marks around words, commas before them, and templates that see both."""

import naive_scoring
import numpy as np
import pytest

from nonproj.scoring.punctuation import enclosures, segments
from nonproj.scoring.vocabulary import PADDING, TokenEncoder
from nonproj.types import Sentence

MARKS = [*"()[]\"'`«»‹›“”„‘’‚", "``", "''", "-LRB-", "-RRB-"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("` a ' said b , `` c ''", "0 1.0 0 0 0 0 0 1.1 0"),
        ("» a « , » b »", "0 1.0 0 0 0 1.1 0"),  # German and Finnish
        ("„ a “ „ b ” ” c ”", "0 1.0 0 0 1.1 0 0 1.2 0"),  # German, Polish, Swedish
        ("( [ { < a > } ] )", "0 1.0 2.0 3.0 3.1 3.0 2.0 1.0 0"),
        ("( a ' b ) c ' d", "0 1.0 1.0 1.0 0 0 0 0"),  # an apostrophe within a pair has no partner outside
        ("( 1 ) ( 2 ) ( 3 ) ( 4 )", "0 1.0 0 0 1.1 0 0 1.2 0 0 1.0 0"),
        ("(a) 'b'", "0 0"),  # marks that are not words of their own
    ],
)
def test_words_within_a_pair_share_its_number(text, expected):
    assert enclosures(text.split()) == expected.split()


@pytest.mark.parametrize("n_marks", [2, 4, len(MARKS)])
def test_pairs_equal_the_twin(n_marks):
    rng = np.random.default_rng(n_marks)
    for _ in range(400):
        forms = rng.choice(["word", *rng.choice(MARKS, n_marks)], rng.integers(0, 16)).tolist()
        assert enclosures(forms) == naive_scoring.enclosures_of(forms), forms


@pytest.mark.parametrize(
    "text, expected",
    [
        ("none", "0"),
        (", a , b ; c : d", "0 1 1 2 2 0 0 1"),
        ("a – b — c -- d - e", "0 0 1 1 2 2 0 0 1"),
        ("a،b c-d 1,5", "0 0 0"),  # only marks that are words
    ],
)
def test_segments_end_after_commas_and_dashes(text, expected):
    assert segments(text.split()) == expected.split()


def test_both_equal_the_twin_in_a_sentence():
    rng, names = np.random.default_rng(3), ["segment", "form", "enclosure"]
    for _ in range(50):
        forms = rng.choice(["a", ",", "-", ";", "(", ")", '"', "、"], 14).tolist()
        sentence = Sentence([[str(i), form, "_", "X", "_", "_", "0", "x", "_", "_"] for i, form in enumerate(forms, 1)])
        encoder = TokenEncoder.from_sentences([sentence], names, rare=2)
        for column, name in enumerate(names):
            expected = [naive_scoring.number_of(sentence, encoder.vocabularies, node, name) for node in range(-3, 15)]
            assert encoder.encode(sentence).atoms[: 14 + 1 + PADDING, column].tolist() == expected
