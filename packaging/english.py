"""Make the English model that comes with nonproj: a trained model, with rounded weights, in one compressed file.

    python packaging/english.py models/english-ewt-grandparent.nonproj --test en_ewt-ud-test.conllu

Writes ``english.nonproj`` and its card, ``README.md``, into ``nonproj/model/english``; its licence, that of the
treebank, is there.  The same model makes the same file.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data_scripts"), str(ROOT / "packaging")]  # the checkout's package

from treebanks import write_file  # noqa: E402

from nonproj import __version__  # noqa: E402
from nonproj.cli.package import contents_of  # noqa: E402
from nonproj.cli.train import evaluate_on  # noqa: E402
from nonproj.errors import NonprojError  # noqa: E402
from nonproj.io import conll  # noqa: E402
from nonproj.model.installed import BUNDLED, DEFAULT, SUFFIX  # noqa: E402
from nonproj.model.model import Model  # noqa: E402
from nonproj.model.rounding import rounded  # noqa: E402

LARGEST = 8_000_000
"""Maximum size of the file, in bytes."""

ROUNDING = 4.5
"""Rounding, as for ``nonproj package``: with 3.4 the file would be 9.4 MB."""


def make(source: Path, test: Path | None, amount: float, folder: Path) -> Path:
    """Write the model and its card to a folder; return the model's path.

    Raises
    ------
    NonprojError
        The source is no model, or the test file no treebank.
    ValueError
        The file would be too large.
    """
    model = rounded(Model.load_trained(source), amount)
    model.meta.pop("raw_text", None)  # of the weights before rounding
    if test:
        evaluate_on(model, list(conll.read(test)), None)
    contents = contents_of(model, DEFAULT, __version__)
    packed = gzip.compress(contents.model, 9, mtime=0)
    if len(packed) > LARGEST:
        raise ValueError(f"{source}: {len(packed)} bytes when compressed, {LARGEST} allowed; round by more")
    write_file(folder / f"{DEFAULT}{SUFFIX}", packed)
    write_file(folder / "README.md", contents.card.encode())
    return folder / f"{DEFAULT}{SUFFIX}"


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path, help="a model of UD English EWT")
    parser.add_argument("--test", type=Path, help="treebank to evaluate the rounded model on, for its card")
    parser.add_argument(
        "--rounding", type=float, default=ROUNDING, help=f"as for 'nonproj package' (default: {ROUNDING})"
    )
    parser.add_argument("--out", type=Path, default=BUNDLED / DEFAULT, help="folder (default: that of the package)")
    options = parser.parse_args(arguments)
    try:
        path = make(options.model, options.test, options.rounding, options.out)
    except (NonprojError, OSError, ValueError) as error:
        sys.stderr.write(f"english: {error}\n")
        return 2
    sys.stdout.write(f"{path}: {path.stat().st_size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
