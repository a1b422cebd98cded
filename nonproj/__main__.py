"""``python -m nonproj`` runs the command line."""

import sys

from nonproj.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
