"""Annotation in a real browser, with real clicks, keys and drags; skipped without Chromium and its driver."""

from pathlib import Path

import pytest

pytest.importorskip("selenium")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from annotating import Page, emulate, write  # noqa: E402
from opening import Annotator  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from nonproj.io import conll  # noqa: E402

LILLE = [
    ("den", "DET", None, "_"),
    ("lille", "ADJ", None, "_"),
    ("hund", "NOUN", None, "_"),
    ("ser", "VERB", None, "_"),
]
LILLE += [
    ("stor", "ADJ", None, "_"),
    ("kat", "NOUN", None, "_"),
    ("sovende", "PART", None, "_"),
    (".", "PUNCT", None, "_"),
]
SHORT = [("mand", "NOUN", None, "_"), ("kender", "VERB", None, "_"), (".", "PUNCT", None, "_")]


@pytest.fixture
def annotator(noisy_model, tmp_path: Path):
    """The annotator of a file of three sentences without trees."""
    path = write(tmp_path / "toy.conllu", LILLE, SHORT, LILLE)
    annotator = Annotator(path, "-m", noisy_model)
    annotator.path = path
    yield annotator
    if annotator.process.poll() is None:
        annotator.stop()


@pytest.fixture
def page(browser, annotator):
    """The page; in the end there is nothing in the browser's console."""
    emulate(browser)
    page = Page(browser, annotator.url).open()
    yield page
    page.leave("(Bad Request)")  # which the browser notes itself


def stored(page: Page, annotator: Annotator) -> list:
    """Leave the page, stop the program, and return the sentences of its file."""
    page.leave("(Bad Request)")
    assert annotator.stop() == 0
    return list(conll.read(annotator.path))


def test_a_word_is_dragged_to_its_new_head_and_the_rest_is_decoded_again(page, annotator):
    before = page.heads
    assert before[3] == 0 and "no tree scores higher" in page.text("proof")
    page.drop(3, 6)
    after = page.heads
    assert after[2] == 6 != before[2]
    arcs = page.sentence["proof"]["arcs"]
    assert f"✓ over {arcs} of 64 arcs, no tree that obeys your 1 decision scores higher" in page.text("proof")
    facts = page.one("#proof dl")
    page.one("#proof button").send_keys(Keys.ENTER)  # which does not accept the sentence
    assert (
        "no tree over these arcs that obeys your 1 decision" in facts.text and "your decisions are right" in facts.text
    )
    assert f"{arcs} of 64 arcs; the others were pruned" in facts.text and "nonproj-check-proofs" in facts.text
    page.type(Keys.ESCAPE)
    assert not facts.is_displayed() and not page.sentence["done"]
    kinds = page.one("#scroll .arc[data-word='3']").get_attribute("class").split()
    assert {"decided", "changed"} <= set(kinds)
    assert page.all("#scroll .arc[data-word='3'] .dot")  # not by colour alone
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b]
    assert {int(arc.get_attribute("data-word")) for arc in page.all("#scroll .arc.changed")} >= set(changed)
    assert "3 hund" in page.text("changes") and "6 kat" in page.text("changes")
    [sentence, *_] = stored(page, annotator)
    assert [int(head) for head in sentence.tree[1:]] == after
    assert "Head=6" in sentence.rows[2][9]


@pytest.mark.thorough
def test_a_word_is_dropped_on_the_bar_of_the_root(page):
    page.drop(6, 0)
    assert page.heads[5] == 0
    assert page.heads[3] != 0  # one root in this language
    page.press("u").settled()
    assert page.heads[3] == 0


