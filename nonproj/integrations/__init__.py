"""Adapters to other libraries, which are imported only in these modules.

- `estimator`: an estimator for scikit-learn
- `spacy`: a component for spaCy pipelines
"""
