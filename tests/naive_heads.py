"""A naive twin: the scores that the layers behind an encoder give, from their definitions, one number after another."""


def hidden(x, weights, bias):
    """Return the leaky rectified product of a vector with a matrix, plus the bias."""
    size = len(bias)
    sums = [sum(x[i] * weights[i][j] for i in range(len(x))) + bias[j] for j in range(size)]
    return [s if s > 0 else 0.1 * s for s in sums]


def dot(x, y):
    """Return the inner product."""
    return sum(a * b for a, b in zip(x, y, strict=True))


def arc_score(own, vectors, h, m):
    """Return the biaffine score of an arc (Dozat and Manning 2017, equation 9)."""
    head = hidden(vectors[h], own["arc_head_in"], own["arc_head_bias"])
    modifier = hidden(vectors[m], own["arc_modifier_in"], own["arc_modifier_bias"])
    product = sum(head[i] * own["arc_product"][i][j] * modifier[j] for i in range(len(head)) for j in range(len(head)))
    return product + dot(head, own["arc_head_weight"]) + dot(modifier, own["arc_modifier_weight"])


def label_score(own, vectors, h, m, label):
    """Return the biaffine score of a label of an arc (Dozat and Manning 2017, equation 3)."""
    head = hidden(vectors[h], own["label_head_in"], own["label_head_bias"])
    modifier = hidden(vectors[m], own["label_modifier_in"], own["label_modifier_bias"])
    matrix = own["label_product"][label]
    product = sum(head[i] * matrix[i][j] * modifier[j] for i in range(len(head)) for j in range(len(head)))
    linear = dot(head, [row[label] for row in own["label_head_weight"]])
    return (
        product
        + linear
        + dot(modifier, [row[label] for row in own["label_modifier_weight"]])
        + own["label_weight"][label]
    )


def tag_score(own, vector, parts):
    """Return the score of a tag by the numbers of its parts."""
    layer = hidden(vector, own["tag_in"], own["tag_bias"])
    return sum(dot(layer, own["tag_output"][part]) for part in parts)


def part_score(own, name, vectors, words):
    """Return the trilinear score of a sibling or grandparent part; word N is START and N + 1 is END."""
    layers = []
    for slot, word in enumerate(words):
        if word < len(vectors):
            layers.append(hidden(vectors[word], own[f"{name}_factors"][slot], own[f"{name}_offsets"][slot]))
        else:
            layers.append(own[f"{name}_special"][slot][word - len(vectors)])
    return sum(w * a * b * c for w, a, b, c in zip(own[f"{name}_weight"], *layers, strict=True))
