"""Errors in the annotation of a treebank, as ``nonproj audit`` finds them.

- `command`: the command
- `folds`: its models: each sentence is predicted by a model that was not trained on it
- `nuclei`: the same words in the same context, annotated differently
- `suspicions`: single suspicions, their evidence and their order
- `output`: marks in MISC, and the table
- `report`: the content of the report page
"""
