"""Tags and lemmas of whole sentences: edit scripts, filled and kept values, states, and jackknifing."""

import json
from dataclasses import replace

import naive_tagging as naive
import numpy as np
import pytest
import toy
from instances import seeds

from nonproj.components.base import FitContext, jackknife
from nonproj.components.tagger import TaggerComponent
from nonproj.errors import ConfigError, ModelError
from nonproj.io import conll
from nonproj.io.objects import from_words
from nonproj.learning.corpus import Corpus
from nonproj.linear.state import load
from nonproj.options.config import Config
from nonproj.options.sections import TaggerConfig
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.scripts import apply_script, is_script, make_script
from nonproj.types import Sentence

SMALL = TaggerConfig(bits=14, epochs=3)


def without(sentence, columns=(2, 3, 4, 5)):
    """A sentence with some columns emptied."""
    return Sentence([["_" if c in columns else text for c, text in enumerate(row)] for row in sentence.rows])


def column(rows, number):
    """One column of all words of some sentences."""
    return [row[number] for sentence in rows for row in sentence]


def agreement(predicted, sentences, number):
    """The share of words whose column is right."""
    gold = column([s.rows for s in sentences], number)
    return np.mean([a == b for a, b in zip(gold, column(predicted, number), strict=True)])


@pytest.fixture(scope="module")
def greek(treebanks):
    """Sentences to train on and sentences of the same file to tag."""
    path = treebanks / "greek" / "el_gdt-ud-train.conllu"
    read = list(conll.read(path))
    return read[: len(seeds(700, least=150))], read[700:800]


@pytest.fixture(scope="module")
def analyzer(greek):
    return Analyzer.fit(greek[0], TaggerConfig(bits=18, epochs=4))


# Edit scripts


@pytest.mark.parametrize("seed", range(3))
def test_scripts_make_their_lemma_and_are_short(seed):
    rng = np.random.default_rng(seed)
    for _ in range(300):
        form, lemma = ("".join(rng.choice(list("abABς"), rng.integers(1, 8))) for _ in range(2))
        script = make_script(form, lemma)
        assert is_script(script) and apply_script(script, form) == lemma
        if script[0] == "l":
            edits, lower = script.count("+") + script.count("-"), form.lower()
            around = len(lower) + len(lemma) - 2 * naive.longest_common(lower, lemma)
            assert naive.indel_distance(lower, lemma) <= edits <= around
        elif script[0] != "=":
            assert lemma != lemma.lower()


EXAMPLES = [
    ("Dogs", "dog", "CATS", "cat"),
    ("iPhones", "iPhone", "McFlys", "McFly"),
    ("BUSH", "Bush", "BLAIR", "Blair"),
    ("nato", "NATO", "ibm", "IBM"),
    ("unlocked", "lock", "undocked", "dock"),
    ("went", "go", "anything", "go"),
    ("stopped", "stop", "walked", None),
    pytest.param("a" * 1001, "a" * 1000, "b", "a" * 1000, id="no edits of long forms"),
]


@pytest.mark.parametrize(("form", "lemma", "other", "made"), EXAMPLES)
def test_scripts_apply_to_other_forms(form, lemma, other, made):
    assert apply_script(make_script(form, lemma), other) == made


def test_what_is_no_script():
    bad = ["", "=", "x\t\t", "l\t", "l\t\t\t", "l\t+\t", "l\t*a\t", "l\t\t-", "=a\tb", "=a\n", "l\t+\n\t", "=\ud800", 3]
    assert not any(map(is_script, bad))


def small_treebank(words, count=20):
    """Sentences of a word for each of some pairs of form and lemma, all verbs."""
    rows = [[str(i), form, lemma, "V", "_", "_", str(i - 1), "x", "_", "_"] for i, (form, lemma) in enumerate(words, 1)]
    return [Sentence(rows)] * count


