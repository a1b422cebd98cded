"""From a sentence to tags, a labelled tree, its certificate and confidence.

- `request`: what one call asks of a model
- `loaded`: tables and components of a model
- `batch`: sentences, and what each stage has found for them
- `stages`: the stages, functions from a batch to a batch
- `parser`: batches, their order, and sentences that fail
- `parses`: the result for a sentence
- `compiling`: compiles the kernels that a parser needs before its first sentence
"""
