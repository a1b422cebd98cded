"""Annotation of treebanks in the browser: ``nonproj annotate``.

- `command`: the command
- `draft`: the lines of a sentence, as columns that can be changed; every other byte is kept
- `decisions`: the arcs and labels that annotators have decided, in MISC
- `editing`, `references`, `structure`: changes of columns and references; splitting and joining
- `suggesting`: trees decoded under the decisions, the k best, probabilities
- `views`: a sentence as it is shown, filled with predictions of the model
- `operations`, `sentences`: the edits requested by the page, within a sentence and of whole sentences
- `history`: undo and redo
- `treebank`: the sentences of a file, and their list
- `storage`, `writing`, `replacing`: the lock, the journal, and writing the file, which others may change
- `comparison`, `agreement`: two annotators
- `checking`: messages on a sentence, also those of the official validator
- `background`: work between edits; `demand`: trees of long sentences, computed on demand
- `shown`: views of the sentences by the present model
- `retraining`: training in the background
- `session`: all of these for one file
- `answers`: the answers sent to the page
- `app`, `run`: the HTTP interface, and the server
- `page`: the page itself
"""
