"""From strings to numbers: the attributes, those of brackets and commas too, the numbering of strings, their layout."""

import naive_scoring
import numpy as np
import pytest
from instances import seeds

from nonproj.scoring import morphology, vocabulary
from nonproj.scoring.punctuation import enclosures
from nonproj.scoring.vocabulary import ATTRIBUTES, FEAT, FIRST, PADDING, UNKNOWN, TokenEncoder
from nonproj.types import Sentence


def word(form, lemma="_", cpos="N", pos="_", feats="_", number=1):
    return [str(number), form, lemma, cpos, pos, feats, "0", "x", "_", "_"]


def encoder_of(*rows, attributes=("form",), rare=1):
    return TokenEncoder.from_sentences([Sentence(list(rows))], list(attributes), rare)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_equal_the_twin(name):
    letters, rng = "abAB12²Ⅷ٣ßǅøÆ中'_-. ", np.random.default_rng(0)
    for _ in range(300):
        form, lemma, cpos, pos, feats = ("".join(rng.choice(list(letters), rng.integers(1, 9))) for _ in range(5))
        lemma, pos, feats = (text if rng.random() < 0.7 else "_" for text in (lemma, pos, feats))
        row = word(form, lemma, cpos, pos, feats)
        assert ATTRIBUTES[name](*row[1:6]) == naive_scoring.text_of(row, name), row


@pytest.mark.parametrize("rare, known", [(1, ["c", "d", "a", "b"]), (2, ["c", "d"]), (3, ["c"]), (4, [])])
def test_rare_strings_are_unknown(rare, known):
    rows = [word(form) for form in ("b", "c", "a", "c", "d", "d", "c")]
    encoder = encoder_of(*rows, rare=rare)
    assert encoder.vocabularies["form"] == known
    numbers = encoder.encode(Sentence(rows)).atoms[PADDING + 1 : -PADDING, 0].tolist()
    assert numbers == [FIRST + known.index(row[1]) if row[1] in known else UNKNOWN for row in rows]


def test_each_single_feature_counts_and_rare_ones_are_dropped():
    rows = [word("x", feats="b=1|a=1"), word("y", feats="a=1"), word("z"), word("x", feats="b=1|a=1|c=3")]
    encoder = encoder_of(*rows, rare=2)
    assert encoder.vocabularies[FEAT] == ["a=1", "b=1"]
    tokens = encoder.encode(Sentence(rows))
    assert tokens.n_nodes == 5 and tokens.atoms.dtype == tokens.feat.dtype == tokens.feat_start.dtype == np.int32
    assert tokens.feat_start.tolist() == [0, 0, 2, 3, 3, 5]  # node 0, the root, has none
    assert tokens.feat.tolist() == [FIRST + 1, FIRST, FIRST, FIRST + 1, FIRST]


@pytest.mark.parametrize("limit", [10, 1 << 17])
def test_the_table_of_words_grows_and_keeps_what_it_has_or_forgets_it(limit, monkeypatch):
    """Encode more than the 1024 rows that it starts with, or more than it may have, and again."""
    monkeypatch.setattr(vocabulary, "_CACHED_WORDS", limit)
    rows = [word(f"w{i}", feats=f"f={i % 7}") for i in range(2500)]
    encoder = encoder_of(*rows)
    numbers, feats = ({text: FIRST + i for i, text in enumerate(encoder.vocabularies[name])} for name in ("form", FEAT))
    for first in [*range(0, 2500, 500)] * 2:
        part = rows[first : first + 500]
        tokens = encoder.encode(Sentence(part))
        assert tokens.atoms[PADDING + 1 : -PADDING, 0].tolist() == [numbers[row[1]] for row in part]
        assert tokens.feat.tolist() == [feats[row[5]] for row in part]


def test_a_word_is_known_by_all_its_columns():
    """The cache of words must not take one for another that differs in a single column."""
    base = ("f", "l", "c", "p", "a=1")
    rows = [word(*base), *(word(*base[:i], "other", *base[i + 1 :]) for i in range(5))]
    encoder = encoder_of(*rows, attributes=("form", "lemma", "cpos", "pos", "feats"))
    assert len(np.unique(encoder.encode(Sentence(rows)).atoms[PADDING + 1 : -PADDING], axis=0)) == 6


def test_a_common_word_is_its_own_key_and_others_are_their_tags():
    rows = [word("Og", pos="C"), word("og", pos="C"), *(word(f"w{i % 400}", pos=f"N{i % 3}") for i in range(1998))]
    encoder = encoder_of(*rows, attributes=("key",))
    known = encoder.vocabularies["key"]
    assert known[0] == "\tN0" and {text for text in known if text[0] != "\t"} == {"og", *(f"w{i}" for i in range(400))}
    rarer = encoder_of(*rows[1:], *(word(f"v{i}", pos="N0") for i in range(3)), attributes=("key",))
    assert "og" not in rarer.vocabularies["key"]  # one word in 2002
    sentence = Sentence([word("OG", pos="X"), word("v9", pos="N1"), word("v9", pos="N9")])
    numbers = encoder.encode(sentence).atoms[PADDING + 1 : -PADDING, 0].tolist()
    assert numbers == [FIRST + known.index("og"), FIRST + known.index("\tN1"), UNKNOWN]


