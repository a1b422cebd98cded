"""Tags and non-projective trees decided jointly, with certificates; `nonproj.pipeline.joint` adds the model.

- `space`: words with candidate tags, the arcs and parts over them, scores of tags and trees together
- `chain`: max-marginals over candidate tags
- `decoding`: tags and trees as a problem of `nonproj.dual.search`
- `oracles`: the same subproblems for the relaxation library, by general automata
"""
