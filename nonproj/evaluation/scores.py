"""Evaluation by the conventions of the CoNLL-X shared task (Buchholz & Marsi 2006), and certificate rates.

All metrics are shares of correct words.  An `Evaluation` only collects a row per word; the
metrics are sums over that table, so each is one line that can be compared with its definition.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from operator import eq
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from nonproj.errors import DataError
from nonproj.evaluation.report import evaluation_report
from nonproj.io.columns import UPOS, XPOS
from nonproj.trees.crossing import nonprojective
from nonproj.types import Decoded, Sentence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@functools.lru_cache(maxsize=1 << 16)
def is_punctuation(form: str) -> bool:
    """Return whether all characters of a word are in a Unicode category P (so ``_`` is punctuation, ``$`` is not).

    Examples
    --------
    >>> [is_punctuation(form) for form in ("...", "_", "$", "o'clock", "»")]
    [True, True, False, False, True]
    """
    return all(unicodedata.category(character)[0] == "P" for character in form)


class Evaluation:
    """Collects predicted and gold trees, sentence by sentence, and computes metrics.

    Attributes
    ----------
    seconds : float or None
        Wall-clock time of parsing, if known; set by the caller.
    given : str or None
        Input of the parser, in words, if known; set by the caller.

    Examples
    --------
    >>> gold = Sentence([[str(i), form, "_", "_", "_", "_", "_", label, "_", "_"] for i, form, label in
    ...                  ((1, "Det", "subj"), (2, "regner", "ROOT"), (3, ".", "pnct"))], np.array([-1, 2, 0, 2]))
    >>> evaluation = Evaluation()
    >>> evaluation.add(gold, [2, 0, 1], ["subj", "ROOT", "pnct"])
    >>> evaluation.uas, evaluation.as_dict()["with_punctuation"]["uas"]
    (1.0, 0.6666666666666666)
    """

    def __init__(self) -> None:
        self.seconds: float | None = None
        self.given: str | None = None
        self._sentences: list[dict[str, np.ndarray]] = []
        self._decoded: list[tuple[bool, bool, int]] = []

    def __len__(self) -> int:
        return len(self._sentences)

    def add(
        self, sentence: Sentence, heads: ArrayLike, labels: Iterable[str] | None = None, decoded: Decoded | None = None
    ) -> None:
        """Add one sentence.

        Parameters
        ----------
        sentence : Sentence
            The gold tree and its labels.  In a partial tree, words with the head -1 do not count, no arc counts as
            non-projective, and only the head counts for a word without a label (``_``).
        heads : array_like of int, shape (n,)
            The predicted tree: the head of each word, from 1; 0 is the root.
        labels : iterable of n str, optional
            The predicted labels, for all sentences or for none.
        decoded : Decoded, optional
            The decoder's result, for the certificate rate.

        Raises
        ------
        DataError
            The sentence has no gold heads.
        ValueError
            ``heads`` is not a tree over this sentence, or ``labels`` has the wrong length.
        """
        if sentence.heads is None:
            raise DataError(sentence.path, _line(sentence, 0), "HEAD is absent (_); evaluation needs gold heads")
        heads = np.asarray(heads, dtype=np.int32)
        if heads.shape != (len(sentence),):
            raise ValueError(f"heads has the shape {heads.shape}, {(len(sentence),)} expected")
        columns = _columns(np.asarray(sentence.heads, dtype=np.int32), heads, sentence.rows)
        if labels is not None:
            columns["predicted_label"] = _strings(labels)
            pairs = zip(columns["predicted_label"], columns["gold_label"], strict=True)
            columns["label_correct"] = np.array([label == gold for label, gold in pairs], dtype=bool)
        if not (given := columns["gold"] >= 0).all():
            if labels is not None:
                columns["label_correct"] |= columns["gold_label"] == "_"
            columns = {name: column[given] for name, column in columns.items()}
        if len(self) and columns.keys() != self._sentences[0].keys():
            raise ValueError("labels are given for some sentences but not for others")
        self._sentences.append(columns)
        if decoded is not None:
            self._decoded.append((decoded.agreed, decoded.certified, decoded.iterations))

    @property
    def uas(self) -> float | None:
        """Unlabelled attachment score without punctuation; None if there are no words."""
        return self.as_dict()["without_punctuation"]["uas"]

    @property
    def las(self) -> float | None:
        """Labelled attachment score without punctuation; None without labels or if there are no words."""
        return self.as_dict()["without_punctuation"]["las"]

    def as_dict(self) -> dict[str, Any]:
        """Return all metrics: shares from 0 to 1, or None if there is nothing to count.

        Returns
        -------
        dict
            ``sentences``, ``words``, ``given``, ``without_punctuation`` and ``with_punctuation`` (the same figures over
            different words), ``certificates`` and ``speed`` (None where unknown).  Only ``given`` is a string.
        """
        words = self.words()
        certificates = None
        if self._decoded:
            agreed, certified, iterations = np.array(self._decoded, dtype=np.float64).T
            certificates = {
                "sentences": len(self._decoded),
                "agreed": float(agreed.mean()),
                "certified": float(certified.mean()),
                "mean_iterations": float(iterations.mean()),
            }
        speed = None
        if self.seconds:
            per_second = {"words_per_second": len(words["gold"]), "sentences_per_second": len(self)}
            speed = {"seconds": self.seconds} | {name: count / self.seconds for name, count in per_second.items()}
        return {
            "sentences": len(self),
            "words": len(words["gold"]),
            "given": self.given,
            "without_punctuation": _figures(words, ~words["punctuation"]),
            "with_punctuation": _figures(words, np.ones_like(words["punctuation"])),
            "certificates": certificates,
            "speed": speed,
        }

    def table(self) -> str:
        """Return the metrics as plain text, in per cent."""
        return evaluation_report(self.as_dict())

    def words(self) -> dict[str, Any]:
        """Return the columns of the table of words, over which all metrics are sums.

        Returns
        -------
        dict of str to ndarray
            ``sentence`` (from 0) and its ``length``; ``gold`` and ``predicted`` heads, their ``gold_distance`` and
            ``predicted_distance``, ``gold_nonprojective`` and ``predicted_nonprojective``; ``punctuation``; the coarse
            ``tag`` (CPOSTAG or UPOS); whether the head is ``correct``; ``gold_label``, ``predicted_label`` and
            ``label_correct`` (the last two None without predicted labels).
        """
        none = np.zeros(0, dtype=np.int32)
        sentences = self._sentences or [_columns(none, none, [])]
        lengths = [len(columns["gold"]) for columns in sentences]
        words = {name: np.concatenate([columns[name] for columns in sentences]) for name in sentences[0]}
        words["sentence"] = np.repeat(np.arange(len(lengths)), lengths)
        words["length"] = np.repeat(lengths, lengths)
        return {"predicted_label": None, "label_correct": None} | words


def _strings(strings: Iterable[str]) -> np.ndarray:
    """Return strings as an array of objects, each string once in memory."""
    return np.array([sys.intern(string) for string in strings], dtype=object)


def _columns(gold: np.ndarray, predicted: np.ndarray, rows: list[list[str]]) -> dict[str, np.ndarray]:
    """Return the columns of the words of one sentence."""
    columns = {"punctuation": np.array([is_punctuation(row[1]) for row in rows], dtype=bool)}
    columns |= {name: _strings(row[column] for row in rows) for name, column in (("tag", 3), ("gold_label", 7))}
    position = np.arange(1, len(gold) + 1)
    for name, heads in (("gold", gold), ("predicted", predicted)):
        columns[name] = heads
        columns[f"{name}_distance"] = np.where(heads == 0, 0, abs(position - heads))
        partial = (heads < 0).any()
        columns[f"{name}_nonprojective"] = np.zeros(len(heads), np.bool_) if partial else nonprojective(heads)
    return columns | {"correct": gold == predicted}


def _figures(words: dict[str, Any], counted: np.ndarray) -> dict[str, Any]:
    """Return the metrics over the counted words."""
    words = {name: column if column is None else column[counted] for name, column in words.items()}
    correct, label = words["correct"], words["label_correct"]
    both = None if label is None else correct & label
    return {
        "words": len(correct),
        "uas": share_of(correct),
        "las": share_of(both),
        "label_accuracy": share_of(label),
        "complete": _complete(words["sentence"], correct),
        "complete_labelled": _complete(words["sentence"], both),
        "root_accuracy": share_of(correct[words["gold"] == 0]),
        "nonprojective": _precision_recall(correct, words["gold_nonprojective"], words["predicted_nonprojective"]),
    }


def share_of(flags: np.ndarray | None) -> float | None:
    """Return the share of true flags; None if there are no flags."""
    return None if flags is None or not len(flags) else float(flags.mean())


def _complete(sentence: np.ndarray, correct: np.ndarray | None) -> float | None:
    """Return the share of sentences whose counted words are all correct, among those with any."""
    if correct is None or not len(correct):
        return None
    return 1.0 - len(np.unique(sentence[~correct])) / len(np.unique(sentence))


def _precision_recall(correct: np.ndarray, in_gold: np.ndarray, in_predicted: np.ndarray) -> dict[str, Any]:
    """Return the numbers of arcs of one kind in the gold trees, in the predicted trees and in both, and their ratios.

    An arc in both trees may be of this kind in only one, because the other arcs decide whether it is non-projective.
    So the share of the predicted ones with the right head, ``right_head``, may exceed the precision.
    """
    common = correct & in_gold & in_predicted
    counts = {name: int(flags.sum()) for name, flags in (("gold", in_gold), ("predicted", in_predicted))}
    return counts | {
        "common": int(common.sum()),
        "right_head": share_of(correct[in_predicted]),
        "precision": share_of(common[in_predicted]),
        "recall": share_of(common[in_gold]),
        "f1": 2 * int(common.sum()) / sum(counts.values()) if any(counts.values()) else None,
    }


def evaluate(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> Evaluation:
    """Compare the sentences of a parsed file with those of a gold file.

    Parameters
    ----------
    gold, predicted : iterable of Sentence
        The treebank, and the output of a parser.

    Raises
    ------
    DataError
        The files have different words, or a head is absent.

    Examples
    --------
    >>> gold = [Sentence([["1", "Regn", "_", "_", "_", "_", "0", "ROOT", "_", "_"]], np.array([-1, 0]))]
    >>> evaluate(gold, gold).las
    1.0
    """
    evaluation, same, words = Evaluation(), 0, 0
    for expected, found in paired(gold, predicted):
        assert found.heads is not None, "`paired` has checked this"
        evaluation.add(expected, found.heads, found.labels)
        tags = ([row[UPOS : XPOS + 1] for row in sentence.rows] for sentence in (expected, found))
        same, words = same + sum(map(eq, *tags)), words + len(expected)
    what = "words, sentences and tags" if same == words else "words and sentences"
    rest = "" if same == words else f", and {100 * same / words:.2f} % of the tags"
    evaluation.given = f"{what} as in the gold file{rest}"
    return evaluation


def paired(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> Iterator[tuple[Sentence, Sentence]]:
    """Yield the sentences of two files in pairs; raise `DataError` if words differ or the second has no tree."""
    last = None
    for count, (expected, found) in enumerate(zip_longest(gold, predicted)):
        if expected is None or found is None:
            _raise_shorter(last, expected, found, count)
        _check_same_words(expected, found)
        yield expected, found
        last = expected, found


_HINT = "'nonproj evaluate --ud' compares files whose tokens differ"


def _line(sentence: Sentence, word: int) -> int:
    """Return the line of a word (counted from 0, or -1 for the last) in the sentence's file."""
    return sentence.line + (sentence.word_lines[word] if sentence.word_lines else 0)


