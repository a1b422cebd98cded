"""Proofs, checked by a program that shares nothing with the rest of the package; `nonproj.dual.proofs` writes them.

- `check_proofs`: the checker, a file that needs no other
"""
