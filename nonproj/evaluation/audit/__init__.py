"""Errors in the annotation of a treebank, as ``nonproj audit`` finds them.

- `margins`: the exact difference of the best trees without and with an annotated arc
- `predictions`: what a model predicts for annotated sentences, and how sure it is
- `nuclei`: the same words in the same context, annotated differently
- `suspicions`: single suspicions, their evidence and their order
- `validation`: what the official validator of Universal Dependencies rejects
- `output`: marks in MISC, and the table
- `report`: the content of the report page
"""
