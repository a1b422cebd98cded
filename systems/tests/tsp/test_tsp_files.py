"""Files of TSPLIB95, their errors, the command, the page, and the real instances."""

import io
import json
import re
from pathlib import Path

import naive_tsp
import numpy as np
import pytest
from pages import run_page

from nonproj.errors import DataError
from nonproj_systems.cli import main
from nonproj_systems.tsp.distances import DISTANCES, distances
from nonproj_systems.tsp.instance import FORMATS, make_instance, read
from nonproj_systems.tsp.solver import solve

ROOT = Path(__file__).resolve().parents[3]


def parse(text):
    return read(io.BytesIO(text.encode()))


# -- reading -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(DISTANCES))
def test_distances_equal_the_definitions(kind):
    for seed in range(20):
        random = np.random.default_rng(seed)
        points = random.integers(-90, 90, (8, 2)) + random.integers(0, 60, (8, 2)) / 100
        found = distances(kind, points)
        for i, j in naive_tsp.pairs(8):
            assert found[i, j] == found[j, i] == naive_tsp.distance(kind, points[i].tolist(), points[j].tolist())
        assert (np.diag(found) == 0).all()


FOUR = [[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]]


@pytest.mark.parametrize(
    ("form", "numbers"),
    {
        "FULL_MATRIX": "0 1 2 3\n1 0 4 5\n2 4 0 6\n3 5 6 0",
        "UPPER_ROW": "1 2 3 4 5 6",
        "LOWER_ROW": "1 2 4 3 5 6",
        "UPPER_DIAG_ROW": "0 1 2 3 0 4 5 0 6 0",
        "LOWER_DIAG_ROW": "0 1 0 2 4 0 3 5 6 0",
        "UPPER_COL": "1 2 4 3 5 6",
        "LOWER_COL": "1 2 3 4 5 6",
        "UPPER_DIAG_COL": "0 1 0 2 4 0 3 5 6 0",
        "LOWER_DIAG_COL": "0 1 2 3 0 4 5 0 6 0",
    }.items(),
)
def test_all_formats_of_matrices(form, numbers):
    head = f"NAME : four\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {form}\n"
    found = parse(f"{head}EDGE_WEIGHT_SECTION\n{numbers}\nEOF\n")
    assert found.name == "four" and found.weights.tolist() == FOUR and form in FORMATS


