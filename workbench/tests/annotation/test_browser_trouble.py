"""Trouble: two windows, a killed server, odd text, small windows, large sentences and files."""

import random
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("selenium")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from annotating import Page, emulate, write  # noqa: E402
from opening import Annotator  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from toy import sentence as toy_sentence  # noqa: E402

from nonproj.io import conll  # noqa: E402

HUND = [("den", "DET", 2, "det"), ("hund", "NOUN", 3, "nsubj"), ("ser", "VERB", 0, "root"), ("hus", "NOUN", 3, "obj")]
MAND = [("mand", "NOUN", 2, "nsubj"), ("kender", "VERB", 0, "root"), (".", "PUNCT", 2, "punct")]
REFUSED = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "(Conflict)", "(Bad Request)")


@pytest.fixture
def started(browser, tmp_path: Path, request):
    """A function that writes sentences, starts the annotator and opens its page."""
    opened: list = []

    def start(*sentences, model: Path | None = None, words: tuple[str, ...] = (), wide: int = 1400):
        path = write(tmp_path / "file.conllu", *sentences)
        annotator = Annotator(path, *(["-m", model] if model else []), *words)
        annotator.path = path
        emulate(browser, width=wide, height=740 if wide < 500 else 900)
        page = Page(browser, annotator.url)
        opened.append((page, annotator))
        return page.open(), annotator

    yield start
    for page, annotator in opened:
        page.leave(*REFUSED)
        if annotator.process.poll() is None:
            annotator.stop(signal.SIGKILL)


def restart(annotator: Annotator, monkeypatch, token: str | None = None) -> None:
    """Start the annotator again at the same address."""
    monkeypatch.setenv("NONPROJ_TOKEN", token or annotator.token)
    annotator.start("--port", annotator.port)


# -- two windows -------------------------------------------------------------------------------------------------------


def test_of_two_windows_the_second_shows_what_the_first_has_changed(started):
    page, annotator = started(HUND, MAND)
    browser, first = page.browser, page.browser.current_window_handle
    page.run("clearTimeout(polling); poll = async () => {}")  # this window does not ask
    browser.switch_to.new_window("tab")
    try:
        emulate(browser)
        other = Page(browser, annotator.url).open()
        other.drop(4, 2)
        assert other.heads == [2, 3, 0, 2]
        browser.switch_to.window(first)
        assert page.heads == [2, 3, 0, 3]
        page.drop(1, 3)
        assert page.heads == [2, 3, 0, 2]  # the newer state; the drop was not made
        assert "changed elsewhere" in page.text("notice-text") and page.one("#notice-again").is_displayed()
        page.one("#notice-again").click()
        page.settled()
        assert page.heads == [3, 3, 0, 2]
        browser.switch_to.window(browser.window_handles[1])
        other.wait(lambda: other.heads == [3, 3, 0, 2])  # this one asks once in a while
    finally:
        browser.switch_to.window(browser.window_handles[1])
        browser.close()
        browser.switch_to.window(first)


@pytest.mark.thorough
def test_the_list_follows_the_other_window(started):
    page, annotator = started(HUND, MAND)
    answer = page.run(
        "return fetch('api/sentence/1', {headers: {'X-Token': token}}).then((r) => r.json()).then((s) =>"
        "fetch('api/sentence/1', {method: 'POST', headers: {'X-Token': token, 'Content-Type': 'application/json'},"
        "body: JSON.stringify({version: s.version, edit: {op: 'done', value: true}})})).then((r) => r.status)"
    )
    assert answer == 200
    page.wait(lambda: "1 of 2 done" in page.text("progress-text"))
    assert page.run("return sentence.i") == 0


# -- the server goes away ----------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_killed_server_is_noticed_and_its_return_too(started, monkeypatch):
    page, annotator = started(HUND, MAND)
    page.drop(4, 2)
    annotator.stop(signal.SIGKILL)
    page.wait(lambda: page.one("#lost").is_displayed())
    assert "cannot be reached" in page.text("lost")
    page.drop(1, 3) if not page.run("return pending()") else None
    assert page.heads == [2, 3, 0, 2] and "was not made" in page.text("notice-text")
    restart(annotator, monkeypatch)
    page.wait(lambda: not page.one("#lost").is_displayed())
    assert page.heads == [2, 3, 0, 2]  # what was answered was stored
    page.drop(1, 3)
    assert page.heads == [3, 3, 0, 2]
    page.leave(*REFUSED)
    assert annotator.stop() == 0
    assert next(conll.read(annotator.path)).tree[1:].tolist() == [3, 3, 0, 2]


