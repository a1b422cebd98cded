"""Comparison of input with a model's training data: tags, script and language.

Only the model's vocabularies are needed, which list tags and forms by decreasing frequency.  The frequency of a form in
training is estimated from its rank, by Zipf's law.  In a text of the same language, whatever its domain, function words
are about as frequent; in one of another language, the two distributions hardly overlap.
"""

from __future__ import annotations

import logging
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from nonproj.errors import one_line
from nonproj.evaluation.card import record
from nonproj.io.columns import UPOS, XPOS
from nonproj.model.model import Model
from nonproj.types import Sentence

UNKNOWN_TAGS = 0.2
"""Share of unknown tags above which they are reported: a small treebank lacks some tags of its closed class."""

UNKNOWN_LETTERS = 0.3
"""Share of letters in unknown scripts above which they are reported: names may be in any script."""

OVERLAP = 0.05
"""Minimum overlap of the distributions of words for an input to count as of the model's language.

With 38 treebanks, of which 100 sentences or more are known, it is 0.11 to 0.6 for other files of the same language.
For half of the pairs of languages it is below 0.001, for nine of ten below 0.04; related languages have up to 0.26.
"""

LEAST_FORMS, LEAST_WORDS, LEAST_LETTERS, LEAST_TAGS = 500, 150, 50, 20
"""Minimum numbers of a model's forms, and of words, letters and tags of an input, for a judgement about them."""

MOST_WORDS = 3000
"""Number of words that are inspected."""

_RARE_SCRIPT = 0.002
"""Share of the letters of a model's forms below which a script is unknown, as that of quotations and names."""

_SHOWN = 3

_JUDGED_AT = (10, 50, 200, 800, MOST_WORDS)
"""Numbers of words after which a `FitCheck` judges: a few show the script, many are needed for the language."""

log = logging.getLogger("nonproj")


def misfit_of(model: Model, sentences: Sequence[Sentence], tags: str = "missing") -> tuple[list[str], bool]:
    """Return the reasons why sentences do not fit a model, in words, and whether these are unknown tags alone.

    The model's tagger could replace these tags.

    Parameters
    ----------
    model : Model
    sentences : sequence of Sentence
        The first ones of an input; a few thousand words suffice.
    tags : {"missing", "all", "none"}
        Tags that the model predicts: see `nonproj.pipeline.parser.Parser`.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> model = Model.load("danish.nonproj")  # doctest: +SKIP
    >>> misfit_of(model, [from_words(["Здравствуйте", "!"])] * 10)  # doctest: +SKIP
    (['100 % of the letters are in a script that it has not learnt from (Cyrillic)'], False)
    """
    unknown_tags = "" if tags == "all" else _unknown_tags(model, sentences)
    forms = model.vocabularies.get("form") or model.vocabularies.get("lower") or []
    words = [row[1] for sentence in sentences for row in sentence.rows]
    other = _unknown_script(forms, words) or _other_language(forms, words)
    return list(filter(None, (unknown_tags, other))), bool(unknown_tags) and not other


def misfit_warning(model: Model, name: str, sentences: Sequence[Sentence], tags: str, remedy: str = "") -> str:
    """Return a line with the reasons why sentences do not fit a model, and advice; empty if they fit.

    Parameters
    ----------
    model : Model
    name : str
        Name of the input.
    sentences, tags
        As for `misfit_of`.
    remedy : str
        The option with which all tags are predicted, if the caller has one.
    """
    reasons, only_tags = misfit_of(model, sentences, tags)
    if not reasons:
        return ""
    if not only_tags:
        language = record(model.meta, "data").get("language")
        advice = f"it is a model of the language {language}" if language else "is it a model of this language?"
    elif "tagger" in model.components and remedy:
        advice = f"{remedy} predicts all tags"
    else:
        advice = "it needs the tags of its own treebank"
    return one_line(f"{name} does not fit the model: {', and '.join(reasons)}; {advice}")


