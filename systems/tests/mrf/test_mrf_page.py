"""docs/mrf.md: its code runs and prints the output shown on the page; its file is read as described."""

import io
import math
import re

import pytest
from pages import ROOT, run_page

pytest.importorskip("matplotlib").use("Agg")


def test_the_page_runs_and_prints_what_it_shows(tmp_path, monkeypatch):
    names = run_page("systems/docs/mrf.md", tmp_path, monkeypatch)
    assert [path.name for path in tmp_path.iterdir()] == ["mrf.png"] and (
        ROOT / "systems" / "docs" / "mrf.png"
    ).exists()
    friends = names["friends"]
    best = max(friends.score([x, y, z]) for x in (0, 1) for y in (0, 1) for z in (0, 1))
    assert abs(best - 2.7) < 1e-9


def test_the_file_of_the_page(capsys, tmp_path):
    from nonproj_systems.cli import main
    from nonproj_systems.mrf.uai import read_uai

    text = (ROOT / "systems" / "docs" / "mrf.md").read_text(encoding="utf-8")
    content = re.search(r"```text\n(MARKOV\n.*?)```", text, re.DOTALL)[1]
    assert abs(read_uai(io.StringIO(content)).score([0, 1, 2]) - math.log(24)) < 1e-9
    path = tmp_path / "field.uai"
    path.write_text(content)
    assert main(["mrf", str(path), "-o", str(tmp_path / "field.MPE")]) == 0
    shown = re.search(r"```\n(nodes.*?)```", text, re.DOTALL)[1]
    assert capsys.readouterr().out.startswith(shown)
    assert (tmp_path / "field.MPE").read_text() == "MPE\n3 0 1 2\n"
