"""Lagrangian relaxation and dual decomposition for any problem with two oracles; nothing here depends on trees.

- `subgradient`: the subgradient method in plain Python, its step rules and their constants.
"""
