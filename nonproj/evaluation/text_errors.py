"""Errors of parsed text by kind: sentence boundaries, words, tags, features, lemmas, heads and labels.

Words, sentences and trees may differ from the gold standard.  Words are aligned, and columns compared, as by the
official evaluation of the CoNLL 2018 shared task (Zeman et al. 2018): FEATS without features outside of a given set,
DEPREL without subtypes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nonproj.evaluation.alignment import WordSpans, align, partners, text_heads
from nonproj.evaluation.errors import MakeRow, by_string, confusions
from nonproj.evaluation.scores import share_of
from nonproj.io.copies import surface_tokens
from nonproj.text.graphemes import JOINER, LINKER, MARK, grapheme_class
from nonproj.types import Sentence

METRICS = ("upos", "xpos", "ufeats", "lemmas", "uas", "las")
"""The columns that are compared for aligned words."""

CAUSES = (
    "word not found",
    "word of the head not found",
    "sentence boundary",
    "tag of the word or its head",
    "head only",
    "label only",
)
"""Causes of a wrong head or label: the first that applies, so each word is counted once."""

SEGMENTATION = (
    "token split",
    "tokens joined",
    "other token boundaries",
    "multiword token not expanded",
    "multiword token expanded differently",
    "word expanded",
)
"""The kinds of differences between the gold tokens and the predicted tokens of the same characters."""

_LETTER = "a letter or digit"


class _Token(NamedTuple):
    """A token: the end of its characters; its form, with its words if it is a multiword token; whether it is one."""

    end: int
    shown: str
    expanded: bool


class _Text(NamedTuple):
    """The words of a text: their columns, features and labels as compared, heads and sentences by index; tokens."""

    words: WordSpans
    rows: list[list[str]]
    features: list[frozenset[str]]
    labels: list[str]
    heads: np.ndarray
    sentence: np.ndarray
    tokens: list[_Token]


class _Comparison(NamedTuple):
    """Alignment of predicted and gold words, both ways: -1 for none, the root last.

    For each gold word, ``correct`` has whether each column is correct, and ``found`` whether its sentence was found.
    """

    text: _Text
    partner: np.ndarray
    back: np.ndarray
    correct: Mapping[str, np.ndarray]
    found: np.ndarray


def text_errors(
    gold: Sequence[Sentence],
    systems: Sequence[Sequence[Sentence]],
    known: Collection[str] | None = None,
    features: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the errors of parsed texts by kind, of one parser or of several side by side.

    Parameters
    ----------
    gold : sequence of Sentence
        With gold heads.
    systems : sequence of sequence of Sentence
        Parsed sentences of the same text, of each parser.
    known : collection of str, optional
        The words of the training file; others are unknown words.
    features : collection of str, optional
        The features that are compared, such as ``Case``; by default all.

    Returns
    -------
    dict
        ``words``, the number of gold words; ``tables``, lists of rows with a ``name``; ``confusions`` of ``words``
        (tokens with their expansions), ``tag``, ``lemma`` and ``label``, each with its ``gold`` and
        ``predicted`` values and ``counts``, the most frequent first.  All other lists have an element for each system.
        The tables:

        - ``cause``: words without the correct head and label, by `CAUSES`: ``counts``.
        - ``sentence``: sentence boundaries within the text, by the last character before them: the number of ``gold``
          boundaries, of ``missed`` and of ``wrong`` ones.
        - ``word``: differences in tokens and their words, by `SEGMENTATION`: ``counts``.
        - ``known`` (all, known and unknown words), ``tag`` and ``label``: the number of ``gold`` words, that of
          ``aligned`` words, and the share of the aligned words for which each of `METRICS` is correct.
        - ``feature``: ``gold``, ``missing``, ``wrong`` (another value) and ``superfluous`` features of aligned words.

    Raises
    ------
    DataError
        The characters of two texts differ, or a sentence has no heads.

    Examples
    --------
    >>> import io
    >>> from nonproj.io import conll
    >>> row = "{}\\t{}\\t_\\t{}\\t_\\t_\\t{}\\tdep\\t_\\t_\\n"
    >>> gold = row.format(1, "Det", "PRON", 2) + row.format(2, "regner", "VERB", 0) + "\\n"
    >>> texts = [list(conll.read(io.StringIO(text))) for text in (gold, gold.replace("PRON", "DET"))]
    >>> errors = text_errors(texts[0], texts[1:])
    >>> errors["confusions"]["tag"]
    [{'gold': 'PRON', 'predicted': 'DET', 'counts': [1]}]
    """
    first = _text(gold, align(gold, gold)[0], features)
    compared = [_compare(gold, first, system, features) for system in systems]
    causes = [_causes(first, each) for each in compared]
    places = [list(_differences(first.tokens, each.text.tokens)) for each in compared]
    make_row = partial(_accuracy, compared)
    tables = {
        "cause": _counted(CAUSES, causes),
        "sentence": _boundaries(first, compared),
        "word": _counted(SEGMENTATION, [[kind for kind, _, _ in each] for each in places]),
        "known": _by_familiarity(first, known, make_row),
        "tag": by_string(np.array([row[3] for row in first.rows], object), make_row),
        "feature": _features(first, compared),
        "label": by_string(np.array(first.labels, object), make_row),
    }
    confused = {
        "words": confusions([[pair for _, *pair in each] for each in places]),
        "tag": _confused(first, compared, lambda text, word: text.rows[word][3]),
        "lemma": _confused(first, compared, lambda text, word: text.rows[word][2], "lemmas"),
        "label": _confused(first, compared, lambda text, word: text.labels[word]),
    }
    return {"words": len(first.rows), "tables": tables, "confusions": confused}


