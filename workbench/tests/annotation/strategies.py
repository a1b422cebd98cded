"""Sentences with everything that CoNLL-U has, drawn at random."""

import naive_annotation as naive
from hypothesis import strategies as st


def draw_ranges(draw, n):
    """The first and last words of multiword tokens."""
    ranges, word = {}, 1
    while word < n:
        last = draw(st.integers(word, min(n, word + 2)))
        if last > word and draw(st.booleans()):
            ranges[word] = last
            word = last
        word += 1
    return ranges


@st.composite
def sentences(draw, most=7):
    """Lines of a sentence: words with any references, multiword tokens, empty nodes, and comments."""
    n = draw(st.integers(1, most))
    forms = [draw(st.sampled_from(["a", "bc", "ש", "漢字", "d e", "x-y", "é"])) for _ in range(n)]
    empties = [draw(st.integers(0, 2)) if draw(st.integers(0, 4)) == 0 else 0 for _ in range(n + 1)]
    names = ["0", *map(str, range(1, n + 1))]
    nodes = names + [f"{w}.{k}" for w, count in enumerate(empties) for k in range(1, count + 1)]
    ranges, lines = draw_ranges(draw, n), []

    def deps():
        def place(edge):
            whole, _, part = edge.split(":")[0].partition(".")
            return int(whole), int(part or 0), edge

        edges = draw(
            st.sets(st.sampled_from([f"{node}:{label}" for node in nodes for label in ("x", "y:z")]), max_size=3)
        )
        return "|".join(sorted(edges, key=place)) or "_"

    def misc(word):
        items = (
            ["SpaceAfter=No"] * draw(st.booleans()) + ["Gloss=g"] * draw(st.booleans()) + ["Flag"] * draw(st.booleans())
        )
        others = [name for name in names if name != str(word)]
        if word and draw(st.booleans()):
            items.append(f"Head={draw(st.sampled_from(others))}")
        if word and draw(st.booleans()):
            items += [f"NotHead={draw(st.sampled_from(others))}", "Deprel=x"]
        return "|".join(items) or "_"

    def empty_nodes(word):
        numbers = range(1, empties[word] + 1)
        lines.extend("\t".join([f"{word}.{k}", "e", *"_____", "_", deps(), misc(0)]) for k in numbers)

    empty_nodes(0)
    for word, form in enumerate(forms, 1):
        if word in ranges:
            space = draw(st.sampled_from(["_", "SpaceAfter=No"]))
            lines.append("\t".join([f"{word}-{ranges[word]}", "mwt", *"_______", space]))
        head = draw(st.sampled_from([*(name for name in names if name != str(word)), "_"]))
        label = "_" if head == "_" else draw(st.sampled_from(["nsubj", "obj"]))
        lines.append("\t".join([str(word), form, "l", "T", "t", "f=1", head, label, deps(), misc(word)]))
        empty_nodes(word)
    text = "\n".join(lines) + "\n\n"
    kind = draw(st.sampled_from(["none", "right", "other"]))
    comments = ["# sent_id = s1"] if draw(st.booleans()) else []
    if kind != "none":
        comments.append(f"# text = {naive.Sentence(text).surface() if kind == 'right' else 'something'}")
    comments += ["# note = n"] if draw(st.booleans()) else []
    return "".join(f"{line}\n" for line in comments) + text
