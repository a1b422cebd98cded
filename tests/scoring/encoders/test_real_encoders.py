"""The real encoders, made by data_scripts/fetch_encoder.py: NONPROJ_ENCODERS=data/encoders."""

from __future__ import annotations

import os
import random
from pathlib import Path

import naive_bert
import numpy as np
import pytest

from nonproj.scoring.encoders.architecture import read_folder
from nonproj.scoring.encoders.pieces import Pieces
from nonproj.scoring.encoders.quantisation import quantise
from nonproj.scoring.encoders.session import Encoder
from nonproj.scoring.encoders.trimming import trim

MADE = Path(os.environ.get("NONPROJ_ENCODERS", "none"))
NAMES = ["minilm", "e5-small"]

pytestmark = pytest.mark.skipif(not MADE.is_dir(), reason="needs the real encoders")


@pytest.fixture(scope="module", params=NAMES)
def folder(request):
    return MADE / request.param


@pytest.fixture(scope="module")
def sentences(treebanks):
    """Words of 40 sentences in two languages."""
    found = []
    for name in ("english-ewt", "greek"):
        path = min((treebanks / name).glob("*dev*.conllu"))
        blocks = path.read_text(encoding="utf-8").split("\n\n")
        rows = [[line.split("\t") for line in block.split("\n") if line[:1].isdigit()] for block in blocks]
        words = [[row[1] for row in each if row[0].isdigit()] for each in rows]
        found += random.Random(1).sample([each for each in words if each], 20)
    return found


def cosines(a, b):
    """The cosine of each row with that of another matrix."""
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_vectors_follow_the_definition(folder, sentences):
    read, twin = read_folder(folder), naive_bert.Bert(folder)
    encoder = Encoder(*read[:3])
    for words, found in zip(sentences, encoder.vectors(sentences), strict=True):
        ids, lengths = encoder.pieces.cut([words])[0]
        states = twin.states([encoder.pieces.special.first, *ids.tolist(), encoder.pieces.special.last])
        ends = 1 + np.cumsum(lengths)
        means = [states[end - size : end].mean(axis=0) for end, size in zip(ends, lengths, strict=True)]
        assert np.abs(found - [states[0], *means]).max() <= 2e-5


def test_eight_bits_change_vectors_little(folder, sentences):
    architecture, arrays, tokenizer, _ = read_folder(folder)
    exact = np.concatenate(Encoder(architecture, arrays, tokenizer).vectors(sentences))
    small = np.concatenate(Encoder(architecture, quantise(arrays), tokenizer).vectors(sentences))
    assert cosines(exact, small).min() >= 0.99 and cosines(exact, small).mean() >= 0.998


def test_trimmed_encoders_give_the_same_vectors(folder, sentences):
    architecture, arrays, tokenizer, _ = read_folder(folder)
    used = {int(piece) for cut in Pieces(tokenizer).cut(sentences) for piece in cut.ids}
    small, kept = trim(tokenizer, used, 5000)
    assert 1000 < len(kept) <= 5100
    changed = architecture._replace(pieces=len(kept)), arrays | {"words": arrays["words"][kept]}, small
    found, expected = (Encoder(*each).vectors(sentences) for each in (changed, (architecture, arrays, tokenizer)))
    assert all(map(np.array_equal, found, expected))
