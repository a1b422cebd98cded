"""Segmentation written from its definition: layout, features and decisions character by character, without arrays."""

import functools
import hashlib
import itertools
import math
import re
import unicodedata

import numpy as np
from naive_network import in_context
from naive_scoring import random64, upper

BLANK, NEWLINE, EXTEND, LOWER, UPPER, LETTER, IDEOGRAPH, DIGIT, NUMBER = range(9)
CONNECTOR, DASH, OPEN, CLOSE, MATH, CURRENCY, MODIFIER, SYMBOL, FORMAT = range(9, 18)
STOP, COMMA, TERMINAL, QUOTE, APOSTROPHE, COLON, SLASH, AT, OTHER, JOINER = range(18, 28)
CATEGORIES = {"Ll": LOWER, "Lu": UPPER, "Lo": LETTER, "Mn": EXTEND, "Nd": DIGIT, "Pc": CONNECTOR, "Pd": DASH}
CATEGORIES |= {"Ps": OPEN, "Pe": CLOSE, "Sm": MATH, "So": SYMBOL, "Sc": CURRENCY}
SINGLE = {"\n": NEWLINE, "\r": NEWLINE, " ": BLANK, "\t": BLANK, ".": STOP, ",": COMMA, "!": TERMINAL, "?": TERMINAL}
SINGLE |= {'"': QUOTE, "'": APOSTROPHE, ":": COLON, ";": COLON, "/": SLASH, "@": AT, "\u200d": JOINER}

CLOSING = {CLOSE, QUOTE, APOSTROPHE}
NO_BLANKS, ONE_BLANK, SOME_BLANKS, WRAPPED, BROKEN, PARAGRAPH = range(6)
DOTTED = re.compile(
    r"[(\"']*[^\W\d_]{1,3}\.[(\"']*[^\W\d_]{1,3}\.(?:[^\W\d_]{1,3}\.)*"
    r"(?:[^\W\d_]{0,3}|[^\W\d_]{0,3}[^\w.].*|\..*)"
)
"""Abbreviations such as ``e.g.``, and the characters that may follow them in a chunk."""


def kind(character: str) -> int:
    """The kind of a character, for those that the tests use."""
    return SINGLE[character] if character in SINGLE else CATEGORIES.get(unicodedata.category(character), OTHER)


def bases(text: str) -> str:
    """A text without blanks in which every mark is replaced by the character that it modifies, if there is one."""
    found = ""
    for c in text:
        found += found[-1] if found and (kind(c) in (EXTEND, JOINER)) else c
    return found


PLACES = hashlib.shake_128(b"nonproj: places").digest(8 * 2048)
LENGTH = 0x8B1D52C793E640AF


def share(factor: int, number: int) -> int:
    """The upper half of a product of 64 bits."""
    return upper(factor * int(number))


def sequence_hash(numbers: list[int], length: int) -> int:
    """The hash of some numbers: that of their places, and of their length."""
    factors = [int.from_bytes(PLACES[8 * k : 8 * k + 8], "little") | 1 for k in range(len(numbers))]
    return (share(LENGTH, length) + sum(map(share, factors, numbers))) % 2**32


def string_hash(text: str) -> int:
    """The hash of a string: its length, and its first characters in lower case."""
    return sequence_hash([ord(c.lower()) for c in text[:24]], len(text))


coefficient = functools.cache(random64)


def feature_hashes(part: str, templates: list[str], values: dict[str, int]) -> list[int]:
    """The hash of each template's feature; ``values`` are those of its terms."""
    found = []
    for text in templates:
        key = coefficient(f"{part}/{text}") >> 32
        for term in text.split():
            slot, name = term.split(".")
            key += share(coefficient(f"{part}/{text}/{slot[0]}{int(slot[1:] or 0):+d}.{name}"), values[term])
        found.append(key % 2**32)
    return found


def of_slots(letter: str, near: dict) -> dict[str, int]:
    """The values of terms, given those of each name from two places before to three behind."""
    return {f"{letter}{d:+d}.{n}" if d else f"{letter}.{n}": v for n, vs in near.items() for d, v in enumerate(vs, -2)}


