"""Scores of parsed treebanks, and statistics of single trees.

- `scores`: attachment scores and related figures, by the conventions of the CoNLL-X shared task
- `parsing`: parsing of gold sentences with a model, and scores of the trees
- `certificates`: the statistics of a tree, as a dictionary, a JSON line or comments
- `confidence`: confidence in files: attributes of MISC, heads and labels that are omitted
- `calibration`: the calibration of confidence
- `alignment`: alignment of a parsed text with gold words, by their characters, and the correctness of its arcs
- `errors`: attachment scores by label, tag, arc length, depth and sentence length; confused labels
- `text_errors`: errors of parsed text by kind, from sentence boundaries to labels
- `significance`: a paired permutation test between two parsers
- `suitability`: whether input resembles a model's training data
- `universal`: the scores of the CoNLL 2018 shared task, from raw text on, by its official script
- `card`: model cards, as Markdown
- `report`: scores, comparisons and model descriptions as plain text
- `html`: the report of ``nonproj show``, with errors, certificates and the course of the bound
"""
