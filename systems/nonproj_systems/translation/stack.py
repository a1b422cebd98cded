"""Stack decoding of the same model: a beam search by the number of translated words (Koehn, Och and Marcu 2003)."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s, Uint64s
from nonproj_systems.translation.coverage import can_complete, coverage
from nonproj_systems.translation.instance import Instance
from nonproj_systems.translation.language_model import BEGIN, END, read_word


@kernel
def _future_scores(instance: Instance) -> Float64s:
    """Return an estimate of the best score of each range of words, float64[N + 1, N + 1], without context."""
    n = instance.n_words
    found = np.full((n + 1, n + 1), -np.inf)
    for o in range(len(instance.start)):
        total, state = instance.score[o], np.int64(0)
        for word in instance.words[instance.word_start[o] : instance.word_start[o + 1]]:
            score, state = read_word(instance.lm, state, word)
            total += score
        found[instance.start[o], instance.end[o]] = max(found[instance.start[o], instance.end[o]], total)
    for length in range(2, n + 1):
        for start in range(n - length + 1):
            for middle in range(start + 1, start + length):
                found[start, start + length] = max(
                    found[start, start + length], found[start, middle] + found[middle, start + length]
                )
    return found


@kernel
def _future(low: int, high: int, n_words: int, future: Float64s) -> float:
    """Return the estimated score of the words that are not covered."""
    total, start = 0.0, -1
    for i in range(n_words + 1):
        word = low if i < 64 else high
        covered = i == n_words or (word >> np.uint64(i & 63)) & np.uint64(1)
        if covered and start >= 0:
            total += future[start, i]
            start = -1
        elif not covered and start < 0:
            start = i
    return total


@kernel
def _key(low: int, high: int, state: int, end: int) -> int:
    """Return a hash of the state on which the rest of a derivation depends."""
    found = (low ^ (high * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
    found ^= np.uint64(state) * np.uint64(0x94D049BB133111EB) + np.uint64(end)
    return found ^ (found >> np.uint64(29))


@kernel
def _select(estimates: Float64s, masks: Uint64s, places: Int64s, beam: int) -> Int64s:
    """Return up to ``beam`` candidates with the best estimates, one of each set with equal continuations."""
    order, size = np.argsort(-estimates), 4
    while size < 4 * min(beam, len(order)):
        size *= 2
    slots, kept = np.full(size, -1, np.int64), np.empty(min(beam, len(order)), np.int64)
    found = 0
    for c in order:
        if found == beam:
            break
        at = np.int64(_key(masks[c, 0], masks[c, 1], places[c, 0], places[c, 1]) & np.uint64(size - 1))
        while slots[at] >= 0:
            d = slots[at]
            same = masks[c, 0] == masks[d, 0] and masks[c, 1] == masks[d, 1]
            if same and places[c, 0] == places[d, 0] and places[c, 1] == places[d, 1]:
                break
            at = (at + 1) & (size - 1)
        if slots[at] < 0:
            slots[at] = c
            kept[found] = c
            found += 1
    return kept[:found]


@kernel
def _expand(
    instance: Instance,
    phrases: Uint64s,
    future: Float64s,
    hypothesis: tuple[float, int, int, int, int, int],
    path: int,
    stacks: list[list[tuple[float, float, int, int, int, int, int, int]]],
) -> None:
    """Append all extensions of a hypothesis by one phrase to their stacks.

    A hypothesis is (score, covered words, language model state, end of the last phrase); an entry of a stack also has
    its estimate, the number of the hypothesis before it and its last phrase.
    """
    score, low, high, state, end, n = hypothesis
    for s in range(max(end - instance.limit, 0), min(end + instance.limit + 1, instance.n_words)):
        word = low if s < 64 else high
        if (word >> np.uint64(s & 63)) & np.uint64(1):
            continue
        moved = score + abs(s - end) * instance.distortion
        for o in range(instance.first_option[s], instance.first_option[s + 1]):
            if low & phrases[o, 0] or high & phrases[o, 1]:
                continue
            a, b = low | phrases[o, 0], high | phrases[o, 1]
            if not can_complete(a, b, instance.end[o], instance.n_words, instance.limit):
                continue
            total, behind = moved + instance.score[o], state
            for each in instance.words[instance.word_start[o] : instance.word_start[o + 1]]:
                gain, behind = read_word(instance.lm, behind, each)
                total += gain
            m = n + instance.end[o] - s
            if m == instance.n_words:
                total += read_word(instance.lm, behind, END)[0]
            estimate = total + _future(a, b, instance.n_words, future)
            stacks[m].append((total, estimate, a, b, behind, instance.end[o], path, o))


@kernel
def _decode(instance: Instance, beam: int, phrases: Uint64s) -> Int64s:
    """Return the best derivation in a beam, int64[L]; empty if the beam has none."""
    n_words, future = instance.n_words, _future_scores(instance)
    zero = np.uint64(0)
    empty = (0.0, 0.0, zero, zero, np.int64(1 + BEGIN), np.int64(0), np.int64(-1), np.int64(-1))
    stacks = [[empty for _ in range(0)] for _ in range(n_words + 1)]
    stacks[0].append(empty)
    path = [(np.int64(-1), np.int64(-1)) for _ in range(0)]
    last = np.int64(-1)
    for n in range(n_words + 1):
        stack = stacks[n]
        if len(stack) == 0:
            continue
        estimates, masks = np.empty(len(stack)), np.empty((len(stack), 2), np.uint64)
        places = np.empty((len(stack), 2), np.int64)
        for c in range(len(stack)):
            estimates[c], masks[c, 0], masks[c, 1] = stack[c][1], stack[c][2], stack[c][3]
            places[c, 0], places[c, 1] = stack[c][4], stack[c][5]
        if n == n_words:
            best = stack[np.argmax(estimates)]
            path.append((best[6], best[7]))
            last = np.int64(len(path) - 1)
            break
        for c in _select(estimates, masks, places, beam):
            score, _, low, high, state, end, before, option = stack[c]
            path.append((before, option))
            hypothesis = (score, low, high, state, end, n)
            _expand(instance, phrases, future, hypothesis, np.int64(len(path) - 1), stacks)
        stack.clear()
    found, length = np.zeros(n_words + 1, np.int64), 0
    while last > 0:
        before, option = path[last]
        found[length] = option
        length += 1
        last = before
    return found[:length][::-1].copy()


def decode_by_stacks(instance: Instance, beam: int = 100) -> np.ndarray:
    """Return the best derivation that a beam search finds, int64[L]; empty if it finds none.

    Stacks hold the hypotheses that have translated the same number of words; each keeps ``beam`` of them, the best by
    score plus an estimate of the untranslated words without context.  Hypotheses that can only be continued in the
    same way are recombined.

    Parameters
    ----------
    instance : Instance
    beam : int
        At least 1.

    Examples
    --------
    >>> from nonproj_systems.translation.instance import make_instance
    >>> from nonproj_systems.translation.language_model import estimate
    >>> phrases = [(0, 1, [3], -1.0), (1, 2, [4], -1.0), (0, 2, [4, 3], -2.5)]
    >>> decode_by_stacks(make_instance(2, phrases, estimate([[3, 4], [4, 3]], 5), distortion=-1.0)).tolist()
    [0, 2]
    """
    if beam < 1:
        raise ValueError(f"the beam is {beam}; 1 or more is expected")
    return _decode(instance, int(beam), coverage(instance.start, instance.end))
