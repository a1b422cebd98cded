"""Make the files of treebanks of Universal Dependencies from archives of their repositories.

    python data_scripts/convert_ud.py english-ewt UD_English-EWT.tar.gz --out FOLDER
    python data_scripts/convert_ud.py greek UD_Greek-GDT.tar.gz --out FOLDER

The source is the archive as GitHub makes it, or the folder that it holds.  English EWT is put together from one file
for each document, in the order of its lists; the others need no conversion.  All have ``# text`` and
``SpaceAfter=No``, so their raw text can be restored.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
import tarfile
import zlib
from pathlib import Path

from treebanks import RELEASED, TREEBANKS, TreebankError, write_file

PARTS = ("train", "test", "dev")


def members(source: Path, pattern: str) -> dict[str, bytes]:
    """Return the files of a tar archive or a folder whose paths end in a match, by the part that matches."""
    ending = re.compile(f"(?:.*/)?({pattern})")
    found = {}
    if source.is_dir():
        for path in source.rglob("*"):
            if path.is_file() and (match := ending.fullmatch(path.relative_to(source).as_posix())):
                found[match[1]] = path.read_bytes()
    else:
        try:
            with tarfile.open(source) as archive:
                for member in archive:
                    if member.isfile() and (match := ending.fullmatch(member.name)):
                        found[match[1]] = archive.extractfile(member).read()
        except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
            reason = str(error).partition("\n")[0]
            raise TreebankError(f"{source}: not a readable tar archive ({reason})") from None
    return found


def take(found: dict[str, bytes], name: str, source: Path) -> bytes:
    """Return a file by its name; raise an error if it is missing."""
    if name not in found:
        raise TreebankError(f"{source}: holds no file {name}; an archive of the treebank's repository is expected")
    return found[name]


def convert_ewt(source: Path) -> tuple[bytes, ...]:
    """Return the training, test and development file of UD_English-EWT, put together from its documents."""
    folder = "not-to-release"
    found = members(source, rf"{folder}/(?:file-lists/files\.\w+|sources/.+\.conllu)")
    contents = []
    for part in PARTS:
        names = take(found, f"{folder}/file-lists/files.{part}", source).decode().split()
        documents = [take(found, f"{folder}/sources/{name}", source) for name in names]
        contents.append(b"".join(document.strip(b"\n") + b"\n\n" for document in documents))
    return tuple(contents)


def convert_released(language: str, source: Path) -> tuple[bytes, ...]:
    """Return the files of a treebank, which are in its repository as they are."""
    names = [Path(name).name for name, _ in TREEBANKS[language].files]
    found = members(source, "|".join(map(re.escape, names)))
    return tuple(take(found, name, source) for name in names)


CONVERTERS = {
    "english-ewt": convert_ewt,
    **{language: functools.partial(convert_released, language) for language in ("greek", *RELEASED)},
}


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("language", choices=sorted(CONVERTERS))
    parser.add_argument("source", type=Path, help="archive of the repository, or the folder that it holds")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the three files (default: this one)")
    options = parser.parse_args(arguments)
    try:
        contents = CONVERTERS[options.language](options.source)
        for (name, _), data in zip(TREEBANKS[options.language].files, contents, strict=True):
            write_file(options.out / Path(name).name, data)
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"convert_ud: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