@pytest.mark.thorough
def test_a_drag_that_ends_nowhere_or_by_escape_changes_nothing(page):
    before, version = page.heads, page.sentence["version"]
    chain = ActionChains(page.browser).click_and_hold(page.form(3))
    chain.move_by_offset(0, -60).move_by_offset(30, -20).release().perform()
    ActionChains(page.browser).click_and_hold(page.form(3)).move_to_element(page.form(6)).perform()
    assert page.all("#scroll .word.target") and page.all("#scroll .band")
    ActionChains(page.browser).send_keys(Keys.ESCAPE).release().perform()
    assert page.heads == before and page.sentence["version"] == version
    assert not page.all("#scroll .band")


@pytest.mark.thorough
def test_an_arc_is_dragged_by_its_line(page):
    box = page.run(
        "const b = document.querySelector(\"#scroll .arc[data-word='6'] .line\").getBoundingClientRect();"
        "return [b.left + b.width * 0.25, b.top];"
    )
    chain = ActionChains(page.browser)
    chain.w3c_actions.pointer_action.move_to_location(*map(round, box))
    chain.w3c_actions.pointer_action.pointer_down()
    chain.move_to_element(page.form(3)).release().perform()
    page.settled()
    assert page.heads[5] == 3


def test_a_label_is_clicked_and_another_one_typed(page, annotator):
    page.label(3).click()
    field = page.one("#choice")
    assert page.browser.switch_to.active_element == field
    assert field.get_attribute("value") == page.sentence["words"][2]["deprel"] == "nsubj"
    field.send_keys("ob")
    assert [each.text for each in page.all("#choices [aria-selected=true]")] == ["obj"]
    field.send_keys(Keys.ENTER)
    page.settled()
    assert page.labels[2] == "obj" and "named" in page.label(3).get_attribute("class")
    page.label(3).click()
    page.one("#choice").send_keys("obj:new", Keys.ENTER)  # a label that the file does not know
    page.settled()
    assert page.labels[2] == "obj:new"
    page.label(3).click()
    page.one("#choice").send_keys("nsubj", Keys.ESCAPE)
    assert page.labels[2] == "obj:new" and not page.one("#chooser").is_displayed()
    assert stored(page, annotator)[0].labels[2] == "obj:new"


def test_everything_by_keys(page, annotator):
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.chosen == 3 and "3 hund" in page.text("about")
    page.press("a", "6")
    assert "6 kat" in page.text("mode")
    page.press(Keys.ENTER).settled()
    assert page.heads[2] == 6
    page.press("a", Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ENTER).settled()
    assert page.heads[2] == 4
    page.press("a", "6", Keys.ESCAPE).settled()
    assert page.heads[2] == 4 and not page.one("#mode").is_displayed()
    page.press("l")
    page.type("acl", Keys.ENTER)
    page.settled()
    assert page.labels[2] == "acl"
    page.press("u").settled()
    assert page.labels[2] != "acl"
    page.chord(Keys.CONTROL, "y").settled()
    assert page.labels[2] == "acl"
    page.chord(Keys.CONTROL, "z").settled()
    page.press("d").settled()
    assert page.sentence["words"][2]["decided"] == []
    page.press(Keys.HOME)
    assert page.chosen == 1
    page.press(" ").settled()
    page.wait(lambda: page.chosen == 2)
    assert page.sentence["words"][0]["decided"] == ["head", "deprel"]
    page.press(Keys.ARROW_UP)
    assert page.chosen == page.sentence["words"][1]["head"]
    page.press(Keys.END)
    assert page.chosen == 8
    page.press(Keys.ENTER)
    page.wait(lambda: page.run("return sentence.i") == 1)
    assert page.run("return file.sentences.done") == [1, 0, 0]
    page.press("k")
    page.wait(lambda: page.run("return sentence.i") == 0)
    assert page.sentence["done"] and "Accepted" in page.text("accept")
    page.chord(Keys.SHIFT, Keys.ENTER).settled()
    assert not page.sentence["done"]


