"""Requirements of CoNLL-U beyond reading: most of levels 1 and 2 of the validator of Universal Dependencies."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator

_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_UPOS = re.compile("ADJ|ADP|ADV|AUX|CCONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT|SCONJ|SYM|VERB|X")
_FEATURE = re.compile(r"([A-Z0-9][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)")
_RELATION = re.compile(r"[a-z]+(:[a-z]+)?")
_ENHANCED = re.compile(r"((?:0|[1-9][0-9]{0,8})(?:\.[1-9][0-9]{0,8})?):([a-z]+(?::[^:|\s]+)*)")


_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(.*\S)")
_TEXT = re.compile(r"#\s*text\s*=\s*(.*\S)")


class SentenceIds:
    """The values of ``sent_id`` in a treebank, which must be unique; 16 bytes are kept for each.

    Examples
    --------
    >>> ids = SentenceIds()
    >>> [ids.is_repeated(line) for line in ("# sent_id = a", "# sent_id = b", "# text = a", "# sent_id = a")]
    [False, False, False, True]
    """

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def is_repeated(self, line: str) -> bool:
        """Return whether a line is a ``sent_id`` that an earlier line had."""
        match = _SENT_ID.match(line)
        if not match:
            return False
        digest = hashlib.blake2b(match[1].encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = digest in self._seen
        self._seen.add(digest)
        return known


def violations(block: list[str], with_tree: bool, at_start: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines of a sentence that violate CoNLL-U, by their index, each with a message.

    Parameters
    ----------
    block : list of str
        The lines, comments and blank lines included; `nonproj.io.conll.read` accepts them otherwise.
    with_tree : bool
        Whether to check HEAD and DEPREL, too.
    at_start : bool
        Whether this is the first sentence of a file, which a byte order mark may precede.

    Examples
    --------
    >>> word = "1\\tRegn\\t_\\tN\\t_\\t_\\t0\\troot\\t_\\t_\\n"
    >>> list(violations(["# sent_id = 1\\n", "# text = Regn\\n", word, "\\n"], True))
    [(2, "UPOS is 'N', not a tag of Universal Dependencies")]
    """
    lines = [line.removesuffix("\n") for line in block]
    lines[0] = lines[0].removeprefix("\ufeff") if at_start else lines[0]
    for key in ("sent_id", "text"):
        found = sum(bool(re.match(rf"#\s*{key}\s*=\s*\S", line)) for line in lines)
        if found != 1:
            yield 0, f"the sentence has {found} comments '# {key} = ...', 1 expected"
    nodes = {line.partition("\t")[0] for line in lines}
    roots, node, number = [], "0", 0
    for index, line in enumerate(lines):
        yield from ((index, message) for message in _of_line(line, last=index == len(lines) - 1))
        row = line.split("\t")
        if len(row) < 10 or line[0] == "#":
            continue
        yield from ((index, message) for message in _of_columns(row[:10], nodes, with_tree))
        if "-" in row[0]:
            continue
        number = number + 1 if "." in row[0] else 0
        node = row[0].partition(".")[0]
        if number and row[0] != f"{node}.{number}":
            yield index, f"ID is {row[0]!r}, {node}.{number} expected"
        roots += [index] if row[6] == "0" else []
    yield from _of_id(lines)
    yield from _of_text(lines)
    if lines[-1]:
        yield len(lines) - 1, "a blank line is missing after the last sentence"
    if with_tree and len(roots) != 1:
        yield roots[-1] if roots else 0, f"the sentence has {len(roots)} roots, 1 expected"


