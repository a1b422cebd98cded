"""Convert two treebanks distributed by NLTK to CoNLL-X: Basque (conll2007) and English (dependency_treebank).

    python data_scripts/convert_nltk.py basque conll2007.zip --out FOLDER
    python data_scripts/convert_nltk.py english-wsj dependency_treebank.zip --out FOLDER

Basque is CoNLL-X already and only recoded from Latin-1 to UTF-8.  English has three columns, word, tag and head; the
tag becomes both CPOSTAG and POSTAG, and the label is ``dep``, or ``ROOT`` below the root.  Its files are
read in the order of their names, and the first 3,509 sentences are for training.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
import zlib
from pathlib import Path

from treebanks import TREEBANKS, TreebankError, write_file

ENGLISH_TRAINING_SENTENCES = 3509


def members(source: Path, pattern: str) -> dict[str, bytes]:
    """Return the files of a zip archive or a folder whose names match, in the order of their names."""
    if source.is_dir():
        found = {path.name: path.read_bytes() for path in source.rglob("*") if re.fullmatch(pattern, path.name)}
    else:
        try:
            with zipfile.ZipFile(source) as archive:
                names = {Path(name).name: name for name in archive.namelist()}
                found = {name: archive.read(full) for name, full in names.items() if re.fullmatch(pattern, name)}
        except (OSError, zlib.error, zipfile.BadZipFile) as error:
            raise TreebankError(f"{source}: not a readable zip archive ({error})") from None
    if not found:
        raise TreebankError(f"{source}: holds no files named like {pattern}")
    return dict(sorted(found.items()))


def convert_basque(source: Path) -> tuple[bytes, bytes]:
    """Return the training file and the test file of ``conll2007.zip``."""
    found = members(source, r"eus\.(train|test)")
    if len(found) < 2:
        raise TreebankError(f"{source}: eus.train and eus.test expected, only {next(iter(found))} found")
    return tuple(found[f"eus.{part}"].decode("latin-1").encode() for part in ("train", "test"))


def convert_english(source: Path) -> tuple[bytes, bytes]:
    """Return the training file and the test file of ``dependency_treebank.zip``."""
    corpus = []
    for name, data in members(source, r"wsj_[0-9]{4}\.dp").items():
        blocks = re.split(r"\n\s*\n", data.decode("latin-1").replace("\r\n", "\n").strip())
        corpus += [english_sentence(block, f"{source}: {name}") for block in blocks if block.strip()]
    split = ENGLISH_TRAINING_SENTENCES
    return tuple("".join(part).encode() for part in (corpus[:split], corpus[split:]))


def english_sentence(block: str, place: str) -> str:
    """Return one sentence in CoNLL-X, with the blank line after it.

    >>> english_sentence("Vinken NNP 2\\nsmokes VBZ 0", "x").split("\\n")[0].expandtabs(8)
    '1       Vinken  _       NNP     NNP     _       2       dep     _       _'
    """
    lines = []
    for number, line in enumerate(block.split("\n"), 1):
        columns = line.split()
        if len(columns) != 3:
            raise TreebankError(f"{place}: three columns expected in {line!r}")
        form, tag, head = columns
        label = "ROOT" if head == "0" else "dep"
        lines.append("\t".join((str(number), form, "_", tag, tag, "_", head, label, "_", "_")) + "\n")
    return "".join(lines) + "\n"


CONVERTERS = {"basque": convert_basque, "english-wsj": convert_english}


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("language", choices=sorted(CONVERTERS))
    parser.add_argument("source", type=Path, help="conll2007.zip or dependency_treebank.zip, or the folder they hold")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the two files (default: this one)")
    options = parser.parse_args(arguments)
    treebank = TREEBANKS[options.language]
    try:
        for name, data in zip(
            (treebank.train, treebank.test), CONVERTERS[options.language](options.source), strict=True
        ):
            write_file(options.out / Path(name).name, data)
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"convert_nltk: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
