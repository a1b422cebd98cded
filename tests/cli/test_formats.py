"""``nonproj parse`` to lines of JSON and to Parquet: what they contain is what the CoNLL output contains."""

import itertools
import json
import shutil
import sys

import pytest
from toy import raw_treebank

from nonproj.cli.main import main
from nonproj.errors import needs
from nonproj.io.tables import read_frame

pandas = pytest.importorskip("pandas")

COLUMNS = ["sent_id", "form", "head", "label"]


@pytest.fixture(scope="module")
def folder(model_of, tmp_path_factory):
    """A model, and a file to parse."""
    folder = tmp_path_factory.mktemp("formats")
    (folder / "test.conllu").write_text(raw_treebank(30, 1), encoding="utf-8")
    shutil.copy(model_of("confident"), folder / "model")
    return folder


def parse(folder, output, *words):
    """Parse the file."""
    command = ["parse", "-m", str(folder / "model"), str(folder / "test.conllu"), "-o", str(output), "-q"]
    return main([*command, *words])


def from_json(path):
    """The words in lines of JSON, as rows of a frame."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [record["sentence"] for record in records] == list(range(len(records)))
    assert all(record["certified"] and abs(record["gap"]) < 1e-6 and record["iterations"] for record in records)
    return [tuple((record | word)[name] for name in COLUMNS) for record in records for word in record["words"]]


@pytest.mark.parametrize("words", [(), ("-j", "2"), ("--resume",), ("--confidence",), ("--on-error", "skip")], ids=str)
def test_json_and_parquet_have_what_conllu_has(words, folder, tmp_path):
    assert parse(folder, tmp_path / "out.conllu", "--stats-comments", *words) == 0
    expected = read_frame(tmp_path / "out.conllu")
    assert expected["certified"].all() and expected["confidence"].notna().all() == ("--confidence" in words)
    assert parse(folder, tmp_path / "out.jsonl", *words) == 0  # certificates need no option
    assert from_json(tmp_path / "out.jsonl") == list(expected[COLUMNS].itertuples(index=False, name=None))
    pytest.importorskip("pyarrow")
    assert parse(folder, tmp_path / "out.parquet", "--stats-comments", *words) == 0
    found = pandas.read_parquet(tmp_path / "out.parquet", dtype_backend="numpy_nullable")
    pandas.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-6)


def test_the_k_best_trees_are_records_with_their_ranks(folder, tmp_path):
    assert parse(folder, tmp_path / "out.jsonl", "--nbest", "3") == 0
    ranks = [json.loads(line)["rank"] for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert ranks.count(1) == 30 and 2 in ranks and set(ranks) <= {1, 2, 3}
    assert all(rank in (1, before + 1) for before, rank in itertools.pairwise(ranks))


def test_a_missing_package_is_named(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert parse(folder, tmp_path / "out.parquet") == 2
    assert capsys.readouterr().err == f"nonproj: {needs('Parquet needs', 'pyarrow', 'columns')}\n"
