"""``nonproj show``: the data of the page, its figures, single trees, drawings in the terminal, and errors."""

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from shown import write_files

import nonproj
from nonproj.cli.main import main
from nonproj.evaluation.html.analysis import judged
from nonproj.evaluation.html.items import add_trees, from_files
from nonproj.evaluation.html.page import CERTIFICATE, SCRIPTS
from nonproj.evaluation.scores import evaluate
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.pictures.pages import join_modules, resource

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with gold.conll, parsed.conllu and other.conllu of 40 sentences."""
    write_files(tmp_path, 40)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Page(HTMLParser):
    """Checks that tags are balanced, and keeps attributes and the text of scripts."""

    EMPTY = ("meta", "link", "input", "br", "img")

    def __init__(self, text: str):
        super().__init__()
        self.open, self.seen, self.scripts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in self.EMPTY or self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def tiles_of(data: dict) -> dict[str, str]:
    """Return the figures at the top of the page by their names."""
    return {name: value for value, name, _ in data["tiles"]}


def write_words(name: str, *sentences: str) -> None:
    """Write a treebank of sentences of words, each as ``form/head/label``."""
    rows = [[word.split("/") for word in sentence.split()] for sentence in sentences]
    row = "{}\t{}\t_\tX\t_\t_\t{}\t{}\t_\t_\n".format
    text = "".join("".join(row(i, *each) for i, each in enumerate(words, 1)) + "\n" for words in rows)
    Path(name).write_text(text, encoding="utf-8")


def show(*words: str) -> tuple[Page, dict]:
    """Make a report and return it with its data."""
    assert main(["show", *words, "-o", "out.html"]) == 0
    page = Page(Path("out.html").read_text(encoding="utf-8"))
    assert len(page.scripts) == 2
    return page, json.loads(page.scripts[0])


def test_the_page_loads_nothing_and_allows_its_own_script_only(folder):
    page, _ = show("parsed.conllu", "--gold", "gold.conll")
    links = [value for _, attributes in page.seen for name, value in attributes.items() if name in ("src", "href")]
    assert links == ["data:,"]
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.seen for name in attributes)
    policy = next(a["content"] for tag, a in page.seen if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    urls = re.findall(r"https?://[^\s\"'<>)]+", Path("out.html").read_text(encoding="utf-8"))
    assert set(urls) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_the_data_are_those_of_the_files(folder):
    _, data = show("parsed.conllu", "--gold", "gold.conll", "--other", "other.conllu")
    files = [list(conll.read(name)) for name in ("parsed.conllu", "other.conllu", "gold.conll")]
    assert [tree["name"] for tree in data["trees"]] == ["parsed.conllu", "other.conllu", "gold"]
    assert data["pairs"] == [[0, 2], [1, 2], [0, 1]] and data["beside"] == 2
    for number, (shown, *expected) in enumerate(zip(data["sentences"], *files, strict=True), 1):
        assert shown["w"] == expected[0].forms
        assert [data["tags"][tag] for tag in shown["t"]] == [row[3] for row in expected[0].rows]
        assert shown["h"] == [each.heads.tolist() for each in expected]
        assert [[data["labels"][label] for label in labels] for labels in shown["l"]] == [e.labels for e in expected]
        assert shown["i"] == f"toy-{number}" and shown["p"] == expected[0].line
        misc = [float(row[9].removeprefix("Confidence=")) for row in expected[0].rows]
        assert shown["c"] == [round(100 * share) for share in misc]
        assert shown["s"]["certified"] == ("# nonproj certified = true\n" in expected[0].lines)


def test_tables_are_those_of_the_evaluation(folder):
    _, data = show("parsed.conllu", "--gold", "gold.conll", "--other", "other.conllu")
    gold = list(conll.read("gold.conll"))
    scores = [evaluate(gold, conll.read(name)) for name in ("parsed.conllu", "other.conllu")]
    tables = {table["title"]: table for table in data["tables"]}
    rows = {row[0]: row[1:] for row in tables["Scores"]["rows"]}
    expected = compare(*scores)
    assert rows["unlabelled attachment (UAS)"] == pytest.approx(list(expected["uas"].values()))
    assert rows["labelled attachment (LAS)"] == pytest.approx(list(expected["las"].values()))
    for title in ("By sentence length", "By arc length", "By depth in the gold tree", "By label", "By tag"):
        table = tables[title]
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
        assert sum(row[1] for row in table["rows"]) == expected["words"]
    assert tables["Confused labels"]["rows"][0][1] == "dep"
    assert tiles_of(data)["UAS of parsed.conllu"] == f"{100 * scores[0].uas:.2f} %"


def test_two_parsers_without_gold_are_compared_with_each_other(folder):
    _, data = show("parsed.conllu", "--other", "other.conllu")
    assert [tree["gold"] for tree in data["trees"]] == [False, False] and data["pairs"] == [[0, 1]]
    agreement = evaluate(list(conll.read("other.conllu")), conll.read("parsed.conllu"))
    assert tiles_of(data)["same head"] == f"{100 * agreement.uas:.2f} %"
    _, alone = show("parsed.conllu")
    assert alone["tables"] == [] and alone["pairs"] == [[0, -1]]


def test_gold_trees_of_other_tokens(tmp_path, monkeypatch, capsys):
    """Two tokens are joined, and two sentences are one: four of the six words have a gold head in their sentence."""
    monkeypatch.chdir(tmp_path)
    write_words("gold.conllu", "do/2/a n't/3/b go/0/root", "she/2/c sees/0/root it/2/d")
    write_words("parsed.conllu", "don't/2/a go/0/root she/2/x sees/2/y it/4/d")
    assert main(["show", "parsed.conllu", "--gold", "gold.conllu"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "the words of the gold file are others; 4 of 5 words have a gold head\n"
    assert "she    X  x of 2 go  x c of 4 sees" in shown.out
    _, data = show("parsed.conllu", "--gold", "gold.conllu")
    assert data["sentences"][0]["h"] == [[2, 0, 2, 2, 4], [-1, 0, 4, 0, 4]]
    assert tiles_of(data)["correct heads among these"] == "40.00 %"


def test_a_long_sentence_takes_linear_time(tmp_path, monkeypatch):
    """A report on 30,000 words: what was quadratic took a minute, in one call that no signal interrupts."""
    monkeypatch.chdir(tmp_path)
    write_words("long.conllu", " ".join(f"w/{i}/x" for i in range(30_000)))
    began = time.process_time()
    show("long.conllu")
    assert time.process_time() - began < 10


def test_reliability_is_that_of_its_definition(folder):
    items = list(add_trees(from_files(conll.read("parsed.conllu")), conll.read("gold.conll"), "gold"))
    rows = judged(items).bins(4)
    pairs = [pair for item in items for pair in zip(item.confidence, item.heads, item.gold.heads, strict=True)]
    known = [(share, head == gold) for share, head, gold in pairs]
    for low, (mean, right, count) in zip((0.0, 0.25, 0.5, 0.75), rows, strict=True):
        inside = [pair for pair in known if low <= pair[0] < low + 0.25 or (low == 0.75 and pair[0] == 1.0)]
        assert count == len(inside)
        assert [mean, right] == pytest.approx(np.mean(inside, axis=0).tolist())


def test_strings_of_files_cannot_leave_the_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nasty = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "\u2028", "&lt;", "{style}"]
    rows = "".join(f"{i}\t{form}\t_\t{form}\t_\t{form}\t{i - 1}\t{form}\t_\t_\n" for i, form in enumerate(nasty, 1))
    name = "<b>{data}.conllu"
    Path(name).write_text(f"# sent_id = {nasty[0]}\n{rows}\n", encoding="utf-8")
    page, data = show(name, "--gold", name)
    assert data["sentences"][0]["w"] == nasty and data["sentences"][0]["i"] == nasty[0]
    assert [tag for tag, _ in page.seen].count("script") == 2
    assert not any(tag in ("img", "b") for tag, _ in page.seen)


# -- single trees and the terminal -------------------------------------------------------------------------------------


def test_single_trees(folder):
    for suffix in ("svg", "tex"):
        assert main(["show", "parsed.conllu", "--gold", "gold.conll", "--sentence", "3", "-o", f"tree.{suffix}"]) == 0
    forms = list(conll.read("parsed.conllu"))[2].forms
    assert "\\begin{deptext}" in Path("tree.tex").read_text(encoding="utf-8")
    assert main(["show", "parsed.conllu", "--sentence", "toy-3", "-o", "same.svg"]) == 0
    for name in ("tree.svg", "same.svg"):
        texts = ElementTree.parse(name).getroot().iter("{http://www.w3.org/2000/svg}text")
        assert [text.text for text in texts if text.get("class") == "form"] == forms
    pytest.importorskip("vl_convert")
    for suffix, start in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert main(["show", "parsed.conllu", "--sentence", "3", "-o", f"tree.{suffix}"]) == 0
        assert Path(f"tree.{suffix}").read_bytes().startswith(start)


def test_the_terminal(folder, capsys):
    assert main(["show", "parsed.conllu", "--gold", "gold.conll"]) == 0
    text = capsys.readouterr().out
    assert text.count("parsed.conllu:") == 40 and "\x1b" not in text
    over = r"over (\d+ of|all) \d+ arcs"
    assert len(re.findall(rf"^certified: no tree {over} |^no certificate {over}: ", text, re.MULTILINE)) == 40
    assert main(["show", "parsed.conllu", "--sentence", "toy-7"]) == 0
    assert capsys.readouterr().out.count("parsed.conllu:") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parsed.conllu", "--gold", "short.conll"], "end here, after 1, but continue in parsed.conllu:24"),
        (["parsed.conllu", "--gold", "changed.conll"], "parsed.conllu:8: FORM is 'den', but 'x' in changed.conll:1"),
        (["parsed.conllu", "--sentence", "41"], "'41' is neither the sent_id nor the number of one of 40 sentences"),
        (["parsed.conllu", "-o", "a.svg"], ".svg holds one tree and parsed.conllu has several"),
        (["parsed.conllu", "-o", "a.jpg"], "'a.jpg' ends in none of .html, .svg, .png, .pdf, .tex"),
        (["parsed.conllu", "-o", "parsed.conllu"], "output is the same file as the input"),
        (["parsed.conllu", "--course"], "--course: needs a model: -m MODEL"),
        (["headless.conll"], "headless.conll:1: HEAD is absent (_)"),
        (["absent.conll"], "absent.conll: "),
    ],
)
def test_errors_are_one_line(folder, capsys, words, message):
    gold = Path("gold.conll").read_text(encoding="utf-8")
    Path("short.conll").write_text(gold.split("\n\n")[0] + "\n\n", encoding="utf-8")
    Path("changed.conll").write_text(re.sub(r"^1\t\w+", "1\tx", gold, count=1), encoding="utf-8")
    Path("headless.conll").write_text("1\ta" + "\t_" * 8 + "\n\n", encoding="utf-8")
    before = Path("parsed.conllu").read_bytes()
    assert main(["show", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert Path("parsed.conllu").read_bytes() == before
    assert not Path("a.svg").exists()


def test_a_model_shows_its_certificates_and_the_course_of_its_bound(tmp_path, monkeypatch):
    """The golden model needs many iterations for some sentences."""
    monkeypatch.chdir(tmp_path)
    model, file = str(GOLDEN / "model.nonproj"), str(GOLDEN / "input.conll")
    _, data = show(file, "-m", model, "--gold", file, "--course", "3", "-q")
    records = [json.loads(line) for line in (GOLDEN / "pruned.jsonl").read_text(encoding="utf-8").splitlines()]
    for sentence, record in zip(data["sentences"], records, strict=True):
        expected = {name: record[name] for name in CERTIFICATE if name in record}
        assert sentence["s"] == pytest.approx(expected, abs=1e-6) and len(expected) == 8
    courses = [(s, record) for s, record in zip(data["sentences"], records, strict=True) if "k" in s]
    assert len(courses) == 3
    most = sorted((record["iterations"] for record in records), reverse=True)[:3]
    assert sorted((record["iterations"] for _, record in courses), reverse=True) == most
    for sentence, record in courses:
        duals, primals = [step[0] for step in sentence["k"]], [step[1] for step in sentence["k"]]
        assert min(duals) >= record["score"] - 1e-5 and max(primals) <= record["score"] + 1e-5
        for _, _, heads, missing, extra in sentence["k"]:
            assert all(heads[word - 1] != head for head, word, _ in extra)
            assert set(missing) <= set(range(1, len(heads) + 1))
        if record["agreed"] and not record["nodes"]:
            assert sentence["k"][-1][3:] == [[], []]


@pytest.mark.parametrize("beside", [[], ["--gold", "gold.conllu"], ["--other", "gold.conllu"]], ids=" ".join)
def test_partial_trees(beside, tmp_path, monkeypatch, capsys):
    """A file without its uncertain heads, alone and next to complete trees, in all formats."""
    monkeypatch.chdir(tmp_path)
    write_words("gold.conllu", "den/2/det hund/3/nsubj ser/0/root hus/3/obj")
    write_words("parsed.conllu", "den/2/det hund/_/_ ser/0/root hus/_/_")
    assert main(["show", "parsed.conllu", *beside]) == 0
    assert capsys.readouterr().out.count("?") == 2
    for suffix in ("svg", "tex"):
        assert main(["show", "parsed.conllu", *beside, "-o", f"a.{suffix}"]) == 0
    _, data = show("parsed.conllu", *beside)
    assert data["sentences"][0]["h"][0] == [2, -1, 0, -1]
    tiles = tiles_of(data)
    several = " of parsed.conllu" * ("--other" in beside)
    assert tiles[f"words with a head{several}"] == "50.00 %"
    assert tiles.get("correct heads among these") == ("100.00 %" if "--gold" in beside else None)
    assert main(["show", "gold.conllu", "--other", "parsed.conllu", "-o", "a.html"]) == 0


def test_sentences_without_any_head(tmp_path, monkeypatch, capsys):
    """They are drawn beside others; a file without any head is an error at its first sentence."""
    monkeypatch.chdir(tmp_path)
    write_words("some.conllu", "a/_/_", "a/_/_", "a/0/root", "a/_/_")
    write_words("whole.conllu", *["a/0/root"] * 4)
    _, data = show("some.conllu")
    assert [sentence["h"] for sentence in data["sentences"]] == [[[-1]], [[-1]], [[0]], [[-1]]]
    assert [sentence["p"] for sentence in data["sentences"]] == [1, 3, 5, 7]
    capsys.readouterr()
    assert main(["show", "some.conllu", "--sentence", "2"]) == 0
    assert "?" in capsys.readouterr().out
    for gold in ([], ["--gold", "whole.conllu"]):
        words = ["whole.conllu", "--other", "some.conllu", *gold]
        _, data = show(*words)
        assert [sentence["h"][:2] for sentence in data["sentences"][1:3]] == [[[0], [-1]], [[0], [0]]]
        tiles = tiles_of(data)
        assert tiles["words with a head of whole.conllu"] == "100.00 %"
        assert tiles["words with a head of some.conllu"] == "25.00 %"
        assert tiles.get("correct heads among these of some.conllu") == ("100.00 %" if gold else None)
        for output in ([], ["-o", "a.svg"], ["-o", "a.tex"]):
            assert [main(["show", *words, "--sentence", number, *output]) for number in "23"] == [0, 0]
        assert "?" not in capsys.readouterr().out
    write_words("none.conllu", "a/_/_", "a/_/_")
    for words in (["none.conllu"], ["some.conllu", "--other", "none.conllu"]):
        assert main(["show", *words, "-o", "none.html"]) == 2
        assert "none.conllu:1: HEAD is absent (_) for all words" in capsys.readouterr().err


# -- the modules of the page -------------------------------------------------------------------------------------------


def test_modules_import_only_from_those_before_them_and_all_are_joined():
    seen: list[str] = []
    for package, name in SCRIPTS:
        text = resource(f"nonproj.{package}", name)
        assert set(re.findall(r'^import \{[^}]+\} from "[./\w]*?(\w+\.js)";$', text, re.M)) <= set(seen), name
        seen.append(name)
    root = Path(nonproj.__file__).parent
    assert sorted(seen) == sorted(path.name for path in root.rglob("*.js"))
    script = join_modules(resource(f"nonproj.{package}", name) for package, name in SCRIPTS)
    assert not re.search(r"^(import|export)\b", script, re.M)