def shape_hash(text: str) -> int:
    """The hash of the kinds in a string, at most two in a row, at most sixteen."""
    kinds: list[int] = []
    for c in bases(text):
        if kinds[-2:] != [kind(c)] * 2:
            kinds.append(kind(c))
    return sequence_hash(kinds[:16], min(len(kinds), 16))


def classes(kinds: list[int]) -> list[tuple[int, int]]:
    """The class of each run of characters of one class, and its length; all letters are one class."""
    groups = itertools.groupby(LOWER if each in (UPPER, LETTER) else each for each in kinds)
    return [(found, len(list(group))) for found, group in groups]


def words_beside(chunk: str, kinds: list[int], place: int) -> tuple[str, str, bool]:
    """The letters and digits on both sides of a place, or of a sign there, and whether the chunk ends with them."""
    marks = "".join("w" if LOWER <= each <= NUMBER else "." for each in kinds)
    left, right = re.search(r"(w{0,25})\.?$", marks[:place]), re.match(r"\.?(w{0,25})", marks[place:])
    found = (chunk[left.start(1) : left.end(1)], chunk[place:][right.start(1) : right.end(1)])
    return *found, place + right.end() == len(chunk)


def outline_hash(found: list[tuple[int, int]]) -> int:
    """The hash of the classes of runs, at most sixteen."""
    return sequence_hash([each for each, _ in found[:16]], min(len(found), 16))


def chunks(text: str) -> list[tuple[int, int, int]]:
    """First character, end and following blanks, for each run without blanks."""
    found, position = [], 0
    while position < len(text):
        if kind(text[position]) <= NEWLINE:
            position += 1
            continue
        end = position
        while end < len(text) and kind(text[end]) > NEWLINE:
            end += 1
        stop = end
        while stop < len(text) and kind(text[stop]) <= NEWLINE:
            stop += 1
        blanks = text[end:stop]
        lines = blanks.count("\n") + blanks.count("\r") - blanks.count("\r\n")
        after = NO_BLANKS if not blanks else PARAGRAPH if lines > 1 or stop == len(text) else BROKEN if lines else None
        found.append((position, end, (SOME_BLANKS if len(blanks) > 1 else ONE_BLANK) if after is None else after))
        position = stop
    return _fitted(found)


def _fitted(found: list) -> list:
    """The chunks, with those line ends told apart where the next chunk would not have fit on the line."""
    result, first = list(found), 0
    for last in [i for i, chunk in enumerate(found) if chunk[2] in (PARAGRAPH, NO_BLANKS)]:
        lines, begin = [], first
        for i in range(first, last + 1):
            if found[i][2] in (BROKEN, PARAGRAPH, NO_BLANKS):
                lines.append((begin, i))
                begin = i + 1
        longest = max(found[b][1] - found[a][0] for a, b in lines)
        for a, b in lines[:-1]:
            needed = found[b][1] - found[a][0] + 1 + found[b + 1][1] - found[b + 1][0]
            result[b] = (*found[b][:2], WRAPPED if needed > longest else BROKEN)
        first = last + 1
    return result


def listed(text: str) -> list[str]:
    """The templates in a text, between commas."""
    return [each.strip() for each in text.split(",")]


TEMPLATES = listed(
    """
    c.one, c.kind c+1.kind, c+1.kind c+2.kind, c.kind c+1.kind c-1.kind c+2.kind,
    c.kind c+1.kind c-1.kind c-2.kind c+2.kind c+3.kind, c.kind c+1.kind c.known c.remaining,
    c.left c.kind c+1.kind c+2.kind c.length, c.left c.right, c.leftoutline c.rightoutline,
    c.kind c+1.kind c+2.kind c.beside c.size, c.kind c+1.kind c.earlier, c.kind c+1.kind c.run,
    c.kind c+1.kind c.earlier c.run, c.lower c+1.lower, c.lower c+1.lower c-1.lower c+2.kind,
    c.lower c+1.lower c+2.lower, c.lower c+1.lower c-1.lower c+2.lower,
    c.lower c+1.lower c-1.lower c-2.lower c+2.kind, c.lower c+1.lower c+2.lower c+3.lower,
    c.lower c+1.lower c-1.lower c-2.lower c+2.lower c+3.lower, c.lower c+1.lower c.flags,
    c.lower c+1.lower c.place c.remaining, c.lower c+1.lower c.before c.after, c.token c+1.lower, c.rest c.kind,
    c.rest c.lower, c.chunk c.inside, c.lower c+1.lower c.nextkind c.remaining, c.token c.nextkind c.remaining,
    c.following c+1.lower c.remaining, c.previous c+1.lower, c.lower c+1.lower c.known,
    c.left c+1.lower c.remaining c.nextkind, c.token c.rest
    """
)

