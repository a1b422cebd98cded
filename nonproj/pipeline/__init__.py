"""Parsing of sentences: tags, a labelled tree, its certificate and confidence.

- `request`: the options of one call to a model
- `loaded`: tables and components of a model
- `batch`: sentences, and the results of each stage for them
- `stages`: the stages, functions from a batch to a batch
- `parser`: passes sentences through the stages in batches, and handles those that fail
- `parses`: the result for a sentence
- `compiling`: compiles the kernels that a parser needs before its first sentence
"""
