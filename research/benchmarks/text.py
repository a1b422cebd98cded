"""Parsing of raw text: every figure of the CoNLL 2018 shared task, and the speed; on request, beside UDPipe.

    python -m research.benchmarks.text MODEL TRAIN TEST [--cache data/bench] [--udpipe use|train|none]

MODEL is trained on TRAIN, as ``make train LANG=greek`` does it; TEST carries raw text.  With ``--udpipe train``,
UDPipe's tokenizer, tagger and parser are trained once on the same file with their default settings, which takes an hour
or more, and kept in the cache; ``--udpipe use`` measures it if it has been trained.

Each run is a separate process, in alternation.  Speed is the time that a long file takes beyond a short one, so that
the start of the process and the loading of its model do not count; it is stated beside.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from nonproj.evaluation.universal import METRICS, ud_scores
from nonproj.io.temporary import replacing
from nonproj.kernels.interpreters import environment, python
from research.benchmarks.clock import Seconds, interleave
from research.experiments import layout
from research.experiments.raw import blocks, raw_text

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


def run_udpipe(model: str, source: str, target: str) -> None:
    """Run UDPipe on a text, in the process of this benchmark."""
    udpipe = __import__("ufal.udpipe").udpipe
    loaded, error = udpipe.Model.load(model), udpipe.ProcessingError()
    if not loaded:
        raise SystemExit(f"{model}: UDPipe cannot load it")
    default = udpipe.Pipeline.DEFAULT
    pipeline = udpipe.Pipeline(loaded, "tokenize", default, default, "conllu")
    text = pipeline.process(Path(source).read_text(encoding="utf-8"), error)
    if error.occurred():
        raise SystemExit(f"{source}: {error.message}")
    Path(target).write_text(text, encoding="utf-8")


# -- running -----------------------------------------------------------------------------------------------------------


def programs(model: Path, train: Path, cache: Path, wanted: str) -> dict[str, list[str]]:
    """Return the commands from a text IN to a file OUT, ours first."""
    found = {"nonproj": python("-m", "nonproj", "parse", "-q", "-m", str(model), "--text", "IN", "-o", "OUT")}
    path = pipeline_path(cache, train)
    if wanted == "train" and not path.is_file():
        say(f"training UDPipe on {train}; this takes an hour or more, once")
        train_pipeline(importlib.import_module("ufal.udpipe"), train, path)
    if wanted != "none" and path.is_file():
        found["UDPipe"] = python("-m", "research.benchmarks.text", "run-udpipe", str(path), "IN", "OUT")
    elif wanted != "none":
        say(f"UDPipe is not trained on {train} ({path} is missing); measuring without it; train it by: --udpipe train")
    return found


def say(text: str) -> None:
    """Print a line of progress."""
    sys.stderr.write(f"text: {text}\n")


def run(command: Sequence[str], source: Path, target: Path) -> Seconds:
    """Run a command from a file to a file; return its wall-clock and processor time."""
    words = [{"IN": str(source), "OUT": str(target)}.get(word, word) for word in command]
    begin, before = time.perf_counter(), os.times()
    subprocess.run(words, env=environment(), check=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Seconds(time.perf_counter() - begin, spent)


def measure(found: Mapping[str, Sequence[str]], test: Path, words: int, repeats: int) -> list[list[str]]:
    """Return the lines of the table: each metric of each program, its speed and its start."""
    sentences, scores = blocks(test), {}
    count = sum(line[0].isdigit() and line.split("\t")[0].isdigit() for lines in sentences for line in lines)
    copies = -(-words // count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = {"one": raw_text(sentences), "short": raw_text(sentences[:1])}
        texts["long"] = "\n".join([texts["one"]] * copies)
        for part, text in texts.items():
            (folder / part).write_text(text, encoding="utf-8")
        for program, command in found.items():
            say(program)
            run(command, folder / "one", folder / "out")
            scores[program] = ud_scores(test, folder / "out")

        def times(command: Sequence[str]) -> dict[str, Seconds]:
            return {part: run(command, folder / part, folder / "out") for part in ("short", "long")}

        best = interleave({program: partial(times, command) for program, command in found.items()}, repeats)
    lines = [[metric, *(f"{100 * scores[program][metric]['f1']:.2f}" for program in found)] for metric in METRICS]
    speeds = [count * copies / (best[program]["long"].cpu - best[program]["short"].cpu) for program in found]
    lines.append(["words per second from text to trees", *(f"{speed:,.0f}" for speed in speeds)])
    return [*lines, ["start, processor seconds", *(f"{best[program]['short'].cpu:.1f}" for program in found)]]


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
    found = programs(options.model, options.train, options.cache, options.udpipe)
    table = layout.table(["F1", *found], measure(found, options.test, options.words, options.repeats))
    sys.stdout.write(f"### From text to trees: {options.test.stem}\n\n{table}\n")
    return None


if __name__ == "__main__":
    main()
