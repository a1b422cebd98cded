"""The encoder: a pretrained transformer, fine-tuned together with the layers that score parts from its vectors.

Biaffine and trilinear layers score arcs, labels, siblings and grandparents, and a linear layer tags; the scores are
added to those of the linear models.  The losses are the cross-entropy of heads, labels and tags, or the likelihood of
trees, and the hinge loss over the relaxed set Z (`nonproj.learning.encoders.training`).
"""

from __future__ import annotations

import dataclasses
import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nonproj.components.base import Component, FitContext
from nonproj.components.continuing import history_of
from nonproj.errors import ConfigError, DataError
from nonproj.errors import needs as needs_package
from nonproj.io.partial import given_words
from nonproj.learning.corpus import Corpus
from nonproj.learning.encoders.start import read_start
from nonproj.linear.state import Fitted, load
from nonproj.model.model import Model
from nonproj.options.sections import EncoderConfig
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.tagging.analyzer import Analyzer

EXTRA = "train-encoder"

_PACKAGES = ("torch", "tokenizers", "safetensors", "onnxruntime")


class EncoderComponent(Component):
    """The encoder and the layers on top of it, which learn from words and gold trees, labels and tags only.

    Sentences of related treebanks count as much as those of the treebank.
    """

    name, needs, figures = "encoder", ("tagger", "vocabulary"), ("encoder",)

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Fine-tune the encoder, if there is one, on the sentences that have a head.

        An encoder that is examined on held-out sentences learns in half the epochs.
        """
        path, config = context.files.encoder, context.config
        if path is None:
            return Fitted()
        from nonproj.learning.encoders.examples import EncoderTask
        from nonproj.learning.encoders.training import epochs_of, fine_tune  # needs PyTorch

        own = [sentence for sentence in corpus.sentences if given_words(sentence).any()]
        if not own:
            place = corpus.sentences[0].path, corpus.sentences[0].line
            raise DataError(*place, "no sentence has a head, from which a pretrained encoder could learn")
        related = [] if context.part_of else corpus.auxiliary.annotated
        used = [*own, *(sentence for sentence in related if given_words(sentence).any())]
        folder, layers, start = read_start(path)
        if context.part_of:
            epochs = epochs_of(config.encoder, used, bool(start))
            config = dataclasses.replace(config, encoder=dataclasses.replace(config.encoder, epochs=(epochs + 1) // 2))
        tagger, single_root = context.fitted_as(Analyzer), context.decoding.single_root
        task = EncoderTask(context.vocabulary.labels, config, single_root, tagger.tags if tagger else None, layers)
        scorer = fine_tune(folder, used, task, context.progress, *context.unfinished, name=context.title(cls.name))
        figures = {"name": Path(str(config.encoder.folder)).name, "kind": folder.architecture.kind}
        context.meta["encoder"] = figures | {"licence": folder.licence}
        if start:
            context.meta["encoder"] |= {"treebanks": history_of(start)["treebanks"]}
        return scorer

    @classmethod
    def resume(cls, saved: Model, corpus: Corpus, context: FitContext) -> Fitted:
        """Return the encoder in a checkpoint, which must be for these labels."""
        state = saved.component(cls.name)
        return load(EncoderScorer, state, len(context.vocabulary.labels)) if state else Fitted()


def encoder_folder(options: EncoderConfig) -> Path | None:
    """Return the folder of the encoder to fine-tune, or the file of a model that has one; None if none is named.

    Raises
    ------
    ConfigError
        There is no such encoder, or a package for training is missing; raised before anything is learnt.
    ModelError
        The folder is not that of an encoder.
    """
    if options.folder is None:
        return None
    path = find_folder(options.folder)
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise ConfigError("encoder.folder", needs_package("fine-tuning needs", missing[0], EXTRA))
    read_start(path)
    return path


def find_folder(name: str) -> Path:
    """Return the folder of an encoder or the file of a model, given its path or its name on the Hugging Face hub.

    An encoder on the hub is downloaded.
    """
    path = Path(name)
    if path.exists():
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
