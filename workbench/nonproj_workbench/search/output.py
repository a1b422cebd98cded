"""The output of a search: sentences as CoNLL-U, a table of the matches, and counts of groups."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.evaluation.scores import paired
from nonproj.io import conll, copies
from nonproj.io.checks import BOM
from nonproj.pictures.content import confidence_of, partial_heads
from nonproj.types import Sentence
from nonproj_workbench.search.attributes import shown
from nonproj_workbench.search.query import Query
from nonproj_workbench.search.syntax import Field
from nonproj_workbench.search.words import SearchedSentence, Tree

COMMENT = "nonproj matches"
"""The comment with the matches of a sentence."""


class Hit(NamedTuple):
    """A sentence with its matches: see `nonproj_workbench.search.query.SentenceMatches`."""

    words: SearchedSentence
    matches: list[tuple[int, ...]]
    complete: bool


def search(query: Query, sentences: Iterable[Sentence], others: Iterable[Sentence] | None = None) -> Iterator[Hit]:
    """Yield every sentence with its matches, which may be none.

    Parameters
    ----------
    query : Query
    sentences : iterable of Sentence
        Words may lack heads.
    others : iterable of Sentence, optional
        Sentences with other trees, to which ``~`` refers.

    Raises
    ------
    DataError
        The words of the two files differ.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> [hit.matches for hit in search(Query("of course"), [from_words(["Of", "course", "not"])])]
    [[(1,)]]
    """
    pairs: Iterable[tuple[Sentence, Sentence | None]]
    pairs = ((sentence, None) for sentence in sentences)
    if others is not None:
        pairs = paired(sentences, (_with_heads(sentence) for sentence in others))
    for sentence, other in pairs:
        tree = Tree(partial_heads(sentence).tolist(), sentence.labels)
        second = None if other is None else Tree(partial_heads(other).tolist(), other.labels)
        words = SearchedSentence(sentence, tree, second, confidence_of(sentence))
        yield Hit(words, *query.find(words))


def _with_heads(sentence: Sentence) -> Sentence:
    """Return a sentence with -1 for missing heads."""
    tree = np.concatenate([[-1], partial_heads(sentence)]).astype(np.int32)
    return dataclasses.replace(sentence, tree=tree)


def lines_with_matches(query: Query, hit: Hit) -> str:
    """Return the lines of a sentence with a comment that names the words of each match, and a blank line.

    Examples
    --------
    >>> import io
    >>> sentence = next(conll.read(io.StringIO("1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n")))
    >>> query = Query("{}=a")
    >>> lines_with_matches(query, next(search(query, [sentence]))).splitlines()[0]
    '# nonproj matches = 1 a=1'
    """
    words, matches = hit.words, [match_text(query.names, match) for match in hit.matches]
    comments = {COMMENT: "; ".join(matches)}
    sentence = copies.as_conllu(words.sentence)
    text = conll.replace(sentence, words.tree.heads[1:], None, comments, deps=conll.KEEP).removeprefix(BOM)
    end = "\r\n" if text.endswith("\r\n") else "\n"
    text = text.lstrip("\r\n")
    return text.rstrip("\r\n") + 2 * end


def match_text(names: Sequence[str], match: Sequence[int]) -> str:
    """Return a match as text: the number of its first word, and those of the named words.

    Examples
    --------
    >>> match_text(["o"], (3, 5))
    '3 o=5'
    """
    return " ".join([str(match[0]), *(f"{name}={word}" for name, word in zip(names, match[1:], strict=True))])


def values(
    names: Sequence[str], fields: Sequence[Field], words: SearchedSentence, match: Sequence[int]
) -> tuple[str, ...]:
    """Return the values of fields in a match.

    Examples
    --------
    >>> from nonproj_workbench.search.syntax import parse_fields
    >>> words = SearchedSentence(Sentence([["1", "Regn", *"______", "_", "_"]]), Tree([0], ["root"]))
    >>> values([], parse_fields("form, deprel, head", []), words, (1,))
    ('Regn', 'root', '0')
    """
    places = {"": match[0], **dict(zip(names, match[1:], strict=True))}
    return tuple(shown(field.attribute, words, places[field.name]) for field in fields)


def table_head(query: Query, fields: Sequence[Field]) -> list[str]:
    """Return the names of the columns of a table of matches."""
    return ["file", "line", "sent_id", "id", *query.names, *(field.text for field in fields)]


def table_rows(query: Query, fields: Sequence[Field], hit: Hit) -> Iterator[list[str]]:
    """Yield the matches in a sentence as rows of a table; see `table_head`."""
    sentence = hit.words.sentence
    for match in hit.matches:
        numbers = [str(word) for word in match]
        found = values(query.names, fields, hit.words, match)
        yield [str(sentence.path), str(sentence.line), hit.words.sent_id, *numbers, *found]


def count_groups(query: Query, fields: Sequence[Field], hits: Iterable[Hit]) -> list[tuple[tuple[str, ...], int]]:
    """Return the number of matches for each combination of values, the most frequent first.

    Examples
    --------
    >>> from nonproj_workbench.search.syntax import parse_fields
    >>> from nonproj.io.objects import from_words
    >>> query = Query("{}")
    >>> count_groups(query, parse_fields("form", []), search(query, [from_words(["a", "b", "a"])]))
    [(('a',), 2), (('b',), 1)]
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for hit in hits:
        counts.update(values(query.names, fields, hit.words, match) for match in hit.matches)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
