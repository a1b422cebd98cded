"""Non-projective dependency parsing by dual decomposition, exact with a certificate.

Public names are imported on first use, so ``import nonproj`` is immediate.
"""

from __future__ import annotations

import importlib

__version__ = "1.0.0"

_MODULES = {
    "Auxiliary": "learning.corpus",
    "Confidence": "confidence.classifier",
    "Config": "options.config",
    "ConfigError": "errors",
    "DataError": "errors",
    "Decoded": "types",
    "DecodedScores": "dual.arrays",
    "DependencyParser": "integrations.estimator",
    "Document": "nlp.document",
    "Evaluation": "evaluation.scores",
    "FileError": "errors",
    "Model": "model.model",
    "ModelError": "errors",
    "NonprojError": "errors",
    "Parse": "pipeline.parses",
    "ParsedSentence": "nlp.document",
    "Parser": "pipeline.parser",
    "RunOptions": "components.base",
    "Sentence": "types",
    "TextParser": "nlp.text_parser",
    "Word": "nlp.document",
    "decode_scores": "dual.arrays",
    "las_scorer": "integrations.estimator",
    "load": "nlp.text_parser",
    "read": "io.conll",
    "read_frame": "io.tables",
    "sample_trees": "trees.sampling",
    "train": "components.trainer",
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