SENTENCE_TEMPLATES = listed(
    """
    t.mark, t.mark t.last, t.mark t+1.first, t.one t.gap, t.word, t+1.word, t.word t+1.word, t.word t-1.word,
    t+1.word t+2.word, t.word t+1.word t-1.word, t.word t+1.word t+2.word, t.shape t+1.shape t.gap,
    t.shape t+1.shape t.gap t-1.shape, t.shape t+1.shape t.gap t+2.shape,
    t.shape t+1.shape t.gap t-1.shape t+2.shape, t.word t+1.shape, t.shape t+1.word, t.word t+1.shape t+2.shape,
    t.word t+1.shape t-1.word, t.shape t+1.word t+2.word, t-1.word, t+2.word, t.word t.gap, t+1.word t.gap,
    t-1.shape t-2.shape t.shape t+1.shape t.gap, t+2.shape t+3.shape t.shape t+1.shape t.gap, t-2.word t.last,
    t+3.word t+1.first, t.shape t+1.shape t.gap t.size, t-1.word t.shape t+1.shape, t+2.word t.shape t+1.shape,
    t.last t+1.first t+1.case t.word, t.last t+1.first t+1.case t+1.shape,
    t.last t+1.first t+1.case t.case t+2.case, t.suffix t+1.suffix, t-1.suffix t.suffix t+1.first,
    t.suffix t+1.suffix t+2.suffix, t.last t+1.suffix t+2.suffix, t.suffix t.last t+1.first t+1.case,
    t.last t+1.first t+1.case t.gap t+2.shape, t.last t+1.first t+1.case t-1.case t.case,
    t+1.suffix t.last t+1.first t+1.case, t+1.suffix t+2.suffix t.shape,
    t.last t+1.first t+1.case t-1.absent t+2.absent, t.word t-1.absent, t.tag t+1.tag, t-1.tag t.tag t+1.tag,
    t.tag t+1.tag t+2.tag, t.tag t+1.tag t.gap, t-1.suffix t.word
    """
)

STATE_TEMPLATES = listed(
    """
    t.shape t+1.shape t.gap t.place, t.last t+1.first t+1.case t.place, t.word t.inside, t+1.word t.inside,
    t.shape t+1.shape t.gap t.inside, t+1.word t.shape t.place, t.verbs t.tag t+1.tag, t.verbs t.place,
    t.place t.tag t+1.tag, t.place, t.place t.word, t-1.tag t.word t.place, t-1.tag t.word t.verbs
    """
)


