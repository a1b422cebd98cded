"""After ``nonproj compile``, no command compiles anything: neither a kernel nor one for other argument types."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")

PROGRAM = """
import contextlib, importlib, io, json, os, pkgutil, sys
from pathlib import Path
import nonproj
from nonproj.cli.main import main
from nonproj.cli.warmup import warm_up
from nonproj.io.checks import ReadingRules
from nonproj.components.folds import Fold, predict_fold
import toy

def signatures():
    found = {}
    for info in pkgutil.walk_packages(nonproj.__path__, "nonproj."):
        if info.name == "nonproj.__main__" or info.name.startswith("nonproj.learning.encoders."):
            continue
        for value in vars(importlib.import_module(info.name)).values():
            if hasattr(value, "py_func") and value.py_func.__module__ == info.name:
                found[f"{info.name}.{value.py_func.__name__}"] = sorted(map(str, value.signatures))
    return found

def run(*words):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as error:
        code = main([str(word) for word in words])
    assert code == 0, (words, code, error.getvalue())

os.chdir(sys.argv[1])
warm_up()
before = signatures()
EVERYTHING
json.dump([before, signatures()], open("signatures.json", "w"))
"""

FIRST = """
SMALL = [f"--set={name}.bits=12" for name in ("features", "pruner", "labeler", "tagger", "segmenter")]
SMALL += ["--epochs=2", "-qq", "--set=network.epochs=1", "--set=tagger.epochs=2", "--set=segmenter.epochs=2"]

spaced = toy.raw_treebank(70)
joined = "".join(
    f"# text = {line[9:].replace(' ', '')}\\n" if line.startswith("# text = ") else
    (line.rpartition("\\t")[0] + "\\tSpaceAfter=No\\n" if line[:1].isdigit() else line + "\\n")
    for line in spaced.splitlines()
)
within = spaced.replace("stor", "ret stor")  # a word with a blank
for name, text in {"spaced": spaced, "joined": joined, "within": within}.items():
    Path(f"{name}.conllu").write_text(text, encoding="utf-8")
long = "Denstorehundserenkat" + "a" * 2000
Path("text.txt").write_text(f"Den store hund ser en kat.\\n\\n{long} ja.\\n", encoding="utf-8")
Path("lines.txt").write_text("Den hund ser en kat.\\nEn kat ser.\\n", encoding="utf-8")
Path("given.conllu").write_text(spaced.replace("SpaceAfter=No", "Head=1"), encoding="utf-8")

def use(model):
    run("parse", model, "spaced.conllu", "--tag", "-o", "out.conllu")
    run("parse", model, "--text", "text.txt", "-o", "out.conllu")
    run("parse", model, "--lines", "lines.txt", "-o", "out.conllu", "--token-ranges")
    run("parse", model, "--words", "lines.txt", "-o", "out.conllu")
    options = ("--nbest=3", "--projective", "--no-projective", "--single-root", "--multi-root", "--full", "--no-exact")
    for option in options:
        run("parse", model, "spaced.conllu", option, "-o", "out.conllu")
    for option in ("--projective", "--full", "--single-root"):
        run("parse", model, "spaced.conllu", "--nbest=3", option, "-o", "out.conllu")
    run("parse", model, "given.conllu", "--constraints=misc", "-o", "out.conllu")
    run("evaluate", "-m", model, "spaced.conllu", "--tag")

run("train", "spaced.conllu", "--test", "spaced.conllu", "-o", "default", *SMALL)
use("default")

import numpy as np
rng = np.random.default_rng(1)
for options in ({}, {"k": 3}, {"projective": True}, {"single_root": False}, {"marginals": True}):
    nonproj.decode_scores(rng.normal(size=(6, 6)), **options)
    nonproj.decode_scores(rng.normal(size=(6, 6)), grandparents=rng.normal(size=(6, 6, 6)), **options)
    nonproj.decode_scores(rng.normal(size=(6, 6)), siblings=rng.normal(size=(6, 6, 6)), **options)
    nonproj.decode_scores(rng.normal(size=(6, 6)), label_scores=rng.normal(size=(6, 6, 3)), **options)
