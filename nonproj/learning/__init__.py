"""Training: the learner of each model, and the trainer that runs them in turn.

- `trainer`: a whole model from sentences: a list of stages, then the parser, with a checkpoint after each epoch
- `stage`: what a stage of training is: what it learns from, and what a model and a checkpoint keep
- `checkpoint`: the state of training on disk, and the digest that ties it to its data
- `preparation`: segmenter and tagger, the tags that the parser learns from, and components of others
- `material`: what the components of a parser learn from
- `partial`: learning from trees of which only some heads are given
- `label_numbers`: numbers of labels, by which few are scored for each arc
- `labeler`: the averaged perceptron over labels
- `pruner`: the first-order log-linear model that prunes arcs
- `network`: the network over arcs and labels: its inputs, losses and steps
- `encoders`: fine-tuning a pretrained encoder, with PyTorch
- `confidence`: the classifier of right and wrong arcs, on sentences that a second parser has not seen
- `additive`: additive models by logistic regression, of which the classifier consists
- `crossing`: the price of a non-projective tree, on the same sentences
- `perceptron`: the averaged perceptron over parts
- `mixing`: the perceptron trained by many workers (iterative parameter mixing)
- `folds`: a treebank predicted by models that have not learnt from the sentence (cross-fitting)
- `epochs`: the perceptrons of the parser, epoch by epoch
- `memory`: returning freed memory to the system
"""
