"""Parallel work by local processes or a Dask cluster.

- `pool`: submits calls to workers and yields the results in order
- `processes`: worker processes on this machine
- `cluster`: the workers of a Dask cluster
- `parsing`: parses or evaluates a treebank with workers, piece by piece
- `units`: parses sentences, and what is broken in their place
- `partial`: what is done of a job that can be resumed
- `objects`: parses sentences that are in memory with processes
"""
