"""MAP inference in pairwise Markov random fields (Rush and Collins 2012, section 6.2).

- `model`: fields as arrays; grids
- `uai`: files in the UAI format
- `cover`: spanning trees, rows and columns, chains
- `oracles`: max-product and sum-product on forests, for the relaxation library
- `decomposition`: the subgradient method over forests, compiled
- `trws`, `passing`: sequential tree-reweighted message passing, compiled; runs of it
- `restriction`, `elimination`: states ruled out, connected parts; variable elimination
- `clusters`, `cycles`: clusters of three nodes and their separation
- `moves`: local search by forests
- `search`: from a bound to a proof, with branch and bound
- `images`, `consistency`: fields of images, and of the tags of a document
- `inference`: the entry, `infer`
- `command`: the command ``nonproj-systems mrf``
- `linear_program`: local polytope and integer program by HiGHS
"""
