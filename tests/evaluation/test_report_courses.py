"""More pages of ``nonproj show`` in a real browser: a course of dual decomposition, markup in files, many sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browsing import expose, shown
from shown import parsed
from toy import treebank

from nonproj.cli.main import main

pytest.importorskip("selenium")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402


@pytest.mark.thorough
def test_the_course_of_the_bound(browser, tmp_path):
    """At each iteration of the slider the tree and the disputed arcs are drawn, and the bound never rises."""
    golden, out = Path(__file__).parents[1] / "golden", tmp_path / "out.html"
    words = [str(golden / "input.conll"), "-m", str(golden / "model.nonproj"), "--course", "1", "-o", str(out), "-q"]
    assert main(["show", *words]) == 0
    expose(out, "sentences")
    browser.get(f"file://{out}")
    number = browser.execute_script("return sentences.findIndex((s) => s.k) + 1")
    steps = browser.execute_script("return sentences[arguments[0] - 1].k", number)
    assert len(steps) > 5
    browser.execute_script("document.getElementById(`s${arguments[0]}`).scrollIntoView()", number)
    summary = WebDriverWait(browser, 10).until(lambda page: page.find_element(By.CSS_SELECTOR, ".course summary"))
    assert f"{len(steps)} iterations" in summary.text
    summary.click()
    slider = WebDriverWait(browser, 10).until(lambda page: page.find_element(By.CSS_SELECTOR, ".course input"))
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


def test_markup_in_files_is_text(browser, tmp_path):
    nasty = ["</script><script>window.hacked=1</script>", "<img/src=x/onerror=window.hacked=1>", "<b>", "{data}"]
    row = "{}\t{}\t_\t{}\t_\t{}\t{}\t{}\t_\t_"
    lines = [f"# sent_id = {nasty[1]}", *(row.format(i, w, w, w, i - 1, w) for i, w in enumerate(nasty, 1))]
    path = tmp_path / "<i>name.conllu"
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    assert main(["show", str(path), "--gold", str(path), "-o", str(tmp_path / "out.html")]) == 0
    browser.get(f"file://{tmp_path / 'out.html'}")
    WebDriverWait(browser, 10).until(lambda page: page.find_elements(By.CSS_SELECTOR, "#s1 svg"))
    assert [form.text for form in browser.find_elements(By.CSS_SELECTOR, "#s1 .form")] == nasty
    browser.find_element(By.CSS_SELECTOR, "#s1 .word").click()
    browser.find_element(By.ID, "tab-analysis").click()
    assert not browser.execute_script("return window.hacked")
    assert browser.find_elements(By.CSS_SELECTOR, "main img, main b:not(.tile b), h1 i") == []
    assert browser.get_log("browser") == []


@pytest.mark.thorough
def test_five_thousand_sentences_open_quickly(browser, tmp_path):
    """The page's own measure: a second or two, and far less than ten even on a busy machine."""
    (tmp_path / "gold.conll").write_text(treebank(5000), encoding="utf-8")
    (tmp_path / "parsed.conllu").write_text(parsed(5000), encoding="utf-8")
    words = [str(tmp_path / "parsed.conllu"), "--gold", str(tmp_path / "gold.conll"), "-o", str(tmp_path / "out.html")]
    assert main(["show", *words]) == 0
    browser.get(f"file://{tmp_path / 'out.html'}")
    assert len(shown(browser)) == 5000
    assert browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd") < 10_000
    assert browser.execute_script("return document.querySelectorAll('article svg.tree').length") < 60
