"""The algorithms of training, which the components of a model (`nonproj.components`) call.

- `corpus`: the corpus of a training: a treebank's sentences, auxiliary ones, and both as numbers
- `hyperparameters`: hyperparameters that are not options, except those of networks and encoders
- `conventions`: tags and labels of related treebanks in the conventions of a treebank
- `related_gain`: whether learning from related treebanks improves a model
- `partial`: learning from partial trees, with only some of the heads given
- `label_numbers`: numbering of labels, such that few are scored for each arc
- `labeler`: the averaged perceptron over labels
- `pruner`: the first-order log-linear model that prunes arcs
- `crossing`: the logistic model of crossed arcs, and the weights of non-projective ones in losses
- `graphs`: paths, templates and the classifier of enhanced graphs
- `candidate_arcs`: the candidate arcs of the training sentences, and their arrays in a checkpoint
- `network`: the network over arcs and labels: its inputs, its losses and their gradient
- `piece_vectors`: vectors of words by pieces, from an encoder's folder
- `encoders`: fine-tuning a pretrained encoder, with PyTorch
- `additive`: additive models by logistic regression, and the classifier of confidence, which consists of them
- `perceptron`: the averaged perceptron over parts
- `memory`: returning freed memory to the system
"""
