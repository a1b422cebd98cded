"""Training makes the same file on another processor, whose libraries add and round in other ways."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import toy
from command import kept_kernels
from numpy._core._multiarray_umath import __cpu_dispatch__

from nonproj.components import confidence
from nonproj.components.trainer import train
from nonproj.options.config import Config

OPTIONS = toy.QUICK | dict.fromkeys(("features.bits", "pruner.bits"), 14)
OPTIONS |= dict.fromkeys(("labeler.bits", "tagger.bits"), 16) | dict.fromkeys(("tagger.epochs", "segmenter.epochs"), 2)
OPTIONS |= {"labeler.epochs": 1, "training.epochs": 1, "confidence.share": 0.5}
OLDER = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__)}
OLDER |= {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"}
"""Variables that make libraries choose code without fused or wide instructions, in other processes."""


def treebank() -> str:
    """Sentences with raw text, in which nobody can know the head of every other adjective."""
    rows = [line.split("\t") for line in toy.raw_treebank(60, 1).split("\n")]
    for row in [row for row in rows if len(row) > 7 and row[7] == "amod"][::2]:
        row[6] = "1" if row[6] != "1" and row[0] != "1" else row[6]
    return "\n".join("\t".join(row) for row in rows)


def arithmetic() -> str:
    """Sums and exponentials as libraries compute them, in hexadecimal digits."""
    matrix = np.random.default_rng(0).standard_normal((64, 64), np.float32)
    return (matrix @ matrix).tobytes().hex() + np.exp(matrix).tobytes().hex()


def learnt() -> bytes:
    """A model, of which all is learnt."""
    model = train(toy.read(treebank()), Config().with_overrides(OPTIONS))
    assert all(map(model.component, ("segmenter", "tagger", "network", "confidence")))
    return model.to_bytes()


def main() -> None:
    """Write a model to the file in the arguments."""
    confidence.CONFIDENCE = dataclasses.replace(confidence.CONFIDENCE, min_words=50, min_wrong=1)
    Path(sys.argv[1]).write_bytes(learnt())
    sys.stdout.write(arithmetic())


@pytest.mark.skipif(sys.platform != "linux", reason="the settings of another processor are those of Linux")
@pytest.mark.parametrize("kernels", ["same kernels", pytest.param("other kernels", marks=pytest.mark.thorough)])
def test_another_processor_trains_the_same_model(tmp_path, few_words, kernels):
    """Older kernels are those of a processor without fused multiplications and additions."""
    older = OLDER | kept_kernels() | {"PYTHONPATH": os.pathsep.join(sys.path)}
    older |= {"NUMBA_CPU_NAME": "generic"} if kernels == "other kernels" else {}
    command = [sys.executable, __file__, str(tmp_path / "model")]
    there = subprocess.check_output(command, env=os.environ | older, text=True)
    assert there != arithmetic() or "OPENBLAS_CORETYPE" in os.environ, "the libraries compute in another way"
    assert (tmp_path / "model").read_bytes() == learnt()


if __name__ == "__main__":
    main()
