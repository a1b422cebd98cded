"""The checker of proofs, `nonproj.proofs.check_proofs`: one file that needs no other; `nonproj.dual.proofs` writes them."""
