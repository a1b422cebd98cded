"""The component in spaCy's conventions: evaluation, labels, tags, and messages of `add_pipe`."""

import re
from pathlib import Path

import pytest

spacy = pytest.importorskip("spacy")

from spacy.training import Example  # noqa: E402 (spaCy may be missing)

WORDS = ["den", "hund", "ser", "hus", "."]
TAGS = ["DET", "NOUN", "VERB", "NOUN", "PUNCT"]
HEADS, LABELS = [1, 2, 2, 2, 2], ["det", "nsubj", "ROOT", "obj", "punct"]


def pipeline(path: Path, **config):
    """A pipeline of this component only."""
    nlp = spacy.blank("da")
    nlp.add_pipe("nonproj", config={"model": str(path)} | config)
    return nlp


def gold(nlp, heads=HEADS, labels=LABELS):
    """An example of the right tags and these trees."""
    doc = nlp.make_doc(" ".join(WORDS))
    reference = {"heads": heads, "deps": labels, "pos": TAGS, "tags": TAGS, "lemmas": WORDS}
    return Example.from_dict(doc, reference | {"sent_starts": [True] + [False] * 4})


# -- scores ------------------------------------------------------------------------------------------------------------


def test_a_pipeline_is_evaluated_by_spacys_scores(folder):
    nlp = pipeline(folder / "universal")
    scores = nlp.evaluate([gold(nlp)])
    assert {"dep_uas", "dep_las", "sents_f", "pos_acc", "tag_acc", "lemma_acc", "dep_las_per_type"} <= set(scores)
    assert (scores["dep_uas"], scores["dep_las"], scores["sents_f"], scores["pos_acc"]) == (1.0, 1.0, 1.0, 1.0)
    wrong = nlp.evaluate([gold(nlp, heads=[1, 2, 2, 1, 2]), gold(nlp, labels=["amod", *LABELS[1:]])])
    # One head of the first four words is wrong, and one label: spaCy leaves out punctuation.
    assert wrong["dep_uas"] == pytest.approx(7 / 8)
    assert wrong["dep_las"] == pytest.approx(6 / 8)


def test_punctuation_may_have_another_label(folder):
    """As in the treebanks of CoNLL-X: a wrong head of a full stop does not count, whatever its label."""
    nlp = pipeline(folder / "universal")
    scores = nlp.evaluate([gold(nlp, heads=[*HEADS[:4], 1], labels=[*LABELS[:4], "Pnct"])])
    assert (scores["dep_uas"], scores["dep_las"]) == (1.0, 1.0)
    comma = Example.from_dict(nlp.make_doc("den ."), {"heads": [0, 0], "deps": ["ROOT", "det"]})
    assert nlp.evaluate([gold(nlp), comma])["dep_uas"] < 1.0, "this label is also one of words"


def test_noun_chunks_of_universal_labels(folder):
    """Rules for other labels miss objects; the documentation names those to use instead."""
    nlp = spacy.blank("en")
    nlp.add_pipe("nonproj", config={"model": str(folder / "universal")})
    doc = nlp("den hund ser den kat .")
    assert [token.dep_ for token in doc] == ["det", "nsubj", "ROOT", "det", "obj", "punct"]
    assert [chunk.text for chunk in doc.noun_chunks] == ["den hund"]
    page = Path(__file__).parents[2].joinpath("docs", "spacy.md").read_text(encoding="utf-8")
    [block] = re.findall(r"## Noun chunks\n.*?```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/spacy.md", "exec"), {"nlp": nlp})
    assert [chunk.text for chunk in nlp("den hund ser den kat .").noun_chunks] == ["den hund", "den kat"]


def test_tags_are_scored_only_if_the_component_sets_them(folder):
    for nlp in (pipeline(folder / "untagged"), pipeline(folder / "universal", tags="none")):
        scores = nlp.get_pipe("nonproj").score([gold(nlp)])
        assert "dep_uas" in scores
        assert not {"pos_acc", "tag_acc", "lemma_acc"} & set(scores)


def test_the_weights_of_scores_are_those_of_trees(folder):
    weights = pipeline(folder / "untagged").config["training"]["score_weights"]
    assert sum(weight or 0.0 for weight in weights.values()) == pytest.approx(1.0)
    assert weights["dep_las"] > 0


def test_labels_are_those_of_the_model_with_spacys_root(folder):
    nlp = pipeline(folder / "universal")
    labels = list(nlp.get_pipe("nonproj").labels)
    assert nlp.pipe_labels["nonproj"] == labels
    assert sorted(labels) == ["ROOT", "acl", "amod", "det", "nsubj", "obj", "punct", "root"]
    assert {token.dep_ for token in nlp("den hund ser hus sovende .")} <= set(labels)


# -- tags --------------------------------------------------------------------------------------------------------------


def test_universal_tags_go_to_pos_and_others_to_tag(folder):
    """No ``pos`` is made of tags that only look like universal ones, and no ``morph`` of other features."""
    doc = pipeline(folder / "universal")(" ".join(WORDS))
    assert [token.pos_ for token in doc] == TAGS
    assert [token.tag_ for token in doc] == ["DET", "NN", "VB", "NN", "PUNCT"]
    doc = pipeline(folder / "coarse")(" ".join(WORDS))
    assert [(token.pos_, str(token.morph)) for token in doc] == [("", "")] * 5
    assert [token.tag_ for token in doc][1:4] == ["N", "V", "N"]
    assert doc.has_annotation("TAG", require_complete=True)


KEPT = [
    ("missing", [("den", "DET", "DET", ""), ("mine", "PROPN", "NN", "Number=Sing")]),
    ("all", [("den", "DET", "DET", ""), ("hund", "NOUN", "NN", "")]),
    ("none", [("", "", "", ""), ("mine", "PROPN", "", "Number=Sing")]),
]


@pytest.mark.parametrize(("tags", "expected"), KEPT)
def test_tags_are_kept_overwritten_or_left_alone(folder, tags, expected):
    nlp = pipeline(folder / "universal", tags=tags)
    doc = nlp.make_doc("den hund ser hus .")
    doc[1].pos_, doc[1].lemma_ = "PROPN", "mine"
    doc[1].set_morph("Number=Sing")
    assert [(token.lemma_, token.pos_, token.tag_, str(token.morph)) for token in nlp(doc)][:2] == expected