def _of_text(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Compare the comment ``text`` with the surface words, and their spaces with ``SpaceAfter=No``."""
    found = next(((index, match) for index, line in enumerate(lines) if (match := _TEXT.match(line))), None)
    if found is None:
        return
    place, rest, end, form = found[0], found[1][1], 0, ""
    if lines[place] != lines[place].rstrip():
        yield place, "# text ends with a space"
    for index, line in enumerate(lines):
        row = line.split("\t")
        if len(row) < 10 or line[0] == "#":
            continue
        values = [value for value in row[9].split("|") if value.startswith(("SpaceAfter=", "NoSpaceAfter="))]
        first, _, last = row[0].partition("-")
        inside = "." in row[0] or (not last and int(first) <= end)  # an empty node, or part of a multiword token
        if values not in ([], ["SpaceAfter=No"]) or (values and inside):
            yield index, f"MISC has {values[0]!r}; SpaceAfter=No expected, and only once, at a surface word"
        if inside:
            continue
        end, form = int(last or first), row[1]
        if not rest.startswith(form):
            yield index, f"FORM is {form!r}, but # text continues with {rest[: len(form) + 10]!r}"
            return
        rest = rest[len(form) :]
        if not values:
            if rest and not rest[0].isspace():
                yield index, f"no space follows {form!r} in # text; SpaceAfter=No is missing"
                return
            rest = rest.lstrip()
    if rest:
        yield place, f"# text ends with {rest!r}, which is not a word"


def _of_id(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Check the form of the comment ``sent_id``."""
    for index, line in enumerate(lines):
        if re.match(r"#\s*sent_id", line) and not re.fullmatch(r"#\s*sent_id\s*=\s*[^\s/]+", line):
            yield index, f"sent_id is {line.partition('=')[2].strip()!r}, one word without a slash expected"


def _of_line(line: str, last: bool) -> Iterator[str]:
    if line.endswith("\r"):
        yield "the line ends with a carriage return"
    if not line.strip() and (line or not last):
        yield "a blank line must be empty, and single"
    if not unicodedata.is_normalized("NFC", line):
        yield "the text is not in Unicode normalization form C"


def _of_columns(row: list[str], nodes: set[str], with_tree: bool) -> Iterator[str]:
    for name, value in zip(_COLUMNS, row, strict=True):
        if not value.strip():
            yield f"{name} is {'blank' if value else 'empty'}"
        elif value != value.strip() or re.search(r"\s\s", value):
            yield f"{name} is {value!r}, with spaces at an end or repeated"
        elif name not in ("FORM", "LEMMA", "MISC") and re.search(r"\s", value):
            yield f"{name} is {value!r}, no spaces expected"
    *_, upos, _, feats, head, label, deps, _ = row
    empty = "." in row[0]
    if "-" in row[0]:
        if row[2:9] != ["_"] * 7:
            yield "a multiword token has values only in FORM and MISC, _ expected elsewhere"
        return
    if not (_UPOS.fullmatch(upos) or (empty and upos == "_")):
        yield f"UPOS is {upos!r}, not a tag of Universal Dependencies"
    if empty and (head, label) != ("_", "_"):
        yield "HEAD and DEPREL of an empty node must be _"
    elif with_tree and not empty:
        if not _RELATION.fullmatch(label):
            yield f"DEPREL is {label!r}, a relation such as nsubj or acl:relcl expected"
        if head == "_" or (head == "0") != (label == "root"):
            yield f"HEAD is {head} and DEPREL {label!r}; the root, and only the root, has HEAD 0 and DEPREL 'root'"
    yield from _of_features(feats) if feats != "_" else ()
    yield from _of_enhanced(row[0], deps, nodes) if deps != "_" else ()


def _of_features(feats: str) -> Iterator[str]:
    features = feats.split("|")
    matches = [match for feature in features if (match := _FEATURE.fullmatch(feature))]
    if len(matches) < len(features):
        yield f"FEATS is {feats!r}, Name=Value|Name=Value expected"
        return
    lists = [[match[1] for match in matches], *(match[2].split(",") for match in matches)]
    if any(len(set(values)) < len(values) for values in lists):
        yield f"FEATS is {feats!r}, which repeats a feature or a value"
    if any(values != sorted(values, key=str.lower) for values in (features, *lists[1:])):
        yield f"FEATS is {feats!r}, which is not sorted"


def _of_enhanced(node: str, deps: str, nodes: set[str]) -> Iterator[str]:
    given = deps.split("|")
    matches = [match for pair in given if (match := _ENHANCED.fullmatch(pair))]
    if len(matches) < len(given):
        yield f"DEPS is {deps!r}, head:relation|head:relation expected"
        return
    pairs = [(tuple(map(int, match[1].split("."))), match[2]) for match in matches]
    if pairs != sorted(set(pairs)):
        yield f"DEPS is {deps!r}, which is not sorted or repeats a pair"
    for head, label in (match.groups() for match in matches):
        if head == node:
            yield f"DEPS is {deps!r}, with the node itself as a head"
        if head not in nodes | {"0"}:
            yield f"DEPS is {deps!r}, but there is no node {head}"
        if (head == "0") != (label == "root"):
            yield f"DEPS is {deps!r}; the root, and only the root, has head 0 and relation 'root'"
