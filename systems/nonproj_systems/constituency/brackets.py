"""Bracketed trees: the format of the Penn Treebank, read and written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from nonproj.errors import DataError, FileError
from nonproj.io.files import open_input, stream_error, text_lines
from nonproj.io.strings import WORD, fits
from nonproj.io.temporary import reason

TOP = "TOP"
"""The label of every root, whatever label the file gives it: ``( (S ...))``, ``(ROOT (S ...))`` or ``(S ...)``."""

TRACE = "-NONE-"
"""The tag of traces and other empty elements."""

MAX_DEPTH = 300
"""Maximum depth of nested brackets; trees are processed by recursion."""

_ROOTS = ("", TOP, "ROOT", "S1", "VROOT")
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, slots=True)
class Tree:
    """A phrase with children, or a tag with a word.

    Parameters
    ----------
    label : str
        The category of a phrase, or the tag of a word.
    children : tuple of Tree
        Empty for a tag.
    word : str or None
        None for a phrase.

    Examples
    --------
    >>> tree = parse_tree("(S (NP (NNP Mary)) (VP (VBZ sleeps)))")
    >>> tree.label, tree.words(), tree.tags()
    ('TOP', ['Mary', 'sleeps'], ['NNP', 'VBZ'])
    >>> print(tree.children[0].children[1])
    (VP (VBZ sleeps))
    """

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    def leaves(self) -> list[Tree]:
        """Return the tags with their words, from left to right."""
        found, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            if node.word is not None:
                found.append(node)
            waiting.extend(reversed(node.children))
        return found

    def words(self) -> list[str]:
        """Return the words."""
        return [leaf.word for leaf in self.leaves()]

    def tags(self) -> list[str]:
        """Return the tags of the words."""
        return [leaf.label for leaf in self.leaves()]

    def __str__(self) -> str:
        """Return the tree in brackets, on one line."""
        inside = self.word if self.word is not None else " ".join(map(str, self.children))
        return f"({self.label} {inside})"


class _Open:
    """A bracket that is not closed yet."""

    def __init__(self, line: int):
        self.line, self.label, self.word, self.children = line, None, None, []


class _Reader:
    """Builds trees from tokens; errors name the file and the line."""

    def __init__(self, path: str):
        self.path, self.line, self.open = path, 0, []

    def error(self, message: str, line: int | None = None) -> DataError:
        return DataError(self.path, self.line if line is None else line, message)

    def token(self, token: str) -> Tree | None:
        """Process one token; return the tree that it completes, or None."""
        if token == "(":
            self.begin()
        elif token == ")":
            return self.end()
        elif not self.open:
            raise self.error(f"{token!r} is outside of all brackets; a tree such as (S (NN word)) is expected")
        else:
            self.text(token)
        return None

    def begin(self) -> None:
        """Open a bracket."""
        if len(self.open) == MAX_DEPTH:
            raise self.error(f"brackets are nested more than {MAX_DEPTH} deep")
        if self.open:
            above = self.open[-1]
            if above.word is not None:
                raise self.error(f"a bracket follows the word {above.word!r}; ({above.label} word) has one word only")
            if above.label is None:
                if len(self.open) > 1:
                    raise self.error("a bracket without a label; only the outermost may have none")
                above.label = ""
        self.open.append(_Open(self.line))

    def text(self, token: str) -> None:
        """Process a label or a word."""
        top = self.open[-1]
        if not fits(token, WORD):
            limit = f"words and labels have up to {WORD.longest} characters, none of control"
            raise self.error(f"{token[:100]!r} is no word or label; {limit}")
        if top.label is None:
            top.label = token
        elif top.children:
            raise self.error(f"the word {token!r} follows a bracket; each word needs a tag, as in (NN {token})")
        elif top.word is not None:
            raise self.error(f"two words, {top.word!r} and {token!r}, in one bracket; (TAG word) has one word only")
        else:
            top.word = token

    def end(self) -> Tree | None:
        """Close a bracket; return the tree if it was the outermost."""
        if not self.open:
            raise self.error("')' closes no bracket")
        top = self.open.pop()
        if not top.children and top.word is None:
            raise self.error(f"the bracket ({top.label or ''}) holds neither a word nor other brackets")
        tree = Tree(top.label, tuple(top.children), top.word)
        if self.open:
            self.open[-1].children.append(tree)
            return None
        return Tree(TOP, tree.children) if tree.word is None and tree.label in _ROOTS else Tree(TOP, (tree,))


def numbered_trees(lines: Iterable[str], path: str = "<trees>") -> Iterator[tuple[int, Tree]]:
    """Yield trees with the lines on which they begin; their root is labelled TOP.

    Parameters
    ----------
    lines : iterable of str
        Text in brackets; a tree may take several lines, and a line may hold several trees.
    path : str
        Name of the file in errors.

    Raises
    ------
    DataError
        If brackets do not match, or their contents are not a tree.

    Examples
    --------
    >>> [(line, str(tree)) for line, tree in numbered_trees(["( (NP (NN a))", ")", "(X (Y b))"])]
    [(1, '(TOP (NP (NN a)))'), (3, '(TOP (X (Y b)))')]
    """
    reader, begin = _Reader(path), 1
    for number, line in enumerate(lines, 1):
        reader.line = number
        for token in _TOKEN.findall(line):
            begin = number if not reader.open else begin
            tree = reader.token(token)
            if tree is not None:
                yield begin, tree
    if reader.open:
        raise reader.error(f"this tree is not closed by the end of the file; {len(reader.open)} ')' are missing", begin)


def read_trees(source: str | Path | BinaryIO | TextIO) -> list[Tree]:
    """Return the trees of a file (``-``: standard input; it may be compressed by gzip) or stream.

    Raises
    ------
    DataError, FileError
        The message names the file and the line.
    """
    stream, name, closing = open_input(source)
    trees, number = [], 0

    def lines():
        """Yield the lines, and count them."""
        nonlocal number
        for line in text_lines(stream):
            number += 1
            yield line

    with closing:
        try:
            trees = [tree for _, tree in numbered_trees(lines(), name)]
        except (OSError, UnicodeDecodeError, EOFError) as error:
            raise stream_error(error, name, number) from None
    if not trees:
        raise DataError(name, 1, "the file holds no trees; trees in brackets, such as (S (NN word)), are expected")
    return trees


def tree_files(path: str | Path) -> list[Path]:
    """Return the files of trees in a folder (``*.mrg``, or else all files), sorted by name, or the file itself.

    Raises
    ------
    FileError
        The folder does not exist or is empty.
    """
    path = Path(path)
    if not path.is_dir():
        return [path]
    try:
        files = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
    except OSError as error:
        raise FileError(str(path), reason(error)) from None
    files = [each for each in files if each.suffix == ".mrg"] or files
    if not files:
        raise FileError(str(path), "the folder holds no files; files of trees in brackets are expected")
    return files


def parse_tree(text: str) -> Tree:
    """Return the only tree of a string; its root is labelled TOP.

    Raises
    ------
    DataError
        The string does not hold exactly one tree.
    """
    trees = [tree for _, tree in numbered_trees(text.splitlines())]
    if len(trees) != 1:
        raise DataError("<trees>", 1, f"{len(trees)} trees; one is expected")
    return trees[0]


def plain_label(label: str) -> str:
    """Return a category without function tags, indices of traces, and alternatives.

    Examples
    --------
    >>> [plain_label(label) for label in ("NP-SBJ-1", "ADVP|PRT", "NP=2", "-LRB-", "PRP$")]
    ['NP', 'ADVP', 'NP', '-LRB-', 'PRP$']
    """
    return label if label.startswith("-") else re.split(r"[-=|]", label, maxsplit=1)[0] or label


def plain(tree: Tree) -> Tree | None:
    """Return a tree without traces, function tags and phrases that contain only traces; None if no word remains.

    Examples
    --------
    >>> print(plain(parse_tree("(S (NP-SBJ-1 (-NONE- *)) (VP-PRD (VB go)))")))
    (TOP (S (VP (VB go))))
    """
    if tree.word is not None:
        return None if tree.label == TRACE else tree
    children = tuple(child for child in map(plain, tree.children) if child is not None)
    return Tree(plain_label(tree.label), children) if children else None


def escaped(word: str) -> str:
    """Return a word with its parentheses as the treebank writes them.

    Examples
    --------
    >>> escaped("("), escaped(":)")
    ('-LRB-', ':-RRB-')
    """
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
