"""Check that a wheel or an sdist of the workbench is complete: install it into an empty environment and use it there.

    python workbench/tests/installed.py dist/nonproj-1.0.0-py3-none-any.whl dist/nonproj_workbench-1.0.0*

The first is nonproj itself, which is installed with each of the others.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path

WORKBENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(WORKBENCH.parent / "tests"))

from distributions import Fresh, check_all  # noqa: E402
from distributions import missing as missing_of  # noqa: E402
from toy import treebank  # noqa: E402

MODEL = WORKBENCH.parent / "tests" / "golden" / "model.nonproj"


def missing(package: Path) -> list[str]:
    """Return the files that should be in a package and are not."""
    paths = (WORKBENCH / "nonproj_workbench").rglob("*")
    return missing_of(package, WORKBENCH, [path for path in paths if path.is_file() and path.suffix != ".pyc"])


def use(fresh: Fresh, package: Path, parser: Path) -> None:
    """Install both packages into an environment, and use them there."""
    fresh.install(parser)
    assert "package nonproj-workbench; run: pip install" in fresh.run("nonproj", "annotate", "trees.conll", code=2)
    fresh.install(package)
    (fresh.folder / "trees.conll").write_text(treebank(8), encoding="utf-8")
    audit = fresh.run("nonproj", "audit", "-m", str(MODEL), "trees.conll", "-o", "audit", "--level", "0")
    assert "suspicions: " in audit
    command, options = [str(fresh.bin / "nonproj"), "annotate", "trees.conll"], {"encoding": "utf-8"}
    with subprocess.Popen(
        command, cwd=fresh.folder, env=fresh.variables, stdout=subprocess.PIPE, **options
    ) as annotator:
        address = annotator.stdout.readline() if annotator.stdout else ""
        assert address.startswith("http://127.0.0.1:"), address
        annotator.terminate()
        assert annotator.wait(30) == 0


if __name__ == "__main__":
    check_all(sys.argv[2:], missing, partial(use, parser=Path(sys.argv[1]).resolve()))
