"""Tools for making and studying treebanks: annotation in the browser, the audit of annotation, search in trees.

- `commands`: ``nonproj annotate``, ``audit`` and ``search``, and their arguments
- `annotation`: correcting trees in the browser, and the agreement of two annotators
- `audit`: suspicious heads, labels, tags and lemmas
- `search`: a query language for trees
- `validation`: errors found by the official validator of Universal Dependencies
"""

__version__ = "1.0.0"
