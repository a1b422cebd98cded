"""Broken input: ``--on-error stop`` and ``skip``; and empty input."""

import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import seeds
from pieces import make_files, units_of_pieces, work_in
from toy import treebank

from nonproj.cli.main import main
from nonproj.io import broken, conll, splitting
from nonproj.io.checks import ReadingRules
from nonproj.text import input as text_input
from nonproj.text.formats import FORMATS, TextInput
from nonproj.text.segmenter import Segmenter
from nonproj.workers import parsing

WORD = "1\tRegn\t_\tN\tNC\t_\t0\tROOT\t_\t_\n"
WHERE = ([], ["--jobs", "2"], ["--resume"], ["--resume", "--jobs", "2"])
ENDS = [pytest.param(words, marks=[pytest.mark.thorough] * bool(words)) for words in WHERE]
"""Ways to run; the everyday tests have the first alone."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_of) -> Path:
    """A folder with a model."""
    return make_files(tmp_path_factory.mktemp("on-error"), model_of("small"))


@pytest.fixture
def here(folder, tmp_path, monkeypatch) -> Path:
    """An empty folder to work in; files are cut into small pieces."""
    monkeypatch.setattr(parsing, "TEXT_PIECE", 200)
    return work_in(tmp_path, folder, monkeypatch)


def parse(name: str, *words: str, out: str = "out") -> tuple[int, bytes | None]:
    """The exit code and the output of a command."""
    Path(out).unlink(missing_ok=True)
    code = main(["parse", "toy.nonproj", name, "-o", out, *words])
    return code, Path(out).read_bytes() if Path(out).exists() else None


# -- treebanks ---------------------------------------------------------------------------------------------------------

GOOD = [block + "\n\n" for block in treebank(60, seed=3).strip().split("\n\n")]
LATIN = "1\tbl\xe5\t_\tADJ\tADJ\t_\t0\tx\t_\t_\n".encode("latin-1") + b"2\tb\t_\tADJ\tADJ\t_\t0\tx\t_\t_\n\n"
LONG = "".join(f"{i}\ta\t_\tN\tN\t_\t0\tx\t_\t_\n" for i in range(1, 42)).encode() + b"\n"
BAD = {
    "columns": (b"# note\n1\tto\tfew\n\n", 2, "3 columns, 10 expected"),
    "bytes": (LATIN, 1, "byte 0xe5 is not UTF-8; recode the file to UTF-8 first"),
    "no words": (b"# a comment alone\n\n", 1, "a sentence without words; remove it, or the blank line after it"),
    "number": (f"{WORD * 2}\n".encode(), 2, "ID is '1', 2 expected; is the blank line before it missing?"),
    "long": (LONG, 1, "a sentence of 41 words; decoding.max_words is 40: split it, or raise the limit"),
}


def with_bad(place: int, kind: str) -> tuple[bytes, bytes, int]:
    """A treebank with one broken sentence in it; the same without; and the line of the error."""
    blocks = [block.encode() for block in GOOD]
    bad, line, _ = BAD[kind]
    before = b"".join(blocks[:place]).count(b"\n")
    return b"".join([*blocks[:place], bad, *blocks[place:]]), b"".join(blocks), before + line


CASES = [(kind, 31, WHERE[0]) for kind in BAD] + [("bytes", 31, words) for words in WHERE[1:]]
RARE = [(kind, 31, WHERE[1]) for kind in BAD if kind != "bytes"] + [("bytes", 60, WHERE[3]), ("bytes", 0, WHERE[1])]
RARE += [("long", 60, WHERE[0]), ("long", 31, WHERE[3])]


@pytest.mark.parametrize(
    ("kind", "place", "words"), [*CASES, *(pytest.param(*each, marks=pytest.mark.thorough) for each in RARE)]
)
def test_a_broken_sentence_is_left_out(here, capsys, kind, place, words):
    data, without, line = with_bad(place, kind)
    Path("bad.conll").write_bytes(data)
    Path("good.conll").write_bytes(without)
    limit = ["--max-words", "40"]
    calm = parse("good.conll", *limit)[1]
    message = f"bad.conll:{line}: {BAD[kind][2]}"
    first = data.count(b"\n", 0, data.index(BAD[kind][0])) + 1
    last = first + BAD[kind][0].count(b"\n") - 1
    assert parse("bad.conll", *limit, "--on-error", "skip", "--stats", "stats", *words) == (1, calm)
    report = capsys.readouterr().err.splitlines()
    assert report[-2].startswith(message) and f"(lines {first} to {last})" in report[-2]
    assert report[-1] == "nonproj: 1 broken sentence left out, 60 sentences parsed"
    records = [json.loads(line) for line in Path("stats").read_text().splitlines()]
    assert [number for number, record in enumerate(records) if "error" in record] == [place]
    assert [record["sentence"] for record in records if "sentence" in record] == list(range(1, 61))
    before = {*here.iterdir()}
    assert parse("bad.conll", *limit, "--stats", "facts", *words, out="stopped") == (2, None)
    assert capsys.readouterr().err == f"nonproj: {message}\n"
    assert not [path for path in {*here.iterdir()} - before if path.suffix != ".partial"]


@pytest.mark.parametrize("words", ENDS, ids=" ".join)
def test_what_cannot_be_kept_in_memory_is_passed_over(here, capsys, words):
    long = f"# {'x' * 300_000}\n{WORD}\n"
    many = f"# {'y' * 190}\n" * 20_000 + f"{WORD}\n"
    Path("bad.conll").write_text("".join([*GOOD[:2], long, *GOOD[2:4], many, *GOOD[4:6]]), encoding="utf-8")
    Path("good.conll").write_text("".join(GOOD[:6]), encoding="utf-8")
    calm = parse("good.conll")[1]
    assert parse("bad.conll", "--max-line", "1000", "--on-error", "skip", *words) == (1, calm)
    errors = capsys.readouterr().err
    assert "a line of more than 1000 bytes; --max-line sets this limit" in errors
    assert "a sentence of too many lines; is the blank line after it missing?" in errors


@pytest.mark.parametrize("words", ENDS, ids=" ".join)
def test_behind_damaged_gzip_data_nothing_can_be_read(here, capsys, words):
    whole = treebank(len(seeds(2000, least=300)), seed=5).encode()
    Path("bad.conll.gz").write_bytes(gzip.compress(whole)[:-1000])
    Path("whole.conll").write_bytes(whole)
    calm = parse("whole.conll")[1]
    code, output = parse("bad.conll.gz", "--on-error", "skip", *words)
    assert code == 1 and calm.startswith(output) and output.endswith(b"\n\n") and len(output) > 10_000
    assert "the gzip data end here, incomplete" in capsys.readouterr().err


def test_constraints_that_no_tree_obeys_break_a_sentence(here, capsys):
    rows = "1\ta\t_\tN\tN\t_\t2\tx\t_\t_\n2\tb\t_\tN\tN\t_\t1\tx\t_\t_\n\n"
    Path("bad.conll").write_text(GOOD[0] + rows, encoding="utf-8")
    code, output = parse("bad.conll", "--constraints", "head", "--on-error", "skip")
    assert (code, output.count(b"\n\n")) == (1, 1)
    assert "no tree satisfies the constraints" in capsys.readouterr().err


def test_a_long_report_names_the_first_hundred(here, capsys):
    Path("bad.conll").write_text("1\ta\n\n" * 150 + GOOD[0], encoding="utf-8")
    assert parse("bad.conll", "--on-error", "skip")[0] == 1
    report = capsys.readouterr().err.splitlines()
    more, counts = "and 50 more; --stats lists all", "nonproj: 150 broken sentences left out, 1 sentence parsed"
    assert len(report) == 102 and report[-2:] == [more, counts]


def test_a_stream_is_answered_at_once_when_errors_do_not_end_it(here, capsysbinary, monkeypatch):
    seen = []

    class Pipe(io.BytesIO):
        def readline(self, limit=-1):
            sys.stdout.flush()
            seen.append(capsysbinary.readouterr().out.count(b"\n\n"))
            return super().readline(limit)

    data = "1\ta\n\n".join(GOOD[:3]).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe(data)))
    assert main(["parse", "toy.nonproj", "-", "--on-error", "skip"]) == 1
    assert (sum(seen), seen[GOOD[0].count("\n")]) == (3, 1)


UNITS = [WORD, "1\ta\n", "# c\n", "\n", " \n", "\ufeff", "2\tb" + "\t_" * 8 + "\n", "x" * 200 + "\n"]


@settings(max_examples=len(seeds(300)), deadline=None)
@given(lines=st.lists(st.sampled_from(UNITS), max_size=14), latin=st.integers(0, 30), size=st.integers(1, 200))
def test_units_are_those_of_the_pieces(lines, latin, size):
    """The other units are those that a reader finds in the file without the malformed ones."""
    data = "".join(lines).encode()
    data = data[:latin] + b"\xe5" + data[latin:] if latin < len(data) else data
    rules = ReadingRules(max_line=100, ignore_heads=True)
    whole = [_facts(unit) for unit in broken.read_units(io.BytesIO(data), rules)]
    pieces = list(splitting.split(io.BytesIO(data), size, rules))
    assert [_facts(unit) for unit in units_of_pieces(pieces, rules)] == whole
    if not any(isinstance(piece, broken.MalformedUnit) for piece in pieces):
        assert b"".join(piece.text for piece in pieces) == data
    if not any(fact[0] == "MalformedUnit" for fact in whole) and whole:
        assert "".join(fact[-1] for fact in whole) == data.decode()
        assert [fact[1] for fact in whole if fact[0] == "Sentence"] == [
            sentence.line for sentence in conll.read(io.BytesIO(data), rules)
        ]


def test_pieces_are_yielded_before_the_rest_is_read():
    def lines():
        yield from f"{WORD}\n{WORD}\n{WORD}".splitlines(keepends=True)
        pytest.fail("read on")

    rest = lines()
    stream = SimpleNamespace(encoding="utf-8", read=None, readline=lambda limit: next(rest))
    pieces = splitting.split(stream, 1)
    assert [next(pieces).line for _ in range(2)] == [1, 3]


def _facts(unit) -> tuple:
    if isinstance(unit, conll.Sentence):
        return "Sentence", unit.line, "".join(unit.lines)
    return (type(unit).__name__, *(unit if isinstance(unit, broken.MalformedUnit) else (unit,)))


# -- plain text --------------------------------------------------------------------------------------------------------

LINES = ["Den hund ser.", "Mand jager kat.", "Den kat kender hus.", "Hus ser.", "", "Lille hund jager.", "Kat ser den."]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        pytest.param(form, words, id=f"{form}{' '.join(words)}", marks=[pytest.mark.thorough] * (number != place))
        for number, form in enumerate(FORMATS)
        for place, words in enumerate(WHERE)
    ],
)
def test_a_broken_line_of_text_is_left_out(here, capsys, form, words):
    before, behind = ("".join(f"{line}\n" for line in part).encode() for part in (LINES * 4, [*LINES[:2], *LINES * 5]))
    Path("bad.txt").write_bytes(before + b"Bl\xe5 \\ hund.\n" + behind)
    Path("good.txt").write_bytes(before + (b"\n" if form in ("text", "tokens") else b"") + behind)
    calm = parse("good.txt", f"--{form}")[1]
    code, output = parse("bad.txt", f"--{form}", "--on-error", "skip", *words)
    report = capsys.readouterr().err.splitlines()[-2:]
    assert code == 1
    assert report[0] == "bad.txt:29: byte 0xe5 is not UTF-8; recode the file to UTF-8 first (line 29)"
    assert report[1].startswith("nonproj: 1 broken line left out, ")
    text = [s.forms for s in conll.read(io.BytesIO(output))]
    assert text == [s.forms for s in conll.read(io.BytesIO(calm))]
    ids = [line for line in output.decode().splitlines() if line.startswith("# sent_id")]
    assert ids == [f"# sent_id = {number}" for number in range(1, len(text) + 1)]


@pytest.mark.parametrize("words", ENDS, ids=" ".join)
def test_text_that_ends_with_a_broken_line(here, words, capsys):
    Path("bad.txt").write_bytes(b"Den hund ser.\nBl\xe5.\n")
    Path("good.txt").write_bytes(b"Den hund ser.\n")
    assert parse("bad.txt", "--text", "--on-error", "skip", *words) == (1, parse("good.txt", "--text")[1])


@pytest.mark.parametrize("words", ENDS, ids=" ".join)
def test_a_long_stretch_of_blanks_is_left_out(here, words, capsys):
    """As in a log file of a machine that crashed."""
    for gap in (b"\0" * 200_000, b" \n" * 300_000):
        Path("bad.txt").write_bytes(b"Den hund ser.\n\n" + gap + b"\n\nMand ser." + gap + b"Kat ser.\n")
        code, output = parse("bad.txt", "--text", "--on-error", "skip", *words)
        forms = [" ".join(s.forms) for s in conll.read(io.BytesIO(output))]
        assert (code, forms) == (1, ["Den hund ser .", "Mand ser .", "Kat ser ."])
        assert capsys.readouterr().err.count("more than 131072 blank") == 2


def test_a_treebank_given_as_text_is_no_broken_line(here, capsys):
    assert parse("in.conll", "--text", "--on-error", "skip")[0] == 2
    assert "is parsed without --text" in capsys.readouterr().err


RULES = Segmenter.unicode()
PARTS = [b"En to.", b" ", b"\n", b"\n\n", b"\xe5", b"tre", b"\r", "\u2029".encode(), b" " * 9]


@settings(max_examples=len(seeds(200)), deadline=None)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=25), form=st.sampled_from(FORMATS), size=st.integers(1, 40))
def test_pieces_of_broken_text_do_not_matter(parts, form, size):
    options = TextInput(form)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nonproj.text.pieces.MAX_BLANKS", 12)
        data = b"".join(parts)
        expected = [_facts(unit)[:2] for unit in text_input.read_text_units(io.BytesIO(data), RULES, options)]
        found = []
        for piece in text_input.split_text_units(io.BytesIO(data), options, size):
            units = [piece] if isinstance(piece, broken.MalformedUnit) else RULES.sentences(piece, options)
            found += [_facts(unit)[:2] for unit in units]
        assert found == expected


# -- empty input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [*WHERE, ["--on-error", "skip"], ["--on-error", "skip", "--jobs", "2"]], ids=" ".join)
@pytest.mark.parametrize("form", [[], ["--text"]], ids=str)
def test_empty_input_gives_empty_output(here, form, words, capfd):
    for data in (b"", b"\n \n\n", "\ufeff\n".encode(), gzip.compress(b"")):
        Path("empty").write_bytes(data)
        assert parse("empty", *form, *words, "--stats", "stats") == (0, b"")
        assert Path("stats").read_bytes() == b""
    assert capfd.readouterr().err == ""


def test_empty_standard_input_gives_empty_output(here, monkeypatch, capsysbinary):
    for form in ([], ["--text"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        assert main(["parse", "toy.nonproj", *form]) == 0
    assert capsysbinary.readouterr() == (b"", b"")
