"""Features from the definitions: strings read off the columns, and places by Python's big integers."""

import hashlib
import itertools
import math

from naive_trees import candidates

OUTSIDE, UNKNOWN, START, END, ROOT, FIRST = range(6)
"""Reserved numbers of every attribute; the strings of a vocabulary are numbered from FIRST."""

WORDS_OF = {"arc": "hm", "sibling": "hsm", "grandparent": "ghm", "grandsibling": "ghsm", "trisibling": "hrsm"}
WORDS_OF |= {"label": "hmglraz", "labelled_arc": "hm", "label_sibling": "hsm", "label_grandparent": "ghm"}
"""The words of each type of part, in the order in which they are hashed."""


def shape_of(form):
    """Upper case X, lower case x, decimal digits d, the rest unchanged; at most two of each run."""
    classes = ["d" if c.isdecimal() else "Xx"[not c.isupper()] if c.isalnum() else c for c in form]
    return "".join("".join(list(run)[:2]) for _, run in itertools.groupby(classes))


def text_of(row, attribute):
    """The string of an attribute of a word, read off its ten columns."""
    _, form, lemma, coarse, fine, feats = row[:6]
    tag = coarse if fine == "_" else fine
    if attribute.startswith("prefix"):
        return form[: int(attribute[6:])].lower()
    if attribute.startswith("suffix"):
        return form[-int(attribute[6:]) :].lower()
    found = {"form": form, "lower": form.lower(), "cpos": coarse, "pos": tag, "feats": feats, "tag": f"{tag} {feats}"}
    found |= {"lemma": form.lower() if lemma == "_" else lemma, "shape": shape_of(form), "morph": f"{tag}\t{feats}"}
    found |= {"vector": (form, form.lower()), "key": (form.lower(), "\t" + tag)}
    found |= dict.fromkeys(("enclosure", "segment"), "0") | dict.fromkeys(("cluster", "cluster4", "cluster6"))
    return found[attribute]


CLOSES = {
    **{")": "(", "]": "[", "}": "{", ">": "<", "-RRB-": "-LRB-", "-RSB-": "-LSB-", "-RCB-": "-LCB-"},
    **{'"': '"', "'": "'`", "»": "«»", "«": "»", "›": "‹", "‹": "›", "”": "“„”", "“": "„", "’": "‘‚", "‘": "‚"},
}
"""Opening marks that each closing mark can close; two apostrophes close two backquotes or two apostrophes."""


SEPARATORS = (",", ";", ":", "-", "--", "\N{EN DASH}", "\N{EM DASH}", *"\u060c\u061b\u3001\uff0c\uff1b\uff1a")


def can_close(closing, opening):
    """Whether two marks make a pair."""
    if closing == "''":
        return opening in ("``", "''")
    closed = CLOSES.get(closing, "")
    return opening == closed or (len(opening) == 1 and opening in closed)


def pairs_of(forms):
    """The pairs of marks of a sentence, from the left: each mark closes the nearest open one that it can close."""
    pairs = []
    for j, form in enumerate(forms):
        free = [i for i in range(j) if can_close(form, forms[i]) and not any(a <= i <= b for a, b in pairs)]
        if free:
            pairs.append((free[-1], j))
    return pairs


def enclosures_of(forms):
    """For each word the level of the innermost pair around it, at most 3, and its number in the level modulo 3."""
    pairs = sorted(pairs_of(forms))
    level = {(a, b): min(3, sum(c <= a and b <= d for c, d in pairs)) for a, b in pairs}
    found = []
    for i in range(len(forms)):
        around = [pair for pair in pairs if pair[0] < i < pair[1]]
        same = [pair for pair in pairs if around and level[pair] == level[around[-1]]]
        found.append(f"{level[around[-1]]}.{same.index(around[-1]) % 3}" if around else "0")
    return found


def terms_of(template):
    """The terms of a template, such as ``h.pos`` or ``m+1.form``: word (None for those between), offset, attribute."""
    for term in template.split():
        word, attribute = term.split(".")
        yield (None, 0, attribute) if word == "between" else (word[0], int(word[1:] or 0), attribute)


