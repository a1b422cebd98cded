"""The command ``nonproj-systems`` in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

SYSTEMS = Path(__file__).resolve().parents[1]


def run(*words: str, **options) -> subprocess.CompletedProcess:
    """Run the command to its end."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (SYSTEMS, SYSTEMS.parent)))}
    command = [sys.executable, "-m", "nonproj_systems", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)
