"""Draw the pictures of docs/gallery.md, by ``python docs/gallery.py MODEL TEST``.

The pictures of a report need Chromium and its driver.  MODEL has a confidence classifier, and TEST is a treebank of its
language with gold trees, such as
models/english-ewt-grandparent.nonproj and the test file of English EWT.  The pictures are committed: building the site
needs neither the model nor a browser.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # the checkout's package, not an installed one

from browsing import browsing  # noqa: E402

import nonproj  # noqa: E402
from nonproj.cli.main import main as nonproj_main  # noqa: E402
from nonproj.pictures.content import picture_of  # noqa: E402
from nonproj.pictures.svg import to_svg  # noqa: E402

FOLDER = ROOT / "docs" / "gallery"
SENTENCE = "She saw the man with the telescope from the window."
SIZES = {"report": (1200, 760, "light"), "report-dark": (1200, 760, "dark"), "report-narrow": (420, 760, "light")}


def draw_trees(model: str) -> None:
    """Write a tree with the confidence of each word, and the three best trees of its sentence."""
    nlp = nonproj.load(model)
    (sentence,) = nlp(SENTENCE).sentences
    (FOLDER / "confidence.svg").write_text(to_svg(sentence.picture()), encoding="utf-8")
    for rank, tree in enumerate(nlp.nbest(SENTENCE, 3)[0], 1):
        sys.stdout.write(f"{rank}: score {tree.score:.2f}, bound {tree.bound:.2f}, certified: {tree.certified}\n")
        (FOLDER / f"nbest-{rank}.svg").write_text(to_svg(tree.picture()), encoding="utf-8")


def draw_crossing(test: str) -> None:
    """Write the first short gold tree of a treebank that has crossing arcs."""
    short = (sentence for sentence in nonproj.read(test) if 8 <= len(sentence) <= 16)
    sentence = next(sentence for sentence in short if crosses([0, *sentence.heads.tolist()]))
    (FOLDER / "crossing.svg").write_text(to_svg(picture_of(sentence)), encoding="utf-8")


def crosses(heads: list[int]) -> bool:
    """Return whether two arcs cross, given the head of each word, from 1."""
    arcs = [tuple(sorted((word, head))) for word, head in enumerate(heads) if word]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def draw_report(model: str, test: str) -> None:
    """Write pictures of the report on two parsers: any trees, and projective ones only, by the same model."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for output, option in (("any", "--no-projective"), ("projective", "--projective")):
            words = [test, "-o", str(folder / f"{output}.conllu"), "--confidence", "--stats-comments", "-q", option]
            assert nonproj_main(["parse", "-m", model, *words]) == 0
        files = [str(folder / "any.conllu"), "--other", str(folder / "projective.conllu"), "--gold", test]
        assert nonproj_main(["show", *files, "-o", str(folder / "report.html"), "-q"]) == 0
        with browsing(folder / "profile") as browser:
            for picture, (width, height, theme) in SIZES.items():
                browser.set_window_size(width, height)
                emulated = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
                browser.get((folder / "report.html").as_uri())
                browser.implicitly_wait(10)
                browser.find_element("css selector", "article svg")
                browser.save_screenshot(str(FOLDER / f"{picture}.png"))


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("test")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    draw_trees(options.model)
    draw_crossing(options.test)
    draw_report(options.model, options.test)
    return 0


if __name__ == "__main__":
    sys.exit(main())