@pytest.mark.thorough
def test_an_edit_without_an_answer_is_sent_again(started, monkeypatch):
    page, annotator = started(HUND, MAND)
    page.run("clearTimeout(polling); window.oldPoll = poll; poll = async () => {}")  # the page does not know yet
    time.sleep(1)  # what it asked before is answered
    annotator.stop(signal.SIGKILL)
    ActionChains(page.browser).click_and_hold(page.form(4)).move_to_element(page.form(2)).release().perform()
    page.wait(lambda: page.one("#lost").is_displayed())
    assert "your last edit is kept" in page.text("lost")
    restart(annotator, monkeypatch)
    page.run("poll = window.oldPoll; poll()")
    page.settled()
    page.wait(lambda: page.heads == [2, 3, 0, 2])
    assert not page.one("#lost").is_displayed()


@pytest.mark.thorough
def test_a_server_with_another_token_says_where_to_go(started, monkeypatch):
    page, annotator = started(HUND)
    annotator.stop(signal.SIGKILL)
    restart(annotator, monkeypatch, token="another")
    page.wait(lambda: "another address" in page.text("lost"))
    page.browser.get(page.url)
    assert "token" in page.one("body").text and not page.all("script")
    page.browser.get_log("browser")


@pytest.mark.thorough
def test_a_reloaded_page_shows_the_same_sentence_and_what_was_decided(started):
    page, _ = started(HUND, MAND)
    page.visit(2)
    page.drop(3, 1)
    page.browser.refresh()
    page.ready()
    assert page.run("return sentence.i") == 1 and page.heads == [2, 0, 1]
    assert page.sentence["words"][2]["decided"] == ["head"]
    page.press("u").settled()
    assert page.heads == [2, 0, 2]


# -- text --------------------------------------------------------------------------------------------------------------

NASTY = "<img/src=x/onerror=document.title='hit'>"


def test_markup_in_the_file_is_text(started):
    rows = [(NASTY, "<b>", 2, "<i>x</i>"), ("&amp;</script><script>document.title='hit'</script>", "'\"", 0, "root")]
    page, _ = started(rows, HUND)
    page.run("listing.query = ''; list()")
    assert page.form(1).text == NASTY and page.label(1).text == "<i>x</i>"
    assert NASTY in page.one("#rows").text and page.cell(1, "upos").text == "<b>"
    page.run("select(1)")
    page.press("l")
    assert page.one("#choices").text.count("<i>x</i>") == 1
    page.type(Keys.ESCAPE)
    page.set_cell(2, "lemma", NASTY)
    page.drop(1, 0)
    assert NASTY in page.text("changes") + page.text("about")
    assert not page.all("main img, main b:not([class]) i, #words b")
    assert "hit" not in page.browser.title


HEBREW = [
    ("הילד", "NOUN", 2, "nsubj"),
    ("ראה", "VERB", 0, "root"),
    ("את", "ADP", 4, "case"),
    ("הכלב", "NOUN", 2, "obj"),
]


@pytest.mark.thorough
def test_text_from_right_to_left(started):
    page, _ = started(HEBREW)
    places = page.run("return drawn.centers")
    assert places == sorted(places, reverse=True)
    page.press(Keys.HOME, Keys.ARROW_LEFT)
    assert page.chosen == 2
    page.press(Keys.ARROW_RIGHT)
    assert page.chosen == 1
    page.drop(3, 2)
    assert page.heads == [2, 0, 2, 2]
    page.run("select(3)")
    page.press("a", Keys.ARROW_LEFT, Keys.ENTER).settled()  # from its head, 2, over itself to 4
    assert page.heads == [2, 0, 4, 2]
    assert page.one("#text").get_attribute("dir") == "rtl"


