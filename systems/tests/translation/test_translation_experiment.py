"""The experiment of translation and its data: known bytes, figures that add up, an alarm where a proof is wrong."""

import hashlib
import sys
from pathlib import Path

import pytest

from research.experiments.store import read_rows, write_rows
from systems.experiments import translation

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def fetching(monkeypatch):
    """The script that provides the data, as a module."""
    known = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "systems" / "data_scripts"))
    import fetch_translation

    yield fetch_translation
    for name in set(sys.modules) - known & {"fetch", "fetch_translation", "treebanks"}:
        sys.modules.pop(name, None)


def test_files_are_checked_wherever_they_come_from(fetching, tmp_path, monkeypatch, capsys):
    contents = {name: name.encode() for name in fetching.FILES}
    monkeypatch.setattr(fetching, "FILES", {n: hashlib.sha256(data).hexdigest() for n, data in contents.items()})
    public = tmp_path / "public"
    public.mkdir()
    for name, data in contents.items():
        (public / name).write_bytes(data)
    out = tmp_path / "out"
    assert fetching.fetch_translation(out, None, public=public.as_uri()) == out / "multi30k"
    assert {path.name: path.read_bytes() for path in (out / "multi30k").iterdir()} == contents
    assert fetching.main(["--out", str(tmp_path / "other"), "--source", str(public)]) == 0
    assert capsys.readouterr().out == f"{public}\n" and not (tmp_path / "other").exists()
    assert fetching.main(["--out", str(tmp_path / "other"), "--archive", str(public)]) == 0
    assert len(list((tmp_path / "other" / "multi30k").iterdir())) == 6
    (public / "val.de.gz").write_bytes(b"other")
    assert fetching.main(["--out", str(tmp_path / "third"), "--archive", str(public)]) == 2
    assert "val.de.gz: SHA-256 is " in capsys.readouterr().err and not (tmp_path / "third").exists()
    assert fetching.main(["--out", str(tmp_path / "third"), "--archive", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"fetch translation: {tmp_path / 'none'}: no such folder\n"


def draw_rows(beam_value):
    exact = [{"sentence": k, "value": -3.0, "certified": 1, "seconds": 0.5, "text": "= a"} for k in range(4)]
    values = (-3.0, beam_value, -float("inf"), -3.0)
    beam = [{"sentence": k, "value": v, "seconds": 0.1, "text": "= a"} for k, v in enumerate(values)]
    return {"exact": exact, "beam 10": beam}


def test_search_errors_are_counted(tmp_path):
    rows = draw_rows(-5.0)
    for name, found in rows.items():
        write_rows(tmp_path / name, found)
        assert read_rows(tmp_path / name) == found  # minus infinity and texts survive the files
    lines = translation.search_errors(rows, dict.fromkeys(rows, "1.00")).splitlines()
    assert lines[2] == "| exact | 0 | 0 | – | 0.500 | 1.00 |"
    assert lines[3] == "| beam 10 | 1 | 1 | 2.00 | 0.100 | 1.00 |"
    with pytest.raises(ValueError, match="beam 10 beats a proven optimum"):
        translation.search_errors(draw_rows(-2.0), {"exact": "", "beam 10": ""})
