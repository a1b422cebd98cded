"""Proofs as data, which anyone can check.

- `nonproj.proofs.record`: the proof of a sentence's trees, from what the search has recorded
- `nonproj.proofs.check_proofs`: a program that checks proofs, and shares nothing with the rest of the package
"""
