"""``nonproj distil``: a teacher parses text, and a student learns from its trees and from a treebank."""

from __future__ import annotations

import argparse
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from nonproj.cli import parse, train
from nonproj.cli.arguments import with_values
from nonproj.cli.common import check_outputs, reading_rules
from nonproj.cli.loading import load_model
from nonproj.errors import ConfigError, FileError, counted, one_line
from nonproj.evaluation.confidence import HEAD
from nonproj.io import conll
from nonproj.io.beside import check_no_links
from nonproj.io.files import open_output
from nonproj.io.temporary import reserved
from nonproj.types import Sentence

SHORTEST, LONGEST = 3, 100
"""Minimum and maximum number of words of a sentence; others are left out."""

_OPEN = "# nonproj certified = false"

log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Parse the texts, choose sentences, and train the student; ``--resume`` continues each of these steps."""
    silver = f"{options.output}.silver.conllu"
    config = train.config_of(options)
    if config.treebank.silver:
        raise ConfigError("treebank.silver", "'nonproj distil' sets this itself; use 'nonproj train'")
    inputs = {f"text {i}": path for i, path in enumerate(options.texts, 1)}
    check_outputs({"model": options.output, "trees": silver}, inputs | {"teacher": options.teacher})
    for path in (silver, *_parsed(options)):
        check_no_links(path, os.path.dirname(options.output))
    train.outputs(options, config)
    check_inputs(options)  # before hours of parsing
    known = known_texts(options, config.treebank.held_out)
    if not (options.resume and Path(silver).exists()):
        with reserved(Path(options.output)):
            write_silver(options, known, silver)
    code = train.run(with_values(options, set=[*options.set, f"treebank.silver={silver}"]))
    if not code:
        log.info("the trees of the text are in %s, which is no longer needed", one_line(silver))
    return code


def check_inputs(options: argparse.Namespace) -> None:
    """Raise an error if the options do not fit the teacher, or a text cannot be read."""
    for path in options.texts:
        if not Path(path).is_file():
            raise FileError(path, "not a file; a file of text is expected")
    load_model(options.teacher, options.texts[0], confidence=options.min_confidence > 0)


def write_silver(options: argparse.Namespace, known: set[tuple[str, ...]], silver: str) -> None:
    """Write the teacher's trees of all texts to one file; then delete the files with those of single texts."""
    parsed = _parsed(options)
    for text, path in zip(options.texts, parsed, strict=True):
        if not options.resume:
            for left in (path, f"{path}.partial"):
                Path(left).unlink(missing_ok=True)
        if not Path(path).exists():
            log.info("parsing %s", one_line(text))
            parse.run(parsing_options(options, text, path))
    left_out, sentences, words = Counter[str](), 0, 0
    with open_output(silver) as stream:
        for sentence in select(chain.from_iterable(map(conll.read, parsed)), known, options, left_out):
            conll.write([(sentence, None)], stream)
            sentences, words = sentences + 1, words + len(sentence)
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items())) or "none"
        if not sentences:
            raise ConfigError("TEXT", f"there is no sentence to learn from; left out: {reasons}")
    size = counted(sentences, "sentence"), counted(words, "word")
    log.info("%s of the text, %s; left out: %s", *size, reasons)
    for path in parsed:
        Path(path).unlink()


def _parsed(options: argparse.Namespace) -> list[str]:
    """Return the paths of the teacher's trees, one file for each text."""
    return [f"{options.output}.text{i}.conllu" for i in range(1, len(options.texts) + 1)]


def parsing_options(options: argparse.Namespace, text: str, path: str) -> argparse.Namespace:
    """Return the options of ``nonproj parse`` for one text."""
    from nonproj.cli.main import parse_arguments  # which imports this module when it is run

    words = ["parse", "--resume", "--stats-comments", f"--{options.plain or 'text'}", "-o", path]
    words += ["--confidence"] if options.min_confidence else []
    words += ["-j", str(options.jobs)] if options.jobs is not None else []
    words += [f"-{'v' * options.verbose}"] if options.verbose else []
    return parse_arguments([*words, "-m", options.teacher, text])


def known_texts(options: argparse.Namespace, held_out: str | float) -> set[tuple[str, ...]]:
    """Return the words of each sentence of the treebank, and of files that must not be learnt from."""
    named = [options.train, options.test, held_out if isinstance(held_out, str) else None, *options.exclude]
    rules = reading_rules(options, require_heads=True)
    return {tuple(sentence.forms) for path in named if path for sentence in conll.read(path, rules)}


def select(
    sentences: Iterable[Sentence], known: set[tuple[str, ...]], options: argparse.Namespace, counts: Counter[str]
) -> Iterator[Sentence]:
    """Yield the sentences that a student learns from, each once.

    Parameters
    ----------
    sentences : iterable of Sentence
    known : set of tuple of str
        Words of sentences that are left out; those of the yielded ones are added.
    options : argparse.Namespace
        With ``min_confidence`` and ``most_words``.
    counts : Counter of str
        Counts the sentences that are left out, by reason.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> options, left_out = argparse.Namespace(min_confidence=0.0, most_words=None), Counter()
    >>> texts = [from_words(text.split()) for text in ("This is known", "Yes", "I am here")]
    >>> [s.forms for s in select(texts, {("This", "is", "known")}, options, left_out)], dict(left_out)
    ([['I', 'am', 'here']], {'known': 1, 'of fewer than 3 words': 1})
    """
    words = 0
    for sentence in sentences:
        reason, forms = "", tuple(sentence.forms)
        if len(forms) < SHORTEST:
            reason = f"of fewer than {SHORTEST} words"
        elif len(forms) > LONGEST:
            reason = f"of more than {LONGEST} words"
        elif forms in known:
            reason = "known"
        elif options.min_confidence and mean_confidence(sentence) < options.min_confidence:
            reason = "unsure"
        elif any(line.startswith(_OPEN) for line in sentence.lines):
            reason = "without certificate"
        elif options.most_words is not None and words + len(forms) > options.most_words:
            reason = "beyond the limit"
        if reason:
            counts[reason] += 1
            continue
        known.add(forms)
        words += len(forms)
        yield sentence


def mean_confidence(sentence: Sentence) -> float:
    """Return the mean probability of a sentence's heads, as ``nonproj parse --confidence`` writes it.

    Examples
    --------
    >>> row = ["1", "Ja", "ja", "INTJ", "_", "_", "0", "root", "_", "SpaceAfter=No|Confidence=0.9"]
    >>> mean_confidence(Sentence([row, ["2", "!", *row[2:9], "Confidence=0.7"]]))
    0.8
    """
    pairs = (each.partition("=") for row in sentence.rows for each in row[9].split("|"))
    found = [float(value) for name, _, value in pairs if name == HEAD]
    return sum(found) / max(1, len(found))