def draw_features(seed, n=300):
    """Words whose labels follow some features more than others."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        tag, case, noise = rng.choice(["N", "V"]), rng.choice(["nom", "acc", "gen"]), rng.choice(["a", "b"])
        label = case if tag == "N" and rng.random() < 0.2 + 0.2 * (seed % 5) else rng.choice(["nom", "acc", "gen"])
        row = word(f"w{i}", cpos=tag, pos="_" if rng.random() < 0.5 else tag, feats=f"{case}|{noise}")
        row[5] = "_" if rng.random() < 0.1 else row[5]
        rows.append([*row[:7], label, "_", "_"])
    return [Sentence(rows[i : i + 10]) for i in range(0, n, 10)]


@pytest.mark.parametrize("seed", seeds(10))
def test_informative_features_equal_the_definition(seed, monkeypatch):
    sentences = draw_features(seed)
    monkeypatch.setattr(morphology, "MINIMUM", 0.05)
    found = {name: naive_scoring.information(sentences, name) for name in ("nom", "acc", "gen", "a", "b")}
    expected = {name for name, (gain, share) in found.items() if gain >= max(0.05 * share, 0.001)}
    assert morphology.informative(sentences) == expected
    assert seed % 5 != 4 or expected == {"nom", "acc", "gen"}


def test_morph_leaves_uninformative_features_out():
    sentences = draw_features(4)
    strings = TokenEncoder.from_sentences(sentences, ["morph"], 1).vocabularies["morph"]
    assert sorted(strings) == sorted(f"{tag}\t{case}" for tag in "NV" for case in ("", "acc", "gen", "nom"))
    for sentence in sentences:
        for row in sentence.rows:
            row[7] = "_"
    assert set(TokenEncoder.from_sentences(sentences, ["morph"], 1).vocabularies["morph"]) == {"N\t", "V\t"}


# Coarse tags


def tagged(n_tags, n_words, cpos="N"):
    """Sentences of ten words with a number of fine tags."""
    rows = [word(f"w{i % 7}", cpos=cpos, pos=f"{cpos}{i % n_tags}", feats="a=1") for i in range(n_words)]
    return [Sentence(rows[i : i + 10]) for i in range(0, n_words, 10)]


def test_fine_tags_are_too_many_with_few_words_for_each():
    many = [(31, 18_590, "N"), (1, 9, "N")]
    for treebank in (*many, (31, 18_600, "N"), (30, 600, "N"), (31, 99, "_")):
        assert vocabulary.prefer_coarse(tagged(*treebank)) is (treebank in many)


@pytest.mark.parametrize("attributes", [["pos"], ["tag", "morph", "key", "feats"]])
def test_with_coarse_tags_sentences_are_encoded_as_if_there_were_no_fine_ones(attributes):
    sentences = [*tagged(3, 60), *draw_features(4)]
    blank = [Sentence([[*row[:4], "_", *row[5:]] for row in s.rows]) for s in sentences]
    coarse = TokenEncoder.from_sentences(sentences, attributes, 1, coarse=True)
    expected = TokenEncoder.from_sentences(blank, attributes, 1)
    assert coarse.vocabularies == expected.vocabularies
    assert coarse.vocabularies != TokenEncoder.from_sentences(sentences, attributes, 1).vocabularies
    for sentence, other in zip(sentences, blank, strict=True):
        assert coarse.encode(sentence).atoms.tolist() == expected.encode(other).atoms.tolist()


# Brackets and quotation marks around words, and commas before them

MARKS = [*"()[]\"'`«»‹›“”„‘’‚", "``", "''", "-LRB-", "-RRB-"]


@pytest.mark.parametrize("n_marks", [2, 4, len(MARKS)])
def test_pairs_equal_the_twin(n_marks):
    rng = np.random.default_rng(n_marks)
    for _ in range(400):
        forms = rng.choice(["word", *rng.choice(MARKS, n_marks)], rng.integers(0, 16)).tolist()
        assert enclosures(forms) == naive_scoring.enclosures_of(forms), forms


def test_words_between_the_root_and_margins_equal_the_twin():
    rng, names = np.random.default_rng(3), ["segment", "form", "enclosure"]
    for _ in range(50):
        forms = rng.choice(["a", "b-c", "1,5", *',-;–—:،、()"', "--", "(a)"], 14).tolist()
        sentence = Sentence([word(form, number=i) for i, form in enumerate(forms, 1)])
        encoder = TokenEncoder.from_sentences([sentence], names, rare=2)
        for column, name in enumerate(names):
            places = [*range(-PADDING, 15), *[-1] * PADDING]
            expected = [naive_scoring.number_of(sentence, encoder.vocabularies, node, name) for node in places]
            assert encoder.encode(sentence).atoms[:, column].tolist() == expected
