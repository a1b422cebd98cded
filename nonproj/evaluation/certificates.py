"""The statistics of a tree, including its certificate: as a dictionary, a line of JSON or CoNLL-U comments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from nonproj.errors import DataError
from nonproj.evaluation.confidence import NO_CONFIDENCE, ConfidenceOutput, confidence_figures, with_confidence
from nonproj.io.broken import STOP, MalformedUnit, malformed
from nonproj.io.checks import ReadingRules
from nonproj.io.conll import DROP, count_enhanced
from nonproj.text.formats import TextInput

if TYPE_CHECKING:  # it imports kernels, which a command that parses nothing does not need
    from nonproj.pipeline.parses import Parse


class TextOptions(NamedTuple):
    """Options of reading and writing sentences.

    Attributes
    ----------
    comments : bool
        Whether to write the statistics above each sentence.
    deps : {"keep", "drop"}
        See `nonproj.io.conll.replace`.
    rules : ReadingRules
        Rules for reading a treebank: gold heads are ignored.
    plain : TextInput or None
        Options for reading plain text; None if the input is a treebank.
    confidence : ConfidenceOutput
        Options for writing confidence.
    on_error : str
        Treatment of malformed input: one of `nonproj.io.kinds.ON_ERROR`.
    """

    comments: bool = False
    deps: str = DROP
    rules: ReadingRules = ReadingRules(ignore_heads=True, may_be_empty=True)
    plain: TextInput | None = None
    confidence: ConfidenceOutput = NO_CONFIDENCE
    on_error: str = STOP


class ParseRecord(NamedTuple):
    """The statistics of one parsed sentence, and its position.

    Attributes
    ----------
    path : str
    line : int
        The sentence's first line in the file, from 1.
    words : int
    unknown_tags : int
        See `nonproj.pipeline.parses.Parse`.
    statistics : dict
        See `statistics`.
    proof : str or None
        A line of JSON, if the parser was asked for it: see `nonproj.dual.proofs`.
    enhanced : tuple of int
        See `nonproj.io.conll.count_enhanced`.
    """

    path: str
    line: int
    words: int
    unknown_tags: int
    statistics: dict[str, Any]
    proof: str | None = None
    enhanced: tuple[int, int] = (0, 0)


def statistics(parse: Parse) -> dict[str, Any]:
    """Return the numbers of `nonproj.types.Decoded` and ``gap``, ``full`` and ``changed`` as plain Python values.

    ``gap`` is ``bound - score``; ``arcs`` is the number of arcs that the certificate covers; ``full`` means that pruned
    arcs were searched, too, ``changed`` that they changed the tree; ``confidence``, only with a classifier, is the
    probability that all heads are correct.  Where they apply, ``paid`` is the total cost of the tree's crossed arcs,
    and ``projective`` means that only projective trees counted.
    """
    decoded = parse.decoded
    figures = {
        "score": float(decoded.score),
        "bound": float(decoded.bound),
        "gap": float(decoded.bound - decoded.score),
        "agreed": bool(decoded.agreed),
        "certified": bool(decoded.certified),
        "iterations": int(decoded.iterations),
        "recomputed": float(decoded.recomputed),
        "nodes": int(decoded.nodes),
        "full": parse.pruned is not None,
        "changed": parse.changed,
        "arcs": len(parse.arcs.head),
    }
    if parse.paid is None or parse.paid > 0.0:
        figures |= {"projective": True} if parse.paid is None else {"paid": float(parse.paid)}
    return figures if parse.confidence is None else figures | {"confidence": round(float(parse.confidence.tree), 4)}


def covered(numbers: Mapping[str, Any], words: int) -> str:
    """Return, in words, which arcs a certificate covers; a file may lack their number.

    Examples
    --------
    >>> covered({"arcs": 57}, 8), covered({"arcs": 64}, 8), covered({}, 8)
    ('57 of 64 arcs', 'all 64 arcs', 'its candidate arcs')
    """
    arcs, possible = numbers.get("arcs"), words**2
    if not arcs:
        return "its candidate arcs"
    return f"{'all' if arcs == possible else f'{arcs:,} of'} {possible:,} arc{'s' * (possible != 1)}"


def certificate_line(numbers: Mapping[str, Any], words: int) -> str:
    """Return a certificate in words; an empty string if there is none."""
    if "certified" not in numbers:
        return ""
    if not numbers["certified"]:
        more = f": another tree may score up to {numbers['gap']:.3g} higher" if "gap" in numbers else ""
        return f"no certificate over {covered(numbers, words)}{more}"
    count = numbers.get("iterations")
    iterations = "" if count is None else f" ({count} iteration{'s' * (count != 1)})"
    return f"certified: no tree over {covered(numbers, words)} scores higher{iterations}"


def annotate(
    parses: Iterable[tuple[Any, Parse | DataError | None]],
    comments: bool,
    on_record: Callable[[ParseRecord | MalformedUnit], object],
    confidence: ConfidenceOutput = NO_CONFIDENCE,
) -> Iterator[tuple[Any, ...] | str]:
    """Yield the arguments of `nonproj.io.conll.write`, and call ``on_record`` with the record of each sentence.

    ``parses`` are those of `nonproj.pipeline.parser.Parser.try_all`.  ``on_record`` gets malformed units, too, among
    them sentences that cannot be parsed; a string is yielded as it is.

    With ``comments``, the statistics are written above each sentence, as in ``# nonproj certified = true``.  A sentence
    with several trees is written once for each, with its rank and statistics; its record has them all as ``nbest``.
    ``confidence`` sets how the confidence of the best tree is written; records have the words' probabilities as lists.
    """
    for sentence, parse in parses:
        if isinstance(sentence, str):
            yield sentence
            continue
        if parse is None or isinstance(parse, DataError):
            on_record(sentence if parse is None else malformed(sentence, parse))
            continue
        several, numbers = parse.others is not None, statistics(parse)
        trees = (parse, *(parse.others or ()))
        if several:
            numbers["nbest"] = [_tree_figures(tree) for tree in trees]
        numbers |= confidence_figures(parse)
        proof = None
        if parse.proof is not None:
            from nonproj.dual.proofs import as_line

            proof = as_line(parse.proof)
        place, enhanced = (sentence.path, sentence.line), count_enhanced(sentence) if parse.graph is None else (0, 0)
        on_record(ParseRecord(*place, len(sentence), parse.unknown_tags, numbers, proof, enhanced))
        for rank, tree in enumerate(trees, 1):
            lines: dict[str, object] = {"rank": rank} if several else {}
            if comments or several:
                lines |= statistics(tree)
            if confidence.write and tree.confidence is not None:
                lines["confidence"] = round(float(tree.confidence.tree), 4)
            graph = None if confidence.minimum else tree.graph
            yield *with_confidence(sentence, tree, confidence), as_comments(lines), graph


def as_comments(figures: Mapping[str, object]) -> dict[str, str]:
    """Return figures as comments, such as ``# nonproj certified = true``."""
    return {f"nonproj {name}": json.dumps(value) for name, value in figures.items()}


