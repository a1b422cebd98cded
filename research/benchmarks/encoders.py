"""Speed of a model with a pretrained encoder on one core, beside Stanza and a transformer pipeline of spaCy.

    python -m research.benchmarks.encoders MODEL FILE [--words N] [--without stanza,spacy] [--markdown PAGE]

FILE is a treebank in CoNLL-U with the raw text of its sentences.  MODEL parses this text, and then the words of FILE,
whose tags it predicts.  The peers (`research.benchmarks.peers`) tag and parse the same words; their weights are random,
in layers of the default sizes, on which the time depends.  Those that are not installed are left out.  If the peers
need an environment of their own, ``--python`` names its interpreter.

Each run is a separate process with one thread, in alternation.  Speed is the number of words that a long file has
beyond a short one, per second that it takes beyond it, so that the start of the process and the loading of its model do
not count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nonproj.kernels.interpreters import python
from nonproj.model.model import Model
from nonproj.scoring.encoders.scorer import EncoderScorer
from research.benchmarks.clock import Summary, summarise
from research.benchmarks.report import markdown
from research.benchmarks.text import blocks, gold_tokens, put, raw_text, run

ONE_THREAD = ["env", *(f"{library}_NUM_THREADS=1" for library in ("OMP", "MKL", "OPENBLAS"))]

PEERS = {"stanza": "Stanza", "spacy": "spaCy"}

PACKAGES = {"stanza": "torch stanza", "spacy": "torch 'spacy>=3.8' 'spacy-curated-transformers<1'"}

START = 20
"""Maximum number of sentences in the short file."""

Pair = tuple[Path, Path]
"""A short and a long file."""


class Program(NamedTuple):
    """What is measured.

    Attributes
    ----------
    given : str
        The input, in words for the table.
    command : list of str
        With ``IN`` and ``OUT`` in place of files.
    files : tuple of Path
    note : str
        Versions and sizes of a peer.
    """

    given: str
    command: list[str]
    files: Pair
    note: str = ""


def say(message: str) -> None:
    """Print a line of progress."""
    sys.stderr.write(f"encoders: {message}\n")


# -- input -------------------------------------------------------------------------------------------------------------

Sentences = list[list[str]]
"""The lines of each sentence."""


def count(sentences: Sentences) -> int:
    """Return the number of words, which multiword tokens and empty nodes do not add to."""
    return sum(line.split("\t")[0].isdigit() for lines in sentences for line in lines)


def beginning(sentences: Sentences, words: int | None) -> Sentences:
    """Return the first sentences with at least a number of words together, all sentences without one."""
    if words is None:
        return sentences
    found: Sentences = []
    for lines in sentences:
        if words <= 0:
            break
        found.append(lines)
        words -= count([lines])
    return found


def start(sentences: Sentences) -> Sentences:
    """Return the sentences of the short file: enough to load whatever the long one needs, a tenth at most."""
    return sentences[: max(1, min(START, len(sentences) // 10))]


def write_files(sentences: Sentences, folder: Path) -> dict[str, Pair]:
    """Write the sentences of the short and of the long file as text, as words without tags, and unchanged."""
    formats = {
        "raw text": raw_text,
        "words": gold_tokens,
        "treebank": lambda chosen: "".join("\n".join(lines) + "\n\n" for lines in chosen),
    }
    found = {}
    for name, form in formats.items():
        paths = folder / f"short {name}", folder / f"long {name}"
        for path, chosen in zip(paths, (start(sentences), sentences), strict=True):
            path.write_text(form(chosen), encoding="utf-8")
        found[name] = paths
    return found


# -- programs ----------------------------------------------------------------------------------------------------------


def encoder_of(path: Path) -> EncoderScorer:
    """Return the encoder of a model, or end the program if it has none."""
    model = Model.load(path)
    scorer = model.loaded(EncoderScorer, len(model.labels))
    if scorer is None:
        raise SystemExit(f"encoders: {path}: the model has no pretrained encoder")
    return scorer


def write_pieces(tokenizer: str, path: Path) -> bool:
    """Write the pieces of a tokenizer for `research.benchmarks.peers`; return whether it is of the kind WordPiece."""
    facts = json.loads(tokenizer)
    if facts["model"]["type"] != "WordPiece":
        return False
    numbers = facts["model"]["vocab"]
    lowercase = bool((facts["normalizer"] or {}).get("lowercase"))
    path.write_text(json.dumps({"pieces": sorted(numbers, key=numbers.get), "lowercase": lowercase}), encoding="utf-8")
    return True


def ours(model: Path, files: Mapping[str, Pair]) -> dict[str, Program]:
    """Return the programs that run the model."""
    parse = [*ONE_THREAD, *python("-m", "nonproj", "parse", "-q", "-m", str(model))]
    return {
        "nonproj, from text": Program("raw text", [*parse, "--text", "IN", "-o", "OUT"], files["raw text"]),
        "nonproj": Program("words", [*parse, "IN", "--tag", "-o", "OUT"], files["words"]),
    }


def theirs(
    names: Sequence[str], interpreter: str, files: Mapping[str, Pair], pieces: Path | None
) -> dict[str, Program]:
    """Return the programs that run peers, without those that are not installed or cannot cut words into pieces."""
    found = {}
    for name in names:
        if name == "spacy" and pieces is None:
            say("the tokenizer of the model is not of the kind WordPiece; measuring without spaCy")
            continue
        command = [interpreter, "-P", str(Path(__file__).with_name("peers.py")), name]
        done = subprocess.run([*command, "--about"], capture_output=True, text=True, check=False)
        if done.returncode:
            say(f"{PEERS[name]} is not installed; measuring without it; install it by: pip install {PACKAGES[name]}")
            continue
        command += [str(files["treebank"][1]), "IN", "OUT"]
        if name == "spacy":
            command += ["--pieces", str(pieces)]
        found[PEERS[name]] = Program("words", [*ONE_THREAD, *command], files["treebank"], done.stdout.strip())
    return found


# -- measuring ---------------------------------------------------------------------------------------------------------


def measure(programs: Mapping[str, Program], folder: Path, repeats: int) -> dict[str, dict[str, Summary]]:
    """Return the time of each program on its short and its long file, after an unmeasured run on the short one."""
    out = folder / "out"
    for program in programs.values():
        run(program.command, program.files[0], out)
    runs: dict[str, list] = {name: [] for name in programs}
    for number in range(repeats):
        for name, program in programs.items():
            say(f"{name}, run {number + 1} of {repeats}")
            times = zip(("short", "long"), program.files, strict=True)
            runs[name].append({length: run(program.command, path, out) for length, path in times})
    return {name: summarise(measured) for name, measured in runs.items()}


def speed(times: Mapping[str, Summary], words: int) -> tuple[float, float]:
    """Return the words per processor second and per second of wall-clock time.

    Examples
    --------
    >>> speed({"short": Summary(3, 3, 2), "long": Summary(8, 8, 6)}, 20)
    (5.0, 4.0)
    """
    short, long = times["short"], times["long"]
    return words / max(long.cpu - short.cpu, 1e-9), words / max(long.best - short.best, 1e-9)


def table(programs: Mapping[str, Program], times: Mapping[str, Mapping[str, Summary]], words: int) -> str:
    """Return the table in Markdown."""
    reference = speed(times["nonproj"], words)[0]
    rows = []
    for name, program in programs.items():
        cpu, wall = speed(times[name], words)
        rows.append([name, program.given, f"{cpu:,.0f}", f"{wall:,.0f}", f"{reference / cpu:.1f}"])
    heads = ["program", "input", "words per processor second", "words per second", "time per word, relative to nonproj"]
    return markdown(heads, rows)


def page(sentences: Sentences, repeats: int, programs: Mapping[str, Program], shown: str) -> str:
    """Return the table with what one has to know to read it."""
    size = f"{count(sentences):,} words in {len(sentences):,} sentences"
    text = f"{size}, each program on one thread, best of {repeats} runs in alternation.\n\n{shown}\n\n"
    notes = {name: program.note for name, program in programs.items() if program.note}
    if notes:
        text += (
            "The weights of the peers are random, in layers of the default sizes of their packages: the time depends on"
            " the sizes, and the trees make no sense. Where the time depends on scores, in Stanza's decoder, the trees"
            " of the treebank score highest, as if after training.\n\n"
        )
    return (text + "\n".join(f"- **{name}**, {note}." for name, note in notes.items())).rstrip("\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m research.benchmarks.encoders", description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--words", type=int, metavar="N", help="measure the first sentences with N words")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="default: 3")
    parser.add_argument("--without", default="", metavar="PEERS", help=f"of {','.join(PEERS)}")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the peers (default: this one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="put the table on a page, too")
    options = parser.parse_args(arguments)
    without = [name for name in options.without.split(",") if name]
    if unknown := set(without) - set(PEERS):
        parser.error(f"--without: {', '.join(sorted(unknown))}: no such peer; there are {', '.join(PEERS)}")
    for path in (options.model, options.file):
        if not path.is_file():
            raise SystemExit(f"encoders: {path}: no such file")
    scorer, sentences = encoder_of(options.model), beginning(blocks(options.file), options.words)
    wanted = [name for name in PEERS if name not in without]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            files = write_files(sentences, folder)
        except ValueError as error:
            raise SystemExit(f"encoders: {options.file}: {error}") from None
        pieces = folder / "pieces.json"
        known = pieces if write_pieces(scorer.encoder.tokenizer, pieces) else None
        programs = {**ours(options.model, files), **theirs(wanted, options.python, files, known)}
        times = measure(programs, folder, options.repeats)
    shown = table(programs, times, count(sentences) - count(start(sentences)))
    title = f"### Speed with a pretrained encoder: {options.file.stem}"
    text = f"{title}\n\n{page(sentences, options.repeats, programs, shown)}"
    sys.stdout.write(f"{text}\n")
    if options.markdown:
        put(options.markdown, f"encoders {options.file.stem}", text)


if __name__ == "__main__":
    main()
