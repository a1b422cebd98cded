"""Splitting a treebank into pieces for workers."""

from __future__ import annotations

import gzip
import os
from types import SimpleNamespace

import pytest
from pieces import units_of_pieces
from toy import treebank

from nonproj.errors import NonprojError
from nonproj.io import broken, conll, splitting
from nonproj.io.checks import DEFAULT_RULES

WORD = "1\tRegn\t_\tN\tNC\t_\t0\tROOT\t_\t_\n"


def facts(units) -> list:
    """The attributes of sentences, with the blank lines at the end, and the first error."""
    known = []
    errors: list[NonprojError] = []
    for unit in broken.until_error(units, errors):
        if isinstance(unit, str):
            known[-1].extend(unit.splitlines(keepends=True))
            continue
        known.append((unit.path, unit.line, unit.rows, unit.word_lines))
        known.append(unit.lines)  # the very same list: blank lines at the end are added later
    return [*known, *((type(error), str(error)) for error in errors)]


BROKEN = {
    "whole": treebank(7).encode(),
    "blank lines": f"\n \n{WORD}\n\n \r\n{WORD}\t \n{WORD}\n\n\n\n".encode(),
    "no last blank line": f"{WORD}\n{WORD}\n{WORD}".encode(),
    "marks of byte order": f"\ufeff\n\ufeff{WORD}\n\ufeff{WORD}\n\ufeff\n\n{WORD}\n".encode(),
    "empty": b"",
    "blank": b"\n\n \n",
    "comment only": f"{WORD}\n# a\n\n{WORD}\n".encode(),
    "columns": f"{WORD}\n{WORD}\n{WORD}1\ta\n\n{WORD}\n".encode(),
    "no utf-8": f"{WORD}\n{WORD}\n".encode() + WORD.encode("utf-8").replace(b"Regn", b"R\xe6gn") + b"\n",
    "gzip": gzip.compress(treebank(50).encode()),
    "gzip cut short": gzip.compress(treebank(500).encode())[:-300],
    "gzip broken": gzip.compress(os.urandom(50_000).hex().encode() + b"\n")[:20_000] + bytes(5000),
}


@pytest.mark.parametrize("size", [1, 60, 1000, 1 << 16])
@pytest.mark.parametrize("name", BROKEN)
def test_pieces_contain_the_sentences_of_the_whole_file(name, size, tmp_path):
    path = tmp_path / "a.conll"
    path.write_bytes(BROKEN[name])
    whole = facts(conll.read(path, may_be_empty=True))
    assert facts(broken.read_units(path, DEFAULT_RULES)) == whole
    assert facts(units_of_pieces(splitting.split(path, size))) == whole
    if not name.startswith("gzip"):
        pieces = list(splitting.split(path, size))
        assert b"".join(piece.text for piece in pieces) == BROKEN[name]
        if size == 1 and name == "whole":
            assert len(pieces) == 7


def test_pieces_are_yielded_before_the_rest_is_read():
    def lines():
        yield from f"{WORD}\n{WORD}\n{WORD}".splitlines(keepends=True)
        pytest.fail("read on")

    rest = lines()
    stream = SimpleNamespace(encoding="utf-8", read=None, readline=lambda limit: next(rest))
    pieces = splitting.split(stream, 1)
    assert [next(pieces).line for _ in range(2)] == [1, 3]
