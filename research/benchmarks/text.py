"""Parsing of raw text: every figure of the CoNLL 2018 shared task, and the speed; on request, beside UDPipe.

    python -m research.benchmarks.text MODEL TRAIN TEST [--cache data/bench] [--udpipe use|train|none]

MODEL is trained on TRAIN, as ``make train LANG=greek`` does it; TEST carries raw text.  Each program gets the text
alone, and then the gold tokens without any tags.  The official code scores both.  With ``--udpipe train``, UDPipe's
tokenizer, tagger and parser are trained once on the same file with their default settings, which takes an hour or more,
and kept in the cache; ``--udpipe use`` measures it if it has been trained.

Each run is a separate process, in alternation.  Speed is the time that a long file takes beyond a short one, so that
the start of the process and the loading of its model do not count; it is stated beside.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nonproj.evaluation.universal import METRICS, ud_scores
from nonproj.io.temporary import replacing
from nonproj.kernels.interpreters import environment, python
from research.benchmarks.clock import Seconds, summarise
from research.experiments import layout

EMPTIED = (2, 3, 4, 5, 6, 7, 8)
"""The columns that the gold tokens do not have: LEMMA to DEPS."""


class Job(NamedTuple):
    """Commands of a program for raw text and for gold tokens, from one file to another, and its model."""

    raw: list[str]
    tokens: list[str]
    model: Path


# -- input -------------------------------------------------------------------------------------------------------------


def blocks(path: Path) -> list[list[str]]:
    """Return the lines of each sentence of a CoNLL-U file."""
    return [block.split("\n") for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n")]


def raw_text(sentences: Sequence[Sequence[str]]) -> str:
    """Return the text of sentences, each behind the last, and a blank line before each paragraph.

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
    """Return the end of a token: that of a multiword token is after its words."""
    first, _, last = row[0].partition("-")
    return int(last or first), bool(last)


def gold_tokens(sentences: Sequence[Sequence[str]]) -> str:
    """Return sentences with nothing but tokens, words and spaces, and without empty nodes.

    Examples
    --------
    >>> gold_tokens([["# text = Ja", "1\\tJa\\tja\\tINTJ\\tI\\tA=B\\t0\\troot\\t0:root\\tSpaceAfter=No"]])
    '# text = Ja\\n1\\tJa\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\tSpaceAfter=No\\n\\n'
    """
    made = []
    for lines in sentences:
        for line in lines:
            row = line.split("\t")
            if not line.startswith("#"):
                if "." in row[0]:
                    continue
                row = ["_" if column in EMPTIED else value for column, value in enumerate(row)]
            made.append("\t".join(row) + "\n")
        made.append("\n")
    return "".join(made)


# -- UDPipe ------------------------------------------------------------------------------------------------------------


def pipeline_path(folder: Path, train: Path) -> Path:
    """Return the file of UDPipe's pipeline for a treebank, named after the treebank's name and content."""
    digest = hashlib.blake2b(train.read_bytes(), digest_size=6).hexdigest()
    return folder / f"{train.stem}-{digest}.pipeline.udpipe"


def train_pipeline(udpipe, train: Path, target: Path) -> None:
    """Train tokenizer, tagger and parser of UDPipe with their default settings, and save them.

    Raises
    ------
    RuntimeError
        If UDPipe reports an error.
    """
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    reader.setText(train.read_text(encoding="utf-8"))
    sentences, sentence = [], udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    default, model = udpipe.Trainer.DEFAULT, None
    if not error.occurred():
        arguments = udpipe.Sentences(sentences), udpipe.Sentences(), default, default, default, error
        model = udpipe.Trainer.train("morphodita_parsito", *arguments)
    if error.occurred():
        raise RuntimeError(error.message)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        temporary.write_bytes(model)


def run_udpipe(model: str, source: str, target: str, input_format: str) -> None:
    """Run UDPipe from a file to a file, in the process of this benchmark."""
    udpipe = __import__("ufal.udpipe").udpipe
    loaded, error = udpipe.Model.load(model), udpipe.ProcessingError()
    if not loaded:
        raise SystemExit(f"{model}: UDPipe cannot load it")
    default = udpipe.Pipeline.DEFAULT
    pipeline = udpipe.Pipeline(loaded, input_format, default, default, "conllu")
    text = pipeline.process(Path(source).read_text(encoding="utf-8"), error)
    if error.occurred():
        raise SystemExit(f"{source}: {error.message}")
    Path(target).write_text(text, encoding="utf-8")


# -- running -----------------------------------------------------------------------------------------------------------


