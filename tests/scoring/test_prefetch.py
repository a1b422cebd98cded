"""Weights are asked for before they are read: the instruction is there, and changes no sum."""

import os

import numba
import numpy as np
import pytest

from nonproj.scoring.prefetch import prefetch


def add(weights, places):
    """Ask for all weights, then add them."""
    for i in range(places.shape[0]):
        prefetch(weights, np.uint64(places[i]))
    total = 0
    for i in range(places.shape[0]):
        total += weights[places[i]]
    return total


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32])
def test_the_instruction_is_compiled_and_changes_no_sum(kind):
    compiled = numba.njit(add)
    weights, places = np.arange(100).astype(kind), np.array([3, 99, 0, 3])
    assert compiled(weights, places) == 105
    (code,) = compiled.inspect_llvm().values()
    assert "call void @llvm.prefetch" in code


def test_an_element_that_does_not_exist_can_be_asked_for():
    far = numba.njit(lambda weights, place: prefetch(weights, place)) if not numba.config.DISABLE_JIT else prefetch
    assert far(np.zeros(1, np.int16), np.uint64(1 << 40)) is None
