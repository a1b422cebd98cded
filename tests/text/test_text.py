"""Plain text to CoNLL-U: every character can be restored, the format is valid, and pieces do not matter."""

import gzip
import io
import json
import os
import threading
import unicodedata
from pathlib import Path

import pytest
from hard_texts import NASTY, treebank
from hypothesis import example, given, settings
from hypothesis import strategies as st
from restoring import restore

from nonproj.cli.main import main
from nonproj.errors import ConfigError, DataError, ModelError, NonprojError
from nonproj.io import conll
from nonproj.linear.state import load
from nonproj.options.sections import SegmenterConfig
from nonproj.text import input as text_input
from nonproj.text.formats import FORMATS, RUNNING, TextInput
from nonproj.text.input import read_text, split_text
from nonproj.text.languages import languages
from nonproj.text.multiword import Multiwords
from nonproj.text.output import renumber
from nonproj.text.rules import UnicodeRules
from nonproj.text.segmenter import Segmenter

SENTENCES = [
    "Hunden ser Dr. Hansen +.",
    "Do|n't go +, please +!",
    "Hvor has|n't kl. 10.30 +?",
    "He is|n't here +( yet +) +.",
    'Mr. Smith said +: +" No +. +"',
    "nej",
] * 12


@pytest.fixture(scope="module")
def trained() -> Segmenter:
    """A segmenter trained on few sentences."""
    return Segmenter.fit(list(conll.read(io.StringIO(treebank(SENTENCES)))), SegmenterConfig(bits=12))


@pytest.fixture(scope="module", params=["trained", "unicode"])
def segmenter(request, trained) -> Segmenter:
    return trained if request.param == "trained" else Segmenter.unicode()


def written(sentences) -> str:
    return "".join(line for sentence in sentences for line in sentence.lines)


def check(text: str, sentences: list) -> None:
    """Check the properties of every text: it can be restored, its form is valid, offsets are right."""
    if not sentences:
        assert all(c.isspace() or unicodedata.category(c) == "Cc" or c in "\u200b\ufeff" for c in text)
        return
    assert restore(sentences) == text
    output = written(sentences)
    again = list(conll.read(io.StringIO(output, newline="\n")))
    assert [sentence.rows for sentence in again] == [sentence.rows for sentence in sentences]
    assert [sentence.word_lines for sentence in again] == [sentence.word_lines for sentence in sentences]
    assert restore(again) == text
    for sentence in sentences:
        for line in sentence.lines:
            if "TokenRange=" in line:
                first, last = map(int, line.rstrip("\n").rpartition("=")[2].split(":"))
                assert unicodedata.normalize("NFC", text[first:last]) == line.split("\t")[1]


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("form", FORMATS)
def test_nasty_texts(segmenter, text, form):
    check(text, segmenter.segment(text, TextInput(form, ranges=True)))


MOST_CHARACTERS = st.characters(exclude_categories=["Cs"])
SIGNS = "ab.A!?,'\"()-10 \n\t\r|\\_#=\u00a0\u200b\u200d\ufeff\u0301\u0338\u1161\u1100\U0001f3fd\x00\x85\u2028\u2029"
ANY = st.text(st.one_of(st.sampled_from(SIGNS), MOST_CHARACTERS), max_size=60)
MARK_BEGINS = 'Det regner.\n\n" Hvor er du.'
TITLE = "Indkaldelse til møde\nMødet holdes mandag. Vi ses.\n\nAgenda\n 1 Velkommen\n"


@settings(max_examples=300, deadline=None)
@given(text=ANY, form=st.sampled_from(FORMATS), limit=st.integers(2, 9))
@example(text="\u1100\u1161\u11a8", form="text", limit=2)
def test_any_text_can_be_restored(trained, text, form, limit):
    for segmenter in (trained, Segmenter.unicode()):
        sentences = segmenter.segment(text, TextInput(form, True, limit))
        check(text, sentences)
        assert max(map(len, sentences), default=0) <= limit


