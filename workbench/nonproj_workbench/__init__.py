"""For those who make treebanks: annotation in the browser, and the search for errors in what was annotated.

- `commands`: ``nonproj annotate`` and ``nonproj audit``, and their arguments
- `annotation`: correcting trees in the browser, and the agreement of two annotators
- `audit`: suspicious heads, labels, tags and lemmas
- `validation`: what the official validator of Universal Dependencies rejects
"""

__version__ = "1.0.0"
