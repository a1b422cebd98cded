"""The compiled code: one signature for each kernel, and nothing left to compile after the warm-up."""

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import importlib, json, pkgutil, sys
import nonproj
from nonproj.warmup import warm_up

warm_up()
kernels = {}
for info in pkgutil.walk_packages(nonproj.__path__, "nonproj."):
    if info.name.endswith("__main__"):
        continue
    module = importlib.import_module(info.name)
    for value in vars(module).values():
        if hasattr(value, "py_func") and value.py_func.__module__ == info.name:
            kernels[f"{info.name}.{value.py_func.__name__}"] = (
                [str(signature) for signature in value.signatures],
                sum(value.stats.cache_misses.values()),
            )
json.dump(kernels, sys.stdout)
"""


def run():
    """All kernels after a warm-up in a fresh process: name, signatures, cache misses."""
    import json

    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_each_kernel_has_one_signature_and_the_warm_up_leaves_none_to_compile():
    run()
    kernels = run()
    assert len(kernels) > 30
    # Weights are float32 in training and int16 in a model.
    twice = {f"nonproj.scoring.{name}" for name in ("score._score_parts", "score._score_pairs", "labels._score_labels")}
    many = {name: signatures for name, (signatures, _) in kernels.items() if len(signatures) > 1 + (name in twice)}
    assert not many, f"compiled for more than one set of argument types: {list(many)}"
    missed = [name for name, (_, misses) in kernels.items() if misses]
    assert not missed, f"compiled again by a second process: {missed}"
