"""Tiny random encoders in folders like those of Hugging Face."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 32, "intermediate_size": 64}


def write_encoder(folder: Path, words: list[str], seed: int = 0) -> Path:
    """Write a random BERT whose pieces are some words and the characters of all, and return its folder."""
    from safetensors.numpy import save_file

    letters = sorted({character for word in words for character in word})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    pieces += [word for word in dict.fromkeys(words) if len(word) > 1]
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"model_type": "bert", "vocab_size": len(pieces), "max_position_embeddings": 64, "type_vocab_size": 2}
    settings |= {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0, **SIZES}
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_of(pieces)))
    (folder / "README.md").write_text("---\nlicense: mit\n---\nRandom numbers.\n")
    save_file(random_tensors(settings, seed), folder / "model.safetensors")
    return folder


def tokenizer_of(pieces: list[str]) -> dict:
    """Return the settings of a tokenizer with a WordPiece model."""
    special = [{"id": i, "content": pieces[i], "special": True} for i in range(4)]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    model |= {"max_input_chars_per_word": 100, "vocab": {piece: i for i, piece in enumerate(pieces)}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [each | flags for each in special],
        "normalizer": None,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": None,
        "model": model,
    }


def random_tensors(settings: dict, seed: int) -> dict[str, np.ndarray]:
    """Return random tensors under the names of a BERT."""
    rng, hidden, inner = np.random.default_rng(seed), settings["hidden_size"], settings["intermediate_size"]
    found: dict[str, np.ndarray] = {}

    def add(name: str, *shape: int) -> None:
        found[name] = rng.normal(0.0, 0.1, shape).astype(np.float32)

    def add_linear(name: str, outputs: int, inputs: int) -> None:
        add(f"{name}.weight", outputs, inputs)
        add(f"{name}.bias", outputs)

    def add_norm(name: str) -> None:
        add(f"{name}.bias", hidden)
        found[f"{name}.weight"] = (1 + rng.normal(0.0, 0.1, hidden)).astype(np.float32)

    add("embeddings.word_embeddings.weight", settings["vocab_size"], hidden)
    add("embeddings.position_embeddings.weight", settings["max_position_embeddings"], hidden)
    add("embeddings.token_type_embeddings.weight", settings["type_vocab_size"], hidden)
    add_norm("embeddings.LayerNorm")
    for layer in range(settings["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            add_linear(f"{name}.attention.{part}", hidden, hidden)
        add_norm(f"{name}.attention.output.LayerNorm")
        add_linear(f"{name}.intermediate.dense", inner, hidden)
        add_linear(f"{name}.output.dense", hidden, inner)
        add_norm(f"{name}.output.LayerNorm")
    return found
