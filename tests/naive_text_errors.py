"""Errors of parsed text from their definitions: words by character, aligned as given; it imports nothing of ours."""

from collections import Counter


def read(text):
    """Sentences of CoNLL-U: words as (token number, columns), and tokens as (characters, form, words)."""
    sentences, position = [], 0
    for block in text.strip("\n").split("\n\n"):
        words, tokens, inside = [], [], 0
        for line in block.split("\n"):
            row = line.split("\t")
            first, _, last = row[0].partition("-")
            if last or inside == 0:
                tokens.append([list(range(position, position + len(row[1]))), row[1], []])
                position += len(row[1])
            if last:
                inside = int(last) - int(first) + 1
                continue
            inside = max(inside - 1, 0)
            tokens[-1][2].append(row[1])
            words.append(row)
        sentences.append((words, tokens))
    return sentences


def boundaries(sentences):
    """The number of characters before each boundary within the text."""
    return {end for _, end in spans(sentences)[:-1]}


def token_differences(gold, system):
    """Counts of (kind, gold tokens, system tokens): the smallest runs of tokens with the same characters."""
    found = Counter()
    one, two = ([token for _, tokens in sentences for token in tokens] for sentences in (gold, system))
    cuts = [{token[0][-1] for token in tokens} for tokens in (one, two)]
    start = 0
    for end in sorted(cuts[0] & cuts[1]):
        runs = [[token for token in tokens if start <= token[0][0] and token[0][-1] <= end] for tokens in (one, two)]
        start = end + 1
        texts = tuple(" | ".join(shown(token) for token in run) for run in runs)
        sizes = tuple(len(run) for run in runs)
        several = tuple(len(run[0][2]) > 1 for run in runs)
        if sizes != (1, 1):
            kind = "token split" if sizes[0] == 1 else "tokens joined" if sizes[1] == 1 else "other token boundaries"
        elif several == (True, True):
            if texts[0].lower() == texts[1].lower():
                continue
            kind = "multiword token expanded differently"
        elif several == (False, False):
            continue
        else:
            kind = "multiword token not expanded" if several[0] else "word expanded"
        found[kind, *texts] += 1
    return found


def shown(token):
    return token[1] if len(token[2]) == 1 else f"{token[1]} = {' + '.join(token[2])}"


def flat(sentences):
    """Words as (sentence number, index of the head or None, columns), the sentence's characters among them."""
    words = []
    for number, (rows, _) in enumerate(sentences):
        before = len(words)
        words += [(number, before + int(row[6]) - 1 if row[6] != "0" else None, row) for row in rows]
    return words


def spans(sentences):
    found, position = [], 0
    for _, tokens in sentences:
        size = sum(len(token[0]) for token in tokens)
        found.append((position, position + size))
        position += size
    return found


def causes(gold, system, pairs):
    """Count the cause of each gold word whose head and label are not correct; pairs of aligned words by index."""
    one, two = flat(gold), flat(system)
    to, back = dict(pairs), {s: g for g, s in pairs}
    whole = set(spans(gold)) & set(spans(system))
    found = Counter()
    for g, (sentence, head, row) in enumerate(one):
        if g not in to:
            found["word not found"] += 1
            continue
        s = to[g]
        other, own, mine = two[s]
        right = own is None if head is None else own is not None and back.get(own) == head
        label = row[7].split(":")[0] == mine[7].split(":")[0]
        if right and label:
            continue
        if head is not None and head not in to:
            found["word of the head not found"] += 1
        elif (
            not right
            and spans(gold)[sentence] not in whole
            and (
                head is None
                or own is None
                or two[to[head]][0] != other
                or (own in back and one[back[own]][0] != sentence)
            )
        ):
            found["sentence boundary"] += 1
        elif row[3] != mine[3] or (head is not None and one[head][2][3] != two[to[head]][2][3]):
            found["tag of the word or its head"] += 1
        else:
            found["label only" if right else "head only"] += 1
    return found


def features(gold, system, pairs, kept):
    """Count (attribute, kind) of different features of aligned words."""
    one, two, found = flat(gold), flat(system), Counter()
    for g, s in pairs:
        mine, other = (
            {a.split("=")[0]: a for a in row[5].split("|") if a != "_" and a.split("=")[0] in kept}
            for row in (one[g][2], two[s][2])
        )
        for name in set(mine) | set(other):
            if mine.get(name) != other.get(name):
                kind = "missing" if name not in other else "superfluous" if name not in mine else "wrong"
                found[name, kind] += 1
    return found
