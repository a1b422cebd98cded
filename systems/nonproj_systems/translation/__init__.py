"""Phrase-based translation, decoded exactly by Lagrangian relaxation (Chang and Collins 2011; tutorial, section 6.4).

- `text`: tokens of plain text and back, vocabularies, files of sentence pairs
- `alignment`: word alignments by IBM model 1 and a hidden Markov model
- `symmetrization`: alignments of both directions combined
- `phrases`: consistent phrase pairs of an aligned corpus, their scores, the phrase table
- `language_model`: trigram model with modified Kneser-Ney smoothing, as an automaton
- `model`: phrase table, language model and weights in one file; training
- `instance`: the decoding problem of one sentence: phrases with scores, language model, distortion
- `template`: the search graph of the relaxed problem
- `coverage`: sets of translated words, and their possible completion
- `graph`: search graphs, their best paths, pruning by max-marginals
- `refinement`: graphs that count some words exactly
- `decoding`: the relaxation, its tightening, and the result with its certificate
- `translator`: a sentence in, its translation and certificate out
- `stack`: stack decoding, for comparison
- `program`: the integer program of the same problem
- `tuning`: weights by coordinate search for BLEU
- `command`: the command line
"""
