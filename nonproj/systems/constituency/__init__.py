"""Phrase structure: weighted grammars, taggers, and their combination by dual decomposition.

- `brackets`: trees in brackets, read and written, without traces and function tags
- `split`: the fixed split of the WSJ sample
- `heads`: lexical heads by Collins' rules, dependency trees
- `evalb`: labelled precision, recall and F1 by the conventions of evalb
"""
