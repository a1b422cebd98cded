"""Tagging from the definitions: probabilities by counting, scores template by template, the best of all sequences."""

import itertools
from collections import Counter

from naive_scoring import random64, upper
from naive_text import sequence_hash

LEVELS = {"upos": 1, "pos": 2, "full": 3}
"""Number of columns of UPOS, XPOS and FEATS in each level of a tag."""


def text_hash(text):
    """The hash of a text, of 32 bits: of its length, and of its characters by their places."""
    return sequence_hash([ord(c) for c in text], len(text))


# Probabilities out of context


def kind_of(form):
    """The kind of case of a form."""
    lower = form.lower()
    if form == lower:
        return "a|" if form.isalpha() else "d|" if any(c.isdigit() for c in form) else "-|"
    return "A|" if form[1:] == lower[1:] else "B|" if form.isupper() else "b|"


def mixed(p, counts, weight):
    """A distribution with a pseudo-count in words, to which counts are added."""
    if not counts:
        return p
    total = sum(counts.values()) + weight
    return {tag: (weight * p[tag] + counts[tag]) / total for tag in p}


def probabilities(words, form, tags, weights, longest=7, rare=10):
    """The probability of each tag for a form, given the training words (form, tag) and three weights."""
    of_suffix, of_lower, of_form = weights
    frequency = Counter(f for f, _ in words)
    p = dict.fromkeys(tags, 1e-6 / len(tags))
    known = [(f.lower(), tag) for f, tag in words if frequency[f] <= rare and kind_of(f) == kind_of(form)]
    for length in range(min(longest, len(form.lower())) + 1):
        suffix = form.lower()[len(form.lower()) - length :]
        p = mixed(p, Counter(tag for f, tag in known if f.endswith(suffix)), of_suffix)
    p = mixed(p, Counter(tag for f, tag in words if f.lower() == form.lower()), of_lower)
    return mixed(p, Counter(tag for f, tag in words if f == form), of_form)


# Scores


def level_number(tags, tag, level):
    """The number of a tag's level, from 1 in the order of the tags; 0 for the beginning of the sentence."""
    if tag is None:
        return 0
    prefixes = list(dict.fromkeys(t[: LEVELS[level]] for t in tags))
    return 1 + prefixes.index(tag[: LEVELS[level]])


def value_of(tagset, tag, attribute):
    """The number of a tag's value of a numbered attribute; 0 for none."""
    return 0 if tag is None else int(tagset.values[tagset.number[tag], attribute])


def units_of(tagset, tag):
    """The parts of a tag, each with its attribute or -1."""
    t = tagset.number[tag]
    chosen = slice(tagset.unit_start[t], tagset.unit_start[t + 1])
    return list(zip(tagset.units[chosen].tolist(), tagset.unit_attribute[chosen].tolist(), strict=True))


def kind_of_template(text):
    """Items that a template reads: words, the tag before, or both tags before."""
    return "two" if "q." in text else "one" if "p." in text else "words"


def places(texts, tagset, atoms, priors, before, tag, bits):
    """The places of the features of one word, by kind of template.

    ``atoms(offset, attribute)`` is a number, ``priors`` are hashes, ``before`` are the two tags before.
    """
    found = {"words": [], "one": [], "two": []}
    for prior in priors:
        place = prior >> (32 - bits)
        found["words"] += [place] + [place ^ unit for unit, _ in units_of(tagset, tag)]
    for text in texts:
        for unit, attribute in units_of(tagset, tag):
            key = random64(f"tagger/{text}") >> 32
            if "same" in text and attribute < 0:
                continue
            for term in text.split():
                slot, name = term.split(".")
                offset = int(slot[1:] or 0)
                if slot[0] == "w":
                    number = atoms(offset, name) % 2**32
                elif name == "same":
                    number = value_of(tagset, before["pq".index(slot)], attribute)
                else:
                    number = level_number(tagset.tags, before["pq".index(slot)], name)
                key += upper(random64(f"tagger/{text}/{slot[0]}{offset:+d}.{name}") * number)
            found[kind_of_template(text)].append((key % 2**32 >> (32 - bits)) ^ unit)
    return found


def features(texts, tagset, sentence, sequence, bits, kinds=("words", "one", "two")):
    """The places of all features of a tag sequence; a word of the sentence is its attributes and its tags' priors."""
    found = []
    for i, (_, priors) in enumerate(sentence):

        def atoms(offset, name, i=i):
            return sentence[i + offset][0][name] if 0 <= i + offset < len(sentence) else 0

        before = [sequence[i - k] if i >= k else None for k in (1, 2)]
        by_kind = places(texts, tagset, atoms, priors[sequence[i]], before, sequence[i], bits)
        found += [place for kind in kinds for place in by_kind[kind]]
    return found


def sequences(candidates):
    """All sequences of candidates."""
    return list(itertools.product(*candidates))


def pruned(scores, candidates, threshold, limit):
    """The candidates of each word in sequences nearly as good as the best, best first, up to a maximum number.

    ``scores`` are those of all sequences, in the order of `sequences`.
    """
    listed = sequences(candidates)
    kept = []
    for i, tags in enumerate(candidates):
        best = {tag: max(s for s, seq in zip(scores, listed, strict=True) if seq[i] == tag) for tag in tags}
        near = [tag for tag in tags if best[tag] >= max(best.values()) - threshold]
        kept.append(sorted(near, key=lambda tag: -best[tag])[:limit])
    return kept


# Edit scripts


def indel_distance(source, target):
    """The fewest insertions and deletions from one text to another: all but a longest common subsequence."""
    row = [0] * (len(target) + 1)
    for a in source:
        previous = row
        row = [0]
        for j, b in enumerate(target):
            row.append(previous[j] + 1 if a == b else max(previous[j + 1], row[j]))
    return len(source) + len(target) - 2 * row[-1]


def longest_common(source, target):
    """The length of the longest common substring."""
    found = {source[i:j] for i in range(len(source)) for j in range(i, len(source) + 1)}
    return max((len(text) for text in found if text in target), default=0)
