"""The stage of training that fine-tunes a pretrained encoder."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nonproj.errors import ConfigError
from nonproj.learning.material import Material
from nonproj.learning.stage import Learnt, Stage
from nonproj.linear.component import Setting, State, load
from nonproj.scoring.encoders.architecture import read_folder
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.types import Sentence

log = logging.getLogger("nonproj")

INSTALL = "pip install 'nonproj[train-encoder]'"


class EncoderStage(Stage):
    """The encoder and the layers behind it, which learn from words, gold trees and gold labels alone."""

    name, figures = "encoder", ("encoder",)

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Fine-tune the encoder, if there is one."""
        options = setting.config.encoder
        if options.folder is None:
            return Learnt()
        try:
            learning = importlib.import_module("nonproj.learning.encoders.training")
        except ImportError as error:
            if error.name not in ("torch", "tokenizers"):
                raise
            raise ConfigError("encoder.folder", f"{error.name} is not installed; run {INSTALL}") from None
        material: Material = setting.material
        folder = read_folder(find_folder(options.folder))
        copies = len(material.sentences) // len(sentences)
        scorer = learning.fine_tune(folder, material, copies, setting.progress)
        figures = {"name": Path(options.folder).name, "kind": folder.architecture.kind, "licence": folder.licence}
        return Learnt(state=scorer.state(), figures={"encoder": figures})

    def component(self, state: State, setting: Setting) -> EncoderScorer:
        """Return the encoder of a state."""
        return load(EncoderScorer, state, len(setting.material.labels))


def find_folder(name: str) -> Path:
    """Return the folder of an encoder: this one, or that of a name, which is fetched from the Hugging Face hub."""
    path = Path(name)
    if path.is_dir():
        return path
    if path.is_absolute() or name.startswith(".") or name.count("/") > 1:
        raise ConfigError("encoder.folder", f"there is no folder {name!r}")
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError:
        raise ConfigError(
            "encoder.folder",
            f"there is no folder {name!r}, and huggingface_hub is not installed to fetch it; run {INSTALL}",
        ) from None
    patterns = ["config.json", "tokenizer.json", "*.safetensors", "README.md", "LICENSE*"]
    try:
        return Path(hub.snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # whatever the network or the hub says
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError("encoder.folder", f"there is no folder {name!r}, and it cannot be fetched: {text}") from None
