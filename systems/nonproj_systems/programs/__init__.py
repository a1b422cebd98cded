"""Linear and integer programs of parsing, solved by HiGHS.

- `solver`: a program that can grow by columns and rows, over HiGHS
- `constraints`: sparse rows
- `tree_polytope`: rows of the arborescence polytope and its flow relaxations (Martins et al. 2009)
- `part_rows`: rows that tie parts to arcs
- `automaton_polytope`: the convex hulls of head automata
- `linear_program`: LP relaxations and the integer program of parsing, over candidate arcs
- `pricing`: pricing of grandparent parts, and separation of violated rows
- `bounds`: upper bounds on the scores of grandparent parts, without scoring any
- `column_generation`: price and cut over arrays of scores and bounds (Riedel et al. 2012)
- `price_and_cut`: a parser by column and cut generation, which scores few grandparent parts
"""
