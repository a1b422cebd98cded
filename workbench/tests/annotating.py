"""The page of the annotator in a browser, for tests."""

from __future__ import annotations

from pathlib import Path

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait


class Page:
    """The page in a browser: a user's actions, and what the page shows."""

    def __init__(self, browser, url: str):
        self.browser, self.url = browser, url

    def open(self) -> Page:
        """Load the page, and wait for the first sentence."""
        self.browser.get(self.url)
        return self.ready()

    def ready(self) -> Page:
        """Wait for the tree of a sentence."""
        self.wait(lambda: self.run("return Boolean(sentence && document.querySelector('svg.tree .word'))"))
        return self

    def leave(self, *expected: str) -> None:
        """Leave the page, before its server stops; the console may only have messages with the expected texts."""
        self.browser.get("about:blank")
        said = [each["message"] for each in self.browser.get_log("browser")]
        assert [text for text in said if not any(each in text for each in expected)] == []

    def wait(self, condition, seconds: float = 30) -> object:
        """Wait until a condition holds, and return its value."""
        return WebDriverWait(self.browser, seconds, 0.03).until(lambda _: condition())

    def run(self, script: str, *arguments: object):
        """Run a script in the page."""
        return self.browser.execute_script(script, *arguments)

    def all(self, selector: str) -> list:
        """Return the elements of a selector."""
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str):
        """Return the first element of a selector."""
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def text(self, name: str) -> str:
        """Return the text of an element with an id."""
        return self.run("return document.getElementById(arguments[0]).textContent", name)

    def press(self, *keys: str) -> Page:
        """Press keys in the tree."""
        self.run("document.getElementById('scroll').focus()")
        return self.type(*keys)

    def type(self, *keys: str) -> Page:
        """Press keys where the focus is."""
        self.browser.switch_to.active_element.send_keys(*keys)
        return self

    def chord(self, *keys: str) -> Page:
        """Press the last key while the others are held."""
        chain = ActionChains(self.browser)
        for key in keys[:-1]:
            chain = chain.key_down(key)
        chain = chain.send_keys(keys[-1])
        for key in keys[:-1]:
            chain = chain.key_up(key)
        chain.perform()
        return self

    def visit(self, i: int) -> Page:
        """Open a sentence, counted from 1."""
        self.run("visit(arguments[0])", i - 1)
        self.wait(lambda: self.run("return sentence.i") == i - 1)
        return self

    def settled(self) -> Page:
        """Wait until no edit is on its way."""
        self.wait(lambda: not self.run("return pending()"))
        return self

    @property
    def sentence(self) -> dict:
        """The sentence that the page shows, as the server sent it."""
        return self.run("return sentence")

    @property
    def heads(self) -> list:
        """The head of each word by the drawn arcs; None for a word without an arc."""
        script = """
        const heads = sentence.words.map(() => null);
        for (const arc of document.querySelectorAll("#scroll .arc:not(.other):not(.forbidden)"))
          heads[Number(arc.dataset.word) - 1] = Number(arc.dataset.head);
        return heads;
        """
        return self.run(script)

    @property
    def labels(self) -> list[str]:
        """The labels as drawn."""
        script = """
        const labels = sentence.words.map(() => "");
        for (const label of document.querySelectorAll("#scroll .label:not(.other):not(.forbidden)"))
          labels[Number(label.dataset.word) - 1] = label.textContent;
        return labels;
        """
        return self.run(script)

    @property
    def chosen(self) -> int:
        """The chosen word."""
        return self.run("return chosen")

    def form(self, word: int):
        """Return the element of a word's form in the tree."""
        return self.one(f"#scroll .word[data-word='{word}'] .form")

    def label(self, word: int):
        """Return the element of a word's label in the tree."""
        return self.one(f"#scroll .label[data-word='{word}']:not(.other):not(.forbidden)")

    def drop(self, word: int, head: int) -> Page:
        """Drag a word to its new head, 0 for the bar of the root, and wait for the answer."""
        target = self.form(head) if head else self.one("#root")
        ActionChains(self.browser).click_and_hold(self.form(word)).move_to_element(target).release().perform()
        return self.settled()

    def cell(self, word: int, column: str):
        """Return a cell of the table."""
        return self.one(f"#words tr[data-m='{word}'] td[data-column='{column}']")

    def set_cell(self, word: int, column: str, value: str) -> Page:
        """Write into a cell of the table."""
        self.cell(word, column).click()
        field = self.one("#choice")
        field.send_keys(Keys.CONTROL, "a", Keys.NULL, value or Keys.DELETE, Keys.ENTER)
        return self.settled()


def emulate(browser, scheme: str = "light", width: int = 1400, height: int = 900) -> None:
    """Emulate a system with light or dark colours and a window of a size."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def write(path: Path, *sentences: list[tuple[str, str, int, str]]) -> Path:
    """Write sentences, each a list of form, tag, head and label, in CoNLL-U."""
    blocks = []
    for number, rows in enumerate(sentences, 1):
        lines = [f"# sent_id = s{number}", f"# text = {' '.join(row[0] for row in rows)}"]
        for i, (form, tag, head, label) in enumerate(rows, 1):
            lines.append(f"{i}\t{form}\t{form}\t{tag}\t_\t_\t{'_' if head is None else head}\t{label}\t_\t_")
        blocks.append("\n".join(lines) + "\n\n")
    path.write_text("".join(blocks), encoding="utf-8")
    return path
