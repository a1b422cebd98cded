"""Compile all kernels for a baseline processor, and make a package of them, so that the first parse compiles nothing.

    python packaging/kernels.py --out dist

The package is for this version of nonproj, Python, numba and numpy, and for this system; `nonproj.kernels.shipped` has
the processor, and ignores the package where anything differs.  It takes as long as ``nonproj compile``.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the checkout's package, not an installed one

import numba  # noqa: E402
import numpy as np  # noqa: E402

from nonproj import __version__  # noqa: E402
from nonproj.kernels import shipped  # noqa: E402
from nonproj.kernels.folders import ENDING, source_digest  # noqa: E402
from nonproj.kernels.interpreters import environment, python  # noqa: E402
from nonproj.model.wheel import write_package  # noqa: E402

COMMAND = tuple(python("-m", "nonproj", "compile", "-q"))


def compiled(folder: Path, command: tuple[str, ...] = COMMAND) -> Path:
    """Run a command that compiles kernels for the baseline processor; return the folder of their files."""
    _, cpu, features = shipped.TARGET
    flags = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features, "NONPROJ_CACHE": str(folder)}
    subprocess.run(command, env=environment(**flags), check=True, stdout=subprocess.DEVNULL)
    (found,) = (each for each in folder.iterdir() if any(each.rglob(f"*{ENDING}")))
    return found


def members(folder: Path) -> dict[str, bytes]:
    """Return the files of the package."""
    files = {
        "__init__.py": b'"""Compiled kernels of nonproj."""\n',
        shipped.DESCRIPTION: json.dumps(shipped.describe(source_digest()), indent=2).encode() + b"\n",
    }
    kernels = sorted(folder.rglob(f"*{ENDING}"))
    files |= {path.relative_to(folder).as_posix(): path.read_bytes() for path in kernels}
    return {f"{shipped.PACKAGE}/{name}": data for name, data in files.items()}


def make(out: Path, command: tuple[str, ...] = COMMAND) -> Path:
    """Write the package; return its path."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    system = f"{sys.platform}_{platform.machine()}".replace("linux", "manylinux_2_17")
    headers = {
        "Name": shipped.PACKAGE.replace("_", "-"),
        "Version": __version__,
        "Summary": "Compiled kernels of nonproj",
        "License": "MIT",
    }
    minor = ".".join(np.__version__.split(".")[:2])
    requires = (f"nonproj=={__version__}", f"numba=={numba.__version__}", f"numpy=={minor}.*")
    with tempfile.TemporaryDirectory() as folder:
        files = members(compiled(Path(folder), command))
        return write_package(out, headers, requires, files, tag=f"{python}-{python}-{system}")


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the package (default: dist)")
    options = parser.parse_args(arguments)
    if platform.machine() != "x86_64":
        parser.error(f"kernels are compiled for {shipped.CPU}, and this processor is {platform.machine()}")
    options.out.mkdir(parents=True, exist_ok=True)
    path = make(options.out)
    sys.stdout.write(f"{path}: {path.stat().st_size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
