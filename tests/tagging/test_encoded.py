"""Tags by a pretrained encoder: scores as defined, files, batches, and what is refused."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
import toy
from encoders import random_scorer, write_folder
from further import blank
from naive_heads import tag_score
from staged import tagged

from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.io.copies import with_rows
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.tagging.chain import FormRows

SMALL = {"features.bits": 12, "pruner.bits": 12, "labeler.bits": 12, "pruner.folds": 0, "labeler.epochs": 1}
SMALL |= {"training.epochs": 1, "tagger.epochs": 1, "tagger.bits": 14, "tagger.network_epochs": 1, "network.epochs": 0}
SMALL |= {"segmenter.epochs": 0, "confidence.share": 0}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Model:
    """A model with a tagger of ambiguous words and an encoder that scores tags."""
    model = train(toy.ambiguous(toy.sentences(40), slice(3, 6)), Config().with_overrides(SMALL))
    units = Parser(model).loaded.analyzer.tags.n_units
    folder = write_folder(tmp_path_factory.mktemp("encoder"))
    model.add_component("encoder", random_scorer(folder, len(model.labels), units).state())
    return model


@pytest.fixture
def untagged():
    """Sentences without tags, some of them equal."""
    return blank([*toy.sentences(20, seed=3), *toy.sentences(5, seed=3)])


def test_scores_equal_their_definition(model, untagged):
    parser, texts = Parser(model), [sentence.forms for sentence in untagged[:3]]
    tagger, encoded, compared = parser.loaded.analyzer.tagger, parser.loaded.encoded_tags, 0
    forms, rows = tagger.look_up([form for text in texts for form in text])
    text = FormRows(np.cumsum([0, *map(len, texts)], dtype=np.int64), rows)
    without, found = tagger.score(forms, text), tagger.score(forms, text, (encoded, encoded.hidden(texts)))
    own = {name: array.astype(np.float64).tolist() for name, array in encoded.layer.arrays.items()}
    vectors = np.concatenate([each[1:] for each in parser.loaded.pretrained.encoder.vectors(texts)]).tolist()
    tags = tagger.tags
    for i, row in enumerate(rows.tolist()):
        count = forms.words.count[row]
        for c, tag in enumerate(forms.words.tag[row, :count].tolist()):
            parts = tags.units[tags.unit_start[tag] : tags.unit_start[tag + 1]].tolist()
            expected = 0.5 * tagger.margin * tag_score(own, vectors[i], parts) if count > 1 else 0.0
            assert found[i, c] - without[i, c] == pytest.approx(expected, rel=1e-4, abs=1e-3)
            compared += count > 1
    assert compared > 50


def test_a_heavy_encoder_decides_alone(model, untagged):
    parser, alone = Parser(model), Parser(model)
    parser.loaded.pretrained.tags.scale = 1e6
    tagger, changed = parser.loaded.analyzer.tagger, 0
    for sentence, before in zip(tagged(parser, untagged), tagged(alone, untagged), strict=True):
        hidden = parser.loaded.encoded_tags.hidden([sentence.forms])
        forms, rows = tagger.look_up(sentence.forms)
        for i, row in enumerate(rows.tolist()):
            candidates = forms.words.tag[row, : forms.words.count[row]]
            best = candidates[np.argmax(parser.loaded.encoded_tags.of_tags[candidates] @ hidden[i])]
            assert tuple(sentence.rows[i][3:6]) == tagger.tags.tags[best]
        changed += sentence.rows != before.rows
    assert changed > 0


def strange(sentences):
    """The sentences with every other word in another script, which no lexicon has."""
    script, made = str.maketrans("abcdefghijklmnopqrstuvwxyz", "αβγδεζηθικλμνξοπρστυφχψωϊϋ"), []
    for s in sentences:
        forms = [form.translate(script) if i % 2 else form for i, form in enumerate(s.forms)]
        made.append(with_rows(s, [[row[0], form, *row[2:]] for row, form in zip(s.rows, forms, strict=True)]))
    return made


def test_words_that_the_lexicon_lacks_have_the_tags_that_the_encoder_prefers(model, untagged):
    parser, plain = Parser(model), Parser(model)
    parser.loaded.pretrained.tags.scale = 1e6
    tags, without = parser.loaded.analyzer.tags.tags, Counter()
    for sentence, before in zip(tagged(parser, strange(untagged)), tagged(plain, strange(untagged)), strict=True):
        hidden = parser.loaded.encoded_tags.hidden([sentence.forms])
        for i in range(1, len(sentence), 2):
            order = np.argsort(-(parser.loaded.encoded_tags.of_tags @ hidden[i]))
            assert tuple(sentence.rows[i][3:6]) == tags[order[0]]
            without[tuple(before.rows[i][3:6]) in [tags[k] for k in order[:8]]] += 1
    assert set(without) == {True}, "with its usual weight, the others decide among its eight best"


def test_unknown_words_of_sentences_that_are_not_encoded_are_tagged_as_without_an_encoder(model, untagged):
    parser, plain = Parser(model), Parser(dataclasses.replace(model, components={**model.components}))
    plain.model.components.pop("encoder")
    parser.loaded.encoded_tags.longest = 1
    assert [s.rows for s in tagged(parser, strange(untagged))] == [s.rows for s in tagged(plain, strange(untagged))]


@pytest.mark.parametrize("change", [list, strange])
def test_tags_do_not_depend_on_the_batch(model, untagged, change):
    parser, untagged = Parser(model), change(untagged)
    together = [(sentence.rows, parse.labels) for sentence, parse in parser.parse_all(untagged)]
    for sentence, expected in zip(untagged, together, strict=True):
        [(found, parse)] = parser.parse_all([sentence])
        assert (found.rows, parse.labels) == expected
    backwards = [(sentence.rows, parse.labels) for sentence, parse in parser.parse_all(untagged[::-1], 7)]
    assert backwards[::-1] == together


def test_a_sentence_is_encoded_once(model, untagged, monkeypatch):
    parser, seen = Parser(model), []
    run = parser.loaded.pretrained.encoder.vectors
    monkeypatch.setattr(parser.loaded.pretrained.encoder, "vectors", lambda texts: seen.extend(texts) or run(texts))
    assert len(list(parser.parse_all(untagged))) == len(untagged)
    assert len(seen) == len(set(seen)) == len({tuple(sentence.forms) for sentence in untagged})


def test_files_and_processes(model, untagged, tmp_path):
    path, source = tmp_path / "model.nonproj", tmp_path / "in.conll"
    model.save(path)
    conll.write(((sentence, np.zeros(len(sentence), np.int32)) for sentence in untagged), source)
    for jobs in ("1", "2"):
        output = str(tmp_path / f"{jobs}.conll")
        assert main(["parse", str(path), str(source), "-o", output, "--jobs", jobs]) == 0
    found = list(conll.read(tmp_path / "1.conll"))
    assert (tmp_path / "1.conll").read_bytes() == (tmp_path / "2.conll").read_bytes()
    assert [s.rows[0][3:6] for s in found] == [s.rows[0][3:6] for s in tagged(Parser(model), untagged)]


@pytest.mark.parametrize(("name", "value"), [("tag_output", np.nan), ("tag_in", np.inf), ("tag_bias", 1e20)])
def test_numbers_of_strangers_are_checked(model, name, value):
    changed = Model.from_bytes(model.to_bytes())
    changed.weights[f"encoder.tags.{name}"].flat[0] = value
    with pytest.raises(ModelError, match="layer of tags has numbers beyond"):
        _ = Parser(changed).loaded.pretrained


def test_layers_for_others_are_refused(model):
    changed = Model.from_bytes(model.to_bytes())
    changed.weights["encoder.tags.tag_output"] = changed.weights["encoder.tags.tag_output"][:-1]
    with pytest.raises(ModelError, match="parts of tags; the tagger has"):
        _ = Parser(changed).loaded.encoded_tags
    changed.weights["encoder.tags.tag_in"] = changed.weights["encoder.tags.tag_in"][:-1]
    with pytest.raises(ModelError, match="not for vectors of 32 numbers"):
        _ = Parser(changed).loaded.pretrained
    changed.components["encoder"]["tags"]["scale"] = 0.0
    with pytest.raises(ModelError):
        _ = Parser(changed).loaded.pretrained