def token_features(text: str, found: list, c: int, begin: int, i: int, known: dict, flags: int = 0) -> list[int]:
    """The hashes of the features of a token end after character ``i`` of chunk ``c``; the token began at ``begin``."""
    first, last, blanks = found[c]
    base = bases(text[first:last])

    def at(k: int) -> tuple[int, int]:
        return (ord(text[k].lower()), kind(base[k - first])) if first <= k < last else (0, 0)

    (p2, kp2), (p1, kp1), (l0, k0), (l1, k1), (n2, kn2), (n3, kn3) = (at(i + d) for d in range(-2, 4))
    run = [0, 0]
    while run[0] < 4 and at(i - run[0] - 1)[0] == l0:
        run[0] += 1
    while run[1] < 4 and at(i + 2 + run[1])[0] == l1:
        run[1] += 1
    place, remaining = min(i - first, 5), min(last - i - 2, 5)
    previous = string_hash(text[slice(*found[c - 1][:2])]) if c and found[c - 1][2] != PARAGRAPH else 0
    follows = c + 1 < len(found) and blanks != PARAGRAPH
    following = string_hash(text[slice(*found[c + 1][:2])]) if follows else 0
    next_kind = kind(text[found[c + 1][0]]) if follows else 0
    token, rest, whole = (string_hash(t) for t in (text[begin : i + 1], text[i + 1 : last], text[begin:last]))
    left, right = shape_hash(text[begin : i + 1]), shape_hash(text[i + 1 : last])
    kinds = [kind(each) for each in base]
    before, after = classes(kinds[begin - first : i + 1 - first]), classes(kinds[i + 1 - first :])
    whole_chunk = string_hash(text[first:last])
    lexicon = (known(token) > 0) + 2 * (known(rest) > 0) + 4 * (known(whole) > 0)
    one, other, at_end = words_beside(text[first:last], kinds, i + 1 - first)
    beside = sum(value for value, word in ((1, one), (2, other)) if word and known(string_hash(word)))
    characters = {"lower": (p2, p1, l0, l1, n2, n3), "kind": (kp2, kp1, k0, k1, kn2, kn3)}
    of_place = {
        **{"flags": flags, "place": place, "remaining": remaining, "before": run[0], "after": run[1] + 1},
        **{"token": token, "rest": rest, "left": left, "right": right, "chunk": whole_chunk, "inside": i - first},
        **{"previous": previous, "following": following, "nextkind": next_kind, "known": lexicon},
        **{"length": i - begin, "one": 1, "leftoutline": outline_hash(before), "rightoutline": outline_hash(after)},
        **{"run": string_hash(text[i + 1 : i + 1 + after[0][1]]), "earlier": before[-2][0] if before[1:] else 0},
        **{"beside": beside, "size": min(len(other), 5) + 8 * at_end},
    }
    values = of_slots("c", characters) | {f"c.{name}": value for name, value in of_place.items()}
    return feature_hashes("tokens", TEMPLATES, values)


def mark_after(tokens: list, t: int) -> int:
    """Class of the punctuation after a token.

    4, a sentence ends with a bracket or quotation mark; 3, it ends; 2, it goes on; 1, an abbreviation; 0, nothing.
    """
    kinds = [(kind(form[0]), kind(bases(form)[-1])) for form, _ in tokens]
    stops = [set(ends) <= {STOP, TERMINAL} for ends in kinds]
    closing = [set(ends) <= CLOSING for ends in kinds]
    k = t
    while closing[k] and k > 0 and tokens[k - 1][1] == NO_BLANKS:
        k -= 1
    if not stops[k]:
        return int(kinds[t][1] == STOP)
    ends = 3 if k == t else 4
    if tokens[t][1] == PARAGRAPH:
        return ends
    attached = tokens[t][1] == NO_BLANKS
    if kinds[t + 1][0] in (LOWER, COMMA, COLON, STOP, TERMINAL) or (kinds[t + 1][0] in CLOSING and attached):
        return 2
    return 2 if attached and len(tokens[k][0]) == 1 and kinds[k][0] == STOP else ends


def place_of(length: int) -> int:
    """The class of a sentence's length."""
    return length if length < 4 else 4 + sum(length >= bound for bound in (4, 6, 12, 24))


def sentence_features(tokens: list, t: int, state: tuple, case, tag) -> list[int]:
    """Hashes of the features of a sentence end after token ``t``; tokens are pairs of a form and following blanks.

    ``case`` and ``tag`` are functions of forms, the state the length of the sentence, its open brackets, its quotation
    marks and its verbs.
    """
    length, brackets, quotes, verbs = state
    low, high = t, t + 1
    while low > max(0, t - 2) and tokens[low - 1][1] != PARAGRAPH:
        low -= 1
    while high < min(len(tokens) - 1, t + 3) and tokens[high][1] != PARAGRAPH:
        high += 1
    forms = [tokens[k][0] if low <= k <= high else "" for k in range(t - 2, t + 4)]
    functions = {
        **{"word": string_hash, "shape": shape_hash, "suffix": lambda form: string_hash(form[-3:])},
        **{"last": lambda form: kind(bases(form)[-1]), "first": lambda form: kind(form[0]), "case": case, "tag": tag},
    }
    near = {name: [value(form) if form else 0 for form in forms] for name, value in functions.items()}
    near["absent"] = [not form for form in forms]
    near["mark"] = [mark_after(tokens, k) if low <= k <= high else 0 for k in range(t - 2, t + 4)]
    place = place_of(length)
    values = of_slots("t", near) | {"t.gap": tokens[t][1], "t.size": min(len(forms[2]), 4), "t.place": place}
    values |= {"t.one": 1, "t.inside": place * 4 + min(brackets, 1) * 2 + quotes % 2, "t.verbs": min(verbs, 3)}
    return feature_hashes("sentences", SENTENCE_TEMPLATES + STATE_TEMPLATES, values)


