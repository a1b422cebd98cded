"""After ``nonproj compile``, no command compiles anything: neither a kernel nor one for other argument types."""

import itertools
import json
import os
from pathlib import Path

import pytest
from command import ROOT, run_python
from signatures import called_from_python

from nonproj.parts.registry import PART_SETS
from nonproj.pipeline.compiling import needed_kernels

GOLDEN = ROOT / "tests" / "golden"

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")

PROGRAM = """
import contextlib, io, json, os, re, sys
from pathlib import Path
import nonproj, toy
from nonproj.cli.main import main
from nonproj.cli.warmup import warm_up
from signatures import kernels_of, missed, returning_classes, signatures

kernels = list(kernels_of(nonproj, ("nonproj.learning.encoders.",)))  # which has none, and needs PyTorch

def run(*words):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as error:
        code = main([str(word) for word in words])
    assert code == 0, (words, code, error.getvalue())

os.chdir(sys.argv[1])
if not os.fork():
    run("parse", *sys.argv[2:], "-o", "out.conllu")
    Path("used.json").write_text(json.dumps([name for name, types in signatures(kernels).items() if types]))
    os._exit(0)
os.wait()
warm_up()
found = {"before": signatures(kernels), "missed": missed(kernels)}
EVERYTHING
found |= {"used": json.load(open("used.json")), "after": signatures(kernels), "classes": returning_classes(kernels)}
json.dump(found, open("found.json", "w"))
"""

FIRST = """
SMALL = [f"--set={name}.bits=12" for name in ("features", "pruner", "labeler", "tagger", "segmenter")]
SMALL += ["--epochs=2", "-qq", "--set=network.epochs=1", "--set=tagger.epochs=2", "--set=segmenter.epochs=2"]

spaced = toy.raw_treebank(40)
joined = spaced.replace("\\t_\\n", "\\tSpaceAfter=No\\n")
joined = re.sub("(?<=# text = ).*", lambda text: text[0].replace(" ", ""), joined)
within = spaced.replace("stor", "ret stor")  # a word with a blank
for name, text in {"spaced": spaced, "joined": joined, "within": within}.items():
    Path(f"{name}.conllu").write_text(text, encoding="utf-8")
long = "Denstorehundserenkat" + "a" * 2000
Path("text.txt").write_text(f"Den store hund ser en kat.\\n\\n{long} ja.\\n", encoding="utf-8")
Path("lines.txt").write_text("Den hund ser en kat.\\nEn kat ser.\\n", encoding="utf-8")
Path("given.conllu").write_text(spaced.replace("SpaceAfter=No", "Head=1"), encoding="utf-8")

def use(model):
    ways = "--text text.txt,--lines lines.txt --token-ranges,--words lines.txt,given.conllu --constraints=misc"
    options = "--tag,--nbest=3,--projective,--no-projective,--single-root,--multi-root,--full,--no-exact"
    options += ",--nbest=3 --projective,--nbest=3 --full,--nbest=3 --single-root"
    for words in (*ways.split(","), *(f"spaced.conllu {option}" for option in options.split(","))):
        run("parse", model, *words.split(), "-o", "out.conllu")
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
run("show", "out.conllu", "-o", "show.html")

from nonproj.server.processing import Task, process
from nonproj.text.formats import TextInput
task = Task("Den hund ser en kat.", TextInput(), tag=True, parse=True, certificates=True)
process(nonproj.Parser(nonproj.Model.load("default")), task)
"""


FROM_PYTHON = {
    # Weights are float32 in training and int16 in a model.
    "nonproj.scoring.scorer._score_parts": 2,
    "nonproj.scoring.scorer._score_pairs": 2,
    "nonproj.scoring.labels._score_labels": 2,
    "nonproj.scoring.label_pairs._score_label_pairs": 2,
    "nonproj.networks.rows.add_rows": 2,
    # With and without code for parts of third order.
    "nonproj.automata.compiled.count_work": 2,
    "nonproj.automata.compiled.decode_all_heads": 2,
    "nonproj.confidence.alternatives._fill_costs": 2,
    # With and without both, and with tables.
    "nonproj.dual.subgradient._descend": 5,
    # With and without both.
    "nonproj.dual.exclusion._exclude": 4,
    # With and without code for projective trees.
    "nonproj.dual.exclusion._include": 2,
}
"""Kernels with optional parts that are called from Python: the number of their signatures."""

SIGNATURES = {"nonproj.automata.compiled.score_tree": 3} | FROM_PYTHON


def compiled(folder: Path, everything: str) -> dict:
    """The kernels of a parse, those after a warm-up with their types, which it compiled, and those after everything."""
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    words = [str(folder), str(GOLDEN / "model.nonproj"), str(GOLDEN / "input.conll")]
    run_python(PROGRAM.replace("EVERYTHING", everything), *words, PYTHONPATH=path)
    return json.loads((folder / "found.json").read_text())


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict:
    """Kernels compiled by the warm-up, and by the use of a model."""
    return compiled(tmp_path_factory.mktemp("warm"), FIRST)


@pytest.fixture(scope="module")
def called() -> set[str]:
    """The kernels that Python calls."""
    return called_from_python(ROOT / "nonproj")


def test_each_kernel_has_one_signature_and_the_warm_up_leaves_none_to_compile(found, tmp_path):
    kernels, missed = found["before"], found["missed"]
    if missed:  # it was the first warm-up
        missed = compiled(tmp_path, "")["missed"]
    assert len(kernels) > 30
    many = [name for name, types in kernels.items() if len(types) > SIGNATURES.get(name, 1)]
    assert not many, f"compiled for more than one set of argument types: {many}"
    few = [name for name in FROM_PYTHON if len(kernels[name]) < SIGNATURES[name]]
    assert not few, f"left to compile for some arguments after the warm-up: {few}"
    assert not missed, f"compiled again by a process after the warm-up: {missed}"


def test_the_kernels_that_stand_for_the_stages_of_a_parse_exist_and_are_used(found):
    there, used = ({".".join(name.split(".")[-2:]) for name in found[which]} for which in ("before", "used"))
    for parts, projective in itertools.product(PART_SETS.values(), (False, True)):
        assert there.issuperset(needed_kernels(parts, projective))
    needed = needed_kernels(PART_SETS["grandparent"], False)
    assert needed_kernels(("arc", "valency"), False) == needed  # one loop
    assert "subgradient._descend" in needed and used.issuperset(needed)


def check_that_nothing_is_compiled(found: dict, called: set[str]) -> None:
    """Check that the warm-up calls all kernels that Python calls, and that they are not compiled for other types."""
    before, after = found["before"], found["after"]
    assert len(called) > 100
    assert not {name for name in called if not before[name]}, "the warm-up calls none of these kernels"
    more = {name: sorted({*after[name]} - {*before[name]}) for name in called}
    assert not {name: types for name, types in more.items() if types}, "compiled for other types afterwards"


def test_nothing_is_compiled_after_the_warm_up(found, called):
    check_that_nothing_is_compiled(found, called)


def test_kernels_return_no_classes_to_python(found, called):
    """Numba makes a named tuple by calling its class; where Ctrl-C interrupts that, numba goes on, and crashes."""
    assert not {*found["classes"]} & called


@pytest.mark.thorough
def test_no_kind_of_model_compiles_anything_after_the_warm_up(called, tmp_path):
    check_that_nothing_is_compiled(compiled(tmp_path, FIRST + OTHERS), called)
