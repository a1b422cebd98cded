"""The papers' other systems, on the library for Lagrangian relaxation.

- `archive`: trained models of these systems as files
- `constituency`: phrase structure, with tags and with dependencies
- `progress`: progress on a terminal
"""