@pytest.mark.thorough
def test_a_head_that_is_not_allowed(page):
    old = page.heads[6]
    page.run("select(7)")
    page.press("x").settled()
    assert page.heads[6] != old
    [arc] = page.all("#scroll .arc.forbidden")
    assert arc.get_attribute("data-word") == "7" and int(arc.get_attribute("data-head")) == old
    assert "not allowed" in page.text("about")
    page.one("#scroll .label.forbidden").click()  # which allows it again
    page.settled()
    assert page.heads[6] == old and not page.all("#scroll .arc.forbidden")


@pytest.mark.thorough
def test_the_best_trees_are_shown_and_taken(page):
    page.wait(lambda: len(page.all("#best button")) >= 3)
    trees = page.run("return best.trees")
    assert trees[0]["heads"] == page.heads and trees[0]["difference"] == 0
    assert [tree["difference"] for tree in trees] == sorted(tree["difference"] for tree in trees)
    ActionChains(page.browser).move_to_element(page.all("#best button")[1]).perform()
    below = {int(arc.get_attribute("data-word")) for arc in page.all("#scroll .arc.other")}
    assert below == set(trees[1]["differs"])
    ActionChains(page.browser).move_to_element(page.one("#sentence-name")).perform()
    page.press("2").settled()
    assert page.heads == trees[1]["heads"]
    decided = [i for i, each in enumerate(page.sentence["words"], 1) if each["decided"]]
    assert decided == trees[1]["differs"]


def test_unsure_words_look_unsure_and_are_found_by_a_key(page):
    sure = [each["p"]["head"] for each in page.sentence["words"]]
    unsure = [i for i, p in enumerate(sure, 1) if p < 0.8]
    assert unsure
    for i, p in enumerate(sure, 1):
        kinds = page.one(f"#scroll .arc[data-word='{i}']").get_attribute("class").split()
        assert ("unsure" in kinds or "doubtful" in kinds) == (p < 0.8)
    page.press(Keys.HOME, "n")
    assert page.chosen == next(i for i in unsure if i > 1)
    dashes = page.run(
        f"return getComputedStyle(document.querySelector(\".arc[data-word='{unsure[0]}'] .line\")).strokeDasharray"
    )
    assert dashes != "none"


def test_the_table_edits_every_column(page, annotator):
    page.set_cell(3, "lemma", "hundehvalp").set_cell(3, "upos", "PROPN").set_cell(3, "xpos", "x").set_cell(
        3, "feats", "A=1"
    )
    page.set_cell(6, "head", "3").set_cell(6, "deprel", "nmod").set_cell(1, "misc", "Note=a b").set_cell(
        2, "form", "ganske"
    )
    row = page.sentence["words"][2]
    assert [row[name] for name in ("lemma", "upos", "xpos", "feats")] == ["hundehvalp", "PROPN", "x", "A=1"]
    assert page.heads[5] == 3 and page.labels[5] == "nmod"
    assert page.form(2).text == "ganske"
    page.set_cell(6, "head", "99")
    assert "from 0 to 8" in page.text("notice-text") and page.heads[5] == 3
    page.set_cell(6, "head", "")
    assert page.sentence["words"][5]["decided"] == ["deprel"] or not page.sentence["words"][5]["decided"]
    [sentence, *_] = stored(page, annotator)
    assert sentence.rows[2][2:6] == ["hundehvalp", "PROPN", "x", "A=1"] and sentence.forms[1] == "ganske"
    assert "Note=a b" in sentence.rows[0][9]


@pytest.mark.thorough
def test_tab_goes_from_column_to_column(page):
    page.cell(1, "form").click()
    page.one("#choice").send_keys(Keys.TAB)
    page.type("the", Keys.TAB)
    page.settled()
    assert page.sentence["words"][0]["lemma"] == "the"
    assert page.text("chooser-title") == "UPOS of 1 den"
    page.type(Keys.ESCAPE)
    page.press("e", Keys.ARROW_DOWN, Keys.ARROW_LEFT)
    assert page.browser.switch_to.active_element == page.cell(2, "lemma")
    page.type(Keys.ENTER, "xyz", Keys.ENTER)
    page.settled()
    assert page.sentence["words"][1]["lemma"] == "xyz"


