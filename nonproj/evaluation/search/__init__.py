"""Structural search in treebanks: a small language over words, arcs and order, documented in ``docs/search.md``.

Each module has a twin in JavaScript, which the report of ``nonproj show`` runs; tests compare the two.

- `regex`: regular expressions that are matched in linear time
- `syntax`: the grammar of queries and of fields; errors with their column
- `words`: the words of a sentence and their one or two trees, as queries see them
- `attributes`: the attributes of a word, and conditions on them
- `query`: compiled queries and their matches
- `output`: sentences found, counts and tables
"""

import importlib.resources

SCRIPTS = ("regex.js", "syntax.js", "query.js")


def search_script() -> str:
    """Return the scripts that search in a page, in one text."""
    files = importlib.resources.files("nonproj.evaluation.search")
    return "\n".join(files.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)
