"""Agreement of two annotators: shares, Cohen's kappa, and the labels that they confuse."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from nonproj.io.columns import DEPREL, FEATS, FORM, HEAD, LEMMA, UPOS, XPOS
from nonproj_workbench.annotation.decisions import decisions_of
from nonproj_workbench.annotation.draft import COLUMNS, Draft

MOST_CONFUSED = 20
"""Maximum number of listed pairs of labels."""


def agreement(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    r"""Return the agreement of two annotators on the words that both have decided.

    Parameters
    ----------
    pairs : iterable of (str, str)
        The lines of each sentence by the first and by the second annotator.  A sentence without the comment
        ``# annotation`` counts as decided; one whose words differ is left out.

    Returns
    -------
    dict
        Numbers of compared ``sentences`` and ``words``, ``sentences_left_out``, ``words_left_out``; for ``heads``,
        ``labels``, ``heads and labels`` and the columns of tags, the share on which both agree and Cohen's kappa
        (1960), None if it is undefined; ``disagreements``, the labels that differ most often, with their counts.  The
        categories of heads are their signed distances from the word, and the root.

    Examples
    --------
    >>> rows = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n2\tb\t_\t{}\t_\t_\t1\tx\t_\t_\n\n"
    >>> found = agreement([(rows.format("X"), rows.format("Y"))])
    >>> found["heads"], found["upos"]
    ({'agreement': 1.0, 'kappa': 1.0}, {'agreement': 0.5, 'kappa': 0.0})
    """
    counts: Counter[str] = Counter()
    words: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for first, second in pairs:
        drafts = Draft.of(first), Draft.of(second)
        counts["all"] += len(drafts[0].places)
        if forms_of(drafts[0]) != forms_of(drafts[1]):
            counts["sentences_left_out"] += 1
            continue
        found = _decided_words(*drafts)
        counts["sentences"] += 1
        words += found
    result: dict[str, Any] = {"sentences": counts["sentences"], "words": len(words)}
    result |= {"sentences_left_out": counts["sentences_left_out"], "words_left_out": counts["all"] - len(words)}
    names = ("heads", "labels", "lemma", "upos", "xpos", "feats")
    columns = {name: [(a[i], b[i]) for a, b in words] for i, name in enumerate(names)}
    columns["heads and labels"] = [("\t".join(a[:2]), "\t".join(b[:2])) for a, b in words]
    for name in ("heads", "labels", "heads and labels", *names[2:]):
        if any(value != "_" for pair in columns[name] for value in pair):
            result[name] = coefficients(columns[name])
    confused = Counter(pair for pair in columns["labels"] if pair[0] != pair[1])
    result["disagreements"] = [[*pair, count] for pair, count in confused.most_common(MOST_CONFUSED)]
    return result


def _decided_words(first: Draft, second: Draft) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return pairs of (distance of the head, label, tags), one for each word that both have decided."""
    decided = decisions_of(first, "all").heads.keys() & decisions_of(second, "all").heads.keys()
    found = []
    for word, (a, b) in enumerate(zip(first.words, second.words, strict=True), 1):
        if word in decided:
            found.append((_values(a, word), _values(b, word)))
    return found


def _values(row: Sequence[str], word: int) -> tuple[str, ...]:
    head = row[HEAD]
    distance = head if head in ("0", "_") else f"{int(head) - word:+d}"
    return distance, row[DEPREL], row[LEMMA], row[UPOS], row[XPOS], row[FEATS]


def coefficients(pairs: Sequence[tuple[str, str]]) -> dict[str, float | None]:
    """Return the share of equal pairs and Cohen's kappa, None where it is undefined: for no or a single category.

    Examples
    --------
    >>> coefficients([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")])
    {'agreement': 0.75, 'kappa': 0.5}
    """
    if not pairs:
        return {"agreement": None, "kappa": None}
    from sklearn.metrics import cohen_kappa_score

    first, second = zip(*pairs, strict=True)
    kappa = float(cohen_kappa_score(first, second)) if len({*first, *second}) > 1 else math.nan
    equal = sum(a == b for a, b in pairs) / len(pairs)
    return {"agreement": equal, "kappa": None if math.isnan(kappa) else kappa}


def forms_of(draft: Draft) -> list[str]:
    """Return the forms of the words of a draft."""
    return [row[FORM] for row in draft.words]


def differences(first: Draft, second: Draft) -> list[tuple[int, str]]:
    """Return the words and columns, except MISC, in which two drafts of the same words differ.

    Examples
    --------
    >>> a, b = (Draft.of(f"1\\ta\\t_\\t{tag}\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n") for tag in "XY")
    >>> differences(a, b)
    [(1, 'upos')]
    """
    found = []
    for word, (a, b) in enumerate(zip(first.words, second.words, strict=True), 1):
        found += [(word, name) for i, name in enumerate(COLUMNS[:9]) if i >= LEMMA and a[i] != b[i]]
    return found
