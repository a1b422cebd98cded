"""Bracketed trees: reading, writing, heads, the split, and scores by the conventions of evalb."""

import gzip
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import naive_constituency as naive
import pytest

from nonproj.errors import DataError, FileError
from nonproj_systems.constituency import evalb
from nonproj_systems.constituency.brackets import Tree, numbered_trees, parse_tree, plain, read_trees, tree_files
from nonproj_systems.constituency.heads import RULES, dependencies, head_child
from nonproj_systems.constituency.split import part_of, read_split

VINKEN = """
( (S
    (NP-SBJ (NNP Mr.) (NNP Vinken) )
    (VP (VBZ is)
      (NP-PRD (-NONE- *T*-1)
        (NP (NN chairman) )
        (PP (-NONE- *)) ))
    (. .) ))
(ROOT (NP (NN end)))
"""


def test_trees_are_read_as_they_stand():
    found = list(numbered_trees(VINKEN.splitlines()))
    assert [line for line, _ in found] == [2, 9]
    assert str(found[0][1]) == (
        "(TOP (S (NP-SBJ (NNP Mr.) (NNP Vinken)) (VP (VBZ is) (NP-PRD (-NONE- *T*-1) (NP (NN chairman))"
        " (PP (-NONE- *)))) (. .)))"
    )
    assert str(plain(found[0][1])) == (
        "(TOP (S (NP (NNP Mr.) (NNP Vinken)) (VP (VBZ is) (NP (NP (NN chairman)))) (. .)))"
    )
    assert found[1][1] == Tree("TOP", (Tree("NP", (Tree("NN", word="end"),)),))


def test_what_is_written_is_read_again(tmp_path):
    rng = random.Random(0)
    trees = [naive.random_tree(rng, rng.randint(1, 12)) for _ in range(50)]
    text = "".join(f"{tree}\n" for tree in trees)
    (tmp_path / "a.mrg").write_text(text)
    (tmp_path / "b.mrg.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "spread.mrg").write_text(text.replace(" ", "\n  "))
    for path in tmp_path.iterdir():
        assert [str(tree) for tree in read_trees(path)] == [f"(TOP {tree})" for tree in trees]
    assert [path.name for path in tree_files(tmp_path)] == ["a.mrg", "spread.mrg"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("(S (NN a))\nword", 2, "'word' is outside of all brackets; a tree such as (S (NN word)) is expected"),
        ("\n)", 2, "')' closes no bracket"),
        ("(S\n(NN a)", 1, "this tree is not closed by the end of the file; 1 ')' are missing"),
        ("(S (NN))", 1, "the bracket (NN) holds neither a word nor other brackets"),
        ("()", 1, "the bracket () holds neither a word nor other brackets"),
        ("(S (NN a\nb))", 2, "two words, 'a' and 'b', in one bracket; (TAG word) has one word only"),
        ("(S (NN a) b)", 1, "the word 'b' follows a bracket; each word needs a tag, as in (NN b)"),
        ("(S a (NN b))", 1, "a bracket follows the word 'a'; (S word) has one word only"),
        ("(S ((NN a)))", 1, "a bracket without a label; only the outermost may have none"),
        ("(S " * 301, 1, "brackets are nested more than 300 deep"),
        ("\n", 1, "the file holds no trees; trees in brackets, such as (S (NN word)), are expected"),
    ],
)
def test_errors_name_the_line(tmp_path, text, line, message):
    path = tmp_path / "a.mrg"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_trees(path)
    assert str(caught.value) == f"{path}:{line}: {message}"


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError) as caught:
        read_trees(tmp_path / "none")
    assert str(caught.value) == f"{tmp_path / 'none'}: no such file"
    (tmp_path / "latin").write_bytes(b"(S (NN a))\n(S (NN \xe9))")
    with pytest.raises(DataError) as caught:
        read_trees(tmp_path / "latin")
    assert str(caught.value) == f"{tmp_path / 'latin'}:2: byte 0xe9 is not UTF-8; recode the file to UTF-8 first"
    with pytest.raises(FileError, match="the folder holds no files"):
        tree_files((tmp_path / "empty").mkdir() or tmp_path / "empty")
    with pytest.raises(FileError, match="does not end in a number, as wsj_0001.mrg does"):
        part_of("trees.mrg")


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "NP VP .", 1),
        ("VP", "VBD NP PP", 0),
        ("VP", "TO VP", 0),
        ("NP", "NNP POS", 1),
        ("NP", "DT JJ NN", 2),
        ("NP", "NP PP", 0),
        ("NP", "NN CC NN", 0),
        ("NP", "CD JJ", 0),
        ("NP", "DT JJ", 1),
        ("NP", "DT PRP", 1),
        ("PP", "IN NP", 0),
        ("PP", "RB IN NP", 1),
        ("SBAR", "IN S", 0),
        ("VP", "VB CC VB", 0),
        ("ADVP", "RB RB", 1),
        ("QP", "IN CD TO CD", 0),
        ("UCP", "ADJP CC NP", 0),
        ("TOP", "`` S", 1),
        ("X", "`` ''", 1),
        ("UNHEARD", "NN NP", 0),
    ],
)
def test_heads_by_the_published_rules(label, children, head):
    assert head_child(label, children.split()) == head


def test_every_dependency_tree_is_projective_and_has_one_root():
    rng = random.Random(1)
    for _ in range(200):
        n = rng.randint(1, 12)
        heads = dependencies(naive.random_tree(rng, n, sorted(RULES)))
        assert heads.count(0) == 1
        assert naive.is_projective_tree(heads)


