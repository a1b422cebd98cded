"""Labels of a tree decided together, from the definition: all labellings are enumerated."""

import itertools

import naive_scoring


def pairs_of(heads):
    """The words (h, s, m) of adjacent modifiers, and (g, h, m) of consecutive arcs; N is START or none, N + 1 END."""
    nodes = len(heads)
    siblings = []
    for h in range(nodes):
        own = [m for m in range(1, nodes) if heads[m] == h]
        if own:
            siblings += [(h, s, m) for s, m in itertools.pairwise([nodes, *own, nodes + 1])]
    return siblings, [(heads[h] if h > 0 else nodes, h, m) for m, h in enumerate(heads) if m > 0]


def pair_places(sentence, vocabularies, spec, words, labels, bits):
    """The places of a pair of labels: a hash of the first moves the line, the second picks the weight in it."""
    first, second = labels
    moved = (first * 0x9E3779B1) % 2**32 >> (32 - bits)
    places = naive_scoring.places(sentence, vocabularies, spec, words, bits)
    return [(place ^ moved) // 16 * 16 ^ second for place in places]


def score_of(heads, labels, single, score_of_pair):
    """The score of a labelling; ``labels[m]`` is that of word m, and that of the root, START and END is 0."""
    total = sum(single[m - 1][labels[m]] for m in range(1, len(heads)))
    return total + sum(
        score_of_pair(kind, words, (labels.get(words[1], 0), labels.get(words[2], 0)))
        for kind, listed in enumerate(pairs_of(heads))
        for words in listed
    )


def labellings(allowed):
    """All labellings of words 1 to n, each with one of its labels."""
    for labels in itertools.product(*allowed):
        yield dict(enumerate(labels, 1))


def best_labellings(heads, allowed, single, score_of_pair):
    """The highest score, the labellings that have it, and the highest score with each label of each word."""
    best, found, highest = -float("inf"), [], {}
    for labels in labellings(allowed):
        score = score_of(heads, labels, single, score_of_pair)
        if score > best:
            best, found = score, []
        if score == best:
            found.append(labels)
        for item in labels.items():
            highest[item] = max(score, highest.get(item, -float("inf")))
    return best, found, highest
