"""The papers' other systems, on the library for Lagrangian relaxation.

- `archive`: trained models of these systems as files
- `progress`: progress on a terminal
"""
