"""Files in the UAI format, their errors, and the command ``nonproj-systems mrf`` from end to end."""

import gzip
import io
import itertools
import json
import math

import naive_mrf as naive
import numpy as np
import pytest
from own_command import run

from nonproj.errors import NonprojError
from nonproj_systems.cli import main
from nonproj_systems.mrf.model import MRF
from nonproj_systems.mrf.uai import read_uai, write_mpe, write_uai

EXAMPLE = """MARKOV
3
2 2 3
2
2 0 1
2 1 2

4
 4.000 2.400
 1.000 0.000

6
 2.2500 3.2500 3.7500
 0.0000 0.0000 10.0000
"""
"""The example of the format's description."""


def read(text):
    """Return the field of a text."""
    return read_uai(io.StringIO(text))


FINITE = "a finite number of at least 0 is expected"


def check(found, expected):
    """Compare two scores; forbidden labels have none."""
    assert found == expected or abs(found - expected) < 1e-9


def test_the_example_of_the_format():
    field = read(EXAMPLE)
    first, second = [[4.0, 2.4], [1.0, 0.0]], [[2.25, 3.25, 3.75], [0.0, 0.0, 10.0]]
    for x, y, z in itertools.product(range(2), range(2), range(3)):
        product = first[x][y] * second[y][z]
        check(field.score([x, y, z]), math.log(product) if product else -np.inf)


def test_functions_are_multiplied_in_any_order_and_number():
    scopes, tables = "2 1 0\n1 1\n2 0 1\n0\n1 1\n", "6\n1 2 3\n4 5 6\n3 1 2 3\n6 6 5 4 3 2 1\n1 7\n3\n2 2 2\n"
    field = read(f"c a comment\nBAYES\n2\n2 3\n5\n{scopes}{tables}")
    for x, y in itertools.product(range(2), range(3)):
        expected = [[1, 2], [3, 4], [5, 6]][y][x] * [1, 2, 3][y] * [[6, 5, 4], [3, 2, 1]][x][y] * 7 * 2
        check(field.score([x, y]), math.log(expected))
    assert field.n_edges == 1


@pytest.mark.parametrize("seed", range(20))
def test_files_come_back(seed, tmp_path):
    raw = naive.random_field(np.random.default_rng(seed), integers=seed % 2 == 1)
    field, path = MRF(*raw), tmp_path / "a.uai.gz"
    if seed % 3 == 0:
        for table in raw[2]:
            table[0, 0] = -np.inf
        field = MRF(*raw)
    short = write_uai(field, path)
    again = read_uai(path)
    for labels in itertools.islice(naive.all_labels(raw), 100):
        check(again.score(labels) + short, naive.score(raw, labels))
    assert gzip.decompress(path.read_bytes()).startswith(b"MARKOV\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: the file ends; MARKOV or BAYES is expected"),
        ("MRF\n", "1: the file begins with 'MRF'; MARKOV or BAYES is expected"),
        ("MARKOV\n0\n", "2: the number of variables is '0'; a whole number from 1 to 100000000 is expected"),
        ("MARKOV\n2\n2\n", "3: the file ends; the number of states of variable 1 is expected"),
        (
            "MARKOV\n2\n2 x\n",
            "3: the number of states of variable 1 is 'x'; a whole number from 1 to 1000000 is expected",
        ),
        (
            "MARKOV\n3\n2 2 2\n1\n3 0 1 2\n",
            "5: function 0 has 3 variables; at most 2 are expected in a pairwise field",
        ),
        ("MARKOV\n2\n2 2\n1\n2 0 2\n", "5: a variable of function 0 is '2'; a whole number from 0 to 1 is expected"),
        ("MARKOV\n2\n2 2\n1\n2 1 1\n", "5: function 0 has variable 1 twice; two different variables are expected"),
        ("MARKOV\n2\n2 2\n1\n2 0 1\n\n3\n1 1 1\n", "7: function 0 has 3 entries; 4 are expected"),
        ("MARKOV\n2\n2 2\n1\n2 0 1\n\n4\n1 1\n1\n", "9: the file ends; entry 4 of 4 of function 0 is expected"),
        (
            "MARKOV\n1\n2\n1\n1 0\n2\n1\n-1\n",
            f"8: function 0 has the entry '-1'; {FINITE}",
        ),
        (
            "MARKOV\n1\n2\n1\n1 0\n2\n1 one\n",
            f"7: function 0 has the entry 'one'; {FINITE}",
        ),
        (
            "MARKOV\n1\n2\n1\n1 0\n2\ninf 1\n",
            f"7: function 0 has the entry 'inf'; {FINITE}",
        ),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 1\n\n5\n", "9: '5' comes after the last function; the end is expected"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n0 0\n", " no state of variable 0 has a positive value; there is no solution"),
    ],
)
def test_errors_name_the_line(text, message, tmp_path, capsys):
    path = tmp_path / "a.uai"
    path.write_text(text)
    with pytest.raises(NonprojError) as error:
        read_uai(str(path))
    assert str(error.value) == f"{path}:{message}"
    assert main(["mrf", str(path)]) == 2 and capsys.readouterr().err == f"nonproj-systems: {path}:{message}\n"


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "a.uai"
    path.write_bytes(b"MARKOV\n\xff\n")
    with pytest.raises(NonprojError, match="a.uai:2: byte 0xff is not UTF-8; recode the file to UTF-8 first$"):
        read_uai(path)
    path.write_bytes(gzip.compress(EXAMPLE.encode())[:-9])
    with pytest.raises(NonprojError, match="a.uai:.*the gzip data end here, incomplete$"):
        read_uai(path)
    with pytest.raises(NonprojError, match="none.uai: no such file$"):
        read_uai(tmp_path / "none.uai")


