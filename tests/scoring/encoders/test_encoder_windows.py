"""Windows of long sentences against their definition, and what it promises."""

from __future__ import annotations

import naive_windows
import numpy as np
import pytest
from instances import seeds

from nonproj.scoring.encoders.windows import windows


@pytest.mark.parametrize("seed", seeds(200))
def test_windows_follow_the_definition(seed):
    random = np.random.default_rng(seed)
    limit = int(random.integers(1, 40))
    lengths = random.integers(1, min(limit, random.integers(1, 41)) + 1, random.integers(0, 60))
    start, end, owner = (each.tolist() for each in windows(lengths, limit))
    assert (list(zip(start, end, strict=True)), owner) == naive_windows.windows(lengths.tolist(), limit)


@pytest.mark.parametrize("seed", seeds(50))
def test_windows_cover_a_sentence(seed):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 11, 300)
    start, end, owner = windows(lengths, 100)
    assert start[0] == 0 and end[-1] == 300
    assert (np.diff(start) > 0).all() and (np.diff(end) > 0).all() and (start[1:] <= end[:-1]).all()
    assert all(lengths[first:last].sum() <= 100 for first, last in zip(start, end, strict=True))
    assert ((start[owner] <= np.arange(300)) & (np.arange(300) < end[owner])).all() and (np.diff(owner) >= 0).all()
    context = [lengths[start[owner[i]] : i].sum() for i in range(20, 280)]
    assert min(context) >= 5, "words have at least an eighth of a window, less a word, before them"
