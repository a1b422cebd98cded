"""Tags, morphology and lemmas.

`analyzer` combines two models: `tagger` is a linear chain of second order, `lemmatizer` a classifier over edit
`scripts`; `tagset` splits tags into parts, `lexicon` proposes candidates, `templates` and `words` are the features,
`chain` scores and finds the best sequence, `decoding` decodes sentences and updates the perceptron, `learning` trains
both models; `given` holds a user's lexicon entries of words; `network` adds scores of its own, and `network_learning`
trains it; `encoded` adds those of a pretrained encoder.

A form's candidate tags, their probabilities out of context and their scores by the templates about the word alone
depend on the form only, so they are computed once and kept.  For each word, only the templates about its neighbours and
about the tags before it remain, for a few candidates.  In training, the lexicon for each fold of sentences is counted
on the other folds, so the model learns how far to trust a lexicon on new text.
"""
