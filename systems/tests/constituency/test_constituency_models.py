"""Trained models of phrase structure: parsing, files of models, the command, the page, and a part of the real data."""

import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from pages import run_page

from nonproj.errors import DataError, ModelError, SizeError
from nonproj_systems.cli import main
from nonproj_systems.constituency import chart
from nonproj_systems.constituency.brackets import numbered_trees, parse_tree, read_trees
from nonproj_systems.constituency.evalb import compare, total
from nonproj_systems.constituency.grammar import smoothed_by_parent
from nonproj_systems.constituency.integer_program import joint_program
from nonproj_systems.constituency.joint import decode
from nonproj_systems.constituency.lexicon import Lexicon, LexiconOptions, suffixes
from nonproj_systems.constituency.model import Model, TrainingOptions, train
from nonproj_systems.constituency.parser import FIXED, GRAMMAR, METHODS, Parser, ParsingOptions
from nonproj_systems.constituency.split import read_plain
from nonproj_systems.constituency.symbols import Annotation, rules_of
from nonproj_systems.models import read, write

ROOT = Path(__file__).resolve().parents[3]

TEXTS = [
    "(S (NP (NNP United)) (VP (VBZ flies) (NP (DT some) (JJ large) (NN jet))) (. .))",
    "(S (NP (NNS flies)) (VP (VBP see) (NP (DT a) (NN jet)) (PP (IN with) (NP (NNS eyes)))) (. .))",
    "(S (NP (NP (DT the) (NNS jets)) (PP (IN of) (NP (NNP United)))) (VP (VBP fly)) (. .))",
    "(S (NP (DT the) (NN jet)) (VP (VBZ flies) (PP (IN with) (NP (DT a) (JJ large) (NNS eyes)))) (. .))",
]


@pytest.fixture(scope="module")
def model():
    """A model of a few sentences."""
    return train([parse_tree(text) for text in TEXTS])


def log_probability(model, tree):
    """Return the log-probability of a tree, rule by rule and word by word, from the definition."""
    annotation, options = model.options.annotation, model.options
    probabilities = smoothed_by_parent(model.rules, options.parent_weight, options.floor)
    found = sum(math.log(probabilities[rule]) for rule in rules_of(tree, annotation))

    def words(node, parent):
        if node.word is None:
            return sum(words(child, node.label) for child in node.children)
        symbol = annotation.tag(node.label, parent)
        place = model.symbols.tolist().index(model.grammar.symbols.index(symbol))
        return model.lexicon.scores(node.word)[place]

    return found + words(tree, "")


SENTENCES = [
    "United flies some jets .",
    "the eyes of United fly .",
    "a jet flies a jet with eyes .",
    "a jet flies with some eyes .",
]


@pytest.mark.parametrize("text", SENTENCES)
def test_values_are_the_probabilities_of_the_trees(model, text):
    words, everything = text.split(), ParsingOptions(0.0, 0.0, 0.0)
    for options in (ParsingOptions(), everything):
        parser = Parser(model, options)
        alone, fixed, joint = (parser.parse(words, method) for method in METHODS)
        for parsed in (alone, fixed, joint):
            assert parsed.found
            assert parsed.tree.words() == words
        assert alone.value == pytest.approx(log_probability(model, alone.tree))
        assert fixed.value == pytest.approx(log_probability(model, fixed.tree))
        assert fixed.tree.tags() == model.tagger.tag(words)
        tagger = joint.value - log_probability(model, joint.tree)
        lexicon = model.tagger.lexicon
        numbers = [lexicon.tags.index(tag) for tag in joint.tree.tags()]
        boundary = len(lexicon.tags)
        padded = [boundary, boundary, *numbers, boundary]
        emissions = sum(lexicon.scores(word)[tag] for word, tag in zip(words, numbers, strict=True))
        transitions = sum(model.transition[tuple(padded[i : i + 3])] for i in range(len(words) + 1))
        assert tagger == pytest.approx(emissions + transitions)
        assert joint.decoded.certified
        assert alone.value >= max(fixed.value, joint.value - tagger) - 1e-9
    narrow, wide = Parser(model).parse(words), Parser(model, everything).parse(words)
    assert narrow.value <= wide.value + 1e-9


def test_large_forests_are_pruned_harder(model, monkeypatch):
    words, everything = SENTENCES[2].split(), ParsingOptions(0.0, 0.0)
    free = Parser(model, everything).forest(words).forest.n_edges
    monkeypatch.setattr(chart, "MAX_EDGES", free - 1)
    small = Parser(model, everything).parse(words)
    assert small.found
    assert Parser(model, everything).forest(words).forest.n_edges < free
    monkeypatch.setattr(chart, "MAX_EDGES", 1)
    message = f"a sentence of {len(words)} words has a forest of more than 1 edges; split it"
    with pytest.raises(SizeError, match=message):
        Parser(model).parse(words)


