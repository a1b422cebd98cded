"""Annotation of treebanks in the browser: ``nonproj annotate``.

- `draft`: the lines of a sentence, as columns that can be changed; every other byte is kept
- `decisions`: the arcs and labels that annotators have decided, in MISC
- `editing`, `structure`: edits, as functions from a draft to a draft: columns; splitting, joining, renumbering
- `suggesting`: trees decoded under the decisions, the k best, probabilities
- `history`: undo and redo
- `treebank`: the sentences of a file, and their list
- `storage`: the lock, the journal, and writing the file
- `comparison`, `agreement`: two annotators
- `checking`: the messages of the official validator
- `retraining`: training in the background
- `session`: all of these for one file
- `answers`: what is sent to the page
- `app`, `run`: the HTTP interface, and the server
- `page`: the page itself
"""
