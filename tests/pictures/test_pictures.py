"""Pictures of trees: laws of their geometry, read from the SVG itself, and the other formats."""

import ast
import io
import itertools
import random
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from instances import seeds
from judged import random_tree
from naive_pictures import SVG, crossing_pairs, crossings, parsed
from pages import ROOT, run_page
from toy import sentences

from nonproj.errors import DataError
from nonproj.io import conll
from nonproj.io.objects import from_words
from nonproj.nlp.document import Document, ParsedSentence
from nonproj.pictures import terminal
from nonproj.pictures.content import OTHER, RIGHT, WRONG, Picture, arcs_of, compared, picture_of, visible
from nonproj.pictures.fonts import text_width
from nonproj.pictures.images import to_pdf, to_png
from nonproj.pictures.layout import LABEL_SIZE, LEVEL, lay_out
from nonproj.pictures.svg import COLOURS, to_svg
from nonproj.pictures.tikz import to_tikz
from nonproj.pipeline.parses import Parse
from nonproj.trees.crossing import nonprojective
from nonproj.types import Decoded, Sentence

WORDS = ("i", "Donaudampfschiff", "依存", "på", ".", "een")
LABELS = ("", "x", "nsubj", "nsubj:passive:xsubj")


def tree_picture(heads: list[int]) -> Picture:
    """Return a picture of a tree of words that are all the same."""
    n = len(heads)
    return Picture(["w"] * n, [""] * n, arcs_of(heads, ["x"] * n), [])


def forms_of(root: ElementTree.Element) -> list[str]:
    """Return the forms that a picture shows."""
    return [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "form"]


def random_picture(seed: int) -> tuple[Picture, list[int], list[int]]:
    """Return a picture of two random trees over random words."""
    chance = random.Random(seed)
    n = chance.randint(1, 18)
    forms, trees = [chance.choice(WORDS) for _ in range(n)], [random_tree(chance, n) for _ in range(2)]
    labels = [[chance.choice(LABELS) for _ in range(n)] for _ in range(2)]
    above, below = compared(trees[0][1:], labels[0], trees[1][1:], labels[1])
    tags = [chance.choice(("", "NOUN")) for _ in range(n)]
    confidence = [chance.random() for _ in range(n)] if chance.random() < 0.5 else None
    return Picture(forms, tags, above, below, confidence), trees[0], trees[1]