def test_long_sentences_are_refused_before_any_work(tmp_path, capsys, model, monkeypatch):
    monkeypatch.setattr(Parser, "_coarse_pass", None)
    with pytest.raises(SizeError, match="a sentence of 101 words; at most 100 can be parsed: split it"):
        Parser(model).parse(["a"] * 101)
    model.save(tmp_path / "m")
    (tmp_path / "in").write_text("\n" + "a " * 150 + "\n")
    message = f"nonproj-systems: {tmp_path / 'in'}:2: a sentence of 150 words; at most 100 can be parsed: split it\n"
    assert run(capsys, "parse", tmp_path / "m", tmp_path / "in") == (2, "\n", message)  # an empty line for the first


def test_a_sentence_outside_the_grammar(model):
    parsed = Parser(model, ParsingOptions(tag_threshold=1.0)).parse(["a"] * 3 + ["."] * 3)
    assert not parsed.found
    assert parsed.decoded is None
    assert parsed.tree.words() == ["a", "a", "a", ".", ".", "."]
    assert [child.label for child in parsed.tree.children] == ["X"]


def test_wrong_calls(model):
    with pytest.raises(ValueError, match="the sentence has no words; one or more are expected"):
        Parser(model).parse([])
    with pytest.raises(ValueError, match="unknown method 'both'; grammar, fixed, joint are known"):
        Parser(model).parse(["a"], "both")


def test_suffixes_decide_on_unknown_words():
    rng = random.Random(0)
    tokens = [("".join(rng.choices("bcdfgh", k=4)) + ending, tag)
              for _ in range(100) for ending, tag in (("ing", 0), ("ed", 1), ("s", 2))]  # fmt: skip
    lexicon = Lexicon.count(["VBG", "VBD", "NNS"], tokens, LexiconOptions())
    assert [lexicon.scores(word).argmax() for word in ("xyzing", "xyzed", "xyzs")] == [0, 1, 2]
    for word in ("xyzing", "unheard", tokens[0][0], "", "1990", "X-1"):
        assert lexicon.probabilities(word).sum() == pytest.approx(1.0)
        assert (lexicon.probabilities(word) > 0).all()
    assert suffixes("1,990.5") == [("", ""), ("0", "")]
    assert [suffix for _, suffix in suffixes("Sings")] == ["", "", "s", "gs", "ngs", "ings"]


def test_a_smoothed_probability_by_hand():
    options = LexiconOptions(rare=1, suffix_weight=2.0, word_weight=0.5)
    lexicon = Lexicon.count(["A", "B"], [("xa", 0), ("xa", 0), ("xa", 1), ("ya", 1)], options)
    share = np.array([2.001, 2.001]) / 4.002
    guess = share
    for _ in range(3):  # every context of "ya" has seen it once, with tag B
        guess = (guess * 2 + np.array([0, 1])) / 3
    assert lexicon.probabilities("za") == pytest.approx(guess)
    assert lexicon.probabilities("xa") == pytest.approx((guess * 0.5 + np.array([2, 1])) / 3.5)
    assert lexicon.scores("xa") == pytest.approx(np.log((guess * 0.5 + np.array([2, 1])) / 3.5) - np.log(share))


# -- files of models ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("annotation", [Annotation(), Annotation(2, 1, False, True)])
def test_a_model_that_is_read_again_parses_alike(tmp_path, annotation):
    first = train([parse_tree(text) for text in TEXTS], TrainingOptions(annotation, parent_weight=1.0))
    first.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert again.options == first.options
    assert again.grammar.symbols == first.grammar.symbols
    for text in SENTENCES:
        one, other = (Parser(each).parse(text.split()) for each in (first, again))
        assert (one.tree, one.value) == (other.tree, other.value)


