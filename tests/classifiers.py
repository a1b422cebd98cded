"""A confidence classifier with random weights, for models whose treebank is too small to train one."""

import numpy as np

from nonproj.confidence.classifier import TREE_FEATURES, AdditiveModel, Classifier, ConfidenceModels
from nonproj.confidence.evidence import KINDS
from nonproj.model.model import Model


def add_classifier(model: Model) -> None:
    """Give a model a confidence classifier that looks at all features."""
    rng = np.random.default_rng(1)

    def additive(features) -> AdditiveModel:
        knots = np.sort(rng.normal(0.0, 5.0, (len(features), 4)), axis=1)
        return AdditiveModel(
            knots, rng.normal(0.0, 1.0, knots.shape), rng.normal(size=5), rng.normal(size=5), np.zeros(1)
        )

    models = {
        kind: ConfidenceModels(additive(columns), additive(columns), additive(TREE_FEATURES))
        for kind, columns in KINDS.items()
    }
    meta, arrays = Classifier(1e6, **models).state()
    model.components["confidence"] = meta
    model.weights |= {f"confidence.{name}": array for name, array in arrays.items()}
