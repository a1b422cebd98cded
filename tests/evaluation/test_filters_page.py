"""Filters of the page of ``nonproj show``, odd files and courses of dual decomposition, in a real browser."""

import re
from pathlib import Path

import pytest
from browsing import found, open_report, shown, wait
from shown import COUNT, write_report

from nonproj.cli.main import main
from nonproj.io import conll

pytest.importorskip("selenium")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support import expected_conditions  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402


def test_words(page, report):
    """In any case, side by side; the first word is marked and counted."""
    sentences = list(conll.read(report / "parsed.conllu"))
    form = sentences[4].forms[0]
    words = [(n, i) for n, each in enumerate(sentences, 1) for i, row in enumerate(each.rows, 1) if row[1] == form]
    numbers = sorted({n for n, _ in words})
    assert found(page, form.upper()) == numbers and 5 in numbers and len(numbers) < COUNT
    assert page.find_element(By.ID, "count").text == f"{len(words)} words in {len(numbers)} of {COUNT}"
    places = page.execute_script("return sentences.flatMap((s, n) => s.found.map((i) => [n + 1, i + 1]))")
    assert places == [list(word) for word in words]
    pair = f"{sentences[0].forms[1]}  {sentences[0].rows[2][2]}"
    assert 1 in found(page, pair) and found(page, " ".join(pair.split()[::-1])) != found(page, pair)
    wait(page).until(lambda page: page.find_elements(By.CSS_SELECTOR, "#s1 .hit"))
    assert page.find_element(By.CSS_SELECTOR, "#s1 .word.hit").get_attribute("data-word") == "2"
    assert found(page, "nowhere-at-all") == []
    page.find_element(By.ID, "reset").click()
    assert len(shown(page)) == COUNT and page.find_element(By.ID, "text").get_attribute("value") == ""


def test_links_restore_the_view(page, report):
    form = next(conll.read(report / "parsed.conllu")).forms[0]
    found(page, form)
    Select(page.find_element(By.ID, "differs")).select_by_value("any")
    Select(page.find_element(By.ID, "sort")).select_by_value("confident")
    page.find_element(By.ID, "only-crossing").click()
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    page.execute_script("document.activeElement.blur()")
    page.find_element(By.TAG_NAME, "body").send_keys("jj")
    numbers, address = shown(page), page.current_url
    chosen = page.find_element(By.CSS_SELECTOR, "article[aria-current]").get_attribute("id")
    assert len(numbers) > 1 and f"#text={form}" in address and f"s={chosen[1:]}" in address
    page.get("about:blank")
    page.get(address)
    assert shown(page) == numbers
    assert page.find_element(By.CSS_SELECTOR, "article[aria-current]").get_attribute("id") == chosen
    values = {"text": form, "differs": "any", "sort": "confident"}
    assert {name: page.find_element(By.ID, name).get_attribute("value") for name in values} == values
    page.execute_script("location.hash = '#tag=PART'")
    wait(page).until(lambda page: len(shown(page)) > len(numbers))
    assert page.find_element(By.ID, "tag").get_attribute("value") == "PART"
    open_report(page, report, "#s17")
    places = "return ['header', '#s17 h2'].map((name) => document.querySelector(name).getBoundingClientRect())"
    header, title = page.execute_script(places)
    assert header["bottom"] <= title["top"] < header["bottom"] + 60
    assert page.find_element(By.CSS_SELECTOR, "article[aria-current]").get_attribute("id") == "s17"


@pytest.mark.parametrize(
    "fragment", ["#differs=%7B(((", "#pair=9&sort=no&only=x,y&label=zz&tag=%00&s=99999", "#%FF", "#s0", "#text=++"]
)
def test_damaged_links(fragment, browser, report):
    open_report(browser, report, fragment)
    assert len(shown(browser)) == COUNT
    assert browser.get_log("browser") == []


def test_the_sentence_as_text(page, report):
    assert page.find_element(By.CSS_SELECTOR, "#s1 .plain p").text == page.execute_script(
        "return sentences[0].w.join(' ')"
    )
    page.find_element(By.CSS_SELECTOR, "#s1 .plain button").click()
    wait(page).until(lambda page: page.find_element(By.CSS_SELECTOR, "#s1 .plain button").text == "copied")


# -- odd files ---------------------------------------------------------------------------------------------------------

ODD = (
    "# text = a b\r\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\r\n2\tb\t_\tX\t_\t_\t1\tdep\t1:dep\t_\r\n\r\n"
    "# newdoc\n# sent_id = x\n1-2\tdel\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "1\tde\tDi\tADP\tA|B\tCase=Gen\t2\tcase\t_\tSpaceAfter=No\n2\tel\tel\t_\tDX\t_\t_\t_\t0:root|5.1:x\tGloss=a|B\n"
    "2.1\tnull\t_\t_\t_\t_\t_\t_\t0:root\t_\n3\t,\t,\tPUNCT\t_\t_\t0\tpunct\t_\t_\n\n"
    "1\tשלום\t_\tNOUN\t_\t_\t2\tobj\t_\t_\n2\tעולם\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
)
"""Carriage returns, a token of several words, an empty node, a word without head, right to left, no blank line."""


def test_the_text_of_an_odd_file(browser, tmp_path):
    path = tmp_path / "odd.conllu"
    path.write_bytes(b"\xef\xbb\xbf" + ODD.encode())
    assert main(["show", str(path), "-o", str(tmp_path / "report.html")]) == 0
    open_report(browser, tmp_path)
    texts = [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".plain p")]
    assert texts == ["a b", "del,", "שלום עולם"]
    assert browser.find_element(By.CSS_SELECTOR, "#s3 .plain p").get_attribute("dir") == "rtl"
    assert found(browser, "שלום עולם") == [3] and found(browser, "di EL ,") == [2]