def _raise_shorter(
    last: tuple[Sentence, Sentence] | None, gold: Sentence | None, predicted: Sentence | None, count: int
) -> NoReturn:
    """Raise the error for a file that ends before the other."""
    longer = predicted if gold is None else gold
    ended = longer if last is None else last[0] if gold is None else last[1]
    assert longer is not None and ended is not None, "one of the two files is longer"
    message = f"the sentences end here, after {count}, but continue in {longer.path}:{_line(longer, 0)}"
    raise DataError(ended.path, _line(ended, -1), message)


def _check_same_words(gold: Sentence, predicted: Sentence) -> None:
    """Raise unless the predicted sentence has the words of the gold sentence, and a tree."""
    for i, (expected, found) in enumerate(zip(gold.forms, predicted.forms, strict=False)):
        if expected != found:
            place = f"{gold.path}:{_line(gold, i)}"
            message = f"FORM is {found!r}, but {expected!r} in {place}; {_HINT}"
            raise DataError(predicted.path, _line(predicted, i), message)
    if len(gold) != len(predicted):
        place = f"{gold.path}:{_line(gold, 0)}"
        message = f"a sentence of {len(predicted)} words, but of {len(gold)} in {place}; {_HINT}"
        raise DataError(predicted.path, _line(predicted, 0), message)
    if predicted.heads is None:
        raise DataError(predicted.path, _line(predicted, 0), "HEAD is absent (_); evaluation needs a tree")