def test_words_are_split_and_joined(page, annotator):
    page.run("select(3)")
    page.press("s")
    page.type(Keys.END, Keys.ARROW_LEFT, Keys.ARROW_LEFT, " ", Keys.ENTER)
    page.settled()
    assert [each["form"] for each in page.sentence["words"]][:5] == ["den", "lille", "hu", "nd", "ser"]
    assert len(page.heads) == 9 and page.heads.count(0) == 1
    page.run("select(3)")
    page.press("o").settled()
    assert len(page.sentence["words"]) == 8 and page.sentence["words"][2]["form"].replace(" ", "") == "hund"
    page.press("u", "u").settled()
    page.wait(lambda: [each["form"] for each in page.sentence["words"]] == [row[0] for row in LILLE])
    page.run("select(1)")
    page.press("w")
    page.type("denlille", Keys.ENTER)
    page.settled()
    assert page.sentence["multiword"][0]["form"] == "denlille" and page.all("#scroll .multiword")
    assert "1-2" in page.one("#words tr.multiword").text
    assert "1-2\tdenlille\t" in "".join(stored(page, annotator)[0].lines)


@pytest.mark.thorough
def test_sentences_are_split_and_joined(page, annotator):
    page.run("select(4)")
    page.press("S").settled()
    page.wait(lambda: page.run("return file.n") == 4)
    assert len(page.sentence["words"]) == 4 and page.heads.count(0) == 1
    page.press("O").settled()
    page.wait(lambda: page.run("return file.n") == 3)
    assert len(page.sentence["words"]) == 8
    assert page.text("count") == "3 sentences"
    assert [len(each) for each in stored(page, annotator)] == [8, 3, 8]


@pytest.mark.thorough
def test_a_cycle_of_decisions_is_refused_in_words(page):
    page.drop(3, 6)
    page.drop(6, 3)
    assert "cycle" in page.text("notice-text") and page.one("#notice").is_displayed()
    assert page.heads[2] == 6
    page.one("#notice-close").click()
    assert not page.one("#notice").is_displayed()


@pytest.mark.thorough
def test_comments(page, annotator):
    page.one("#comments summary").click()
    field = page.one("#comment-text")
    field.send_keys(Keys.CONTROL, Keys.END, Keys.NULL, Keys.ENTER, "# doubt = the participle")
    page.one("#comment-save").click()
    page.settled()
    assert "# doubt = the participle" in page.sentence["comments"]
    assert "# doubt = the participle\n" in stored(page, annotator)[0].lines


@pytest.mark.thorough
def test_help_names_every_key(page):
    page.press("?")
    assert page.one("#help").is_displayed()
    text = page.one("#help").text
    for word in ("attach the word", "choose its label", "undo", "next unsure word", "accept it", "split the word"):
        assert word in text
    page.type(Keys.ESCAPE)
    assert not page.one("#help").is_displayed()
    names = page.run("return KEYS.flatMap(([, rows]) => rows).filter((row) => row[2]).map((row) => row[0])")
    assert len(names) == len(set(names))


@pytest.mark.thorough
def test_names_and_roles_for_screen_readers(page):
    for element in page.all("button, input, select, textarea"):
        name = page.run(
            "const e = arguments[0]; return e.getAttribute('aria-label') || e.textContent.trim() || e.title"
            " || (e.labels && e.labels[0] ? 'labelled' : '')",
            element,
        )
        assert name, element.get_attribute("outerHTML")
    assert page.one("#about").get_attribute("aria-live") == "polite"
    assert page.one("svg.tree").get_attribute("aria-label").startswith("Dependency tree: den lille hund")
    assert len(page.all("#rows [role=option][aria-selected=true]")) == 1
    assert page.browser.find_elements(By.CSS_SELECTOR, "#tools button[disabled]")
