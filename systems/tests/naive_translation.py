"""Phrase-based translation from the definitions, in plain Python: a twin of `nonproj_systems.translation`."""

import itertools
import math
from collections import Counter, defaultdict
from functools import cache

BEGIN, END = 1, 2


# -- language model ----------------------------------------------------------------------------------------------------


def kneser_ney(sentences, n_words):
    """Log-probabilities of n-grams and of backing off, as dictionaries, by interpolated modified Kneser-Ney."""
    counts = [Counter(), Counter(), Counter()]
    for sentence in sentences:
        text = (BEGIN, *sentence, END)
        for order in (2, 3):
            counts[order - 1].update(zip(*(text[k:] for k in range(order)), strict=False))
    raw = counts[1]
    counts[1] = Counter({gram: raw[gram] for gram in raw if gram[0] == BEGIN})
    for gram in counts[2]:
        counts[1][gram[1:]] += 1
    counts[0] = Counter((gram[1],) for gram in counts[1])
    found = {}
    off = {}
    for order, table in enumerate(counts):
        discount = discounts(table.values())
        totals, left = Counter(), Counter()
        for gram, count in table.items():
            totals[gram[:-1]] += count
            left[gram[:-1]] += discount[min(count, 3)]
        for context, total in totals.items():
            off[context] = left[context] / total
        grams = [(word,) for word in range(n_words) if word != BEGIN] if order == 0 else table
        for gram in grams:
            lower = found[gram[1:]] if order else 1 / (n_words - 1)
            count = table[gram]
            own = (count - discount[min(count, 3)]) / totals[gram[:-1]] if count else 0.0
            found[gram] = own + off[gram[:-1]] * lower
    del off[()]
    logs = {gram: math.log(p) for gram, p in found.items()}
    return logs, {context: math.log(p) for context, p in off.items()}


def discounts(counts):
    """The discounts of counts 0, 1, 2, and 3 or more."""
    n = Counter(counts)
    if all(n[k] for k in (1, 2, 3, 4)):
        y = n[1] / (n[1] + 2 * n[2])
        found = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        if all(0 < d < k for d, k in zip(found, (1, 2, 3), strict=True)):
            return [0, *found]
    return [0, 0.5, 1.0, 1.5]


def score_word(lm, context, word):
    """The score of a word after up to two others."""
    scores, off = lm
    context = tuple(context)[-2:]
    if (*context, word) in scores:
        return scores[*context, word]
    return off.get(context, 0.0) + score_word(lm, context[1:], word)


def score_words(lm, words):
    """The score of a sentence, its end included."""
    text = (BEGIN, *words, END)
    return sum(score_word(lm, text[:k], text[k]) for k in range(1, len(text)))


# -- derivations -------------------------------------------------------------------------------------------------------


def score_derivation(phrases, derivation, lm, distortion, limit):
    """Phrases are (start, end, words, score); a derivation is a sequence of their positions in the list."""
    total, end, words = 0.0, 0, []
    for k in derivation:
        start, after, target, score = phrases[k]
        if abs(start - end) > limit:
            return -math.inf
        total += score + abs(start - end) * distortion
        end = after
        words += target
    return total + score_words(lm, words)


def derivations(n_words, phrases, limit):
    """All derivations that translate each word once, within the distortion limit."""

    def extend(covered, end):
        if len(covered) == n_words:
            yield ()
        for k, (start, after, _, _) in enumerate(phrases):
            if abs(start - end) <= limit and not covered & set(range(start, after)):
                for rest in extend(covered | set(range(start, after)), after):
                    yield k, *rest

    return extend(frozenset(), 0)


def best_valid(n_words, phrases, lm, distortion, limit):
    """The optimum of the decoding problem, by enumeration; minus infinity if there is no derivation."""
    return max(
        (score_derivation(phrases, d, lm, distortion, limit) for d in derivations(n_words, phrases, limit)),
        default=-math.inf,
    )


def best_relaxed(n_words, phrases, lm, distortion, limit, scores=None, counted=(), spans=False):
    """The score of the best derivation of N words in all, by states (two words, n, position, more).

    ``counted`` words are translated once; with ``spans``, no phrase overlaps the span of words that the phrases just
    before it have translated without a gap (Chang and Collins 2011).
    """
    scores = [0.0] * n_words if scores is None else scores

    @cache
    def best(context, n, end, span, done):
        if n == n_words:
            return score_word(lm, context, END) if done == frozenset(counted) else -math.inf
        found = -math.inf
        for start, after, target, score in phrases:
            words = set(range(start, after))
            if n + after - start > n_words or abs(start - end) > limit or words & done:
                continue
            if spans and start < span[1] and after > span[0]:
                continue
            joined = None
            if spans:
                joined = (span[0] if start == span[1] else start, span[1] if after == span[0] else after)
            total, text = score + abs(start - end) * distortion + sum(scores[i] for i in words), context
            for word in target:
                total += score_word(lm, text, word)
                text = (*text, word)[-2:]
            done_now = done | (words & set(counted))
            found = max(found, total + best(text, n + after - start, after, joined, done_now))
        return found

    return best((BEGIN,), 0, 0, (0, 0) if spans else None, frozenset())