# -- windows -----------------------------------------------------------------------------------------------------------


def long_rows(n: int) -> list:
    """A sentence of n words, each of whose heads is the one before."""
    return [(f"ord{i}", "NOUN", i - 1, "dep") for i in range(1, n + 1)]


@pytest.mark.thorough
def test_a_telephone(started):
    page, _ = started(HUND, MAND, long_rows(30), wide=360)
    assert page.run("return document.documentElement.scrollWidth") <= 360
    assert not page.one("#listing").is_displayed()
    page.one("#open-list").click()
    assert page.one("#listing").is_displayed()
    page.all("#rows [role=option]")[2].click()
    page.wait(lambda: page.run("return sentence.i") == 2)
    assert not page.one("#listing").is_displayed()
    assert page.one("#wide-sign").is_displayed() and "in view" in page.text("wide-text")  # too small to be read
    page.one("#fit").click()
    assert page.run("return drawn.svg.getBoundingClientRect().width") <= 360 and "drawn at" in page.text("wide-text")
    page.one("#fit").click()
    page.visit(1)
    touch(page, page.form(4), page.form(2))
    page.settled()
    assert page.heads == [2, 3, 0, 2]
    page.label(1).click()
    box = page.run("return document.getElementById('chooser').getBoundingClientRect().toJSON()")
    assert box["left"] >= 0 and box["right"] <= 360
    page.type(Keys.ESCAPE)
    assert page.run("return document.documentElement.scrollWidth") <= 360


@pytest.mark.thorough
def test_a_completion_is_tapped(started):
    page, _ = started(HUND, MAND, wide=360)
    page.label(1).click()
    options = page.all("#choices [role=option]")
    tap(page, next(option for option in options if option.text == "obj"))
    page.wait(lambda: page.labels[0] == "obj")
    time.sleep(0.7)
    assert page.chosen == 1 and not page.one("#chooser").is_displayed()  # nothing behind the list was tapped


def tap(page: Page, element) -> None:
    """Tap an element with a finger."""
    x, y = page.run(
        "const b = arguments[0].getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]", element
    )
    tap = {"x": x, "y": y, "duration": 50, "gestureSourceType": "touch"}
    page.browser.execute_cdp_cmd("Input.synthesizeTapGesture", tap)


def touch(page: Page, start, end) -> None:
    """Drag by a finger."""
    where = "const b = arguments[0].getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]"
    (x, y), (x2, y2) = (page.run(where, element) for element in (start, end))
    steps = [("touchStart", x, y), ("touchMove", x + 9, y), ("touchMove", x2, y2), ("touchEnd", x2, y2)]
    for kind, a, b in steps:
        points = [] if kind == "touchEnd" else [{"x": a, "y": b}]
        page.browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.mark.thorough
def test_a_wide_tree_fits_into_the_window(started):
    page, _ = started(long_rows(20), long_rows(18))
    width = "return drawn.svg.getBoundingClientRect().width / find('scroll').clientWidth"
    assert page.run(width) <= 1 < page.run("return drawn.svg.getAttribute('width') / find('scroll').clientWidth")
    assert "drawn at" in page.text("wide-text")
    page.drop(20, 2)
    assert page.heads[19] == 2
    page.press("f")
    assert page.run(width) > 1 and "in view" in page.text("wide-text")
    page.visit(2)
    assert page.run(width) > 1  # as chosen


@pytest.mark.thorough
def test_a_tree_scrolls_while_one_drags_to_its_edge(started):
    page, _ = started(long_rows(60))
    box = page.run("return document.getElementById('scroll').getBoundingClientRect().toJSON()")
    ActionChains(page.browser).click_and_hold(page.form(2)).perform()
    chain = ActionChains(page.browser, duration=0)
    chain.w3c_actions.pointer_action.move_to_location(int(box["right"]) - 8, int(box["bottom"]) - 40)
    chain.perform()
    page.wait(lambda: page.run("return document.getElementById('scroll').scrollLeft") > 300)
    ActionChains(page.browser).send_keys(Keys.ESCAPE).release().perform()
    assert page.heads[1] == 1


