"""The stage of training that fine-tunes a pretrained encoder."""

from __future__ import annotations

import dataclasses
import importlib
import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nonproj.errors import ConfigError, DataError
from nonproj.errors import needs as needs_package
from nonproj.io.partial import given_words
from nonproj.learning.material import Material
from nonproj.learning.stage import Learnt, Stage
from nonproj.linear.component import Setting, State, load
from nonproj.options.sections import EncoderConfig
from nonproj.scoring.encoders.architecture import read_folder
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.tagging.analyzer import Analyzer
from nonproj.types import Sentence

EXTRA = "train-encoder"

log = logging.getLogger("nonproj")

_PACKAGES = ("torch", "tokenizers", "safetensors", "onnxruntime")


class EncoderStage(Stage):
    """The encoder and the layers behind it, which learn from words and gold trees, labels and tags only.

    Parameters
    ----------
    options : EncoderConfig

    Raises
    ------
    ConfigError
        There is no such encoder, or a package for training is missing: found before anything is learnt.
    ModelError
        The folder is not that of an encoder.
    """

    name, needs, figures = "encoder", ("tagger",), ("encoder",)

    def __init__(self, options: EncoderConfig):
        self.path = None if options.folder is None else find_folder(options.folder)
        if self.path is not None:
            missing = [name for name in _PACKAGES if find_spec(name) is None]
            if missing:
                raise ConfigError("encoder.folder", needs_package("fine-tuning needs", missing[0], EXTRA))
            read_folder(self.path)

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Fine-tune the encoder, if there is one."""
        if self.path is None:
            return Learnt()
        scorer = self.fine_tuned(sentences, setting, setting.fitted["tagger"])
        folder = read_folder(self.path)
        figures = {"name": Path(setting.config.encoder.folder).name, "kind": folder.architecture.kind}
        return Learnt(state=scorer.state(), figures={"encoder": figures | {"licence": folder.licence}})

    def fine_tuned(
        self, sentences: Sequence[Sentence], setting: Setting, analyzer: Analyzer | None, of: str = ""
    ) -> EncoderScorer:
        """Return an encoder that has learnt from some sentences; in half as many epochs for a stage ``of`` a name.

        It does not learn from sentences without a head; `DataError` is raised if there is no other.
        """
        from nonproj.learning.encoders.training import Task, epochs_of, fine_tune  # needs PyTorch

        assert self.path is not None
        used = [sentence for sentence in sentences if given_words(sentence).any()]
        if not used:
            place = sentences[0].path, sentences[0].line
            raise DataError(*place, "no sentence has a head, from which a pretrained encoder could learn")
        material: Material = setting.material
        config, options = setting.config, setting.config.encoder
        if of:
            half = dataclasses.replace(options, epochs=(epochs_of(options, used) + 1) // 2)
            config = dataclasses.replace(config, encoder=half)
        task = Task(material.labels, config, not material.multi_root, analyzer.tags if analyzer else None)
        name = f"{of}: encoder" if of else "encoder"
        return fine_tune(read_folder(self.path), used, task, setting.progress, setting.unfinished, name)

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
            f"there is no folder {name!r}; {needs_package('fetching it needs', 'huggingface_hub', EXTRA)}",
        ) from None
    patterns = ["config.json", "tokenizer.json", "*.safetensors", "README.md", "LICENSE*"]
    try:
        return Path(hub.snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # whatever the network or the hub says
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError("encoder.folder", f"there is no folder {name!r}, and it cannot be fetched: {text}") from None
