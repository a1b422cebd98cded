"""Reading and writing of treebanks.

- `files`: input from disk, pipe or gzip archive; output to a file or standard output
- `temporary`: files that appear under their names only when they are complete
- `constraints`: constraints on trees in the columns of a treebank
- `conll`: CoNLL-X and CoNLL-U, read and written without loss
- `checks`: what makes the lines of a sentence valid
- `strict`: what the format CoNLL-U demands beyond that
- `objects`: sentences from lists of words, rows of columns and objects of the package conllu
- `batches`: streams of sentences in batches
- `splitting`: splits a treebank between sentences into pieces for workers
- `broken`: reads on behind what is broken
"""
