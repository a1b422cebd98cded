"""Phrase structure: weighted grammars, taggers, and their combination by dual decomposition.

- `brackets`: trees in brackets, read and written, without traces and function tags
- `split`: the fixed split of the WSJ sample
- `heads`: lexical heads by Collins' rules, dependency trees
- `evalb`: labelled precision, recall and F1 by the conventions of evalb
- `symbols`: trees as derivations of a binary grammar: Markovisation, and back
- `grammar`: weighted grammars from trees: counts, smoothing, unary chains
- `forest`: packed forests: best derivation, inside scores, marginals, pruning
- `chart`: CKY: the packed forest of a sentence
- `spans`: pruning by the max-marginals of a coarser grammar
- `lexicon`: tags of words, by counts and by suffixes
- `tagger`: a trigram tagger
- `joint`: trees and tags jointly, by dual decomposition
- `integer_program`: trees and tags jointly, as an integer program
- `model`: a trained model, and its file
- `parser`: words in, a tree with its certificate out
- `command`: the command ``nonproj-systems constituency``
- `collins_trees`, `collins`, `collins_tables`: Model 1 of Collins: base noun phrases, events, counts, probabilities
- `collins_coarse`, `collins_chart`: pruning of a sentence's trees, and the forest of the others
- `lexicalised`: parsing with Model 1 alone
- `joint_dependencies`: Model 1 and a dependency parser by dual decomposition
- `dependency_program`: Model 1 and a dependency parser, as an integer program
- `lexicalised_command`: the command ``nonproj-systems lexicalised``
"""
