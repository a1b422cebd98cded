"""The page of ``nonproj show`` in a real browser; skipped where Chromium and its driver are not installed."""

import base64
import itertools
import random
from pathlib import Path

import pytest
from browsing import open_report, prefer, shown, wait
from judged import random_tree
from shown import COUNT

from nonproj.cli.main import main
from nonproj.evaluation.certificates import covered
from nonproj.evaluation.html.items import read_statistics
from nonproj.io import conll
from nonproj.pictures.content import arcs_of, visible
from nonproj.pictures.layout import arc_levels

pytest.importorskip("selenium")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402


def texts(element, selector: str) -> list[str]:
    """Return the texts of some parts of an element."""
    return [each.text for each in element.find_elements(By.CSS_SELECTOR, selector)]


def select(page, name: str, value: str) -> None:
    """Select a value in a list of the page."""
    Select(page.find_element(By.ID, name)).select_by_value(value)


def press(page, keys: str) -> None:
    """Press keys while nothing has the focus."""
    page.execute_script("document.activeElement.blur()")
    page.find_element(By.TAG_NAME, "body").send_keys(keys)


def differences(first, second, word: int) -> bool:
    """Return whether head or label of a word differ."""
    return first.tree[word] != second.tree[word] or first.labels[word - 1] != second.labels[word - 1]


def wrong(first, second) -> list[int]:
    """Return the words whose head or label differ."""
    return [word for word in range(1, len(first) + 1) if differences(first, second, word)]


def read(folder: Path) -> tuple[list, list, list]:
    """Return the parsed, the other and the gold sentences."""
    return tuple(list(conll.read(folder / name)) for name in ("parsed.conllu", "other.conllu", "gold.conll"))


PLACES = """
return [...document.querySelectorAll('#s' + arguments[0] + ' .arc')].map((arc) => {
  const [tip, line] = ['.tip', '.line'].map((part) => arc.querySelector(part).getBoundingClientRect());
  return {word: Number(arc.dataset.word), head: Number(arc.dataset.head), kinds: arc.getAttribute('class'),
          tip: (tip.left + tip.right) / 2, left: line.left, right: line.right, middle: (line.top + line.bottom) / 2};
});
"""
WORDS = """
return [...document.querySelectorAll('#s' + arguments[0] + ' .form')].map((form) => {
  const box = form.getBoundingClientRect();
  return {text: form.textContent, x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2};
});
"""


def nearest(words: list[dict], x: float) -> int:
    """Return the number of the word nearest to a place."""
    return min(enumerate(words, 1), key=lambda pair: abs(pair[1]["x"] - x))[0]


def test_trees_are_where_they_should_be(page, report):
    """Each arc ends nearest to its word and reaches to its head; wrong arcs are above, gold ones below."""
    files = read(report)
    seen = 0
    for number in (1, 2, 3):
        sentence, gold = files[0][number - 1], files[2][number - 1]
        words, arcs = page.execute_script(WORDS, number), page.execute_script(PLACES, number)
        assert [word["text"] for word in words] == sentence.forms
        above = {arc["word"]: arc for arc in arcs if "other" not in arc["kinds"]}
        below = {arc["word"]: arc for arc in arcs if "other" in arc["kinds"]}
        assert sorted(above) == list(range(1, len(sentence) + 1)) and sorted(below) == wrong(sentence, gold)
        seen += len(below)
        for word, arc in [*above.items(), *below.items()]:
            tree = sentence if arc is above[word] else gold
            assert arc["head"] == tree.tree[word] and nearest(words, arc["tip"]) == word
            assert (arc["middle"] < words[0]["y"]) == (tree is sentence)
            other = arc["right"] if abs(arc["left"] - arc["tip"]) < 9 else arc["left"]
            assert arc["head"] in (0, nearest(words, other))
        assert [("wrong" in above[i]["kinds"]) for i in above] == [sentence.tree[i] != gold.tree[i] for i in above]
    assert seen > 0


def test_labels_do_not_overlap_in_the_browser(page):
    script = "return [...document.querySelectorAll('#s2 text.label')].map((t) => { const b = t.getBoundingClientRect();"
    boxes = page.execute_script(f"{script} return [b.left, b.right, (b.top + b.bottom) / 2]; }})")
    assert len(boxes) >= 4
    for (a, b, y), (c, d, y2) in itertools.combinations(boxes, 2):
        assert abs(y - y2) >= 12 or b <= c or d <= a


