"""The tables and figures of the papers, made again with this parser: ``python -m experiments`` or ``make reproduce``."""
