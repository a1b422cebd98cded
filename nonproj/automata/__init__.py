"""Head automata: the modifiers of each head by Viterbi.

- `compiled`: automata of the usual sets of part types
- `third`: automata of sets with grand-siblings or tri-siblings
- `general`: automata of any finite set of states, given as tables
- `marginals`: marginals and max-marginals of these
- `relaxed`: decoding over the relaxed set Z by either kind
"""
