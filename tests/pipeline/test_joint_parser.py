"""Joint decoding of files: options, written tags and trees, and imported modules."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import encoders
import numpy as np
import pytest
import toy
from naive_heads import arc_score, part_score

import nonproj
from nonproj.cli.main import main
from nonproj.dual.joint.space import joint_score, joint_space
from nonproj.errors import ModelError
from nonproj.io.copies import with_rows
from nonproj.io.objects import from_words
from nonproj.learning.trainer import train
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.joint import JointParser
from nonproj.pipeline.parser import Parser

SMALL = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 16, "pruner.folds": 0, "labeler.epochs": 2}
SMALL |= {"training.epochs": 2, "tagger.epochs": 2, "segmenter.epochs": 1, "network.epochs": 0}


def without_tags(sentence):
    """The sentence with forms and heads only."""
    return with_rows(sentence, [[*row[:2], "_", "_", "_", "_", *row[6:]] for row in sentence.rows])


def noisy(sentences):
    """The same sentences, where some words have another tag, so that words are ambiguous."""
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


@pytest.fixture(scope="module", params=["linear", "encoder"])
def path(request, linear, tmp_path_factory) -> Path:
    """This model, by itself and with a pretrained encoder."""
    if request.param == "linear":
        return linear
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    folder, model = tmp_path_factory.mktemp("encoder"), Model.load(linear)
    units = Parser(model).analyzer.tags.n_units
    scorer = encoders.random_scorer(encoders.write_folder(folder), len(model.labels), units)
    model.add_component("encoder", scorer.state())
    model.save(folder / "model.nonproj")
    return folder / "model.nonproj"


def joint_parser(path, **options):
    """A joint parser with wide limits for candidates."""
    model = Model.load(path)
    wide = {"tag_beam": 1e9, "tag_candidates": 3, "tag_weight": 1.0} | options
    if "encoder" in model.components:  # a random one leaves many arcs, over which problems are harder
        wide["search_limit"] = 20_000_000
    return JointParser(model, dataclasses.replace(model.config.decoding, **wide))


def test_a_heavy_tagger_decides_alone(path):
    given = [without_tags(s) for s in toy.sentences(12, seed=5)]
    alone = list(Parser(Model.load(path)).parse_all(given))
    heavy = 1e5 if "encoder" in Model.load(path).components else 1e7
    jointly = list(joint_parser(path, tag_weight=heavy).parse_all(given))
    for (sentence, parse), (other, found) in zip(alone, jointly, strict=True):
        assert sentence.rows == other.rows
        assert parse.decoded.tree.tolist() == found.decoded.tree.tolist()
        assert parse.labels == found.labels
        assert found.decoded.certified


def test_joint_decoding_is_no_worse_than_the_pipeline_by_its_own_score(path):
    given, changed = [without_tags(s) for s in toy.sentences(12, seed=7)], 0
    parser = joint_parser(path, tag_weight=0.0)  # the parser alone decides
    tagged = parser.tag(given)
    choices = parser.choices(given, tagged)
    assert len(choices) == len(given)
    for i, choice in choices.items():
        sentence, best, candidates = given[i], *choice
        assert len(candidates.rows) > len(sentence)
        tokens = parser.encode(best)
        problem = parser.problem(choice, tokens, parser.prune(tokens))
        pipeline = parser.parse(best).decoded.tree
        [(written, parse)] = parser.parse_all([sentence])
        assert parse.decoded.certified
        assert parse.decoded.bound >= parse.decoded.score
        assert parse.decoded.score >= joint_score(problem, pipeline, np.zeros(len(best) + 1, int)) - 1e-6
        changed += written.rows != best.rows
        assert all(row in candidates.rows for row in written.rows)
    assert changed > 0


def test_an_encoder_scores_the_words_of_tagged_words(path, linear):
    """Whatever their tags are: see the definitions in `naive_heads`."""
    parser, other = joint_parser(path), joint_parser(linear)
    if parser.pretrained is None:
        pytest.skip("no encoder")
    heads, factor = parser.pretrained.heads, parser.pretrained.scale
    plain = {name: array.astype(np.float64).tolist() for name, array in heads.arrays.items()}
    given = [without_tags(s) for s in toy.sentences(2, seed=11)]
    for i, choice in parser.choices(given, parser.tag(given)).items():
        tokens, [vectors] = parser.encode(choice.sentence), parser.pretrained.encoder.vectors([given[i].forms])
        arcs = parser.prune(tokens)
        with_encoder = parser.problem(choice, tokens, arcs)
        without = other.problem(choice, other.encode(choice.sentence), arcs)
        space, parts = joint_space(arcs, choice.candidates.counts, parser._types)
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
        assert len(choice.candidates.rows) > len(given[i])


def test_given_tags_are_kept(path):
    given = toy.sentences(5, seed=7)
    for (sentence, parse), (other, found) in zip(
        Parser(Model.load(path)).parse_all(given), joint_parser(path).parse_all(given), strict=True
    ):
        assert sentence.rows == other.rows
        assert parse.decoded.tree.tolist() == found.decoded.tree.tolist()


def test_joint_decoding_is_an_option_of_load(path):
    """The toy language's tagger is sure of its tags, unless it is asked for all that are not impossible."""
    given = [s.forms for s in toy.sentences(12, seed=7)]
    wide = {"tag_beam": 1e9, "tag_weight": 0.0}
    expected = list(joint_parser(path, **wide).parse_all(map(from_words, given)))
    alone, jointly = nonproj.load(path), nonproj.load(path, joint=True, **wide)
    found = [sentence.upos for sentence in jointly.parse_all(given)]
    assert found == [[row[3] for row in sentence.rows] for sentence, _ in expected]
    assert found != [sentence.upos for sentence in alone.parse_all(given)]


