"""Search in the page of ``nonproj show``, in a real browser; the tests of ``nonproj search`` compare the two."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import exported, found, open_report, shown, type_into
from shown import write_report
from toy import treebank

from nonproj.cli.main import main
from nonproj.io import conll

pytest.importorskip("selenium")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support import expected_conditions  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

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


def objects(folder: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the matches of ``VERB >obj NOUN=o``: number of the sentence, lemma of the noun, label of the verb."""
    for number, sentence in enumerate(conll.read(folder / "parsed.conllu"), 1):
        for row in sentence.rows:
            verb = sentence.rows[int(row[6]) - 1]
            if row[3] == "NOUN" and row[7] == "obj" and row[6] != "0" and verb[3] == "VERB":
                yield number, row[2], verb[7]


def test_search_highlights_and_counts(page, folder):
    numbers, rows = found(page, "VERB >obj NOUN=o"), list(objects(folder))
    assert numbers == sorted({number for number, *_ in rows}) and 0 < len(numbers) < COUNT
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


def test_groups_filter(page, folder):
    found(page, "VERB >obj NOUN=o")
    type_into(page, "by", "o.lemma, deprel")
    WebDriverWait(page, 10).until(lambda page: page.find_element(By.ID, "groups").is_displayed())
    counts = Counter((lemma, label) for _, lemma, label in objects(folder))
    rows = page.find_elements(By.CSS_SELECTOR, "#groups tbody tr")
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")][:3] for row in rows]
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    assert cells == [[*group, str(count)] for group, count in ordered]
    page.find_elements(By.CSS_SELECTOR, "#groups button")[1].click()
    count = page.find_element(By.ID, "count").text
    assert count.startswith(f"{cells[1][2]} matches in") and 0 < len(shown(page)) < COUNT
    assert page.find_elements(By.CSS_SELECTOR, "#groups button")[1].get_attribute("aria-pressed") == "true"
    assert len(exported(page, "table").splitlines()) == int(cells[1][2]) + 1
    page.find_elements(By.CSS_SELECTOR, "#groups button")[1].click()
    assert len(exported(page, "table").splitlines()) == counts.total() + 1


def test_words_are_counted_without_a_query(page, folder):
    type_into(page, "by", "deprel")
    WebDriverWait(page, 10).until(lambda page: page.find_element(By.ID, "groups").is_displayed())
    rows = page.find_elements(By.CSS_SELECTOR, "#groups tbody tr")
    counts = Counter(label for sentence in conll.read(folder / "parsed.conllu") for label in sentence.labels)
    assert {label: int(count) for label, count in (row.text.split()[:2] for row in rows)} == counts
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
    open_report(page, folder, "#s17")
    places = "return ['header', '#s17 h2'].map((name) => document.querySelector(name).getBoundingClientRect())"
    header, title = page.execute_script(places)
    assert header["bottom"] <= title["top"] < header["bottom"] + 60
    assert page.find_element(By.CSS_SELECTOR, "article[aria-current]").get_attribute("id") == "s17"


@pytest.mark.parametrize(
    "fragment", ["#q=%7B(((", "#pair=9&sort=no&only=x,y&label=zz&tag=%00&s=99999", "#%FF", "#s0", "#pick=a&by="]
)
def test_damaged_links(fragment, browser, folder):
    open_report(browser, folder, fragment)
    assert len(shown(browser)) == COUNT
    assert browser.get_log("browser") == []


def test_the_sentence_as_text(page, folder):
    assert page.find_element(By.CSS_SELECTOR, "#s1 .plain p").text == page.execute_script(
        "return sentences[0].w.join(' ')"
    )
    page.find_element(By.CSS_SELECTOR, "#s1 .plain button").click()
    WebDriverWait(page, 10).until(lambda page: page.find_element(By.CSS_SELECTOR, "#s1 .plain button").text == "copied")
    assert exported(page, "text").splitlines()[0] == page.find_element(By.CSS_SELECTOR, "#s1 .plain p").text


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
    open_report(browser, tmp_path)
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
    open_report(browser, tmp_path)
    assert exported(browser, "conllu") == (tmp_path / "o").read_text(encoding="utf-8")


def wide_report(tmp_path, n: int, form: str = "ord") -> None:
    """Write a report of one long sentence."""
    rows = [f"{i}\t{form}{i}\t_\tX\t_\t_\t{max(0, i - 1 - i % 3) if i > 1 else 0}\tdep\t_\t_" for i in range(1, n + 1)]
    (tmp_path / "wide.conllu").write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    assert main(["show", str(tmp_path / "wide.conllu"), "-o", str(tmp_path / "report.html")]) == 0


@pytest.mark.parametrize(("form", "words", "direction"), [("ord", 30, 1), ("שלום", 24, -1)])
def test_trees_wider_than_the_window(form, words, direction, browser, tmp_path):
    wide_report(tmp_path, words, form)
    open_report(browser, tmp_path)
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


def test_trees_that_nobody_could_read_are_not_shrunk(browser, tmp_path):
    wide_report(tmp_path, 100)
    open_report(browser, tmp_path)
    shown = expected_conditions.visibility_of_element_located((By.CSS_SELECTOR, "#s1 button.wide"))
    button = WebDriverWait(browser, 10).until(shown)
    scroll = browser.find_element(By.CSS_SELECTOR, "#s1 .scroll")
    assert "wider than the window" in button.text and "more-right" in scroll.get_attribute("class")
    button.click()
    assert browser.execute_script("return arguments[0].scrollWidth <= arguments[0].clientWidth", scroll)


@pytest.mark.thorough
def test_two_thousand_words(browser, tmp_path):
    """Expensive queries end, and the page says what was left out; regular expressions cannot hang it."""
    wide_report(tmp_path, 2000)
    open_report(browser, tmp_path)
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
    open_report(browser, tmp_path)
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
        open_report(browser, folder, "#q=VERB%3Dv+>obj+NOUN&by=v.lemma,deprel,head.upos,misc.Confidence")
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
