"""The complete benchmark: measure one or more models in one run and append the figures to a history.

    python -m research.benchmarks.bench MODEL TRAIN TEST [MODEL TRAIN TEST ...]      1 to 2 minutes per model
    python -m research.benchmarks.bench --full --markdown PAGE ...               with training and instructions

The short run measures speed by stage and from file to file, in alternation with UDPipe on the same file; the
arborescence alone; fresh processes; memory; speed by sentence length; all cores; and the limits of scoring.  The full
run has more repeats, counts instructions, times training, and trains UDPipe if necessary (once per treebank, a quarter
of an hour or more).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nonproj.evaluation.scores import evaluate
from nonproj.io import conll
from nonproj.pipeline.parser import Parser
from research.benchmarks import history, instructions, lengths, limits, processes, report, stages, yardsticks
from research.benchmarks.clock import Summary, interleave
from research.benchmarks.history import Run


class Subject(NamedTuple):
    """A model file, its training file, and the file to parse."""

    model: Path
    train: Path
    test: Path

    @property
    def names(self) -> tuple[str, str]:
        """The names of treebank and model in the history."""
        return self.test.stem, self.model.stem


class Size(NamedTuple):
    """The size of a run.

    Attributes
    ----------
    repeats : int
        Repeats of each measurement inside one process.
    processes : int
        Number of fresh processes of each kind.
    shared : int
        Minimum number of words of the concatenated copies that processes share.
    words, sentences : int
        Maximum number of words for speed by length, and of sentences for the limits of scoring.
    counted : int
        Number of sentences whose instructions are counted; 0 skips this.
    epochs : int
        Training epochs; 0 skips training.
    """

    repeats: int
    processes: int
    shared: int
    words: int
    sentences: int
    counted: int
    epochs: int


SHORT = Size(repeats=5, processes=3, shared=100_000, words=3200, sentences=192, counted=0, epochs=0)
FULL = Size(repeats=15, processes=5, shared=500_000, words=10**9, sentences=10**9, counted=20, epochs=2)


def say(text: str) -> None:
    """Report progress on standard error."""
    sys.stderr.write(f"bench: {text}\n")


def measure(subjects: Sequence[Subject], size: Size, cache: Path, train: bool) -> Run:
    """Measure everything.

    Parameters
    ----------
    subjects : sequence of Subject
    size : Size
    cache : Path
        Folder of trained yardsticks.
    train : bool
        Whether to train missing yardsticks.
    """
    run = Run()
    parsers = {subject: stages.load_parser(subject.model) for subject in subjects}
    measure_speed(run, parsers, _udpipe_parsers(subjects, cache, train), size)
    for subject, parser in parsers.items():
        say(f"{' '.join(subject.names)}: arborescences, lengths, limits")
        measure_arborescence(run, subject, parser, size)
        measure_lengths(run, subject, parser, size)
        measure_limits(run, subject, parser, size)
        say(f"{' '.join(subject.names)}: processes")
        measure_processes(run, subject, size)
        if size.counted:
            say(f"{' '.join(subject.names)}: instructions")
            measure_instructions(run, subject, size)
        if size.epochs:
            say(f"{' '.join(subject.names)}: training")
            measure_training(run, subject, size)
    return run


def _udpipe_parsers(subjects: Sequence[Subject], cache: Path, train: bool) -> dict[Path, yardsticks.UDPipe]:
    """Return UDPipe's parsers by test file; train missing ones if ``train``."""
    udpipe, found = yardsticks.load("ufal.udpipe", say), {}
    for subject in {subject.train: subject for subject in subjects}.values() if udpipe else ():
        path = yardsticks.udpipe_path(cache, subject.train)
        try:
            if train and not path.exists():
                say(f"{subject.train.name}: training UDPipe; this takes long, but only once")
                yardsticks.train_udpipe(udpipe, subject.train, path)
            if path.exists():
                found[subject.test] = yardsticks.UDPipe(udpipe, path)
            else:
                say(f"{subject.train.name}: UDPipe is not trained on it; --yardsticks train trains it once")
        except RuntimeError as error:
            say(f"{subject.train.name}: measuring without UDPipe: {error}")
    return found