@pytest.mark.parametrize("method", ["trws", "trees"])
def test_the_command_prints_figures_and_writes_labels(method, tmp_path, capsys):
    raw = naive.random_field(np.random.default_rng(4), n=6)
    path, out = tmp_path / "a.uai", tmp_path / "a.MPE"
    short = write_uai(MRF(*raw), path)
    assert main(["mrf", str(path), "-o", str(out), "--method", method, "--exact", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    first, second = out.read_text().splitlines()
    count, *labels = map(int, second.split())
    assert (first, count) == ("MPE", 6)
    assert abs(naive.score(raw, labels) - short - figures["value"]) < 1e-6
    assert naive.maximum(raw) - short <= figures["bound"] + 1e-6
    assert figures["status"] == "optimal" and (figures["nodes"], figures["edges"]) == (6, len(raw[1]))


def test_the_command_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "a.uai"
    path.write_text(EXAMPLE)
    done = run("mrf", str(path), "--exact", "-o", "-")
    assert (done.returncode, done.stdout) == (0, "MPE\n3 0 1 2\n")
    value, bound, status = (line.split() for line in done.stderr.splitlines()[2:5])
    assert (value, status) == (["value", str(math.log(24))], ["status", "optimal"])
    assert bound[0] == "bound" and math.log(24) <= float(bound[1]) <= math.log(24) + 1e-12


def test_a_field_without_a_solution_is_no_error(tmp_path, capsys):
    path, out = tmp_path / "a.uai", tmp_path / "a.MPE"
    path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n0 0 0 0\n")
    assert main(["mrf", str(path), "-o", str(out), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["status"], figures["value"], figures["bound"]) == ("infeasible", None, None)
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seconds", "0"], "nonproj-systems mrf: argument --seconds: '0' is not a number of seconds"),
        (["--iterations", "-1"], "nonproj-systems mrf: argument --iterations: '-1' is not a positive integer"),
        (["--methods", "trws"], "nonproj-systems mrf: unknown option --methods; did you mean --method?"),
    ],
)
def test_wrong_options(words, message, capsys):
    try:
        code = main(["mrf", "a.uai", *words])
    except SystemExit as stop:
        code = stop.code
    assert code == 2 and capsys.readouterr().err.startswith(message)


def test_results_of_labels(capsys):
    write_mpe(np.array([1, 0]), "-")
    assert capsys.readouterr().out == "MPE\n2 1 0\n"