@pytest.mark.thorough
def test_dark_and_light(started):
    page, _ = started(HUND)
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(ground)
    page.press("t")
    dark = page.run(ground)
    assert light != dark
    page.browser.refresh()
    page.ready()
    assert page.run(ground) == dark
    page.run("localStorage.clear(); delete document.documentElement.dataset.theme")
    emulate(page.browser, "dark")
    assert page.run(ground) == dark


# -- sizes -------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_sentence_of_two_thousand_words(started):
    page, annotator = started(long_rows(2000))
    assert len(page.heads) == 2000
    assert len(page.all("#words tr.word")) < 80  # only rows in view
    page.press(Keys.END)
    assert page.chosen == 2000
    assert page.cell(2000, "form").is_displayed() and page.form(2000).is_displayed()
    page.drop(2000, 1998)
    assert page.heads[-1] == 1998
    page.press("a", "1", "7", "3", Keys.ENTER).settled()
    assert page.heads[-1] == 173


@pytest.mark.thorough
def test_the_tree_of_a_long_sentence_is_computed_on_demand(started, noisy_model):
    rows = [(form, tag, None, "_") for form, tag, *_ in toy_sentence(random.Random(1))]
    page, annotator = started((rows * 200)[:450], rows, model=noisy_model)
    assert "450 words; trees of more than 400 words are computed only on demand" in page.text("proof")
    assert page.heads == [None] * 450 and page.one("#compute").is_displayed()
    assert not page.one("#best-part").is_displayed()
    page.drop(2, 1)
    assert page.heads == [None, 1] + [None] * 448
    page.one("#compute").click()
    page.visit(2)
    assert None not in page.heads and not page.one("#compute").is_displayed()
    page.visit(1)
    page.wait(lambda: "that obeys your 1 decision scores higher" in page.text("proof"), 120)
    assert page.heads[1] == 1 and page.heads.count(0) == 1 and not page.one("#compute").is_displayed()
    page.press("u").settled()
    assert page.heads == [None, 1] + [None] * 448


@pytest.mark.thorough
def test_ten_thousand_sentences(started):
    page, _ = started(*([HUND, MAND] * 5000))
    assert page.text("count") == "10,000 sentences"
    assert len(page.all("#rows [role=option]")) < 60
    page.run("document.getElementById('rows').scrollTop = 1e7")
    page.wait(lambda: page.all("[data-i='9999']"))
    page.one("[data-i='9999']").click()
    page.wait(lambda: page.run("return sentence.i") == 9999)
    page.one("#search").send_keys("kender")
    page.wait(lambda: page.text("count") == "5,000 of 10,000 sentences")
    page.one("#search").send_keys(Keys.CONTROL, "a", Keys.NULL, "s777")
    page.wait(lambda: page.text("count").startswith("11 of"))
    page.drop(3, 1)
    page.press(Keys.ENTER)
    page.wait(lambda: page.text("progress-text") == "1 of 10,000 done")


@pytest.mark.thorough
def test_filters_and_orders(started, noisy_model):
    rows = [[(form, tag, None, "_") for form, tag, *_ in toy_sentence(random.Random(seed))] for seed in range(12)]
    page, _ = started(*rows, model=noisy_model)
    page.press(Keys.ENTER)
    page.wait(lambda: page.run("return sentence.i") == 1)
    page.one("[data-filter=open]").click()
    assert page.text("count") == "11 of 12 sentences"
    page.one("[data-filter=done]").click()
    assert page.run("return listing.shown") == [0]
    page.one("[data-filter=all]").click()
    page.wait(lambda: page.run("return file.sentences.doubt.slice(1).every((d) => d !== null)"))
    page.run("const o = document.getElementById('order'); o.value = 'doubt'; o.dispatchEvent(new Event('change'))")
    shown, doubt = page.run("return listing.shown"), page.run("return file.sentences.doubt")
    assert [doubt[i] for i in shown[:11]] == sorted((doubt[i] for i in shown[:11]), reverse=True) and shown[-1] == 0
    page.visit(shown[3] + 1)
    page.press("j")
    page.wait(lambda: page.run("return sentence.i") == shown[4])
