"""Naive twins of the model of multiword tokens: all analyses of a token, one by one, and their scores by definition."""

import functools
import math
import unicodedata

from naive_text import feature_hashes, sequence_hash


def split_marks(form: str, marks: str) -> tuple[str, list[int]]:
    """A token without marks, and the number of the vowels after each of its characters."""
    kept: list[list[str]] = []
    for character in form.lower():
        if character in marks and kept:
            kept[-1].append(character)
        else:
            kept.append([character])
    numbers = []
    for _, *own in kept:
        number = 0
        for mark in own:
            if unicodedata.combining(mark) < 200:
                number = (31 * number + ord(mark)) % 2**32
        numbers.append(number)
    return "".join(first for first, *_ in kept), numbers


def shape(form: str) -> int:
    """The class of a token's kinds of characters."""
    other = any(not (c.isalnum() or unicodedata.category(c) in ("Mn", "Mc", "Me")) for c in form)
    bits = form[0].isupper(), any(c != c.lower() for c in form[1:]), any(c.isdigit() for c in form), other
    return sum(2**k for k, bit in enumerate(bits) if bit)


def attributes(form: str, marks: str, segment) -> dict[str, int]:
    """Attributes of a segment in templates."""
    text, vowels = split_marks(form, marks)

    def key(part) -> int:
        return sequence_hash([ord(c) if isinstance(c, str) else c for c in part], len(part))

    begin, end = segment.begin, segment.end
    own = text[begin:end]
    values = {
        "kind": segment.kind, "place": segment.place, "edit": segment.edit, "word": segment.word,
        "frequency": segment.frequency, "known": segment.known, "shape": shape(form), "length": min(len(own), 9),
        "segment": key(own), "marked": (key(own) + 3 * key(vowels[begin:end])) % 2**32, "mark": vowels[begin],
        "lastmark": vowels[end - 1], "before": key(text[:begin]), "after": key(text[end:]),
    }  # fmt: skip
    for size in (1, 2, 3):
        left, right = text[max(begin - size, 0) : begin], text[end : end + size]
        values[f"l{size}"] = (key(left) + size - len(left)) % 2**32
        values[f"r{size}"] = (key(right) + size - len(right)) % 2**32
        values[f"f{size}"] = key(own[:size])
    return values | {f"b{size}": key(own[-size:]) for size in (1, 2, 3, 4)}


def analyses(segments) -> list[list[int]]:
    """All analyses of a token, each as the numbers of its segments; no two open ones are adjacent."""
    length = max(segment.end for segment in segments)

    def following(path: list[int]) -> list[list[int]]:
        end = segments[path[-1]].end if path else 0
        if path and end == length:
            return [path]
        found = []
        for number, segment in enumerate(segments):
            both = path and segment.kind == segments[path[-1]].kind == 3
            if segment.begin == end and not both:
                found += following([*path, number])
        return found

    return following([])


def feature_places(form: str, marks: str, segments, size: int, templates):
    """A function that returns the places of the features of a segment, or of one and that before it."""
    shift = 33 - size.bit_length()
    rows = [attributes(form, marks, segment) for segment in segments]

    @functools.cache
    def places(number: int, before: int | None) -> list[int]:
        values = {f"s.{name}": value for name, value in rows[number].items()}
        if before is None:
            keys = feature_hashes("segment", templates[0], values)
        else:
            both = values | {f"s-1.{name}": value for name, value in rows[before].items()}
            keys = feature_hashes("segments", templates[1], both)
        return [key >> shift for key in keys]

    return places


def parts(path: list[int]) -> list[tuple[int, int | None]]:
    """The segments of an analysis, each alone and each with that before it."""
    return [*((number, None) for number in path), *zip(path[1:], path, strict=False)]


def scores(form: str, marks: str, segments, paths: list[list[int]], weights, templates) -> list[float]:
    """The score of each analysis: the sum of the weights of its segments and pairs; ``templates`` are those of both."""
    places = feature_places(form, marks, segments, len(weights), templates)
    return [math.fsum(float(weights[k]) for part in parts(path) for k in places(*part)) for path in paths]


def feature_shares(
    form: str, marks: str, segments, paths: list[list[int]], size: int, templates
) -> dict[int, list[float]]:
    """For each place, and each segment or pair with a feature there, the share of the analyses that have it."""
    places = feature_places(form, marks, segments, size, templates)
    every = sorted({part for path in analyses(segments) for part in parts(path)}, key=str)
    found: dict[int, list[float]] = {}
    for part in every:
        for place in places(*part):
            found.setdefault(place, []).append(sum(part in parts(path) for path in paths) / len(paths))
    return found
