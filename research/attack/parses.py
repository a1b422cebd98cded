"""Lane of damaged treebanks that are parsed: trees, certificates and output, compared with brute force if small."""

from __future__ import annotations

import dataclasses
import io
import random
import sys
from functools import cache
from pathlib import Path

import numpy as np

from nonproj.errors import DataError
from nonproj.evaluation.certificates import annotate
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import number, prune, score
from research.attack import material, mutators
from research.attack.campaign import Lane
from research.attack.properties import check_changes, check_message, is_tree, require
from research.attack.reads import read_all, stream_of

sys.path.append(str(material.ROOT / "tests"))
import naive_integer  # noqa: E402
import naive_trees  # noqa: E402

SMALL_WORDS, PROGRAM_WORDS = 4, 7
"""Longest sentences that are compared with all trees, and with an integer program."""

CHANGES = [{}, {"exact": False, "max_iterations": 20}, {"exact": False, "max_iterations": 1}, {"single_root": True}]
CHANGES += [{"single_root": False, "projective": True}, {"projective": False, "step": "paper"}, {"full": True}]
CHANGES += [{"search_limit": 0}, {"threshold": 1.0}, {"threshold": 1e-12, "single_root": True, "projective": True}]
"""Decoding options, changed from those of the model."""

CONSTANTS = [{"beta": 0.0, "tau": 1.0}, {"tolerance": 0.0}]
"""Constants of dual decomposition, changed from those of all models."""


def with_constants(model: Model, constants: dict[str, float]) -> Parser:
    """Return a parser with other constants of dual decomposition."""
    parser = Parser(model)
    return parser.with_request(options=parser.request.options._replace(**constants))


class Parses(Lane):
    """Parses damaged treebanks with several models and decoding options."""

    name = "parses"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.parsers = []
        for parts in ("arc", "sibling", "grandparent", "arc,grandparent"):
            path = material.train(folder / f"{parts.replace(',', '-')}.nonproj", "--parts", parts)
            model = Model.load(path)
            decoding = model.config.decoding
            chosen = [change for change in CHANGES if "," not in parts or "search_limit" not in change]
            self.parsers += [(model, Parser(model, dataclasses.replace(decoding, **change))) for change in chosen]
            self.parsers += [(model, with_constants(model, constants)) for constants in CONSTANTS]
        self.notes = {"compared with all trees": 0, "compared with integer programs": 0, "sentences": 0, "certified": 0}

    def case(self, rng: random.Random, number: int) -> str:
        """Parse one damaged treebank."""
        data = rng.choice(material.texts())
        data = mutators.damage(rng, data) if rng.random() < 0.9 else data
        self.current = {"input.conll": data}
        _, parser = rng.choice(self.parsers)
        sentences, error, found = check_parsing(data, parser, rng.choice((1, 2, 64)), rng.random() < 0.2)
        if error:
            check_message(error, "<stream>:")
        for sentence, parse in found:
            self.notes["sentences"] += 1
            self.notes["certified"] += parse.decoded.certified
            self._compare(parser, sentence, parse, rng)
        return "rejected" if not sentences else "parsed up to an error" if error else "parsed"

    def _compare(self, parser: Parser, sentence, parse, rng: random.Random) -> None:
        """Compare a small instance with all trees, or with the integer program."""
        n_words = len(sentence)
        if n_words <= SMALL_WORDS and rng.random() < 0.2:
            self.notes["compared with all trees"] += 1
            compare_with_all(parser, sentence, parse)
        elif n_words <= PROGRAM_WORDS and not parser.request.options.projective and rng.random() < 0.01:
            compare_with_program(parser, sentence, parse)
            self.notes["compared with integer programs"] += 1


