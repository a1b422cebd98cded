"""Tags and non-projective trees decided jointly, with certificates; only `nonproj parse --joint` imports this package.

- `space`: words with candidate tags, the arcs and parts over them, scores of tags and trees together
- `chain`: max-marginals over candidate tags
- `decoding`: tags and trees as a problem of `nonproj.dual.search`
- `scoring`: scores of parts over words with candidate tags
- `parser`: tags and parses sentences with a trained model
- `oracles`: the same subproblems for the relaxation library, by general automata
"""
