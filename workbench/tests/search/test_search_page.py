"""Search in the page of ``nonproj show``, in a real browser, against the command and the library."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from browsing import exported, open_report, shown
from instances import seeds
from queries import ATOMS, OTHER_ATOMS, random_query, random_regex, random_rows
from shown import write_report

from nonproj.cli.main import main
from nonproj.types import Sentence
from nonproj_workbench.search.query import Query
from nonproj_workbench.search.regex import Regex, RegexError
from nonproj_workbench.search.scanner import QueryError
from nonproj_workbench.search.words import SearchedSentence, Tree

pytest.importorskip("selenium")

from selenium.webdriver.common.by import By  # noqa: E402

COUNT = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with three files of 300 sentences and their report."""
    return write_report(tmp_path_factory.mktemp("report"), COUNT)


@pytest.fixture
def page(browser, folder):
    """The report; in the end there must not be any message in the console."""
    open_report(browser, folder)
    yield browser
    assert browser.get_log("browser") == []


SEARCH_ALL = """
const unnamed = (labels) => labels.map((label) => (label === "_" ? "" : label));
const places = {form: 1, lemma: 2, upos: 3, xpos: 4, feats: 5, deps: 8, misc: 9};
return arguments[0].map(([text, rows, one, two, shares]) => {
  const [tree, other] = [one, two].map(([heads, labels]) => new SearchTree(heads, unnamed(labels)));
  const confidence = shares.map((share) => share / 100), column = (key, word) => rows[word - 1][places[key]];
  const words = {n: rows.length, tree, other, confidence, column, sentId: ""};
  try {
    const query = new Query(text);
    return {matches: query.find(words).matches, names: query.names, other: query.usesOther};
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return {column: error.column, message: error.message};
  }
});
"""


def test_the_page_and_the_library_search_alike(page):
    """Matches, and the messages and columns of errors, are the same for random queries; a third are damaged."""
    chance, cases, expected, chosen = random.Random(1), [], [], seeds(1500)
    for number in chosen:
        text, n = random_query(chance), chance.randint(1, 8)
        if number % 3 == 0:
            place = chance.randrange(len(text))
            text = text[:place] + chance.choice('{}()[]<>!~|&;:="/.-$ a1,_x\\') + text[place + chance.randint(0, 2) :]
        pair = [random_rows(chance, n) for _ in range(2)]
        trees = [([int(row[6]) if row[6] != "_" else -1 for row in rows], [row[7] for row in rows]) for rows in pair]
        shares = [chance.randrange(101) for _ in range(n)]
        cases.append([text, pair[0], *trees, shares])
        words = SearchedSentence(Sentence(pair[0]), Tree(*trees[0]), Tree(*trees[1]), [share / 100 for share in shares])
        try:
            query = Query(text)
            matches = [list(match) for match in query.find(words).matches]
            expected.append({"matches": matches, "names": query.names, "other": query.uses_other})
        except QueryError as error:
            expected.append({"column": error.column, "message": error.message})
    for case, mine, theirs in zip(cases, expected, page.execute_script(SEARCH_ALL, cases), strict=True):
        assert theirs == mine, case
    assert sum("column" in each for each in expected) > 200 / 1500 * len(chosen)
    assert sum(bool(each.get("matches")) for each in expected) > 100 / 1500 * len(chosen)


