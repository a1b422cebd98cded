"""Joint decoding of files: options, written tags and trees, and imported modules."""

from __future__ import annotations

import shutil
from pathlib import Path

import encoders
import numpy as np
import pytest
import toy
from naive_heads import arc_score, part_score
from pages import run_page

from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.io.copies import with_rows
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import encode, prune, tag
from nonproj_systems.cli import main
from nonproj_systems.joint_tags import parser as joint_tags
from nonproj_systems.joint_tags.space import joint_score, joint_space

SMALL = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 16, "pruner.folds": 0, "labeler.epochs": 2}
SMALL |= {"training.epochs": 2, "tagger.epochs": 2, "segmenter.epochs": 1, "network.epochs": 0}


def without_tags(sentence):
    """The sentence with forms and heads only."""
    return with_rows(sentence, [[*row[:2], "_", "_", "_", "_", *row[6:]] for row in sentence.rows])


def noisy(sentences):
    """Sentences in which some words have another tag, so that words are ambiguous."""
    rng, made = np.random.default_rng(0), []
    tags = sorted({tuple(row[2:6]) for sentence in sentences for row in sentence.rows})
    for sentence in sentences:
        rows = [
            [*row[:2], *tags[rng.integers(len(tags))], *row[6:]] if rng.random() < 0.2 else row for row in sentence.rows
        ]
        made.append(with_rows(sentence, rows))
    return made


@pytest.fixture(scope="module")
def linear(tmp_path_factory) -> Path:
    """A model whose tagger knows ambiguous words."""
    path = tmp_path_factory.mktemp("joint") / "model.nonproj"
    train(noisy(toy.sentences(60)), Config().with_overrides(SMALL)).save(path)
    return path


@pytest.fixture(scope="module", params=["linear", pytest.param("encoder", marks=pytest.mark.thorough)])
def path(request, linear, tmp_path_factory) -> Path:
    """This model, by itself and with a pretrained encoder."""
    if request.param == "linear":
        return linear
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    folder, model = tmp_path_factory.mktemp("encoder"), Model.load(linear)
    units = Parser(model).loaded.analyzer.tags.n_units
    scorer = encoders.random_scorer(encoders.write_folder(folder), len(model.labels), units)
    model.add_component("encoder", scorer.state())
    model.save(folder / "model.nonproj")
    return folder / "model.nonproj"


def joint_parser(path, weight=1.0, tags="missing"):
    """A joint parser with wide limits for candidates."""
    return joint_tags.joint_parser(Model.load(path), None, tags, options_of(weight))


def options_of(weight):
    """Wide limits for candidates."""
    return joint_tags.CandidateOptions(weight, 1e9, 3)


def with_candidates(parser, stage, given):
    """A batch of each sentence with its best tags and candidate arcs, and the candidate tags."""
    tagged = parser.run(given, until=tag)
    candidates = stage.propose(Batch(parser.loaded, parser.request, given), tagged)
    assert all(candidates)
    return [(prune(encode(tagged.select([i]))), own) for i, own in enumerate(candidates)]


def test_a_heavy_tagger_decides_alone(path):
    given = [without_tags(s) for s in toy.sentences(12, seed=5)]
    alone = list(Parser(Model.load(path)).parse_all(given))
    heavy = 1e5 if "encoder" in Model.load(path).components else 1e7
    jointly = list(joint_parser(path, weight=heavy).parse_all(given))
    for (sentence, parse), (other, found) in zip(alone, jointly, strict=True):
        assert sentence.rows == other.rows
        assert parse.decoded.tree.tolist() == found.decoded.tree.tolist()
        assert parse.labels == found.labels
        assert found.decoded.certified


def test_joint_decoding_is_no_worse_than_the_pipeline_by_its_own_score(path):
    given, changed = [without_tags(s) for s in toy.sentences(12, seed=7)], 0
    usual = Parser(Model.load(path))
    stage = joint_tags.JointStage(usual.loaded, options_of(0.0))  # the parser alone decides
    parser = usual.with_stages([stage])
    for sentence, (batch, candidates) in zip(given, with_candidates(usual, stage, given), strict=True):
        [best] = batch.sentences
        assert len(candidates.rows) > len(sentence)
        [problem] = stage.problems(batch, [candidates])
        pipeline = usual.parse(best).decoded.tree
        [(written, parse)] = parser.parse_all([sentence])
        assert parse.decoded.certified
        assert parse.decoded.bound >= parse.decoded.score
        assert parse.decoded.score >= joint_score(problem, pipeline, np.zeros(len(best) + 1, int)) - 1e-6
        changed += written.rows != best.rows
        assert all(row in candidates.rows for row in written.rows)
    assert changed > 0


