"""Parallel work by local processes or a Dask cluster.

Workers receive text and return text, and errors as data; the caller only splits files.  They may die at any time: their
inputs are in the call (text) or on disk (the model).

- `pool`: submits calls to workers and yields the results in order
- `processes`: worker processes on this machine
- `copies`: copies of this process, which have all that it has loaded
- `cluster`: the workers of a Dask cluster
- `parsing`: parallel parsing of a treebank or a text, piece by piece
- `partial`: the log of a resumable job
- `objects`: parses sentences in memory with processes
"""