def test_files_that_are_no_models(tmp_path, model):
    model.save(tmp_path / "m")
    with pytest.raises(ModelError, match="no such file"):
        Model.load(tmp_path / "none")
    whole = (tmp_path / "m").read_bytes()
    for name, data in (("text", b"(S (NN a))"), ("cut", whole[: len(whole) // 2]), ("empty", b"")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ModelError, match=rf"{name}: (not a model of nonproj|incomplete: \d+ bytes of \d+)$"):
            Model.load(tmp_path / name)
    write(tmp_path / "other", "constituency", 2, {"symbols": [["tag", "NN", "", []]], "words": [], "options": []}, {})
    with pytest.raises(ModelError, match="a damaged model for constituency: it lacks 'rules'; train it again"):
        Model.load(tmp_path / "other")


def values(**changes):
    """A change of the values of a file."""
    return lambda found, arrays: (found | changes, arrays)


def symbol(place, value):
    def change(found, arrays):
        symbols = [list(row) for row in found["symbols"]]
        for row in symbols[-1:] if place else symbols:
            row[place] = value
        return found | {"symbols": symbols}, arrays

    return change


def array(name, change):
    return lambda found, arrays: (found, arrays | {name: change(arrays[name].copy())})


def put(number, *place):
    def change(found):
        found[place] = number
        return found

    return change


@pytest.mark.parametrize(
    "change",
    [
        values(words=["a\ud7ff ", *"bcdefghijklmnopqrstuvwxyz"]),
        values(words=["x" * 3_000_000]),
        values(words=["a\tb"]),
        values(words=["a", "a"]),
        values(words={}),
        values(symbols={}),
        values(symbols=[[]]),
        values(options=None),
        values(options=[[1, 2, True, False], 5.0, 1e-5, [5, 10.0, -0.3], [5, 10.0, 0.3]]),
        values(options=[[1, 2, True, False], float("nan"), 1e-5, [5, 10.0, 0.3], [5, 10.0, 0.3]]),
        values(options=[[1, 2, True, False], 5.0, 1e-5, [5, 10.0, 0.3], [5, 1e300, 0.3]]),
        symbol(0, "other"),
        symbol(1, "a b"),
        symbol(1, "("),
        symbol(1, ""),
        symbol(1, 1),
        symbol(2, ")"),
        symbol(3, ["x"] * 99),
        symbol(3, [1]),
        symbol(3, "abc"),
        array("rules", lambda rules: rules[:, :2]),
        array("rules", lambda rules: rules.astype(np.int64)),
        array("rules", lambda rules: np.concatenate([rules[:-1], rules[:1]])),
        array("rules", put(-1, 0, 0)),
        array("rules", put(-2, 0, 2)),
        array("rules", put(-1, 0, 1)),
        array("rules", put(9999, 0, 1)),
        array("rules", lambda rules: rules[:, ::-1].copy()),
        array("rules", lambda rules: rules[:0]),
        array("rule_counts", put(np.nan, 0)),
        array("rule_counts", put(-1.0, 0)),
        array("rule_counts", put(1e300, 0)),
        array("rule_counts", put(5e-324, 0)),
        array("rule_counts", lambda counts: counts[:-1]),
        array("tokens", put(-1, 0, 0)),
        array("tokens", put(-1, 0, 1)),
        array("token_counts", put(np.inf, 0)),
        array("token_counts", put(0.0, 0)),
        array("transition", put(np.nan, 0, 0, 0)),
        array("transition", put(-np.inf, 0, 0, 0)),
        array("transition", lambda found: found[1:, 1:, 1:].copy()),
        array("transition", lambda found: found.astype(np.float32)),
    ],
)
def test_forged_models_are_refused(tmp_path, model, change):
    """A correctly signed file that cannot be used: a line, and no traceback, now or in parsing."""
    model.save(tmp_path / "m")
    write(tmp_path / "x", "constituency", 2, *change(*read(tmp_path / "m", "constituency", 2)))
    with pytest.raises(ModelError) as caught:
        Model.load(tmp_path / "x")
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'x'}: a damaged model for constituency: ")
    assert message.endswith("; train it again") and message.isprintable() and len(message) < 500


def test_control_characters_in_trees_are_refused_with_their_line():
    for token in ("a\x01", "a\x9b", "x" * 2000):
        for text in (f"(S (NN {token}))", f"(S ({token} a))"):
            with pytest.raises(DataError, match=r"<trees>:2: .* is no word or label"):
                list(numbered_trees(["(S (NN a))", text]))


# -- the command -------------------------------------------------------------------------------------------------------


def run(capsys, *words):
    """Return exit code, output and errors of the command."""
    code = main(["constituency", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_from_trees_to_scores(tmp_path, capsys):
    (tmp_path / "trees").mkdir()
    for number, text in enumerate(TEXTS, 1):
        (tmp_path / "trees" / f"wsj_{number:04}.mrg").write_text(f"( {text} )\n")
    code, out, err = run(capsys, "train", tmp_path / "trees", "-o", tmp_path / "m")
    assert (code, out) == (0, "")
    assert err.startswith(f"nonproj-systems: {tmp_path / 'm'}: 4 trees, 27 words; ")
    gold = [parse_tree(text) for text in TEXTS]
    lines = [" ".join(tree.words()) for tree in gold]
    (tmp_path / "in.txt").write_text("\n\n".join(lines) + "\n")
    code, out, err = run(capsys, "parse", tmp_path / "m", tmp_path / "in.txt", "-o", tmp_path / "out.mrg")
    assert (code, out) == (0, "")
    assert err.startswith("nonproj-systems: 4 sentences: 4 agreed; ")
    texts = (tmp_path / "out.mrg").read_text().splitlines()
    assert texts[1::2] == ["", "", ""]
    assert [tree.words() for tree in read_trees(tmp_path / "out.mrg")] == [line.split() for line in lines]
    (tmp_path / "gold.mrg").write_text("\n".join(TEXTS))
    code, out, err = run(capsys, "evaluate", tmp_path / "gold.mrg", tmp_path / "out.mrg")
    counts = total(compare(a, b) for a, b in zip(gold, read_trees(tmp_path / "out.mrg"), strict=True))
    assert (code, err) == (0, "")
    assert f"labelled F1           {100 * counts.f1:8.2f}" in out
    assert f"tag accuracy          {100 * counts.tag_accuracy:8.2f}" in out


@pytest.mark.parametrize("method", METHODS)
def test_standard_input_and_output(tmp_path, capsys, monkeypatch, model, method):
    model.save(tmp_path / "m")
    (tmp_path / "in").write_text("the jet ( a jet ) flies\n")
    with open(tmp_path / "in") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        code, out, err = run(capsys, "parse", tmp_path / "m", "--method", method, "-q")
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert parse_tree(out).words() == ["the", "jet", "-LRB-", "a", "jet", "-RRB-", "flies"]


def test_errors_are_one_line(tmp_path, capsys, model):
    model.save(tmp_path / "m")
    (tmp_path / "bad.mrg").write_text("(S (NN a))\n(S (NN))\n")
    (tmp_path / "latin").write_bytes(b"ja\nn\xe9\n")
    bad, latin, kept = tmp_path / "bad.mrg", tmp_path / "latin", tmp_path / "kept"
    kept.write_text("old")
    place = f"nonproj-systems: {bad}:2: the bracket (NN) holds neither a word nor other brackets\n"
    assert run(capsys, "train", bad, "-o", kept) == (2, "", place)
    assert run(capsys, "evaluate", bad, bad) == (2, "", place)
    message = f"nonproj-systems: {latin}:2: byte 0xe9 is not UTF-8; recode the file to UTF-8 first\n"
    assert run(capsys, "parse", tmp_path / "m", latin, "-o", kept) == (2, "", message)
    assert kept.read_text() == "old"
    (tmp_path / "traces.mrg").write_text("(S (-NONE- *))\n")
    message = (
        f"nonproj-systems: {tmp_path / 'traces.mrg'}: all trees consist of traces; trees with words are expected\n"
    )
    assert run(capsys, "train", tmp_path / "traces.mrg", "-o", kept) == (2, "", message)
    message = f"nonproj-systems: {bad}: not a model of nonproj\n"
    assert run(capsys, "parse", bad, latin) == (2, "", message)
    message = "nonproj-systems: constituency: an action is expected: train, parse or evaluate\n"
    assert run(capsys) == (2, "", message)


def test_the_page(tmp_path, monkeypatch):
    run_page("systems/docs/constituency.md", tmp_path, monkeypatch)


# -- real data ---------------------------------------------------------------------------------------------------------


def test_a_part_of_the_wsj_sample(treebanks):
    folder = treebanks / "wsj-brackets"
    if not folder.is_dir():
        pytest.skip("the WSJ sample is not there")
    pytest.importorskip("highspy")
    trees = read_plain(sorted(folder.glob("wsj_00[0-4]*.mrg")))
    parser, counts, certified = Parser(train(trees)), {method: [] for method in METHODS}, 0
    tests = [tree for tree in read_plain(sorted(folder.glob("wsj_005*.mrg"))) if len(tree.leaves()) <= 12]
    for tree in tests[:9]:
        words = tree.words()
        for method in METHODS:
            counts[method].append(compare(tree, parser.parse(words, method).tree))
        found = parser.forest(words)
        if found is not None and np.diff(found.trellis.first).max() <= 20:
            decoded = decode(*found)
            certified += decoded.certified
            assert min(decoded.root.trace.dual) >= decoded.value - 1e-9
            assert joint_program(*found).value == pytest.approx(decoded.value)
    assert certified >= 5
    accuracy = {method: total(each) for method, each in counts.items()}
    assert min(each.f1 for each in accuracy.values()) > 0.5
    assert accuracy[FIXED].tag_accuracy > 0.75
    assert accuracy[GRAMMAR].tag_accuracy > 0.75
