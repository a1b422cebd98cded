"""Continuing a model on other sentences."""

import contextlib
import dataclasses
import itertools
from collections import Counter as Count
from pathlib import Path

import numpy as np
import pytest
import toy
from further import Interrupt, accuracy, blank, renamed, small, weights_of
from judged import text_of
from models import prepared
from problems import draw_tags

from nonproj.cli.main import main
from nonproj.components.base import RunOptions, WeightTable, assemble
from nonproj.components.continuing import continued_config
from nonproj.components.fitting import fit_component
from nonproj.components.labeler import LabelerComponent
from nonproj.components.network import NetworkComponent
from nonproj.components.parser import ParserTraining
from nonproj.components.pruner import new_pruner
from nonproj.components.tagger import TaggerComponent
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, ModelError
from nonproj.io.copies import with_rows
from nonproj.learning.corpus import RELATED, Auxiliary
from nonproj.learning.label_numbers import widened
from nonproj.learning.network import extended_network
from nonproj.linear.state import Fitted
from nonproj.model.model import Model
from nonproj.options.sections import TreebankConfig
from nonproj.pipeline.parser import Parser
from nonproj.scoring.network import Network
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.lexicon import Counter, form_keys, joined
from nonproj.tagging.tagset import TagSet


@pytest.fixture(scope="module")
def start():
    return Model.from_bytes(train(toy.sentences(40), small()).to_bytes())


def few(count, seed=1):
    """Sentences of another treebank, to continue on: other words, and a participle belongs to the verb, with a label
    and a tag of its own."""
    found = []
    for s in renamed(toy.sentences(count, seed=seed), "x"):
        verb = next(row[0] for row in s.rows if row[7] == "root")
        rows = [[*row[:3], "PRT", "PX", row[5], verb, "advcl", *row[8:]] if row[7] == "acl" else row for row in s.rows]
        tree = np.array([-1, *(int(row[6]) for row in rows)], np.int32)
        found.append(dataclasses.replace(with_rows(s, rows), tree=tree))
    return found


def parses(model, sentences):
    """Tags, heads and labels of sentences without tags."""
    found = Parser(model, tags="all").parse_all(blank(sentences))
    return [(tagged.rows, parse.decoded.heads.tolist(), parse.labels) for tagged, parse in found]


# -- what is numbered


@pytest.mark.parametrize("seed", range(30))
def test_tags_keep_their_numbers_and_parts_however_often_others_are_added(seed):
    rng = np.random.default_rng(seed)
    tags = draw_tags(rng, 16).tags
    first, second = sorted(rng.integers(1, 16, 2))
    for before, after in itertools.pairwise(TagSet(tags[:count], first) for count in (first, second, 16)):
        n, width = len(before), before.values.shape[1]
        for name, end in (("unit_start", n + 1), ("units", None), ("unit_attribute", None), ("levels", n)):
            own = getattr(before, name)[:end]
            np.testing.assert_array_equal(getattr(after, name)[: len(own)], own)
        np.testing.assert_array_equal(after.values[:n, :width], before.values[:n])
        assert not after.values[:n, width:].any()
        assert after.n_units >= before.n_units > before.units.max(initial=0)


def test_a_tag_that_is_added_has_the_parts_that_it_shares():
    tags = TagSet([("N", "x", "Case=Nom"), ("V", "y", "_"), ("N", "y", "Case=Nom|Def")], 2)
    of = [set(tags.units[a:b].tolist()) for a, b in zip(tags.unit_start, tags.unit_start[1:], strict=False)]
    assert of[2] & of[0] and of[2] & of[1] and len(of[2] - of[0] - of[1]) == 2  # the tag itself, and Def


@pytest.mark.parametrize("seed", range(10))
def test_a_lexicon_with_the_counts_of_two_is_that_of_all_words(seed):
    rng = np.random.default_rng(seed)
    forms = ["Hus", "hus", "huset", "kat", "Kat", "et"]
    form, tag, mine = rng.integers(0, 6, 40), rng.integers(0, 3, 40), rng.random(40) < 0.5
    counter = Counter(form_keys(forms), form, tag)
    found, whole = joined(counter.count(mine), counter.count(~mine)), counter.count(np.ones(40, bool))
    for one, other in zip([*found.form, *found.lower], [*whole.form, *whole.lower], strict=True):
        np.testing.assert_array_equal(one, other)  # rare words, whose suffixes count, are others in each half
        assert one.dtype == other.dtype
    halves = Count()
    for part, sign in ((counter.count(mine), 1), (counter.count(~mine), 1), (found, -1)):
        keys = np.repeat(part.suffix.key, np.diff(part.suffix.start)).tolist()
        for key, number, count in zip(keys, part.suffix.tag.tolist(), part.suffix.count.tolist(), strict=True):
            halves[key, number] += sign * count
    assert not any(halves.values())


