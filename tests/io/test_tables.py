"""Sentences as lines of JSON, Parquet files and data frames."""

import io
import json
import math

import pytest

from nonproj.errors import DataError, FileError
from nonproj.io.tables import SENTENCE_FIELDS, WORD_FIELDS, open_table, read_frame

pandas = pytest.importorskip("pandas")

TEXT = """# newdoc
# sent_id = a-1
# text = Vámonos al = mar
# nonproj certified = true
# nonproj gap = 0.0
# nonproj confidence = 0.5
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|TokenRange=3:10
1\tVamos\tir\tVERB\tV\tMood=Imp|Number=Plur\t0\troot\t_\tConfidence=0.97|Gloss=go|LabelledConfidence=0.9
2\tnos\tnosotros\tPRON\t_\tCase=Acc\t1\tobj\t1:obj\t_
2.1\te\t_\t_\t_\t_\t_\t_\t_\t_
3\t_\t_\tSYM\t_\t_\t_\t_\t_\t_

1\tBien\t_\t_\t_\t_\t0\troot\t_\t_

"""

FIRST = {"id": 1, "form": "Vamos", "lemma": "ir", "upos": "VERB", "xpos": "V", "feats": "Mood=Imp|Number=Plur"}
FIRST |= {"head": 0, "label": "root", "misc": "Gloss=go", "confidence": 0.97, "label_confidence": 0.9}
SECOND = {"id": 2, "form": "nos", "lemma": "nosotros", "upos": "PRON", "feats": "Case=Acc", "head": 1, "label": "obj"}
TOKEN = {"token": "Vámonos", "space_after": False, "start": 3, "end": 10}
WORDS = [FIRST | TOKEN, SECOND | {"deps": "1:obj"} | TOKEN, {"id": 3, "form": "_", "upos": "SYM", "token": "_"}]
STATISTICS = {"certified": True, "gap": 0.0, "tree_confidence": 0.5}
RECORDS = [
    {"sentence": 0, "sent_id": "a-1", "text": "Vámonos al = mar"} | STATISTICS | {"words": WORDS},
    {"sentence": 1, "words": [{"id": 1, "form": "Bien", "head": 0, "label": "root", "token": "Bien"}]},
]


NAMES = [*SENTENCE_FIELDS, *WORD_FIELDS]
ROWS = [{name: (record | word).get(name) for name in NAMES} for record in RECORDS for word in record["words"]]
"""The words of the text with the fields of their sentences, None where they are absent."""


def plain(frame):
    """The rows of a frame, with None for what is missing; single precision is enough for probabilities."""
    found = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in found]


def written(tmp_path, text):
    """The file of a text as lines of JSON."""
    with open_table(str(tmp_path / "out.jsonl"), "jsonl") as stream:
        stream.write(text)
    content = (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    return json.loads(content, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_of_json_whatever_the_pieces(size, ending, tmp_path):
    path, text = tmp_path / "out.jsonl", TEXT.replace("\n", ending)
    with open_table(str(path), "jsonl") as stream:
        for start in range(0, len(text), size):
            stream.write(text[start : start + size])
            if start % 3 == 0:
                stream.flush()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == RECORDS and "Vámonos" in lines[0]


def test_a_frame_has_a_row_for_each_word(tmp_path):
    frame = read_frame(io.StringIO(TEXT))
    assert list(frame.columns) == NAMES and plain(frame) == ROWS
    assert frame["head"].dtype == "Int64" and frame["certified"].dtype == "boolean"
    assert read_frame(io.StringIO("")).shape == (0, len(frame.columns))


def test_parquet_has_the_same_rows(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("nonproj.io.tables._ROWS", 2)  # several groups
    path = tmp_path / "out.parquet"
    with open_table(str(path), "parquet") as stream:
        stream.write(TEXT)
        assert not path.exists()
    assert plain(pandas.read_parquet(path, dtype_backend="numpy_nullable")) == ROWS


def test_nothing_is_left_after_an_error(tmp_path):
    pytest.importorskip("pyarrow")
    for form in ("jsonl", "parquet"):
        with pytest.raises(KeyboardInterrupt), open_table(str(tmp_path / form), form) as stream:
            stream.write(TEXT)
            raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_what_strangers_write_into_comments_and_columns_does_no_harm(tmp_path):
    text = TEXT.replace("certified = true", "certified = [1e999]").replace("\t1\tobj", "\t99999999999\tobj")
    text = text.replace("LabelledConfidence=0.9", "LabelledConfidence=high").replace("gap = 0.0", "gap = {")
    row = plain(read_frame(io.StringIO(text)))[0]
    assert row["certified"] is None and row["label_confidence"] is None and row["confidence"] == 0.97
    assert plain(read_frame(io.StringIO(text)))[1]["head"] is None
    pytest.importorskip("pyarrow")
    with open_table(str(tmp_path / "out.parquet"), "parquet") as stream:
        stream.write(text)
    assert math.isclose(pandas.read_parquet(tmp_path / "out.parquet")["confidence"][0], 0.97, rel_tol=1e-6)


COMMENTS = [" " * 100_000, f"nonproj x{' ' * 100_000}y", f"nonproj x = {'[' * 100_000}"]
COMMENTS += [f"nonproj rank = {'9' * 10_000}", "nonproj gap = 1e999", "nonproj gap = NaN", "nonproj rank = 99999999999"]
COMMENTS += ["nonproj words = 1", "nonproj sentence = 7", 'nonproj certified = "yes"']


@pytest.mark.parametrize("comment", COMMENTS, ids=range(10))
def test_comments_of_strangers_take_no_time_and_change_nothing_else(comment, tmp_path):
    text = f"# {comment}\n1\tBien\t_\t_\t_\t_\t0\troot\t_\tConfidence=nan\n\n"
    (row,) = plain(read_frame(io.StringIO(text)))
    word = {"id": 1, "form": "Bien", "head": 0, "label": "root", "token": "Bien"}
    assert row == dict.fromkeys(row) | {"sentence": 0} | word
    record = written(tmp_path, text)
    assert record["sentence"] == 0 and record["words"] == [word]


def test_lines_may_be_as_long_as_the_user_allows(tmp_path):
    text = f"1\t{'a' * 2_000_000}\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    assert len(written(tmp_path, text)["words"][0]["form"]) == 2_000_000


def test_errors_name_the_line(tmp_path):
    path = tmp_path / "bad.conllu"
    path.write_text("1\tRegn\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"bad\.conllu:1: "):
        read_frame(path)
    pytest.importorskip("pyarrow")
    for name, message in (("-", "Parquet needs a file"), (str(tmp_path / "a.parquet.gz"), "is compressed already")):
        with pytest.raises(FileError, match=message), open_table(name, "parquet"):
            pass
