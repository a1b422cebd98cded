"""The algorithms of training, which the components of a model (`nonproj.components`) call.

- `training_data`: the training data of components: sentences, their tags, and both as numbers
- `conventions`: tags and labels of related treebanks as a treebank would have them
- `together`: whether a treebank learns together with related ones
- `partial`: learning from partial trees, of which only some heads are given
- `label_numbers`: numbering of labels, such that few are scored for each arc
- `labeler`: the averaged perceptron over labels
- `pruner`: the first-order log-linear model that prunes arcs
- `candidate_arcs`: the candidate arcs of the training sentences, and their arrays in a checkpoint
- `network`: the network over arcs and labels: its inputs, its losses and their gradient
- `encoders`: fine-tuning a pretrained encoder, with PyTorch
- `additive`: additive models by logistic regression, and the classifier of confidence, which consists of them
- `perceptron`: the averaged perceptron over parts
- `memory`: returning freed memory to the system
"""