def wide_tree(browser, folder, n: int, form: str = "ord"):
    """Open a report of one long sentence; return its button, what scrolls, and whether the tree fits in."""
    rows = [f"{i}\t{form}{i}\t_\tX\t_\t_\t{max(0, i - 1 - i % 3) if i > 1 else 0}\tdep\t_\t_" for i in range(1, n + 1)]
    (folder / "wide.conllu").write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    assert main(["show", str(folder / "wide.conllu"), "-o", str(folder / "report.html")]) == 0
    open_report(browser, folder)
    shown = expected_conditions.visibility_of_element_located((By.CSS_SELECTOR, "#s1 button.wide"))
    button = wait(browser).until(shown)
    scroll = browser.find_element(By.CSS_SELECTOR, "#s1 .scroll")
    fits = "return arguments[0].scrollWidth <= arguments[0].clientWidth"
    return button, scroll, lambda: browser.execute_script(fits, scroll)


@pytest.mark.parametrize(("form", "words"), [("ord", 30), ("שלום", 24)])
def test_trees_wider_than_the_window(form, words, browser, tmp_path):
    button, scroll, fits = wide_tree(browser, tmp_path, words, form)
    assert fits() and "more-" not in scroll.get_attribute("class") and "full size" in button.text
    button.click()
    assert not fits() and "wider than the window" in button.text and "more-" in scroll.get_attribute("class")
    browser.execute_script("arguments[0].scrollLeft = arguments[0].scrollWidth", scroll)
    wait(browser).until(lambda page: "more-left" in scroll.get_attribute("class"))
    assert "more-right" not in scroll.get_attribute("class")
    for text in ("wider than the window", "full size"):
        browser.find_element(By.TAG_NAME, "body").send_keys("f")  # all trees in full size, then none
        assert text in button.text
    assert browser.get_log("browser") == []


def test_trees_that_nobody_could_read_are_not_shrunk(browser, tmp_path):
    button, scroll, fits = wide_tree(browser, tmp_path, 100)
    assert "wider than the window" in button.text and "more-right" in scroll.get_attribute("class")
    button.click()
    assert fits()


@pytest.mark.thorough
def test_ten_thousand_sentences_open_and_are_filtered_quickly(browser, tmp_path):
    """In a second or two, and far less than a second; and in less than twenty and five even on a busy machine."""
    write_report(tmp_path, 10_000)
    open_report(browser, tmp_path)
    assert len(shown(browser)) == 10_000
    assert browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd") < 20_000
    assert browser.execute_script("return document.querySelectorAll('article svg.tree').length") < 60
    script = """
    Object.assign(state, arguments[0]);
    const start = performance.now();
    update();
    return [performance.now() - start, document.querySelectorAll("article").length];
    """
    for filters in ({"tag": "VERB", "label": "root"}, {"tag": "", "label": "obj", "crossing": True}):
        milliseconds, count = browser.execute_script(script, filters)
        assert milliseconds < 5000 and 0 < count <= 10_000, filters


@pytest.mark.thorough
def test_the_course_of_the_bound(browser, tmp_path):
    """At each iteration of the slider the tree and the disputed arcs are drawn, and the bound never rises."""
    golden, out = Path(__file__).parents[1] / "golden", str(tmp_path / "report.html")
    words = [str(golden / "input.conll"), "-m", str(golden / "model.nonproj"), "--course", "1", "-o", out, "-q"]
    assert main(["show", *words]) == 0
    open_report(browser, tmp_path)
    number = browser.execute_script("return sentences.findIndex((s) => s.k) + 1")
    steps = browser.execute_script("return sentences[arguments[0] - 1].k", number)
    assert len(steps) > 5
    browser.execute_script("document.getElementById(`s${arguments[0]}`).scrollIntoView()", number)
    summary = wait(browser).until(lambda page: page.find_element(By.CSS_SELECTOR, ".course summary"))
    assert f"{len(steps)} iterations" in summary.text
    summary.click()
    slider = wait(browser).until(lambda page: page.find_element(By.CSS_SELECTOR, ".course input"))
    slider.send_keys(Keys.HOME)
    bounds = []
    for _, _, heads, missing, extra in steps:
        drawn = browser.execute_script(
            "return [...document.querySelectorAll('.course .arc')].map((arc) => "
            "[Number(arc.dataset.head), Number(arc.dataset.word), arc.getAttribute('class')])"
        )
        above = {word: (head, "wrong" in kinds) for head, word, kinds in drawn if "other" not in kinds}
        assert above == {word: (head, word in missing) for word, head in enumerate(heads, 1)}
        below = sorted([head, word] for head, word, kinds in drawn if "other" in kinds)
        assert below == sorted([head, word] for head, word, _ in extra)
        text = browser.find_element(By.CSS_SELECTOR, ".course output").text
        bounds.append(float(re.search(r"bound (-?[\d.]+)", text)[1]))
        assert f"{len(missing) + len(extra)} disputed" in text
        slider.send_keys(Keys.ARROW_RIGHT)
    assert bounds == sorted(bounds, reverse=True) and bounds[-1] < bounds[0]
    assert browser.get_log("browser") == []


def test_a_phone(browser, tmp_path, report):
    browser.set_window_size(390, 800)
    try:
        open_report(browser, report, "#tag=NOUN&differs=any&label=obj")
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        browser.set_window_size(1200, 900)