PIECES = {"text": st.text(st.one_of(st.sampled_from("ab.\n\n \r\t\u2029"), MOST_CHARACTERS), max_size=80)}
PIECES |= {"form": st.sampled_from(FORMATS), "breaks": st.booleans(), "rules": st.booleans()}
PIECES |= {"size": st.integers(1, 40), "block": st.integers(1, 9), "longest": st.sampled_from([7, 20, 1 << 20])}


@settings(max_examples=200, deadline=None)
@given(**PIECES)
@example(text="a.\n b.\nc", form="lines", breaks=False, rules=False, size=1, block=9, longest=1 << 20)
@example(text=MARK_BEGINS, form="text", breaks=False, rules=True, size=1, block=9, longest=1 << 20)
@example(text=TITLE, form="tokens", breaks=True, rules=False, size=1, block=9, longest=1 << 20)
def test_pieces_do_not_matter(trained, text, form, breaks, rules, size, block, longest):
    segmenter = Segmenter.unicode() if rules else trained
    options = TextInput(form, ranges=True, breaks=breaks and form in RUNNING)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nonproj.text.pieces.MAX_PARAGRAPH", longest)
        expected = outcome(read_text(io.BytesIO(text.encode()), segmenter, options))
        pieces = list(until_error(split_text(stream_of(text.encode(), block), options, size)))
        found, number = [], 0
        for piece in pieces:
            sentences = segmenter.sentences(piece, options)
            found += [renumber("".join(sentence.lines), number) for sentence in sentences]
            number += len(sentences)
        assert found == [text for text, _, _ in expected if text is not None]
        if found:
            assert "".join(piece.text for piece in pieces) == text
        if longest == 1 << 20 and text.strip():
            whole = segmenter.segment(text, options)
            assert ["".join(sentence.lines) for sentence in whole] == found


class Slow(io.RawIOBase):
    """A pipe that gives few bytes at once."""

    def __init__(self, data: bytes, block: int):
        self.data, self.block = data, block

    def readable(self):
        return True

    def readinto(self, buffer):
        count = min(self.block, len(buffer), len(self.data))
        buffer[:count], self.data = self.data[:count], self.data[count:]
        return count


def stream_of(data: bytes, block: int = 1 << 20) -> io.BufferedReader:
    return io.BufferedReader(Slow(data, block))


def until_error(pieces):
    try:
        yield from pieces
    except NonprojError:
        return


def outcome(sentences) -> list:
    """The lines and offsets of sentences, and the final error."""
    found = []
    try:
        found.extend(("".join(sentence.lines), sentence.path, sentence.line) for sentence in sentences)
    except NonprojError as error:
        found.append((None, type(error), str(error)))
    return found


def test_lines_of_conllu(trained):
    text = "Hunden ser Dr. Hansen. He isn't  here.\n\n nej"
    assert written(trained.segment(text, TextInput(ranges=True))).replace("\t", " ").replace(" _" * 7, "") == (
        "# newdoc\n# newpar\n# sent_id = 1\n# text = Hunden ser Dr. Hansen.\n"
        "1 Hunden TokenRange=0:6\n2 ser TokenRange=7:10\n3 Dr. TokenRange=11:14\n"
        "4 Hansen SpaceAfter=No|TokenRange=15:21\n5 . TokenRange=21:22\n\n"
        "# sent_id = 2\n# text = He isn't here.\n"
        "1 He TokenRange=23:25\n2-3 isn't SpacesAfter=\\s\\s|TokenRange=26:31\n2 is _\n3 n't _\n"
        "4 here SpaceAfter=No|TokenRange=33:37\n5 . SpacesAfter=\\n\\n|TokenRange=37:38\n\n"
        "# newpar\n# sent_id = 3\n# text = nej\n1 nej SpacesBefore=\\s|SpaceAfter=No|TokenRange=41:44\n\n"
    )


def test_lines_and_words_are_those_of_the_input(segmenter):
    text = "Hunden ser. Dr. Hansen\nnej .\n\nDo n't"
    lines = segmenter.segment(text, TextInput("lines"))
    assert [sentence.lines[-2 - len(sentence)] for sentence in lines][1:] == ["# text = nej .\n", "# text = Do n't\n"]
    assert [line for line in lines[2].lines if line.startswith("# newpar")]
    words = segmenter.segment(text, TextInput("words"))
    assert [sentence.forms for sentence in words] == [["Hunden", "ser.", "Dr.", "Hansen"], ["nej", "."], ["Do", "n't"]]


