"""The output of ``nonproj show``: an HTML report on a treebank, and single trees.

- `items`: sentences with their trees, certificates and confidence, from files or from a model
- `analysis`: figures and tables of errors, of certificates and of confidence
- `courses`: the course of dual decomposition on some sentences
- `page`: one HTML file with all of these, from the template `report.html`, its style and its scripts
"""
