"""From a sentence to tags, a labelled tree, its certificate and confidence.

- `loaded`: options, tables and components of a model
- `parser`: the stages, one after the other, over batches of sentences
- `parses`: the result for a sentence
- `compiling`: compiles the kernels that a parser needs before its first sentence
"""
