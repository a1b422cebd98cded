"""Search for errors in the annotation of a treebank, for ``nonproj audit``.

- `command`: the command
- `folds`: cross-fitting of whole models: each sentence is predicted by a model that was not trained on it
- `predictions`: a model's predictions for annotated sentences, with their confidence
- `margins`: the exact difference of the best trees without and with an annotated arc
- `nuclei`: the same words in the same context, annotated differently
- `suspicions`: single suspicions, their evidence and their order
- `output`: marks in MISC, and the table
- `report`: the content of the report page
"""