def test_strings_keep_their_numbers():
    sentences, attributes = toy.sentences(30), ["form", "key", "morph", "pos", "enclosure"]
    one = TokenEncoder.from_sentences(sentences, attributes, 1)
    two = TokenEncoder.from_sentences(few(10), attributes, 1, known=one)
    for name, strings in one.vocabularies.items():
        assert two.vocabularies[name][: len(strings)] == strings
    assert "xhund" in two.vocabularies["form"] and "xhund" not in two.vocabularies["key"]
    for s in sentences:
        np.testing.assert_array_equal(one.encode(s).atoms, two.encode(s).atoms)


def test_arcs_keep_their_lines_and_those_with_all_lines_keep_all():
    rng = np.random.default_rng(0)
    table, more = rng.integers(0, 4, (3, 3, 2)).astype(np.int32), rng.integers(0, 8, (5, 5, 2)).astype(np.int32)
    found = widened(table, more)
    for place in np.ndindex(more.shape):
        known = int(table[place]) if place[0] < 3 and place[1] < 3 else 0
        assert found[place] == (known | int(more[place]) if known else 0)


def test_a_network_scores_known_words_as_before_and_new_ones_as_unknown_ones(start):
    known, n_labels = start.encoder(), len(start.labels)
    encoder = TokenEncoder.from_sentences(few(10), known.attributes, 1, coarse=known.coarse, known=known)
    assert "PRT" in encoder.vocabularies["pos"] and "PRT" not in known.vocabularies["pos"]
    before, old = start.loaded(Network, start.vocabularies, n_labels), start.component("network")
    state = extended_network(old, start.vocabularies, encoder.vocabularies, n_labels + 2)
    after = Network.from_state(*state, encoder.vocabularies, n_labels + 2)
    for s in [*toy.sentences(5, seed=3), *few(5)]:
        one, two = known.encode(s), encoder.encode(s)
        heads = np.repeat(np.arange(one.n_nodes, dtype=np.int32), one.n_nodes - 1)
        modifiers = np.tile(np.arange(1, one.n_nodes, dtype=np.int32), one.n_nodes)
        layers = before.layer(one), after.layer(two)
        pair = (n.scores(layer, heads, modifiers) for n, layer in zip((before, after), layers, strict=True))
        np.testing.assert_array_equal(*pair)
        labels = after.label_scores(layers[1], heads, modifiers)
        np.testing.assert_array_equal(labels[:, :-2], before.label_scores(layers[0], heads, modifiers))
        assert not labels[:, -2:].any()


# -- what is learnt


def test_without_a_step_a_model_parses_as_before(start):
    config = small(labeler__epochs=0, tagger__epochs=0)
    corpus, context = prepared(few(10), config, start=dataclasses.replace(start, config=config))
    for component in (LabelerComponent, NetworkComponent):
        corpus, context = fit_component(component, corpus, context)
    table, pruner = ParserTraining(corpus, context).mean(), WeightTable(new_pruner(context).weights)
    model = assemble(context.with_fitted("parser", table).with_fitted("pruner", pruner))
    assert "advcl" in model.labels and model.labels[: len(start.labels)] == start.labels
    for name in ("parser", "pruner", "labeler"):
        np.testing.assert_array_equal(model.weights[name], start.weights[name])
    np.testing.assert_array_equal(*(each.component("network")[1]["words"] for each in (model, start)))
    test = toy.sentences(40, seed=2)
    assert parses(Model.from_bytes(model.to_bytes()), test) == parses(start, test)


def test_a_table_starts_from_the_weights_of_the_model(start):
    _, context = prepared(few(5), small(), start=start)
    found = np.empty(1 << 14, np.float32)
    context.begin("pruner", found)
    np.testing.assert_allclose(found, start.weights["pruner"] * start.meta["scale"]["pruner"], rtol=1e-6)
    np.testing.assert_allclose(new_pruner(context).weights, found)
    assert 0 < np.abs(context.fitted["pruner"].weights - found).max() < np.abs(found).max()


def test_ten_sentences_help_and_what_was_learnt_before_stays(start):
    model, test = Model.from_bytes(train(few(10), start=start).to_bytes()), few(60, seed=2)
    assert accuracy(model, test) > 0.97 > accuracy(start, test) + 0.03
    assert accuracy(model, test) > accuracy(train(few(10), small()), test)
    assert accuracy(model, toy.sentences(60, seed=2)) > 0.85
    found = parses(model, test)
    assert "advcl" in {label for _, _, labels in found for label in labels}
    assert "PX" in {row[4] for rows, _, _ in found for row in rows}
    again = train(few(10, seed=4), start=model)
    assert accuracy(again, test) > 0.97
    assert model.meta["continued"]["treebanks"] == "not named (licence unknown)"
    assert again.meta["continued"]["words"] == model.meta["words"]


