"""Errors in the annotation of a treebank, as ``nonproj audit`` finds them.

- `command`: the command; its models, which predict the treebank by folds, are those of `nonproj.components.folds`
- `nuclei`: the same words in the same context, annotated differently
- `suspicions`: single suspicions, their evidence and their order
- `output`: marks in MISC, and the table
- `report`: the content of the report page
"""
