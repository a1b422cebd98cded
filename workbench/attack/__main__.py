"""``python -m workbench.attack``."""

import sys

from research.attack.__main__ import main
from workbench.attack.lanes import LANES

if __name__ == "__main__":
    sys.exit(main("workbench.attack", LANES))
