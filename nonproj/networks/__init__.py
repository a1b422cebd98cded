"""The network over words that parser, tagger and sentence splitter share; they declare its inputs, outputs and loss.

A word has a vector, the sum of rows of a table: those of its attributes, of its n-grams, or of its hash.  From it,
recurrent layers over the words of a sentence compute the word's contribution to hidden layers.  The hidden layer of a
scored item, such as an arc or a word, is the positive part of a sum of rows, some of them its words' and some its own;
scores are products with the output weights.

- `rows`: sums of sparse rows, their gradients, and AdaGrad for rows
- `context`: recurrent layers over words in context, rounded to 8 bits, as a model has them
- `context_learning`: these layers in training
- `projection`: rows of words with pretrained vectors, which are products with a matrix
- `products`, `exponentials`: matrix products and exponentials of training, the same on every processor
- `training`: the forward and the backward pass from rows to hidden layers, and the loss of a choice among classes
- `learner`: the training of all networks: epochs, steps, learning rates, and the mean of weights
- `hyperparameters`: sizes, learning rates and dropout of all networks
"""
