"""Research on the parser, beside the package: nothing of nonproj imports it, and it is not installed.

- `experiments`: reproduces the papers' tables and figures, and compares variants of our own, into ``results``
- `benchmarks`: measures speed and memory
- `attack`: the campaign of fuzzing and fault injection
"""