def decide(rows: list[int], weights: np.ndarray) -> np.float32:
    """The score of features, summed in their order in single precision."""
    score, bits = np.float32(0.0), len(weights).bit_length() - 1
    for h in rows:
        score += weights[h >> (32 - bits)]
    return score


def clipping(text: str, found: list, c: int, begin: int) -> float:
    """Evidence for an abbreviation: 5, or 8 without vowels, for a word and a full stop at the end of a chunk."""
    first, last, blanks = found[c]
    kinds = [kind(character) for character in bases(text[first:last])]
    word, letters = text[begin : last - 1].lower(), set(kinds[begin - first : -1]) <= {LOWER, UPPER, LETTER}
    if blanks in (NO_BLANKS, PARAGRAPH) or kinds[-1] != STOP or not letters or not 1 <= len(word) <= 5:
        return 0.0
    opening = next(i for i in range(c, -1, -1) if i == 0 or found[i - 1][2] == PARAGRAPH)
    after, informal = kind(text[found[c + 1][0]]), kind(text[found[opening][0]]) == LOWER
    unit = opening < c and begin == first and kind(bases(text[: found[c - 1][1]])[-1]) == DIGIT
    unit = unit or (begin > first and kinds[begin - first - 1] != OPEN)
    if re.fullmatch("[bcdfghjklmnpqrstvxz]+", word) and kinds[-2] == LOWER and not unit and LOWER <= after <= DIGIT:
        return 8.0
    return 5.0 if after == DIGIT or (after == LOWER and not informal) else 0.0


def tokens_with_log_odds(text: str, candidate, known, weights: np.ndarray) -> list[tuple[int, int, float]]:
    """The tokens, and the smallest score, without its sign, of the decisions at their ends and inside."""
    found, tokens = chunks(text), []
    for c, (first, last, _) in enumerate(found):
        base = bases(text[first:last])
        begin, flags, odds = first, 16 * bool(DOTTED.fullmatch(base)), math.inf
        for i in range(first, last - 1):
            k0, k1 = kind(base[i - first]), kind(base[i - first + 1])
            joined = kind(text[i + 1]) in (EXTEND, JOINER) or kind(text[i]) == JOINER
            if candidate[k0][k1] and not joined:
                rows = token_features(text, found, c, begin, i, known, flags)
                score = float(decide(rows, weights)) - (clipping(text, found, c, begin) if i == last - 2 else 0.0)
                odds = min(odds, abs(score))
                if score > 0:
                    tokens.append((begin, i + 1, odds))
                    begin, odds = i + 1, score
        tokens.append((begin, last, odds))
    return tokens


def state_of(tokens: list, begin: int, t: int, tag) -> tuple[int, int, int, int]:
    """Tokens, open brackets, quotation marks and verbs (of even classes) of a sentence from ``begin`` to ``t``."""
    brackets = 0
    forms = [form for form, _ in tokens[begin : t + 1]]
    for form in forms:
        brackets += (kind(form[0]) == OPEN) - (kind(form[0]) == CLOSE and brackets > 0)
    quotes = sum(kind(form[0]) == QUOTE for form in forms)
    return len(forms), brackets, quotes, sum(each > 0 and each % 2 == 0 for each in map(tag, forms))


def token_rows(tokens: list, t: int, case, tag, bits: int) -> list[int]:
    """Rows of a token in the network, one for each attribute."""
    form, blanks = tokens[t]
    known = {"word": string_hash(form), "shape": shape_hash(form), "suffix": string_hash(form[-3:])}
    known |= {"first": kind(form[0]), "last": kind(bases(form)[-1]), "gap": blanks, "size": min(len(form), 4)}
    known |= {"case": case(form), "tag": tag(form), "mark": mark_after(tokens, t)}
    values = {f"t.{name}": value for name, value in known.items()}
    return [h >> (32 - bits) for h in feature_hashes("sentence network", list(values), values)]


