"""``python -m nonproj_systems`` runs the command line."""

import sys

from nonproj_systems.cli import main

if __name__ == "__main__":
    sys.exit(main())
