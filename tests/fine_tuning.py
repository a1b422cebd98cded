"""A tiny encoder, and options with which it learns a tiny language fast."""

import json
from pathlib import Path

import numpy as np
import pytest
import staged
from encoders import config, tensors, wordpiece, write_folder
from toy import ADJECTIVES, NOUNS, PARTICIPLES, VERBS

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from nonproj.learning.encoders.examples import EncoderExample, EncoderTask  # noqa: E402
from nonproj.learning.encoders.module import Bert  # noqa: E402
from nonproj.learning.encoders.training import EncoderLearner  # noqa: E402
from nonproj.options.config import Config  # noqa: E402
from nonproj.scoring.encoders.architecture import read_folder  # noqa: E402
from nonproj.scoring.encoders.session import Encoder  # noqa: E402

WORDS = [*NOUNS, *VERBS, *ADJECTIVES, *PARTICIPLES, "den", "."]

SMALL = dict.fromkeys(("network.epochs", "tagger.epochs", "segmenter.epochs", "confidence.share"), 0)
SMALL |= dict.fromkeys(("training.epochs", "labeler.epochs", "pruner.epochs"), 1)
SMALL |= dict.fromkeys(("features.bits", "pruner.bits", "labeler.bits"), 12)
SMALL |= {"encoder.epochs": 12, "encoder.learning_rate": 2e-3}


def options(folder, **changes) -> Config:
    """Options for learning with the encoder in a folder."""
    changes = {name.replace("__", "."): value for name, value in changes.items()}
    return Config().with_overrides(SMALL | {"encoder.folder": str(folder)} | changes)


def write_tiny(path: Path) -> Path:
    """Write a folder with a tiny encoder of the tiny language's words."""
    torch.set_num_threads(1)
    settings = json.loads(wordpiece())
    names = [*list(settings["model"]["vocab"])[:5], *WORDS, *(f"##{word}" for word in WORDS)]
    settings["model"]["vocab"] = {name: number for number, name in enumerate(names)}
    small = config(len(names), max_position_embeddings=64)
    positions = np.random.default_rng(1).normal(size=(64, 32)).astype(np.float32)
    weights = tensors(len(names)) | {"embeddings.position_embeddings.weight": positions}
    found = write_folder(path, "wordpiece", weights, small)
    (found / "tokenizer.json").write_text(json.dumps(settings), encoding="utf-8")
    return found


def learner_of(folder, types="grandparent", tags=None, **options) -> EncoderLearner:
    """Return an encoder with random layers, whose scores are not 0."""
    found = read_folder(folder)
    bert = Bert(found.architecture, found.arrays, 0.1)
    changes = {"parts": types} | {f"encoder.{key}": each for key, each in options.items()}
    learner = EncoderLearner(bert, EncoderTask("abc", Config().with_overrides(changes), True, tags))
    with torch.no_grad():
        for parameter in learner.heads.parameters():
            parameter.normal_(0.0, 0.2)
        bert.shares.normal_()
    return learner


def examples(folder, texts) -> list[EncoderExample]:
    """Return sentences as pieces; each word's head is the one before it."""
    encoder = Encoder(*read_folder(folder)[:3])
    found = []
    for cut, words in zip(encoder.pieces.cut(texts), texts, strict=True):
        numbers = np.concatenate([[encoder.pieces.special.first], cut.ids, [encoder.pieces.special.last]])
        nodes = np.concatenate([[0], np.repeat(np.arange(1, len(words) + 1), cut.lengths), [-1]])
        zeros = np.zeros(len(words), np.int64)
        found.append(EncoderExample(numbers, nodes, np.arange(-1, len(words), dtype=np.int32), zeros, zeros))
    return found


def heads_alone(parser, sentences) -> float:
    """The share of heads that are right by the encoder's scores of arcs, each word by itself."""
    found = [staged.encoded(parser, s).encoded.first_order()[:, 1:].argmax(axis=0) for s in sentences]
    return float(np.mean(np.concatenate(found) == np.concatenate([s.heads for s in sentences])))


def shares(parser, sentences) -> tuple[float, float]:
    """The shares of right heads and of right labels; all parses are certified."""
    pairs = list(zip(sentences, [parse for _, parse in parser.parse_all(sentences)], strict=True))
    assert all(parse.decoded.certified for _, parse in pairs)
    heads = np.concatenate([parse.decoded.heads == s.heads for s, parse in pairs])
    labels = np.concatenate([np.array(parse.labels) == s.labels for s, parse in pairs])
    return float(heads.mean()), float(labels.mean())