def test_a_token_without_end_is_cut(segmenter):
    for text in ("x" * 5000, "e" + "\u0301" * 5000, "\u1100\u1161" * 3000):
        sentences = segmenter.segment(text)
        assert restore(sentences) == text
        assert max(len(form) for sentence in sentences for form in sentence.forms) <= 2000


def test_a_surrogate_is_an_error(segmenter):
    with pytest.raises(DataError, match=r"^<text>:2: the lone surrogate U\+D800"):
        segmenter.segment("a\nb\ud800")


# -- input -------------------------------------------------------------------------------------------------------------

TEXT = "Hunden ser Dr. Hansen.\n\nnej\nHe isn't here.\n\n\nDo go!\n" * 50


def test_gzip_pipes_and_text_streams_are_read_alike(trained, tmp_path):
    expected = outcome(read_text(io.BytesIO(TEXT.encode()), trained))
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    renamed = [(text, str(path), line) for text, _, line in expected]
    assert outcome(read_text(path, trained)) == renamed
    assert outcome(read_text(io.StringIO(TEXT), trained)) == expected
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as sink, os.fdopen(reading, "rb") as source:
        sink.write(b"Do go!\n\nDo go!\n")
        sink.flush()
        sentences = read_text(source, trained)
        assert next(sentences).forms == ["Do", "go", "!"]  # while the pipe is open
        threading.Thread(target=sink.close).start()
        assert next(sentences).forms == ["Do", "go", "!"]


BLANK = b"nej\n" + b" " * (1 << 17) + b" \nnej"
BROKEN = {
    "Do go!\n\nnej\nblåbær".encode("latin-1"): "<stream>:4: byte 0xe5 is not UTF-8; recode the file to UTF-8 first",
    gzip.compress(TEXT.encode(), mtime=0)[:-9]: "<stream>:351: the gzip data end here, incomplete",
    BLANK: "<stream>:1: more than 131072 blank or control characters in a row; is this a text file?",
}


@pytest.mark.parametrize(("data", "message"), BROKEN.items())
def test_errors_name_the_line_after_the_sentences_before_it(trained, data, message):
    found = outcome(read_text(stream_of(data), trained))
    assert found[-1][0] is None and found[-1][2] == message
    assert len(found) > 1


@pytest.mark.parametrize("form", FORMATS)
def test_pieces_have_the_size_that_is_asked_for(form):
    """A piece has many lines: a batch of sentences is faster than single ones."""
    pieces = list(split_text(io.StringIO("Do go nej.\n" * 5000), TextInput(form), 1 << 12))
    assert len(pieces) <= 55_000 // (1 << 12) + 1


ROW = "{}\t{}" + "\t_" * 8 + "\n"
COMMENTS = "# sent_id = 1\n\n \n# text = Im Haus\n"
TREEBANKS = {
    ROW.format(1, "nej") + "\n": 1,
    "\ufeff" + ROW.format(1, "nej").replace("\n", "\r\n"): 1,
    COMMENTS + ROW.format("1-2", "Im") + ROW.format(1, "In"): 5,
    COMMENTS + ROW.format("0.1", "nej"): 5,
    "# a\n1\tnej\t_\t_\t_\t_\t0\troot\t0:root\tSpaceAfter=No\n": 2,
}


