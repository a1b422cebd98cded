"""Adapters to other libraries, which are imported only in these modules.

- `spacy`: a component for spaCy pipelines
"""
