"""``python -m systems.attack``."""

import sys

from research.attack.__main__ import main
from systems.attack.lanes import LANES

if __name__ == "__main__":
    sys.exit(main("systems.attack", LANES))
