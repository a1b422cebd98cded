"""The papers' other systems, on nonproj's library for Lagrangian relaxation.

- `cli`: the command ``nonproj-systems``
- `constituency`: phrase structure, with tags and with dependencies
- `models`: trained models of these systems as files
- `mrf`: most probable labels of pairwise Markov random fields
- `progress`: progress on a terminal
- `translation`: phrase-based translation, decoded exactly
- `tsp`: shortest tours of the travelling salesman, by 1-trees
"""

__version__ = "1.0.0"
