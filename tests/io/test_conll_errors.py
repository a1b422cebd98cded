"""Malformed treebank files: every error is reported at its line."""

import gzip
import io
import random
import tracemalloc
from itertools import accumulate

import pytest
from pieces import units_of_pieces
from rows import GOOD, read, word, words

from nonproj.errors import DataError, FileError, one_line
from nonproj.io import checks, conll
from nonproj.io.broken import MalformedUnit, until_error
from nonproj.io.splitting import split

NO_WORDS = "a sentence without words; remove it, or the blank line after it"
PLUS, ORDER = "CoNLL-U Plus begins with # global.columns = ID FORM ...", "is repeated or out of order"
UTF8, OVERLAP = "is not UTF-8; recode the file to UTF-8 first", "overlaps the one before it"
MARK = "a byte order mark inside the file; remove it"
BAD = [
    ("columns", GOOD + "1\tw\t_\n\n", "4: 3 columns, 10 expected"),
    ("eleven", GOOD[:-2] + "\t_\n\n", f"2: 11 columns, 10 expected; {PLUS}"),
    ("raw text", "Det regner.\n\n", "1: 1 column, 10 expected; plain text is parsed by 'nonproj parse --text'"),
    ("spaces", "1 w _ N NN _ 0 ROOT _ _\n\n", "1: 1 column, 10 expected; columns are separated by tabs, not by spaces"),
    ("skipped", GOOD + word(1, 0) + word(3, 1) + "\n", "5: ID is '3', 2 expected"),
    ("from 0", word(0, 0), "1: ID is '0', 1 expected"),
    ("joined", word(1, 0) + word(1, 0), "2: ID is '1', 2 expected; is the blank line before it missing?"),
    ("range", word("2-3", "_") + word(1, 0), "1: ID is '2-3', 1 expected"),
    ("range down", word(1, 0) + word("2-1", "_"), "2: ID is '2-1', 2 expected"),
    ("empty node", word(1, 0) + word("2.1", "_"), "2: ID is '2.1', 2 expected"),
    ("range of one", word("1-1", "_") + words(0), "1: the multiword range 1-1 has one word, two or more expected"),
    ("range repeated", word("1-2", "_") * 2 + words(0, 1), f"2: the multiword range 1-2 {OVERLAP}"),
    ("overlap", word("1-2", "_") + word(1, 0) + word("2-3", "_"), f"3: the multiword range 2-3 {OVERLAP}"),
    ("range too long", GOOD + word("1-9", "_") + words(0, 1), "4: the multiword range ends with word 9, the last is 2"),
    ("range of digits", word("1-" + "9" * 5000, "_"), f"1: ID is '1-{'9' * 5000}', 1 expected"),
    ("empty twice", word(1, 0) + word("1.1", "_") * 2, f"3: the empty node 1.1 {ORDER}"),
    ("empty order", word(1, 0) + word("1.2", "_") + word("1.1", "_"), f"3: the empty node 1.1 {ORDER}"),
    ("BOM inside", GOOD + "\ufeff" + GOOD, f"4: {MARK}"),
    ("BOM on a blank line", "\n\ufeff\n" + GOOD, f"2: {MARK}"),
    ("long line", GOOD + "# " + "x" * 2**20, "4: a line of more than 1048576 bytes; --max-line sets this limit"),
    ("no blank lines", GOOD + "# \n" * 2**19, "4: a sentence of too many lines; is the blank line after it missing?"),
    ("blank ID", "\tw" + "\t_" * 8 + "\n", "1: ID is '', 1 expected"),
    ("blanks and tabs", "\t" * 9 + "\n \n", "1: no sentences; the file is empty or blank"),
    ("comment", word(1, 0) + "# x\n" + GOOD, "2: a comment inside a sentence; is the blank line before it missing?"),
    ("FORM", GOOD + word(1, 0, ""), "4: FORM is empty; a word or _ expected"),
    ("HEAD text", words(0, "x"), "2: HEAD is 'x', a number from 0 to 2 expected"),
    ("HEAD empty", words(0, ""), "2: HEAD is '', a number from 0 to 2 expected"),
    ("HEAD negative", words(0, -1), "2: HEAD is '-1', a number from 0 to 2 expected"),
    ("HEAD zero", words("00"), "1: HEAD is '00', a number from 0 to 1 expected"),
    ("HEAD digits", words("\u0661"), "1: HEAD is '\u0661', a number from 0 to 1 expected"),
    ("HEAD high", GOOD + words(0, 3), "5: HEAD is '3', a number from 0 to 2 expected"),
    ("HEAD huge", words(10**30), f"1: HEAD is '{10**30}', a number from 0 to 1 expected"),
    ("HEAD high, others absent", words("_", 7), "2: HEAD is '7', a number from 0 to 2 expected"),
    ("itself", words(0, 2), "2: HEAD of word 2 is the word itself"),
    ("cycle", GOOD + words(0, 5, 2, 3, 4), "5: the heads form a cycle, not a tree: 2 <- 5 <- 4 <- 3 <- 2"),
    ("cycle behind", words(3, 0, 4, 3), "3: the heads form a cycle, not a tree: 3 <- 4 <- 3"),
    ("no root", words(2, 1), "1: the heads form a cycle, not a tree: 1 <- 2 <- 1"),
    ("comments only", GOOD + "\n# a\n# b\n\n" + GOOD, f"5: {NO_WORDS}"),
    ("comments at the end", GOOD + "# a", f"4: {NO_WORDS}"),
    ("range only", word("1-2", "_") + "\n", f"1: {NO_WORDS}"),
    ("nothing", "", "1: no sentences; the file is empty or blank"),
    ("blank", "\n \n", "1: no sentences; the file is empty or blank"),
    ("Latin-1", GOOD.encode() + b"1\tSk\xe6bne\n", f"4: byte 0xe6 {UTF8}"),
    ("UTF-16", GOOD.encode("utf-16"), f"1: byte 0xff {UTF8}"),
]


