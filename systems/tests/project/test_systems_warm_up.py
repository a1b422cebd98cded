"""After ``nonproj compile``, the systems compile nothing."""

import importlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from signatures import called_from_python

from nonproj.cli.plugins import WARMUPS
from nonproj_systems.warmup import warm_up

SYSTEMS = Path(__file__).resolve().parents[2]

PROGRAM = """
import contextlib, io, json
from pathlib import Path
import nonproj_systems
from nonproj_systems.cli import main
from nonproj_systems.warmup import TREES, warm_up
from signatures import kernels_of, signatures

def run(*words):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as error:
        code = main([str(word) for word in words])
    assert code == 0, (words, code, error.getvalue())

def compiled():
    return signatures(kernels_of(nonproj_systems))

warm_up()
before = compiled()
Path("trees").write_text("\\n".join(TREES * 6))
Path("words").write_text("the dog see cat\\n")
Path("tagged").write_text("the/DT dog/NN see/VB cat/NN\\n")
run("constituency", "train", "trees", "-o", "phrases", "-q")
run("constituency", "parse", "phrases", "words", "-o", "out")
run("lexicalised", "train", "trees", "-o", "lexicalised", "--rare", "1", "-q")
run("lexicalised", "parse", "lexicalised", "tagged", "--tagged", "-o", "out")
Path("de").write_text("Ein Hund rennt.\\nDer Mann rennt.\\nEin Mann rennt.\\n" * 3)
Path("en").write_text("A dog runs.\\nThe man runs.\\nA man runs.\\n" * 3)
run("translate", "train", "de", "en", "-o", "translation", "--tune", "de", "en", "--tune-pairs", 2)
run("translate", "decode", "-m", "translation", "de", "-o", "out")
run("translate", "decode", "-m", "translation", "de", "-o", "out", "--beam", 3)
places = "".join(f"{i} {i * i % 17} {i * 5 % 11}\\n" for i in range(1, 13))
header = "TYPE: TSP\\nDIMENSION: 12\\nEDGE_WEIGHT_TYPE: EUC_2D\\nNODE_COORD_SECTION\\n"
Path("tour.tsp").write_text(header + places + "EOF\\n")
run("tsp", "tour.tsp")
Path("field.uai").write_text("MARKOV 2 2 2 3 1 0 1 1 2 0 1 2 0.4 0.6 2 0.3 0.7 4 0.9 0.1 0.2 0.8")
run("mrf", "field.uai")
json.dump([before, compiled()], open("signatures.json", "w"))
"""


def test_the_warm_up_is_declared():
    project = tomllib.loads((SYSTEMS / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (place,) = project["entry-points"][WARMUPS].values()
    module, _, name = place.partition(":")
    assert getattr(importlib.import_module(module), name) is warm_up


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_nothing_is_compiled_after_the_warm_up(tmp_path):
    places = [SYSTEMS, SYSTEMS.parent, SYSTEMS.parent / "tests"]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))}
    command = [sys.executable, "-P", "-c", PROGRAM]
    done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    before, after = json.loads((tmp_path / "signatures.json").read_text())
    called = called_from_python(SYSTEMS / "nonproj_systems")
    assert len(called) > 35
    assert not {name for name in called if not before[name]}, "the warm-up calls none of these kernels"
    more = {name: sorted({*after[name]} - {*before[name]}) for name in called}
    assert not {name: types for name, types in more.items() if types}, "compiled for other types afterwards"
