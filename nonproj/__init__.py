"""Non-projective dependency parsing by dual decomposition, exact with a certificate.

Public names are imported on first use, so ``import nonproj`` is immediate.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_MODULES = {
    "Confidence": "confidence.classifier",
    "Config": "options.config",
    "ConfigError": "errors",
    "DataError": "errors",
    "Decoded": "types",
    "DecodedScores": "array_decoding",
    "DependencyParser": "estimator",
    "Document": "document",
    "Evaluation": "evaluation.scores",
    "FileError": "errors",
    "Model": "model",
    "ModelError": "errors",
    "NonprojError": "errors",
    "Parse": "parses",
    "ParsedSentence": "document",
    "Parser": "pipeline",
    "Picture": "pictures.content",
    "Sentence": "types",
    "TextParser": "nlp",
    "Word": "document",
    "decode_scores": "array_decoding",
    "las_scorer": "estimator",
    "load": "nlp",
    "read": "io.conll",
    "sample_trees": "trees.sampling",
    "train": "learning.trainer",
    "write": "io.conll",
}

__all__ = sorted([*_MODULES, "__version__"])


def __getattr__(name: str) -> object:
    """Import a public name from its module (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *_MODULES})