# -- comparison --------------------------------------------------------------------------------------------------------


def _compare(
    gold: Sequence[Sentence], expected: _Text, system: Sequence[Sentence], features: Collection[str] | None
) -> _Comparison:
    """Compare a text with the gold standard."""
    theirs, ours, pairs = align(gold, system)
    found = _text(system, ours, features)
    partner, back = partners(theirs, ours, pairs)
    correct = {metric: np.zeros(len(expected.rows), np.bool_) for metric in METRICS}
    for g, s in pairs:
        mine, other = expected.rows[g], found.rows[s]
        correct["upos"][g], correct["xpos"][g] = mine[3] == other[3], mine[4] == other[4]
        correct["ufeats"][g] = expected.features[g] == found.features[s]
        correct["lemmas"][g] = mine[2] in ("_", other[2])
        correct["uas"][g] = back[found.heads[s]] == expected.heads[g]
        correct["las"][g] = correct["uas"][g] and expected.labels[g] == found.labels[s]
    spans = set(ours.spans)
    whole = np.array([span in spans for span in theirs.spans], np.bool_)
    return _Comparison(found, partner, back, correct, whole[expected.sentence])


def _text(sentences: Sequence[Sentence], words: WordSpans, features: Collection[str] | None) -> _Text:
    """Return the words and tokens of a text."""
    rows = [row for sentence in sentences for row in sentence.rows]
    numbers = np.repeat(np.arange(len(sentences)), np.diff(words.first))
    tokens, position = [], 0
    for sentence in sentences:
        row = 0
        for form, _, count in surface_tokens(sentence):
            forms = [each[1] for each in sentence.rows[row : row + count]]
            shown = form if count == 1 else f"{form} = {' + '.join(forms)}"
            tokens.append(_Token(words.end[position], shown, count > 1))
            row, position = row + count, position + count
    kept = [frozenset(each for each in row[5].split("|") if _kept(each, features)) for row in rows]
    labels = [row[7].partition(":")[0] for row in rows]
    return _Text(words, rows, kept, labels, text_heads(sentences, words), numbers, tokens)


def _kept(feature: str, features: Collection[str] | None) -> bool:
    """Return whether a feature with its value is compared."""
    return feature != "_" and (features is None or feature.partition("=")[0] in features)


# -- tables ------------------------------------------------------------------------------------------------------------


def _causes(gold: _Text, compared: _Comparison) -> list[str]:
    """Return the cause, of `CAUSES`, of each word without the correct head and label."""
    system, partner, back = compared.text, compared.partner, compared.back
    tagged = np.append(compared.correct["upos"], True)
    causes = []
    for g in np.flatnonzero(~compared.correct["las"]).tolist():
        s, head = int(partner[g]), int(gold.heads[g])
        if s < 0 or partner[head] < 0:
            causes.append(CAUSES[0 if s < 0 else 1])
        elif not compared.correct["uas"][g] and not compared.found[g] and _apart(gold, system, g, s, partner, back):
            causes.append(CAUSES[2])
        elif not (tagged[g] and tagged[head]):
            causes.append(CAUSES[3])
        else:
            causes.append(CAUSES[5 if compared.correct["uas"][g] else 4])
    return causes


def _apart(gold: _Text, system: _Text, g: int, s: int, partner: np.ndarray, back: np.ndarray) -> bool:
    """Return whether the gold or predicted head of a word is the root, or in another sentence on the other side."""
    expected, found = gold.heads[g], system.heads[s]
    if expected == len(gold.rows) or found == len(system.rows):
        return True
    across = back[found] >= 0 and gold.sentence[back[found]] != gold.sentence[g]
    return bool(across or system.sentence[partner[expected]] != system.sentence[s])


def _boundaries(gold: _Text, compared: Sequence[_Comparison]) -> list[dict[str, Any]]:
    """Return the gold, missed and wrong sentence boundaries by the last character before them."""
    characters = gold.words.characters

    def named(places: Iterable[int]) -> Counter[str]:
        return Counter(_last(characters, place) for place in places)

    def inner(text: _Text) -> set[int]:
        return {end for _, end in text.words.spans} - {0, len(characters)}

    expected = inner(gold)
    missed = [named(expected - inner(each.text)) for each in compared]
    wrong = [named(inner(each.text) - expected) for each in compared]
    counts = named(expected)
    errors = sum(wrong, Counter[str]())
    names = sorted(counts.keys() | errors.keys(), key=lambda name: (-counts[name], -errors[name], name))
    return [
        {"name": name, "gold": counts[name]}
        | {kind: [each[name] for each in found] for kind, found in (("missed", missed), ("wrong", wrong))}
        for name in names
    ]