def test_half_of_the_heads_help_too(start):
    rng, test = np.random.default_rng(0), few(60, seed=2)
    given = ((s, rng.random(len(s) + 1) < 0.5) for s in few(30))
    partial = [dataclasses.replace(s, tree=np.where(some, s.tree, -1).astype(np.int32)) for s, some in given]
    assert accuracy(train(partial, start=start), test) > accuracy(start, test) + 0.03


def test_columns_that_a_treebank_lacks_are_predicted(start):
    no_xpos = [with_rows(s, [[*row[:4], "_", *row[5:]] for row in s.rows]) for s in toy.sentences(10, seed=1)]
    tagged = prepared(no_xpos, small(), start=start)[0].tagged
    assert {row[4] for s in tagged for row in s.rows} <= {row[4] for s in toy.sentences(40) for row in s.rows}
    corpus, context = prepared(blank(no_xpos), small(), start=start)
    assert context.fitted["tagger"].tags.tags == start.loaded(Analyzer).tags.tags
    assert "_" not in {row[3] for s in corpus.tagged for row in s.rows}
    states = [each.state()[1] for each in (context.fitted["tagger"], start.loaded(Analyzer))]
    np.testing.assert_equal(*states)


def test_a_model_without_a_tagger_gets_none():
    start = train(toy.sentences(10), small(tagger__epochs=0, network__epochs=0))
    corpus, context = prepared(few(5), small(network__epochs=0), start=start)
    assert type(TaggerComponent.fit(corpus, context)) is Fitted


@pytest.mark.thorough
@pytest.mark.parametrize("loop", ["tagger 1, epoch 1", "labeler 1", "epoch 2"])
def test_an_interrupted_training_goes_on_to_the_same_weights(tmp_path, start, loop):
    whole, path = train(few(12), start=start), tmp_path / "checkpoint"
    with contextlib.suppress(KeyboardInterrupt):  # in the parser's epochs, the last complete one is the result
        train(few(12), start=start, run=RunOptions(checkpoint=path, progress=Interrupt(loop)))
    run = RunOptions(checkpoint=path, resume=True)
    assert weights_of(train(few(12), start=start, run=run)) == weights_of(whole)
    changed = Model.from_bytes(start.to_bytes())
    changed.weights["pruner"][0] += 1
    for model in (changed, None):
        with pytest.raises(ConfigError, match="of other sentences or options"):
            train(few(12), small(), start=model, run=run)


# -- mistakes


def test_options_that_a_model_has_learnt_with_stay(start):
    with pytest.raises(ConfigError, match="features.bits: the model that is continued has"):
        train(few(5), small(features__bits=17), start=start)
    train(few(2), small(training__epochs=1, seed=3), start=start)
    partial = dataclasses.replace(start, config=small(treebank__partial="misc", treebank__name="toy"))
    assert continued_config(partial).treebank == TreebankConfig(root=partial.config.treebank.root, partial="misc")


def test_what_cannot_be_continued(start):
    with pytest.raises(ConfigError, match="excludes related treebanks"):
        train(few(5), start=start, auxiliary=Auxiliary(few(5), RELATED))
    values, arrays = start.component("tagger")
    for first in (0, len(values["tagger"]["tags"]) + 1):
        with pytest.raises(ModelError, match="are the first ones"):
            Analyzer.from_state({**values, "tagger": {**values["tagger"], "first": first}}, arrays)
    larger = ({name: start.weights[name].repeat(2)} for name in ("pruner", "tagger.tagger.weights"))
    for changes, error, message in (
        *(({"weights": start.weights | each}, ModelError, "are not those of its options") for each in larger),
        ({"components": {**start.components, "encoder": {}}}, ConfigError, "a pretrained encoder cannot be continued"),
        ({"weights": {k: v for k, v in start.weights.items() if k != "parser"}}, ConfigError, "this is a checkpoint"),
    ):
        with pytest.raises(error, match=message):
            train(few(5), start=dataclasses.replace(start, **changes))


def test_the_command(tmp_path, start, capsys):
    model, text, out = (str(tmp_path / name) for name in ("m.nonproj", "t.conllu", "o.nonproj"))
    start.save(model)
    Path(text).write_text(text_of(*few(6)), encoding="utf-8")
    command = ["train", text, "--from", model, "-o"]
    assert main([*command, out]) == 0
    found = Model.load(out)
    assert found.meta["continued"]["model"] == "m.nonproj" and found.config.features.bits == start.config.features.bits
    assert main(["inspect", "--card", out]) == 0
    card = capsys.readouterr().out
    assert "| continues | `m.nonproj`, SHA-256 `" in card
    assert f"{start.meta['words']} words of not named (licence unknown)" in card
    for arguments, message in (
        ([*command, model], "is the same file as the model to continue"),
        ([*command, out, "--config", "configs/smoke.yaml"], "excludes --from"),
        ([*command, out, "--parts", "arc"], "parts: the model that is continued has"),
        (["train", text, "--from", text, "-o", out], "not a model"),
    ):
        assert main(arguments) == 2 and message in capsys.readouterr().err