def test_lemmas_that_replace_the_form_are_for_the_forms_they_were_seen_with():
    copula = [(form, "bûn") for form in ("e", "ye", "in", "ne")]
    analyzer = Analyzer.fit(small_treebank([*copula, ("dike", "kirin"), ("dibe", "dibe")]), SMALL)
    words = [(form, "V", "_", "_") for form in ("e", "Ye", "IN", "dike", "tê", "xwe", "kete")]
    assert analyzer.lemmatizer.lemmas(words) == ["bûn", "bûn", "bûn", "kirin", "tê", "xwe", "kete"]


def test_scripts_that_keep_little_are_for_the_forms_they_were_seen_with():
    """Scripts of one form that insert more than they keep, or a beginning; and those that leave one letter."""
    words = [("ist", "sein"), *((f"{stem}okon", stem) for stem in ("lap", "nap", "kar", "fej", "haz", "ker"))]
    lemmatizer = Analyzer.fit(small_treebank(words), SMALL).lemmatizer
    made = lemmatizer.lemmas([(form, "V", "_", "_") for form in ("ist", "weist", "falokon", "rokon", "❤")])
    assert made == ["sein", "weist", "fal", "rokon", "❤"]


def test_unknown_symbols_have_a_tag_of_symbols():
    words = ("a-", "a", "AUX"), ("x", "x", "NOUN"), (".", ".", "PUNCT")
    rows = [["1", *word, "_", "_", "_", "_", "_", "_"] for word in words]
    found = Analyzer.fit([Sentence(rows)] * 9, SMALL).annotate([from_words(["😀", "❤️", ".", "b-"])])[0]
    assert [row[2:4] for row in found][:3] == [["😀", "PUNCT"], ["❤️", "PUNCT"], [".", "PUNCT"]]


def test_a_treebank_of_twenty_sentences_knows_its_own_words():
    """It is not one fold, without a lexicon of others."""
    treebank = toy.sentences(20)
    made = Analyzer.fit(treebank, SMALL).annotate([without(s) for s in treebank])
    assert all(agreement(made, treebank, number) > 0.9 for number in (2, 3))


# What is filled and what is kept


@pytest.mark.thorough
def test_a_treebank_is_learnt(analyzer, greek):
    training, others = greek
    assert analyzer.columns == (2, 3, 4, 5)
    made = analyzer.annotate([without(s) for s in others])
    for number, least in ((3, 0.93), (4, 0.93), (5, 0.82), (2, 0.87)):
        assert agreement(made, others, number) > least
    assert agreement(analyzer.annotate([without(s) for s in training[:100]]), training[:100], 5) > 0.98
    for sentence, rows in zip(others, made, strict=True):
        assert [row[:2] + row[6:] for row in rows] == [row[:2] + row[6:] for row in sentence.rows]


def test_nothing_changes_where_all_columns_are_given(analyzer, greek):
    given = [s for s in greek[1] if any(row[5] != "_" for row in s.rows)]
    before, made = [[list(row) for row in s.rows] for s in given], analyzer.annotate(given)
    assert made == before == [s.rows for s in given]
    assert all(a is not b for rows, s in zip(made, given, strict=True) for a, b in zip(rows, s.rows, strict=True))


def test_tagged_sentences_carry_the_margins_of_their_tags(analyzer, greek):
    full = next(s for s in greek[1] if any(row[5] != "_" for row in s.rows) and "_" not in column([s.rows], 2))
    blank = without(full)
    given, tagged = analyzer.apply([full, blank])
    assert given is full and given.tag_margins is None
    (rows,), (margins,) = analyzer.annotate_with_margins([blank])
    assert (tagged.rows, tagged.tag_margins.tolist()) == (rows, margins.tolist())
    assert blank.rows == without(full).rows
    (again,) = analyzer.apply([full], overwrite=True)
    assert (again.rows, again.tag_margins.tolist()) == (rows, margins.tolist())


def test_overwriting_gives_what_sentences_without_tags_get(analyzer, greek):
    blank = analyzer.annotate([without(s) for s in greek[1]])
    assert analyzer.annotate(greek[1], overwrite=True) == blank
    assert blank != [s.rows for s in greek[1]]


