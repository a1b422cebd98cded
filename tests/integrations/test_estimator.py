"""The parser as a scikit-learn estimator."""

import dataclasses
import inspect
import io
import itertools
import pickle

import conllu
import numpy as np
import pytest
import toy
from further import weights_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils import estimator_checks
from toy import sentences, treebank

from nonproj.errors import DataError, ModelError
from nonproj.integrations.estimator import DependencyParser, las_scorer
from nonproj.io import conll
from nonproj.options.config import Config
from nonproj.trees.crossing import nonprojective

TEST = sentences(15, seed=1)
SMALL = {"bits": 16, "epochs": 2, "labeler_epochs": 2, "tags": "gold", "folds": 0}


class Quick(DependencyParser):
    """A parser whose other components suffice for the toy language."""

    def _options(self):
        return super()._options() | toy.QUICK | {"tagger.epochs": 1, "segmenter.epochs": 1, "confidence.share": 0.0}


def equal(one, other) -> bool:
    """Whether the trees of two lists are the same."""
    return len(one) == len(other) and all(map(np.array_equal, one, other))


@pytest.fixture(scope="module")
def fitted() -> DependencyParser:
    """A parser that has seen some sentences."""
    return Quick(**SMALL).fit(sentences(60))


# -- the contract ------------------------------------------------------------------------------------------------------


CHECKS = """estimator_cloneable estimator_repr no_attributes_set_in_init do_not_raise_errors_in_init_or_set_params
get_params_invariance set_params parameters_default_constructible valid_tag_types estimator_tags_renamed"""


@pytest.mark.parametrize("name", CHECKS.split())
def test_scikit_learn_checks(name):
    getattr(estimator_checks, f"check_{name}")("DependencyParser", DependencyParser())


def test_every_parameter_is_documented_and_has_the_default_of_the_configuration():
    signature = inspect.signature(DependencyParser.__init__).parameters
    defaults = {name: parameter.default for name, parameter in signature.items() if name != "self"}
    assert DependencyParser()._options() == DependencyParser(**defaults)._options()
    assert Config().with_overrides(DependencyParser()._options()) == Config()
    for name in defaults:
        assert f"\n    {name} : " in inspect.getdoc(DependencyParser).replace("\n", "\n    ")


def test_not_fitted(tmp_path):
    parser = DependencyParser()
    methods = parser.predict, parser.parse_all, parser.score, parser.predict_with_certificates
    for method in (*methods, lambda _: parser.save(tmp_path / "model")):
        with pytest.raises(NotFittedError):
            method(sentences(1))


def test_fit_does_not_change_its_parameters():
    parser, given = Quick(**SMALL), sentences(5)
    before, texts = parser.get_params(), [list(sentence.lines) for sentence in given]
    assert parser.fit(given) is parser
    assert (parser.get_params(), [sentence.lines for sentence in given]) == (before, texts)


def test_pickles_and_clones(fitted):
    for copy in (clone(fitted), pickle.loads(pickle.dumps(fitted, 2)), pickle.loads(pickle.dumps(fitted))):
        assert copy.get_params() == fitted.get_params()
    assert equal(fitted.predict(TEST), copy.predict(TEST))
    for bare in (clone(fitted), pickle.loads(pickle.dumps(DependencyParser(epochs=7)))):
        assert not hasattr(bare, "model_")
    assert bare.epochs == 7


def test_cross_val_predict_returns_the_trees_in_order():
    everything = sentences(30)
    predicted = cross_val_predict(Quick("arc", **SMALL), everything, cv=3)
    assert [len(heads) for heads in predicted] == [len(sentence) for sentence in everything]
    first = Quick("arc", **SMALL).fit(everything[10:]).predict(everything[:10])
    assert equal(first, predicted[:10])


def test_las_scorer(fitted):
    evaluation = fitted.evaluate(TEST)
    assert las_scorer(fitted, TEST) == evaluation.las <= evaluation.uas == fitted.score(TEST)
    wrong = [dataclasses.replace(s, rows=[[*row[:7], "x", *row[8:]] for row in s.rows]) for s in TEST]
    assert las_scorer(fitted, wrong) == 0.0 < fitted.score(wrong)
    options = {"cv": 2, "scoring": las_scorer, "error_score": "raise", "refit": False}
    search, everything = GridSearchCV(Quick(**SMALL), {"parts": ["arc"]}, **options), sentences(30)
    halves = (everything[15:], everything[:15]), (everything[:15], everything[15:])
    scores = [las_scorer(Quick("arc", **SMALL).fit(train), test) for train, test in halves]
    assert search.fit(everything).best_score_ == pytest.approx(np.mean(scores))