def _tree_figures(parse: Parse) -> dict[str, Any]:
    """Return a tree with its certificate as plain Python values."""
    figures = statistics(parse)
    tree = {"heads": parse.decoded.heads.tolist(), "labels": parse.labels}
    return tree | {name: figures[name] for name in ("score", "bound", "certified")}


def left_out(words: int, nodes: int) -> str:
    """Return a message that counts the enhanced dependencies left out with the input's tree; empty if there are none.

    Examples
    --------
    >>> left_out(5, 1)
    'the enhanced dependencies of 5 words and 1 empty node, which belong to the tree of the input, are left out'
    """
    counted = ((words, "the enhanced dependencies of {} word"), (nodes, "{} empty node"))
    parts = [text.format(f"{count:,}") + "s" * (count != 1) for count, text in counted if count]
    return f"{' and '.join(parts)}, which belong to the tree of the input, are left out" if parts else ""


REPORTED = 100
"""Number of malformed units that a `ParseLog` keeps for the final report; it counts all of them."""


class ParseLog:
    """Counts sentences and certificates, and writes records and proofs as lines of JSON if streams are given.

    Attributes
    ----------
    broken : list of MalformedUnit
        The first `REPORTED` units that were skipped; ``refused`` counts all.
    """

    COUNTS = (
        *("sentences", "words", "unknown_tags", "certified", "full", "changed", "refused"),
        *("enhanced_words", "empty_nodes"),
    )

    def __init__(self, stream: TextIO | None, proofs: TextIO | None = None):
        self.stream, self.proofs = stream, proofs
        self.sentences = self.words = self.unknown_tags = self.certified = self.full = self.changed = self.refused = 0
        self.enhanced_words = self.empty_nodes = 0
        self.broken: list[MalformedUnit] = []

    def add(self, record: ParseRecord | MalformedUnit) -> None:
        """Count the next sentence, or the malformed unit in its place."""
        if isinstance(record, MalformedUnit):
            self.refused += 1
            if len(self.broken) < REPORTED:
                self.broken.append(record)
            place = {"path": record.path, "line": record.line, "first_line": record.first, "last_line": record.last}
            self._write(place | {"error": record.reason})
            return
        path, line, words, unknown_tags, numbers, proof, enhanced = record
        self.sentences += 1
        self.words += words
        self.unknown_tags += unknown_tags
        self.enhanced_words += enhanced[0]
        self.empty_nodes += enhanced[1]
        self.certified += numbers["certified"]
        self.full += numbers["full"] and numbers["certified"]
        self.changed += numbers["changed"]
        if self.proofs and proof is not None:
            self.proofs.write(proof + "\n")
        self._write({"sentence": self.sentences, "path": path, "line": line, "words": words} | numbers)

    def _write(self, numbers: dict[str, Any]) -> None:
        if self.stream:
            path = numbers["path"].encode("utf-8", "backslashreplace").decode()  # a file name may not be UTF-8
            self.stream.write(json.dumps(numbers | {"path": path}, ensure_ascii=False) + "\n")

    def extend(self, other: ParseLog) -> None:
        """Add the counts and the malformed units of another log."""
        for name in self.COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.broken = [*self.broken, *other.broken][:REPORTED]

    def state(self) -> dict[str, Any]:
        """Return the counts and the malformed units as JSON values, for `restore`."""
        counts = {name: int(getattr(self, name)) for name in self.COUNTS}
        return counts | {"broken": [list(unit) for unit in self.broken]}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`."""
        for name in self.COUNTS:
            setattr(self, name, state[name])
        self.broken = [MalformedUnit(*unit) for unit in state["broken"]]