@pytest.mark.parametrize("data", TREEBANKS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_treebank_is_not_parsed_as_text(trained, data, form, monkeypatch):
    message = f"<stream>:{TREEBANKS[data]}: ten columns between tabs: a file of CoNLL-U is parsed without --{form}"
    options = TextInput(form)
    with pytest.raises(DataError, match="ten columns"):
        list(split_text(io.BytesIO(data.encode()), options))
    for block in (1 << 16, 3):
        monkeypatch.setattr(text_input, "_BLOCK", block)
        assert outcome(read_text(io.BytesIO(data.encode()), trained, options))[-1][2] == message


@pytest.mark.parametrize(
    "text", ["2" + ROW.format(1, "nej"), "a\n" + ROW.format(1, "nej"), ROW[:-3].format(1, "nej") + "\n", "# a\n\n# b\n"]
)
def test_text_with_tabs_is_no_treebank(trained, text):
    assert None not in [words for words, *_ in outcome(read_text(io.BytesIO(text.encode()), trained))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TextInput("conll"), "^format: conll is invalid, one of text, lines, words, tokens expected$"),
        (TextInput(max_words=1), "^max_words: 1 is invalid"),
        (TextInput("lines", breaks=True), "breaks"),
        (TextInput("words", breaks=True), "breaks"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ConfigError, match=message):
        list(split_text(io.StringIO("a"), options))


@pytest.mark.parametrize("unit", ["Hunden ser Dr. Hansen. ", "\u304b\u3099"])
def test_memory_is_bounded(unit, monkeypatch):
    """Text without line ends is read in pieces of a limited size, between clusters, and nothing is lost."""
    monkeypatch.setattr("nonproj.text.pieces.MAX_PARAGRAPH", 9999)
    text = unit * 5000
    pieces = list(split_text(io.BytesIO(text.encode())))
    assert len(pieces) > 1 and max(len(piece.text) for piece in pieces[:-1]) <= 9999
    assert "".join(piece.text for piece in pieces) == text
    assert not any(piece.begins or piece.text.startswith("\u3099") for piece in pieces[1:])
    assert [piece.offset for piece in pieces][1] == len(pieces[0].text)


@pytest.mark.parametrize(
    ("data", "forms"),
    [
        (b"\x1fHej.\n", [["Hej", "."]]),
        (b"\x1f", []),
        *((data, []) for data in (b"", b" \n\n\x00", "\ufeff".encode(), gzip.compress(b"", mtime=0))),
        (b"\x1fa b", [["a", "b"]]),
        (gzip.compress(b"a b", mtime=0), [["a", "b"]]),
    ],
)
def test_a_text_may_be_empty_or_begin_with_the_first_byte_of_gzip(trained, data, forms):
    """Two bytes tell gzip data, even where a pipe gives the first of them alone."""
    for block in (1, 9999):
        assert [sentence.forms[: len(forms[0])] for sentence in read_text(stream_of(data, block), trained)] == forms


# -- state -------------------------------------------------------------------------------------------------------------


def test_a_segmenter_is_stored_without_loss(segmenter):
    meta, arrays = segmenter.state()
    again = load(Segmenter, (json.loads(json.dumps(meta)), arrays))
    assert again.description == segmenter.description
    assert written(again.segment(TEXT)) == written(segmenter.segment(TEXT))


def damaged(meta: dict, arrays: dict):
    """Yield states that obey the schema and are not those of a segmenter."""
    for name, array in arrays.items():
        yield meta, arrays | {name: array[:-1]}
        if array.dtype.kind == "f":
            yield meta, arrays | {name: array + float("nan")}
    if meta["kind"] == "trained":
        yield meta | {"threshold": float("nan")}, arrays
        yield meta, arrays | {"candidate": arrays["candidate"] + 2}
    else:
        for wrong in (["a", 1], "a", [""], ["a" * 61], ["a\n"], ["\ud800"]):
            yield meta | {"lexicon": wrong}, arrays
            for name in meta["language"].keys() - {"code", "name"}:
                yield meta | {"language": meta["language"] | {name: wrong}}, arrays


def test_damaged_states_are_rejected(segmenter):
    states = list(damaged(*segmenter.state()))
    assert len(states) > 12
    for state in states:
        with pytest.raises(ModelError, match="^[^\n]*segmenter[^\n]*$"):
            load(Segmenter, state)


# -- rules ------------------------------------------------------------------------------------------------------------


def test_what_segments_is_said(trained):
    assert trained.description == "trained on 72 sentences of raw text"
    rows = "1\tbl.a.\t_\tN\tNC\t_\t0\tROOT\t_\t_\n\n"
    danish = Segmenter.fit(list(conll.read(io.StringIO(rows))))
    assert danish.description == "rules over Unicode's characters (the treebank has no raw text)"
    assert danish.segment("Vi ser bl.a. hunde.")[0].forms == ["Vi", "ser", "bl.a.", "hunde", "."]
    assert Segmenter.unicode().segment("Vi ser bl.a. hunde.")[0].forms == ["Vi", "ser", "bl.a", ".", "hunde", "."]


ONE_WORD = "1\ta\t_\tN\tNC\t_\t0\tROOT\t_\t_\n\n"
TRICKY = {
    "Vi ses kl. 10.30. Han gik.": "Vi ses kl. 10.30 .|Han gik .",
    "Hr. Hansen ser 3,5 inkl. moms": "Hr. Hansen ser 3,5 inkl. moms",
    "God #jul @peter, ;-) dvs.": "God #jul @peter , ;-) dvs.",
    '<a href="http://a.dk/b">link</a>': '< a href = " http://a.dk/b " > link < / a >',
    "(http://a.dk/x_(y)) www.b.dk, c@d.dk.": "( http://a.dk/x_(y) ) www.b.dk , c@d.dk .",
    "Bl.a. Bo. F.eks. Per.": "Bl.a. Bo .|F.eks. Per .",
    "Den 3. maj, 4., og 1990. Han": "Den 3. maj , 4. , og 1990 .|Han",
    "Han kom. »Gå.« Så gik P. Bo.": "Han kom .|» Gå . «|Så gik P. Bo .",
    "Vores CVR-nr. 12345678 er nyt.": "Vores CVR-nr. 12345678 er nyt .",
    "Fru. Hansen kom. Hun er hans fru. Ja.": "Fru. Hansen kom .|Hun er hans fru .|Ja .",
    "Det varer min. 5 dage. Den er min. Han": "Det varer min. 5 dage .|Den er min .|Han",
    "Oplys dit nr. (eller kundenr.). Oplys kundenr... Han": "Oplys dit nr. ( eller kundenr. ) .|Oplys kundenr ...|Han",
}


@pytest.mark.parametrize(("text", "expected"), TRICKY.items())
def test_rules_of_a_language(text, expected):
    segmenter = Segmenter.fit(list(conll.read(io.StringIO(ONE_WORD))), SegmenterConfig(language="da"))
    assert segmenter.description == "rules for Danish (the treebank has no raw text)"
    assert "|".join(" ".join(sentence.forms) for sentence in segmenter.segment(text)) == expected


def test_a_treebank_tells_words_from_abbreviations():
    """A number in the lexicon does not cut a longer one, and a frequent word before a full stop is no abbreviation."""
    rows = "".join(f"{i}\t{form}\t_\tN\tNC\t_\t0\tROOT\t_\t_\n" for i, form in enumerate(["min."] + ["min"] * 9, 1))
    treebank = list(conll.read(io.StringIO(rows + "\n" + ONE_WORD.replace("\ta\t", "\t10.\t"))))
    segmenter = Segmenter.fit(treebank)
    assert segmenter.segment("10.000 er min.")[0].forms == ["10.000", "er", "min", "."]


def test_a_language_without_rules_is_an_error():
    treebank = list(conll.read(io.StringIO(ONE_WORD)))
    with pytest.raises(ConfigError, match="^segmenter.language: sv is invalid, null, auto, da, nl, eu, en expected$"):
        Segmenter.fit(treebank, SegmenterConfig(language="sv"))


# -- marks -------------------------------------------------------------------------------------------------------------

MARKED = (
    "が\u3099ハ\u309aཀ\u0f72ག\u0f74ང\u0f7cก\u0e33क\u094dष\u0947\u1100\u1161\u11a8가\u11a8"
    "👩\u200d👧\U0001f3fd🇩🇰🇬🇷e\u0301\u0600١\uff8a\uff9f"
)


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from(MARKED + "ab .1-"), max_size=30), form=st.sampled_from(["text", "lines"]))
@example(text="\u304b\u3099\u304d\u3099", form="text")
@example(text="\u0f56\u0f7c\u0f51\u0f72", form="text")
def test_no_mark_is_separated_from_its_base(trained, text, form):
    """Every token of every segmenter is a sequence of whole grapheme clusters, but for marks on blanks."""
    regex = pytest.importorskip("regex")
    inside, position = set(), 0
    for cluster in regex.findall(r"\X", text):
        within = range(1, len(cluster))
        inside |= {position + k for k in within if not any(map(str.isspace, cluster[k - 1 : k + 1]))}
        position += len(cluster)
    danish = Segmenter(UnicodeRules(["が.", "1."], languages()["da"]), Multiwords.fit([]), "rules")
    for segmenter in (trained, Segmenter.unicode(), danish):
        for sentence in segmenter.segment(text, TextInput(form, ranges=True)):
            for row in sentence.rows:
                first, _, last = row[9].rpartition("TokenRange=")[2].partition(":")
                assert int(first) not in inside and int(last) not in inside, (first, last, row[1])