def files(folder, out):
    """Arguments that read one file and write another."""
    return str(folder / "in.conll"), "-o", str(out)


def test_the_command_line_decodes_jointly(path, tmp_path, capsys):
    (tmp_path / "in.conll").write_text(toy.treebank(6, seed=8), encoding="utf-8")
    out = tmp_path / "out.conll"
    assert main(["parse", "--joint", "--tag", str(path), str(tmp_path / "in.conll"), "-o", str(out)]) == 0
    assert len(out.read_text(encoding="utf-8").split("\n\n")) == 7
    assert main(["parse", "-q", "--joint", "--full", "--nbest", "2", "--tag", str(path), *files(tmp_path, out)]) == 0
    assert out.read_text(encoding="utf-8").count("nonproj rank = 2") == 6
    assert main(["parse", "--joint", "--no-tag", str(path), str(tmp_path / "in.conll"), "-o", str(out)]) == 2
    assert capsys.readouterr().err == "nonproj: --joint: excludes --no-tag, because it predicts tags\n"


def test_a_model_without_a_tagger_is_refused(path):
    model = Model.load(path)
    model.components.pop("tagger")
    with pytest.raises(
        ModelError,
        match="^the model has no tagger, .*; it was trained with tagger.epochs=0, or on",
    ):
        JointParser(model)


def test_the_k_best_trees_have_their_best_tags(path):
    """Over candidate arcs and over all arcs: scores fall, trees differ, each comes with its own tags and labels."""
    given, differ = [without_tags(s) for s in toy.sentences(8, seed=7)], 0
    single = list(joint_parser(path, tag_weight=0.0).parse_all(given))
    for full in (False, True):
        several = list(joint_parser(path, tag_weight=0.0, nbest=3, full=full).parse_all(given))
        for (tagged, parse), (first, best) in zip(several, single, strict=True):
            trees = [parse, *parse.others]
            assert len({tuple(each.decoded.tree) for each in trees}) == len(trees) <= 3
            assert len(trees) == 3 or not full
            assert [each.decoded.score for each in trees] == sorted((t.decoded.score for t in trees), reverse=True)
            assert all(each.decoded.certified and len(each.labels) == len(first) for each in trees)
            assert (parse.pruned is not None) == full
            if full:
                assert parse.decoded.score >= best.decoded.score - 1e-6
                assert parse.pruned.score == pytest.approx(best.decoded.score)
            else:
                assert (tagged.rows, parse.labels) == (first.rows, best.labels)
                assert parse.decoded.score == pytest.approx(best.decoded.score)
            differ += any(other.sentence.rows != tagged.rows for other in parse.others)
    assert differ > 0


def test_parsing_without_joint_decoding_imports_none_of_it(path, tmp_path):
    (tmp_path / "in.conll").write_text(toy.treebank(2), encoding="utf-8")
    program = (
        "import sys; from nonproj.cli.main import main\n"
        f"main(['parse', '-q', {str(path)!r}, {str(tmp_path / 'in.conll')!r}, '-o', {str(tmp_path / 'out')!r}])\n"
        "print([name for name in sys.modules if name.startswith(('nonproj.dual.joint', 'nonproj.relaxation.'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