@pytest.mark.parametrize(("text", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_errors_have_a_line_number_and_a_message_and_leave_what_is_before(text, message, tmp_path):
    path, content = tmp_path / "bad.conll", text if isinstance(text, bytes) else text.encode()
    path.write_bytes(content)
    for source in (conll.read(path), units_of_pieces(split(path))):
        errors: list = []
        units = [unit.line for unit in until_error(source, errors)]
        assert units == [1] * content.startswith(GOOD.encode())
        assert list(map(str, errors)) == [one_line(f"{path}:{message}")] or (not errors and "no sentences" in message)


def test_gold_heads_can_be_required():
    with pytest.raises(DataError, match=r"^<stream>:5: HEAD is absent \(_\); gold heads are needed here$"):
        read(GOOD + words(0, "_", 1), require_heads=True)
    assert len(read(GOOD, require_heads=True)) == 1


def test_undecodable_text_streams(tmp_path):
    path = tmp_path / "latin.conll"
    path.write_bytes((GOOD * 3000).encode() + "1\tæ\n".encode("latin-1"))
    with open(path, encoding="utf-8") as stream, pytest.raises(DataError, match=":9001: byte 0xe6 is not UTF-8"):
        list(conll.read(stream))


def test_gzip(tmp_path):
    """Whole, or cut or damaged, and also in pieces: the sentences before the damage are there."""
    path, data = tmp_path / "a.conll.gz", "".join(words(0, 1, number % 3) for number in range(999)).encode()
    packed = gzip.compress(data)
    cut, corrupt = packed[: len(packed) // 2], packed[:40] + b"\xff" * 40 + packed[80:]
    for content, message in ((packed, ""), (cut, "gzip data end here, incomplete"), (corrupt, "data are corrupt here")):
        path.write_bytes(content)
        found: list = []
        for units in (conll.read(path), *(units_of_pieces(split(path, size)) for size in (1, 1000))):
            errors: list = []
            found.append(([unit.line for unit in until_error(units, errors)], list(map(str, errors))))
        assert found[0] == found[1] == found[2]
        assert len(found[0][0]) == 999 if not message else message in found[0][1][0]


def test_files_that_cannot_be_read(tmp_path):
    for path, message in ((tmp_path / "none", "no such file"), (tmp_path, "this is a folder, a file is expected")):
        with pytest.raises(FileError, match=f"^{path}: {message}$"):
            conll.read(path)  # at once, not at the first sentence


def test_limits_can_be_changed():
    assert read("# " + "x" * 2**20 + "\n" + GOOD, max_line=2**21)
    for source in (io.BytesIO(GOOD.encode()), io.StringIO(GOOD)):
        with pytest.raises(DataError, match=":1: a line of more than 9 bytes"):
            list(conll.read(source, max_line=9))


BOMB = conll.ReadingRules(max_line=2**12)


def read_pieces(path, rules):
    for unit in units_of_pieces(split(path, rules=rules, stop=True), rules):
        if isinstance(unit, MalformedUnit):
            raise unit.error()


@pytest.mark.parametrize("function", [lambda path, rules: list(conll.read(path, rules)), read_pieces])
@pytest.mark.parametrize("line", [b"\0", b"\n", b"# \n", b"1\ta\n", b"1\ta" + b"\t_" * 8 + b"\n"])
def test_memory_is_bounded_for_endless_input(line, function, tmp_path):
    """A gzip bomb, with and without line ends."""
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", 1) as stream:
        for _ in range(20):
            stream.write(line * (2**20 // len(line)))
    tracemalloc.start()
    with pytest.raises(DataError):
        function(path, BOMB)
    assert tracemalloc.get_traced_memory()[1] < 4e6
    tracemalloc.stop()


def test_heads_and_labels_can_be_ignored():
    """The two columns may have any values, which are unchanged until another tree is written."""
    for head, label in ((1, ""), (99, "a b"), ("", "_"), ("x", "\x1b"), ("_", "_"), (10**30, "1")):
        text = word(1, head, label=label) + word(2, 1) + "\n"
        [sentence] = read(text, ignore_heads=True)
        assert sentence.heads is None
        assert conll.replace(sentence, [0, 1], ["root", "dep"]) == word(1, 0, label="root") + word(2, 1) + "\n"


def test_cycles_against_the_definition():
    generator = random.Random(2)
    for _ in range(2000):
        n = generator.randint(1, 6)
        heads = [-1] + [generator.choice([h for h in range(n + 1) if h != m]) for m in range(1, n + 1)]
        ways = [[*accumulate(range(n), lambda node, _: max(heads[node], 0), initial=m)] for m in range(1, n + 1)]  # noqa: B023
        in_cycle = {way[0] for way in ways if way[0] in way[1:]}
        found = checks.cycle_of(heads)
        assert bool(found) == bool(in_cycle) and set(found) <= in_cycle
        if found:
            assert found[0] == min(found)
            assert [heads[m] for m in found] == found[1:] + found[:1]
