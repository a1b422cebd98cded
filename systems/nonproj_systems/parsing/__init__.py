"""The parser's subproblems for the methods of `nonproj_systems.relaxation`.

- `oracles`: trees and general head automata as oracles, and a decoder of general automata
- `marginals`: marginals and max-marginals of general head automata
"""
