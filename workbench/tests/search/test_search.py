"""Search: matches against enumeration, regular expressions against `re`, errors and limits."""

import random
import re
import time
from pathlib import Path

import pytest
from instances import seeds
from naive_search import NaiveTree, NaiveWords, all_matches
from pages import run_page
from queries import ATOMS, random_query, random_regex, random_rows

from nonproj.types import Sentence
from nonproj_workbench.search.attributes import shown
from nonproj_workbench.search.query import Query
from nonproj_workbench.search.regex import Regex, RegexError
from nonproj_workbench.search.scanner import QueryError
from nonproj_workbench.search.syntax import parse, parse_fields
from nonproj_workbench.search.words import SearchedSentence, Tree


def tree_of(rows) -> tuple[list[int], list[str]]:
    """Return the heads and labels in the columns of a sentence."""
    return [int(row[6]) if row[6] != "_" else -1 for row in rows], [row[7] for row in rows]


def both(rows, others, confidence=None) -> tuple[SearchedSentence, NaiveWords]:
    """Return a sentence with two trees for the search and for its twin."""
    fast = SearchedSentence(Sentence(rows), Tree(*tree_of(rows)), Tree(*tree_of(others)), confidence)
    return fast, NaiveWords(rows, NaiveTree(*tree_of(rows)), NaiveTree(*tree_of(others)), confidence)


@pytest.mark.parametrize("seed", range(8))
def test_matches_are_those_of_the_definition(seed):
    chance, found, names = random.Random(seed), 0, 0
    for _ in range(400):
        n, text = chance.randint(1, 6), random_query(chance)
        rows, others = random_rows(chance, n), random_rows(chance, n)
        confidence = [chance.randrange(101) / 100 for _ in rows] if chance.random() < 0.7 else None
        fast, naive = both(rows, others, confidence)
        query = Query(text)
        expected = all_matches(naive, parse(text), query.names)
        assert query.find(fast).matches == expected, (text, rows, others)
        found += len(expected)
        names += bool(expected and query.names)
    assert found > 80 and names > 8


def words_of(text: str) -> SearchedSentence:
    """Return a sentence with the tree, written as ``form:head:label`` for each word."""
    parts = [each.split(":") for each in text.split()]
    heads, labels = [int(part[1]) for part in parts], [part[2] for part in parts]
    rows = [[str(i), part[0], *"______", "_", "_"] for i, part in enumerate(parts, 1)]
    return SearchedSentence(Sentence(rows), Tree(heads, labels))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the dog", [(1,)]),
        ("THE", [(1,), (4,)]),
        ('"THE"', []),
        ("saw >obj cat", [(3,)]),
        ("saw >nsubj {}", [(3,)]),
        ("{}=a >det {}", [(2, 2), (5, 5)]),
        ("dog=d .. cat=c", [(2, 2, 5)]),
        ("saw >> the=t", [(3, 1), (3, 4)]),
        ("saw >>1 the", []),
        ("the ..2-3 the", [(1,)]),
        ("the ..2 the", []),
        ("{children=0}", [(1,), (4,)]),
        ("{} !> {}", [(1,), (4,)]),
        ("dog $ cat", [(2,)]),
        ("dog $++ cat", [(2,)]),
        ("dog $-- cat", []),
        ("saw >--nsubj {}", [(3,)]),
        ("saw >++nsubj {}", []),
        ("{root}", [(3,)]),
        ("{deprel:/.*bj/}", [(2,), (5,)]),
        ("saw [> dog | > nobody]", [(3,)]),
        ("saw > {}=a > ({}=b !== {}=a)", [(3, 2, 5), (3, 5, 2)]),
        ("{head.form:saw}", [(2,), (5,)]),
        ("{} > {form:the; deprel:det}", [(2,), (5,)]),
    ],
)
def test_documented_constructions(text, expected):
    words = words_of("the:2:det dog:3:nsubj saw:0:root the:5:det cat:3:obj")
    assert Query(text).find(words).matches == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{Number[psor]:Sing}", [(1,)]),
        ("{Number[psor]!:Sing}", [(2,)]),
        ("{!Number[psor]}", [(2,)]),
        ("{head.Number[psor]}", [(2,)]),
        ("{misc.Ref[a1]:7}", [(2,)]),
        ("áll > {Number=Plur; Number[psor]=Sing}=x", []),
        ("háza [> {Number[psor]} | > {Number[psed]}]", []),
    ],
)
def test_layers_of_features(text, expected):
    rows = [
        ["1", "háza", "ház", "NOUN", "_", "Number=Sing|Number[psor]=Sing", "0", "root", "_", "_"],
        ["2", "áll", "áll", "VERB", "_", "Number=Sing", "1", "dep", "_", "Ref[a1]=7|Ref=8"],
    ]
    words = SearchedSentence(Sentence(rows), Tree(*tree_of(rows)))
    assert Query(text).find(words).matches == expected
    [layered] = parse_fields("Number[psor]", [])
    assert [shown(layered.attribute, words, word) for word in (1, 2)] == ["Sing", "_"]


