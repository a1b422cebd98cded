"""More pages of ``nonproj show`` in a real browser: markup in files, many sentences."""

from __future__ import annotations

import pytest
from browsing import shown
from shown import parsed
from toy import treebank

from nonproj.cli.main import main

pytest.importorskip("selenium")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402


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
