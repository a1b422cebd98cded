"""The papers' tables and figures, reproduced with this parser: ``python -m experiments`` or ``make reproduce``."""