def number_of(sentence, vocabularies, node, attribute, row=None):
    """The number of an attribute of a node; nodes N and N + 1 are START (or none) and END; ``row`` replaces it."""
    n = len(sentence)
    if node == n + 1:
        return START
    if node == n + 2:
        return END
    if node == 0:
        return ROOT
    if not 0 <= node <= n:
        return OUTSIDE
    if attribute == "vector":  # of the word, or else of the word in lower case
        form, known = (row or sentence.rows[node - 1])[1], vocabularies[attribute]
        return next((FIRST + known.index(word) for word in (form, form.lower()) if word in known), UNKNOWN)
    known, text = vocabularies[attribute], text_of(row or sentence.rows[node - 1], attribute)
    if attribute == "enclosure":
        text = enclosures_of([other[1] for other in sentence.rows])[node - 1]
    if attribute == "segment":  # how many commas, semicolons, colons and dashes come before, modulo 3
        text = str(sum(other[1] in SEPARATORS for other in sentence.rows[: node - 1]) % 3)
    if attribute == "key":
        text = text[0] if text[0] in known else text[1]
    if attribute == "morph":  # without the features that no string of the vocabulary has
        tag, feats = text.split("\t")
        kept = {feature for string in known for feature in string.split("\t")[1].split("|") if feature}
        text = tag + "\t" + "|".join(feature for feature in feats.split("|") if feature in kept)
    return FIRST + known.index(text) if text in known else UNKNOWN


def information(sentences, feature):
    """I(feature; label | tag) in nats, as the fall of the label's entropy, and the share of words with the feature."""
    rows = [row for sentence in sentences for row in sentence.rows]
    words = [(row[3] if row[4] == "_" else row[4], feature in row[5].split("|"), row[7]) for row in rows]

    def entropy(given):
        total = 0.0
        for condition in {given(word) for word in words}:
            labels = [word[2] for word in words if given(word) == condition]
            total -= sum(math.log(labels.count(label) / len(labels)) for label in labels)
        return total / len(words)

    return entropy(lambda word: word[0]) - entropy(lambda word: word[:2]), sum(word[1] for word in words) / len(words)


def feats_of(sentence, vocabularies, node, row=None):
    """The numbers of a word's known single features; ``row`` replaces the word's."""
    if not 1 <= node <= len(sentence):
        return []
    feats, known = (row or sentence.rows[node - 1])[5], vocabularies["feat"]
    return [] if feats == "_" else [FIRST + known.index(f) for f in feats.split("|") if f in known]


