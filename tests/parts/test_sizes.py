"""Sentences too large to be numbered or held are refused in one line, before memory is asked for."""

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from staged import staged

import nonproj.parts.arcs
from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.errors import DataError, NonprojError, SizeError
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space, arc_space_from_mask, full_arc_space
from nonproj.parts.automaton import head_automata
from nonproj.parts.space import part_space
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import STAGES, prune
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.labels import label_parts, label_scores
from nonproj.scoring.scorer import dense_arc_scores
from nonproj.scoring.templates import part_templates
from nonproj.scoring.vocabulary import MAX_FEATURES, TokenEncoder
from nonproj.types import Sentence

GOLDEN = Path(__file__).parents[1] / "golden" / "model.nonproj"


def words(count: int, feats: str = "_") -> Sentence:
    """A sentence of equal words, the last of them the root."""
    rows = [[str(i), "a", "a", "N", "N", feats, str((i + 1) % (count + 1)), "x", "_", "_"] for i in range(1, count + 1)]
    return Sentence(rows, np.array([-1, *range(2, count + 1), 0], np.int32), path="long.conll", line=7)


def text_of(*sentences: Sentence) -> str:
    return "".join("\n".join("\t".join(row) for row in sentence.rows) + "\n\n" for sentence in sentences)


REST = "words; the maximum is 100000000: prune more (decoding.threshold, pruner.max_heads), or split the sentence"
MOVES = "states and moves of head automata over"
MASK, FLAT = np.broadcast_to(np.True_, (10_002, 10_002)), arc_space(np.zeros(5000, int), np.arange(1, 5001), 5000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: part_space(full_arc_space(2343), "sibling"), f"4301145070 parts up to type sibling over 2343 {REST}"),
        (lambda: part_space(full_arc_space(500), "grandparent"), "167042752 parts up to type grandparent over 500"),
        (lambda: part_space(full_arc_space(150), "third"), "176674077 parts up to type grandsibling over 150 words; "),
        (lambda: part_space(FLAT, ("arc", "trisibling")), "20845840000 parts up to type trisibling over 5000 words; "),
        (lambda: full_arc_space(10_001), "100020001 pairs of words over 10001 words; the maximum is 100000000"),
        (lambda: arc_space([0], [1], 10_001), "100020001 pairs of words over 10001 words; the maximum is 100000000"),
        (lambda: arc_space_from_mask(MASK), "100040004 pairs of words over 10001 words; "),
        (lambda: head_automata(full_arc_space(100), 200), f"408080000 {MOVES} 100 words; "),
        (lambda: head_automata(full_arc_space(100), 1 << 40), f" {MOVES} 100 words"),
        (lambda: sibling_automata(part_space(full_arc_space(150), "sibling")), f"{MOVES} 150 words"),
    ],
)
def test_what_is_too_large(call, message):
    tracemalloc.start()
    with pytest.raises(SizeError) as caught:
        call()
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
    assert isinstance(caught.value, ValueError) and message in str(caught.value)


def sibling_automata(parts):
    """The automata of siblings in general form."""
    return parts.types[1].automata(parts.arcs, parts.start("sibling"), np.zeros(len(parts)))


def test_single_features_take_memory_in_proportion_to_the_words():
    """They took 1.3 GB for six words of 2,400 features each, which they still may have."""
    feats = [f"f{i}={i}" for i in range(2400)]
    tokens = TokenEncoder({"pos": ["N"], "feat": feats}).encode(words(6, "|".join(feats)))
    assert np.diff(tokens.feat_start).tolist() == [0] + [MAX_FEATURES] * 6
    first = TokenEncoder({"pos": ["N"], "feat": feats}).encode(words(6, "|".join(["unknown", *feats[:MAX_FEATURES]])))
    assert first.feat.tolist() == tokens.feat.tolist()
    templates = ["h.pos m.pos", "h.pos m.pos h.feat m.feat"]
    arcs = part_templates({"part": "arc", "codes": ["direction"], "templates": templates}, ["pos"])
    dense_arc_scores(tokens, arcs, np.zeros(1 << 12, np.float32))
    labels = part_templates({"part": "label", "codes": ["direction"], "templates": templates}, ["pos"])
    label_scores(hash_tokens(tokens, labels, 1 << 12), label_parts(words(6).tree), 3, np.zeros(1 << 12, np.float32))


