"""Random joint problems, and sentences with candidate tags."""

import numpy as np
from problems import draw_arcs_of_words, draw_scores

from nonproj_systems.joint_tags.chain import ChainScores
from nonproj_systems.joint_tags.space import TYPES, joint_problem, joint_space


def draw_joint(rng, n, kind, most=3, pruned=True, chain_scale=1.0, types=TYPES):
    """A random joint problem over n words with up to ``most`` candidate tags each."""
    words = draw_arcs_of_words(rng, n, pruned)
    counts = np.append(1, rng.integers(1, most + 1, n))
    space, parts = joint_space(words, counts, types)
    k = int(counts.max())
    shapes = (len(space.word),), (n + 1, k, k), (n + 1, k, k, k)
    chain = ChainScores(*[chain_scale * draw_scores(rng, kind, shape) for shape in shapes])
    chain.own[0] = 0.0
    return joint_problem(space, parts, draw_scores(rng, kind, len(parts)), chain)


def has_two_candidates_of_a_word(nodes, word):
    """Whether a part is of two candidates of one word, which no solution has."""
    words = [word[e] for e in nodes if e < len(word)]
    return len(set(words)) < len(words)
