"""Confidence: the probability that a head, an arc with its label, or a whole tree is right.

- `alternatives`: what it costs to give a word another head, by the trees that differ in one or two arcs
- `evidence`: what is known about each word of a parsed sentence, as numbers
- `classifier`: from evidence to probabilities, by additive models that are stored with the parser
"""