def jobs(model: Path, train: Path, cache: Path, wanted: str) -> dict[str, Job]:
    """Return the programs that are to run, ours first."""
    ours = python("-m", "nonproj", "parse", "-q", "-m", str(model))
    found = {"nonproj": Job([*ours, "--text", "IN", "-o", "OUT"], [*ours, "IN", "--tag", "-o", "OUT"], model)}
    if wanted == "none":
        return found
    path = pipeline_path(cache, train)
    if wanted == "train" and not path.is_file():
        say(f"training UDPipe on {train}; this takes an hour or more, once")
        train_pipeline(importlib.import_module("ufal.udpipe"), train, path)
    if path.is_file():
        theirs = python("-m", "research.benchmarks.text", "run-udpipe", str(path), "IN", "OUT")
        found["UDPipe"] = Job([*theirs, "tokenize"], [*theirs, "conllu"], path)
    else:
        say(f"UDPipe is not trained on {train} ({path} is missing); measuring without it; train it by: --udpipe train")
    return found


def say(text: str) -> None:
    """Print a line of progress."""
    sys.stderr.write(f"text: {text}\n")


def run(command: Sequence[str], source: Path, target: Path) -> Seconds:
    """Run a command from a file to a file; return its wall-clock and processor time."""
    words = [{"IN": str(source), "OUT": str(target)}.get(word, word) for word in command]
    variables = environment()
    begin, before = time.perf_counter(), os.times()
    subprocess.run(words, env=variables, check=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Seconds(time.perf_counter() - begin, spent)


def figures(found: dict[str, Job], test: Path, folder: Path) -> dict[str, dict[str, dict]]:
    """Return the scores of each program from raw text and from gold tokens."""
    sentences, scores = blocks(test), {}
    for name, make in (("raw text", raw_text), ("gold tokens", gold_tokens)):
        source = folder / "source"
        source.write_text(make(sentences), encoding="utf-8")
        for program, job in found.items():
            say(f"{program} from {name}")
            run(job.raw if make is raw_text else job.tokens, source, folder / "out.conllu")
            scores.setdefault(name, {})[program] = ud_scores(test, folder / "out.conllu")
    return scores


def speeds(found: dict[str, Job], test: Path, folder: Path, words: int, repeats: int) -> dict[str, dict[str, float]]:
    """Return the words per second of each program from text to trees, and the start-up time in processor seconds."""
    sentences = blocks(test)
    count = sum(line[0].isdigit() and line.split("\t")[0].isdigit() for lines in sentences for line in lines)
    copies = -(-words // count)
    short, long = folder / "short.txt", folder / "long.txt"
    short.write_text(raw_text(sentences[:1]), encoding="utf-8")
    long.write_text("\n".join([raw_text(sentences)] * copies), encoding="utf-8")
    runs: dict[str, list] = {program: [] for program in found}
    for number in range(repeats):
        for program, job in found.items():
            say(f"{program}, run {number + 1} of {repeats}")
            times = {name: run(job.raw, path, folder / "out") for name, path in (("short", short), ("long", long))}
            runs[program].append(times)
    result = {}
    for program, measured in runs.items():
        best = summarise(measured)
        result[program] = {"start": best["short"].cpu, "speed": count * copies / (best["long"].cpu - best["short"].cpu)}
    return result


def table(found: dict[str, Job], scores: dict, speed: dict) -> str:
    """Return the tables in Markdown."""
    heads = ["F1", *(f"{program}, {name}" for name in scores for program in found)]
    rows = [[m, *(f"{100 * scores[n][p][m]['f1']:.2f}" for n in scores for p in found)] for m in METRICS]
    facts = [
        ["words per second from text to trees", *(f"{speed[p]['speed']:,.0f}" for p in found)],
        ["start, processor seconds", *(f"{speed[p]['start']:.1f}" for p in found)],
        ["model, MB", *(f"{job.model.stat().st_size / 1e6:.1f}" for job in found.values())],
    ]
    return f"{layout.table(heads, rows)}\n\n{layout.table(['', *found], facts)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["run-udpipe"]:
        return run_udpipe(*words[1:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("model", "train", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--cache", type=Path, default=Path("data/bench"), help="folder of UDPipe's models")
    parser.add_argument("--udpipe", choices=["use", "train", "none"], default="none", help="default: none")
    parser.add_argument("--words", type=int, default=50_000, help="least number of words to measure speed with")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(words)
    for path in (options.model, options.train, options.test):
        if not path.is_file():
            raise SystemExit(f"text: {path}: no such file")
    found = jobs(options.model, options.train, options.cache, options.udpipe)
    with tempfile.TemporaryDirectory() as folder:
        scores = figures(found, options.test, Path(folder))
        speed = speeds(found, options.test, Path(folder), options.words, options.repeats)
    sys.stdout.write(f"### From text to trees: {options.test.stem}\n\n{table(found, scores, speed)}\n")
    return None


if __name__ == "__main__":
    main()
