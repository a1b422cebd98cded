"""MAP inference in pairwise Markov random fields (Rush and Collins 2012, section 6.2).

- `model`: fields as arrays; grids
- `uai`: files in the UAI format
- `cover`: spanning trees, rows and columns
- `oracles`: max-product on forests, for the relaxation library
- `trws`: sequential tree-reweighted message passing, compiled
- `images`: fields of images
- `inference`: the entry point, `infer`
- `command`: the command ``nonproj-systems mrf``
- `linear_program`: local polytope and integer program by HiGHS
"""