def test_scores_equal_the_definition():
    rng = random.Random(2)
    for _ in range(300):
        n = rng.randint(1, 10)
        gold, parsed = (naive.random_tree(rng, n) for _ in range(2))
        words = iter(gold.words())
        parsed = naive.with_words(parsed, words)
        found = evalb.compare(gold, parsed)
        expected = naive.evalb(gold, parsed)
        assert (found.matched, found.gold, found.parsed, found.crossing, found.words, found.correct_tags) == expected


def test_scores_equal_a_known_scorer():
    """PYEVALB counts all brackets, so it gets trees without root and punctuation; it counts equal brackets once."""
    pyevalb = pytest.importorskip("PYEVALB.scorer")
    parser = pytest.importorskip("PYEVALB.parser")
    rng, compared = random.Random(3), 0
    while compared < 200:
        n = rng.randint(2, 10)
        gold = naive.random_tree(rng, n)
        parsed = naive.with_words(naive.random_tree(rng, n), iter(gold.words()))
        gone = [tag in {",", ":", "``", "''", "."} for tag in gold.tags()]
        bare = [naive.without(tree, iter(gone)) for tree in (gold, parsed)]
        if bare[0] is None or any(naive.has_repeated_bracket(tree) for tree in bare):
            continue
        texts = [str(tree).replace("(PRT ", "(ADVP ") for tree in bare]
        known = pyevalb.Scorer().score_trees(*map(parser.create_from_bracket_string, texts))
        found = evalb.compare(gold, parsed)
        counts = (known.matched_brackets, known.gold_brackets, known.test_brackets, known.correct_tags, known.words)
        assert (found.matched, found.gold, found.parsed, found.correct_tags, found.words) == counts
        assert found.crossing == known.cross_brackets
        assert (found.precision, found.recall) == pytest.approx((known.prec, known.recall))
        compared += 1


def test_files_that_do_not_match():
    one, other = parse_tree("(S (NN a) (NN b))"), parse_tree("(S (NN a) (NN c))")
    with pytest.raises(FileError) as caught:
        evalb.compare_all([one, one], [one, other], "b.mrg")
    expected = "b.mrg: the words of tree 2 are not those of the gold tree: word 2 is 'c', 'b' is expected"
    assert str(caught.value) == expected
    with pytest.raises(FileError) as caught:
        evalb.compare_all([one, one], [one], "b.mrg")
    assert str(caught.value) == "b.mrg: 1 trees; the gold file has 2"


def fetch(*arguments):
    """Run the program that provides the trees, without a folder of treebanks."""
    program = Path(__file__).resolve().parents[2] / "data_scripts" / "fetch_brackets.py"
    variables = {key: value for key, value in os.environ.items() if key != "NONPROJ_TREEBANKS"}
    command = [sys.executable, str(program), "--path", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=variables, check=False)


def test_trees_are_made_from_an_archive(tmp_path, treebanks):
    names = [f"wsj_{number:04}.mrg" for number in range(1, 200)]
    if not (treebanks / "wsj-brackets").is_dir():
        pytest.skip("the WSJ sample is not there")
    archive = tmp_path / "treebank.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        for name in names:
            stream.write(treebanks / "wsj-brackets" / name, f"treebank/combined/{name}")
    made = fetch("--archive", archive, "--out", tmp_path / "out")
    assert (made.returncode, made.stdout, made.stderr) == (0, f"{tmp_path / 'out' / 'wsj-brackets'}\n", "")
    assert sorted(path.name for path in (tmp_path / "out" / "wsj-brackets").iterdir()) == names
    again = fetch("--source", tmp_path / "out")
    assert (again.returncode, again.stdout) == (0, f"{tmp_path / 'out' / 'wsj-brackets'}\n")
    (tmp_path / "out" / "wsj-brackets" / names[3]).write_text("(S (NN a))")
    wrong = fetch("--source", tmp_path / "out")
    assert wrong.returncode == 2
    assert "all files in the order of their names: SHA-256 is " in wrong.stderr


def test_archives_that_do_not_hold_the_trees(tmp_path):
    with zipfile.ZipFile(tmp_path / "few.zip", "w") as stream:
        stream.writestr("treebank/combined/wsj_0001.mrg", "(S (NN a))")
    message = "few.zip: wsj_0002.mrg is missing; 199 files, wsj_0001.mrg to wsj_0199.mrg, are expected"
    found = fetch("--archive", tmp_path / "few.zip", "--out", tmp_path / "out")
    assert (found.returncode, found.stdout, found.stderr) == (2, "", f"fetch wsj-brackets: {message}\n")
    assert not (tmp_path / "out").exists()
    found = fetch("--archive", tmp_path / "none.zip")
    assert found.stderr == f"fetch wsj-brackets: {tmp_path / 'none.zip'}: no such file or folder\n"


def test_the_wsj_sample(treebanks):
    folder = treebanks / "wsj-brackets"
    if not folder.is_dir():
        pytest.skip("the WSJ sample is not there")
    found = read_split(folder)
    assert {part: len(trees) for part, trees in found.items()} == {"train": 3155, "dev": 336, "test": 423}
    for tree in found["dev"]:
        heads = dependencies(tree)
        assert heads.count(0) == 1
        assert naive.is_projective_tree(heads)
        assert evalb.compare(tree, tree).f1 == 1.0
        assert "-NONE-" not in tree.tags()
