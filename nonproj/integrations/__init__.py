"""Adapters to other libraries, which are imported only here.

- `spacy`: a component of spaCy's pipelines
"""