def measure_speed(run: Run, parsers: dict[Subject, Parser], others: dict[Path, yardsticks.UDPipe], size: Size) -> None:
    """Time parsing in alternation with UDPipe; add counts and accuracy."""
    say("speed, all parsers in alternation")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.conll"
        pairs = {subject: (parser, subject.test) for subject, parser in parsers.items()}
        runs = stages.runs_of(pairs, target)
        runs |= {file: lambda other=other, file=file: other.run(file, target) for file, other in others.items()}
        times = interleave(runs, size.repeats)
        for subject, parser in parsers.items():
            counts = stages.facts(stages.run_stages(parser, subject.test, target)[1])
            _add_speed(run, subject, times, counts)
            run.add(*subject.names, "uas", 100 * _uas(subject.test, target), "%")
            if subject.test in others:
                ours, theirs = times[subject, "whole"]["whole"], times[subject.test]["whole"]
                others[subject.test].parse(subject.test, target)
                _add_rate(run, subject, "udpipe.words_per_second", counts["words"], theirs)
                run.add(*subject.names, "udpipe.ratio", theirs.cpu / ours.cpu, "times")
                run.add(*subject.names, "udpipe.uas", 100 * _uas(subject.test, target), "%")


def _add_speed(run: Run, subject: Subject, times: dict, counts: dict[str, float]) -> None:
    """Add the times and counts of one parser."""
    words = counts["words"]
    _add_rate(run, subject, "words_per_second", words, times[subject, "whole"]["whole"])
    for stage, summary in times[subject, "stages"].items():
        _add_each(run, subject, f"stage.{stage}", words, summary)
    for name, value in counts.items():
        run.add(*subject.names, name, value, "count" if name in ("words", "sentences") else "mean")


def _add_rate(run: Run, subject: Subject, name: str, words: float, time: Summary) -> None:
    for suffix, seconds in (("", time.best), (".median", time.median), (".cpu", time.cpu)):
        run.add(*subject.names, name + suffix, words / seconds, "words/s")


def _add_each(run: Run, subject: Subject, name: str, words: float, time: Summary) -> None:
    for suffix, seconds in (("", time.best), (".median", time.median), (".cpu", time.cpu)):
        run.add(*subject.names, name + suffix, 1e6 * seconds / words, "us/word")


def _uas(gold: Path, parsed: Path) -> float:
    return evaluate(conll.read(gold, require_heads=True), conll.read(parsed)).uas


def measure_arborescence(run: Run, subject: Subject, parser: Parser, size: Size) -> None:
    """Time the arborescence alone on the first-order scores of the file, in alternation with the yardstick."""
    batches = limits.batches_of(parser, subject.test, 10**9)
    matrices = [matrix for batch in batches for matrix in batch.first_order]
    words = sum(len(matrix) - 1 for matrix in matrices)
    module = yardsticks.load("ufal.chu_liu_edmonds", say)
    times = interleave(yardsticks.arborescence_runs(module, matrices), size.repeats)
    _add_each(run, subject, "arborescence", words, times["ours"]["whole"])
    if module:
        _add_each(run, subject, "chu_liu_edmonds", words, times["theirs"]["whole"])
        ratio = times["theirs"]["whole"].cpu / times["ours"]["whole"].cpu
        run.add(*subject.names, "chu_liu_edmonds.ratio", ratio, "times")


