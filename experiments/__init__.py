"""Reproductions of the papers' tables and figures: ``python -m experiments`` or ``make reproduce``."""
