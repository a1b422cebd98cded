"""Scores of parts: strings become integers, templates hashed features, and the weights of features are summed.

- `vocabulary`: maps words to integers, by a vocabulary for each of their attributes
- `clusters`, `vectors`: word clusters and word vectors, learnt from text without annotation
- `piece_vectors`: vectors of words by the pieces of an encoder's vocabulary
- `morphology`: the morphological features that are most informative about a word's label
- `punctuation`: the brackets or quotation marks around each word, and the commas before it
- `templates`: feature templates, from YAML to tables
- `joined`: sentences one after the other, so that a kernel is called once for all of them
- `hashing`: maps the words of a part to the places of its features in a weight table
- `prefetch`: a hint to the processor that memory will soon be read
- `scorer`: scores of the parts of all types of a model, and the transposed update of the weights
- `labels`: scores and updates of the labels of arcs, and which labels an arc may have, by tags
- `label_pairs`: scores and updates of pairs of labels
- `crossing`: the costs of crossed arcs, from a logistic model
- `graphs`: enhanced dependency graphs, predicted from trees
- `tree_labels`: the jointly best labels of all arcs of each tree in a batch
- `word_rows`: the inputs of the network: the rows of each word, and their sums
- `network`: scores of arcs and labels by a feed-forward network
- `encoders`: pretrained encoders, which compute vectors of words
"""