def measure_lengths(run: Run, subject: Subject, parser: Parser, size: Size) -> None:
    """Time the parser by sentence length."""
    found = lengths.measure(parser, subject.test, max(size.repeats // 2, 1), size.words)
    for length, times in found.times.items():
        for stage, value in times.items():
            run.add(*subject.names, f"length.{length}.{stage}", value, "us/word")
        run.add(*subject.names, f"length.{length}.iterations", found.iterations[length], "mean")
    run.add(*subject.names, "length.exponent", found.exponent, "power")


def measure_limits(run: Run, subject: Subject, parser: Parser, size: Size) -> None:
    """Compare the scoring kernels with their limits."""
    found, paces = limits.measure(parser, subject.test, size.repeats, size.sentences)
    units = dict.fromkeys(limits.Limit._fields, "us/word") | {"lookups": "1/word", "lines": "1/word"}
    units |= {"touched": "bytes", "table": "bytes"}
    for name, limit in found.items():
        for field, value in limit._asdict().items():
            run.add(*subject.names, f"limit.{name}.{field}", value, units[field])
    for bytes_, found_pace in paces.items():
        for field, value in found_pace._asdict().items():
            run.add(*subject.names, f"memory.{bytes_}.{field}", value, "ns")


def measure_processes(run: Run, subject: Subject, size: Size) -> None:
    """Measure fresh processes, their peak memory, and parsing on one and on all cores."""
    for name, time in processes.cold_starts(subject.model, subject.test, size.processes).items():
        for suffix, value in (("", time.best), (".median", time.median), (".cpu", time.cpu)):
            run.add(*subject.names, f"start.{name}{suffix}", value, "s")
    run.add(*subject.names, "peak_memory", processes.peak_memory(subject.model, subject.test), "MiB")
    words, times = processes.shared_work(subject.model, subject.test, size.shared, size.processes)
    for jobs, time in times.items():
        run.add(*subject.names, f"jobs.{jobs}", words / time.best, "words/s")
    if len(times) == 1:
        say("only one core is available, so --jobs is not measured")


def measure_instructions(run: Run, subject: Subject, size: Size) -> None:
    """Count instructions if perf or valgrind works."""
    try:
        how, counts = instructions.count(subject.model, subject.test, size.counted)
    except instructions.CountError as error:
        say(str(error))
        return
    for name, value in counts.items():
        run.add(*subject.names, f"instructions.{name}", value, f"1/word ({how})")


def measure_training(run: Run, subject: Subject, size: Size) -> None:
    """Time training."""
    for name, value in processes.train(subject.model, subject.train, size.epochs).items():
        run.add(*subject.names, f"train.{name}", value, "MiB" if name == "memory" else "s")


def subjects_of(words: Sequence[str]) -> list[Subject]:
    """Read ``MODEL TRAIN TEST ...``.

    Raises
    ------
    SystemExit
        If the paths are not triples or a file is missing.
    """
    if len(words) % 3:
        raise SystemExit(f"bench: triples of MODEL TRAIN TEST expected, got {len(words)} paths")
    for word in words:
        if not Path(word).is_file():
            raise SystemExit(f"bench: {word}: no such file")
    paths = [Path(word) for word in words]
    return [Subject(*triple) for triple in zip(paths[::3], paths[1::3], paths[2::3], strict=True)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="MODEL TRAIN TEST")
    parser.add_argument("--full", action="store_true", help="measure more; takes longer")
    parser.add_argument("--history", type=Path, default=history.PATH, help="CSV file to append to")
    parser.add_argument("--cache", type=Path, default=Path("data/bench"), help="folder of trained yardsticks")
    parser.add_argument(
        "--markdown", type=Path, metavar="PAGE", help="also write the tables between the marks of this page"
    )
    parser.add_argument(
        "--yardsticks",
        choices=("use", "train"),
        help="train missing ones (default with --full), or use existing ones",
    )
    options = parser.parse_args(arguments)
    train = (options.yardsticks or ("train" if options.full else "use")) == "train"
    run = measure(subjects_of(options.paths), FULL if options.full else SHORT, options.cache, train)
    history.append(options.history, run.figures)
    text = report.render(run.figures)
    sys.stdout.write(text)
    if options.markdown:
        report.put(options.markdown, text)


if __name__ == "__main__":
    main()