def test_an_encoder_scores_the_words_of_tagged_words(path, linear):
    """Whatever their tags are: see the definitions in `naive_heads`."""
    usual, without_encoder = (Parser(Model.load(each)) for each in (path, linear))
    if (pretrained := usual.loaded.pretrained) is None:
        pytest.skip("no encoder")
    heads, factor = pretrained.heads, pretrained.scale
    stage, other = (joint_tags.JointStage(each.loaded, options_of(1.0)) for each in (usual, without_encoder))
    plain = {name: array.astype(np.float64).tolist() for name, array in heads.arrays.items()}
    given = [without_tags(s) for s in toy.sentences(2, seed=11)]
    for i, (batch, candidates) in enumerate(with_candidates(usual, stage, given)):
        [vectors], [arcs] = pretrained.encoder.vectors([given[i].forms]), batch.arcs
        [with_encoder] = stage.problems(batch, [candidates])
        [without] = other.problems(encode(batch._replace(loaded=without_encoder.loaded)), [candidates])
        space, parts = joint_space(arcs, candidates.counts, stage.types)
        word, expected = [*space.word.tolist(), len(given[i]) + 1, len(given[i]) + 2], []
        for part_type, start in zip(parts.types, parts.starts, strict=True):
            for row in part_type.rows(parts.arcs, start).nodes.tolist():
                nodes = [word[node] for node in row]
                if part_type.name == "arc":
                    expected.append(arc_score(plain, vectors.tolist(), *nodes))
                else:
                    expected.append(part_score(plain, part_type.name, vectors.tolist(), nodes))
        kept = np.isfinite(without.scores)
        found = with_encoder.scores[kept] - without.scores[kept]
        np.testing.assert_allclose(found, factor * np.array(expected)[kept], rtol=1e-4, atol=1e-3)
        assert len(candidates.rows) > len(given[i])


def test_given_tags_are_kept(path):
    given = toy.sentences(5, seed=7)
    for (sentence, parse), (other, found) in zip(
        Parser(Model.load(path)).parse_all(given), joint_parser(path).parse_all(given), strict=True
    ):
        assert sentence.rows == other.rows
        assert parse.decoded.tree.tolist() == found.decoded.tree.tolist()


def test_the_command_line_decodes_jointly(path, tmp_path, capsys):
    (tmp_path / "in.conll").write_text(toy.treebank(6, seed=8), encoding="utf-8")
    out = tmp_path / "out.conll"
    words = ["tags", str(path), str(tmp_path / "in.conll"), "-o", str(out), "--tag", "--beam", "1e9", "--weight", "1"]
    assert main(words) == 0
    expected = joint_parser(path, tags="all").parse_all(toy.sentences(6, seed=8))
    found = list(conll.read(out))
    for sentence, (tagged, parse) in zip(found, expected, strict=True):
        assert [row[:6] for row in sentence.rows] == [row[:6] for row in tagged.rows]
        assert sentence.tree.tolist() == parse.decoded.tree.tolist() and sentence.labels == parse.labels
    assert out.read_text(encoding="utf-8").count("# nonproj certified = true") == 6
    with pytest.raises(SystemExit):
        main([*words[:-1], "-1"])
    assert "'-1' is not a number from 0 to 1e9" in capsys.readouterr().err


def test_the_page_runs(linear, tmp_path, monkeypatch):
    shutil.copy(linear, tmp_path / "my.nonproj")
    assert run_page("systems/docs/tags.md", tmp_path, monkeypatch)["parser"].request.tags == "all"


def test_a_model_without_a_tagger_is_refused(path):
    model = Model.load(path)
    model.components.pop("tagger")
    with pytest.raises(
        ModelError,
        match="^the model has no tagger, .*; it was trained with tagger.epochs=0, or on",
    ):
        joint_tags.joint_parser(model)
