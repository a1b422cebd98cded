"""A headless browser for tests of pages; they are skipped, with a message, without Chromium and its driver."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from nonproj.pictures.pages import policy

FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1200,900"

NAMES_OF_REPORTS = ("state", "sentences", "update", "arcLevels", "visible")
"""Functions of the module of a report that tests use."""


@contextlib.contextmanager
def browsing(profile: Path) -> Iterator:
    """Start a browser that keeps its messages, with a separate profile."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("Chromium and its driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS.split(), f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def expose(page: Path, *names: str) -> None:
    """Make names of a page's module global, for tests, and let the page's policy allow it."""
    text = page.read_text(encoding="utf-8")
    [script] = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    exposing = f"{script}\nObject.assign(globalThis, {{{', '.join(names)}}});\n"
    old, new = (policy(each, "").split("; ")[1] for each in (script, exposing))
    assert old in text
    page.write_text(text.replace(script, exposing).replace(old, new), encoding="utf-8")


def shown(page) -> list[int]:
    """Return the numbers of the sentences that a report lists, from 1."""
    return page.execute_script("return [...document.querySelectorAll('article')].map((a) => Number(a.id.slice(1)))")


def prefer(browser, scheme: str) -> None:
    """Emulate a system with light or dark colours."""
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)


def open_report(browser, folder: Path, fragment: str = "") -> None:
    """Open the report of a folder anew in light colours, with a fragment of its address."""
    prefer(browser, "light")
    text = (folder / "report.html").read_text(encoding="utf-8")
    if "Object.assign(globalThis" not in text:
        expose(folder / "report.html", *NAMES_OF_REPORTS)
    browser.get("about:blank")
    browser.get(f"file://{folder / 'report.html'}{fragment}")
    wait_for_trees(browser)


def wait_for_trees(browser) -> None:
    """Wait for two frames, in which a report draws the trees that are in sight."""
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0])))")


def wait(page):
    """Return a waiter for conditions of a page, of ten seconds at most."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(page, 10, poll_frequency=0.02)


def found(page, text: str) -> list[int]:
    """Type into the filter of a report by word or lemma, and return the numbers of the sentences that it shows."""
    from selenium.webdriver.common.keys import Keys

    field = page.find_element("id", "text")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text or Keys.DELETE)
    wait(page).until(lambda page: page.execute_script("return state.text") == text)
    return shown(page)