def test_processes_return_what_one_process_does(fitted, monkeypatch):
    test = sentences(150, seed=1)
    parallel = pickle.loads(pickle.dumps(fitted))
    for bad in (0, -2, "two"):
        with pytest.raises(ValueError, match="n_jobs: "):
            parallel.set_params(n_jobs=bad).predict(test)
    parallel.set_params(n_jobs=2)
    assert [s.lines for s in parallel.parse_all(test)] == [s.lines for s in fitted.parse_all(test)]
    assert parallel.score(test) == fitted.score(test)
    monkeypatch.setattr("nonproj.workers.processes.Processes.__enter__", None)
    assert len(parallel.predict(test[:9])) == 9  # no process is started for a few sentences


def test_verbose_shows_messages_while_training(capsys):
    Quick(**SMALL, verbose=1).fit(sentences(9))
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(": trained after 0:" in line for line in lines), "a line for each component"
    Quick(**SMALL, verbose=2).fit(sentences(9))
    told = capsys.readouterr().err
    assert "epoch" in told and "0/9" in told
    Quick(**SMALL).fit(sentences(9))
    assert capsys.readouterr().err == ""


def test_generators_are_read_once(fitted):
    text = treebank(5, seed=1)
    expected = fitted.predict(conllu.parse(text))
    parsed = fitted.parse_all(conllu.parse_incr(io.StringIO(text)))
    assert equal([[token["head"] for token in tokens] for tokens in parsed], expected)
    assert equal(fitted.predict(iter(sentences(5, seed=1))), expected)
    assert fitted.score(iter(sentences(5, seed=1))) > 0


def test_token_lists_may_lack_columns_and_have_others(fitted):
    short = conllu.parse(treebank(2, seed=1), fields=["id", "form", "lemma", "upos", "xpos"])
    for token in itertools.chain(*short):
        token["entity"] = "O"
    parsed = fitted.parse_all(short)
    assert equal([[token["head"] for token in tokens] for tokens in parsed], fitted.predict(sentences(2, seed=1)))
    assert {token["entity"] for token in itertools.chain(*parsed)} == {"O"}
    assert "head" not in short[0][0]


def test_a_path_a_list_or_a_stream_and_a_random_state_determine_the_model(tmp_path):
    path, text = tmp_path / "train.conll", treebank(20)
    path.write_text(text, encoding="utf-8")
    given = (path, sentences(20), conllu.parse_incr(io.StringIO(text)))
    one, *others = (weights_of(Quick(random_state=3, **SMALL).fit(X).model_) for X in given)
    assert others == [one, one]
    generator = np.random.RandomState(0)
    assert weights_of(Quick(random_state=generator, **SMALL).fit(sentences(20)).model_) != one
    seeds = {DependencyParser(random_state=None)._options()["seed"] for _ in range(9)}
    assert len(seeds) > 1


# -- sentences in, trees out -------------------------------------------------------------------------------------------


def test_predict_returns_trees(fitted):
    certified = fitted.predict_with_certificates(TEST)
    for sentence, heads, decoded in zip(TEST, fitted.predict(TEST), certified, strict=True):
        assert (heads.dtype, heads.shape) == (np.int32, (len(sentence),))
        np.testing.assert_array_equal(decoded.heads, heads)
        nonprojective(decoded.heads)  # raises unless it is a tree
        assert decoded.score <= decoded.bound + 1e-6
    assert fitted.predict([]) == []


def test_score_is_the_unlabelled_attachment_score_without_punctuation(fitted):
    predicted = fitted.predict(TEST)
    forms, gold = (np.concatenate([getattr(s, name) for s in TEST]) for name in ("forms", "heads"))
    right = (np.concatenate(predicted) == gold)[forms != "."]
    assert fitted.score(TEST) == pytest.approx(right.mean())
    assert fitted.score(TEST, predicted) == 1.0


def test_parse_preserves_the_type_of_the_sentences(fitted, tmp_path):
    text = treebank(4, seed=1)
    ours, theirs = sentences(4, seed=1), conllu.parse(text)
    path = tmp_path / "test.conll"
    path.write_text(text, encoding="utf-8")
    parsed, objects, of_path = map(fitted.parse_all, (ours, theirs, str(path)))
    for heads, sentence, tokens, read in zip(fitted.predict(ours), parsed, objects, of_path, strict=True):
        assert isinstance(tokens, conllu.TokenList)
        assert [token["head"] for token in tokens] == sentence.heads.tolist() == heads.tolist()
        assert [token["deprel"] for token in tokens] == sentence.labels == read.labels
        assert "".join(sentence.lines) == "".join(read.lines)
    places = [(sentence.path, sentence.line) for sentence in conll.read(path)]
    assert [(sentence.path, sentence.line) for sentence in of_path] == places
    mixed = fitted.parse_all([ours[0], theirs[1]])
    assert [type(item) for item in mixed] == [type(ours[0]), type(theirs[1])]