def test_crossing_arcs():
    words = words_of("a:3:x b:4:x c:0:root d:3:x")  # 1-3 and 2-4 cross
    assert Query("{crossing}").find(words).matches == [(1,), (2,), (3,)]  # the arc 2-4 passes above the root
    assert Query("a >< {}=x").find(words).matches == [(1, 2)]


def test_queries_of_the_documentation_are_queries():
    page = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")
    shell = re.findall(r"^nonproj search '(.*?)'", page, re.MULTILINE)
    named = re.findall(r"^(\S.*?) {3,}\w", page.split("```text")[1].split("```")[0], re.MULTILINE)
    tables = [
        cell for line in page.splitlines() if line.startswith("| `") for cell in line.split(" | ")[0].split("`")[1::2]
    ]
    assert len(shell) == 4 and len(named) == 3 and len(tables) > 30
    for text in [*shell, *named, *(cell.replace("\\|", "|") for cell in tables)]:
        Query(text)


def test_the_program_of_the_documentation_runs(tmp_path, monkeypatch):
    run_page("workbench/docs/search.md", tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("", 1, "a word is expected"),
        ("VERB >obj", 10, "a word is expected"),
        ("VERB > obj NOUN", 7, "no blank before a label"),
        ("VERB {upos:NOUN", 6, "'}' is missing"),
        ("VERB >obj (NOUN > ADJ", 11, "')' is missing"),
        ("VERB [>obj NOUN)", 16, "']' is expected before ')'"),
        ("VERB )", 6, "closes nothing"),
        ("{word:dog}", 2, "no attribute 'word'"),
        ("{NOUN}", 2, "upos:NOUN"),
        ("VERB >obj upos:NOUN", 11, "in braces: {upos:NOUN}"),
        ("lemma=go", 1, "in braces: {lemma:go}"),
        ("label:obj tag:NOUN", 1, "in braces: {deprel:obj}"),
        ("Case=Gen", 1, "in braces: {Case:Gen}"),
        ("{upos:}", 7, "a value is expected"),
        ("{upos:NOUN, Case=Gen}", 11, "; (and)"),
        ("{children:many}", 11, "compared with a number"),
        ("{form<3}", 6, "no number"),
        ("{root:1}", 6, "has no value"),
        ("{form[psor]:a}", 2, "no attribute 'form[psor]'"),
        ("{Number[]:a}", 8, "'}' is expected before '['"),
        ("{~form:a}", 2, "~ is the other tree"),
        ("NOUN ~.. VERB", 6, "order of words"),
        ("NOUN !> {}=x", 11, "only under ! or |"),
        ("NOUN=head", 5, "head is an attribute"),
        ("/a(b/", 3, "a parenthesis is not closed"),
        ("{form:/a**/}", 10, "a second quantifier"),
        ("/abc", 1, "not closed"),
        ('"abc', 1, "not closed"),
        ("VERB >>obj NOUN", 8, "no label"),
        ("VERB ..0 NOUN", 8, "a range of distances"),
        ("the dog > cat", 9, "a phrase"),
        ("(" * 50, 1, "a word is expected"),
        ("{" + "(" * 50, 31, "nested more than 30 deep"),
        ("a " * 150, 201, "at most 100 words"),
        ("a" * 5000, 4001, "at most 4000 characters"),
        ("{} " + "> ({} " * 60, 186, "nested more than 30 deep"),
    ],
)
def test_errors_point_at_their_column(text, column, part):
    with pytest.raises(QueryError) as caught:
        Query(text)
    assert (caught.value.column, part in caught.value.message) == (column, True), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "deprel,", "deprel lemma", "x.lemma", "head.", "o.", "deprel, o.nothing"])
def test_errors_in_fields(text):
    with pytest.raises(QueryError):
        parse_fields(text, ["o"])


# -- regular expressions -----------------------------------------------------------------------------------------------


