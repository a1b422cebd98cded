"""The papers' tables and figures, made again with this parser: ``python -m experiments`` or ``make reproduce``."""