HEAD = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
MATRIX = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: DIMENSION is missing; the number of cities is expected"),
        ("DIMENSION: 2\n", "1: DIMENSION is '2'; a number from 3 to 3000 is expected"),
        ("DIMENSION: x\n", "1: DIMENSION is 'x'; a number from 3 to 3000 is expected"),
        ("DIMENSION\n", "1: DIMENSION has no value; 'DIMENSION: value' is expected"),
        ("DIMENSION: 3\nDIMENSION: 3\n", "2: DIMENSION is given twice"),
        ("1 2 3\n", "1: '1 2 3' is in no section; 'KEY: value' or a section is expected"),
        ("TYPE: ATSP\n", "1: TYPE is 'ATSP'; one of TSP is expected"),
        ("NAME: a\nEDGES: 3\n", "2: 'EDGES' is not supported; known: NAME, TYPE, COMMENT, DIMENSION, EDGE_WEIGHT_TYPE, "
         "EDGE_WEIGHT_FORMAT, NODE_COORD_TYPE, DISPLAY_DATA_TYPE, CAPACITY, NODE_COORD_SECTION, EDGE_WEIGHT_SECTION, "
         "DISPLAY_DATA_SECTION"),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: XRAY1\n", "2: EDGE_WEIGHT_TYPE is 'XRAY1'; one of EXPLICIT, EUC_2D, CEIL_2D, "
         "MAN_2D, MAX_2D, GEO, ATT is expected"),
        ("DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nEOF\n", "3: NODE_COORD_SECTION is missing; GEO needs coordinates"),
        (HEAD + "1 0 0\n2 0 1\n", "5: NODE_COORD_SECTION ends after 2 cities; 3 are expected"),
        (HEAD + "1 0 0\n4 0 1\n", "5: city '4'; a number from 1 to 3 is expected"),
        (HEAD + "1 0 0\n1 0 1\n", "5: city 1 has coordinates twice"),
        (HEAD + "1 0 0\n2 0 1x\n", "5: coordinates '0 1x'; two numbers are expected"),
        (HEAD + "1 0 0\n2 0\n3 1 1\n", "5: coordinates '0'; two finite numbers are expected"),
        (HEAD + "1 0 0\n2 0 1e99\n3 1 1\n", "5: coordinates '0 1e99'; two finite numbers are expected"),
        (HEAD + "1 0 0\n2 0 1e12\n3 1 1\n", "3: a distance is 1000000000000; at most 100000000 is supported"),
        (MATRIX + "0 1 2\n1 0 3\n", "6: EDGE_WEIGHT_SECTION has 6 numbers; 9 are expected"),
        (MATRIX + "0 1 2\n1 0 3\n2 4 0\n", "7: the weight of 3 and 2 is 4, but 3 before; symmetric weights are "
         "expected"),
        (MATRIX + "0 1 2\n1 0 3.5\n2 3.5 0\n", "6: weight '3.5'; an integer of at most 100000000 is expected"),
        (MATRIX + "0 1 2\n1 0 -1x\n2 3.5 0\n", "6: weight '-1x'; an integer of at most 100000000 is expected"),
    ],
)  # fmt: skip
def test_errors_name_the_line(text, message):
    with pytest.raises(DataError) as caught:
        parse(text)
    assert str(caught.value) == f"<stream>:{message}"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[0, 1], [1, 0]], r"weights have the shape \(2, 2\); \(n, n\) with n from 3 to 3000 is expected"),
        (np.ones((3, 3)), "weights are float64; integers are expected, so multiply and round them"),
        ([[0, 1, 2], [1, 0, 3], [2, 4, 0]], r"the weight of \(1, 2\) is 3 and that of \(2, 1\) is 4"),
        ([[0, 1, 2], [1, 0, 10**9], [2, 10**9, 0]], "a weight is 1000000000; at most 100000000 is expected"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        make_instance(weights)


# -- the command and the page ------------------------------------------------------------------------------------------

SQUARE = "NAME: square\n" + HEAD.replace("3", "4") + "1 0 0\n2 0 9\n3 9 0\n4 9 9\nEOF\n"


def test_the_command_reports_writes_and_draws(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    problem, tour, picture = (str(tmp_path / name) for name in ("a.tsp", "a.tour", "a.png"))
    Path(problem).write_text(SQUARE)
    assert main(["tsp", "-q", problem, "-o", tour, "--picture", picture]) == 0
    line = capsys.readouterr().out
    assert re.fullmatch(
        r"square: length 36, proven optimal; Held-Karp bound 36\.0 \(100\.00 %\); 0 nodes, [\d.]+ s\n", line
    )
    written = Path(tour).read_text().splitlines()
    assert written[:5] == ["NAME: square", "TYPE: TOUR", "COMMENT: length 36, optimal", "DIMENSION: 4", "TOUR_SECTION"]
    assert written[5:] in (["1", "2", "4", "3", "-1", "EOF"], ["1", "3", "4", "2", "-1", "EOF"])
    assert Path(picture).read_bytes()[:4] == b"\x89PNG"
    assert main(["tsp", "-q", "--json", problem, problem]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["length"] for each in found] == [36, 36] and sorted(found[0]["tour"]) == [1, 2, 3, 4]


def test_names_are_printed_written_and_drawn_without_control_characters(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path, tour = tmp_path / "a.tsp", tmp_path / "a.tour"
    path.write_text(SQUARE.replace("NAME: square", "NAME: \x1b[31mred\x07 $\\frac{$"))
    arguments = ["tsp", str(path), "-o", str(tour), "--picture", str(tmp_path / "a.png")]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("\\x1b[31mred\\x07 $\\frac{$: length 36") and shown.rstrip("\n").isprintable()
    assert tour.read_text().splitlines()[0] == "NAME: \\x1b[31mred\\x07 $\\frac{$"
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_errors_of_the_command(tmp_path, capsys):
    problem = str(tmp_path / "a.tsp")
    Path(problem).write_text("DIMENSION: 1\n")
    assert main(["tsp", problem]) == 2
    assert capsys.readouterr().err.endswith(f"{problem}:1: DIMENSION is '1'; a number from 3 to 3000 is expected\n")
    assert main(["tsp", problem, problem, "-o", "x"]) == 2
    assert capsys.readouterr().err == "nonproj-systems: --output: there are 2 problems; it is for one only\n"
    assert main(["tsp", problem + "x"]) == 2
    assert capsys.readouterr().err.endswith(f"{problem}x: no such file\n")
    with pytest.raises(SystemExit):
        main(["tsp", problem, "--seconds", "soon"])
    assert "'soon' is not a number of seconds" in capsys.readouterr().err


def test_the_page_runs_and_prints_what_it_shows(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    names = run_page("systems/docs/tsp.md", tmp_path, monkeypatch)
    assert (tmp_path / "tsp.png").is_file()
    found, instance = names["found"], names["instance"]
    assert found.value == instance.length(found.tour) == naive_tsp.integer_program(instance.weights.tolist())


# -- real instances ----------------------------------------------------------------------------------------------------


def known_optima(folder: Path) -> dict[str, int]:
    """The optima in the folder's README."""
    rows = re.findall(r"\| (\w+) \| (\d+) ", (folder / "README.md").read_text())
    return {name: int(length) for name, length in rows}


def test_all_files_are_read(tsplib):
    optima = known_optima(tsplib)
    assert len(optima) == len(list(tsplib.glob("*.tsp"))) == 43
    for name in optima:
        instance = read(str(tsplib / f"{name}.tsp"))
        assert instance.name.removesuffix(".tsp") == name and len(instance.weights) == int(re.findall(r"\d+", name)[0])
        assert (instance.weights >= 0).all() and (instance.weights == instance.weights.T).all()


SOLVED = ("burma14", "ulysses22", "gr24", "bayg29", "bays29", "swiss42", "att48", "hk48", "gr48", "brazil58",
          "berlin52")  # fmt: skip


@pytest.mark.parametrize("name", SOLVED)
def test_real_tours_are_proven(tsplib, name):
    optimum = known_optima(tsplib)[name]
    found = solve(read(str(tsplib / f"{name}.tsp")))
    assert found.certified and found.value == found.bound == optimum
    assert 0.97 * optimum <= found.root_bound <= optimum