def test_the_page_and_the_library_have_the_same_regular_expressions(page):
    texts = [
        r"\p{Lu}\w*",
        "[^a-c]+",
        "(a|b){2,3}c?",
        "é+",
        r"\d+\.\d",
        "😀.",
        "a**",
        "[",
        r"\p{Xx}",
        r"[\]a]",
        "x{3,1}",
        r"(?<=a)b",
        r"(a)\1",
        "(a+)+",
        "a{,2}",
    ]
    samples = ["Ab", "dd", "abab", "aba", "éé", "3.4", "😀é", "", "]", "É", "οδος", "İ", "தமிழ்"]
    chance = random.Random(0)
    count = len(seeds(3000))
    for number in range(count):  # a third are damaged
        text = random_regex(chance, ATOMS + OTHER_ATOMS)
        place = chance.randrange(len(text)) if number % 3 == 0 else len(text)
        texts.append(
            text[:place] + "".join(chance.sample("{}()[]*+?^$|-pdx,2\\", k=number % 3 == 0)) + text[place + 1 :]
        )
    script = """
    const [cases, samples] = arguments;
    return cases.map(([text, fold]) => {
      try {
        const regex = new Regex(text, fold);
        return [regex.longest, samples.map((sample) => regex.matches(sample))];
      } catch (error) {
        return [error.position, error.message];
      }
    });
    """
    cases, refused = [(text, fold) for text in texts for fold in (False, True)], 0
    for (text, fold), theirs in zip(cases, page.execute_script(script, cases, samples), strict=True):
        try:
            regex = Regex(text, fold)
            assert theirs == [regex.longest, [regex.matches(sample) for sample in samples]], text
        except RegexError as error:
            assert theirs == [error.position, error.message], text
            refused += 1
    assert count / 6 < refused < 5 * count / 6


def command(capsys, *words: str) -> str:
    """Return what ``nonproj search`` writes."""
    capsys.readouterr()
    assert main(["search", *map(str, words), "-q"]) == 0
    return capsys.readouterr().out


QUERIES = [
    *("VERB >obj NOUN=o", "{crossing}", "NOUN !> {}", "{}=a >< ({}=b < VERB)", "{deprel:/.*:.*/} << {root}=r"),
    *("/\\p{Lu}.*/ ..3 VERB=v", "{Case:/Gen|Acc/; children>=1}=c $++ {}=d", "{differs}", "{depth>5}", "PUNCT - {}"),
    *("VERB=v >/nsubj.*/ ({}=s .. {}=v)", "{misc.SpaceAfter:No}", "{lemma:/.{9,}/; !feats}", "{} ~>iobj {}"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Uyghur-UDT/ug_udt", "Latin-Perseus/la_perseus", "Tamil-TTB/ta_ttb"])
def test_real_treebanks(name, browser, released, tmp_path, capsys):
    """The page and the command find, count and export the same; exporting everything returns the file."""
    path, other = released / f"{name}-ud-test.conllu", tmp_path / "other.conllu"
    text = path.read_text(encoding="utf-8")
    other.write_text(text.replace("\tobj\t", "\tiobj\t"), encoding="utf-8")
    assert main(["show", str(path), "--other", str(other), "-o", str(tmp_path / "report.html")]) == 0
    open_report(browser, tmp_path)
    browser.set_script_timeout(60)
    assert exported(browser, "conllu") == text
    for query in QUERIES:
        browser.execute_script("Object.assign(state, NONE, {query: arguments[0]}); update()", query)
        assert exported(browser, "conllu") == command(capsys, query, path, "--other", other), query
        fields = "form,lemma,deprel,~deprel,head.upos,distance,crossing,Case,misc.SpaceAfter,depth"
        browser.execute_script("state.by = arguments[0]; update()", fields)
        theirs = [line.split("\t") for line in exported(browser, "table").splitlines()]
        table = command(capsys, query, path, "--other", other, "--table", fields)
        assert [row[:-1] for row in theirs] == [line.split("\t")[1:] for line in table.splitlines()], query
    assert browser.get_log("browser") == []


def test_examples_of_the_help_are_queries(page):
    page.find_element(By.ID, "help-button").click()
    examples = page.find_elements(By.CSS_SELECTOR, "#help button[data-query]")
    for example in examples:
        Query(example.get_attribute("data-query"))
    text = examples[1].get_attribute("data-query")
    examples[1].click()
    assert page.find_element(By.ID, "search").get_attribute("value") == text
    assert 0 < len(shown(page)) < COUNT
