"""Files for the tests of reports: gold trees, and the same with errors, certificates and confidence."""

import contextlib
import random
from pathlib import Path

from toy import read, treebank

from nonproj.cli.main import main
from nonproj.trees.crossing import nonprojective

COUNT = 300
"""Number of sentences of a report."""


def parsed(count: int, seed: int = 0, errors: float = 0.15, confidence: bool = True) -> str:
    """The sentences of ``toy.treebank(count)`` with some heads and labels changed, in CoNLL-U with comments."""
    chance, blocks = random.Random(seed), []
    for number, sentence in enumerate(read(treebank(count)), 1):
        heads = sentence.tree.copy()
        for word in range(1, len(heads)):
            changed = heads.copy()
            changed[word] = chance.randrange(len(heads))
            if chance.random() < errors and changed[word] != word:
                with contextlib.suppress(ValueError):
                    nonprojective(changed[1:])  # raises if it is no tree
                    heads = changed
        certified, gap = (chance.random() < 0.8), chance.random()
        lines = [f"# sent_id = toy-{number}", f"# nonproj certified = {str(certified).lower()}"]
        gap, arcs = 0.0 if certified else gap, chance.randint(len(sentence), len(sentence) ** 2)
        numbers = {"gap": gap, "score": 7.0, "bound": 7.0 + gap, "iterations": chance.randint(1, 90), "arcs": arcs}
        lines += [f"# nonproj {name} = {value}" for name, value in numbers.items()]
        for word, row in enumerate(sentence.rows, 1):
            label = "dep" if chance.random() < errors / 2 else row[7]
            misc = f"Confidence={chance.random():.2f}" if confidence else "_"
            lines.append("\t".join([*row[:6], str(heads[word]), label, "_", misc]))
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def write_files(folder, count: int, seed: int = 0) -> None:
    """Write gold.conll, parsed.conllu and other.conllu, with fewer errors, of the toy language."""
    (folder / "gold.conll").write_text(treebank(count), encoding="utf-8")
    (folder / "parsed.conllu").write_text(parsed(count, seed), encoding="utf-8")
    (folder / "other.conllu").write_text(parsed(count, seed + 1, 0.08, False), encoding="utf-8")


def write_report(folder: Path, count: int, *words: str) -> Path:
    """Write these files and report.html, which compares parsed and gold trees; return the folder."""
    write_files(folder, count)
    paths = [str(folder / "parsed.conllu"), "--gold", str(folder / "gold.conll"), "-o", str(folder / "report.html")]
    assert main(["show", *paths, *words]) == 0
    return folder
