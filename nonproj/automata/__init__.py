"""Head automata, which choose the modifiers of each head by Viterbi.

- `compiled`: the usual sets of part types, with compiled automata; decoding of all heads, the value of a tree
- `second`, `third`: automata of sets with siblings and grandparents; with grand-siblings or tri-siblings
- `losses`: the value that second-order automata lose if an arc is forced
- `workspace`: the arrays that they need
- `general`: automata of any finite set of states, given as tables
- `relaxed`: decoding over the relaxed set Z by either kind
"""
