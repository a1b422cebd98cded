"""Sentences of a text: a linear model and a small network give the probability that a sentence ends after each token.

It depends on the tokens around the place and on the sentence so far: on its length, its verbs, its open brackets and
quotation marks.  A forward pass over all beginnings that are probable enough gives each span of tokens its probability
of being a sentence, and a dynamic program chooses the sentences with the largest sum of probabilities, less a cost for
each (minimum-risk decoding of a semi-Markov model).  The end of a paragraph always ends a sentence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import Window
from nonproj.text.alternatives import COST, LEAST, Alternatives
from nonproj.text.characters import QUOTE
from nonproj.text.layout import PARAGRAPH, SENTENCE_GOES_ON, table_shift
from nonproj.text.sentence_features import (
    CELLS,
    N_FEATURES,
    N_LOCAL,
    N_STATES,
    STATE_WINDOW,
    WINDOW,
    at_line_end,
    brackets_after,
    hash_around,
    hash_state,
    state_of,
)
from nonproj.text.sentence_network import EncodedText, SentenceNetwork, empty_network, network_score, sums_of
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.text.usage import KnownWords, Usage, is_finite_verb
from nonproj.types import Float32s, Float64s, Int64s

MIN_SHARE = 1 / 256
"""Minimum probability of a beginning that is kept; the most probable one always is."""

_MOST_BEGINNINGS = round(1 / MIN_SHARE) + 3


class Beginnings(NamedTuple):
    """Candidate beginnings of the current sentence.

    Attributes
    ----------
    token : ndarray of shape (B,), int64
        The first token of the sentence.
    brackets, quotes, verbs : ndarray of shape (B,), int64
        The numbers of open brackets, quotation marks and finite verbs from there on.
    mass : ndarray of shape (B,), float64
        The probability that it began there and has not ended yet.
    """

    token: np.ndarray
    brackets: np.ndarray
    quotes: np.ndarray
    verbs: np.ndarray
    mass: np.ndarray


class SentenceModel(NamedTuple):
    """A model that scores the ends of sentences.

    Attributes
    ----------
    usage : Usage
        Statistics of words, by hash.
    weights : ndarray, float32
        Weights of the linear model.
    threshold : float
        Number subtracted from the log-odds of each end.
    network : SentenceNetwork
        Network whose scores are added to those of the weights.
    """

    usage: Usage
    weights: np.ndarray
    threshold: float
    network: SentenceNetwork = empty_network()


class EndModel(NamedTuple):
    """The templates of the tokens around a place and of the sentence's state, their weights, the tables of the network,
    and the threshold of an end."""

    around: Window
    back: Window
    weights: Float32s
    states: Float32s
    output: Float32s
    threshold: float


class EndBuffers(NamedTuple):
    """Sums of tokens for hidden units (`nonproj.text.sentence_network.sums_of`), and buffers: attributes and places of
    a window; the probability of an end in each state and, after the states, for each beginning; and for each state
    the row for which it was computed."""

    sums: np.ndarray
    atoms: np.ndarray
    places: np.ndarray
    probability: np.ndarray
    met: np.ndarray


class SentenceEnds(NamedTuple):
    """The result of the dynamic program at each place: before the first token, and after each token.

    Attributes
    ----------
    ended : ndarray of shape (T + 1,), float64
        The probability that a sentence ends there.
    value : ndarray of shape (T + 1,), float64
        Value of the best sentences up to there: the sum of their probabilities, less their cost.
    begin : ndarray of shape (T + 1,), int64
        First token of the last of these sentences.
    """

    ended: np.ndarray
    value: np.ndarray
    begin: np.ndarray


@kernel
def _enter(active: Beginnings, count: int, token: int, mass: float) -> int:
    """Add a beginning; return the number of beginnings."""
    active.token[count], active.mass[count] = token, mass
    active.brackets[count], active.quotes[count], active.verbs[count] = 0, 0, 0
    return count + 1


@kernel
def _advance(table: TokenTable, known: KnownWords, t: int, active: Beginnings, count: int) -> None:
    """Count the brackets, quotation marks and verbs of the token in row ``t``."""
    for k in range(count):
        active.brackets[k] = brackets_after(table.first[t], active.brackets[k])
        active.quotes[k] += table.first[t] == QUOTE
        active.verbs[k] += is_finite_verb(known.tag[t])


@kernel
def _score_around(table: TokenTable, known: KnownWords, t: int, model: EndModel, work: EndBuffers) -> float:
    """Return the linear model's score of a sentence end after row ``t`` by the tokens around, less the threshold."""
    shift = np.uint32(table_shift(len(model.weights)))
    hash_around(model.around, table, known, t, shift, work.atoms, work.places)
    score, side = -model.threshold, at_line_end(table.blanks[t])
    for j in range(N_LOCAL):
        score += model.weights[work.places[j] ^ side]
    return score


