"""Contents of a picture, from its SVG alone, and which arcs of a tree cross, from the definition."""

import itertools
import re
import xml.etree.ElementTree as ElementTree

from naive_crossing import cross

SVG = "{http://www.w3.org/2000/svg}"


def crossing_pairs(heads):
    """Return the pairs of modifiers whose arcs cross, the arc from the root being a line that comes from above."""
    arcs = [(heads[m], m) for m in range(1, len(heads))]
    return {(one[1], other[1]) for one, other in itertools.combinations(arcs, 2) if cross(one, other)}


def corners(path):
    """Return the points of a line of an arc, whose round corners count as sharp."""
    numbers = [float(text) for text in re.findall(r"-?[\d.]+", path)]
    if "Q" not in path:
        x, top, tip = numbers
        return [(x, top), (x, tip)]
    x, foot, _, _, top, _, _, _, end, _, _, _, tip = numbers
    return [(x, foot), (x, top), (end, top), (end, tip)]


def parsed(svg):
    """Return the root of an SVG document, its words' middles, and for each arc its class, modifier and corners."""
    root = ElementTree.fromstring(svg)
    centers = [float(text.get("x")) for text in root.iter(f"{SVG}text") if text.get("class") == "form"]
    arcs = []
    for group in root.iter(f"{SVG}g"):
        lines = [path for path in group.iter(f"{SVG}path") if path.get("fill") == "none" and path.get("class") is None]
        arcs.append((group.get("class").split(), int(group.get("data-word")), corners(lines[0].get("d"))))
    return root, centers, arcs


def crossings(first, second):
    """Return how often two lines of horizontal and vertical pieces meet."""
    count = 0
    for (a, b), (c, d) in itertools.product(itertools.pairwise(first), itertools.pairwise(second)):
        (left, right), (low, high) = sorted((a[0], b[0])), sorted((a[1], b[1]))
        (left2, right2), (low2, high2) = sorted((c[0], d[0])), sorted((c[1], d[1]))
        count += left <= right2 and left2 <= right and low <= high2 and low2 <= high
    return count