def test_heads_are_ignored_unless_they_are_learned(fitted, tmp_path):
    text = treebank(4, seed=1)
    path, odd = tmp_path / "test.conll", text.replace("\t0\troot\t", "\t99\t\t")
    path.write_text(odd, encoding="utf-8")
    for X in (path, conllu.parse(odd)):
        assert equal(fitted.predict(X), fitted.predict(conllu.parse(text)))
        assert len(fitted.parse_all(X)) == 4
        with pytest.raises(DataError, match="HEAD is '99'"):
            fitted.score(X)


def test_gold_trees_from_y():
    def chains(given):  # in which each word depends on the one before it
        return [np.arange(len(sentence)) for sentence in given]

    train = sentences(40)
    assert Quick(**SMALL).fit(train, chains(train)).score(TEST, chains(TEST)) > 0.9
    assert not equal([sentence.heads for sentence in train], chains(train))  # they keep their own


# -- mistakes ----------------------------------------------------------------------------------------------------------


WRONG_PARAMETERS = [
    ({"epochs": 0}, "epochs: 0"),
    ({"epochs": "3"}, "epochs: '3' is invalid, an integer of at least 1 expected"),
    ({"parts": "third-order"}, "parts: no set of part types is named third-order"),
    ({"threshold": "high"}, "threshold: high"),
    ({"single_root": "maybe"}, "single_root: maybe"),
    ({"random_state": -1}, "random_state: -1"),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG_PARAMETERS)
def test_fit_names_invalid_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        DependencyParser(**parameters).fit(sentences(2))


WRONG_SENTENCES = [
    ([], None, "X: there is no sentence"),
    (conllu.parse(treebank(1))[0], None, "X is of type TokenList; a list of sentences"),
    (3, None, "X is of type int; a list of sentences or the path of a treebank is expected"),
    ([["hund"]], None, r"X\[0\] is of type list; a Sentence or a conllu.TokenList is expected"),
    (sentences(2), [[0]], "y has 1 entries, 2 expected"),
    (sentences(1), [[0]], r"y\[0\] has 1 heads"),
    (sentences(1), [[1] * len(sentences(1)[0])], r"y\[0\].*cycle"),
    (sentences(1), [[99] * len(sentences(1)[0])], r"y\[0\].* 99"),
]


@pytest.mark.parametrize(("X", "y", "message"), WRONG_SENTENCES)
def test_fit_names_invalid_sentences(X, y, message):
    with pytest.raises(ValueError, match=message):
        Quick(**SMALL).fit(X, y)


def test_fit_rejects_sentences_without_gold_trees():
    with pytest.raises(DataError, match="training needs gold heads"):
        Quick(**SMALL).fit(conllu.parse("1\thund\t_\tN\tN\t_\t_\t_\t_\t_\n\n"))


def test_parameters_of_decoding_count_after_training_and_loading(fitted, tmp_path):
    path, given = tmp_path / "toy.nonproj", sentences(30, seed=4)
    fitted.save(path)
    before = fitted.predict(given)
    assert any(nonprojective(heads).any() for heads in before), "the toy language has crossing arcs"
    for parser in (DependencyParser.load(path), pickle.loads(pickle.dumps(fitted))):
        assert parser.get_params() == fitted.get_params() and equal(parser.predict(given), before)
        parser.set_params(projective=True)
        for again in (parser, pickle.loads(pickle.dumps(parser))):
            assert not any(nonprojective(heads).any() for heads in again.predict(given))
        parser.set_params(projective=False)
        assert equal(parser.predict(given), before)
        assert parser._parser is parser._parser
        with pytest.raises(ValueError, match="max_iterations: -3 is invalid"):
            parser.set_params(max_iterations=-3).predict(given)
    path.write_bytes(b"no model")
    with pytest.raises(ModelError):
        DependencyParser.load(path)


def test_there_must_be_something_to_score(fitted):
    for score in (fitted.score, lambda X: las_scorer(fitted, X)):
        with pytest.raises(ValueError, match="no words, or only punctuation"):
            score([])
    assert fitted.evaluate([]).uas is fitted.evaluate([]).las is None
