"""Reading and writing of treebanks.

- `files`: input from a file, pipe or gzip archive; output to a file or standard output
- `kinds`: kinds of files, recognised by their first bytes; output formats
- `temporary`: atomic output files
- `terminal`: control characters and changes of direction on a terminal
- `beside`: files whose names are derived from one that the user has typed
- `constraints`: constraints on trees in the columns of a treebank
- `lexicon`: lexicons that users write
- `partial`: partial trees in training: only some heads are given
- `conll`: lossless CoNLL-X and CoNLL-U
- `copies`: copies of sentences with other columns, and the tokens of their text
- `layouts`: the columns of CoNLL-U Plus and CoNLL-2009
- `blocks`: the lines of sentences, one block after the other
- `checks`: validation of a sentence's lines
- `objects`: sentences from lists of words and rows of columns; from and to objects of the package conllu
- `tables`: sentences as lines of JSON, Parquet files and data frames
- `graphs`: enhanced graphs in DEPS, with empty nodes
- `columns`: the columns that a treebank fills
- `masking`: words that a treebank withholds
- `splitting`: splitting of a treebank into pieces for workers, at sentence boundaries
- `broken`: reading that continues after malformed units
- `strings`: the schema of the strings in models: characters, lengths, counts
"""