def random64(text):
    """The fixed odd number of a string."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") | 1


def upper(product):
    """The upper half of a product modulo 2**64."""
    return product % 2**64 >> 32


def bin_of(distance):
    """1, 2, 3, 4, 5 to 9, 10 and more."""
    return min(max(distance, 1), 5) - 1 + (distance >= 10)


def code_of(name, part, nodes, n):
    """The geometrical code of a part."""
    if name == "none":
        return 0
    slot = dict(zip(WORDS_OF[part], nodes, strict=True))
    h, m = slot["h"], slot["m"]
    right = int(m > h)
    if name == "position":
        if part == "label_grandparent":
            return 1 if h == 0 else 2 + 2 * (h > slot["g"]) + right
        sides = tuple("lr"[slot[letter] > h] for letter in "sm" if slot[letter] <= n)
        first = {"s": 1, "m": 3, None: 5}["s" if slot["s"] > n else "m" if m > n else None]
        return first + sides.count("r")
    if name == "direction":
        return 1 + right
    if name == "distance":
        return 3 + 2 * bin_of(abs(h - m)) + right
    g = slot["g"]
    return 3 + 4 * (h > g) + 2 * (m > h) + (m > g)


def sibling_code(name, h, s, m, side, n):
    """The code of a transition on one side of a head."""
    if name == "none":
        return 0
    if name == "direction":
        return 1 + side
    near = h if s == n + 1 else s
    far = near if m == n + 2 else m
    return 3 + 2 * bin_of(abs(far - near)) + side


def third_code(name, part, nodes, side, n):
    """The code of a part of third order on one side of a head."""
    if name in ("none", "direction"):
        return 0 if name == "none" else 1 + side
    slot = dict(zip(WORDS_OF[part], nodes, strict=True))
    known = [slot[letter] for letter in "hrsm" if slot.get(letter, n + 1) <= n]  # neither START nor END, outward
    if name == "order":
        g, h, last = slot["g"], slot["h"], known[-1]
        return 3 + 4 * (h > g) + 2 * side + (last > g)
    near = slot["h"] if slot["r"] == n + 1 else slot["r"]
    return 3 + 2 * bin_of(abs(known[-1] - near)) + side


def places(sentence, vocabularies, spec, nodes, bits, side=None, rows=None):
    """The places of a part in a table of 2 ** bits weights, as a sorted list.

    ``rows`` are the columns of the part's own words, None where they are those of the sentence.
    """
    part, n = spec["part"], len(sentence)
    shift = 8 if part.startswith("label") else 0

    def code(name):
        if part == "sibling":
            return sibling_code(name, *nodes, side, n)
        if part in ("grandsibling", "trisibling"):
            return third_code(name, part, nodes, side, n)
        return code_of(name, part, nodes, n)

    slots = dict(zip(WORDS_OF[part], nodes, strict=True))
    own = dict(zip(WORDS_OF[part], rows or [None] * len(nodes), strict=True))
    found = []
    for template in spec["templates"]:
        text = " ".join(template.split())
        key, special = upper(random64(f"{part}/{text}")), [[]]
        kind = "plain"
        for word, offset, attribute in terms_of(text):
            name = "between" if word is None else f"{word}{offset:+d}"
            coefficient = random64(f"{part}/{text}/{name}.{attribute}")
            if word is None:
                low, high = sorted((slots["h"], slots["m"]))
                values = {number_of(sentence, vocabularies, b, attribute) for b in range(low + 1, high)}
                special, kind = [[*rest, upper(coefficient * v)] for rest in special for v in values], "special"
            elif attribute == "feat":
                values = feats_of(sentence, vocabularies, slots[word], own[word])
                special, kind = [[*rest, upper(coefficient * v)] for rest in special for v in values], "special"
            else:
                # Beyond the sentence there is nothing; what stands for none or for an end has no neighbours.
                node = slots[word] if slots[word] > n else slots[word] + offset
                beyond = slots[word] <= n and not 0 <= node <= n
                row = None if offset else own[word]
                number = OUTSIDE if beyond else number_of(sentence, vocabularies, node, attribute, row)
                key += upper(coefficient * number)
        names = spec["codes"] if kind == "plain" else ["direction"]
        for extra in special:
            place = ((key + sum(extra)) % 2**32) >> (32 - bits)
            found += [place ^ (code(name) << shift) for name in names]
    return sorted(found)


def listed(part, arcs):
    """The words of every part over these arcs in the order of `PartIndex`, each with its side (with siblings)."""
    n_nodes = len(arcs.start) - 1
    pairs = list(zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True))
    if part == "arc":
        return [(pair, None) for pair in pairs]
    found = []
    for h in range(n_nodes):
        rows = [[n_nodes, *candidates(arcs, h, side), n_nodes + 1] for side in (0, 1)]
        if part == "grandsibling":
            for g in [g for g, modifier in pairs if modifier == h]:
                for side, row in enumerate(rows):
                    found += [((g, h, row[a], row[b]), side) for b in range(1, len(row)) for a in range(b)]
        elif part == "trisibling":
            for side, row in enumerate(rows):
                places = sorted(itertools.combinations(range(len(row)), 3), key=lambda triple: triple[::-1])
                found += [((h, *(row[place] for place in triple)), side) for triple in places]
        elif part == "sibling":
            for side, outward in enumerate(rows):
                found += [((h, outward[a], outward[b]), side) for b in range(1, len(outward)) for a in range(b)]
        else:
            outward = candidates(arcs, h, 0) + candidates(arcs, h, 1)
            found += [((g, h, m), None) for g, modifier in pairs if modifier == h for m in outward]
    return found


def labelled(heads):
    """The words of every arc of a tree (h, m, g, l, r, a, z); node N if there is none."""
    none = len(heads)
    found = []
    for m in range(1, none):
        h = heads[m]
        siblings = [k for k in range(1, none) if heads[k] == h]
        own = [k for k in range(1, none) if heads[k] == m] or [none]
        place = siblings.index(m)
        left = siblings[place - 1] if place > 0 else none
        right = siblings[place + 1] if place + 1 < len(siblings) else none
        found.append((h, m, heads[h] if h > 0 else none, left, right, own[0], own[-1]))
    return found
