"""Draw the first tree of a new model in the terminal, and print the commands that come next; they can be copied.

    python examples/next_steps.py .venv/bin/nonproj models/turkish-grandparent.nonproj test.conllu

The sentence is a short one of the test file, whose plain text is parsed.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

GLOSSES = {"Bugün hava çok güzel.": "today - weather - very - fine: the weather is very fine today"}
"""Example sentences in languages that few readers know, with glosses."""

LEAST, MOST = 4, 12
"""Minimum and maximum number of words of the sentence."""


def sentence_of(path: Path) -> str:
    """Return the text of a short sentence of a treebank."""
    if path.name.startswith("turkish_web"):
        return next(iter(GLOSSES))
    text = path.read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.split("\n\n", 1)[0].splitlines() if line[:1].isdigit()]
    found = (line.strip() for line in re.findall(r"^# text = (.*)$", text, re.MULTILINE))
    short = (line for line in found if LEAST <= len(line.split()) <= MOST and not set(line) & set("'\"\\!"))
    return next(short, " ".join(row[1] for row in rows))


def draw(sentence: str, nonproj: str, model: str) -> int:
    """Draw the tree of a sentence; return the exit code."""
    words = [nonproj, "parse", "-m", model, "--text", "-"]
    parsed = subprocess.run(words, input=f"{sentence}\n".encode(), stdout=subprocess.PIPE, check=False)
    return parsed.returncode or subprocess.run([nonproj, "show", "-"], input=parsed.stdout, check=False).returncode


def main() -> int:
    """Run the program."""
    nonproj, model, test = (shlex.quote(word) for word in sys.argv[1:])
    sentence = sentence_of(Path(sys.argv[3]))
    parse = f"echo {shlex.quote(sentence)} | {nonproj} parse -m {model} --text - | {nonproj} show -"
    sys.stdout.write("\n")
    sys.stdout.flush()
    if code := draw(sentence, sys.argv[1], sys.argv[2]):
        return code
    sys.stdout.write(f"{GLOSSES[sentence]}\n" if sentence in GLOSSES else "")
    sys.stdout.write(
        f"\nNext, the tree of a sentence, a report on the test file, and the table above with its errors:\n\n"
        f"  {parse}\n"
        f"  {nonproj} show -m {model} {test} --gold {test} -o report.html\n"
        f"  {nonproj} evaluate -m {model} {test} --errors\n\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
