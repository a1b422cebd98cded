"""Scores of parsed treebanks, and statistics of single trees.

- `scores`: attachment scores and related figures, by the conventions of the CoNLL-X shared task
- `parsing`: parses gold sentences with a model and scores the trees
- `certificates`: the statistics of a tree, as a dictionary, JSON line or comments
- `confidence`: confidence in files: attributes of MISC, words that are left out or marked
- `calibration`: how well confidence agrees with what is right, as figures and diagrams
- `alignment`: which words of a parsed text are gold words, by their characters, and whether their arcs are right
- `errors`: attachment scores by label, tag, arc length, depth and sentence length; confused labels
- `significance`: a paired permutation test between two parsers
- `universal`: the scores of the CoNLL 2018 shared task, from raw text on, by its official code
- `card`: model cards, as Markdown
- `report`: scores, comparisons and model descriptions as plain text
"""
