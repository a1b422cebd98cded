"""Search in the page of ``nonproj show``, in a real browser, against the command and the library."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from browsing import expose, shown
from instances import seeds
from queries import ATOMS, OTHER_ATOMS, random_query, random_regex, random_rows
from shown import write_report
from toy import treebank

from nonproj.cli.main import main
from nonproj.evaluation.search.query import Query
from nonproj.evaluation.search.regex import Regex, RegexError
from nonproj.evaluation.search.scanner import QueryError
from nonproj.evaluation.search.words import SearchedSentence, Tree
from nonproj.types import Sentence

pytest.importorskip("selenium")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support import expected_conditions  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

COUNT = 300
NAMES = (
    *("state", "search", "sentences", "update", "compileSearch", "findMatches", "EXPORTS", "NONE"),
    *("Regex", "RegexError", "Query", "QueryError", "SearchTree"),
)
"""What these tests use of the page's module."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with three files of 300 sentences and their report."""
    return write_report(tmp_path_factory.mktemp("report"), COUNT)


@pytest.fixture
def page(browser, folder):
    """The report; in the end there must not be any message in the console."""
    open_page(browser, folder)
    yield browser
    assert browser.get_log("browser") == []


def open_page(browser, folder: Path, fragment: str = "") -> None:
    """Open the report anew, with a fragment of its address."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    if "Object.assign(globalThis" not in text:
        expose(folder / "report.html", *NAMES)
    browser.get("about:blank")
    browser.get(f"file://{folder / 'report.html'}{fragment}")


def type_into(page, name: str, text: str) -> None:
    """Replace the text of a field, and wait until the page has heeded it."""
    field = page.find_element(By.ID, name)
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text or Keys.DELETE)
    key = {"search": "query", "by": "by"}[name]
    WebDriverWait(page, 10).until(lambda page: page.execute_script(f"return state.{key}") == text)


def found(page, query: str) -> list[int]:
    """Return the numbers of the sentences that the page shows for a query."""
    type_into(page, "search", query)
    return shown(page)


def exported(page, kind: str) -> str:
    """Return the file that an export would save."""
    script = """
    const [kind, done] = arguments, old = URL.createObjectURL;
    URL.createObjectURL = (blob) => { URL.createObjectURL = old; blob.text().then(done); return "data:,"; };
    HTMLAnchorElement.prototype.click = function () { delete HTMLAnchorElement.prototype.click; };
    EXPORTS[kind]();
    """
    return page.execute_async_script(script, kind)


def command(capsys, *words: str) -> str:
    """Return what ``nonproj search`` writes."""
    capsys.readouterr()
    assert main(["search", *map(str, words), "-q"]) == 0
    return capsys.readouterr().out


# -- the two implementations -------------------------------------------------------------------------------------------

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
    open_page(browser, tmp_path)
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


# -- the page ----------------------------------------------------------------------------------------------------------


def test_search_highlights_and_counts(page, folder, capsys):
    numbers = found(page, "VERB >obj NOUN=o")
    rows = command(capsys, "VERB >obj NOUN=o", folder / "parsed.conllu", "--table", "form").splitlines()[1:]
    assert len(numbers) == len({row.split("\t")[2] for row in rows}) and 0 < len(numbers) < COUNT
    count = page.find_element(By.ID, "count").text
    assert count == f"{len(rows)} matches in {len(numbers)} of {COUNT}"
    first = f"#s{numbers[0]}"
    WebDriverWait(page, 10).until(lambda page: page.find_elements(By.CSS_SELECTOR, f"{first} .hit"))
    assert len(page.find_elements(By.CSS_SELECTOR, f"{first} .word.hit")) == 1
    assert len(page.find_elements(By.CSS_SELECTOR, f"{first} .word.part")) >= 1
    assert len(page.find_elements(By.CSS_SELECTOR, f"{first} .arc.found")) >= 1
    assert found(page, "nowhere-at-all") == []
    assert page.find_element(By.ID, "nothing").is_displayed()
    page.find_element(By.ID, "reset").click()
    assert len(shown(page)) == COUNT and page.find_element(By.ID, "search").get_attribute("value") == ""


def test_errors_are_below_the_query(page):
    numbers = found(page, "VERB")
    assert found(page, "VERB >obj (NOUN") == numbers, "the last result stays"
    error = page.find_element(By.ID, "search-error")
    assert error.is_displayed() and error.text.endswith("column 11: ')' is missing at the end")
    assert error.find_element(By.TAG_NAME, "mark").text == "("
    assert page.find_element(By.ID, "search").get_attribute("aria-invalid") == "true"
    found(page, "VERB")
    assert not error.is_displayed()
    type_into(page, "by", "deprel, nothing")
    assert "no attribute 'nothing'" in page.find_element(By.ID, "by-error").text


def test_groups_filter(page, folder, capsys):
    found(page, "VERB >obj NOUN=o")
    type_into(page, "by", "o.lemma, deprel")
    WebDriverWait(page, 10).until(lambda page: page.find_element(By.ID, "groups").is_displayed())
    expected = command(capsys, "VERB >obj NOUN=o", folder / "parsed.conllu", "--count", "o.lemma,deprel").splitlines()[
        1:
    ]
    rows = page.find_elements(By.CSS_SELECTOR, "#groups tbody tr")
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")][:3] for row in rows]
    assert cells == [line.split("\t") for line in expected]
    page.find_elements(By.CSS_SELECTOR, "#groups button")[1].click()
    count = page.find_element(By.ID, "count").text
    assert count.startswith(f"{cells[1][2]} matches in") and 0 < len(shown(page)) < COUNT
    assert page.find_elements(By.CSS_SELECTOR, "#groups button")[1].get_attribute("aria-pressed") == "true"
    assert len(exported(page, "table").splitlines()) == int(cells[1][2]) + 1
    page.find_elements(By.CSS_SELECTOR, "#groups button")[1].click()
    assert len(exported(page, "table").splitlines()) == len(
        command(capsys, "VERB >obj NOUN=o", folder / "parsed.conllu", "--table", "form").splitlines()
    )


def test_words_are_counted_without_a_query(page, folder, capsys):
    type_into(page, "by", "deprel")
    WebDriverWait(page, 10).until(lambda page: page.find_element(By.ID, "groups").is_displayed())
    rows = page.find_elements(By.CSS_SELECTOR, "#groups tbody tr")
    expected = command(capsys, "{}", folder / "parsed.conllu", "--count", "deprel").splitlines()[1:]
    assert [row.text.split()[:2] for row in rows] == [line.split("\t") for line in expected]
    assert page.find_elements(By.CSS_SELECTOR, ".word.hit") == []


def test_links_restore_the_view(page, folder):
    found(page, "{differs; confidence>0.3} > {}=x")
    type_into(page, "by", "x.deprel")
    page.find_element(By.ID, "only-crossing").click()
    Select(page.find_element(By.ID, "sort")).select_by_value("confident")
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    page.execute_script("document.activeElement.blur()")
    page.find_element(By.TAG_NAME, "body").send_keys("jj")
    numbers, address = shown(page), page.current_url
    chosen = page.find_element(By.CSS_SELECTOR, "article[aria-current]").get_attribute("id")
    groups = page.find_element(By.ID, "groups").text
    assert len(numbers) > 2 and "#q=" in address and f"s={chosen[1:]}" in address
    page.get("about:blank")
    page.get(address)
    assert shown(page) == numbers
    assert page.find_element(By.CSS_SELECTOR, "article[aria-current]").get_attribute("id") == chosen
    assert page.find_element(By.ID, "groups").text == groups
    assert page.find_element(By.ID, "search").get_attribute("value") == "{differs; confidence>0.3} > {}=x"
    assert page.find_element(By.ID, "sort").get_attribute("value") == "confident"
    page.execute_script("location.hash = '#q=%7Broot%7D'")
    WebDriverWait(page, 10).until(lambda page: len(shown(page)) == COUNT)
    assert page.find_element(By.ID, "search").get_attribute("value") == "{root}"
    open_page(page, folder, "#s17")
    places = "return ['header', '#s17 h2'].map((name) => document.querySelector(name).getBoundingClientRect())"
    header, title = page.execute_script(places)
    assert header["bottom"] <= title["top"] < header["bottom"] + 60
    assert page.find_element(By.CSS_SELECTOR, "article[aria-current]").get_attribute("id") == "s17"


@pytest.mark.parametrize(
    "fragment", ["#q=%7B(((", "#pair=9&sort=no&only=x,y&label=zz&tag=%00&s=99999", "#%FF", "#s0", "#pick=a&by="]
)
def test_damaged_links(fragment, browser, folder):
    open_page(browser, folder, fragment)
    assert len(shown(browser)) == COUNT
    assert browser.get_log("browser") == []


def test_the_sentence_as_text(page, folder):
    assert page.find_element(By.CSS_SELECTOR, "#s1 .plain p").text == page.execute_script(
        "return sentences[0].w.join(' ')"
    )
    page.find_element(By.CSS_SELECTOR, "#s1 .plain button").click()
    WebDriverWait(page, 10).until(lambda page: page.find_element(By.CSS_SELECTOR, "#s1 .plain button").text == "copied")
    assert exported(page, "text").splitlines()[0] == page.find_element(By.CSS_SELECTOR, "#s1 .plain p").text


def test_examples_of_the_help_are_queries(page):
    page.find_element(By.ID, "help-button").click()
    examples = page.find_elements(By.CSS_SELECTOR, "#help button[data-query]")
    for example in examples:
        Query(example.get_attribute("data-query"))
    text = examples[1].get_attribute("data-query")
    examples[1].click()
    assert page.find_element(By.ID, "search").get_attribute("value") == text
    assert 0 < len(shown(page)) < COUNT


# -- odd files ---------------------------------------------------------------------------------------------------------

ODD = (
    "# text = a b\r\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\r\n2\tb\t_\tX\t_\t_\t1\tdep\t1:dep\t_\r\n\r\n"
    "# newdoc\n# sent_id = x\n1-2\tdel\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "1\tde\tde\tADP\tA|B\tCase=Gen\t2\tcase\t_\tSpaceAfter=No\n2\tel\tel\t_\tDX\t_\t_\t_\t0:root|5.1:x\tGloss=a|B\n"
    "2.1\tnull\t_\t_\t_\t_\t_\t_\t0:root\t_\n3\t,\t,\tPUNCT\t_\t_\t0\tpunct\t_\t_\n\n"
    "1\tשלום\t_\tNOUN\t_\t_\t2\tobj\t_\t_\n2\tעולם\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
)
"""Carriage returns, a token of several words, an empty node, a word without head, right to left, no blank line."""


def test_every_line_of_an_odd_file_is_exported(browser, tmp_path):
    path = tmp_path / "odd.conllu"
    path.write_bytes(b"\xef\xbb\xbf" + ODD.encode())
    assert main(["show", str(path), "-o", str(tmp_path / "report.html")]) == 0
    open_page(browser, tmp_path)
    assert exported(browser, "conllu") == ODD.replace("\r", "") + "\n"
    texts = [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".plain p")]
    assert texts == ["a b", "del,", "שלום עולם"]
    assert browser.find_element(By.CSS_SELECTOR, "#s3 .plain p").get_attribute("dir") == "rtl"
    assert found(browser, "{headless}") == [2] and found(browser, "שלום <obj VERB") == [3]
    assert found(browser, "{upos:NOUN}") == [3] and found(browser, "{xpos:DX; !upos}") == [2]
    browser.execute_script("state.query = ''; update()")
    browser.get_log("browser")


def test_a_model_exports_the_trees_that_it_predicts(browser, tmp_path, capsys):
    golden = Path(__file__).parents[1] / "golden"
    words = [str(golden / "input.conll"), "-m", str(golden / "model.nonproj"), "-q"]
    assert main(["show", *words, "-o", str(tmp_path / "report.html")]) == 0
    assert (
        main(
            ["parse", "-m", str(golden / "model.nonproj"), str(golden / "input.conll"), "-q", "-o", str(tmp_path / "o")]
        )
        == 0
    )
    open_page(browser, tmp_path)
    assert exported(browser, "conllu") == (tmp_path / "o").read_text(encoding="utf-8")


def wide_report(tmp_path, n: int, form: str = "ord") -> None:
    """Write a report of one long sentence."""
    rows = [f"{i}\t{form}{i}\t_\tX\t_\t_\t{max(0, i - 1 - i % 3) if i > 1 else 0}\tdep\t_\t_" for i in range(1, n + 1)]
    (tmp_path / "wide.conllu").write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    assert main(["show", str(tmp_path / "wide.conllu"), "-o", str(tmp_path / "report.html")]) == 0


@pytest.mark.parametrize(("form", "direction"), [("ord", 1), ("שלום", -1)])
def test_trees_wider_than_the_window(form, direction, browser, tmp_path):
    wide_report(tmp_path, 60, form)
    open_page(browser, tmp_path)
    shown = expected_conditions.visibility_of_element_located((By.CSS_SELECTOR, "#s1 button.wide"))
    button = WebDriverWait(browser, 10).until(shown)
    scroll = browser.find_element(By.CSS_SELECTOR, "#s1 .scroll")
    assert browser.execute_script("return arguments[0].scrollWidth <= arguments[0].clientWidth", scroll)
    assert "more-" not in scroll.get_attribute("class") and "full size" in button.text
    button.click()
    assert browser.execute_script("return arguments[0].scrollWidth > arguments[0].clientWidth", scroll)
    assert "wider than the window" in button.text and "more-" in scroll.get_attribute("class")
    browser.execute_script("arguments[0].scrollLeft = arguments[0].scrollWidth", scroll)
    WebDriverWait(browser, 10).until(lambda page: "more-left" in scroll.get_attribute("class"))
    assert "more-right" not in scroll.get_attribute("class")
    browser.find_element(By.TAG_NAME, "body").send_keys("f")  # all trees in full size, then none
    assert "wider than the window" in button.text
    browser.find_element(By.TAG_NAME, "body").send_keys("f")
    assert "full size" in button.text
    assert browser.get_log("browser") == []


@pytest.mark.thorough
def test_two_thousand_words(browser, tmp_path):
    """Expensive queries end, and the page says what was left out; regular expressions cannot hang it."""
    wide_report(tmp_path, 2000)
    open_page(browser, tmp_path)
    assert found(browser, "{form:/.*.*.*[0-9]*x/}") == []
    assert found(browser, "{form:/(o+r*d*)+[0-9]*x/}") == [], "the last result stays"
    assert "can take too long" in browser.find_element(By.ID, "search-error").text
    assert found(browser, "{children>1} >> {depth>20}") == [1]
    type_into(browser, "search", "{}=a .. ({}=b .. {}=c)")
    WebDriverWait(browser, 60).until(lambda page: "too many combinations" in page.find_element(By.ID, "note").text)
    found(browser, "{" + " | ".join(["form:ord1"] * 90) + "}")
    assert shown(browser) == [1]
    assert browser.get_log("browser") == []


@pytest.mark.thorough
def test_ten_thousand_sentences_are_searched_quickly(browser, tmp_path):
    """Far less than a second, and less than five even on a busy machine."""
    (tmp_path / "toy.conll").write_text(treebank(10_000), encoding="utf-8")
    assert main(["show", str(tmp_path / "toy.conll"), "-o", str(tmp_path / "report.html")]) == 0
    open_page(browser, tmp_path)
    script = """
    state.query = arguments[0];
    compileSearch();
    const start = performance.now();
    findMatches();
    return [performance.now() - start, search.matches.filter((matches) => matches.length).length];
    """
    for query in ("VERB=v >obj (NOUN=o !> ADJ)", "{crossing}", "{form:/.*[ab]+.*/; children>0} .. VERB"):
        milliseconds, found = browser.execute_script(script, query)
        assert milliseconds < 5000 and 0 < found < 10_000, query


def test_a_phone(browser, tmp_path, folder):
    browser.set_window_size(390, 800)
    try:
        open_page(browser, folder, "#q=VERB%3Dv+>obj+NOUN&by=v.lemma,deprel,head.upos,misc.Confidence")
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        browser.find_element(By.CSS_SELECTOR, "#export summary").click()
        box = browser.execute_script("return document.querySelector('#export div').getBoundingClientRect().toJSON()")
        assert box["left"] >= 0 and box["right"] <= browser.execute_script("return innerWidth")
    finally:
        browser.set_window_size(1200, 900)


def test_the_page_has_what_it_exports(folder):
    """Columns that the page does not draw are in its data once."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["strings"][0] == "_" and len(set(data["strings"])) == len(data["strings"])
    assert all("o" not in sentence for sentence in data["sentences"])
