"""`nonproj.proofs.check_proofs` checks proofs, and needs no other file; `nonproj.dual.proofs` writes them."""
