"""Linear models over hashed features: pruner, parser, labeler, tagger, lemmatizer and splitters.

- `hashing`: the hash of features and strings
- `templates`: feature templates, and the terms that are hashed
- `perceptron`: the weights of an averaged perceptron, with lazy averages
- `optimisers`: AdaGrad, Adam, the mean of later epochs, and the loop over epochs
- `concatenation`: concatenation of large arrays
- `logistic`: logistic regression with two classes
- `state`: the stored state of a component, and the checks of untrusted files
- `folds`: cross-fitting
- `streams`: streams of random numbers
- `weights`: tables of weights in a model, their rounding and their checks
"""