@kernel
def _probability(t: int, state: int, score: float, side: int, model: EndModel, work: EndBuffers) -> float:
    """Return the probability of a sentence end after row ``t``, given its score by the tokens around."""
    hash_state(model.back, state, np.uint32(table_shift(len(model.weights))), work.atoms, work.places)
    for j in range(N_FEATURES - N_LOCAL):
        score += model.weights[work.places[j] ^ side]
    score += network_score(model.states, model.output, work.sums[t], state + N_STATES * side)
    return 1.0 / (1.0 + math.exp(-min(max(score, -30.0), 30.0)))


@kernel
def _find_endings(
    table: TokenTable, t: int, score: float, active: Beginnings, count: int, model: EndModel, work: EndBuffers
) -> None:
    """Compute the probability of an end after row ``t`` for the state of each beginning."""
    for k in range(count):
        length = t - PADDING - active.token[k] + 1
        state = state_of(length, active.brackets[k], active.quotes[k], active.verbs[k])
        if work.met[state] != t:
            work.met[state] = t
            work.probability[state] = _probability(t, state, score, at_line_end(table.blanks[t]), model, work)
        work.probability[N_STATES + k] = work.probability[state]


@kernel
def _prune(active: Beginnings, count: int, ended: float) -> int:
    """Keep the probable beginnings, scaled to a total mass of 1 with the end; return their number."""
    total, best, kept = ended, 0, 0
    for k in range(count):
        total += active.mass[k]
        best = k if active.mass[k] > active.mass[best] else best
    for k in range(count):
        if k == best or active.mass[k] >= total * MIN_SHARE:
            active.token[kept], active.mass[kept] = active.token[k], active.mass[k] / total
            active.brackets[kept], active.quotes[kept] = active.brackets[k], active.quotes[k]
            active.verbs[kept] = active.verbs[k]
            kept += 1
    return kept


class SentenceSpans(NamedTuple):
    """The spans of tokens that are a sentence with at least a minimum probability, up to the size of the arrays.

    Attributes
    ----------
    begin, end : ndarray of shape (M,), int64
        The first token, and the one behind the last.
    mass : ndarray of shape (M,), float64
        The probabilities.
    size : ndarray of shape (1,), int64
        Their number.
    least : float
        The minimum probability.
    """

    begin: np.ndarray
    end: np.ndarray
    mass: np.ndarray
    size: np.ndarray
    least: float


@kernel
def _add_stretch(stretches: SentenceSpans, begin: int, end: int, mass: float) -> None:
    """Add a span if it is probable enough and the arrays are not full."""
    number = stretches.size[0]
    if mass >= stretches.least and number < len(stretches.begin):
        stretches.begin[number], stretches.end[number], stretches.mass[number] = begin, end, mass
        stretches.size[0] = number + 1


@kernel
def _find_sentences(
    table: TokenTable, seen: EncodedText, model: EndModel, cost: float, stretches: SentenceSpans
) -> tuple[Float64s, Float64s, Int64s]:
    """Return the arrays of `SentenceEnds`; add the probable spans to ``stretches``."""
    known, n = seen.known, len(table.word) - 2 * PADDING
    counts = np.zeros((4, _MOST_BEGINNINGS), np.int64)
    active = Beginnings(counts[0], counts[1], counts[2], counts[3], np.zeros(_MOST_BEGINNINGS))
    atoms, places = np.zeros(CELLS, np.uint32), np.zeros(N_FEATURES, np.int32)
    work = EndBuffers(sums_of(seen), atoms, places, np.zeros(N_STATES + _MOST_BEGINNINGS), np.full(N_STATES, -1))
    found = SentenceEnds(np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1, np.int64))
    count, entering, found.ended[0] = 0, 1.0, 1.0
    for t in range(PADDING, n + PADDING):
        end, last = t - PADDING + 1, table.blanks[t] == PARAGRAPH
        if count == 0 or entering >= MIN_SHARE:
            count = _enter(active, count, end - 1, entering)
        _advance(table, known, t, active, count)
        if last:
            work.probability[N_STATES : N_STATES + count] = 1.0
        elif table.decided[t] & SENTENCE_GOES_ON:
            work.probability[N_STATES : N_STATES + count] = 0.0
        else:
            _find_endings(table, t, _score_around(table, known, t, model, work), active, count, model, work)
        ended, found.value[end] = 0.0, -np.inf
        for k in range(count):
            mass = active.mass[k] * work.probability[N_STATES + k]
            value = found.value[active.token[k]] + mass - cost
            if value > found.value[end]:
                found.value[end], found.begin[end] = value, active.token[k]
            _add_stretch(stretches, active.token[k], end, mass)
            active.mass[k] -= mass
            ended += mass
        entering = ended / (ended + active.mass[:count].sum())
        found.ended[end] = entering
        count = 0 if last else _prune(active, count, ended)
    return found.ended, found.value, found.begin