def piece_of(tokens: list, t: int) -> tuple[int, int]:
    """The first token of the context of the place after ``t``, and the one behind the last."""
    begin, end = t, t + 1
    while begin > 0 and tokens[begin - 1][1] != PARAGRAPH:
        begin -= 1
    while tokens[end - 1][1] != PARAGRAPH:
        end += 1
    size = end - begin
    number = math.ceil(size / 192)
    cuts = [begin + size * i // number for i in range(number + 1)]
    i = next(i for i in range(number) if cuts[i] <= t < cuts[i + 1])
    return max(begin, cuts[i] - 32), min(end, cuts[i + 1] + 32)


def sums_of_places(tokens: list, case, tag, network) -> list:
    """Sums that the tokens in context add to the hidden units of the place after each token, None after paragraphs."""
    rows, states, _, context = network
    bits, size = len(rows).bit_length() - 1, states.shape[1]
    own = [[rows[row] for row in token_rows(tokens, t, case, tag, bits)] for t in range(len(tokens))]
    vectors = [[sum(column, np.float32(0)) for column in zip(*each, strict=True)] for each in own]
    tables, found, pieces = [table.tolist() for table in context[:1]] + list(context[1:]), [], {}
    for t, (_, blanks) in enumerate(tokens):
        first, end = piece_of(tokens, t)
        if (first, end) not in pieces:
            pieces[first, end] = in_context(vectors[first:end], tables)
        around = pieces[first, end]
        sides = None if blanks == PARAGRAPH else zip(around[t - first], around[t - first + 1][size:], strict=False)
        found.append(sides and [np.float32(2**-14) * np.float32(a + b) for a, b in sides])
    return found


def state_number(length: int, brackets: int, quotes: int, verbs: int) -> int:
    """The number of a state."""
    return (place_of(length) * 4 + min(brackets, 1) * 2 + quotes % 2) * 4 + min(verbs, 3)


def network_score(state: tuple, broken: bool, states, output, sums) -> float:
    """The score of a sentence end by a network, given what the tokens add to its hidden units."""
    layer = np.maximum(states[state_number(*state) + broken * len(states) // 2] + np.float32(sums), 0)
    return float(layer.astype(float) @ output[:-1] + output[-1])


def end_probability(tokens: list, begin: int, t: int, case, tag, weights, threshold: float, network=None) -> float:
    """The probability that the sentence that began at ``begin`` ends after ``t``.

    ``network`` has rows of states, output, and what the tokens add.
    """
    if tokens[t][1] == PARAGRAPH:
        return 1.0
    bits, state = len(weights).bit_length() - 1, state_of(tokens, begin, t, tag)
    places = [h >> (32 - bits) for h in sentence_features(tokens, t, state, case, tag)]
    score = sum(float(weights[place ^ (tokens[t][1] == BROKEN)]) for place in places) - threshold
    if network:
        states, output, sums = network
        score += network_score(state, tokens[t][1] == BROKEN, states, output, sums[t])
    return 1 / (1 + math.exp(-min(max(score, -30), 30)))


def score_ends(
    tokens: list, case, tag, weights, threshold: float, cost: float, network=None, closed=frozenset()
) -> list[float]:
    """The log-odds of a sentence end after each token, with the sign of the best decisions.

    After those that are ``closed``, by number, only paragraphs end.  Beginnings with less than 1/256 of the probability
    are given up, but for the most probable one.
    """
    n = len(tokens)
    network = network and (*network[1:3], sums_of_places(tokens, case, tag, network))
    begun, sentence, masses = [1.0] + [0.0] * n, {}, {}
    for t in range(n):
        if not masses or begun[t] >= 1 / 256:
            masses[t] = begun[t]
        for begin in masses:
            probability = end_probability(tokens, begin, t, case, tag, weights, threshold, network)
            probability *= t not in closed or tokens[t][1] == PARAGRAPH
            sentence[begin, t + 1] = masses[begin] * probability
            masses[begin] *= 1 - probability
        ended = sum(p for (_, end), p in sentence.items() if end == t + 1)
        total, largest = ended + sum(masses.values()), max(masses, key=lambda begin: masses[begin])
        begun[t + 1] = ended / total
        masses = {b: mass / total for b, mass in masses.items() if b == largest or mass >= total / 256}
        if tokens[t][1] == PARAGRAPH:
            masses = {}
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for end in range(1, n + 1):
        options = [(best[b][0] + p - cost, [*best[b][1], end]) for (b, e), p in sentence.items() if e == end]
        best.append(max(options, key=lambda option: option[0]))
    scores = []
    for end in range(1, n + 1):
        share = min(max(begun[end], 1e-9), 1 - 1e-9)
        odds = math.log(share / (1 - share))
        scores.append(max(odds, 1e-3) if end in best[n][1] else min(odds, -1e-3))
        if tokens[end - 1][1] == PARAGRAPH:
            scores[-1] = math.inf
    return scores


def logistic_step(row: list[int], target: bool, rate: float, weights, squares) -> None:
    """One step of logistic regression with AdaGrad."""
    score = sum(float(weights[f]) for f in row)
    gradient = 1.0 / (1.0 + math.exp(-score)) - target
    for f in row:
        squares[f] += gradient * gradient
        weights[f] -= rate * gradient / math.sqrt(squares[f])


WORD_TEMPLATES = listed(
    """
    u.one, u-1.word, u.word, u+1.word, u+2.word, u.word u+1.word, u-1.word u.word, u+1.word u+2.word,
    u-1.word u+1.word, u.word u+2.word, u-1.word u.word u+1.word, u.word u+1.word u+2.word,
    u-1.word u.word u+1.word u+2.word, u-2.word u-1.word u.word, u+1.word u+2.word u+3.word,
    u-2.word u-1.word u.word u+1.word, u.word u+1.word u+2.word u+3.word, u.shape u+1.shape,
    u-1.shape u.shape u+1.shape, u.shape u+1.shape u+2.shape, u-1.shape u.shape u+1.shape u+2.shape,
    u.shape u+1.word, u.word u+1.shape, u.suffix, u+1.suffix, u.suffix u+1.suffix, u.across,
    u.across u.before u.behind, u.before u.shape u+1.shape, u.behind u.shape u+1.shape,
    u.across u.before u.behind u.shape u+1.shape, u.across u.word u+1.word, u.across u.before u.word,
    u.across u.behind u+1.word
    """
)


def join_scores(units: list[str], allowed: list[bool], counts, weights: np.ndarray) -> list[float]:
    """The score of a word that goes on after each unit; ``counts`` are those of words, by hash."""

    def count(a: int, b: int) -> int:
        """Count of the units from a to b as a word; 0 if they cannot be one."""
        possible = 0 <= a <= b < len(units) and b - a < 12 and all(allowed[a:b])
        return counts(sequence_hash([string_hash(unit) for unit in units[a : b + 1]], b - a + 1)) if possible else 0

    def described(a: int, b: int, place: int) -> int:
        return (b - a + 1) * 128 + place * 8 + 1 + sum(count(a, b) > bound for bound in (1, 3, 9))

    def longest(spans: list[tuple[int, int]], place: int | None = None) -> int:
        """The number of the longest of some words, the first of equals; 0 without one."""
        known = [(a, b) for a, b in spans if count(a, b)]
        a, b = max(known, key=lambda span: span[1] - span[0], default=(0, -1))
        return described(a, b, 0 if place is None else place - a) if known else 0

    near, scores = range(13), []
    for u, possible in enumerate(allowed):
        if not possible:
            scores.append(-math.inf)
            continue
        lexicon = {
            "across": longest([(a, b) for a in range(max(u - 11, 0), u + 1) for b in range(u + 1, a + 12)], u),
            "before": longest([(u - k, u) for k in near]),
            "behind": longest([(u + 1, u + 1 + k) for k in near]),
        }
        forms = [units[k] if 0 <= k < len(units) else "" for k in range(u - 2, u + 4)]
        hashes = {"word": string_hash, "shape": shape_hash, "suffix": lambda form: string_hash(form[-3:])}
        around = {name: [value(form) if form else 0 for form in forms] for name, value in hashes.items()}
        values = of_slots("u", around) | {f"u.{name}": value for name, value in lexicon.items()} | {"u.one": 1}
        scores.append(float(decide(feature_hashes("words", WORD_TEMPLATES, values), weights)))
    return scores
