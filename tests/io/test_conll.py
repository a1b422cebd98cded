"""Reading and writing of treebanks: lossless, with every error reported at its line."""

import gzip
import io
import os
import random
import re

import conllu
import numpy as np
import pytest
from rows import GOOD, read, word, words

from nonproj.errors import DataError, FileError
from nonproj.io import conll
from nonproj.io.objects import from_conllu, to_conllu
from nonproj.types import Sentence

FILES = [
    *(f"danish/danish_ddt_{part}.conll" for part in ("train", "test")),
    *(f"dutch/nl_lassysmall-ud-{part}.conllu" for part in ("train", "test")),
    *(f"basque/basque_conll2007_{part}.conll" for part in ("train", "test")),
    *(f"english/wsj_sample_{part}.conll" for part in ("train", "test")),
]


def rewrite(text: str | bytes) -> bytes:
    """Read, put every head and label in again, write."""
    target = io.BytesIO()
    conll.write(((s, s.heads, s.labels) if s.heads is not None else (s, None) for s in read(text)), target)
    return target.getvalue()


CONLLU = """\
# newdoc id = d1
# text = vámonos al\tmar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\tNumber=Plur\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\tSpaceAfter=No
2.1\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
5\tmar adentro\tmar\tNOUN\t_\t_\t1\tobl\t_\t_

0.1\tpro\t_\tPRON\t_\t_\t_\t_\t1:nsubj\t_
1\tllueve\tllover\tVERB\t_\t_\t0\troot\t_\t_

"""


