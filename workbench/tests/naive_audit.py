"""Variation nuclei, from the definition, without any index."""


def with_borders(forms):
    """The words of a sentence between two borders."""
    return ["", *forms, ""]


def differ(one, other):
    """Whether two annotations differ in a column that both have; a dependency differs from none, which is ("", "")."""
    if ("", "") in (one, other):
        return one != other
    return any(a != b for a, b in zip(one, other, strict=True) if a and b)


def rival(own, others):
    """The most frequent different annotation, and the counts of ``own`` and of it; None if it is rarer than ``own``."""
    different = [each for each in others if differ(each, own)]
    best = max(sorted(set(different)), key=different.count, default=None)
    if best is None or different.count(best) < others.count(own):
        return None
    return best, others.count(own), different.count(best)


def word_variations(sentences, value):
    """Rivals, by (sentence, word), of the same word between the same two words; ``sentences`` are lists of rows."""
    found = {}
    for i, rows in enumerate(sentences):
        words = with_borders([row[1] for row in rows])
        for m in range(1, len(rows) + 1):
            same = []
            for others in sentences:
                theirs = with_borders([row[1] for row in others])
                places = range(1, len(others) + 1)
                same += [value(others[k - 1]) for k in places if theirs[k - 1 : k + 2] == words[m - 1 : m + 2]]
            other = rival(value(rows[m - 1]), same)
            if other:
                found[i, m] = other
    return found


def annotation(rows, low, high):
    """Label and direction of the dependency between two words; two empty strings if there is none."""
    if int(rows[low - 1][6]) == high:
        return rows[low - 1][7].strip("_"), "<"
    if int(rows[high - 1][6]) == low:
        return rows[high - 1][7].strip("_"), ">"
    return "", ""


def pair_variations(sentences, longest):
    """Rivals, by (sentence, word, word), of the same two words with the same words between and around.

    Pairs that are nowhere linked in this context are left out.
    """
    found = {}
    for i, rows in enumerate(sentences):
        words = with_borders([row[1] for row in rows])
        for low in range(1, len(rows) + 1):
            for high in range(low + 1, min(len(rows), low + longest) + 1):
                same = []
                for others in sentences:
                    theirs = with_borders([row[1] for row in others])
                    for k in range(1, len(others) - (high - low) + 1):
                        end = k + high - low
                        if theirs[k - 1 : end + 2] == words[low - 1 : high + 2]:
                            same.append(annotation(others, k, end))
                other = rival(annotation(rows, low, high), same)
                if other and set(same) != {("", "")}:
                    found[i, low, high] = other
    return found