def test_regular_expressions_match_like_those_of_python():
    chance, found, refused, chosen = random.Random(0), 0, 0, seeds(2000)
    for _ in chosen:
        text, ignore_case = random_regex(chance, ATOMS), chance.random() < 0.3
        theirs = re.compile(text, re.IGNORECASE if ignore_case else 0)
        try:
            ours = Regex(text, ignore_case)
        except RegexError as error:
            assert "can take too long" in error.message or "follow each other" in error.message, text
            refused += 1
            continue
        for _ in range(10):
            sample = "".join(chance.choice("abcAé1.-") for _ in range(chance.randint(0, 6)))
            expected = theirs.fullmatch(sample) is not None
            assert ours.matches(sample) == expected, (text, sample)
            found += expected
    assert found > 0.5 * len(chosen) and 0.025 * len(chosen) < refused < 0.25 * len(chosen)


@pytest.mark.parametrize(
    "text", ["(a+)+", "(a|a)*", "(a|aa)+", "(.*a){20}", "((a?){100}){5}a{100}", "a?" * 40, "(a|a)" * 40, ".*" * 5]
)
def test_expressions_that_could_take_exponential_time_are_refused(text):
    with pytest.raises(RegexError):
        Regex(text)


@pytest.mark.parametrize("text", ["[ab]*[ab]*c", ".*.*.*c", ".*.*.*.*c", "(ab|a|b){0,9}.*c", "(a*|[ab]*)c", "()*c"])
def test_no_expression_takes_long(text):
    """Texts of any length; those that are too long for the expression are not even tried."""
    regex = Regex(text)
    start = time.process_time()
    for length in (50, 200, 500, 2000, 10_000, 100_000):
        assert not regex.matches("ab" * (length // 2))
    assert time.process_time() - start < 30
    assert regex.matches("c")


@pytest.mark.parametrize(
    "text",
    [
        *("(", "a)", "[a", "[]", "*", "a{2", "a{3,1}", "a{,2}", r"\p{Foo}", "a$b", "[z-a]", "\\"),
        *("((((){100}){100}){100}){100}", "(" * 51 + ")" * 51, "a{2000}b", r"\u0061", r"\x61", r"[\b]"),
        *("(?=a)", "(?<!a)b", "(?i)a", "(?P<n>a)", "(?<n>a)", "(?>a)", "(?#a)", r"(a)\1", r"\A", r"\Z", r"\ba"),
        *("a++", "a*?", "[[:alpha:]]"),
    ],
)  # fmt: skip
def test_unsupported_expressions(text):
    with pytest.raises(RegexError):
        Regex(text)


def test_categories_of_unicode():
    assert Regex(r"\p{Lu}\p{Ll}+").matches("Ørsted") and not Regex(r"\p{Lu}+").matches("ørsted")
    assert Regex(r"\P{L}+").matches("123.") and Regex(r"[\p{P}\d]+").matches("«7»")
    assert Regex(r"\w+").matches("தமிழ்") and not Regex(r"\w+").matches("a-b")
    assert Regex(r"[\W\d]+").matches("1-2") and Regex(r"\S+\s\S+").matches("a\u00a0b")


def test_case_is_ignored_by_the_small_letters_of_capitals():
    assert Regex("straße", True).matches("STRAßE") and Regex("É", True).matches("é")
    assert Regex("ΟΔΟΣ", True).matches("οδος") and Regex("οδος", True).matches("ΟΔΟΣ")
    assert Regex("[А-Я]+", True).matches("мир") and Regex("İl.", True).matches("İLK")


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_sentence_of_two_thousand_words():
    chance = random.Random(0)
    heads = [0, *(chance.randint(max(1, i - 20), i) for i in range(1, 2000))]
    words = words_of(" ".join(f"w{i}:{head}:x" for i, head in enumerate(heads)))
    start = time.process_time()
    assert Query("{} >> ({} .. ({} > {crossing}))").find(words).complete
    assert Query("{}=a .. {}=b >> {}").find(words).complete is False
    assert time.process_time() - start < 60


def test_words_without_heads_and_empty_sentences():
    words = words_of("a:-1:_ b:1:x")
    assert Query("{headless}").find(words).matches == [(1,)]
    assert Query("{} > {}").find(words).matches == [(1,)]
    assert Query("{deprel}").find(words).matches == [(2,)]
    assert Query("{differs}").find(words).matches == []
    assert Query("{}").find(SearchedSentence(Sentence([]), Tree([], []))).matches == []
