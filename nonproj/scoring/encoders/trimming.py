"""A vocabulary cut to the pieces of a treebank, so that a model of one language is small."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nonproj.errors import ModelError
from nonproj.scoring.encoders.architecture import EncoderFolder
from nonproj.scoring.encoders.pieces import Pieces
from nonproj.scoring.encoders.session import Encoder
from nonproj.scoring.encoders.tokenizer import names, parse, special_names, special_pieces
from nonproj.types import Int64s

LIMIT = 30_000
"""Default limit on the number of pieces."""


def trimmed(folder: EncoderFolder, texts: Sequence[Sequence[str]], limit: int = LIMIT) -> Encoder:
    """Return the encoder of a folder with the pieces of some texts, and the most frequent others up to a limit.

    Texts with more pieces than the limit are in many languages; then all pieces of the tokenizer are kept.

    Parameters
    ----------
    folder : EncoderFolder
    texts : sequence of sequence of str
        The words of each sentence.
    limit : int

    Raises
    ------
    ModelError
        The tokenizer of the folder is invalid, or has more pieces than the encoder.
    """
    architecture, arrays, tokenizer, _ = folder
    pieces = Pieces(tokenizer)
    if pieces.size > architecture.pieces:
        raise ModelError(f"the tokenizer has {pieces.size} pieces, the encoder {architecture.pieces}")
    used = {piece for cut in pieces.cut(texts) for piece in cut.ids.tolist()}
    if len(used) > limit:
        return Encoder(architecture, arrays, tokenizer)
    smaller, kept = trim(tokenizer, used, limit)
    arrays = {**arrays, "words": arrays["words"][kept]}
    return Encoder(architecture._replace(pieces=len(kept)), arrays, smaller)


def trim(tokenizer: str, used: Iterable[int], limit: int = LIMIT) -> tuple[str, Int64s]:
    """Return the text of a tokenizer with the pieces of a treebank and the most frequent others, and their old numbers.

    All used pieces are kept; of the others whose characters all occur in these, the most frequent ones up to the limit,
    by the scores of a unigram model or the numbers of WordPiece; then special pieces and single characters of the
    treebank.  Words whose pieces are all kept are cut as before.  A tokenizer of byte pairs (BPE) is returned
    unchanged, because its pieces are made from others.  The encoder's array ``words`` becomes ``words[kept]``.

    Parameters
    ----------
    tokenizer : str
        The text of tokenizer.json.
    used : iterable of int
        The numbers of the treebank's pieces.
    limit : int

    Raises
    ------
    ModelError
        The text is not such a tokenizer.
    """
    settings = parse(tokenizer)
    model = settings["model"]
    pieces = names(settings)
    if model["type"] == "BPE":
        return tokenizer, np.arange(len(pieces))
    prefix = "" if model["type"] == "Unigram" else model.get("continuing_subword_prefix", "##")
    bare = [piece.removeprefix(prefix) for piece in pieces]
    kept = set(used)
    seen = {character for number in kept for character in bare[number]}
    always = {number for number, text in enumerate(bare) if len(text) == 1 and text in seen}
    special = special_names(settings)
    always |= {*special_pieces(settings), *(number for number, piece in enumerate(pieces) if piece in special)}
    order = list(range(len(pieces)))
    if model["type"] == "Unigram":
        scores = [score for _, score in model["vocab"]]
        always.add(min(order, key=scores.__getitem__))  # the score of unknown characters is computed from the lowest
        order.sort(key=lambda number: -scores[number])
    others = [number for number in order if number not in kept and bare[number] and seen.issuperset(bare[number])]
    numbers = sorted(always.union(kept, others[: max(0, limit - len(kept))]))
    return _written(settings, pieces, numbers), np.array(numbers)


def _written(settings: dict[str, Any], pieces: list[str], kept: list[int]) -> str:
    """Return the text of a tokenizer with some of its pieces."""
    new = {number: i for i, number in enumerate(kept)}
    number_of = {pieces[number]: i for number, i in new.items()}
    model = dict(settings["model"])
    if model["type"] == "Unigram":
        model["vocab"] = [model["vocab"][number] for number in kept]
        model["unk_id"] = new[model["unk_id"]]
    else:
        model["vocab"] = number_of
    added = [
        entry | {"id": number_of[entry["content"]]}
        for entry in settings.get("added_tokens") or []
        if entry["content"] in number_of
    ]
    try:
        processor = _renumbered(settings["post_processor"], number_of)
    except (LookupError, TypeError, AttributeError):
        raise ModelError("the post-processor of the tokenizer names pieces that it does not have") from None
    changed = {"model": model, "added_tokens": added, "post_processor": processor}
    text = json.dumps(settings | changed, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ModelError("the tokenizer has half of a character, a lone surrogate") from None
    return text


def _renumbered(processor: dict[str, Any], number_of: dict[str, int]) -> dict[str, Any]:
    """Return a post-processor with the new numbers of special pieces."""
    if processor["type"] == "Sequence":
        return processor | {"processors": [_renumbered(each, number_of) for each in processor["processors"]]}
    if processor["type"] == "TemplateProcessing":
        special = processor["special_tokens"]
        return processor | {
            "special_tokens": {
                name: entry | {"ids": [number_of[token] for token in entry["tokens"]]}
                for name, entry in special.items()
            }
        }
    return processor | {
        key: [processor[key][0], number_of[processor[key][0]]] for key in ("cls", "sep") if key in processor
    }