nonproj.sample_trees(rng.normal(size=(6, 6)), 3)
"""

OTHERS = """
run("train", "joined.conllu", "-o", "joined", *SMALL, "--parts", "arc")
run("train", "within.conllu", "-o", "within", *SMALL, "--parts", "sibling")
run("train", "spaced.conllu", "-o", "third", *SMALL, "--parts", "third")
run("train", "spaced.conllu", "-o", "dual", *SMALL, "--set", "training.decoder=dual", "--set", "labeler.joint=true")
for model in ("joined", "within", "third", "dual"):
    use(model)
for model in ("default", "third"):
    run("parse", model, "--text", "text.txt", "--sentences-by-trees", "-o", "out.conllu")
    run("parse", model, "spaced.conllu", "--tag", "--nbest=2", "-o", "out.conllu")
unsure = {f"{name}.bits": 12 for name in ("features", "pruner", "labeler")}
unsure |= {"training.epochs": 2, "confidence.share": 0.4}
nonproj.train(toy.noisy_sentences(200), nonproj.Config().with_overrides(unsure)).save("unsure")
run("parse", "unsure", "spaced.conllu", "--confidence", "--stats", "stats.jsonl", "-o", "out.conllu")
run("parse", "unsure", "--text", "text.txt", "--confidence", "-o", "out.conllu")
run("parse", "unsure", "spaced.conllu", "--nbest=3", "-o", "out.conllu")
run("evaluate", "-m", "unsure", "spaced.conllu", "--calibration")
fold = Fold(("spaced.conllu",), (), ReadingRules(), nonproj.Config(), 2, 0, "", False, "unsure")
assert '"certified": [true' in predict_fold(fold).decode()
run("show", "out.conllu", "-o", "show.html")
run("search", "a:NOUN", "spaced.conllu")

from nonproj.server.processing import Task, process
from nonproj.workers.parsing import ModelRef
reference = ModelRef.of("default", nonproj.Model.load("default").config.decoding)
process(reference, Task("Den hund ser en kat.", tokenizer="", tag=True, parse=True, certificates=True))
"""


def is_kernel(node: ast.AST) -> bool:
    """Return whether a function is compiled."""
    return "kernel" in map(ast.unparse, getattr(node, "decorator_list", []))


def called_from_python() -> set[str]:
    """Return the kernels that a function that is not compiled names: those that kernels call are compiled in them."""
    trees = {}
    for path in (ROOT / "nonproj").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    kernels = {f"{name}.{node.name}" for name, tree in trees.items() for node in tree.body if is_kernel(node)}
    found = set()
    for name, tree in trees.items():
        places = {node.name: f"{name}.{node.name}" for node in tree.body if is_kernel(node)}
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
        places |= {each.asname or each.name: f"{node.module}.{each.name}" for node in imports for each in node.names}
        for node in tree.body:
            if not is_kernel(node):
                found |= {places.get(each.id, "") for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found & kernels


def signatures(folder: Path, everything: str) -> list[dict[str, list[str]]]:
    """The argument types of all kernels, after the warm-up and after everything else in the same process."""
    variables = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
    command = [sys.executable, "-P", "-c", PROGRAM.replace("EVERYTHING", everything), str(folder)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "signatures.json").read_text())


@pytest.mark.parametrize(
    "everything",
    [pytest.param(FIRST, id="one model"), pytest.param(FIRST + OTHERS, id="all kinds", marks=pytest.mark.thorough)],
)
def test_nothing_is_compiled_after_the_warm_up(everything, tmp_path):
    before, after = signatures(tmp_path, everything)
    called = {name for name in called_from_python() if not name.startswith("nonproj.scoring.bounds.")}  # of the systems
    assert len(called) > 100
    assert not {name for name in called if not before[name]}, "the warm-up calls none of these kernels"
    more = {name: sorted({*after[name]} - {*before[name]}) for name in called}
    assert not {name: types for name, types in more.items() if types}, "compiled for other types afterwards"