# Without loss


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough) if "train" in name else name for name in FILES]
)
def test_round_trip_of_a_treebank_is_byte_identical(treebanks, name, tmp_path):
    path, target = treebanks / name, tmp_path / "out.conll"
    sentences = conll.read_all(path, require_heads=True)
    assert conll.write(((s, s.heads.copy(), s.labels) for s in sentences), target) == len(sentences)
    assert target.read_bytes() == path.read_bytes()
    for sentence in sentences[:: len(sentences) // 50]:
        line = path.read_bytes().split(b"\n")[sentence.line + sentence.word_lines[-1] - 1].decode()
        assert line.split("\t") == sentence.rows[-1] and sentence.rows[-1][0] == str(len(sentence))
        assert sentence.heads.dtype == np.int32 and sentence.heads.shape == (len(sentence),)
        assert sentence.heads.tolist() == [int(row[6]) for row in sentence.rows]


def test_round_trip_through_gzip(treebanks, tmp_path):
    packed, target = tmp_path / "in.conllu", tmp_path / "out.conllu.gz"  # read by its content, written by its name
    packed.write_bytes(gzip.compress((treebanks / FILES[3]).read_bytes()))
    conll.write(((s, s.heads) for s in conll.read(packed)), target)
    assert gzip.decompress(target.read_bytes()) == (treebanks / FILES[3]).read_bytes()


def test_files_round_trip():
    """Any text between the sentences, at the ends of lines and in the words is kept; heads may be absent."""
    generator = random.Random(1)
    for _ in range(300):
        text = generator.choice(["", "\ufeff"])
        for _ in range(generator.randint(1, 4)):
            text += generator.choice(["", "\n", "\n \r\n"]) + generator.choice(["", "# a = b\n", "#\n# x\tz\r\n"])
            n = generator.randint(1, 5)
            order = generator.sample(range(1, n + 1), n)
            heads = {m: generator.choice([0, *order[:i]]) for i, m in enumerate(order)}
            heads |= dict.fromkeys(generator.choice([(), (), order, order[1:]]), "_")
            ranged = 0
            for m in range(1, n + 1):
                if m > ranged and m < n and generator.random() < 0.3:
                    ranged = generator.randint(m + 1, n)
                    text += f"{m}-{ranged}" + "\t_" * 9 + "\n"
                form = generator.choice(["#", "a b", "  ", "é", "_", "a\xa0 b\u2028\x85\x0c"])
                text += word(m, heads[m], form).replace("\n", generator.choice(["\n", "\r\n"]))
                text += generator.choice(["", "", f"{m}.1" + "\t_" * 9 + "\n"])
            text += generator.choice(["\n", "\r\n", "  \n", "\t \n", "\n\n   \n"])
        text = generator.choice([text, text.rstrip("\n"), f"{text}\n\n"])
        assert rewrite(text) == text.encode()
        assert "".join(line for s in read(text) for line in s.lines) == text


def test_damaged_files_are_rejected_or_preserved():
    """Any change of a byte gives one line for the user, or a file that is written unchanged."""
    generator = random.Random(3)
    outcomes = set()
    for _ in range(4000):
        data = bytearray((CONLLU + words(2, 0, 2)).encode())
        for _ in range(generator.randint(1, 3)):
            place = generator.randrange(len(data))
            new = generator.choice([b"", b"\n", b"\r", b"\t", b" ", b"#", b"-", b".", b"0", b"9", b"_", b"\xff", b"\0"])
            data[place : place + generator.randint(0, 1)] = new
        try:
            assert rewrite(bytes(data)) == data
            outcomes.add("kept")
        except DataError as error:
            assert 1 <= error.line <= data.count(b"\n") + 1 and "\n" not in str(error)
            outcomes.add(error.message.split()[0])
    assert len(outcomes) > 5


# Reading


def test_multiword_tokens_and_empty_nodes_are_not_words():
    first, second = read(CONLLU)
    assert first.forms == ["vamos", "nos", "a", "el", "mar adentro"]
    assert first.labels == ["root", "obj", "case", "det", "obl"]
    assert first.heads.tolist() == [0, 1, 5, 5, 1]
    assert (first.line, first.word_lines, second.line, second.word_lines) == (1, [3, 4, 7, 8, 9], 12, [1])
    assert [first.lines[i].split("\t")[0] for i in first.word_lines] == ["1", "2", "3", "4", "5"]


def test_heads_may_be_absent_and_roots_several():
    assert [s.heads for s in read(words("_", "_") + words(0, "_"))] == [None, None]
    assert read(words(0, 0, 0))[0].heads.tolist() == [0, 0, 0]
    assert read(words(*range(1500)))[0].heads.tolist() == [*range(1500)]


def test_text_streams_paths_and_names(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(words(0), newline="")
    with open(path, encoding="utf-8") as stream:
        found = [next(conll.read(source)) for source in (stream, str(path), path, io.StringIO(words(0)))]
    assert [each.path for each in found] == [*[str(path)] * 3, "<stream>"]
    assert all(each.rows == found[0].rows for each in found)


def test_a_pipe_is_answered_at_once():
    end, start = os.pipe()
    with open(end, "rb") as source, open(start, "wb", buffering=0) as sender:
        sentences = conll.read(source)
        for heads in ((2, 0), (0,), (0, 1, 2)):
            sender.write(words(*heads).encode())  # nothing more is there to be read
            assert next(sentences).heads.tolist() == [*heads]
        sender.write(b"\n\n")
        sender.close()
        assert list(sentences) == []


# Writing


def test_replace_changes_two_columns_only():
    first, second = read(CONLLU.replace("\n", "\r\n"))
    text = conll.replace(first, [2, 0, 2, 2, 2], ["a", "b", "c", "d", "e"], deps="keep")
    before = [line.split("\t") for line in "".join(first.lines).split("\n")]
    after = [line.split("\t") for line in text.split("\n")]
    changed = [(i, j) for i, row in enumerate(after) for j, cell in enumerate(row) if cell != before[i][j]]
    assert changed == [(i, j) for i in (3, 4, 7, 8, 9) for j in (6, 7) if after[i][j] != before[i][j]]
    assert [(after[i][6], after[i][7]) for i in (3, 4, 7, 8, 9)] == [*zip("20222", "abcde", strict=True)]
    assert "".join(first.lines) == CONLLU[: CONLLU.index("0.1")].replace("\n", "\r\n")  # the sentence is as it was
    assert conll.replace(second, np.array([0], dtype=np.int32)) == "".join(second.lines)


ENHANCED = (
    "# text = a b.5\n0.1\tz\t_\tX\t_\t_\t_\t_\t0:root\t_\n1\ta\t_\tX\t_\t_\t0\troot\t0:root\t_\n"
    "2\tb\t_\tX\t_\t_\t1\tdep\t0.1:dep|3:x\tA=B\n3\tc\t_\tX\t_\t_\t1\tx\t1:x\tx\n\n"
)


def test_a_new_tree_has_no_enhanced_dependencies_of_the_old_one():
    """All or none: with some of them left, the graph would not be connected."""
    [sentence] = read(ENHANCED)
    without = re.sub(r"^0.*\n", "", ENHANCED, flags=re.MULTILINE)
    without = re.sub(r"0:root|0\.1:dep\|3:x|1:x", "_", without)
    assert conll.replace(sentence, [0, 1, 1], sentence.labels) == ENHANCED
    assert conll.replace(sentence, [0, 1, 1], deps="drop") == without
    assert conll.replace(sentence, [0, 1, 1], ["root", "dep", "y"]) == without.replace("1\tx\t_", "1\ty\t_")
    for heads in ([0, 3, 1], [0, 1, 2]):
        with pytest.warns(UserWarning, match=re.escape("nonproj.write(..., deps='keep') keeps them")):
            rows = [line.split("\t") for line in conll.replace(sentence, heads).splitlines()[1:4]]
        assert [row[8] for row in rows] == ["_"] * 3
    kept = conll.replace(sentence, [0, 3, 1], deps="keep")
    assert kept == ENHANCED.replace("1\tdep\t", "3\tdep\t")
    conll.write([(sentence, [0, 3, 1])], target := io.StringIO(), deps="keep")
    assert target.getvalue() == kept
    [conllx] = read(words(0, 1).replace("dep\t_", "dep\t1"))
    assert conll.replace(conllx, [2, 0]).count("dep\t1\t") == 2  # PHEAD


@pytest.mark.parametrize("deps", ["drop", None, "keep"])
def test_the_official_validator_finds_no_half_graph(deps, tmp_path):
    """But if half of it is kept."""
    udtools, path = pytest.importorskip("udtools"), tmp_path / "a.conllu"
    [sentence] = read("# sent_id = 1\n" + ENHANCED.replace("# text = a b.5", "# text = a b c"))
    text = conll.replace(sentence, [0, 3, 1], ["root", "dep", "dep"], deps=deps)
    path.write_text(text.replace("0:root\t_\n1", "_\t_\n1") if deps == "keep" else text, encoding="utf-8")
    state = udtools.Validator(lang="ud", level=2, output=None).validate_files([str(path)])
    found = [each for each in state.error_tracker if "egraph" in each.testid or "edeps" in each.testid]
    assert bool(found) == (deps == "keep")


def test_comments_precede_the_first_word():
    first, second = read("\ufeff" + CONLLU.replace("\n", "\r\n"))
    lines = conll.replace(first, first.heads, comments={"agreed": True, "newdoc id": "d 2\n3"}).split("\r\n")
    newdoc, text = "\ufeff# newdoc id = d 2 3", "# text = vámonos al\tmar"
    assert lines[:4] == [newdoc, text, "# agreed = True", first.lines[2][:-2]]
    assert conll.replace(second, second.heads, comments=[("gap", 0.5)]).startswith("# gap = 0.5\r\n0.1\tpro")
    assert conll.replace(read("\ufeff" + words(0))[0], [0], comments={"a": 1}) == "\ufeff# a = 1\n" + words(0)
    once = conll.replace(second, second.heads, comments={"gap": 1, "agreed": False})
    again = read(once)[0]
    assert conll.replace(again, again.heads, comments={"gap": 1, "agreed": False}) == once


def test_comments_about_the_file_precede_its_first_sentence(tmp_path):
    """Comments about a sentence need its words, and so do comments elsewhere."""
    header, first = "# header of the corpus\n\n", f"# sent_id = 1\n{word(1, 0, 'a')}\n"
    for text in (header + first, "\n" + header + "# more\n\n" + first, "\ufeff" + header + first + first):
        sentences = list(conll.read(io.StringIO(text)))
        assert [sentence.forms for sentence in sentences] == [["a"]] * text.count("sent_id")
        assert conll.write(sentences, tmp_path / "out") and (tmp_path / "out").read_text() == text
    for text in ("# sent_id = 1\n\n" + first, "# text = a\n\n" + first, first + header + first, first + "# end\n"):
        with pytest.raises(DataError, match="a sentence without words; remove it, or the blank line after it"):
            list(conll.read(io.StringIO(text)))


def test_tabs_at_the_end_of_lines_are_kept():
    text = "1-2\tab" + "\t_" * 8 + "\t\n" + (word(1, 2, "a") + word(2, 0, "b")).replace("\n", "\t\t \n") + "\n"
    [sentence] = conll.read(io.StringIO(text))
    assert sentence.forms == ["a", "b"] and "".join(sentence.lines) == text
    assert conll.replace(sentence, [2, 0], ["x", "y"]).count("\t\t \n") == 2
    with pytest.raises(DataError, match=":1: 11 columns, 10 expected"):
        list(conll.read(io.StringIO(word(1, 0, "a").replace("\n", "\tb\n"))))


def test_sentences_without_lines_can_be_written():
    rows = [row.split("\t") for row in words(0, 1).splitlines() if row]
    assert conll.replace(Sentence(rows), [2, 0], ["x", "y"]) == word(1, 2, label="x") + word(2, 0, label="y") + "\n"


def test_replace_checks_lengths():
    of_heads, of_labels = "heads has 1 entries, 2 expected, one for each word", "labels has 3 entries, 2 expected"
    for tree, message in (([0],), of_heads), (([0, 1], "abc"), of_labels):
        with pytest.raises(ValueError, match=message):
            conll.replace(read(GOOD)[0], *tree)


def test_output_is_complete_or_absent(tmp_path):
    path = tmp_path / "out.conll"
    path.write_text("old")
    with pytest.raises(DataError), conll.open_output(path) as stream:
        conll.write(((s, s.heads) for s in conll.read(io.BytesIO((GOOD + "x\n").encode()))), stream)
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["out.conll"])
    conll.write([(read(GOOD)[0], None)], path)
    assert (path.read_text(), os.listdir(tmp_path)) == (GOOD, ["out.conll"])


def test_files_that_cannot_be_written(tmp_path):
    no = tmp_path / "no"
    for path, message in ((no / "a", f"there is no folder '{no}'"), (tmp_path, "this is a folder, a file is expected")):
        with pytest.raises(FileError, match=f"^{path}: cannot be written: {message}$"), conll.open_output(path):
            pass


# The package conllu


def test_conllu_objects_round_trip():
    for token_list, sentence in zip(conllu.parse(CONLLU), read(CONLLU), strict=True):
        ours = from_conllu(token_list)
        assert ours.rows == sentence.rows
        assert ours.heads.tolist() == sentence.heads.tolist()
        theirs = to_conllu(ours, ours.heads, ours.labels)
        assert theirs == token_list and theirs.serialize() == token_list.serialize()


def test_to_conllu_has_the_new_tree_and_no_empty_nodes():
    sentence = read(CONLLU.replace("mar adentro", "mar  adentro"))[0]
    tree = to_conllu(sentence, [2, 0, 2, 2, 2], ["a", "b", "c", "d", "e"])
    parts = [(t["id"], t["head"], t["deprel"]) for t in tree if isinstance(t["id"], int)]
    assert parts == [(1, 2, "a"), (2, 0, "b"), (3, 2, "c"), (4, 2, "d"), (5, 2, "e")]
    assert len(tree) == 7 and tree.metadata["text"].startswith("vámonos") and tree[-1]["form"] == "mar  adentro"


def test_malformed_conllu_objects():
    tokens = conllu.parse(CONLLU)[1]
    tokens[-1]["head"] = 7
    with pytest.raises(DataError, match="<conllu>:2: HEAD is '7', a number from 0 to 1 expected"):
        from_conllu(tokens)
