"""The papers' tables and figures, reproduced: ``python -m research.experiments`` or ``make reproduce``."""
