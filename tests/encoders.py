"""Small encoders with random weights, as folders of Hugging Face."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nonproj.scoring.encoders.scorer import EncoderScorer

SENTENCES = [["The", "dog", "saw", "the", "unbelievable", "cats"], ["dogs", "see"], []]
SENTENCES += [["a", "\u00a0", "cat", "zebra", "<s>", "[CLS]", "dog", "\u4e2d"]]
SENTENCES += [["see"] * 30, ["unbelievable" * 9, "dog"]]
"""Words with one and several pieces, unknown ones, none at all, and more than a window has."""

WORDS = ["the", "dog", "cat", "see", "saw", "un", "believ", "a", "b", "s", "e"]
ENDS = ["s", "able", "believ", "e", "b", "un"]

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
SIZES |= {"max_position_embeddings": 24}


def special(*names: str) -> list[dict[str, object]]:
    """Special pieces with numbers from 0."""
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    return [{"id": number, "content": name, **flags} for number, name in enumerate(names)]


def template(first: str, last: str, numbers: dict[str, int]) -> dict[str, object]:
    """Special pieces before and after a sentence."""
    single = [{"SpecialToken": {"id": first, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    single.append({"SpecialToken": {"id": last, "type_id": 0}})
    tokens = {name: {"id": name, "ids": [numbers[name]], "tokens": [name]} for name in (first, last)}
    return {"type": "TemplateProcessing", "single": single, "pair": [*single, *single[1:]], "special_tokens": tokens}


def tokenizer(names: list[str], **settings: object) -> str:
    """The file of a tokenizer with special pieces and other settings."""
    empty = dict.fromkeys(("truncation", "padding", "decoder", "normalizer"))
    return json.dumps({"version": "1.0", **empty, "added_tokens": special(*names), **settings})


def wordpiece() -> str:
    """A tokenizer like that of BERT."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *(f"##{end}" for end in ENDS), "<", ">", "[", "]"]
    vocabulary = {name: number for number, name in enumerate(names)}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
    return tokenizer(
        names[:5],
        normalizer=normalizer | {"strip_accents": None},
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor=template("[CLS]", "[SEP]", vocabulary),
        model=model | {"max_input_chars_per_word": 200, "vocab": vocabulary},
    )


def unigram() -> str:
    """A tokenizer like that of XLM-R."""
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [f"\u2581{word}" for word in WORDS] + ENDS + ["<", ">", "\u2581", "d", "o", "g", "t", "h", "T"]
    vocabulary = [[name, 0.0] for name in names] + [[piece, -2.0 - i / 7] for i, piece in enumerate(pieces)]
    blanks = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    return tokenizer(
        names,
        normalizer={"type": "NFKC"},
        pre_tokenizer=blanks,
        post_processor=template("<s>", "</s>", {"<s>": 0, "</s>": 2}),
        model={"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": False},
    )


def byte_pairs() -> str:
    """A tokenizer like that of RoBERTa; the letter with a dot is a blank."""
    names = ["<s>", "<pad>", "</s>", "<unk>", *"\u0120abcdeghlnostuv", "\u0120d", "\u0120do", "\u0120dog"]
    merges = [["\u0120", "d"], ["\u0120d", "o"], ["\u0120do", "g"]]
    vocabulary, kept = {name: number for number, name in enumerate(names)}, {"add_prefix_space": False}
    ends = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True}
    return tokenizer(
        names[:4],
        pre_tokenizer={"type": "ByteLevel", "trim_offsets": True, "use_regex": True, **kept},
        post_processor=ends | kept,
        model={"type": "BPE", "unk_token": "<unk>", "vocab": vocabulary, "merges": merges},
    )


TOKENIZERS = {"wordpiece": wordpiece, "unigram": unigram, "byte_pairs": byte_pairs}


def tensors(pieces: int, seed: int = 0) -> dict[str, np.ndarray]:
    """The tensors of a small BERT."""
    random, hidden, inner = np.random.default_rng(seed), SIZES["hidden_size"], SIZES["intermediate_size"]

    def linear(name: str, outputs: int, inputs: int) -> dict[str, np.ndarray]:
        weight = random.normal(size=(outputs, inputs)) / np.sqrt(inputs)
        return {f"{name}.weight": weight, f"{name}.bias": random.normal(size=outputs) / 5}

    def norm(name: str) -> dict[str, np.ndarray]:
        weight, bias = random.uniform(0.5, 1.5, hidden), random.normal(size=hidden) / 5
        return {f"{name}.weight": weight, f"{name}.bias": bias}

    rows = {"word": pieces, "position": SIZES["max_position_embeddings"], "token_type": 2}
    found = {f"embeddings.{name}_embeddings.weight": random.normal(size=(rows[name], hidden)) for name in rows}
    found |= norm("embeddings.LayerNorm")
    for layer in range(SIZES["num_hidden_layers"]):
        begin = f"encoder.layer.{layer}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            found |= linear(f"{begin}attention.{name}", hidden, hidden)
        found |= norm(f"{begin}attention.output.LayerNorm") | norm(f"{begin}output.LayerNorm")
        found |= linear(f"{begin}intermediate.dense", inner, hidden) | linear(f"{begin}output.dense", hidden, inner)
    return {name: array.astype(np.float32) for name, array in found.items()}


def config(pieces: int, **changes: object) -> dict[str, object]:
    """The settings of a small BERT."""
    kind = {"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0}
    return {**kind, **SIZES, "vocab_size": pieces, **changes}


def write_folder(folder: Path, tokenizer="wordpiece", weights=None, settings=None) -> Path:
    """Write a small BERT, or other weights with other settings."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    text = TOKENIZERS[tokenizer]()
    pieces = len(json.loads(text)["model"]["vocab"])
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(settings or config(pieces)), encoding="utf-8")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n\n# Small\n", encoding="utf-8")
    save_file(tensors(pieces) if weights is None else weights, folder / "model.safetensors")
    return folder


def random_scorer(folder: Path, n_labels: int, n_units: int = 0, seed: int = 0) -> EncoderScorer:
    """A small encoder with random layers behind it, whose scores of siblings and grandparents make decoding hard.

    With ``n_units`` parts of tags, it scores tags, too.
    """
    from nonproj.scoring.encoders.architecture import read_folder
    from nonproj.scoring.encoders.heads import BiaffineLayers, sizes_of
    from nonproj.scoring.encoders.quantisation import quantise
    from nonproj.scoring.encoders.scorer import EncoderScorer
    from nonproj.scoring.encoders.session import Encoder
    from nonproj.scoring.encoders.tags import TAG_UNITS, TagLayer

    rng, found = np.random.default_rng(seed), read_folder(folder)
    shapes = sizes_of(found.architecture.hidden, n_labels)
    arrays = {name: rng.normal(0.0, 0.15, shape).astype(np.float32) for name, shape in shapes.items()}
    for name in ("sibling", "grandparent"):
        arrays[f"{name}_weight"] = rng.normal(0.0, 3.0, arrays[f"{name}_weight"].shape).astype(np.float32)
    encoder = Encoder(found.architecture, quantise(found.arrays), found.tokenizer)
    shapes = {"tag_in": (SIZES["hidden_size"], TAG_UNITS), "tag_bias": (TAG_UNITS,), "tag_output": (n_units, TAG_UNITS)}
    of_tags = {name: rng.normal(0.0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    return EncoderScorer(encoder, BiaffineLayers(arrays), 3.0, 2.0, TagLayer(of_tags, 0.5) if n_units else None)
