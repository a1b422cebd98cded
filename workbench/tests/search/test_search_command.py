"""``nonproj search``: what it writes, for files of all kinds, and its errors."""

import os
import subprocess
import sys

import pytest
from command import on_terminal
from shown import write_files

from nonproj.cli.main import main
from nonproj.io import conll
from nonproj.io.terminal import visible


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with gold.conll, parsed.conllu and other.conllu."""
    write_files(tmp_path, 40)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sentences_are_unchanged_but_for_a_comment(folder, capsys):
    text = (folder / "parsed.conllu").read_text(encoding="utf-8")
    assert main(["search", "{}", "parsed.conllu"]) == 0
    out, err = capsys.readouterr()
    assert "".join(line for line in out.splitlines(True) if not line.startswith("# nonproj matches")) == text
    words = sum(len(sentence) for sentence in conll.read("parsed.conllu"))
    assert err == f"{words:,} matches in 40 of 40 sentences\n"


def test_comments_name_the_words(folder, capsys):
    assert main(["search", "VERB=v >obj {}=o", "parsed.conllu", "-o", "found.conllu", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    for sentence in conll.read("found.conllu"):
        comment = next(line for line in sentence.lines if line.startswith("# nonproj matches = "))
        expected = [
            f"{head} v={head} o={word}"
            for head in range(1, len(sentence) + 1)
            for word in range(1, len(sentence) + 1)
            if sentence.rows[head - 1][3] == "VERB"
            and sentence.tree[word] == head
            and sentence.labels[word - 1] == "obj"
        ]
        assert comment == f"# nonproj matches = {'; '.join(expected)}\n"
    found = (folder / "found.conllu").read_text(encoding="utf-8")
    assert main(["search", "VERB=v >obj {}=o", "found.conllu", "-q"]) == 0
    assert capsys.readouterr().out == found, "the comment is replaced"


def test_a_terminal_shows_control_characters_and_changes_of_direction(tmp_path, monkeypatch, capsys):
    """Files and pipes get them as they are, but for tabs of a comment, which are not columns."""
    monkeypatch.chdir(tmp_path)
    text = "# sent_id = \u202ea\tb\x1b[2J\n1\tc\x1b]0;d\x07\te\u2066\tX\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(text, encoding="utf-8")
    cells = ["\u202ea\\x09b\x1b[2J", "c\x1b]0;d\x07", "e\u2066"]
    escaped = ["\\u202ea\\x09b\\x1b[2J", "c\\x1b]0;d\\x07", "e\\u2066"]
    plain = ["search", "{}", "a.conllu"]
    table, count = [*plain, "--table", "form, lemma"], [*plain, "--count", "form"]
    for words, line in ((table, ["a.conllu", "1", "{}", "1", "{}", "{}"]), (count, ["{1}", "1"]), (plain, None)):
        expected = "\t".join(line).format(*cells) if line else text.splitlines()[1]
        assert main([*words, "-q"]) == 0
        assert expected in capsys.readouterr().out.split("\n")
        shown = on_terminal(*words, "-q").split("\n")
        assert ("\t".join(line).format(*escaped) if line else "\t".join(map(visible, expected.split("\t")))) in shown
    assert main(["show", "a.conllu"]) == 0
    assert capsys.readouterr().out == f"a.conllu:1 ({escaped[0]})\n  1 {escaped[1]}  X  root\n\n"


def test_counts_and_tables(folder, capsys):
    assert (
        main(["search", "{differs}", "parsed.conllu", "--other", "gold.conll", "--count", "deprel, ~deprel", "-q"]) == 0
    )
    head, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert head == ["deprel", "~deprel", "matches"]
    pairs = zip(conll.read("parsed.conllu"), conll.read("gold.conll"), strict=True)
    wrong = [
        (a.labels[i], b.labels[i])
        for a, b in pairs
        for i in range(len(a))
        if a.heads[i] != b.heads[i] or a.labels[i] != b.labels[i]
    ]
    assert {(a, b): int(count) for a, b, count in rows} == {pair: wrong.count(pair) for pair in set(wrong)}
    assert [int(row[2]) for row in rows] == sorted((int(row[2]) for row in rows), reverse=True)
    assert main(["search", "{differs}", "parsed.conllu", "--other", "gold.conll", "--table", "form", "-q"]) == 0
    head, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert head == ["file", "line", "sent_id", "id", "form"] and len(rows) == len(wrong)
    assert all(row[0] == "parsed.conllu" and row[2].startswith("toy-") for row in rows)


def test_several_files_byte_order_marks_and_missing_blank_lines(folder, capsys):
    row = "1\t{}\t_\tX\t_\t_\t0\troot\t_\t_"
    (folder / "a.conllu").write_bytes(b"\xef\xbb\xbf" + row.format("eins").encode())
    (folder / "b.conllu").write_bytes(b"\xef\xbb\xbf# a\r\n" + row.format("zwei").encode() + b"\r\n\r\n\r\n")
    assert main(["search", "{root}", "a.conllu", "b.conllu", "-o", "out.conllu"]) == 0
    assert capsys.readouterr().err == "2 matches in 2 of 2 sentences\n"
    a, b = (
        f"# nonproj matches = 1{end}{row.format(form)}{end * 2}" for form, end in (("eins", "\n"), ("zwei", "\r\n"))
    )
    assert (folder / "out.conllu").read_bytes().decode() == a + "# a\r\n" + b
    assert [sentence.forms for sentence in conll.read("out.conllu")] == [["eins"], ["zwei"]]


def test_sentences_without_heads_and_without_matches(folder, capsys):
    (folder / "a.conllu").write_text("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n", encoding="utf-8")
    assert main(["search", "{headless}", "a.conllu", "-q"]) == 0
    assert "\t_\t_\t_\t_\n\n" in capsys.readouterr().out
    assert main(["search", "{root}", "a.conllu"]) == 0
    assert capsys.readouterr() == ("", "0 matches in 0 of 1 sentence\n")


def test_sentences_are_written_before_the_next_are_read():
    """The input stays open while the result of its first sentences is read; so no file is too long."""
    block = "1\tdog\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    words = [sys.executable, "-u", "-m", "nonproj", "search", "dog", "-", "-q"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ) as process:
        process.stdin.write(block.encode() * 2000)
        process.stdin.flush()
        assert process.stdout.readline() == b"# nonproj matches = 1\n"
        process.stdin.close()
        assert process.stdout.read().count(b"dog") == 2000
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["VERB >obj", "parsed.conllu"], "query: column 10: a word is expected: NOUN, dog, {lemma:go}; {} is any word"),
        (["VERB", "parsed.conllu", "--count", "x"], "query: column 1: no attribute 'x'; there are form"),
        (["{differs}", "parsed.conllu"], "--other: the query is about a second tree"),
        (["VERB", "parsed.conllu", "--count", "~deprel"], "--other: the query is about a second tree"),
        (["VERB", "parsed.conllu", "--table", "differs"], "--other: the query is about a second tree"),
        (["VERB", "parsed.conllu", "gold.conll", "--other", "gold.conll"], "--other: is about one file"),
        (["VERB", "no.conllu"], "no.conllu: no such file"),
        (["VERB", "parsed.conllu", "-o", "parsed.conllu"], "output is the same file as the input"),
        (["VERB", "parsed.conllu", "--other", "short.conllu"], "the sentences end here"),
        (["VERB", "-", "-"], "FILE: only one file can be standard input (-)"),
        (["{differs}", "-", "--other", "-"], "FILE: only one file can be standard input (-)"),
        (["VERB", "empty.conllu"], "the file is empty"),
    ],
)
def test_errors_are_one_line(words, message, folder, capsys):
    (folder / "empty.conllu").touch()
    text = (folder / "gold.conll").read_text(encoding="utf-8")
    (folder / "short.conllu").write_text(text.split("\n\n")[0] + "\n\n", encoding="utf-8")
    assert main(["search", *words]) == 2
    err = capsys.readouterr().err
    assert message in err and err.startswith("nonproj: ") and err.count("\n") == 1


@pytest.mark.parametrize("words", [["VERB"], ["VERB", "a", "--count", "form", "--table", "form"]])
def test_errors_in_arguments(words, capsys):
    with pytest.raises(SystemExit):
        main(["search", *words])
    assert capsys.readouterr().err.startswith("nonproj search: ")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("V >subj N", "no word has the form V or N (tags are NOUN, "),
        ("V >subj N", ") or the relation subj (there are "),
        ("{upos:V}", "no word has the UPOS V (there are NOUN, "),
        ("{xpos:/V.*X/}", "no word has the XPOS V.*X (there are NOUN, "),
        ("NOUN >/subj/ {} | >obj {lemma:none}", "no word has the relation subj (there are "),
        ("notaword", "no word has the form notaword\n"),
        ("NOUN=a .. {head.deprel:none}", "no word has the relation none (there are "),
    ],
)
def test_a_search_for_what_no_word_has_says_so(query, message, tmp_path, monkeypatch, capsys):
    write_files(tmp_path, 5)
    monkeypatch.chdir(tmp_path)
    assert main(["search", query, "parsed.conllu", "gold.conll"]) == 0
    output, error = capsys.readouterr()
    assert not output and error.startswith("0 matches in 0 of 10 sentences\n") and error.count("\n") == 2
    assert message in error


@pytest.mark.parametrize(
    "query", ["PUNCT > NOUN", "NOUN !>obj {} & <unlikely DET | > PUNCT", "!{}", "{!upos:none} >punct {id>99}"]
)
def test_a_search_for_what_there_is_says_nothing_more(query, tmp_path, monkeypatch, capsys):
    write_files(tmp_path, 5)
    monkeypatch.chdir(tmp_path)
    assert main(["search", query.replace("unlikely", "det"), "parsed.conllu"]) == 0
    assert "no word has" not in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--count", "form"]])
def test_a_malformed_sentence_is_left_out(folder, capsys, more):
    good = (folder / "gold.conll").read_text(encoding="utf-8")
    (folder / "bad.conll").write_text("1\tb\tb\tX\t_\t_\t0\troot\t_\n\n" + good, encoding="utf-8")
    assert main(["search", "{}>{}", "gold.conll", *more]) == 0
    expected = capsys.readouterr().out
    assert main(["search", "{}>{}", "bad.conll", *more]) == 2
    assert "bad.conll:1: 9 columns, 10 expected" in capsys.readouterr().err
    assert main(["search", "{}>{}", "bad.conll", "--on-error", "skip", *more]) == 1
    out, err = capsys.readouterr()
    assert out == expected and "bad.conll:1: 9 columns, 10 expected" in err


def test_a_file_of_malformed_sentences_only_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bad"
    path.write_text("# sent_id = bad\n1\tb\tb\tX\t_\t_\t0\troot\t_\n\n", encoding="utf-8")
    assert main(["search", "{}", "bad", "--on-error", "skip"]) == 2
    assert "bad:2: 9 columns, 10 expected" in capsys.readouterr().err
    path.write_text("\n", encoding="utf-8")
    assert main(["search", "{}", "bad", "--on-error", "skip"]) == 2
    assert "bad:1: no sentences" in capsys.readouterr().err
