"""Sets of translated words as bits, and a test whether they can be completed within the distortion limit."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Int64s, Uint64s


@kernel
def coverage(start: Int64s, end: Int64s) -> Uint64s:
    """Return the source words of each phrase as bits, uint64[O, 2]."""
    found = np.zeros((len(start), 2), np.uint64)
    for o in range(len(start)):
        for i in range(start[o], end[o]):
            found[o, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return found


@kernel
def can_complete(low: int, high: int, end: int, n_words: int, limit: int) -> bool:
    """Test a necessary condition for translating the other words after a phrase that ends at ``end``.

    Words are translated in jumps from the end of a phrase to the begin of the next one.  To cross from an untranslated
    word to the next one takes a jump over all words between them; to go back takes one to the last word left behind.
    """
    before, behind = -1, -1  # the last untranslated word, and the last one to the left of the end
    ahead = -1  # the first one from the end on
    for i in range(n_words):
        bits = low if i < 64 else high
        if (bits >> np.uint64(i & 63)) & np.uint64(1):
            continue
        if before >= 0 and i - before - 1 > limit:
            return False
        before = i
        if i < end:
            behind = i
        elif ahead < 0:
            ahead = i
    if behind >= 0:
        return end - behind <= limit
    return ahead < 0 or ahead - end <= limit