def test_given_columns_are_kept_and_help(analyzer, greek):
    others = greek[1]
    with_upos = analyzer.annotate([without(s, (2, 4, 5)) for s in others])
    assert agreement(with_upos, others, 3) == agreement(with_upos, others, 4) == 1.0, "XPOS copies UPOS"
    blank = analyzer.annotate([without(s) for s in others])
    assert agreement(with_upos, others, 5) > agreement(blank, others, 5)
    with_tags = analyzer.annotate([without(s, (2,)) for s in others])
    assert [[row[3:6] for row in rows] for rows in with_tags] == [[row[3:6] for row in s.rows] for s in others]
    assert agreement(with_tags, others, 2) > agreement(blank, others, 2)


def test_single_words_are_filled(analyzer, greek):
    sentence = next(s for s in greek[1] if len(s) > 8)
    partly = without(sentence, ())
    for i in (2, 5):
        partly.rows[i][2:5] = ["_", "_", "_"]
    made = analyzer.annotate([partly])[0]
    for i, (row, given) in enumerate(zip(made, sentence.rows, strict=True)):
        assert "_" not in row[2:5] if i in (2, 5) else row == given
    assert [row[5] for row in made] == [row[5] for row in sentence.rows], "FEATS are given"


def test_strange_input(analyzer):
    """Unknown tags given, empty batches and sentences, forms of one and of a thousand characters, surrogates."""
    assert analyzer.annotate([]) == []
    assert analyzer.annotate([Sentence([])]) == [[]]
    forms = ["x", "Ω" * 1000, "\ud800", "𝔘", "_", " ", "İ", "ΟΔΟΣ", "ß"]
    words = [(form, tag) for form in forms for tag in ("_", "??")]
    rows = [[str(i), form, "_", tag, "_", "_", "0", "x", "_", "_"] for i, (form, tag) in enumerate(words, 1)]
    made = analyzer.annotate([Sentence(rows), Sentence([]), Sentence(rows[:1])])
    assert [row[3] for row in made[0][1::2]] == ["??"] * len(forms)
    assert all(text for rows in made for row in rows for text in row)
    assert all(row[3] not in ("_", "??") for row in made[0][::2])


@pytest.mark.parametrize("absent", [(2,), (3,), (4, 5), (3, 4, 5), (2, 3, 5)])
def test_columns_without_values_are_left_alone(absent):
    treebank = toy.sentences(60)
    for sentence in treebank:
        for row in sentence.rows:
            row[5] = f"a={row[3]}"
    analyzer = Analyzer.fit([without(s, absent) for s in treebank], SMALL)
    assert analyzer.columns == tuple(c for c in (2, 3, 4, 5) if c not in absent)
    made = analyzer.annotate([without(s) for s in treebank])
    assert all(set(column(made, number)) == {"_"} for number in absent)
    assert all(agreement(made, treebank, number) > 0.97 for number in analyzer.columns)
    given = [without(s, analyzer.columns) for s in treebank]
    assert analyzer.annotate(given, overwrite=True) == [s.rows for s in treebank] or agreement(made, treebank, 3) < 1.0


def test_nothing_to_learn():
    with pytest.raises(ConfigError, match="no lemmas and no tags"):
        Analyzer.fit([without(s) for s in toy.sentences(5)], SMALL)


# Jackknifing


def tagged(sentences, options, folds, seed=0, folder=None):
    """The rows of sentences with the tags of taggers of the other folds."""
    config = Config().with_overrides({"seed": seed} | ({"features.folder": folder} if folder else {}))
    context = FitContext(replace(config, tagger=options))
    return [sentence.rows for sentence in jackknife(TaggerComponent, Corpus(sentences), context, folds, overwrite=True)]


