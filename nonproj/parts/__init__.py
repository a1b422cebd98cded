"""Parts: the units of a tree's score.  A model is a set of part types, and a sentence one flat vector of their parts.

- `arcs`: the candidate arcs of a sentence
- `base`: the interface of a part type
- `arc`: arcs
- `sibling`: transitions between adjacent siblings
- `grandparent`: grandparent, head and modifier
- `grandsibling`: transitions under each grandparent
- `trisibling`: three successive siblings
- `registry`: part types and sets of them by name
- `space`: all parts of a sentence in one numbering: indicators, scores of trees, restriction
- `geometry`: codes of direction, distance and order
- `automaton`: head automata as tables
"""
