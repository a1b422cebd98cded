"""Lane of strangers' encoders: damaged folders of Hugging Face, from which an encoder would be fine-tuned."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from nonproj.errors import ModelError
from nonproj.scoring.encoders.architecture import read_folder
from nonproj.scoring.encoders.session import Encoder
from nonproj.scoring.encoders.trimming import trimmed
from research.attack import forgery, mutators
from research.attack.campaign import ROOT, Lane
from research.attack.properties import check_message, require

sys.path.append(str(ROOT / "tests"))  # for the small encoders

SECONDS = 10.0
"""Processor seconds that a folder may take to be read and used a little."""

MEMORY = 2 << 30
"""Bytes that damaged folders may take; see `research.attack.campaign.Lane`."""

TEXTS = [["The", "dog", "saw", "the", "unbelievable", "cats"], ["<s>", "[CLS]", "\u00a0", "\u0301", "\U0001f600"], []]
TEXTS += [["dog"] * 60, ["unbelievable" * 9, "中", "\u0634\u062c\u0631\u0629"], ["a\x07b"]]
"""Words of one and several pieces, unknown ones, those that look like special pieces, and more than a window has."""

WEIGHTS, CONFIG, TOKENIZER, CARD = "model.safetensors", "config.json", "tokenizer.json", "README.md"


class Folders(Lane):
    """Reads damaged folders, and computes vectors with the accepted ones."""

    name = "folders"
    memory = MEMORY

    def __init__(self, folder: Path):
        from encoders import TOKENIZERS, write_folder

        super().__init__(folder)
        self.originals = []
        for kind in TOKENIZERS:
            with tempfile.TemporaryDirectory() as name:
                written = write_folder(Path(name) / kind, kind)
                self.originals.append({path.name: path.read_bytes() for path in written.iterdir()})
        for original in self.originals:
            self.use(self.write(original))

    def case(self, rng: random.Random, number: int) -> str:
        """Damage one or two files of a folder, read it, and use it."""
        files = dict(rng.choice(self.originals))
        for name in rng.choices((TOKENIZER, CONFIG, WEIGHTS, CARD), (5, 3, 3, 0.3), k=rng.choice((1, 1, 1, 2))):
            files[name] = damage_file(rng, name, files[name])
            if rng.random() < 0.01:
                del files[name]
                break
        self.current = dict(files)
        path, began = self.write(files), time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                self.use(path)
            outcome = "used"
        except ModelError as error:
            check_message(error)
            outcome = "rejected"
        seconds = time.process_time() - began
        require(seconds < SECONDS, f"it takes {seconds:.1f} s")
        return outcome

    def write(self, files: dict[str, bytes]) -> Path:
        """Write the files of a folder, and no others."""
        path = self.folder / "encoder"
        path.mkdir(exist_ok=True)
        for old in path.iterdir():
            old.unlink()
        for name, data in files.items():
            (path / name).write_bytes(data)
        return path

    def use(self, path: Path) -> None:
        """Read a folder, trim the encoder as training does, store it, load it, and compute vectors."""
        encoder = trimmed(read_folder(path), TEXTS[:3], 30)
        values, arrays = encoder.state()
        vectors = Encoder.from_state(json.loads(json.dumps(values)), arrays).vectors(TEXTS)
        hidden = encoder.architecture.hidden
        require([each.shape for each in vectors] == [(len(words) + 1, hidden) for words in TEXTS], "shapes are wrong")
        require(all(bool(np.isfinite(each).all()) for each in vectors), "a vector is not finite")


def damage_file(rng: random.Random, name: str, data: bytes) -> bytes:
    """Return a damaged file of a folder: its bytes, or what it says, are changed."""
    if rng.random() < 0.15:
        return mutators.damage(rng, data)
    if name == WEIGHTS:
        return damage_weights(rng, data)
    if name == CARD:
        return mutators.damage(rng, mutators.damage(rng, data))
    try:
        node = json.loads(data)
    except ValueError:  # it was damaged before
        return mutators.damage(rng, data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        forgery.replace_somewhere(rng, draw_inner(rng, node))
    return json.dumps(node, ensure_ascii=rng.random() < 0.9).encode("utf-8", "surrogatepass")


def draw_inner(rng: random.Random, node: object) -> dict | list:
    """Return a document, or a record or list within it, so that large vocabularies do not take all changes."""
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    inner = [each for each in values if isinstance(each, dict | list)]
    return rng.choice(inner) if inner and rng.random() < 0.5 else node if isinstance(node, dict | list) else []


def damage_weights(rng: random.Random, data: bytes) -> bytes:
    """Return a file of weights, sound in itself, in which a tensor is missing, or has another shape, type or values."""
    from safetensors import SafetensorError
    from safetensors.numpy import load, save

    try:
        tensors = load(data)
    except SafetensorError:  # it was damaged before
        return mutators.damage(rng, data)
    name = rng.choice(sorted(tensors))
    array, change = tensors[name], rng.randrange(7)
    if change == 0:
        del tensors[name]
    elif change == 1:
        tensors[name] = array[:-1] if rng.random() < 0.5 else np.concatenate([array, array[:1]])
    elif change == 2:
        tensors[name] = array.astype(rng.choice((np.float16, np.float64, np.int32)))
    elif change == 3:
        tensors[name] = np.ascontiguousarray(array.T)
    elif change == 4:
        tensors[name] = array * np.float32(rng.choice((0.0, -1.0, 1e-30, 1e10, 1e30)))
    elif change == 5:
        tensors[name] = np.where(np.arange(array.size).reshape(array.shape) == 0, rng.choice((np.nan, np.inf)), array)
        tensors[name] = tensors[name].astype(np.float32)
    else:
        tensors = {f"bert.{key}": value for key, value in tensors.items()}
    return save(tensors)
