"""Folders of Hugging Face: kinds of encoders, which differ in names only, and folders that are refused."""

import json

import encoders
import numpy as np
import pytest
from safetensors.numpy import save_file

from nonproj.errors import ModelError
from nonproj.scoring.encoders.architecture import Architecture, read_folder
from nonproj.scoring.encoders.session import Encoder

PIECES = len(json.loads(encoders.wordpiece())["model"]["vocab"])
DISTILBERT = {f"attention.self.{name}": f"attention.{name[0]}_lin" for name in ("query", "key", "value")}
DISTILBERT |= {"attention.output.dense": "attention.out_lin", "attention.output.LayerNorm": "sa_layer_norm"}
DISTILBERT |= {"intermediate.dense": "ffn.lin1", "output.dense": "ffn.lin2", "output.LayerNorm": "output_layer_norm"}
DISTILBERT |= {"encoder.": "transformer."}
WORDS, POSITIONS, TYPES = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type"))


def vectors(folder):
    """The vectors of all sentences."""
    read = read_folder(folder)
    return np.concatenate(Encoder(*read[:3]).vectors(encoders.SENTENCES))


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The vectors of BERT."""
    return vectors(encoders.write_folder(tmp_path_factory.mktemp("bert")))


def test_sizes_and_licence(tmp_path):
    read = read_folder(encoders.write_folder(tmp_path))
    assert read.architecture == Architecture("bert", 2, 4, 32, 64, 24, PIECES, 1e-12)
    assert read.licence == "mit" and json.loads(read.tokenizer)["model"]["type"] == "WordPiece"
    assert all(array.shape == read.architecture.shape(name) for name, array in read.arrays.items())
    (tmp_path / "README.md").write_text("license: none", encoding="utf-8")
    assert read_folder(tmp_path).licence == ""


@pytest.mark.parametrize("kind", ["bert", "electra"])
def test_prefixes_of_names(tmp_path, expected, kind):
    weights = {f"{kind}.{name}": array for name, array in encoders.tensors(PIECES).items()} | {"cls.x": np.ones(2)}
    settings = encoders.config(PIECES, model_type=kind, embedding_size=32)
    assert np.array_equal(vectors(encoders.write_folder(tmp_path, "wordpiece", weights, settings)), expected)


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "camembert"])
def test_first_positions_after_that_of_the_padding(tmp_path, expected, kind):
    weights = {f"roberta.{name}": array for name, array in encoders.tensors(PIECES).items()}
    weights[f"roberta.{POSITIONS}"] = np.vstack([np.ones((2, 32), np.float32), weights[f"roberta.{POSITIONS}"]])
    weights[f"roberta.{TYPES}"] = weights[f"roberta.{TYPES}"][:1]
    settings = encoders.config(PIECES, model_type=kind, pad_token_id=1, type_vocab_size=1, max_position_embeddings=26)
    assert np.array_equal(vectors(encoders.write_folder(tmp_path, "wordpiece", weights, settings)), expected)


def test_distilbert(tmp_path, expected):
    weights = encoders.tensors(PIECES)
    weights[POSITIONS] = weights[POSITIONS] + weights.pop(TYPES)[0]
    for old, new in DISTILBERT.items():
        weights = {name.replace(old, new): array for name, array in weights.items()}
    sizes = {"n_layers": 2, "n_heads": 4, "dim": 32, "hidden_dim": 64, "max_position_embeddings": 24}
    settings = {"model_type": "distilbert", "activation": "gelu", "vocab_size": PIECES, **sizes}
    assert np.array_equal(vectors(encoders.write_folder(tmp_path, "wordpiece", weights, settings)), expected)


def test_half_precision(tmp_path):
    weights = {name: array.astype(np.float16) for name, array in encoders.tensors(PIECES).items()}
    exact = {name: array.astype(np.float32) for name, array in weights.items()}
    half, single = (encoders.write_folder(tmp_path / n, weights=w) for n, w in (("half", weights), ("single", exact)))
    assert np.array_equal(vectors(half), vectors(single))


OTHER_ENCODERS = [
    ({"model_type": "gpt2"}, "an encoder of the kind 'gpt2'; one of bert, roberta, "),
    ({"model_type": ["bert"]}, r"an encoder of the kind \['bert'\]; one of bert, roberta, "),
    ({"hidden_act": "gelu_new"}, "hidden_act is 'gelu_new', 'gelu' is expected"),
    ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key', 'absolute' is"),
    ({"is_decoder": True}, "is_decoder is True, False is expected"),
    ({"embedding_size": 16}, "embedding_size is 16, 32 is expected"),
    ({"num_hidden_layers": None}, "the number of layers is None, 1 to 100 is expected"),
    ({"hidden_size": True}, "the number of hidden is True, 1 to 20000 is expected"),
    ({"type_vocab_size": -1}, "type_vocab_size is -1, 0 to 100 is expected"),
    ({"model_type": "roberta", "pad_token_id": 21}, "pad_token_id is 21, 0 to 20 is expected"),
    ({"model_type": "roberta", "pad_token_id": None}, "pad_token_id is None, 0 to 20 is expected"),
]


@pytest.mark.parametrize(("changes", "fault"), OTHER_ENCODERS)
def test_other_encoders_are_refused(tmp_path, changes, fault):
    folder = encoders.write_folder(tmp_path, settings=encoders.config(PIECES, **changes))
    with pytest.raises(ModelError, match=rf"^{folder}/config\.json: {fault}"):
        read_folder(folder)


def test_tensors_that_are_missing_or_of_another_shape_or_type(tmp_path):
    weights, folder = encoders.tensors(PIECES), encoders.write_folder(tmp_path, weights={})
    for name, array in weights.items():
        for changed, fault in (
            ({}, f"no tensor {name}, one with shape"),
            ({name: array[:-1]}, f"the tensor {name} has the shape"),
            ({name: array.astype(np.int32)}, f"the tensor {name} has the shape .* and the type I32"),
            ({name: np.full_like(array, np.inf)}, f"the tensor {name} has values that are not finite"),
        ):
            others = {key: each for key, each in weights.items() if key != name}
            save_file(others | changed, folder / "model.safetensors")
            with pytest.raises(ModelError, match=rf"model\.safetensors: {fault}"):
                read_folder(folder)


LARGEST = {"num_hidden_layers": 100, "hidden_size": 20_000, "intermediate_size": 100_000}


@pytest.mark.parametrize("sizes", [{"vocab_size": 10**7, "hidden_size": 4000}, LARGEST, {"hidden_size": 64}])
def test_sizes_of_config_are_compared_before_memory_is_asked_for(tmp_path, sizes):
    folder = encoders.write_folder(tmp_path, settings=encoders.config(PIECES, **sizes))
    with pytest.raises(ModelError, match=r"model\.safetensors: \d+ bytes, too few for \d+ weights of config\.json"):
        read_folder(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_files_that_are_missing_or_damaged(tmp_path, name):
    folder = encoders.write_folder(tmp_path)
    whole = (folder / name).read_bytes()
    for data in (b"", b"\xff\xfe", whole[: len(whole) // 2], b"[]", b"[" * 100_000):
        (folder / name).write_bytes(data)
        with pytest.raises(ModelError) as caught:
            Encoder(*read_folder(folder)[:3])
        assert "\n" not in str(caught.value)
    (folder / name).unlink()
    with pytest.raises(ModelError, match=rf"^{folder / name}: "):
        read_folder(folder)
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match=rf"^{folder / name}: "):
        read_folder(folder)
