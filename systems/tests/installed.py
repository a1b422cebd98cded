"""Check that a wheel or an sdist of the systems is complete: install it into an empty environment and use it there.

    python systems/tests/installed.py dist/nonproj-1.0.0-py3-none-any.whl dist/nonproj_systems-1.0.0-py3-none-any.whl

The first is nonproj itself, which is installed with each of the others.
"""

import sys
from functools import partial
from pathlib import Path

SYSTEMS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SYSTEMS.parent / "tests"))

from distributions import Fresh, check_all  # noqa: E402
from distributions import missing as missing_of  # noqa: E402

SQUARE = "NAME : square\nTYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n"
SQUARE += "1 0 0\n2 0 10\n3 10 10\n4 10 0\nEOF\n"
FIELD = "MARKOV\n2\n2 2\n1\n2 0 1\n4 1 2 8 1\n"


def missing(package: Path) -> list[str]:
    """Return the modules that should be in a package and are not."""
    files = [*(SYSTEMS / "nonproj_systems").rglob("*.py"), SYSTEMS / "nonproj_systems" / "py.typed"]
    return missing_of(package, SYSTEMS, files)


def use(fresh: Fresh, package: Path, parser: Path) -> None:
    """Install both packages into an environment, and use them there."""
    fresh.install(parser, package)
    version = fresh.run("nonproj-systems", "--version").strip()
    assert version.removeprefix("nonproj-systems ") in package.name, f"{version} in {package.name}"
    (fresh.folder / "square.tsp").write_text(SQUARE, encoding="utf-8")
    (fresh.folder / "field.uai").write_text(FIELD, encoding="utf-8")
    assert '"length": 40' in fresh.run("nonproj-systems", "tsp", "--json", "square.tsp")
    assert "MPE" in fresh.run("nonproj-systems", "mrf", "field.uai", "-o", "-")


if __name__ == "__main__":
    check_all(sys.argv[2:], missing, partial(use, parser=Path(sys.argv[1]).resolve()))
