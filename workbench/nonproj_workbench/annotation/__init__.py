"""Annotation of treebanks in the browser: ``nonproj annotate``.

- `command`: the command
- `draft`: the lines of a sentence, as columns that can be changed; every other byte is kept
- `decisions`: the arcs and labels that annotators have decided, in MISC
- `editing`, `references`, `structure`: changes of columns and references; splitting and joining
- `suggesting`: trees decoded under the decisions, the k best, probabilities
- `views`: a sentence as it is shown, filled with what the model predicts
- `operations`, `sentences`: the edits that the page asks for, within a sentence and of whole sentences
- `history`: undo and redo
- `treebank`: the sentences of a file, and their list
- `storage`, `writing`, `replacing`: the lock, the journal, and writing the file, which others may change
- `comparison`, `agreement`: two annotators
- `checking`: messages on a sentence, also those of the official validator
- `background`: work while nobody edits; `demand`: trees of long sentences, computed on demand
- `shown`: what is shown of each sentence by the present model
- `retraining`: training in the background
- `session`: all of these for one file
- `answers`: what is sent to the page
- `app`, `run`: the HTTP interface, and the server
- `page`: the page itself
"""