@kernel
def _score_ends(table: TokenTable, seen: EncodedText, model: EndModel, cost: float) -> Float32s:
    """Return the log-odds of a sentence end after each token, with the sign of the decision."""
    places, n = np.zeros(0, np.int64), len(table.word) - 2 * PADDING
    none = SentenceSpans(places, places, np.zeros(0), np.zeros(1, np.int64), 1.0)
    found, scores, end = SentenceEnds(*_find_sentences(table, seen, model, cost, none)), np.empty(n, np.float32), n
    for i in range(n):
        share = min(max(found.ended[i + 1], 1e-9), 1.0 - 1e-9)
        scores[i] = np.float32(math.log(share / (1.0 - share)))
    for i in range(n, 0, -1):
        if i != end:
            scores[i - 1] = min(scores[i - 1], np.float32(-1e-3))
            continue
        paragraph, end = table.blanks[PADDING + i - 1] == PARAGRAPH, found.begin[i]
        scores[i - 1] = np.float32(np.inf) if paragraph else max(scores[i - 1], np.float32(1e-3))
    return scores


def _as_kernels_read(table: TokenTable, model: SentenceModel) -> tuple[EncodedText, EndModel]:
    """Return a text and a model as kernels read them."""
    network = model.network
    tables = model.weights, network.states, network.output
    return network.encode(table, model.usage), EndModel(WINDOW, STATE_WINDOW, *tables, float(model.threshold))


def score_ends(table: TokenTable, model: SentenceModel, cost: float = COST) -> np.ndarray:
    """Return the score of a sentence end after each token, float32[T]: above 0 where a sentence ends.

    It is the log-odds of an end, but at least 0.001 from 0 on the side of the decision.  The decisions maximise the sum
    of the sentences' probabilities, less a cost for each.

    Parameters
    ----------
    table : TokenTable
    model : SentenceModel
    cost : float
        The larger the cost, the fewer sentences are found where ends are uncertain.
    """
    found: np.ndarray = _score_ends(table, *_as_kernels_read(table, model), float(cost))
    return found


def alternatives(table: TokenTable, model: SentenceModel, least: float = LEAST) -> Alternatives:
    """Return the spans that are sentences with probability ``least`` or more, and any others of the best segmentation.

    Parameters
    ----------
    table : TokenTable
    model : SentenceModel
    least : float
        The minimum probability, above 0.
    """
    n = len(table.word) - 2 * PADDING
    room = n * min(int(1.0 / least) + 1, _MOST_BEGINNINGS)  # the probabilities of a beginning's ends sum to 1
    places = np.zeros((2, room), np.int64)
    stretches = SentenceSpans(places[0], places[1], np.zeros(room), np.zeros(1, np.int64), float(least))
    found = SentenceEnds(*_find_sentences(table, *_as_kernels_read(table, model), COST, stretches))
    count = int(stretches.size[0])
    pairs = zip(places[0, :count].tolist(), places[1, :count].tolist(), strict=True)
    masses = dict(zip(pairs, stretches.mass[:count].tolist(), strict=True))
    last = n
    while last > 0:
        masses.setdefault((int(found.begin[last]), last), least)
        last = int(found.begin[last])
    ordered = sorted(masses.items(), key=lambda item: item[0][::-1])
    begin, end, mass = (np.array(values) for values in zip(*((*place, mass) for place, mass in ordered), strict=True))
    return Alternatives(begin, end, np.log(np.minimum(mass / found.ended[begin], 1.0)))