# -- sentences ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.load(GOLDEN)


def limited(model: Model, **decoding) -> Parser:
    return Parser(model, model.config.with_overrides({f"decoding.{k}": v for k, v in decoding.items()}).decoding)


LONG = "long.conll:7: a sentence of 5001 words; decoding.max_words is 5000: split it, or raise the limit"


def test_a_long_sentence_is_refused(model):
    for call in (Parser(model).parse, lambda sentence: train([sentence], Config())):
        with pytest.raises(DataError) as caught:
            call(words(5001))
        assert str(caught.value) == LONG
    with pytest.raises(DataError, match="decoding.max_words is 9: "):
        limited(model, max_words=9).parse(words(10))
    assert len(limited(model, max_words=10).parse(words(10)).labels) == 10


def test_the_sentences_before_are_parsed(model):
    parser, group = limited(model, max_words=9), [words(3), words(4), words(10), words(5)]
    parses = parser.parse_all(group)
    assert [len(next(parses)[0]) for _ in range(2)] == [3, 4]
    with pytest.raises(DataError, match="10 words"):
        next(parses)


PLACES = [f"pipeline.stages.{name}_trusted" for name in ("marginals", "prune", "decode")]
PLACES += ["pipeline.loaded.Scorer.score_batch", "pipeline.loaded.TreeLabeler.label"]


@pytest.mark.parametrize("place", PLACES)
def test_memory_that_is_not_there(place, model, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("Unable to allocate 18.6 GiB")

    parser = Parser(model)
    monkeypatch.setattr(f"nonproj.{place}", fail)
    with pytest.raises(DataError) as caught:
        parser.parse(words(3))
    assert isinstance(caught.value, MemoryError)
    assert str(caught.value) == "long.conll:7: a sentence of 3 words: there is not enough memory; split it"


def test_too_many_parts_in_a_file(model, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(nonproj.parts.arcs, "MAX_PARTS", 100)
    path = tmp_path / "a.conll"
    path.write_text(text_of(words(2), words(40)))
    assert main(["parse", str(GOLDEN), str(path)]) == 2
    out, error = capsys.readouterr()
    assert len(list(conll.read(io.StringIO(out)))) == 1
    unsuitable, error = error.splitlines()
    assert " does not fit the model: 100 % of the tags (N) are unknown to it" in unsuitable
    assert error.startswith(f"nonproj: {path}:4: a sentence of 40 words: ")
    assert error.endswith("prune more (decoding.threshold, pruner.max_heads), or split the sentence")


def test_memory_that_is_not_there_anywhere_else(monkeypatch, capsys):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Model, "load", fail)
    assert main(["inspect", str(GOLDEN)]) == 2
    assert capsys.readouterr().err == "nonproj: there is not enough memory\n"


def test_a_forged_model_with_all_arcs(model):
    """It asks for every arc, and has all weights zero; before, part numbers overflowed."""
    options = {"parts": ["arc", "sibling"], "pruner.max_heads": 10**9, "decoding.threshold": 5e-324}
    tables = {name: np.zeros_like(table) for name, table in model.weights.items()}
    templates = {name: spec for name, spec in model.templates.items() if name != "grandparent"}
    forged = Model(model.config.with_overrides(options), model.vocabularies, templates, model.labels, tables, {})
    parser = Parser(Model.from_bytes(forged.to_bytes()))
    assert len(staged(parser, words(20)).arcs[0].head) == 400
    everything = lambda batch: batch._replace(arcs=[full_arc_space(len(batch.sentences[0]))])  # noqa: E731
    parser = parser.with_stages([everything if stage is prune else stage for stage in STAGES])  # as it does, in 40 s
    with pytest.raises(NonprojError, match="^long.conll:7: a sentence of 2343 words: 4301145070 parts up to "):
        parser.parse(words(2343))
