"""The experiments on the systems: ``python -m systems.experiments NAME`` or ``make reproduce-systems-NAME``."""