def first_sentences(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Return the first sentences, up to the number of words that is inspected."""
    found, words = [], 0
    for sentence in sentences:
        found.append(sentence)
        words += len(sentence)
        if words >= MOST_WORDS:
            break
    return found


class FitCheck:
    """Warns in the log, once, if the sentences that a program parses do not fit its model.

    Parameters
    ----------
    model : Model
    tags : {"missing", "all", "none"}
        Tags that the model predicts.

    Attributes
    ----------
    due : list of int
        Numbers of words after which the sentences will be judged; empty at the end.
    """

    def __init__(self, model: Model, tags: str = "missing"):
        self._model, self._tags = model, tags
        self._seen, self._words, self.due = list[Sentence](), 0, list(_JUDGED_AT)

    def over(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield sentences, and judge the first ones over all calls."""
        for sentence in sentences:
            if due := self.due:  # which another thread may change
                self._add(sentence, due[0])
            yield sentence

    def _add(self, sentence: Sentence, due: int) -> None:
        """Judge the sentences so far, if they have enough words."""
        self._seen.append(sentence)
        self._words += len(sentence.rows)
        if self._words < due:
            return
        self.due = [number for number in self.due if number > self._words]
        if text := misfit_warning(self._model, "the input", self._seen, self._tags, 'tags="all"'):
            self.due = []
            log.warning(text)
        if not self.due:
            self._seen = []


def _unknown_tags(model: Model, sentences: Iterable[Sentence]) -> str:
    """Return a reason if too many tags of a column are unknown; an empty string otherwise."""
    rows = [row for sentence in sentences for row in sentence.rows]
    for column, known in _known_tags(model).items():
        given = Counter(row[column] for row in rows if row[column] != "_")
        unknown = given - Counter(dict.fromkeys(set(known) & set(given), given.total()))
        if given.total() >= LEAST_TAGS and unknown.total() > UNKNOWN_TAGS * given.total():
            share, names = 100 * unknown.total() / given.total(), [tag for tag, _ in unknown.most_common()]
            return f"{share:.0f} % of the tags ({_some(names)}) are unknown to it, which knows {_some(known)}"
    return ""


def _known_tags(model: Model) -> dict[int, list[str]]:
    """Return the tags that a model knows, by column: UPOS, XPOS or both, as the model uses them."""
    coarse, fine = (model.vocabularies.get(name) for name in ("cpos", "pos"))
    if model.meta.get("coarse_tags"):
        coarse, fine = coarse or fine, None
    return {column: known for column, known in ((XPOS, fine), (UPOS, coarse)) if known}


def _some(names: Sequence[str]) -> str:
    """Return the first few names, in words."""
    return ", ".join([*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])])


def _unknown_script(forms: Iterable[str], words: Iterable[str]) -> str:
    """Return a reason if too many letters are in unknown scripts; an empty string otherwise."""
    known, given = _scripts(forms), _scripts(words)
    unknown = Counter({name: n for name, n in given.items() if known[name] < _RARE_SCRIPT * known.total()})
    if given.total() < LEAST_LETTERS or not known or unknown.total() <= UNKNOWN_LETTERS * given.total():
        return ""
    share, names = 100 * unknown.total() / given.total(), [name for name, _ in unknown.most_common()]
    return f"{share:.0f} % of the letters are in a script that it has not learnt from ({_some(names)})"


def _scripts(words: Iterable[str]) -> Counter[str]:
    """Return the number of letters in each script, by the names of the characters."""
    found: Counter[str] = Counter()
    for character, count in Counter("".join(words)).items():
        if character.isalpha():
            name = unicodedata.name(unicodedata.normalize("NFKC", character)[0], "")
            found[name.partition(" ")[0].capitalize()] += count
    return found


def _other_language(forms: Iterable[str], words: Iterable[str]) -> str:
    """Return a reason if the frequent words are not those of the model; an empty string otherwise."""
    given = Counter(_letter_words(words))
    if given.total() < LEAST_WORDS:
        return ""
    ranks = {form: rank for rank, form in enumerate(dict.fromkeys(_letter_words(forms)))}
    if len(ranks) < LEAST_FORMS or overlap(ranks, given) >= OVERLAP:
        return ""
    names = [word for word, _ in given.most_common()]
    return f"the frequent words ({_some(names)}) are rare in what it has learnt from ({_some(list(ranks))})"


def _letter_words(words: Iterable[str]) -> Iterable[str]:
    """Return the words with letters, in lower case."""
    return (word.lower() for word in words if any(map(str.isalpha, word)))


def overlap(ranks: dict[str, int], given: Counter[str]) -> float:
    """Return the overlap of two distributions of words, from 0 to 1: one by ranks, the other by counts.

    Examples
    --------
    >>> ranks = {"the": 0, "of": 1, "cat": 2}
    >>> round(overlap(ranks, Counter({"the": 5, "of": 3, "dog": 2})), 2), overlap(ranks, Counter(der=5, von=3))
    (0.73, 0.0)
    """
    total, words = sum(1 / (rank + _OFFSET) for rank in range(len(ranks))), given.total()
    shares = ((count / words, ranks[word]) for word, count in given.items() if word in ranks)
    return float(sum(min(share, 1 / (rank + _OFFSET) / total) for share, rank in shares))


_OFFSET = 2.7
"""Offset of the ranks in Zipf's law, after Mandelbrot."""
