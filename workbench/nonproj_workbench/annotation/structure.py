"""Splitting and joining words and sentences, multiword tokens: pure functions from drafts to drafts.

All references are renumbered: HEAD, DEPS, the decisions in MISC, multiword ranges and empty nodes; ``# text`` follows,
if it was the text of the words before.  References to removed words disappear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nonproj.io.columns import DEPREL, DEPS, FORM, HEAD, ID, MISC
from nonproj_workbench.annotation.decisions import NAMES
from nonproj_workbench.annotation.draft import Draft, EditError
from nonproj_workbench.annotation.references import Row, edge_key, edges_of, items_of, refer, renumber, without_items

_NO_SPACE = "SpaceAfter=No"
_SPACES = ("SpaceAfter", "SpacesAfter")
_OF_ONE_SENTENCE = ("sent_id", "text", "newdoc", "newpar", "annotation")


def split_word(draft: Draft, word: int, forms: Sequence[str]) -> Draft:
    r"""Split a word in two; the first keeps head, label and modifiers, the second modifies the first.

    Parameters
    ----------
    draft : Draft
    word : int
    forms : sequence of two str
        The forms of the two words, whose lemmas and tags are absent.

    Examples
    --------
    >>> draft = Draft.of("1\tGelobt\t_\t_\t_\t_\t0\troot\t_\t_\n2\tseis\t_\t_\t_\t_\t1\tx\t_\t_\n\n")
    >>> print(split_word(draft, 2, ["sei", "s"]).text().expandtabs(8), end="")
    1       Gelobt  _       _       _       _       0       root    _       _
    2       sei     _       _       _       _       1       x       _       SpaceAfter=No
    3       s       _       _       _       _       2       _       _       _
    <BLANKLINE>
    """
    _check_word(draft, word)
    if len(forms) != 2:
        raise EditError("a word is split into two")
    place = draft.places[word - 1]
    old = draft.rows[place]
    first, second = [*old[:FORM], forms[0], *"____", *old[HEAD:]], [*old[:FORM], forms[1], *"____", *"____"]
    if range_of(draft, word) is None:
        spaces = [item for item in items_of(old[MISC]) if item.partition("=")[0] in _SPACES]
        second[MISC] = "|".join(spaces) or "_"
        first[MISC] = "|".join([item for item in items_of(old[MISC]) if item not in spaces] + [_NO_SPACE])
        if f"{forms[0]} {forms[1]}" == old[FORM]:
            first[MISC] = without_items(first[MISC], (_NO_SPACE,))
    new = draft.copy()
    new.rows[place : place + 1] = [first, second]
    new.endings[place : place + 1] = [draft.ending, draft.endings[place]]
    olds = [[row[ID]] for row in draft.rows]
    olds[place : place + 1] = [[old[ID]], []]
    renumber(new, olds, {old[ID]: 1})
    new.words[word][HEAD] = str(word)
    return _with_text(draft, new)


def join_words(draft: Draft, word: int, form: str | None = None) -> Draft:
    r"""Join a word and the next one; of the two heads, the joined word gets the one outside of both.

    Parameters
    ----------
    draft : Draft
    word : int
    form : str, optional
        The form; by default those of the words, with a blank between if the text has one.

    Examples
    --------
    >>> rows = "1\tgive\t_\tV\t_\t_\t0\troot\t_\t_\n2\tin\t_\tP\t_\t_\t1\tx\t_\t_\n3\tnow\t_\tA\t_\t_\t2\ty\t_\t_\n"
    >>> print(join_words(Draft.of(rows), 1).text().expandtabs(8), end="")
    1       give in _       _       _       _       0       root    _       _
    2       now     _       A       _       _       1       y       _       _
    """
    _check_word(draft, word)
    _check_word(draft, word + 1, "there is no word after the last one")
    a, b = draft.places[word - 1], draft.places[word]
    first, second = draft.rows[a], draft.rows[b]
    covering = range_of(draft, word)
    if covering != range_of(draft, word + 1):
        raise EditError("the two words belong to different tokens; remove the multiword token first")
    apart = covering is None and _NO_SPACE not in items_of(first[MISC])
    outer = second if _governs(draft.words, word + 1, word) else first
    joined = [first[ID], form or first[FORM] + " " * apart + second[FORM], *"____", *outer[HEAD : DEPREL + 1]]
    edges = {*edges_of(first[DEPS]), *edges_of(second[DEPS])}
    joined += ["|".join(sorted(edges, key=edge_key)) or "_", _joined_misc(first, second, outer)]
    new = draft.copy()
    new.rows[a], new.rows[b : b + 1], new.endings[b : b + 1] = joined, [], []
    new.endings[-1] = draft.endings[-1]
    olds = [[row[ID]] for row in draft.rows]
    olds[a] += olds.pop(b)
    renumber(new, olds, {})
    self_edge = f"{word}:"
    row = new.words[word - 1]
    row[DEPS] = "|".join(edge for edge in edges_of(row[DEPS]) if not edge.startswith(self_edge)) or "_"
    row[MISC] = "|".join(item for item in items_of(row[MISC]) if item not in _own_marks(word)) or "_"
    return _with_text(draft, _without_short_range(new, word, form))


def set_multiword(draft: Draft, first: int, last: int, form: str | None) -> Draft:
    r"""Make a multiword token of some words, change its form or, without one, remove it.

    Examples
    --------
    >>> draft = Draft.of("1\tde\t_\tP\t_\t_\t2\tx\t_\t_\n2\tel\t_\tD\t_\t_\t0\troot\t_\tSpaceAfter=No\n\n")
    >>> print(set_multiword(draft, 1, 2, "del").text().expandtabs(8), end="")
    1-2     del     _       _       _       _       _       _       _       SpaceAfter=No
    1       de      _       P       _       _       2       x       _       _
    2       el      _       D       _       _       0       root    _       _
    <BLANKLINE>
    """
    for word in (first, last):
        _check_word(draft, word)
    name, new = f"{first}-{last}", draft.copy()
    places = [i for i, row in enumerate(new.rows) if row[ID] == name]
    if places and form is not None:
        new.rows[places[0]][FORM] = form
    elif places:
        _remove_range(new, places[0])
    elif form is None:
        raise EditError(f"there is no multiword token {name}")
    else:
        if first >= last:
            raise EditError("a multiword token has two words or more")
        if any(range_of(draft, word) for word in range(first, last + 1)):
            raise EditError("one of the words is in a multiword token; remove it first")
        misc, words = "_", new.words[first - 1 : last]
        for word in words:
            spaces = [item for item in items_of(word[MISC]) if item.partition("=")[0] in _SPACES]
            word[MISC] = without_items(word[MISC], spaces)
            misc = "|".join(spaces) or "_"  # those of the last word
        place = draft.places[first - 1]
        new.rows.insert(place, [name, form, *"_______", misc])
        new.endings.insert(place, draft.ending)
    return _with_text(draft, new)


def split_sentence(draft: Draft, word: int, taken: Iterable[str] = ()) -> tuple[Draft, Draft]:
    r"""Split a sentence after a word; words whose head is in the other part lose it.

    Parameters
    ----------
    draft : Draft
    word : int
    taken : iterable of str
        The ``sent_id`` of other sentences, which the second part does not get.

    Examples
    --------
    >>> draft = Draft.of("# sent_id = 7\n1\tJa\t_\t_\t_\t_\t2\tx\t_\t_\n2\tDet\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    >>> _, second = split_sentence(draft, 1)
    >>> print(second.text().expandtabs(8), end="")
    # sent_id = 7-2
    1       Det     _       _       _       _       0       root    _       _
    <BLANKLINE>
    """
    _check_word(draft, word)
    _check_word(draft, word + 1, "a sentence cannot be split after its last word")
    covering = range_of(draft, word)
    if covering and covering == range_of(draft, word + 1):
        raise EditError("a sentence cannot be split within a multiword token")
    place = draft.places[word]
    if covering_next := range_of(draft, word + 1):
        place = next(i for i, row in enumerate(draft.rows) if row[ID] == f"{covering_next[0]}-{covering_next[1]}")
    parts = []
    for rows, endings in (
        (draft.rows[:place], draft.endings[:place]),
        (draft.rows[place:], draft.endings[place:]),
    ):
        part = Draft("", [], [row.copy() for row in rows], endings.copy(), [draft.ending])
        renumber(part, [[row[ID]] for row in rows], {})
        parts.append(part)
    first, second = parts
    first.before, first.comments = draft.before, draft.comments.copy()
    second.after = draft.after.copy()
    name = draft.comment("sent_id")
    if name is not None:
        known = set(taken)
        second.set_comment(
            "sent_id", next(new for i in range(2, len(known) + 3) if (new := f"{name}-{i}") not in known)
        )
    if draft.comment("text") == surface(draft):
        first.set_comment("text", surface(first))
        second.set_comment("text", surface(second))
    return first, second


def join_sentences(first: Draft, second: Draft) -> Draft:
    r"""Join two sentences, with the comments of the first, and those of the second that it lacks.

    Examples
    --------
    >>> first, second = (Draft.of(f"1\t{form}\t_\t_\t_\t_\t0\troot\t_\t_\n\n") for form in ("Ja", "nej"))
    >>> print(join_sentences(first, second).text().expandtabs(8), end="")
    1       Ja      _       _       _       _       0       root    _       _
    2       nej     _       _       _       _       0       root    _       _
    <BLANKLINE>
    """
    count, shifted = len(first.places), [row.copy() for row in second.rows]
    numbers: dict[str, str | None] = {"0": "0"}
    numbers |= {row[ID]: str(int(row[ID]) + count) for row in second.words}
    for row in shifted:
        if "." in row[ID]:
            whole, _, part = row[ID].partition(".")
            before = _empty_nodes(first, count) if whole == "0" else 0
            numbers[row[ID]] = f"{int(whole) + count}.{int(part) + before}"
    for row in shifted:
        if "-" in row[ID]:
            row[ID] = "-".join(str(int(number) + count) for number in row[ID].split("-"))
        else:
            row[ID] = numbers[row[ID]] or ""
        refer(row, numbers)
    new = Draft(first.before, first.comments.copy(), [row.copy() for row in first.rows], first.endings.copy(), [])
    new.endings[-1] = new.endings[-1] or first.ending
    new.rows, new.endings, new.after = new.rows + shifted, new.endings + second.endings, second.after.copy()
    known = {line[1:].partition("=")[0].strip() for line in first.comments}
    for line in second.comments:
        key = line[1:].partition("=")[0].strip()
        if line.startswith("#") and key not in known and key.split(" ")[0] not in _OF_ONE_SENTENCE:
            new.comments.append(line)
        if line.startswith("#") and key.split(" ")[0] == "newpar":
            row = new.words[count]
            row[MISC] = "|".join([*items_of(row[MISC]), "NewPar=Yes"])
    if first.comment("text") == surface(first) and second.comment("text") == surface(second):
        new.set_comment("text", surface(new))
    elif first.comment("text") is not None and second.comment("text") is not None:
        new.set_comment("text", f"{first.comment('text')} {second.comment('text')}")
    return new


def surface(draft: Draft) -> str:
    r"""Return the text of the tokens: with a blank after each, unless MISC has ``SpaceAfter=No``.

    Examples
    --------
    >>> surface(Draft.of("1\tJa\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No\n2\t!\t_\t_\t_\t_\t1\tpunct\t_\t_\n\n"))
    'Ja!'
    """
    text, inside = "", 0
    for row in draft.rows:
        if "-" in row[ID]:
            inside = int(row[ID].partition("-")[2])
        elif "." in row[ID] or int(row[ID]) <= inside:
            continue
        text += row[FORM] + " " * (_NO_SPACE not in items_of(row[MISC]))
    return text.removesuffix(" ")


def range_of(draft: Draft, word: int) -> tuple[int, int] | None:
    """Return the first and last word of the multiword token of a word, or None."""
    for row in draft.rows:
        if "-" in row[ID]:
            first, last = map(int, row[ID].split("-"))
            if first <= word <= last:
                return first, last
    return None


def with_form(draft: Draft, word: int, form: str) -> Draft:
    """Return the draft with another form of a word; ``# text`` follows."""
    new = draft.copy()
    new.words[word - 1][FORM] = form
    return _with_text(draft, new)


# -- parts of edits ----------------------------------------------------------------------------------------------------


def _check_word(draft: Draft, word: object, message: str = "") -> None:
    """Raise `EditError` unless this is the number of a word."""
    count = len(draft.places)
    if type(word) is not int or not 1 <= word <= count:
        raise EditError(message or f"{word!r} is not the number of a word, from 1 to {count}")


def _governs(words: Sequence[Row], head: int, word: int) -> bool:
    """Return whether a word is above another one in the tree."""
    for _ in range(len(words)):
        above = words[word - 1][HEAD]
        if above == str(head):
            return True
        if not above.isdecimal() or not 0 < int(above) <= len(words):
            return False
        word = int(above)
    return False


def _joined_misc(first: Row, second: Row, outer: Row) -> str:
    """Return the column MISC of a joined word: decisions of the word that keeps its head, blanks of the second."""
    items = [item for item in items_of(first[MISC]) if item.partition("=")[0] not in (*_SPACES, *NAMES)]
    known = {item.partition("=")[0] for item in items}
    for item in items_of(second[MISC]):
        name = item.partition("=")[0]
        if name in _SPACES or (name not in known and name not in NAMES):
            items.append(item)
    items += [item for item in items_of(outer[MISC]) if item.partition("=")[0] in NAMES]
    return "|".join(items) or "_"


def _own_marks(word: int) -> tuple[str, str]:
    """Return the decisions that a joined word cannot have: on itself."""
    return f"Head={word}", f"NotHead={word}"


def _without_short_range(draft: Draft, word: int, form: str | None) -> Draft:
    """Remove a multiword token that is left with one word, which gets its form and blanks."""
    for i, row in enumerate(draft.rows):
        if row[ID] == f"{word}-{word}":
            draft.words[word - 1][FORM] = form or row[FORM]
            _remove_range(draft, i)
            break
    return draft


def _remove_range(draft: Draft, place: int) -> None:
    """Remove a multiword token; the blanks after it become those of its last word."""
    row = draft.rows.pop(place)
    draft.endings.pop(place)
    last = draft.words[int(row[ID].partition("-")[2]) - 1]
    spaces = [item for item in items_of(row[MISC]) if item.partition("=")[0] in _SPACES]
    last[MISC] = "|".join([*items_of(last[MISC]), *spaces]) or "_"


def _empty_nodes(draft: Draft, word: int) -> int:
    """Return the number of empty nodes after a word."""
    return sum(row[ID].startswith(f"{word}.") for row in draft.rows)


def _with_text(old: Draft, new: Draft) -> Draft:
    """Replace ``# text`` by the text of the tokens, if it was that of the old ones."""
    if old.comment("text") == surface(old):
        new.set_comment("text", surface(new))
    return new