def test_the_script_and_the_library_agree_on_levels(page):
    """Both assign the same level to each arc and find the same crossings, for random trees."""
    chance = random.Random(0)
    cases = [random_tree(chance, chance.randint(1, 14))[1:] for _ in range(200)]
    script = "return arguments[0].map((heads) => arcLevels(heads.map((head, i) => ({head, word: i + 1}))))"
    for heads, found in zip(cases, page.execute_script(script, cases), strict=True):
        levels, crosses = arc_levels(arcs_of(heads, ["x"] * len(heads)))
        assert found["levels"] == levels and found["crosses"] == crosses


def test_sentences_are_drawn_when_they_come_into_view(page):
    drawn = "return document.querySelectorAll('article svg.tree').length"
    assert len(shown(page)) == COUNT
    assert 2 <= page.execute_script(drawn) < 20
    page.execute_script("document.getElementById('s200').scrollIntoView()")
    wait(page).until(lambda page: page.find_elements(By.CSS_SELECTOR, "#s200 svg"))
    assert page.execute_script(drawn) < 60
    top = "return [...document.querySelectorAll('article')].slice(0, 3).map((a) => a.getBoundingClientRect().height)"
    assert all(height > 100 for height in page.execute_script(top))


def test_filters_show_what_they_say(page, report):
    files = read(report)
    pairs = list(zip(files[0], files[2], strict=True))

    def check(test, **chosen) -> None:
        for name, value in chosen.items():
            select(page, name, value)
        found = [[i for i in range(1, len(a) + 1) if test(a, b, i)] for a, b in pairs]
        numbers = [n for n, each in enumerate(found, 1) if each]
        assert shown(page) == numbers and 0 < len(numbers) < COUNT
        assert page.find_element(By.ID, "count").text == f"{sum(map(len, found))} words in {len(numbers)} of {COUNT}"

    def label_only(a, b, i) -> bool:
        return a.tree[i] == b.tree[i] and differences(a, b, i)

    check(differences, differs="any")
    check(lambda a, b, i: differences(a, b, i) and "obj" in (a.labels[i - 1], b.labels[i - 1]), label="obj")
    check(lambda a, b, i: a.tree[i] != b.tree[i] and "obj" in (a.labels[i - 1], b.labels[i - 1]), differs="head")
    check(label_only, label="", differs="label")
    check(lambda a, b, i: label_only(a, b, i) and a.rows[i - 1][3] == "NOUN", tag="NOUN")
    check(lambda a, b, i: a.rows[i - 1][3] == "PART", differs="", tag="PART")
    select(page, "tag", "")
    crossing = [n for n, a in enumerate(files[0], 1) if any(arc_levels(arcs_of(a.heads.tolist(), a.labels))[1])]
    uncertified = [n for n, a in enumerate(files[0], 1) if not read_statistics(a)["certified"]]
    for name, numbers in (("only-crossing", crossing), ("only-uncertified", uncertified)):
        page.find_element(By.ID, name).click()
        assert shown(page) == numbers and 0 < len(numbers) < COUNT
        page.find_element(By.ID, name).click()


