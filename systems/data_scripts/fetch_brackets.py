"""Provide the WSJ sample as bracketed trees, 199 files, checked against their known SHA-256.

    python systems/data_scripts/fetch_brackets.py --out data [--source FOLDERS] [--archive FILE] [--path]

Existing folders of treebanks (``--source``, else the variable NONPROJ_TREEBANKS, else ../shared/treebanks) are used
in place.  Missing files are taken from ``--out``, or made there from NLTK's public archive ``treebank.zip``, or from
``--archive``, a copy of it downloaded by hand.  The data are for research use.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "data_scripts"))

from convert_nltk import members  # noqa: E402
from fetch import check, download, treebank_folders  # noqa: E402
from treebanks import TreebankError, write_file  # noqa: E402

FOLDER = "wsj-brackets"
SOURCE = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/treebank.zip"
NAMES = tuple(f"wsj_{number:04}.mrg" for number in range(1, 200))
DIGEST = "f018900543fbff4571439fd5e5ebdae00ba53dfdd6543e48491230d76d0e06a1"


def check_all(files: dict[str, bytes], place: str) -> None:
    """Raise unless all files are there, with the known contents."""
    missing = [name for name in NAMES if name not in files]
    if missing:
        raise TreebankError(f"{place}: {missing[0]} is missing; 199 files, wsj_0001.mrg to wsj_0199.mrg, are expected")
    check(b"".join(files[name] for name in NAMES), DIGEST, f"{place}, all files in the order of their names")


def locate(folder: Path) -> Path | None:
    """Return the folder of trees in a folder of treebanks, or None."""
    found = folder / FOLDER
    if not found.is_dir():
        return None
    check_all({path.name: path.read_bytes() for path in found.glob("wsj_*.mrg")}, str(found))
    return found


def fetch(out: Path, folders: Sequence[Path] = (), archive: Path | None = None) -> Path:
    """Return the folder of trees; make it in ``out`` where it is missing.

    Parameters
    ----------
    out : Path
        Folder of treebanks that may be written to.
    folders : sequence of Path
        Read-only folders of treebanks, searched first.
    archive : Path, optional
        The public source, downloaded by hand; then no folder is searched.

    Raises
    ------
    TreebankError
        The files cannot be found or made, or differ from the known ones.
    """
    if archive is None:
        for folder in (*folders, out):
            if (found := locate(folder)) is not None:
                return found
    with tempfile.TemporaryDirectory() as folder:
        if archive is None:
            sys.stderr.write(f"fetching {FOLDER} (for research use) from {SOURCE}\n")
            archive = download(SOURCE, Path(folder))
        elif not archive.exists():
            raise TreebankError(f"{archive}: no such file or folder")
        files = members(archive, r"wsj_[0-9]{4}\.mrg")
        check_all(files, archive.name)
    for name in NAMES:
        write_file(out / FOLDER / name, files[name])
    return out / FOLDER


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder to write to (default: data)")
    parser.add_argument("--source", metavar="FOLDERS", help="folders of treebanks (default: NONPROJ_TREEBANKS)")
    parser.add_argument("--archive", type=Path, help="the public source, downloaded by hand")
    parser.add_argument("--path", action="store_true", help="print the folder of trees")
    options = parser.parse_args(arguments)
    try:
        found = fetch(options.out, treebank_folders(options.source), options.archive)
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"fetch {FOLDER}: {error}\n")
        return 2
    if options.path:
        sys.stdout.write(f"{found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
