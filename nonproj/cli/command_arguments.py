"""The arguments of the commands of ``nonproj``, except those of `main`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nonproj.cli.arguments import (
    Arguments,
    add_decoding,
    add_lexicon,
    add_on_error,
    add_plain_text,
    add_reading,
    add_tagging,
    add_text_forms,
    add_workers,
)
from nonproj.cli.values import factor, integer, jobs, language_code, positive, probability
from nonproj.io.kinds import FORMATS
from nonproj.model.installed import DEFAULT, VARIABLE


def add_train(parser: Arguments) -> None:
    """Add the arguments of ``nonproj train``."""
    parser.add_example("nonproj train train.conllu --held-out 0.1 -o my.nonproj")
    add = parser.add_argument
    add("train", nargs="?", metavar="TRAIN", help="treebank with gold heads, instead of the config's treebank files")
    text = "treebank of a similar language that is also learnt from, in TRAIN's conventions (repeatable)"
    add("--related", action="append", default=[], metavar="FILE", help=text, rare=True)
    text = "model to continue on TRAIN, instead of learning from nothing"
    add("--from", dest="start", metavar="MODEL", help=text, rare=True)
    add_lexicon(parser, "; stored in the model")
    add_training(parser)
    text = "number of processes; the model is the same (default: 2, if there are two cores; -1: one per core)"
    parser.add_argument("-j", "--jobs", type=jobs, metavar="N", help=text)
    add_on_error(parser)
    add_reading(parser)


def add_training(parser: Arguments) -> None:
    """Add the options of training, except those for workers."""
    add = parser.add_argument
    add("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    add("--test", metavar="FILE", help="treebank to evaluate the trained model on")
    text = "fraction of the sentences (such as 0.1), or another treebank, to evaluate on after each epoch"
    add("--held-out", metavar="SHARE|FILE", help=text)
    add("--resume", action="store_true", help="continue from MODEL.checkpoint, if it exists")
    add_configuration(add)


def add_configuration(add: Callable[..., Any]) -> None:
    """Add the options that determine the configuration of a model."""
    add("-c", "--config", metavar="YAML", help="configuration; command-line options override it")
    add("--parts", metavar="SET", help="part types: arc, sibling, grandparent, third, or a list such as arc,sibling")
    text = "tags to train the parser on; predicted: by jackknifing"
    add("--tags", choices=("gold", "predicted", "both"), help=text, rare=True)
    text = "pretrained encoder to fine-tune: a folder of Hugging Face, a name to fetch, or a model that has one"
    add("--encoder", metavar="FOLDER|NAME|MODEL", help=text)
    add("--epochs", type=integer, metavar="N", help="training epochs of the perceptron")
    add("--seed", type=integer, metavar="N", help="seed of all random choices", rare=True)
    text = "set a configuration option (repeatable)"
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help=text)


def add_distil(parser: Arguments) -> None:
    """Add the arguments of ``nonproj distil``."""
    parser.add_example("nonproj distil teacher.nonproj text.txt --treebank train.conllu -o my.nonproj")
    add = parser.add_argument
    add("teacher", metavar="TEACHER", help="the model that parses the text, such as one with an encoder")
    add("texts", nargs="+", metavar="TEXT", help="files of plain text, or in one of the forms below")
    text = "treebank with gold heads that is also learnt from"
    add("--treebank", dest="train", required=True, metavar="TRAIN", help=text)
    choices = parser.add_group("the text", rare=True).add_alternatives().add_argument
    add_text_forms(choices, "split text into sentences and words; blank lines separate paragraphs (default)")
    group = parser.add_group("choice of sentences")
    add = group.add_argument
    text = "leave out sentences whose heads have a lower mean probability"
    add("--min-confidence", type=probability, default=0.0, metavar="P", help=text)
    text = "leave out sentences of this treebank, too (repeatable)"
    add("--exclude", action="append", default=[], metavar="FILE", help=text, rare=True)
    text = "the most words of text to learn from (default: all)"
    add("--most-words", type=positive, metavar="N", help=text, rare=True)
    add_training(parser)
    parser.set_defaults(related=[], start=None, lexicon=None)  # which are options of 'nonproj train' alone
    text = "number of processes (default: 1 to parse, 2 to train; -1: one per core)"
    parser.add_argument("-j", "--jobs", type=jobs, metavar="N", help=text)
    add_reading(parser)


def add_package(parser: Arguments) -> None:
    """Add the arguments of ``nonproj package``."""
    parser.add_example("nonproj package my.nonproj --language da")
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model made by 'nonproj train'")
    add("-o", "--output", default=".", metavar="FOLDER", help="folder for the wheel (default: the current one)")
    text = "name of the model, by which it is found when it is installed (default: that of the file)"
    add("--name", metavar="NAME", help=text)
    text = "version of the package (default: 1.0.0)"
    add("--package-version", default="1.0.0", metavar="VERSION", help=text)
    add("--licence", metavar="LICENCE", help="licence of the model (default: that of its treebank)")
    text = "code of the model's language, such as da or got (default: that of the treebank, if known)"
    add("--language", metavar="CODE", type=language_code, help=text)
    text = "round weights to multiples of R times their table's step, for a smaller wheel; 0: not at all (default: 1)"
    add("--rounding", type=factor, default=1.0, metavar="R", help=text)
    add("--test", metavar="FILE", help="treebank to evaluate the rounded model on, for its card")
    add_reading(parser)


def add_show(parser: Arguments) -> None:
    """Add the arguments of ``nonproj show``."""
    parser.add_example("nonproj show test.conllu -m english -o report.html")
    add = parser.add_argument
    add("file", metavar="FILE", help="a parsed file; with --model, sentences to parse")
    add("--gold", metavar="GOLD", help="the same sentences with gold trees: errors are shown and analysed")
    text = "the same sentences parsed by another parser: both are shown and, with --gold, compared"
    add("--other", metavar="PARSE", help=text)
    add("-m", "--model", metavar="MODEL", help="parse FILE with a model and show the result")
    text = "file to write: a report as .html, a single tree as .svg, .png, .pdf or .tex (default: draw in the terminal)"
    add("-o", "--output", metavar="OUT", help=text)
    add("--sentence", metavar="K", help="only the sentence with this number (from 1) or this sent_id")
    text = "record the course of dual decomposition for the N sentences with the most iterations (default: 10)"
    add("--course", type=positive, nargs="?", const=10, metavar="N", help=text)
    add_on_error(parser)
    add_reading(parser)
    add_tagging(parser, tested=True)


def add_parse(parser: Arguments) -> None:
    """Add the arguments of ``nonproj parse``."""
    parser.add_example("echo 'Time flies like an arrow.' | nonproj parse --text")
    add = parser.add_argument
    parser.usage = "nonproj parse [options] [MODEL] [IN]\n       nonproj parse [options] [MODEL] FILE... -o FOLDER"
    text = "a model made by 'nonproj train', or the name of an installed one, instead of the first argument"
    add("-m", "--model", metavar="MODEL", help=text)
    text = f"a model (default: {VARIABLE} or {DEFAULT}), and the file to parse (default: standard input);"
    text += " with -o FOLDER: files and folders"
    add("files", nargs="*", metavar="MODEL [IN]", help=text)
    text = "file to write (default: standard output), or folder for the parses of several files"
    add("-o", "--output", default="-", metavar="OUT", help=text)
    text = "CoNLL; a line of JSON for each sentence; or Parquet, a row for each word (default: by the ending of OUT)"
    add("--format", choices=FORMATS, help=text)
    text = "write the K best trees of each sentence, best first, with certificates as comments"
    add("--nbest", type=positive, metavar="K", help=text)
    text = "obey Head=3, NotHead=5 and Deprel=obj in MISC, or HEAD and DEPREL where they are not _"
    add("--constraints", choices=("misc", "head"), help=text, rare=True)
    add_lexicon(parser)
    text = "write the probability of each head, and of head and label, into MISC, as in Confidence=0.97"
    add("--confidence", dest="write_confidence", action="store_true", help=text)
    text = "replace heads, and labels with their heads, whose probability is below P by _"
    add("--min-confidence", type=probability, metavar="P", help=text, rare=True)
    text = "write a proof of each sentence's trees, a line of JSON; 'nonproj-check-proofs FILE OUT' checks them"
    add("--proofs", metavar="FILE", help=text, rare=True)
    add("--stats", metavar="FILE", help="write score, bound and certificate of each tree as lines of JSON", rare=True)
    add("--stats-comments", action="store_true", help="write them as comments above each sentence", rare=True)
    add_on_error(parser)
    text = "keep completed work in OUT.partial and continue from it if it exists; of several files, skip complete ones"
    add("--resume", action="store_true", help=text)
    text = "keep or drop enhanced dependencies and empty nodes of the input (default: drop)"
    add("--deps", choices=("keep", "drop"), default="drop", help=text, rare=True)
    add_plain_text(parser)
    add_reading(parser)
    add_tagging(parser)
    add_workers(parser)
    add_decoding(parser)