def check_parsing(
    data: bytes, parser: Parser, batch: int, comments: bool = False
) -> tuple[list, DataError | None, list]:
    """Parse bytes as the command line does, and check all properties of the output.

    Returns
    -------
    tuple
        The sentences, the error after them, and each sentence with its parse.
    """
    sentences, error = read_all(conll.read(stream_of(data), ignore_heads=True))
    found, records, stream = [], [], io.StringIO(newline="")

    def kept():
        for pair in parser.parse_all(iter(sentences), batch):
            found.append(pair)
            yield pair

    conll.write(annotate(kept(), comments, records.append), stream)
    require(len(found) == len(sentences) == len(records), f"{len(found)} of {len(sentences)} sentences were parsed")
    for sentence, parse in found:
        check_parse(parser, sentence, parse)
    if found:
        written = stream.getvalue().encode()
        again, wrong = read_all(conll.read(stream_of(written), require_heads=True))
        require(wrong is None, f"the output is rejected: {wrong}")
        require(len(again) == len(found), f"{len(again)} sentences in the output of {len(found)}")
        for (sentence, parse), new in zip(found, again, strict=True):
            heads = parse.decoded.tree.tolist()
            require(new.forms == sentence.forms and new.labels == list(parse.labels), "other words or labels")
            require(new.tree.tolist() == heads, f"the output has another tree than {heads}")
            if not comments:
                check_changes(sentence.lines, new.lines, sentence, heads)
    return sentences, error, found


def check_parse(parser: Parser, sentence, parse) -> None:
    """Check a tree and its certificate."""
    decoded, heads = parse.decoded, parse.decoded.tree.tolist()
    require(len(heads) == len(sentence) + 1 and is_tree(heads), f"not a tree: {heads}")
    require(not parser.request.options.single_root or heads.count(0) == 1, f"several roots: {heads}")
    require(not parser.request.options.projective or naive_trees.is_projective(heads), f"not projective: {heads}")
    require(np.isfinite([decoded.score, decoded.bound]).all(), f"score {decoded.score}, bound {decoded.bound}")
    require(decoded.bound >= decoded.score, f"the bound {decoded.bound!r} is below the score {decoded.score!r}")
    arcs = set(zip(parse.arcs.head.tolist(), parse.arcs.modifier.tolist(), strict=True))
    require(all((h, m) in arcs for m, h in enumerate(heads) if m), f"an arc of {heads} is not a candidate")
    if decoded.certified and not decoded.agreed:
        limit = parser.request.options.tolerance * (1 + abs(decoded.score))
        require(decoded.bound - decoded.score <= limit, f"certified with a gap of {decoded.bound - decoded.score}")


@cache
def _trees(n_words: int, single_root: bool, projective: bool) -> list[list[int]]:
    trees = naive_trees.all_trees(n_words, single_root)
    return [tree for tree in trees if not projective or naive_trees.is_projective(tree)]


def _scored(parser: Parser, sentence, arcs):
    batch = parser.with_request(tags="none", constraints="none").run([sentence], until=prune)
    batch = score(number(batch._replace(arcs=[arcs])))
    return batch.spaces[0], batch.scores[0]


def compare_with_all(parser: Parser, sentence, parse) -> None:
    """Compare a tree with all others over its candidate arcs, scored by the definition."""
    parts, scores = _scored(parser, sentence, parse.arcs)
    pairs = set(naive_trees.pairs_of(parse.arcs))
    trees = _trees(len(sentence), bool(parser.request.options.single_root), bool(parser.request.options.projective))
    allowed = [tree for tree in trees if all((tree[m], m) in pairs for m in range(1, len(tree)))]
    score = naive_trees.tree_scorer(parts, scores)
    _compare(parse.decoded, score(parse.decoded.tree.tolist()), max(map(score, allowed)))


def compare_with_program(parser: Parser, sentence, parse) -> None:
    """Compare a tree with the integer program's."""
    parts, scores = _scored(parser, sentence, parse.arcs)
    best = naive_integer.best_score(parts, scores, bool(parser.request.options.single_root))
    _compare(parse.decoded, parse.decoded.score, best)


def _compare(decoded, own: float, best: float) -> None:
    slack = 1e-7 * (1 + abs(best))
    require(abs(own - decoded.score) <= slack, f"the score is {decoded.score}, by the definition {own}")
    require(decoded.score <= best + slack, f"the score {decoded.score} is above the best, {best}")
    require(decoded.bound >= best - slack, f"the bound {decoded.bound} is below the best, {best}")
    require(not decoded.certified or abs(decoded.score - best) <= slack, f"certified {decoded.score}, best {best}")
