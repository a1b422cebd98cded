"""Parallel work by local processes or a Dask cluster.

- `pool`: submits calls to workers and yields the results in order
- `parsing`: parses or evaluates a treebank with workers, piece by piece
"""
