"""Raw text of gold files, and its parses by models."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nonproj.kernels.interpreters import environment, python
from research.experiments.setting import ROOT


def blocks(path: Path) -> list[list[str]]:
    """Return the lines of each sentence of a CoNLL-U file."""
    return [block.split("\n") for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n")]


def raw_text(sentences: Sequence[Sequence[str]]) -> str:
    """Return the concatenated text of sentences, with a blank line before each paragraph.

    Raises
    ------
    ValueError
        A sentence has no comment ``text``.

    Examples
    --------
    >>> word = "1\\t{}\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t{}".format
    >>> raw_text([["# newpar", "# text = Ja", word("Ja", "_")], ["# text =.", word(".", "_")]])
    'Ja .\\n'
    """
    text = ""
    for lines in sentences:
        said = [found[1] for line in lines if (found := re.match(r"#\s*text\s*=\s*(.*)", line))]
        if not said:
            raise ValueError(f"a sentence has no text: {lines[0]}")
        if any(line.startswith(("# newpar", "# newdoc")) for line in lines) and text:
            text = text.rstrip(" ") + "\n\n"
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        last = max((row for row in rows if "." not in row[0]), key=_ends)
        text += said[0] + ("" if "SpaceAfter=No" in last[9].split("|") else " ")
    return text.rstrip(" ") + "\n"


def _ends(row: Sequence[str]) -> tuple[int, bool]:
    """Return the sort key of the end of a token; a multiword token ends after its words."""
    first, _, last = row[0].partition("-")
    return int(last or first), bool(last)


@contextmanager
def parsed(model: Path, gold: Path, *source: str) -> Iterator[Path]:
    """Yield the path of a model's parse of the raw text of a gold file, or of another source."""
    with tempfile.TemporaryDirectory() as folder:
        text, target = Path(folder) / "in.txt", Path(folder) / "out.conllu"
        if not source:
            text.write_text(raw_text(blocks(gold)), encoding="utf-8")
        given = source or ("--text", str(text))
        command = python("-m", "nonproj", "parse", "-q", str(model), *given, "-o", str(target))
        subprocess.run(command, check=True, cwd=ROOT, env=environment())
        yield target
