"""Head automata: the modifiers of each head by Viterbi.

- `compiled`: the automata of all heads of a problem, of the usual sets of part types
- `second`, `third`: automata of sets with siblings and grandparents; with grand-siblings or tri-siblings
- `losses`: the loss in value of second-order automata if an arc is forced
- `workspace`: the arrays that they need
- `general`: automata of any finite set of states, given as tables
- `relaxed`: decoding over the relaxed set Z by either kind
"""