SEEDS = seeds(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_arcs_cross_where_the_tree_does_and_end_at_their_words(seed):
    picture, heads, _ = random_picture(seed)
    root, centers, arcs = parsed(to_svg(picture))
    assert forms_of(root) == picture.forms
    above = {word: line for kinds, word, line in arcs if OTHER not in kinds}
    below = {word: line for kinds, word, line in arcs if OTHER in kinds}
    assert sorted(above) == list(range(1, len(heads))) and sorted(below) == [arc.modifier for arc in picture.below]
    assert all(a < b for a, b in itertools.pairwise(centers))
    pairs = crossing_pairs(heads)
    for m, w in itertools.combinations(sorted(above), 2):
        assert crossings(above[m], above[w]) == ((m, w) in pairs), (m, w)
    crossed = {word for pair in pairs for word in pair}
    assert {word for kinds, word, _ in arcs if "cross" in kinds and OTHER not in kinds} == crossed
    edges = [0.0, *((a + b) / 2 for a, b in itertools.pairwise(centers)), float(root.get("width"))]
    for side, of_side in ((above, picture.above), (below, picture.below)):
        ends = []
        for arc in of_side:
            line = side[arc.modifier]
            assert edges[arc.modifier - 1] < line[-1][0] < edges[arc.modifier]
            ends.append(line[-1][0])
            if arc.head:
                assert edges[arc.head - 1] < line[0][0] < edges[arc.head]
                ends.append(line[0][0])
        assert all(b - a > 4 for a, b in itertools.pairwise(sorted(ends))), "ends at a word are apart"
    for line in above.values():
        assert all(0 <= x <= float(root.get("width")) and 0 <= y <= float(root.get("height")) for x, y in line)


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_do_not_overlap(seed):
    picture, *_ = random_picture(seed)
    layout = lay_out(picture)
    boxes = []
    for arc in layout.arcs:
        if arc.arc.label:
            half = text_width(arc.arc.label, LABEL_SIZE) / 2
            boxes.append((arc.label_at - half, arc.label_at + half, arc.top - 6, arc.top + 6))
            assert arc.label_at - half >= 0 and arc.label_at + half <= layout.width
            if arc.arc.head:
                assert min(arc.start, arc.end) < arc.label_at - half and arc.label_at + half < max(arc.start, arc.end)
    for (a, b, low, high), (c, d, low2, high2) in itertools.combinations(boxes, 2):
        assert b <= c or d <= a or high <= low2 or high2 <= low
    assert LEVEL > LABEL_SIZE


def test_nested_arcs_of_projective_trees_need_few_levels():
    """The arcs of a chain lie side by side, at one level; those from one head to all words after it in n - 1."""
    chain = lay_out(tree_picture(list(range(9))))
    assert {arc.level for arc in chain.arcs if arc.arc.head} == {1}
    star = lay_out(tree_picture([0] + [1] * 8))
    assert sorted(arc.level for arc in star.arcs) == list(range(1, 10))


def test_crossing_is_that_of_the_evaluation():
    """A tree has crossing arcs if and only if one is non-projective."""
    for seed in range(200):
        chance = random.Random(seed)
        heads = random_tree(chance, chance.randint(1, 9))
        crosses = any(arc.crosses for arc in lay_out(tree_picture(heads[1:])).arcs)
        assert crosses == nonprojective(heads[1:]).any() == bool(crossing_pairs(heads))


def test_right_to_left_text_is_mirrored():
    forms, heads = ["הוא", "קרא", "ספר"], [2, 0, 2]
    arcs = arcs_of(heads, ["nsubj", "root", "obj"])
    _, centers, lines = parsed(to_svg(Picture(forms, [""] * 3, arcs, [])))
    assert centers[0] > centers[1] > centers[2]
    for _, word, line in lines:
        assert min(range(3), key=lambda i: abs(centers[i] - line[-1][0])) == word - 1


def test_markup_and_control_characters_are_harmless():
    nasty = ["</svg><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\x1b[2J\x00", "&amp;", "'\""]
    picture = Picture(nasty, nasty, arcs_of([0, 1, 1, 1, 1], nasty), [])
    root = ElementTree.fromstring(to_svg(picture))
    assert forms_of(root) == [nasty[0], nasty[1], "\\x1b[2J\\x00", *nasty[3:]]
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "text", "g", "path"}


