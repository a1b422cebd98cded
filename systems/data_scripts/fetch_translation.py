"""Provide the German-English sentence pairs of Multi30k, checked against their known SHA-256.

    python systems/data_scripts/fetch_translation.py --out data [--source FOLDER] [--archive FOLDER]

An existing folder (``--source``, else the variable NONPROJ_TRANSLATION, else ../shared/translation/multi30k) is used in
place.  Missing files are taken from ``--out``/multi30k, or downloaded there from the public repository, or copied from
``--archive``, a folder with these files (data/task1/raw of the repository).  They are for research use.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "data_scripts"))

from fetch import check, download  # noqa: E402
from treebanks import TreebankError, write_file  # noqa: E402

PUBLIC = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
DEFAULT_SOURCE = Path(__file__).resolve().parents[3] / "shared" / "translation" / "multi30k"
FILES = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
}
"""SHA-256 by name, of the compressed files."""


def fetch_translation(out: Path, source: Path | None = None, archive: Path | None = None, public: str = PUBLIC) -> Path:
    """Return a folder with all files; create it in ``out`` if necessary.

    Parameters
    ----------
    out : Path
        Folder of data that may be written to.
    source : Path, optional
        Read-only folder with the files, searched first.
    archive : Path, optional
        Folder with the files as downloaded by hand; then neither folder is searched.
    public : str
        URL of the folder to download from.

    Raises
    ------
    TreebankError
        A file cannot be found or downloaded, or differs from the known one.
    """
    target = out / "multi30k"
    if archive is None:
        for folder in (source, target):
            if folder is not None and all((folder / name).is_file() for name in FILES):
                for name, digest in FILES.items():
                    check((folder / name).read_bytes(), digest, str(folder / name))
                return folder
        sys.stderr.write(f"fetching Multi30k (for research use) from {public}\n")
    elif not archive.is_dir():
        raise TreebankError(f"{archive}: no such folder")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, digest in FILES.items():
            path = archive / name if archive is not None else download(f"{public}/{name}", Path(folder))
            if not path.is_file():
                raise TreebankError(f"{path}: no such file")
            found[name] = path.read_bytes()
            check(found[name], digest, str(path) if archive is not None else name)
    for name, data in found.items():
        write_file(target / name, data)
    return target


def main(arguments: list[str] | None = None) -> int:
    """Run the program: print the folder of the files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder to write to (default: data)")
    parser.add_argument("--source", type=Path, help="folder with the files (default: NONPROJ_TRANSLATION)")
    parser.add_argument("--archive", type=Path, help="folder with the files, downloaded by hand")
    options = parser.parse_args(arguments)
    source = options.source or Path(os.environ.get("NONPROJ_TRANSLATION") or DEFAULT_SOURCE)
    try:
        folder = fetch_translation(options.out, source, options.archive)
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"fetch translation: {error}\n")
        return 2
    sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
