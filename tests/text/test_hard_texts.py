"""Work that grows no faster than the text, on texts without blanks, without sentence ends and of equal words."""

import io
from pathlib import Path

import numpy as np
import pytest
from hard_texts import PATHOLOGICAL
from restoring import restore

from nonproj.automata.compiled import compiled_starts, count_work
from nonproj.cli.main import main
from nonproj.confidence import evidence
from nonproj.dual import problem
from nonproj.dual.crossing import CrossingCosts
from nonproj.dual.decoding import decode_trusted
from nonproj.dual.options import DEFAULTS, UNLIMITED, SearchOptions
from nonproj.dual.subgradient import CONTRACTION_WORK
from nonproj.io import conll
from nonproj.linear import hashing
from nonproj.options.sections import DecodingConfig
from nonproj.parts.arcs import arc_space, full_arc_space
from nonproj.parts.space import part_space
from nonproj.text import addresses, layout, rules
from nonproj.text.characters import characters
from nonproj.text.formats import TextInput
from nonproj.text.input import read_text
from nonproj.text.languages import languages
from nonproj.text.multiword import Multiwords
from nonproj.text.rules import UnicodeRules
from nonproj.text.segmenter import Segmenter
from nonproj.trees.arborescence import best_arborescence, counted_arborescence

GOLDEN = Path(__file__).parents[1] / "golden" / "model.nonproj"
DANISH = Segmenter(UnicodeRules(["bl.a.", "f.eks."], languages()["da"]), Multiwords.fit([]), "rules")


class Counted(list):
    """A list that counts how often it is looked at."""

    looks = 0

    def __getitem__(self, index):
        self.looks += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("unit", ["a", "aA", "a1.", "\u4e00\u4e01", "()"])
