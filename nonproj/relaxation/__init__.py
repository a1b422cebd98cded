"""Lagrangian relaxation and dual decomposition for any problem with oracles; nothing here depends on trees.

- `problem`: oracles over shared variables, linear constraints, the Lagrangian
- `solver`: the loop that all methods share: bounds, solutions, limits, results
- `evaluation`: the dual at given multipliers, with lazy oracles and checks
- `steps`, `subgradient`: step rules, and the subgradient method
- `coordinate`, `smoothing`, `admm`, `bundle`: block coordinate descent, accelerated gradients, AD3, a bundle method
- `bundle_program`: the quadratic and linear programs of the bundle method, by HiGHS
- `bundle_program`: the quadratic and linear programs of `bundle`
- `primal`: primal heuristics: repair, averaged solutions and rounding, completion
- `tightening`, `branch_and_bound`: from a bound with a gap to a proven optimum
- `oracles`: listed solutions, choices, chains
- `trace`: what happened at each iteration, and plots of it

`docs/relaxation.md` is an introduction.
"""
