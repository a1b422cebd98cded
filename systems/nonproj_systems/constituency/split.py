"""The fixed split of the WSJ sample into training, development and test files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nonproj.errors import FileError
from nonproj_systems.constituency.brackets import Tree, plain, read_trees, tree_files

PARTS = ("train", "dev", "test")

_NUMBER = re.compile(r"([0-9]+)\.[A-Za-z.]+$")


def part_of(path: str | Path) -> str:
    """Return the part to which a file of the treebank belongs, by the last digit of its number.

    Digit 5 is development (336 sentences of the sample), digit 9 is test (423), the others are training (3,155).

    Raises
    ------
    FileError
        The name does not end in a number.

    Examples
    --------
    >>> [part_of(f"wsj_{number:04}.mrg") for number in (1, 15, 199)]
    ['train', 'dev', 'test']
    """
    found = _NUMBER.search(Path(path).name)
    if found is None:
        raise FileError(str(path), "the name of the file does not end in a number, as wsj_0001.mrg does")
    return {"5": "dev", "9": "test"}.get(found[1][-1], "train")


def split_files(folder: str | Path) -> dict[str, list[Path]]:
    """Return the files of each part, in the order of their names."""
    found = {part: [] for part in PARTS}
    for path in tree_files(folder):
        found[part_of(path)].append(path)
    return found


def read_plain(files: Iterable[str | Path]) -> list[Tree]:
    """Return the trees of files without traces and function tags; trees of traces only are left out."""
    return [tree for path in files for tree in map(plain, read_trees(path)) if tree is not None]


def read_split(folder: str | Path) -> dict[str, list[Tree]]:
    """Return the trees of each part, without traces and function tags."""
    return {part: read_plain(files) for part, files in split_files(folder).items()}
