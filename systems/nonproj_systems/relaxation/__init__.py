"""Lagrangian relaxation and dual decomposition for any problem with oracles, independent of trees.

- `problem`: oracles over shared variables, linear constraints, the Lagrangian
- `solver`: the loop: bounds, solutions, limits, results
- `evaluation`: the dual at given multipliers, with lazy oracles and checks
- `steps`, `subgradient`: step rules, and the subgradient method
- `primal`: primal heuristics: repair, averaged solutions and rounding, completion
- `tightening`, `branch_and_bound`: from a bound with a gap to a proven optimum
- `oracles`: listed solutions, chains of labels
- `trace`: a record of each iteration, and plots of it

`systems/docs/relaxation.md` is an introduction.
"""
