"""Provide Brown clusters of the frequent words of a language, from the package spacy-lookups-data (MIT licence).

    python data_scripts/fetch_clusters.py english --out data [--words 200000] [--archive WHEEL]

Writes ``clusters/english.txt`` and prints its path; ``nonproj train --set features.clusters=data/clusters/english.txt``
uses it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from fetch import download
from treebanks import TreebankError, write_file

PACKAGE = "spacy-lookups-data==1.0.5"
CODES = {"english": "en", "german": "de", "spanish": "es"}


def convert(numbers: Mapping[str, int], most: int) -> str:
    """Return lines of a bit string and a word, for the first words of a table.

    The table has the frequent words first.  The first bit of a cluster is the lowest bit of its number, so zeros at the
    end of the bit strings are lost; all are filled up with zeros to the same length.
    """
    bits = max(numbers.values()).bit_length()
    lines = [
        f"{format(number, f'0{bits}b')[::-1]}\t{word}\n"
        for word, number in numbers.items()
        if number > 0 and word and not set(word) & set("\t\r\n")
    ]
    return "".join(lines[:most])


def make(language: str, out: Path, most: int, archive: Path | None = None) -> Path:
    """Write the clusters of a language, and return the file."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = archive or download(PACKAGE, Path(folder))
        name = f"spacy_lookups_data/data/{CODES[language]}_lexeme_cluster.json.gz"
        try:
            with zipfile.ZipFile(wheel) as package:
                numbers = json.loads(gzip.decompress(package.read(name)))
        except (OSError, KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise TreebankError(f"{wheel}: not the wheel of {PACKAGE} ({error})") from None
    target = out / "clusters" / f"{language}.txt"
    write_file(target, convert(numbers, most).encode())
    return target


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("language", choices=sorted(CODES))
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder to write to (default: data)")
    parser.add_argument("--words", type=int, default=200_000, help="the most frequent words only (default: 200000)")
    parser.add_argument("--archive", type=Path, help="the package's wheel, downloaded by hand")
    options = parser.parse_args(arguments)
    try:
        if options.words < 1:
            raise TreebankError(f"--words is {options.words}; a positive number is expected")
        path = make(options.language, options.out, options.words, options.archive)
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"fetch_clusters {options.language}: {error}\n")
        return 2
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
