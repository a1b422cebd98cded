"""Structural search in treebanks: a small language over words, arcs and order, documented in ``docs/search.md``.

Tests compare it with enumeration.

- `command`: the command ``nonproj search``
- `regex`: regular expressions that match in bounded time
- `patterns`: the parts of a parsed query
- `scanner`: signs, texts and numbers of a query; errors with their column
- `conditions`, `syntax`: the grammar: words with conditions on attributes; relations, queries and fields
- `words`: the words of a sentence and their one or two trees, for queries
- `attributes`: the attributes of a word, and conditions on them as functions
- `query`: compiled queries and their matches
- `output`: matches as CoNLL-U, tables and counts; `absent`: explanations of empty results
"""
