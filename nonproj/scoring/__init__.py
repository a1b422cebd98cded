"""Scores of parts: strings to integers, templates to hashed features, and sums of their weights.

- `vocabulary`: strings to integers, by a vocabulary for each attribute of words
- `clusters`, `vectors`: word clusters and word vectors, learnt from text without annotation
- `piece_vectors`: vectors of words by the pieces of an encoder's vocabulary
- `morphology`: the morphological features that are most informative about a word's label
- `punctuation`: the brackets or quotation marks around each word, and the commas before it
- `templates`: feature templates, from YAML to tables
- `joined`: sentences one after the other, so that a kernel is called once for all of them
- `hashing`: the words of a part to the places of its features in a weight table
- `prefetch`: a hint to the processor that memory is read soon
- `scorer`: scores of the parts of all types of a model, and the transposed update of the weights
- `labels`: scores and updates of the labels of arcs, and which labels an arc may have, by tags
- `label_pairs`: scores and updates of pairs of labels
- `crossing`: the costs of crossed arcs, by a logistic model
- `graphs`: enhanced graphs of trees
- `tree_labels`: the labels of the trees of a batch, the best ones of all arcs together
- `word_rows`: the inputs of the network: the rows of each word, and their sums
- `network`: scores of arcs and labels by a feed-forward network
- `encoders`: pretrained encoders, which compute vectors of words
"""
