"""Non-projective arcs, and the value of a tree where they have a price, from the definitions."""


def crossing_arcs(heads):
    """The modifiers whose arc passes over a word that does not depend on its head, directly or not."""
    found = []
    for m in range(1, len(heads)):
        between = range(min(heads[m], m) + 1, max(heads[m], m))
        if any(heads[m] not in path(heads, word) for word in between):
            found.append(m)
    return found


def path(heads, word):
    """The words from a word up to the root."""
    found = [word]
    while word != 0:
        word = heads[word]
        found.append(word)
    return found


def value(heads, score, price):
    """The score of a tree, less the price if it has a non-projective arc."""
    return score - price if crossing_arcs(heads) else score
