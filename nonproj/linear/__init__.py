"""Linear models over hashed features, of which pruner, parser, labeler, tagger, lemmatizer and splitters are cases.

- `hashing`: the hash of features and strings
- `templates`: from templates to what is hashed
- `perceptron`: the averaged perceptron: lazy averages, mixing, means of several
- `logistic`: steps of AdaGrad, and logistic regression by them
- `weights`: tables of weights in a model, their rounding and their checks
"""
