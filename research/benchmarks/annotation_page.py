"""The page of ``nonproj annotate`` in Chromium: from a drop to the new tree, and the opening of large files.

    python -m research.benchmarks.annotation_page FILE [MODEL] [--words 40] [--drops 50] [--sentences 10000]

It needs the workbench: make setup-workbench.

FILE is a treebank with heads.  Its sentence of the given length, or the next longer one, is edited by real drops of
words on other words, each undone by a key: reported are the milliseconds from the drop until the new tree is in the
document (its layout computed), until the frame with it is shown, and those that the server took.  Then a file of so
many sentences, FILE's own in turn, is opened: milliseconds until the browser's load event, and until the list and a
tree are drawn.  Times are those of this machine while it does whatever else it does.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nonproj.io import conll
from nonproj.kernels.interpreters import environment, python

FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-dev-shm-usage"


@contextlib.contextmanager
def annotating(path: Path, model: str | None) -> Iterator[str]:
    """Run the command, and yield its address."""
    command = python("-m", "nonproj", "annotate", str(path), *(["-m", model] if model else []))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\S+", line):
                yield found[0]
                return
        raise SystemExit(f"no address: {command}")
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def browsing(profile: str) -> Iterator[Any]:
    """Start a headless browser."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in [*FLAGS.split(), "--window-size=1500,950", f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield browser
    finally:
        browser.quit()


def open_page(browser: Any, address: str) -> None:
    """Load the page, and wait for a tree."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(address)
    ready = "return performance.getEntriesByName('ready').length"
    WebDriverWait(browser, 120, 0.05).until(lambda _: browser.execute_script(ready))


def drops(browser: Any, count: int, seed: int = 0) -> dict[str, list[float]]:
    """Drop words on other words of the open sentence, each undone, and return the milliseconds of each drop."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    chance, times = random.Random(seed), dict[str, list[float]]()
    script = """
    const sent = fetch;
    window.taken = [];
    window.fetch = async (...all) => {
      const answer = await sent(...all);
      if (all[1].method === "POST") answer.clone().json().then((body) => taken.push(body.milliseconds));
      return answer;
    };
    drawn.fit = true;
    draw();
    """
    browser.execute_script(script)
    shown = "return ['head', 'undo'].map((op) => performance.getEntriesByName(`shown ${op}`).length)"
    idle = "return !pending() && (best.trees.length > 0 || !file.model)"  # as when a person has looked at the tree
    done, wait = [0, 0], WebDriverWait(browser, 60, 0.02)
    n = browser.execute_script("return sentence.words.length")
    while done[0] < count:
        word, head = chance.sample(range(1, n + 1), 2)
        heads = browser.execute_script("return sentence.words.map((each) => each.head)")
        if heads[word - 1] == head:
            continue
        wait.until(lambda _: browser.execute_script(idle))
        places = [browser.find_element(By.CSS_SELECTOR, f"#scroll .word[data-word='{m}'] .form") for m in (word, head)]
        ActionChains(browser, duration=30).click_and_hold(places[0]).move_to_element(places[1]).release().perform()
        wait.until(lambda _: browser.execute_script("return !pending()"))
        if not browser.execute_script("return sentence.can_undo"):  # refused
            continue
        wait.until(lambda _, old=done[0]: browser.execute_script(shown)[0] > old)
        done[0] += 1
        browser.execute_script("edit({op: 'undo'})")
        done[1] += 1
        wait.until(lambda _, undone=done[1]: browser.execute_script(shown)[1] >= undone)
    for name in ("edit head", "shown head"):
        entries = "return performance.getEntriesByName(arguments[0]).map((each) => each.duration)"
        times[name] = browser.execute_script(entries, name)
    times["server"] = browser.execute_script("return taken")[::2]
    return times


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def report(name: str, milliseconds: list[float]) -> None:
    """Print the median, the ninth decile and the maximum."""
    ordered = sorted(milliseconds)
    tenth = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    say(f"{name:44} p50 {statistics.median(ordered):7.1f} ms   p90 {tenth:7.1f} ms   max {ordered[-1]:7.1f} ms")


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--words", type=int, default=40)
    parser.add_argument("--drops", type=int, default=50)
    parser.add_argument("--sentences", type=int, default=10000)
    options = parser.parse_args()
    sentences = list(conll.read(options.file))
    sentence = min((each for each in sentences if len(each) >= options.words), key=len)
    with tempfile.TemporaryDirectory() as folder, browsing(f"{folder}/profile") as browser:
        path = Path(folder, "sentence.conllu")
        path.write_text("".join(sentence.lines), encoding="utf-8")
        with annotating(path, options.model) as address:
            open_page(browser, address)
            times = drops(browser, options.drops)
            browser.get("about:blank")
        say(f"{options.drops} drops in a sentence of {len(sentence)} words")
        report("from the drop to the new tree, laid out", times["edit head"])
        report("from the drop to the frame with it", times["shown head"])
        report("of it on the server", times["server"])
        path = Path(folder, "many.conllu")
        many = itertools.islice(itertools.cycle(sentences), options.sentences)
        path.write_text("".join("".join(each.lines) for each in many), encoding="utf-8")
        with annotating(path, options.model) as address:
            opened: dict[str, list[float]] = {"load event": [], "list and tree drawn": []}
            for _ in range(5):
                open_page(browser, address)
                script = "return [performance.timing.loadEventEnd - performance.timing.navigationStart,"
                script += "performance.getEntriesByName('ready')[0].startTime]"
                for name, value in zip(opened, browser.execute_script(script), strict=True):
                    opened[name].append(value)
            browser.get("about:blank")
        say(f"{options.sentences} sentences opened 5 times")
        for name, values in opened.items():
            report(name, values)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
