"""Parsing of text to documents with one call.

- `text_parser`: parses plain text, or sentences that have been split into words
- `document`: documents, sentences and words as objects
"""
