"""From a sentence to tags, a labelled tree, its certificate and confidence.

- `loaded`: options, tables and components of a model
- `parser`: the stages, one after the other, over batches of sentences
- `parses`: the result for a sentence
- `joint`: the same with tags and trees decided together
- `joint_scoring`: the scores of tagged arcs for joint decoding
- `price_and_cut`: a parser by column and cut generation, which scores few grandparent parts
- `compiling`: compiles the kernels that a parser needs before its first sentence
"""
