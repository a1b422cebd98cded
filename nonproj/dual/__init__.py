"""Dual decomposition of trees and head automata (Koo et al. 2010), and branch and bound where it leaves a gap.

- `options`: options of both, and their validation
- `domain`: normalisation of a problem: forbidden arcs removed, scores relative, with their scale
- `subgradient`: the compiled subgradient method
- `subproblems`: its subproblems, trees and head automata
- `exclusion`: bounds on the trees without an arc, or with one
- `improvement`: local search in trees
- `problem`: problems over parts, over arcs alone and over automata given as tables, and their restrictions
- `crossing`: the costs that trees pay for crossed arcs
- `nodes`, `division`, `search`: branch and bound, the k best trees by scores minus costs, over any problem
- `decoding`: the decoders
- `proofs`: the proof of the trees that a search has found
- `check_proofs`: its checker, a file that imports nothing from nonproj
- `arrays`, `batches`: trees from the caller's own scores, in arrays
- `course`: each iteration on one sentence, for inspection
"""
