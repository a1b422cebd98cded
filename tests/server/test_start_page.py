"""The start page of the server in a real browser; skipped where Chromium and its driver are not installed."""

import re

import pytest
from browsing import prefer
from toy import sentences

from nonproj.trees.crossing import nonprojective

pytest.importorskip("selenium")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402


@pytest.fixture
def browser(browser, toy_server):
    """The browser, on the start page."""
    browser.get(f"{toy_server.url}/")
    WebDriverWait(browser, 20).until(lambda page: page.find_elements(By.CSS_SELECTOR, "#model option"))
    yield browser
    assert browser.get_log("browser") == []  # neither errors nor breaches of the content security policy


def parse(browser, text: str, kind: str = "horizontal") -> None:
    """Have a text parsed."""
    Select(browser.find_element(By.ID, "input")).select_by_value(kind)
    browser.execute_script("document.getElementById('data').value = arguments[0]", text)
    browser.find_element(By.ID, "parse").click()


def trees(browser, count: int) -> list:
    """Wait until a number of trees are drawn, and return their figures."""
    WebDriverWait(browser, 20).until(lambda page: len(page.find_elements(By.CSS_SELECTOR, "figure svg")) == count)
    return browser.find_elements(By.CSS_SELECTOR, "figure")


def texts(figure, selector: str) -> list[str]:
    """Return the texts of some elements of a figure."""
    return [element.text for element in figure.find_elements(By.CSS_SELECTOR, selector)]


@pytest.mark.parametrize(("scheme", "color"), [("light", "rgb(247, 248, 250)"), ("dark", "rgb(20, 23, 28)")])
def test_one_types_a_sentence_and_sees_its_tree(scheme, color, browser):
    prefer(browser, scheme)
    assert browser.switch_to.active_element.get_attribute("id") == "data"
    browser.switch_to.active_element.send_keys("Den hund ser hus.", Keys.ENTER)
    [figure] = trees(browser, 1)
    assert texts(figure, ".word .form") == ["Den", "hund", "ser", "hus", "."]
    assert texts(figure, ".word .tag") == ["DET", "NOUN", "VERB", "NOUN", "PUNCT"]
    arcs = figure.find_elements(By.CSS_SELECTOR, ".arc")
    assert sorted(int(arc.get_attribute("data-word")) for arc in arcs) == [1, 2, 3, 4, 5]
    assert all(arc.find_element(By.CSS_SELECTOR, "path").size["height"] > 5 for arc in arcs)
    assert re.search(r"certified: no tree over (\d+ of|all) 25 arcs scores higher", figure.text)
    figure.find_element(By.CSS_SELECTOR, ".certificate").send_keys(Keys.ENTER)
    assert "the scores are the model's" in figure.find_element(By.CSS_SELECTOR, "dl").text
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == color


def test_crossing_arcs_keys_and_the_source(browser):
    crossing = [s for s in sentences(30, seed=3) if nonprojective(s.heads).any()][:2]
    parse(browser, "".join(line for s in crossing for line in s.lines), "conllu")
    for figure, sentence in zip(trees(browser, 2), crossing, strict=True):
        assert texts(figure, ".form") == sentence.forms
        assert texts(figure, ".tag") == [row[3] for row in sentence.rows]
        labels = figure.find_elements(By.CSS_SELECTOR, ".label")
        places = {int(label.get_attribute("data-word")): label.text for label in labels}
        assert [places[i] for i in range(1, len(sentence) + 1)] == sentence.labels  # the toy language is learnt
        crossed = figure.find_elements(By.CSS_SELECTOR, ".arc.cross")
        assert len(crossed) >= 2 and f"{len(crossed)} arcs cross another" in figure.text
    figure = browser.find_element(By.CSS_SELECTOR, "figure")
    scroll = figure.find_element(By.CSS_SELECTOR, ".scroll")
    scroll.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_UP)
    chosen = int(crossing[0].tree[2]) or 2
    form = crossing[0].forms[chosen - 1]
    assert figure.find_element(By.CSS_SELECTOR, ".word-line").text.startswith(f"{chosen} {form} · ")
    assert texts(figure, ".word.chosen .form") == [form]
    scroll.send_keys(Keys.ESCAPE)
    assert browser.switch_to.active_element.get_attribute("id") == "data"
    browser.find_element(By.TAG_NAME, "summary").click()
    assert browser.find_element(By.ID, "conllu").text.count("\n") >= sum(map(len, crossing))


def test_errors_and_markup_are_shown_as_text(browser):
    parse(browser, "1 a", "conllu")
    error = browser.find_element(By.ID, "error")
    WebDriverWait(browser, 20).until(lambda _: error.is_displayed())
    assert error.text.startswith("data:1: 1 column, 10 expected")
    assert browser.get_log("browser")[0]["message"].endswith("(Bad Request)")  # which the browser notes itself
    parse(browser, "<img src=x onerror=alert(1)> &amp; .\nden \u202ednuh ser\u2066")
    markup, directions = trees(browser, 2)
    assert texts(markup, ".form") == ["<img", "src=x", "onerror=alert(1)>", "&amp;", "."]
    assert not error.is_displayed()
    assert texts(directions, ".form") == ["den", "\\u202ednuh", "ser\\u2066"]  # changes of direction are escaped
    assert "\u202e" not in directions.get_attribute("innerHTML")


def test_wide_trees_fit_into_the_window(browser):
    parse(browser, "den hund ser hus " * 8)
    [figure] = trees(browser, 1)
    scroll, button = (figure.find_element(By.CSS_SELECTOR, selector) for selector in (".scroll", "button.wide"))
    overflow = "return arguments[0].scrollWidth - arguments[0].clientWidth"
    assert button.is_displayed() and "full size" in button.text
    assert browser.execute_script(overflow, scroll) <= 0
    button.click()
    assert "fit" in button.text and browser.execute_script(overflow, scroll) > 300
    parse(browser, "den hund ser hus")
    WebDriverWait(browser, 20).until(lambda page: len(page.find_elements(By.CSS_SELECTOR, "figure .form")) == 4)
    assert not browser.find_element(By.CSS_SELECTOR, "figure button.wide").is_displayed()