def test_a_hash_does_not_read_all_of_a_long_chunk(unit, monkeypatch):
    """The features of a place look at the chunk behind it, which has all but a hundred thousand characters."""
    text = layout.lay_out(unit * (100_000 // len(unit)))
    for module in (layout, hashing):  # outside of kernels, sums of 32 bits do not wrap around
        monkeypatch.setattr(module, "place_share", lambda place, number: 0)
        monkeypatch.setattr(module, "length_share", lambda length: 0)
    kind, run, codes = (Counted(array.tolist()) for array in (text.kind, text.run, text.lower))
    layout.shape_hash.py_func(kind, run, 5, len(kind))
    hashing.hash_codes.py_func(codes, 5, len(codes), layout.MAX_HASHED)
    assert 1 <= kind.looks <= layout.MAX_SHAPE and 1 <= run.looks <= layout.MAX_SHAPE
    assert codes.looks == layout.MAX_HASHED


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_addresses_are_found_in_one_pass(name, monkeypatch):
    """The end of an address, with names that have an ``@`` in it, is looked for once."""
    looks, matched = [], addresses._matched

    class CountedText(str):
        """A text that counts how often a character is looked at."""

        def __getitem__(self, index):
            looks.append(1)
            return super().__getitem__(index)

    def counted(pattern, text, i):
        looks.append(matched(pattern, text, i) - i)
        return i + looks[-1]

    monkeypatch.setattr(addresses, "_matched", counted)
    text = PATHOLOGICAL[name](4000).replace(" ", "")
    kinds = characters(text).kind.tobytes().decode("latin-1")
    addresses.addresses_in(CountedText(text), CountedText(kinds))
    assert sum(looks) <= 50 * len(text)


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_rules_look_at_a_character_few_times(name, monkeypatch):
    """Whether two characters are joined is asked in proportion to the length of the text."""
    asked, joins = [], rules._Chunk.joins
    monkeypatch.setattr(rules._Chunk, "joins", lambda chunk, i, patterns: asked.append(i) or joins(chunk, i, patterns))
    text = PATHOLOGICAL[name](6000)
    DANISH.finder.token_ends(text, layout.lay_out(text))
    assert len(asked) <= 2 * len(text)


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_text_without_sentence_ends_is_cut(name):
    """By default far below a thousand words; and nothing is lost."""
    text, limit = PATHOLOGICAL[name](20_000), DecodingConfig().cut_words
    assert limit < 200
    options = TextInput().within(limit, 5000)
    sentences = list(read_text(io.StringIO(text), DANISH, options))
    assert restore(sentences) == text
    assert max(map(len, sentences)) <= limit
    if len(sentences) > 1 and name != "abbreviations":
        assert min(map(len, sentences[:-1])) >= limit // 2 or set(".。") & set(text)


def test_only_running_text_is_cut(tmp_path):
    (tmp_path / "in.txt").write_text("ord " * 300, encoding="utf-8")
    rows = "".join(f"{i}\tord" + "\t_" * 8 + "\n" for i in range(1, 301))
    (tmp_path / "in.conllu").write_text(rows + "\n", encoding="utf-8")
    for most, *words in (
        (128, "in.txt", "--text"),
        (9, "in.txt", "--text", "--cut-words", "9"),
        (300, "in.txt", "--lines"),
        (300, "in.txt", "--words"),
        (300, "in.conllu"),
    ):
        arguments = [str(tmp_path / words[0]), *words[1:], "-o", str(tmp_path / "out"), "--search-limit", "1000", "-q"]
        assert main(["parse", str(GOLDEN), *arguments]) == 0
        assert max(map(len, conll.read(tmp_path / "out"))) == most


# -- decoding ----------------------------------------------------------------------------------------------------------


def nested_cycles(n: int):
    """Arcs over n words whose best arborescence contracts cycles of two, each in the next, and their scores.

    The best head of each word is the one before it, and that of the first the second; every word has ten heads.
    """
    pairs = {(0, m): -1e9 for m in range(1, n + 1)} | {(2, 1): 1e6}
    for m in range(2, n + 1):
        for k in range(1, 10):
            if m - k > 0:
                pairs[m - k, m] = 1e3 - k
        pairs[m, m - 1] = pairs.get((m, m - 1), 500.0 - m)
    heads, modifiers = zip(*pairs, strict=True)
    arcs = arc_space(list(heads), list(modifiers), n)
    return arcs, np.array([pairs[h, m] for h, m in zip(arcs.head.tolist(), arcs.modifier.tolist(), strict=True)])


def test_contraction_looks_again_only_at_arcs_that_are_inside():
    n = 300
    arcs, scores = nested_cycles(n)
    heads, other = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    status, count = counted_arborescence(arcs, scores, False, heads)
    assert status == 0 and best_arborescence(arcs, scores, False, other) == 0 and np.array_equal(heads, other)
    assert n * n // 4 < count < n * n  # each of the n cycles scanned n / 2 words with ten arcs before


def flat(n: int, name: str = "grandparent"):
    """A sentence of equal words with ten candidate heads, the lowest, and its scores."""
    pairs = [(h, m) for m in range(1, n + 1) for h in range(11) if h != m]
    parts = part_space(arc_space(*map(list, zip(*pairs, strict=True)), n), name)
    scores = np.zeros(len(parts))
    scores[len(parts.arcs.head) :] = np.resize([3.0, -2.0, 0.0, 1.0, -4.0], len(parts) - len(parts.arcs.head))
    return parts, scores


@pytest.mark.parametrize("single_root", [False, True])
def test_the_limit_of_work_holds_for_equal_words(single_root, monkeypatch):
    """All of it together, with contractions and the search for a projective tree, is at most one iteration more."""
    parts, scores = flat(120)
    runs, descend = [], problem.descend
    monkeypatch.setattr(problem, "descend", lambda *arguments: runs.append(descend(*arguments)) or runs[-1])
    limit, options = SearchOptions(work_per_word=50_000), DEFAULTS._replace(single_root=single_root)
    crossing = CrossingCosts(parts.arcs.head, parts.arcs.modifier, np.full(len(parts.arcs.head), 1.5))
    [found] = decode_trusted(parts, scores, options, limit, 1, crossing)
    assert found.bound >= found.score
    most = max(run.spent / max(1, run.iterations) for run in runs)
    assert sum(run.spent for run in runs) <= (50 + 70 // 2) * limit.work_per_word + 4 * most
    assert len(runs) > 1


def test_contractions_count_as_work():
    arcs, scores = nested_cycles(200)
    parts = part_space(arcs, "sibling")
    scores = np.append(scores, np.zeros(len(parts) - len(scores)))
    count = counted_arborescence(arcs, 0.5 * scores[: len(arcs.head)], False, np.empty(201, np.int32))[1]
    once = DEFAULTS._replace(max_iterations=1)
    spent = problem.problem_of(parts, scores, once).bound(once, UNLIMITED).descent.spent
    assert spent > CONTRACTION_WORK * count > CONTRACTION_WORK * 200 * 50


def test_the_evidence_of_equal_words_is_limited():
    """Bounds are computed for the words of least loss, until the work is used up; for all words of other sentences."""
    for n, everything in ((8, True), (400, False)):
        parts = flat(n)[0] if n > 10 else part_space(full_arc_space(n), "grandparent")
        instance = problem.problem_of(parts, np.zeros(len(parts)), DEFAULTS).instance
        heads, loss = np.array([-1, *range(n)], np.int32), np.arange(n + 1.0)[::-1].copy()
        loss[0] = np.inf
        wanted = evidence.affordable(instance, heads, loss, 1e9)
        assert not wanted[0] and wanted[1:].all() == everything
        first = np.flatnonzero(wanted)[0]
        assert wanted[first:].all()  # those of least loss
        costs = count_work(parts.arcs, compiled_starts(parts))
        assert (costs + costs[heads])[wanted].sum() <= evidence.WORK_PER_WORD * (n + 1)
