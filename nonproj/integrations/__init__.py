"""Adapters to other libraries, which are imported only in these modules.

- `estimator`: an estimator for scikit-learn
- `sentences`: conversion of its input and output
- `spacy`: a component for spaCy pipelines
"""
