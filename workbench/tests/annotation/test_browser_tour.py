"""The walk-through of the documentation: its commands are run, and its keys pressed in a real browser."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("selenium")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("udtools")

from annotating import Page, emulate  # noqa: E402
from command import ROOT  # noqa: E402
from opening import Annotator  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from toy import noisy_sentences  # noqa: E402

from nonproj.io import conll  # noqa: E402
from nonproj_workbench.annotation.retraining import learns_from_partial_trees  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "annotate-tour.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def run(block: str, folder: Path) -> None:
    """Run the commands of a block in a folder."""
    program = f'nonproj() {{ {shlex.quote(sys.executable)} -m nonproj "$@"; }}\nset -e\n{block}'
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def folder(noisy_model, tmp_path: Path, monkeypatch) -> Path:
    """A folder with the model and the treebank that the page names."""
    (tmp_path / "danish.nonproj").symlink_to(noisy_model)
    lines = (line for sentence in noisy_sentences(40) for line in sentence.lines)
    (tmp_path / "danish-train.conllu").write_text("".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.thorough
def test_from_raw_text_to_a_treebank_and_a_better_model(browser, folder):
    parse, annotate, audit, compare = BLOCKS
    run(parse, folder)
    before = list(conll.read(folder / "tekst.conllu"))
    assert len(before) == 12
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    annotate_all(browser, Annotator(*shlex.split(annotate)[2:]), folder)

    clean = list(conll.read(folder / "tekst-clean.conllu", require_heads=True))
    assert [sentence.forms for sentence in clean] == [sentence.forms for sentence in before]
    assert clean[0].tree[1:3].tolist() == [3, 5] and clean[0].labels[1] == "amod"
    text = (folder / "tekst-clean.conllu").read_text(encoding="utf-8")
    assert "Head=" not in text and "annotation =" not in text
    run(audit, folder)
    assert (folder / "audit" / "report.html").is_file()

    (folder / "anna.conllu").write_text(text, encoding="utf-8")
    other = text.replace("\t3\t", "\t5\t", 1)
    assert other != text
    (folder / "bo.conllu").write_text(other, encoding="utf-8")
    adjudicate(browser, Annotator(*shlex.split(compare)[2:]), folder)


def annotate_all(browser, annotator: Annotator, folder: Path) -> None:
    """Correct ten sentences, train, accept the others, and download the treebank."""
    emulate(browser)
    page = Page(browser, annotator.url).open()
    page.drop(1, 3)  # a wrong head
    page.press(Keys.ARROW_RIGHT, "a", "5", Keys.ENTER).settled()
    page.press("l")
    page.type("amod", Keys.ENTER)
    page.settled()
    assert page.heads[0] == 3 and page.heads[1] == 5 and page.labels[1] == "amod"
    page.press("n", " ").settled()
    for number in range(1, 11):
        page.press(Keys.ENTER)
        page.wait(lambda number=number: page.run("return sentence.i") == number)
    page.drop(1, 3)  # the only decision on the eleventh
    page.one("#retrain").click()
    page.wait(lambda: re.search("trained again|failed", page.text("notice-text")), 300)
    assert "has been trained again" in page.text("notice-text"), page.text("notice-text")
    training = page.run("return ask('status?since=0').then((status) => status.training)")
    assert training["sentences"] == 10 + learns_from_partial_trees()
    assert (folder / "tekst.conllu.nonproj").is_file()
    page.press(Keys.ENTER)
    page.wait(lambda: page.run("return sentence.i") == 11)
    page.press(Keys.ENTER)
    page.wait(lambda: page.text("progress-text") == "12 of 12 done")
    page.one("#export").click()
    page.wait(lambda: (folder / "tekst-clean.conllu").is_file())
    page.leave()
    assert annotator.stop() == 0


def adjudicate(browser, annotator: Annotator, folder: Path) -> None:
    """Take the second annotator's arc of the only word that differs."""
    page = Page(browser, annotator.url).open()
    page.one("[data-filter=differing]").click()
    assert page.text("count") == "1 of 12 sentences"
    page.visit(page.run("return listing.shown[0]") + 1)
    page.press("n", ".").settled()
    first, second = (each.text for each in page.all("#differs .side"))
    assert first[1:] != second[1:]
    page.press(",").settled()
    assert page.sentence["words"][page.chosen - 1]["head"] == page.sentence["first"]["words"][page.chosen - 1]["head"]
    page.press(".").settled()
    page.wait(lambda: page.run("return file.sentences.differs[sentence.i]") == 0)
    page.one("#agreement-button").click()
    page.wait(lambda: "kappa" in page.one("#agreement").text)
    page.leave()
    assert annotator.stop() == 0
    second = list(conll.read(folder / "bo.conllu"))
    final = list(conll.read(folder / "tekst-final.conllu"))
    assert [each.tree.tolist() for each in final] == [each.tree.tolist() for each in second]


def test_the_pictures_exist_and_are_small():
    names = re.findall(r"\]\(([\w-]+\.png)\)", PAGE)
    assert len(names) == 3
    for name in names:
        assert 10_000 < (DOCS / name).stat().st_size < 150_000
