"""The page about pretrained encoders: trees by each way to decode, beside their definitions, and the tables."""

import dataclasses

import naive_trees
import numpy as np
import pytest
from toy import raw_treebank

pytest.importorskip("matplotlib")
pytest.importorskip("highspy")
pytest.importorskip("udtools")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from encoders import random_scorer, write_folder  # noqa: E402

from nonproj.io import conll  # noqa: E402
from nonproj.model.model import Model  # noqa: E402
from nonproj.pipeline.parser import Parser  # noqa: E402
from nonproj.pipeline.stages import tag  # noqa: E402
from research.experiments import neural, neural_trees, text  # noqa: E402
from research.experiments.provenance import recorded, sections  # noqa: E402
from research.experiments.setting import ExperimentSettings, configuration, model_file, treebank  # noqa: E402
from research.experiments.store import read_rows  # noqa: E402


@pytest.fixture(scope="module")
def setting(tmp_path_factory) -> ExperimentSettings:
    """A setting with toy treebanks and models with random encoders."""
    folder, files = tmp_path_factory.mktemp("neural"), {}
    for seed, language in enumerate(("tamil", "latin")):
        files[language] = folder / f"{language}-train.conllu", folder / f"{language}-test.conllu"
        for path, count, number in zip(files[language], (40, 25), (seed, seed + 10), strict=True):
            path.write_text(raw_treebank(count, number), encoding="utf-8")
    setting = ExperimentSettings(folder / "results", folder / "models", files=files, config=text.SHORT)
    encoder = write_folder(folder / "encoder")
    for language in files:
        linear = Model.load(model_file(setting, language, neural.PARTS))
        (setting.models / neural.MULTILINGUAL).touch()
        scorer = random_scorer(encoder, len(linear.labels), Parser(linear).loaded.analyzer.tags.n_units)
        options = {"encoder.folder": str(encoder), "confidence.share": 0.0}
        config = configuration(setting, language, neural.PARTS).with_overrides(options)
        model = dataclasses.replace(linear, config=config)
        model.add_component("encoder", scorer.state())
        model.save(setting.models / f"{language}-multilingual.nonproj")
    return setting


def test_each_way_to_decode_is_what_its_name_says(setting):
    model, test = neural.encoder_model(setting, "tamil"), treebank(setting, "tamil")[1]
    rows = {row["method"]: row for row in neural_trees.decoded_rows(model, test)}
    gold, parser = list(conll.read(test)), Parser(Model.load(model), tags="all")
    found: dict[str, list] = {name: [] for name in neural_trees.METHODS}
    for sentence in parser.run(gold, until=tag).sentences:
        batch = neural_trees.encoded_alone(parser, sentence)
        scores = neural_trees.encoded_of(batch).first_order()
        n = len(sentence)
        found["greedy"].append([int(np.argmax(scores[:, m])) for m in range(1, n + 1)])
        if n <= 5:
            trees = list(naive_trees.all_trees(n, parser.request.options.single_root))
            best = max(trees, key=lambda tree: sum(scores[h, m] for m, h in enumerate(tree[1:], 1)))
            flat = list(filter(naive_trees.is_projective, trees))
            projective = max(flat, key=lambda tree: sum(scores[h, m] for m, h in enumerate(tree[1:], 1)))
            decoded = [neural_trees.DECODERS[name] for name in ("arborescence", "projective")]
            own = [decode(parser, *prepare(batch)).tolist() for prepare, decode in decoded]
            assert own == [list(best), list(projective)]
        by_scores = parser.with_request(crossing=0.0)
        found["together"].append(by_scores.parse(sentence).decoded.heads.tolist())
    for name in ("greedy", "together"):
        right = [
            h == g for heads, s in zip(found[name], gold, strict=True) for h, g in zip(heads, s.heads, strict=True)
        ]
        assert rows[name]["uas"] == pytest.approx(np.mean(right))
        complete = [heads == s.heads.tolist() for heads, s in zip(found[name], gold, strict=True)]
        assert rows[name]["complete"] == pytest.approx(np.mean(complete))
    bad = [not naive_trees.is_tree([-1, *heads]) or heads.count(0) != 1 for heads in found["greedy"]]
    assert rows["greedy"]["invalid"] == sum(bad) > 0
    assert all(row["invalid"] == 0 for name, row in rows.items() if name != "greedy")
    for name in ("exact", "together"):
        assert 0 < rows[name]["certified"] <= 1
        assert (rows[name]["programs"], rows[name]["wrong"]) == (len(gold), 0)


def test_trees_that_are_not_the_best_are_found(setting):
    """Certified trees whose scores are below the optimum are counted."""
    model, test = neural.encoder_model(setting, "tamil"), treebank(setting, "tamil")[1]
    parser = Parser(Model.load(model), tags="all")
    sentences = parser.run(list(conll.read(test))[:10], until=tag).sentences
    encoded = [neural_trees.encoded_alone(parser, sentence) for sentence in sentences]
    trees, _ = neural_trees.decode_all(parser, "exact", list(conll.read(test))[:10], encoded)
    assert neural_trees.disagreements(parser, "exact", encoded, trees) == 0
    worse = [(*tree[:2], tree[2]._replace(score=tree[2].score - 0.01)) for tree in trees]
    assert neural_trees.disagreements(parser, "exact", encoded, worse) == 10


def test_the_page_has_every_treebank_and_keeps_what_was_measured(setting, monkeypatch):
    neural.measure(setting, ["tamil"])
    page = (setting.results / "neural.md").read_text(encoding="utf-8")
    row = read_rows(setting.results / "neural.csv")[0]
    lines = [line for line in page.splitlines() if line.startswith("| UD Tamil")]
    assert len(lines) == 3  # from raw text, by ways to decode, and their search
    assert f"| with an encoder | {' | '.join(f'{100 * row[name]:.2f}' for name in neural.COMPARED)} |" in page
    assert page.count("| greedy |") == 1 and "mean of the first" not in page
    assert recorded(page) == sections()["neural"][2]()
    monkeypatch.setattr(neural, "scores_of", lambda *_: dict.fromkeys(text.METRICS, 0.5))
    neural.measure(setting, ["latin"])
    kept = read_rows(setting.results / "neural.csv")
    assert [each["language"] for each in kept] == ["latin", "tamil"] and kept[1] == row
    assert len(read_rows(setting.results / "neural-trees.csv")) == 2 * len(neural_trees.METHODS)
