"""Linear models over hashed features, of which pruner, parser, labeler, tagger, lemmatizer and splitters are cases.

- `hashing`: the hash of features and strings
- `templates`: from templates to what is hashed
- `perceptron`: the averaged perceptron: lazy averages, mixing, means of several
- `optimisers`: AdaGrad, Adam, the mean of later epochs, and the loop over epochs
- `concatenation`: concatenation of large arrays
- `logistic`: logistic regression with two classes
- `component`: what every component of a model has in common; jackknifing, and checks of a stranger's file
- `word_classes`: a component that predicts an attribute of each word
- `weights`: tables of weights in a model, their rounding and their checks
"""
