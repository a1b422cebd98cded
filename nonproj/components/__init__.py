"""Components of a model, one per module, and the trainer, which fits them in their order.

- `base`: the protocol of components: each is fitted, stored, resumed and applied
- `trainer`: trains a whole model: a loop over the list of components, with a checkpoint after each
- `fitting`: fits one component, here or in another process while later ones are fitted here
- `segmenter`: plain text to sentences and words
- `conventions`: related treebanks with tags in the conventions of the treebank
- `tagger`: tags and lemmas, and the tags that the parser learns from
- `vocabulary`: numbers of strings, word clusters and labels
- `pruner`: the first-order log-linear model that prunes arcs
- `labeler`: the averaged perceptron over labels
- `network`: the network over arcs and labels
- `confidence`: the classifier of right and wrong arcs
- `crossing`: the costs of crossed arcs
- `graphs`: enhanced graphs
- `encoder`: a pretrained encoder, fine-tuned
- `parser`: the averaged perceptron over parts
- `continuing`: continuing a model on other sentences: what stays, and which options may differ
- `preparation`: checks of the training data, and the files that options name
- `progress`: how far training is, and the time left
- `checkpoint`: the state of training on disk, and the digest that ties it to its data
"""
