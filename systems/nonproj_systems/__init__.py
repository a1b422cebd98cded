"""The papers' other systems, and the library for Lagrangian relaxation on which they are built.

- `cli`: the command ``nonproj-systems``
- `constituency`: phrase structure, with tags and with dependencies
- `models`: trained models of these systems as files
- `mrf`: most probable labels of pairwise Markov random fields
- `parsing`: the parser's subproblems as oracles of the library
- `programs`: linear and integer programs of parsing; price and cut
- `progress`: progress on a terminal
- `relaxation`: the library
- `translation`: phrase-based translation, decoded exactly
- `tsp`: shortest tours of the travelling salesman, by 1-trees
"""

__version__ = "1.0.0"
