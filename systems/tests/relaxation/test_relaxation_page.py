"""systems/docs/relaxation.md: its code runs, prints the output shown on the page, and is as short as claimed."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from pages import run_page

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("highspy")

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "relaxation.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)


def test_the_page_runs_and_prints_what_it_shows(tmp_path, monkeypatch):
    names = run_page("systems/docs/relaxation.md", tmp_path, monkeypatch)
    assert len(BLOCKS) == 4
    assert {path.name for path in tmp_path.iterdir()} == {"relaxation.png"}
    # The claim itself, by enumeration.
    import itertools

    best = max(names["objective"](np.array(jobs)) for jobs in itertools.permutations(range(5)))
    assert names["found"].dual_bound >= best - 1e-6 and names["proven"].primal_value == best
    assert names["mended"].primal_value <= best <= names["mended"].dual_bound + 1e-6
    assert names["weak"].dual_bound >= best - 1e-6 and names["weak"].primal_value <= best


def test_the_first_program_has_forty_lines():
    """Lines of code, without empty lines, documentation and imports."""
    lines = re.sub(r'""".*?"""', "", BLOCKS[0][0]).splitlines()
    assert len([line for line in lines if line.strip() and not re.match(r"from|import", line)]) <= 40


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(?:nonproj_systems\.relaxation\.)?(\w+)\(", TEXT))))
def test_names_on_the_page_exist(name):
    modules = [path.stem for path in (ROOT / "nonproj_systems" / "relaxation").glob("[a-z]*.py")]
    found = [importlib.import_module(f"nonproj_systems.relaxation.{module}") for module in modules]
    assert name == "callback" or any(hasattr(module, name) for module in found)


def test_the_compiled_loop_has_the_constants_of_the_library():
    from nonproj.dual import options
    from nonproj_systems.relaxation import solver, steps

    assert options.GRACE_ITERATIONS == solver.GRACE_ITERATIONS
    for name in ("POLYAK_SCALE", "POLYAK_PATIENCE", "POLYAK_DECAY", "MIN_STEP"):
        assert getattr(options, name) == getattr(steps, name)
