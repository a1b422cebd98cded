"""Confidence: the probability that a head, an arc with its label, or a whole tree is correct.

- `alternatives`: the cost of giving a word another head, over trees that differ in one or two arcs
- `evidence`: the features of each word of a parsed sentence
- `classifier`: from features to probabilities, by additive models stored with the parser
"""
