"""The search graph of the relaxed problem: derivations that translate a total of N words, not each of them once.

A path runs through nodes of four kinds, at each number n of words translated so far: a phrase *ended* before source
word r with language model state q; a phrase is about to *begin* at word s in state q; its *first* target word is read;
its first *two* words are read, which is all that later words depend on; then the phrase ends at n plus its words.  The
parts that do not depend on n are built once, as a template.

The language model's back-off is exact in these graphs.  Where a word has an arc in a state, backing off scores no more,
so the arc wins; only if both lead to different states, and backing off now would save a later one, is backing off left
out of the graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Float64s, Int8s, Int32s, Int64s
from nonproj_systems.translation.graph import Graph
from nonproj_systems.translation.instance import Instance
from nonproj_systems.translation.language_model import BEGIN, END, Automaton, find_arc, read_word


class Template(NamedTuple):
    """Nodes and arcs of the search graph, the same for each number of words translated.

    Attributes
    ----------
    arc_start, source, score, option : ndarray
        As in `Graph`.  An arc with a phrase of k source words comes from its source's copy for k words fewer.
    ended : ndarray of int64, ascending
        The first nodes: source position times the number of states plus the state; node 0 is the start.
    """

    arc_start: np.ndarray
    source: np.ndarray
    score: np.ndarray
    option: np.ndarray
    ended: np.ndarray


@kernel
def _distinct(values: Int64s) -> Int64s:
    """Return the different numbers of an array, ascending."""
    found, size = np.empty(len(values), np.int64), 0
    for k in np.argsort(values):
        if size == 0 or values[k] != found[size - 1]:
            found[size] = values[k]
            size += 1
    return found[:size].copy()


@kernel
def _lower(ascending: Int64s, value: int) -> int:
    """Return the position of the first number that is not below a value."""
    first, last = 0, len(ascending)
    while first < last:
        middle = (first + last) >> 1
        if ascending[middle] < value:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def _position(descending: Int64s, state: int) -> int:
    """Return the position of a state in descending states."""
    first, last = 0, len(descending)
    while first < last:
        middle = (first + last) >> 1
        if descending[middle] > state:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def _ended_states(instance: Instance) -> Int64s:
    """Return the pairs of position and state in which a phrase can end, as ascending numbers; first the start."""
    lm, n_states = instance.lm, len(instance.lm.last_word)
    n_target = lm.arc_start[1]
    last = np.zeros((instance.n_words + 1, n_target), np.bool_)
    last[0, BEGIN] = True
    for o in range(len(instance.start)):
        last[instance.end[o], instance.words[instance.word_start[o + 1] - 1]] = True
    found = [np.int64(1 + BEGIN)]
    for s in range(instance.n_words):
        low, high = max(s - instance.limit, 0), min(s + instance.limit, instance.n_words)
        reachable = np.zeros(n_target, np.bool_)
        for r in range(low, high + 1):
            reachable |= last[r]
        before = np.nonzero(reachable)[0]
        for o in range(instance.first_option[s], instance.first_option[s + 1]):
            words = instance.words[instance.word_start[o] : instance.word_start[o + 1]]
            base = instance.end[o] * n_states
            if len(words) == 1:
                found.append(base + 1 + words[0])
                for x in before:
                    arc = find_arc(lm, 1 + x, words[0])
                    if arc >= 0:
                        found.append(base + lm.arc_next[arc])
            else:
                state = np.int64(1 + words[0])
                for word in words[1:]:
                    state = read_word(lm, state, word)[1]
                found.append(base + state)
    return _distinct(np.array(found))


@kernel
def _has_arc(lm: Automaton, state: int, words: Int64s, marked: Bools) -> bool:
    """Return whether a state has an arc for one of some words."""
    first, last = lm.arc_start[state], lm.arc_start[state + 1]
    if last - first <= 8 * len(words):
        found = False
        for arc in range(first, last):
            found |= marked[lm.arc_word[arc]]
        return found
    for word in words:
        if find_arc(lm, state, word) >= 0:
            break
    else:
        return False
    return True


@kernel
def _effective(lm: Automaton, state: int, words: Int64s, marked: Bools) -> tuple[int, float]:
    """Return the first state with an arc for one of some words, backing off from ``state``, and the back-off score."""
    score = 0.0
    while state > 0 and not _has_arc(lm, state, words, marked):
        score += lm.backoff_score[state]
        state = np.int64(lm.backoff_state[state])
    return state, score


@kernel
def _begin_nodes(
    instance: Instance, s: int, ended: Int64s, words: Int64s, marked: Bools
) -> tuple[Int64s, list[tuple[int, int, float]]]:
    """Return the states in which a phrase can begin at ``s``, descending, and arcs to them: node, state, score."""
    lm, n_states = instance.lm, len(instance.lm.last_word)
    arcs = [(np.int64(0), np.int64(0), 0.0) for _ in range(0)]
    states = [np.int64(0)]
    low = _lower(ended, max(s - instance.limit, 0) * n_states)
    high = _lower(ended, (s + instance.limit + 1) * n_states)
    for node in range(low, high):
        jump = abs(ended[node] // n_states - s)
        state, score = _effective(lm, ended[node] % n_states, words, marked)
        arcs.append((node, state, score + jump * instance.distortion))
        while state > 0:
            states.append(state)
            state = _effective(lm, np.int64(lm.backoff_state[state]), words, marked)[0]
    return _distinct(np.array(states))[::-1].copy(), arcs


@kernel
def _saves_backoff(lm: Automaton, state: int, word: int) -> bool:
    """Return whether backing off in spite of an arc could score more later on."""
    arc = find_arc(lm, state, word)
    if arc < 0 or lm.arc_next[arc] < 1 + lm.arc_start[1]:
        return False
    return lm.arc_score[arc] + lm.backoff_score[lm.arc_next[arc]] < lm.backoff_score[state] + lm.arc_score[word]


@kernel
def _first_words(
    lm: Automaton, begin: Int64s, words: Int64s, marked: Bools, base: int, arcs: list[tuple[int, int, float, int]]
) -> tuple[Int64s, int]:
    """Add nodes and arcs up to the first word of a phrase; return the states after it and their first node.

    Nodes from ``base`` on: one for each state in which to begin (the last one is state 0, without paths that back off
    from the others), one for state 0 with all paths, then one for each state after the first word.
    """
    found = [np.int64(1 + word) for word in words]
    for state in begin[:-1]:
        for arc in range(lm.arc_start[state], lm.arc_start[state + 1]):
            if marked[lm.arc_word[arc]]:
                found.append(np.int64(lm.arc_next[arc]))  # noqa: PERF401
    behind = _distinct(np.array(found))[::-1].copy()
    plain, null, first = base + len(begin) - 1, base + len(begin), base + len(begin) + 1
    arcs.append((null, plain, 0.0, 0))
    for i in range(len(begin) - 1):
        state = begin[i]
        for arc in range(lm.arc_start[state], lm.arc_start[state + 1]):
            if marked[lm.arc_word[arc]]:
                arcs.append((first + _position(behind, lm.arc_next[arc]), base + i, lm.arc_score[arc], 0))  # noqa: PERF401
        lower, score = _effective(lm, np.int64(lm.backoff_state[state]), words, marked)
        to = base + _position(begin, lower) if lower > 0 else null
        arcs.append((to, base + i, lm.backoff_score[state] + score, 0))
    for word in words:
        to, excluded = first + _position(behind, 1 + word), False
        for state in begin[:-1]:
            excluded |= state <= lm.arc_start[1] and _saves_backoff(lm, state, word)
        arcs.append((to, plain if excluded else null, lm.arc_score[word], 0))
        if excluded:
            for i in range(len(begin) - 1):
                single = begin[i] <= lm.arc_start[1]
                if single and not _saves_backoff(lm, begin[i], word):
                    arcs.append((to, base + i, lm.backoff_score[begin[i]] + lm.arc_score[word], 0))
    return behind, first


@kernel
def _finish(
    instance: Instance, s: int, behind: Int64s, first: int, ended: Int64s, arcs: list[tuple[int, int, float, int]]
) -> int:
    """Add nodes and arcs from the first word of a phrase at ``s`` to its end; return the number of the next node."""
    lm, n_states = instance.lm, len(instance.lm.last_word)
    node, o, last = first + len(behind), instance.first_option[s], instance.first_option[s + 1]
    while o < last:
        word, single = (
            instance.words[instance.word_start[o]],
            _position(behind, 1 + instance.words[instance.word_start[o]]),
        )
        while (
            o < last
            and instance.words[instance.word_start[o]] == word
            and (instance.word_start[o + 1] - instance.word_start[o] == 1)
        ):
            for i in range(len(behind)):
                if lm.last_word[behind[i]] == word:
                    to = _lower(ended, instance.end[o] * n_states + behind[i])
                    arcs.append((to, first + i, instance.score[o], o + 1))
            o += 1
        several = False
        while o < last and instance.words[instance.word_start[o]] == word:
            second, several = instance.words[instance.word_start[o] + 1], True
            for i in range(single):
                if lm.last_word[behind[i]] == word:
                    arc = find_arc(lm, behind[i], second)
                    if arc >= 0:
                        arcs.append((node, first + i, lm.arc_score[arc], 0))
            score, begin = read_word(lm, np.int64(1 + word), second)
            arcs.append((node, first + single, score, 0))
            while (
                o < last
                and instance.words[instance.word_start[o]] == word
                and (instance.words[instance.word_start[o] + 1] == second)
            ):
                total, state = instance.score[o], begin
                for each in instance.words[instance.word_start[o] + 2 : instance.word_start[o + 1]]:
                    score, state = read_word(lm, state, each)
                    total += score
                to = _lower(ended, instance.end[o] * n_states + state)
                arcs.append((to, node, total, o + 1))
                o += 1
            node += 1
        if several:
            for i in range(single):
                if lm.last_word[behind[i]] == word:
                    arcs.append((first + single, first + i, lm.backoff_score[behind[i]], 0))  # noqa: PERF401
    return node


@kernel
def _make_template(instance: Instance) -> tuple[Int64s, Int32s, Float64s, Int32s, Int64s]:
    """Return the arrays of the template of an instance."""
    lm, ended = instance.lm, _ended_states(instance)
    arcs = [(np.int64(0), np.int64(0), 0.0, np.int64(0)) for _ in range(0)]
    size = np.int64(len(ended))
    for s in range(instance.n_words):
        marked = np.zeros(lm.arc_start[1], np.bool_)
        for o in range(instance.first_option[s], instance.first_option[s + 1]):
            marked[instance.words[instance.word_start[o]]] = True
        words = np.nonzero(marked)[0]
        if len(words) == 0:
            continue
        begin, jumps = _begin_nodes(instance, s, ended, words, marked)
        for node, state, score in jumps:
            arcs.append((size + _position(begin, state), node, score, np.int64(0)))
        behind, first = _first_words(lm, begin, words, marked, size, arcs)
        size = _finish(instance, s, behind, first, ended, arcs)
    start = np.zeros(size + 1, np.int64)
    for arc in arcs:
        start[arc[0] + 1] += 1
    start = np.cumsum(start)
    at = start[:-1].copy()
    source, score = np.empty(len(arcs), np.int32), np.empty(len(arcs))
    option = np.empty(len(arcs), np.int32)
    for arc in arcs:
        k = at[arc[0]]
        source[k], score[k], option[k] = arc[1], arc[2], arc[3]
        at[arc[0]] += 1
    return start, source, score, option, ended


@kernel
def _mark_nodes(instance: Instance, template: Template) -> Int8s:
    """Return marks of the nodes, int8[N + 1, T]: 1 on a path from the start, 2 also on one to the end."""
    start, source, _, option, ended = template
    n_words, size, n_states = instance.n_words, len(start) - 1, len(instance.lm.last_word)
    mark = np.zeros((n_words + 1, size), np.int8)
    mark[0, 0] = 1
    for n in range(n_words + 1):
        for v in range(size if n < n_words else len(ended)):
            for arc in range(start[v], start[v + 1]):
                o = option[arc] - 1
                m = n - (instance.end[o] - instance.start[o]) if o >= 0 else n
                if m >= 0 and mark[m, source[arc]] > 0:
                    mark[n, v] = 1
                    break
    for v in range(len(ended)):
        if mark[n_words, v] > 0 and ended[v] // n_states > 0:
            mark[n_words, v] = 2
    for n in range(n_words, -1, -1):
        for v in range(size - 1, -1, -1):
            if mark[n, v] < 2:
                continue
            for arc in range(start[v], start[v + 1]):
                o = option[arc] - 1
                m = n - (instance.end[o] - instance.start[o]) if o >= 0 else n
                if m >= 0 and mark[m, source[arc]] > 0:
                    mark[m, source[arc]] = 2
    return mark


@kernel
def _expand(instance: Instance, template: Template) -> tuple[Int64s, Int32s, Float64s, Int32s]:
    """Return the arrays of the graph of a template."""
    start, source, score, option, ended = template
    n_words, size, n_states = instance.n_words, len(start) - 1, len(instance.lm.last_word)
    mark = _mark_nodes(instance, template)
    number, nodes, arcs = np.full((n_words + 1, size), -1, np.int32), 0, 0
    for n in range(n_words + 1):
        for v in range(size):
            if mark[n, v] == 2:
                number[n, v] = nodes
                nodes += 1
                arcs += start[v + 1] - start[v]
    arcs += len(ended)
    new_start, new_source = np.zeros(nodes + 2, np.int64), np.empty(arcs, np.int32)
    new_score, new_option = np.empty(arcs), np.empty(arcs, np.int32)
    kept = 0
    for n in range(n_words + 1):
        for v in range(size):
            if mark[n, v] < 2:
                continue
            for arc in range(start[v], start[v + 1]):
                o = option[arc] - 1
                m = n - (instance.end[o] - instance.start[o]) if o >= 0 else n
                if m >= 0 and mark[m, source[arc]] == 2:
                    new_source[kept], new_score[kept] = number[m, source[arc]], score[arc]
                    new_option[kept] = option[arc]
                    kept += 1
            new_start[number[n, v] + 1] = kept
    for v in range(len(ended)):
        if mark[n_words, v] == 2:
            new_source[kept], new_option[kept] = number[n_words, v], 0
            new_score[kept] = read_word(instance.lm, ended[v] % n_states, END)[0]
            kept += 1
    new_start[nodes + 1] = kept
    return new_start, new_source[:kept].copy(), new_score[:kept].copy(), new_option[:kept].copy()


def make_graph(instance: Instance) -> Graph:
    """Return the search graph of all derivations that translate a total of N words.

    Chang and Collins (2011); the tutorial, section 6.4.

    Raises
    ------
    ValueError
        If there is no such derivation.
    """
    graph = Graph(*_expand(instance, Template(*_make_template(instance))))
    if not len(graph.source):
        raise ValueError("no derivation translates all words; phrases for each word are expected")
    return graph