@pytest.mark.parametrize("mark", ['"', ")", "\u201d"])
def test_a_mark_that_begins_a_paragraph_belongs_to_it(mark):
    """The full stop before the paragraph is of no account."""
    found = [sentence.forms for sentence in Segmenter.unicode().segment(MARK_BEGINS.replace('"', mark))]
    assert found == [["Det", "regner", "."], [mark, "Hvor", "er", "du", "."]]


# -- line breaks and given words ---------------------------------------------------------------------------------------

GOLDEN = str(Path(__file__).resolve().parents[1] / "golden" / "model.nonproj")
BROKEN_TITLE = ["Indkaldelse til møde", "Mødet holdes mandag .", "Vi ses .", "Agenda", "1 Velkommen"]
"""The sentences of the title if line breaks end them."""


def sentences_of(segmenter: Segmenter, text: str, **options) -> list[str]:
    return [" ".join(sentence.forms) for sentence in segmenter.segment(text, TextInput(**options))]


def test_a_line_break_ends_a_sentence_where_asked(segmenter):
    plain, broken = sentences_of(segmenter, TITLE), sentences_of(segmenter, TITLE, breaks=True)
    assert len(plain) < len(broken)
    assert any(sentence.startswith("Agenda 1") for sentence in plain)
    lines = ["".join(line.split()) for line in TITLE.splitlines()]
    assert all(any(sentence.replace(" ", "") in line for line in lines) for sentence in broken)
    assert sentences_of(Segmenter.unicode(), TITLE, breaks=True) == BROKEN_TITLE
    sentences = segmenter.segment(TITLE, TextInput(breaks=True))
    assert restore(sentences) == TITLE
    begins = [sentence.forms[0] for sentence in sentences if "# newpar\n" in sentence.lines]
    assert begins == ["Indkaldelse", "Agenda"]


def test_given_words_are_split_into_sentences(segmenter):
    words = "Hunden ser Dr. Hansen . Hvor ( i byen ) ? Don't go , please !"
    found = sentences_of(segmenter, words, format="tokens")
    assert " ".join(found) == words
    assert len(found) == 3
    assert sentences_of(segmenter, words.replace(" ", "\n"), format="tokens") == found
    assert sentences_of(segmenter, words, format="words") == [words]


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text(TITLE)
    for jobs in ([], ["--jobs", "2"], ["--resume"]):
        assert main(["parse", GOLDEN, "in.txt", "--text", "--breaks", "-o", "out", *jobs]) == 0
        assert [" ".join(sentence.forms) for sentence in conll.read("out")] == BROKEN_TITLE
    Path("in.txt").write_text("Mødet holdes mandag . Vi ses .\n")
    assert main(["parse", GOLDEN, "in.txt", "--tokens", "-o", "out"]) == 0
    assert [len(sentence) for sentence in conll.read("out")] == [4, 3]
    capsys.readouterr()
    assert main(["parse", GOLDEN, "in.txt", "--lines", "--breaks"]) == 2
    assert "breaks: is about running text" in capsys.readouterr().err
