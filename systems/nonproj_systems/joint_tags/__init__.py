"""Tags and non-projective trees decided jointly, with certificates (after Rush et al. 2010, section 4.1).

- `space`: words with candidate tags, the arcs and parts over them, scores of tags and trees together
- `chain`: scores of tags, the best sequence, and max-marginals over candidate tags
- `oracles`: an arborescence, a tagger and head automata as oracles of the relaxation library
- `decoding`: the best tree with its tags
- `scoring`, `parser`: the same with a trained model of `nonproj`
- `command`: ``nonproj-systems tags``
"""
