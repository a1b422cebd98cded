"""``python -m nonproj`` is ``nonproj``."""

import sys

from nonproj.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