# -- alignments --------------------------------------------------------------------------------------------------------


def model1_counts(pairs, table):
    """Expected counts of (given, emitted) words over all alignments; given sentences are preceded by null, 0."""
    counts = defaultdict(float)
    for given, emitted in pairs:
        given = (0, *given)
        paths = list(itertools.product(range(len(given)), repeat=len(emitted)))
        weights = [math.prod(table[given[i], e] for i, e in zip(path, emitted, strict=True)) for path in paths]
        for path, weight in zip(paths, weights, strict=True):
            for i, e in zip(path, emitted, strict=True):
                counts[given[i], e] += weight / sum(weights)
    return counts


def hmm_paths(given, emitted, table, jump, null):
    """All alignments (positions from 1, 0 for null) with their probabilities, and the jumps of each."""
    n = len(given)
    for path in itertools.product(range(n + 1), repeat=len(emitted)):
        last, weight, jumps = 0, 1.0, []
        for i, e in zip(path, emitted, strict=True):
            if i == 0:
                weight *= null * table[0, e]
            else:
                total = sum(jump(to - last) for to in range(1, n + 1))
                weight *= (1 - null) * jump(i - last) / total * table[given[i - 1], e]
                jumps.append(i - last)
                last = i
        yield path, weight, jumps


def hmm_counts(pairs, table, jump, null):
    """Expected counts of word pairs and of jumps, and the log-likelihood."""
    counts, jumps, likelihood = defaultdict(float), defaultdict(float), 0.0
    for given, emitted in pairs:
        found = list(hmm_paths(given, emitted, table, jump, null))
        total = sum(weight for _, weight, _ in found)
        likelihood += math.log(total)
        for path, weight, moves in found:
            for i, e in zip(path, emitted, strict=True):
                counts[(0, *given)[i], e] += weight / total
            for move in moves:
                jumps[move] += weight / total
    return counts, jumps, likelihood


def grow_diag_final_and(forward, backward):
    """Points (source, target) from the source of each target word and the target of each source word; -1 for none."""
    first = {(i, j) for j, i in enumerate(forward) if i >= 0}
    second = {(i, j) for i, j in enumerate(backward) if j >= 0}
    found, size = first & second, None

    def free(i, j, both):
        row, column = all(i != a for a, _ in found), all(j != b for _, b in found)
        return row and column if both else row or column

    while size != len(found):
        size = len(found)
        for i, j in sorted(first | second):
            near = any(abs(i - a) <= 1 and abs(j - b) <= 1 for a, b in found)
            if (i, j) not in found and near and free(i, j, both=False):
                found.add((i, j))
    for points in (first, second):
        for i, j in sorted(points):
            if free(i, j, both=True):
                found.add((i, j))
    return found


def consistent_phrases(n, m, points, longest):
    """All (first, last, first, last) of source and target with a point inside and none with just one end inside."""
    return {
        (a, b, c, d)
        for a in range(n)
        for b in range(a, min(a + longest, n))
        for c in range(m)
        for d in range(c, min(c + longest, m))
        if any(a <= i <= b and c <= j <= d for i, j in points)
        and all((a <= i <= b) == (c <= j <= d) for i, j in points)
    }


def phrase_scores(pairs, points, longest):
    """The four probabilities of each phrase pair (words of source, words of target), from the definitions."""
    joint, lexical = Counter(), {}
    words, given_source, given_target = Counter(), Counter(), Counter()
    links = []
    for (source, target), matrix in zip(pairs, points, strict=True):
        found = list(matrix)
        found += [(i, None) for i in range(len(source)) if all(i != a for a, _ in matrix)]
        found += [(None, j) for j in range(len(target)) if all(j != b for _, b in matrix)]
        links.append(found)
        for i, j in found:
            f, e = None if i is None else source[i], None if j is None else target[j]
            words[f, e] += 1
            given_source[f] += 1
            given_target[e] += 1
    for (source, target), matrix, found in zip(pairs, points, links, strict=True):

        def mean(side, k, found=found, source=source, target=target):
            shares = []
            for i, j in found:
                if (i, j)[side] == k:
                    f, e = None if i is None else source[i], None if j is None else target[j]
                    shares.append(words[f, e] / (given_target[e] if side == 0 else given_source[f]))
            return sum(shares) / len(shares)

        for a, b, c, d in consistent_phrases(len(source), len(target), matrix, longest):
            key = tuple(source[a : b + 1]), tuple(target[c : d + 1])
            joint[key] += 1
            own = math.prod(mean(1, j) for j in range(c, d + 1)), math.prod(mean(0, i) for i in range(a, b + 1))
            lexical[key] = tuple(map(max, own, lexical.get(key, own)))
    sources, targets = Counter(), Counter()
    for (f, e), count in joint.items():
        sources[f] += count
        targets[e] += count
    return {key: (count / sources[key[0]], count / targets[key[1]], *lexical[key]) for key, count in joint.items()}


# -- BLEU --------------------------------------------------------------------------------------------------------------
