"""Trees under arc-factored scores: the best ones, the probabilities of their arcs, and pruning.

- `arborescence`: maximum spanning arborescences over a score matrix or over given arcs.
- `contraction`: the cycle contraction of Chu-Liu-Edmonds that both algorithms of `arborescence` share.
- `projective`: maximum projective trees, by Eisner's algorithm over sparse arcs.
- `crossing`: the non-projective arcs of a tree.
- `marginals`: arc marginals and the partition function.
- `constrained`: marginals of trees that have given arcs.
- `wide_marginals`: marginals where scores are too far apart for products of their exponentials.
- `elimination`: elimination of words from a Markov chain, used to compute marginals.
- `sampling`: trees drawn at random.
- `pruning`: the candidate arcs that remain after pruning by marginals.
- `domain`: finite scores that forbid an arc, and the limit on scores.
- `rounding`: sums with known rounding errors, and bounds on the rounding error of a dual value.
- `batches`: batches of arrays, padded or as lists.
- `checks`: argument checks, and the statuses returned by kernels.
"""
