"""Commands of other distributions, found by their entry points if asked for; imports of the program at its start."""

import importlib.metadata
import sys

import pytest
from command import ROOT, run_python

from nonproj.cli.main import build_parser, main
from nonproj.cli.plugins import GROUP, WARMUPS, WORKBENCH, warm_ups
from nonproj.errors import DependencyError

GOLDEN = str(ROOT / "tests" / "golden" / "model.nonproj")
MODULE = """
from nonproj.cli.plugins import Command

def add(parser):
    parser.add_argument("--name", default="nobody")

def run(options):
    print("good morning,", options.name)
    return 1

GREET = Command("greet somebody", add, "greeting")
"""


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Installs a distribution with a command, which an object in the module ``greeting`` describes."""

    def install(command, place="greeting:GREET", group=GROUP):
        (tmp_path / "greeting.py").write_text(MODULE, encoding="utf-8")
        folder = tmp_path / "nonproj_greeting-1.0.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: nonproj-greeting\nVersion: 1.0.0\n")
        (folder / "entry_points.txt").write_text(f"[{group}]\n{command} = {place}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    yield install
    sys.modules.pop("greeting", None)


def test_an_installed_command_runs(distribution, capsys):
    distribution("greet")
    assert main(["greet", "--name", "Anna"]) == 1
    assert capsys.readouterr().out == "good morning, Anna\n"
    with pytest.raises(SystemExit, match="2"):
        main(["greet", "--nam", "a"])
    assert "nonproj greet: unknown option --nam; did you mean --name?" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="0"):
        main(["greet", "--help"])
    assert "Greet somebody." in capsys.readouterr().out
    assert "greet" in build_parser(["greet"]).commands and "greet" not in build_parser().commands


def test_installed_warm_ups_are_found_and_must_fit(distribution):
    distribution("all", "greeting:run", WARMUPS)
    assert "greeting" in [each.__module__ for each in warm_ups()]
    distribution("all", "greeting:none", WARMUPS)
    with pytest.raises(DependencyError, match="^'all': nonproj-greeting does not fit this version of nonproj"):
        warm_ups()


def test_a_command_of_our_own_is_never_replaced(distribution, capsys):
    distribution("inspect")
    assert main(["inspect", GOLDEN]) == 0
    assert "good morning" not in capsys.readouterr().out


@pytest.mark.parametrize("place", ["greeting:NOTHING", "nothing:GREET"])
def test_a_distribution_that_does_not_fit_is_reported_in_one_line(place, distribution, capsys):
    distribution("greet", place)
    assert main(["greet"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("nonproj: 'greet': nonproj-greeting does not fit this version of nonproj (")
    assert error.endswith("); install both in the same version\n") and error.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["--help"], ["-q", "trees.conllu"]])
@pytest.mark.parametrize("command", WORKBENCH)
def test_where_the_workbench_is_not_installed_one_line_says_how(command, words, monkeypatch, capsys):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    with pytest.raises(SystemExit, match="2"):
        main([command, *words])
    error = capsys.readouterr().err
    message = f"nonproj: '{command}' is a command of the package nonproj-workbench; run: pip install "
    assert error.startswith(message) and "workbench" in error and error.count("\n") == 1


def test_the_help_lists_its_commands_all_the_same(monkeypatch, capsys):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {text} (package" in shown for name, text in WORKBENCH.items())
    with pytest.raises(SystemExit, match="2"):
        main(["anotate"])
    assert "unknown command 'anotate'; did you mean annotate?" in capsys.readouterr().err


# -- imports -----------------------------------------------------------------------------------------------------------

LINEAR_ALGEBRA = f"""
from nonproj.cli.main import main
sys.argv[1:] = ["parse", {GOLDEN!r}, "a.conll", "-o", "b.conll"]
assert main() == 0
assert "numba.np.arraymath" in sys.modules and "scipy.linalg" not in sys.modules
import numba
import numpy as np
for _ in range(2):
    doubled = numba.njit(lambda a: np.dot(a, np.linalg.inv(a)))(np.eye(2) * 2)
    assert np.array_equal(doubled, np.eye(2))
import scipy.linalg, scipy.linalg.cython_blas
assert scipy.linalg.inv(np.eye(2) * 2)[0, 0] == 0.5
assert len(scipy.linalg.cython_blas.__pyx_capi__) > 100 and scipy.linalg.cython_blas.__file__
"""
"""It is not imported in a process of one's own, and kernels that use it can be compiled and loaded all the same."""

ARGUMENTS = """
import contextlib, nonproj.options.config
from nonproj.cli.main import main, parse_arguments
for words in (["--help"], ["train", "--help"], ["parse", "--modle"]):
    with contextlib.suppress(SystemExit):
        main(words)
for words in (["parse", "-m", "a", "b"], ["-v", "evaluate", "a", "b"]):
    parse_arguments(words)
"""
"""Help, errors, options and our own commands need neither numpy nor the entry points of what is installed."""


@pytest.mark.parametrize(
    ("program", "unwanted"),
    [
        ("import nonproj", "numpy numba pandas networkx sklearn spacy starlette uvicorn"),
        ("import nonproj.io.conll", "numba conllu sklearn"),
        ("import nonproj; nonproj.load", "pandas networkx sklearn spacy starlette uvicorn"),
        (ARGUMENTS, "numpy numba sklearn yaml tqdm conllu importlib.metadata"),
        (["evaluate a.conll a.conll", "show a.conll", "show a.conll -o a.html"], "numba"),
        ([f"parse {GOLDEN} a.conll -o b.conll"], "starlette uvicorn asyncio spacy pandas nonproj.server"),
        pytest.param(LINEAR_ALGEBRA, "", marks=pytest.mark.thorough),
    ],
)
def test_what_is_not_needed_is_not_imported(program, unwanted, tmp_path):
    (tmp_path / "a.conll").write_text("1\tRegn\t_\tN\tN\t_\t0\tROOT\t_\t_\n\n")
    if not isinstance(program, str):
        program = f"from nonproj.cli.main import main\nassert not any(main(each.split()) for each in {program})"
    program = f"import sys\n{program}\nassert not (found := set({unwanted.split()}) & set(sys.modules)), found"
    run_python(program, cwd=tmp_path)
