"""The options of the network that scores arcs and labels."""

from __future__ import annotations

from dataclasses import dataclass

from nonproj.options.schema import Section, option


@dataclass(frozen=True)
class NetworkConfig(Section, name="network"):
    """The feed-forward network whose scores are added to those of arcs and labels."""

    epochs: int = option(10, "training epochs; 0: no network", (int,), low=0, high=10**6)
    size: int = option(128, "number of hidden units", (int,), low=1, high=4096)
    weight: float = option(
        0.2,
        "factor of the arc scores (in nats), relative to training.margin",
        (float,),
        low=0,
        high=100,
    )
    label_weight: float = option(
        0.5,
        "factor of the label scores (in nats), relative to labeler.margin",
        (float,),
        low=0,
        high=100,
    )
    dropout: float = option(0.3, "share of hidden units dropped in training", (float,), low=0, high=0.9)
    learning_rate: float = option(0.03, "learning rate of AdaGrad", (float,), low=0, above=True)