def test_orders(page, report):
    files = read(report)

    def confidence(n: int, words) -> list[float]:
        rows = files[0][n - 1].rows
        return [round(100 * float(rows[i - 1][9].removeprefix("Confidence="))) for i in words]

    def errors(n: int) -> float:
        a, b = files[0][n - 1], files[2][n - 1]
        return (sum(a.tree[i] != b.tree[i] for i in wrong(a, b)) + len(wrong(a, b))) / 2

    def certificate(n: int) -> float:
        found = read_statistics(files[0][n - 1])
        return 0.0 if found["certified"] else -1.0 - round(found["gap"], 6)

    orders = {"wrong": lambda n: -errors(n), "certificate": certificate}
    orders["unsure"] = lambda n: min(confidence(n, range(1, len(files[0][n - 1]) + 1)))
    orders["confident"] = lambda n: -max(confidence(n, wrong(files[0][n - 1], files[2][n - 1])), default=-1)
    numbers = range(1, COUNT + 1)
    for value, key in orders.items():
        select(page, "sort", value)
        assert shown(page) == sorted(numbers, key=lambda n, key=key: (key(n), n)), value
    select(page, "sort", "long")
    assert shown(page)[0] == max(numbers, key=lambda n: len(files[0][n - 1]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_a_certificate_rests_on(page, report, scheme):
    """By keyboard and by mouse; over which arcs it holds is said without opening it."""
    prefer(page, scheme)
    files, ground = read(report)[0], {"light": "rgba(255, 255, 255, 1)", "dark": "rgba(21, 24, 29, 1)"}[scheme]
    found = [read_statistics(sentence) for sentence in files]
    chosen = [next(n for n, each in enumerate(found) if each["certified"] is kind) for kind in (True, False)]
    for n, numbers in ((n, found[n]) for n in chosen):
        page.execute_script("document.getElementById(`s${arguments[0]}`).scrollIntoView()", n + 1)
        select = f"#s{n + 1} .certificate"
        button = wait(page).until(lambda page, select=select: page.find_element(By.CSS_SELECTOR, select))
        facts = page.find_element(By.CSS_SELECTOR, f"{select} + dl")
        arcs = covered(numbers, len(files[n]))
        assert button.text.endswith(f" over {arcs}") and not facts.is_displayed()
        button.send_keys(Keys.ENTER)
        assert facts.is_displayed() and facts.value_of_css_property("background-color") == ground
        given = dict(zip(texts(facts, "dt"), texts(facts, "dd"), strict=True))
        assert given["Arcs"].startswith(arcs) and given["Search"].startswith(f"{numbers['iterations']} iteration")
        assert ("Proved" in given) is numbers["certified"] and ("Gap" in given) is not numbers["certified"]
        assert given["Score"] == f"7.00; its upper bound: {numbers['bound']:.2f}"
        assert ("pruned arc" in given["On trust"]) is not arcs.startswith("all")
        page.switch_to.active_element.send_keys(Keys.ESCAPE)
        assert not facts.is_displayed() and page.switch_to.active_element == button
        button.click()
        assert facts.is_displayed()
        button.click()
        assert not facts.is_displayed()


def test_keys(page):
    press(page, "j")
    assert page.find_element(By.CSS_SELECTOR, "article[aria-current]").get_attribute("id") == "s1"
    press(page, "jjk")
    article = page.find_element(By.CSS_SELECTOR, "article[aria-current]")
    assert article.get_attribute("id") == "s2"
    focus = page.switch_to.active_element
    focus.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert article.find_element(By.CSS_SELECTOR, ".about").text.startswith("1 ")
    assert len(article.find_elements(By.CSS_SELECTOR, ".word.chosen")) == 1
    press(page, "/")
    assert page.switch_to.active_element.get_attribute("id") == "text"
    page.switch_to.active_element.send_keys("jw?", Keys.ESCAPE)
    assert len(shown(page)) == COUNT and page.find_element(By.ID, "text").get_attribute("value") == ""
    press(page, "w")
    assert 0 < len(shown(page)) < COUNT
    press(page, "w?")
    assert page.find_element(By.ID, "help").is_displayed()
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not page.find_element(By.ID, "help").is_displayed()
    press(page, "a")
    assert page.find_element(By.ID, "analysis").is_displayed() and not page.find_element(By.ID, "list").is_displayed()
    press(page, "a")
    assert page.find_element(By.ID, "list").is_displayed()


def test_light_and_dark(page):
    def ground() -> str:
        return page.execute_script("return getComputedStyle(document.body).backgroundColor")

    light, dark = "rgb(245, 246, 248)", "rgb(15, 18, 22)"
    assert ground() == light
    prefer(page, "dark")
    assert ground() == dark
    press(page, "t")
    assert ground() == light
    page.refresh()
    assert ground() == light, "the choice is kept"
    press(page, "tt")
    assert ground() == dark
    prefer(page, "light")
    assert ground() == light, "as the system again"


def test_printing_draws_all_sentences_that_are_shown(page):
    page.find_element(By.ID, "only-uncertified").click()
    count = len(shown(page))
    assert page.execute_script("return document.querySelectorAll('article svg.tree').length") < count
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    assert page.execute_script("return document.querySelectorAll('article svg.tree').length") == count


def test_other_pairs_of_trees(page, report):
    files = read(report)
    Select(page.find_element(By.ID, "pair")).select_by_visible_text("other.conllu / gold")
    wait(page).until(lambda page: page.find_elements(By.CSS_SELECTOR, "#s1 svg"))
    below = sorted(arc["word"] for arc in page.execute_script(PLACES, 1) if "other" in arc["kinds"])
    assert below == wrong(files[1][0], files[2][0])
    Select(page.find_element(By.ID, "pair")).select_by_visible_text("parsed.conllu / other.conllu")
    select(page, "differs", "any")
    pairs = enumerate(zip(files[0], files[1], strict=True), 1)
    assert shown(page) == [n for n, (a, b) in pairs if wrong(a, b)]


def test_analysis_leads_to_sentences(page, report):
    page.find_element(By.ID, "tab-analysis").click()
    titles = texts(page, ".table h3")
    assert titles[0] == "Scores" and "Confused labels" in titles and "By crossing" in titles
    row = next(row for row in page.find_elements(By.CSS_SELECTOR, ".table tr") if row.text.startswith("acl"))
    row.find_element(By.TAG_NAME, "button").click()
    assert page.find_element(By.ID, "differs").get_attribute("value") == "any"
    files = read(report)
    pairs = enumerate(zip(files[0], files[2], strict=True), 1)
    labels = {n: {each.labels[i - 1] for i in wrong(a, b) for each in (a, b)} for n, (a, b) in pairs}
    expected = [n for n, own in labels.items() if "acl" in own]
    assert shown(page) == expected and expected


def test_names_for_those_who_do_not_see(page):
    """Every control and picture has a name; the state of toggles is known."""
    controls = page.find_elements(By.CSS_SELECTOR, "button, select, input, svg.tree[role], [role=group]")
    assert len(controls) > 12
    assert all(each.accessible_name for each in controls if each.is_displayed())
    assert page.find_element(By.ID, "only-crossing").get_attribute("aria-pressed") == "false"


def test_hostile_strings_are_text(browser, tmp_path):
    """Neither markup nor scripts, and without control characters and changes of direction."""
    nasty = ["</script><script>window.hacked=1</script>", "<img/src=x/onerror=window.hacked=1>", "<b>", "{data}"]
    nasty.append("a\u202eb\u2066\x1b\x7f\u2028c")
    rows = "".join(f"{i}\t{w}\t{w}\t{w}\t_\t_\t{i - 1}\t{w}\t_\t_\n" for i, w in enumerate(nasty, 1))
    for name, text in (("<i>a", rows), ("b", rows.replace(f"\t4\t{nasty[4]}", "\t4\tx"))):
        (tmp_path / f"{name}.conllu").write_text(f"# sent_id = {nasty[1]}{nasty[4]}\n{text}\n", "utf-8", newline="")
    files = [str(tmp_path / "<i>a.conllu"), "--gold", str(tmp_path / "b.conllu")]
    assert main(["show", *files, "-o", str(tmp_path / "report.html")]) == 0
    open_report(browser, tmp_path)
    assert texts(browser, "#s1 .form") == [*nasty[:4], visible(nasty[4])]
    browser.find_elements(By.CSS_SELECTOR, "#s1 .word")[-1].click()
    script = """
    const names = [...document.querySelectorAll("[aria-label]")].map((each) => each.getAttribute("aria-label"));
    const texts = [...document.querySelectorAll("body > :not(script)")].map((each) => each.textContent);
    return [...texts, ...names].join(" ");
    """
    text = browser.execute_script(script)
    assert text.count(visible(nasty[4])) > 8
    assert not set(text) & set("\u202e\u2066\x1b\x7f\u2028")
    browser.find_element(By.ID, "tab-analysis").click()
    assert not browser.execute_script("return window.hacked")
    assert browser.find_elements(By.CSS_SELECTOR, "main img, main b:not(.tile b), h1 i") == []
    everything = [chr(code) for code in range(0x3000)] + ["\ufffe", "\uffff", "\U0001f600"]
    assert browser.execute_script("return arguments[0].map(visible)", everything) == list(map(visible, everything))
    assert browser.get_log("browser") == []
