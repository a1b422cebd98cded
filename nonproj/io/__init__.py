"""Reading and writing of treebanks.

- `files`: input from disk, pipe or gzip archive; output that appears only when it is complete
- `conll`: CoNLL-X and CoNLL-U, read and written without loss
- `splitting`: splits a treebank between sentences into pieces for workers
"""
