"""Models that price and cut does not parse with."""

import pytest
import toy

from nonproj.components.trainer import train
from nonproj.options.config import Config
from nonproj_systems.programs.price_and_cut import PricingParser

pytest.importorskip("highspy")

SMALL = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 14, "pruner.folds": 0, "tagger.epochs": 0}
SMALL |= {"training.tags": "gold", "segmenter.epochs": 0, "training.epochs": 1, "confidence.share": 0.0}
SMALL |= {"parts": ["arc", "grandparent"], "network.size": 8, "network.context": 4, "network.epochs": 1}


def test_price_and_cut_refuses_a_network():
    with pytest.raises(ValueError, match="without a network; train with network.epochs=0"):
        PricingParser(train(toy.sentences(10), Config().with_overrides(SMALL | {"labeler.joint": False})))


def test_price_and_cut_refuses_labelled_arcs():
    labelled = train(toy.sentences(8), Config().with_overrides(SMALL | {"network.epochs": 0}))
    with pytest.raises(ValueError, match=r"without labelled arcs; train with labeler\.joint=false"):
        PricingParser(labelled)