def _last(characters: str, place: int) -> str:
    """Return the last character before a place, without its marks; letters and digits have one name."""
    while place > 1 and grapheme_class(characters[place - 1]) in (MARK, LINKER, JOINER):
        place -= 1
    return _LETTER if characters[place - 1].isalnum() else characters[place - 1]


def _differences(gold: Sequence[_Token], system: Sequence[_Token]) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, of `SEGMENTATION`, of each difference between tokens, and the tokens on both sides."""
    g = s = 0
    while g < len(gold) and s < len(system):
        a, b = g, s
        g, s = g + 1, s + 1
        while gold[g - 1].end != system[s - 1].end:  # to the next place where tokens end on both sides
            if gold[g - 1].end < system[s - 1].end:
                g += 1
            else:
                s += 1
        mine, other = (" | ".join(token.shown for token in tokens) for tokens in (gold[a:g], system[b:s]))
        if g - a > 1 or s - b > 1:
            yield SEGMENTATION[0 if g - a == 1 else 1 if s - b == 1 else 2], mine, other
        elif gold[a].expanded and system[b].expanded:
            if mine.lower() != other.lower():
                yield SEGMENTATION[4], mine, other
        elif gold[a].expanded or system[b].expanded:
            yield SEGMENTATION[3 if gold[a].expanded else 5], mine, other


def _by_familiarity(gold: _Text, known: Collection[str] | None, make_row: MakeRow) -> list[dict[str, Any]]:
    """Return the accuracy of all words, and of known and unknown ones where the known words are given."""
    rows = [make_row("all words", np.ones(len(gold.rows), np.bool_))]
    if known is not None:
        seen = np.array([row[1] in known for row in gold.rows], np.bool_)
        rows += [make_row("known words", seen), make_row("unknown words", ~seen)]
    return rows


def _accuracy(compared: Sequence[_Comparison], name: str, chosen: np.ndarray) -> dict[str, Any]:
    """Return the number of the chosen gold words, and the accuracy over the aligned ones."""
    aligned = [chosen & (each.partner[:-1] >= 0) for each in compared]
    row: dict[str, Any] = {"name": name, "gold": int(chosen.sum()), "aligned": [int(each.sum()) for each in aligned]}
    for metric in METRICS:
        row[metric] = [share_of(each.correct[metric][here]) for each, here in zip(compared, aligned, strict=True)]
    return row


def _features(gold: _Text, compared: Sequence[_Comparison]) -> list[dict[str, Any]]:
    """Return the missing, wrong and superfluous features of aligned words by attribute, the most errors first."""
    kinds = ("missing", "wrong", "superfluous")
    counts = {kind: [Counter[str]() for _ in compared] for kind in kinds}
    for number, each in enumerate(compared):
        for g in np.flatnonzero((each.partner[:-1] >= 0) & ~each.correct["ufeats"]):
            mine, other = (_attributes(text.features[w]) for text, w in ((gold, g), (each.text, each.partner[g])))
            for name in mine.keys() | other.keys():
                if mine.get(name) != other.get(name):
                    kind = "superfluous" if name not in mine else "wrong" if name in other else "missing"
                    counts[kind][number][name] += 1
    total = Counter(name for features in gold.features for name in _attributes(features))
    errors = sum((each for kind in kinds for each in counts[kind]), Counter[str]())
    return [
        {"name": name, "gold": total[name]} | {kind: [each[name] for each in counts[kind]] for kind in kinds}
        for name in sorted(total.keys() | errors.keys(), key=lambda name: (-errors[name], -total[name], name))
    ]


def _attributes(features: Iterable[str]) -> dict[str, str]:
    """Return the values of features by attribute."""
    return {name: value for name, _, value in (each.partition("=") for each in features)}


def _counted(names: Sequence[str], found: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Return the count of each name."""
    counts = [Counter(each) for each in found]
    return [{"name": name, "counts": [each[name] for each in counts]} for name in names]


def _confused(
    gold: _Text, compared: Sequence[_Comparison], value: Callable[[_Text, int], str], metric: str = ""
) -> list[dict[str, Any]]:
    """Return the counts of gold and differing predicted values of a column, over aligned words wrong by ``metric``."""
    pairs = []
    for each in compared:
        words = each.partner[:-1] >= 0
        chosen = np.flatnonzero(words & ~each.correct[metric]) if metric else np.flatnonzero(words)
        found = [(value(gold, g), value(each.text, int(each.partner[g]))) for g in chosen.tolist()]
        pairs.append([pair for pair in found if pair[0] != pair[1]])
    return confusions(pairs)
