"""A user's lexicon on the command line, in Python, in a server, and in a model that was trained with it."""

import functools
import io
import pickle
import re
from pathlib import Path

import pytest
from command import ROOT, SMALL
from pieces import make_files, work_in
from serving import HTTP, serving

import nonproj
from nonproj.cli.main import main
from nonproj.io.copies import surface_tokens
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.text.lexicon import UserLexicon
from nonproj.workers import parsing

TABLE = "form\tlemma\tupos\twords\nC++\tsee plus plus\tNOUN\t_\nblorf.\t_\tADJ\t_\nhundekat\t_\t_\thund e kat\n"
TEXT = "Den hund ser C++. Den blorf. Hund ser hundekat.\n\nMand kender C++.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_of) -> Path:
    """A folder with a model."""
    return make_files(tmp_path_factory.mktemp("lexicon"), model_of("complete"))


@pytest.fixture(autouse=True)
def here(folder, tmp_path, monkeypatch) -> Path:
    """A folder to work in, with a lexicon and a text, which is cut into small pieces."""
    monkeypatch.setattr(parsing, "TEXT_PIECE", 20)
    work_in(tmp_path, folder, monkeypatch)
    Path("terms.tsv").write_text(TABLE, encoding="utf-8")
    Path("in.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def parse(*words: str) -> str:
    """The parses of the text."""
    assert main(["parse", "toy.nonproj", "in.txt", "--text", "-o", "out.conllu", "-q", *words]) == 0
    return Path("out.conllu").read_text(encoding="utf-8")


def check(conllu: str) -> None:
    """Check that the parses of the text are those with the lexicon."""
    sentences = list(nonproj.read(io.StringIO(conllu)))
    forms = [" ".join(form for form, *_ in surface_tokens(each)) for each in sentences]
    assert forms == ["Den hund ser C++ .", "Den blorf. Hund ser hundekat .", "Mand kender C++ ."]
    assert sentences[0].rows[3][2:4] == ["see plus plus", "NOUN"] and sentences[1].rows[1][3] == "ADJ"
    assert sentences[1].forms[4:7] == ["hund", "e", "kat"]


def test_all_ways_of_parsing_obey(folder):
    expected = parse("--lexicon", "terms.tsv")
    check(expected)
    assert expected != parse()
    for more in (["--jobs", "2"], ["--resume"]):
        assert parse("--lexicon", "terms.tsv", *more) == expected
    for lexicon in ("terms.tsv", Path("terms.tsv"), UserLexicon.of("terms.tsv")):
        assert nonproj.load("toy.nonproj", lexicon=lexicon)(TEXT).to_conllu() == expected
    nlp = nonproj.load("toy.nonproj", lexicon="terms.tsv")
    assert [each.to_conllu() for each in nlp.pipe([TEXT] * 30, n_process=2)] == [expected] * 30
    assert pickle.loads(pickle.dumps(nlp))(TEXT).to_conllu() == expected
    bare = nonproj.load("toy.nonproj")
    sentences = [nonproj.Sentence([[*row[:2], *"________"] for row in each.sentence.rows]) for each in bare(TEXT)]
    parser = Parser(Model.load("toy.nonproj"), lexicon="terms.tsv")
    found = [row[3] for each, _ in parser.parse_all(sentences) for row in each.rows if row[1] == "blorf."]
    assert found == ["ADJ"] * sum(row[1] == "blorf." for each in sentences for row in each.rows)


def test_tags_that_are_there_count_more():
    Path("in.conllu").write_text("1\tC++\t_\tVERB" + "\t_" * 6 + "\n2\tC++" + "\t_" * 8 + "\n\n", encoding="utf-8")
    words = ["parse", "toy.nonproj", "in.conllu", "-q", "--lexicon", "terms.tsv", "-o"]
    found = {}
    for more in ("--tag", "--no-tag", "-q"):
        assert main([*words, "out.conllu", more]) == 0
        found[more] = [row[2:4] for row in next(nonproj.read("out.conllu")).rows]
    given = ["see plus plus", "NOUN"]
    assert found["--tag"] == [given, given] and found["--no-tag"] == [["_", "VERB"], ["_", "_"]]
    assert found["-q"][0][1] == "VERB" and found["-q"][1] == given


@pytest.mark.parametrize("command", ["parse toy.nonproj in.txt --text -o out", "serve toy.nonproj --port 0"])
def test_wrong_files_are_one_line(command, capsys):
    Path("wrong.tsv").write_text("form\tlemma\na\tb\tc\n", encoding="utf-8")
    for name, message in (("wrong.tsv", "wrong.tsv:2: 3 columns, 2 expected"), ("none", "none: ")):
        assert main([*command.split(), "--lexicon", name]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    assert not Path("out").exists()


def test_tags_that_the_model_lacks_are_warned_of(capsys):
    Path("terms.tsv").write_text("form\tupos\nhund\tNOUNS\nser\tVERB\n", encoding="utf-8")
    assert main(["parse", "toy.nonproj", "--text", "in.txt", "--lexicon", "terms.tsv", "-o", "out.conllu"]) == 0
    assert "--lexicon has tags that the model lacks: NOUNS;" in capsys.readouterr().err
    assert "NOUNS" in Path("out.conllu").read_text(encoding="utf-8")


def test_files_are_not_overwritten(capsys):
    assert main(["parse", "toy.nonproj", "in.txt", "--text", "-o", "terms.tsv", "--lexicon", "terms.tsv"]) == 2
    assert Path("terms.tsv").read_text(encoding="utf-8") == TABLE and "terms.tsv" in capsys.readouterr().err


def test_a_job_is_resumed_with_the_same_lexicon(capsys):
    Path("broken.conll").write_text(Path("in.conll").read_text(encoding="utf-8") + "1\tx\n", encoding="utf-8")
    Path("other.tsv").write_text(TABLE.replace("NOUN", "VERB"), encoding="utf-8")
    words = ["parse", "toy.nonproj", "broken.conll", "-o", "out.conll", "-q", "--resume"]
    for lexicon, message in (("terms", "columns"), ("", "--lexicon"), ("other", "--lexicon"), ("terms", "columns")):
        assert main([*words, *(["--lexicon", f"{lexicon}.tsv"] if lexicon else [])]) == 2
        assert message in capsys.readouterr().err and Path("out.conll.partial").exists()


def test_a_model_keeps_the_lexicon_it_is_trained_with(model_of):
    """And is otherwise that which is trained without."""
    train = ["train", "train.conll", "-qq", "-o"]
    assert main([*train, "own.nonproj", "--lexicon", "terms.tsv", *SMALL]) == 0
    own, plain = Model.load("own.nonproj"), Model.load(model_of("small"))
    assert own.loaded(UserLexicon) == UserLexicon.of("terms.tsv") and plain.loaded(UserLexicon) is None
    del own.components["lexicon"]
    assert own.components == plain.components
    assert all((own.weights[name] == table).all() for name, table in plain.weights.items())
    stored = nonproj.load("own.nonproj")
    assert stored(TEXT).to_conllu() == nonproj.load(model_of("small"), lexicon="terms.tsv")(TEXT).to_conllu()
    Path("more.txt").write_text("hund ser\nblorf.\n", encoding="utf-8")
    both = nonproj.load("own.nonproj", lexicon="more.txt")
    assert {"hund ser", "C++", "hund"} <= {word.form for word in both(TEXT).words}
    assert main([*train, "next.nonproj", "--from", "own.nonproj", "--lexicon", "more.txt", "--epochs", "1"]) == 0
    entries = Model.load("next.nonproj").loaded(UserLexicon).entries
    assert {each.token for each in entries} == {"C++", "blorf.", "hundekat", "hund ser"} and len(entries) == 4


def test_the_examples_of_the_guide_are_parsed_like_this():
    blocks = re.findall(r"```text\n(.*?)```", (ROOT / "docs" / "lexicon.md").read_text(encoding="utf-8"), re.DOTALL)
    for table, text, expected in (blocks[:3], blocks[3:]):
        Path("guide.tsv").write_text(table, encoding="utf-8")
        [sentence] = nonproj.load("english", lexicon="guide.tsv")(text)
        rows = [line.split("\t") for line in sentence.to_conllu().splitlines() if line[:1].isdigit()]
        assert "".join("\t".join([*row[1:4], *row[6:8]]) + "\n" for row in rows) == expected


def test_a_server_obeys():
    httpx = pytest.importorskip("httpx")
    with serving(Path("toy.nonproj").absolute(), "--lexicon", str(Path("terms.tsv").absolute())) as server:
        post = functools.partial(httpx.post, f"{server.url}/process", **HTTP)
        check(post(data={"data": TEXT, "tokenizer": "", "tagger": "", "parser": ""}).json()["result"])