def test_colours_have_contrast_on_their_ground():
    """At least 3 to 1 for lines, and 4.5 to 1 for text (WCAG 2.1)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    for theme in (0, 1):
        ground = luminance(COLOURS["ground"][theme])
        for name, colours in COLOURS.items():
            if name not in ("ground", "shade"):
                bright, dark = sorted((luminance(colours[theme]), ground), reverse=True)
                least = 4.5 if name in ("text", "faint") else 3.0
                assert (bright + 0.05) / (dark + 0.05) >= least, (name, theme)


def test_strokes_tell_kinds_apart_without_colours():
    above, below = compared([2, 0, 2], ["a", "root", "b"], [3, 0, 2], ["a", "root", "c"])
    assert [arc.kind for arc in above] == [WRONG, RIGHT, "label"]
    root = ElementTree.fromstring(to_svg(Picture(["a", "b", "c"], [""] * 3, above, below)))
    groups = {group.get("class").split()[1]: group for group in root.iter(f"{SVG}g")}
    dashes = {
        kind: next(path.get("stroke-dasharray") for path in group if path.get("fill") == "none")
        for kind, group in groups.items()
    }
    assert dashes["wrong"] and dashes["other"] and dashes["wrong"] != dashes["other"] and not dashes["right"]


# -- other formats -----------------------------------------------------------------------------------------------------


def test_images():
    pytest.importorskip("vl_convert")
    picture = picture_of(sentences(3)[2])
    layout, png, pdf = lay_out(picture), to_png(picture), to_pdf(picture)
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and pdf[:5] == b"%PDF-"
    width = int.from_bytes(png[16:20], "big")
    assert abs(width - 2 * layout.width) <= 2


def test_tikz_can_be_read_back():
    forms = ["R&D", "50 %", "a_b", "#1", "{x}", "\\", "~^$"]
    heads = [2, 0, 2, 3, 3, 5, 5]
    text = to_tikz(Picture(forms, [""] * 7, arcs_of(heads, ["a_b"] + ["x"] * 6), []))
    edges = [(str(head), str(word)) for word, head in enumerate(heads, 1) if head]
    assert re.findall(r"\\depedge\{(\d)\}\{(\d)\}", text) == edges
    assert "\\deproot{2}{x}" in text and "{a\\_b}" in text
    row = re.search(r"\\begin\{deptext\}\[.*\]\n(.*) \\\\\n\\end", text)[1]
    assert len(row.split(" \\& ")) == 7
    plain = row.replace("{\\char38}", "&").replace("\\textbackslash{}", "\0").replace("\\textasciitilde{}", "~")
    plain = re.sub(r"\\([%_#{}$])", r"\1", plain.replace("\\textasciicircum{}", "^")).replace("\0", "\\")
    assert plain.split(" \\& ") == forms


def test_brackets():
    draw = terminal.brackets
    assert draw([-1, 3, 0, 2, 1]) == ["┌┬──>", "││┌─", "│└┴─>", "└───>"]  # 1 -> 4 crosses the root's word
    assert draw([-1, 0]) == [""]


def test_terminal_shows_both_trees_and_colours_only_on_demand(monkeypatch):
    above, below = compared([2, 0], ["a", "root"], [0, 1], ["root", "b"])
    picture = Picture(["依存", "x"], ["N", "V"], above, below, [0.5, 0.25])
    lines = terminal.to_terminal(picture).split("\n")
    assert lines[0].endswith("N  a of 2 x  x root  0.50") and lines[1].endswith("V  root  x b of 1 依存  0.25")
    assert lines[0].index("N") + 2 == lines[1].index("V"), "columns are aligned: the first form has two wide characters"
    coloured = terminal.to_terminal(picture, colours=True)
    assert re.sub(r"\x1b\[\d*m", "", coloured).split("\n") == lines[:2]
    tty = type("Terminal", (io.StringIO,), {"isatty": lambda self: True})()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.has_colours(tty) and not terminal.has_colours(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal.has_colours(tty)


# -- notebooks ---------------------------------------------------------------------------------------------------------


def test_notebooks_draw_sentences_documents_and_parses():
    decoded = Decoded(np.array([-1, 2, 0], np.int32), 3.5, 3.5, True, True, 1, 1.0)
    parse = Parse(decoded, ["nsubj", "root"], None)
    sentence = ParsedSentence(from_words(["<b>", "regner"]), parse)
    html = sentence._repr_html_()
    assert html.startswith("<div") and html.endswith("</div>") and "&lt;b&gt;" in html and "<b>" not in html
    assert ElementTree.fromstring(html).find(f"{SVG}svg") is not None
    assert Document("", [sentence] * 50)._repr_html_().count("<svg") == 20
    assert "and 30 more sentences" in Document("", [sentence] * 50)._repr_html_()
    assert forms_of(ElementTree.fromstring(parse._repr_html_())) == ["1", "2"]


def test_the_page_of_pictures(tmp_path, monkeypatch):
    """Its program makes the picture that the page shows."""
    run_page("docs/pictures.md", tmp_path, monkeypatch)
    assert (tmp_path / "tree.svg").read_bytes() == (ROOT / "docs" / "tree.svg").read_bytes()


UNSEEN = "\x00\x1b\n\x7f\x9b\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\ud800"
SEEN = "a\\\u00a0\u05d0\u0e35\u200c\u200d\u200e\U0001f600"
"""Joiners and marks of direction are parts of words."""


def test_visible_texts():
    assert visible(SEEN) == SEEN
    assert visible(UNSEEN).isascii() and ast.literal_eval(f"'{visible(UNSEEN)}'") == UNSEEN


@pytest.mark.parametrize("write", [to_svg, to_tikz, terminal.to_terminal])
def test_what_controls_a_terminal_or_the_order_of_words_is_escaped(write):
    texts = [f"a{c}b" for c in UNSEEN]
    more = len(texts) - 2
    picture = Picture(texts, texts, *compared([0, 1] + [1] * more, texts, [2, 0] + [2] * more, texts))
    assert not set(write(picture)) & set(UNSEEN) - {"\n"}
    assert write(picture).count("202e") >= 3  # form, tag and label


# -- partial trees -----------------------------------------------------------------------------------------------------

PARTIAL = "".join(
    f"{i}\t{form}\t_\tX\t_\t_\t{head}\t{label}\t_\t_\n"
    for i, form, head, label in ((1, "den", 2, "det"), (2, "hund", "_", "_"), (3, "ser", 0, "root"), (4, "hus", 3, "_"))
)


def partial() -> Sentence:
    """A sentence as `nonproj parse --min-confidence` writes it: the second word has no head, the fourth no label."""
    return next(conll.read(io.StringIO(PARTIAL + "\n")))


def test_words_without_a_head_have_no_arc():
    picture = picture_of(partial())
    assert [(arc.head, arc.modifier) for arc in picture.above] == [(2, 1), (0, 3), (3, 4)]
    assert to_svg(picture).count('class="form"') == 4
    assert "\\depedge{2}{1}{det}" in to_tikz(picture)
    lines = terminal.to_terminal(picture).split("\n")
    assert [line.split()[-1] for line in lines] == ["hund", "?", "root", "ser"]


def test_partial_trees_beside_whole_ones():
    whole = next(conll.read(io.StringIO(PARTIAL.replace("_\t_\t_\t_\n", "3\tnsubj\t_\t_\n") + "\n")))
    picture = picture_of(partial(), other=whole)
    assert [arc.kind for arc in picture.above] == [RIGHT, RIGHT, RIGHT]
    assert [(arc.head, arc.modifier, arc.kind) for arc in picture.below] == [(3, 2, OTHER)]
    assert "?  x nsubj of 3 ser" in terminal.to_terminal(picture)
    turned = picture_of(whole, other=partial())
    assert [arc.kind for arc in turned.above] == [RIGHT, "plain", RIGHT, RIGHT] and not turned.below


@pytest.mark.parametrize("n", range(1, 9))
def test_any_part_of_a_tree_is_drawn(n):
    for seed in range(20):
        chance = random.Random(seed)
        heads = [-1] + [head if chance.random() < 0.6 else -1 for head in random_tree(chance, n)[1:]]
        picture = tree_picture(heads[1:])
        assert len(picture.above) == sum(head >= 0 for head in heads)
        for draw in (to_svg, to_tikz, terminal.to_terminal):
            assert draw(picture)


def test_no_heads_at_all_and_cycles_are_errors():
    with pytest.raises(DataError, match="a.conll:7: HEAD is absent"):
        picture_of(Sentence([["1", "a", *"________"]], path="a.conll", line=7))
    headless = re.sub(r"\t[\d_]+\t(\w+\t_\t_\n)", r"\t_\t\1", PARTIAL)
    for text, message in (
        (headless, "for all words"),
        (PARTIAL.replace("\t0\troot", "\t4\troot"), "word 3 form a cycle"),
    ):
        with pytest.raises(DataError, match=message):
            picture_of(next(conll.read(io.StringIO(text + "\n"))))