def test_jackknifing_tags_each_sentence_by_a_model_of_the_others(greek):
    """However few there are."""
    sentences, options = greek[0][:60], TaggerConfig(bits=14, epochs=2, restarts=1, network_epochs=2)
    made = tagged(sentences, options, 3, 5)
    inside = [i for i in range(60) if i // 20 % 3 == 1]
    rest = [s for i, s in enumerate(sentences) if i not in inside]
    expected = Analyzer.fit(rest, options, 5).annotate([sentences[i] for i in inside], overwrite=True)
    assert [made[i] for i in inside] == expected
    own = Analyzer.fit(sentences, options, 5).annotate(sentences, overwrite=True)
    assert agreement(own, sentences, 3) > agreement(made, sentences, 3) + 0.03
    assert list(map(len, tagged(sentences[:2], SMALL, 4))) == list(map(len, sentences[:2]))


def test_jackknifing_uses_the_given_templates(tmp_path):
    (tmp_path / "tagger.yaml").write_text("part: tagger\ntemplates: [w.from]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="'w.from'"):
        tagged(toy.sentences(5), SMALL, 2, 0, str(tmp_path))


# States


def test_a_state_makes_the_same_model_and_batches_do_not_change_the_result(analyzer, greek):
    meta, arrays = analyzer.state()
    copied = load(Analyzer, (json.loads(json.dumps(meta)), {name: array.copy() for name, array in arrays.items()}))
    blank = [without(s) for s in greek[1]]
    assert [copied.annotate([s])[0] for s in reversed(blank)][::-1] == analyzer.annotate(blank)
    np.testing.assert_equal(copied.state(), (meta, arrays))


def forged_metas(meta):
    """Headers of the right types with one thing wrong."""
    tags, scripts = meta["tagger"]["tags"], meta["lemmatizer"]["scripts"]
    others = [["N", "N", 3]], [["N", "N\t", "_"]], [["N", "N", ""]], tags[:1]
    for component, name, values in (
        ("tagger", "tags", ([], [["N", "N"]], [["N", "N", "_"]], *(tags + other for other in others))),
        ("tagger", "scale", (0.0, float("nan"))),
        ("tagger", "templates", ({"part": "tagger", "templates": ["w.none"]},)),
        ("lemmatizer", "scripts", ([], ["l\t\t"], scripts[:-1] + ["l\t\t-"], scripts[:-1] + ["=a\tb"])),
        ("lemmatizer", "templates", ({"part": "lemmatizer", "templates": ["w+1.lower"]},)),
    ):
        for value in values:
            yield meta | {component: meta[component] | {name: value}}


def test_forged_headers_are_refused(analyzer):
    meta, arrays = analyzer.state()
    for forged in forged_metas(meta):
        with pytest.raises(ModelError, match="^[^\n]*$"):
            load(Analyzer, (forged, arrays))


def test_forged_arrays_are_refused(analyzer):
    meta, arrays = analyzer.state()
    for name, array in arrays.items():
        wrong = [array[:-1], np.empty(0, array.dtype)]
        wrong += [array[::-1].copy()] * name.endswith(("_start", "_key"))
        wrong += [np.full_like(array, -5)] * name.endswith(("_tag", "_count", "_start"))
        wrong += [np.full_like(array, 30_000)] * name.endswith(("_tag", "_start"))
        for forged in wrong:
            if not np.array_equal(forged, array):
                with pytest.raises(ModelError, match="^[^\n]*$"):
                    load(Analyzer, (meta, arrays | {name: forged}))


def test_weights_of_any_value_are_harmless(analyzer, greek):
    meta, arrays = analyzer.state()
    rng, few = np.random.default_rng(0), greek[1][:20]
    for name in ("tagger.weights", "lemmatizer.weights"):
        drawn = rng.integers(-32768, 32768, len(arrays[name])).astype(np.int16)
        for value in (drawn, np.full_like(drawn, -32768)):
            forged = load(Analyzer, (meta, arrays | {name: value}))
            assert list(map(len, forged.annotate(few, overwrite=True))) == list(map(len, few))
