"""Dual decomposition of trees and head automata (Koo et al. 2010), and branch and bound where it leaves a gap.

- `options`: options of both, and their validation
- `domain`: a problem as decoders want it, without forbidden arcs and with its scale
- `subgradient`: the compiled subgradient method
- `decomposition`: dual decomposition for any set of part types
- `course`: each iteration on one sentence, to be looked at
- `branch_and_bound`: the best tree and its proof
- `exclusion`: bounds of the trees without an arc
- `k_best`: the k best trees, each with its proof
- `crossing`: the best trees where non-projective trees have a price, each with its proof
- `general`: dual decomposition with general automata, by the loop of `nonproj.relaxation`
"""
