"""Tags, morphology and lemmas.

`analyzer` joins the two models; `tagger` is a linear chain of second order, `lemmatizer` a classifier over edit
`scripts`; `tagset` splits tags into parts, `lexicon` proposes candidates, `templates` and `words` are the features,
`chain` scores and finds the best sequence, `decoding` goes over sentences and has the perceptron's update,
`candidates` lists the scores of all sequences.
"""
