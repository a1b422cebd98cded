"""The treebanks and models that are damaged."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from research.attack.campaign import ROOT

sys.path.append(str(ROOT / "tests"))  # for the toy treebank and the naive twins

CONLLU = """\
# sent_id = a-1
# text = vámonos al mar ¡ya!
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\tMood=Imp|Number=Plur\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t1:obj|2.1:nsubj\t_
2.1\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
2.2\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\tPronType=Art,Dem\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl:arg\t1:obl:a\t_
6\t¡ya!\tya\tADV\t_\t_\t1\tadvmod\t1:advmod\t_

# newpar
# sent_id = a-2
# text = Ja.
0.1\t_\t_\tPRON\t_\t_\t_\t_\t_\t_
1\tJa\tja\tINTJ\t_\t_\t0\troot\t_\tSpaceAfter=No
2\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_

"""
"""Two sentences with comments, multiword tokens, empty nodes and enhanced dependencies."""

CONLLX = """\
1\t#\t#\tX\tX\t_\t3\tdet\t_\t_
2\ta b\ta\u00a0b\tN\tN\tgen=c|num=s\t3\tsubj\t3\tsubj
3\tses\tse\tV\tVA\t_\t0\tROOT\t_\t_
4\tden\tden\tP\tPD\t_\t5\tmod\t_\t_
5\tløber\tløbe\tV\tVA\t_\t0\tROOT\t_\t_


1\t\ufeffx\t_\t_\t_\t_\t0\t_\t_\t_

"""
"""Sentences with a word that is ``#``, spaces, two roots, and a byte order mark inside a word."""

SMALL = ["--config", str(ROOT / "configs" / "smoke.yaml"), "-qq"]
"""Options of a training that takes a moment."""

_COMPONENTS = ["features.bits=10", "pruner.bits=10", "labeler.bits=12", "tagger.bits=12", "tagger.epochs=1"]
_COMPONENTS += ["tagger.restarts=1", "segmenter.bits=10", "network.size=8", "network.epochs=2", "confidence.share=0"]
_COMPONENTS += ["pruner.folds=0", "pruner.epochs=2", "labeler.epochs=2"]
"""Options of a small model that has all components."""


@cache
def toy_treebank(count: int, seed: int = 0) -> str:
    """Return the text of a treebank of a toy language with crossing arcs."""
    from toy import treebank

    return treebank(count, seed)


@cache
def rich_treebank(count: int, seed: int = 0) -> str:
    """Return the text of a treebank of the toy language with raw text, features and multiword tokens."""
    from toy import raw_treebank

    blocks = []
    for block in raw_treebank(count, seed).split("\n\n")[:-1]:
        comments, rows = block.split("\n")[:2], [line.split("\t") for line in block.split("\n")[2:]]
        for row in rows:
            row[5] = {"NOUN": "Case=Nom|Gender=Com", "VERB": "Tense=Pres"}.get(row[3], "_")
        joined = f"{rows[0][1]}'{rows[1][1]}"
        if rows[1][3] == "NOUN":  # the first two words are one token
            comments[1] = comments[1].replace(f"{rows[0][1]} {rows[1][1]}", joined)
            rows.insert(0, ["1-2", joined, *"_" * 8])
        blocks.append("\n".join([*comments, *("\t".join(row) for row in rows)]) + "\n\n")
    return "".join(blocks)


def treebank_files() -> list[Path]:
    """Return the files of real treebanks, if there are any: those in the folders that ``NONPROJ_TREEBANKS`` names."""
    folders = filter(None, os.environ.get("NONPROJ_TREEBANKS", "").split(os.pathsep))
    return sorted(path for folder in folders for path in Path(folder).glob("*/*train.conll*"))


@cache
def texts() -> tuple[bytes, ...]:
    """Return small treebanks to damage, of 1 to 20 lines each; half of them real sentences if available."""
    found = [CONLLU, CONLLX, CONLLU.replace("\n", "\r\n"), "\ufeff" + CONLLU, "\n \n" + CONLLX, CONLLX.rstrip("\n")]
    found += [CONLLU.split("\n\n")[1] + "\n\n"] * 2
    found += [f"{sentence}\n\n" for sentence in toy_treebank(40, 1).split("\n\n") if sentence]
    for path in treebank_files():
        with open(path, encoding="utf-8", newline="") as stream:
            sentences = stream.read(1_000_000).split("\n\n")[:-1]
        found += [f"{sentence}\n\n" for sentence in sentences if sentence.count("\n") < 20][:12]
    return tuple(text.encode() for text in found)


def train(path: Path, *options: str, sentences: int = 30, seed: int = 0, rich: bool = False) -> Path:
    """Train a model on the toy treebank, or the one with raw text, with the command line, and return its path."""
    from nonproj.cli.main import main

    treebank = path.with_name("train.conll")
    treebank.write_text((rich_treebank if rich else toy_treebank)(sentences, seed), encoding="utf-8")
    code = main(["train", str(treebank), "-o", str(path), *SMALL, "--epochs", "2", *options])
    if code:
        raise RuntimeError(f"the training of {path.name} ends with {code}")
    return path


@cache
def model_with_components(parts: str, rich: bool = True) -> bytes:
    """Return the file of a small model that has all components, trained once for all lanes of a process.

    ``rich`` selects the treebank with raw text; without it, the segmenter has rules.
    """
    small = [word for change in _COMPONENTS for word in ("--set", change)]
    with tempfile.TemporaryDirectory() as folder:
        return train(Path(folder) / "a.nonproj", "--parts", parts, *small, rich=rich).read_bytes()
