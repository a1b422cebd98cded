"""The symmetric travelling salesman problem by 1-trees (Rush and Collins 2012, section 6.3; Held and Karp 1970, 1971).

- `instance`: problems, read from files of TSPLIB95
- `distances`: the distances of TSPLIB95
- `one_tree`: minimum 1-trees of dense graphs, and the marginal cost of each edge
- `oracle`: Held and Karp's relaxation as a problem of `nonproj_systems.relaxation`
- `heuristic`: tours by iterated local search
- `solver`: from a problem to a proven tour
- `output`: results as text, data, tour files and pictures
- `command`: the command ``nonproj-systems tsp``
"""
