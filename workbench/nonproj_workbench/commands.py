"""The commands of the workbench, which `nonproj.cli.plugins` finds, and their arguments.

This module imports nothing heavy, so errors in options are reported at once.
"""

from __future__ import annotations

from nonproj.cli.arguments import Arguments, add_decoding, add_on_error, add_reading
from nonproj.cli.command_arguments import add_configuration
from nonproj.cli.plugins import Command
from nonproj.cli.values import integer, jobs, port, positive


def add_annotate(parser: Arguments) -> None:
    """Add the arguments of ``nonproj annotate``."""
    parser.add_example("nonproj annotate text.conllu -m english")
    add = parser.add_argument
    add("file", metavar="FILE", help="a CoNLL-X or CoNLL-U file, with or without heads; the edits are written to it")
    text = "a model, which predicts what is not decided; without one, trees are edited by hand"
    add("-m", "--model", metavar="MODEL", help=text)
    text = "heads of FILE that are decisions: of sentences that are done; all; none, and they are predicted again"
    add("--trust", choices=("done", "all", "none"), default="done", help=f"{text} (default: done)")
    text = "another file to write; FILE stays as it is (with --compare: the file of the adjudicated trees)"
    add("-o", "--output", metavar="OUT", help=text)
    text = "the same sentences by a second annotator: show where the two differ, and adjudicate"
    add("--compare", metavar="FILE", help=text)
    add("--port", type=port, default=0, metavar="N", help="port of this machine (default: any free one)")
    group = parser.add_group("validation, by the package udtools").add_argument
    text = (
        "highest level of the official validator, 0 for none (default: 3, with --language 5; none if tags are not UD's)"
    )
    group("--level", type=integer, choices=range(6), metavar="N", help=text)
    group("--language", metavar="CODE", help="language of the treebank, as in en")
    add = parser.add_group("training in the background").add_argument
    text = "train a model on demand, and after each N sentences that are newly done; it is written to FILE.nonproj"
    add("--retrain", type=positive, nargs="?", const=0, metavar="N", help=text)
    add("--retrain-with", metavar="TREEBANK", help="a further treebank to learn from")
    add("-c", "--config", metavar="YAML", help="configuration of the training (default: that of MODEL)")
    add_reading(parser)
    add_decoding(parser)


def add_audit(parser: Arguments) -> None:
    """Add the arguments of ``nonproj audit``."""
    parser.add_example("nonproj audit train.conllu -o audit")
    add = parser.add_argument
    add("treebanks", nargs="+", metavar="TREEBANK", help="files of a treebank with gold heads, CoNLL-X or CoNLL-U")
    text = "folder to write to: report.html, suspicions.csv, and copies of the files with marks in MISC"
    add("-o", "--output", required=True, metavar="FOLDER", help=text)
    text = "a model that has not learnt from these files, to predict them; by default, models are trained by folds"
    add("-m", "--model", metavar="MODEL", help=text)
    text = "another file of the treebank (repeatable); it is learnt from, but not audited"
    add("--with", dest="others", action="append", default=[], metavar="FILE", help=text)
    text = "number of folds; a sentence is predicted by a model that learns from the other folds (default: 5)"
    add("--folds", type=positive, metavar="N", help=text)
    text = "maximum number of suspicions of each kind on the page and in the marks; the table has all (default: 200)"
    add("--most", type=positive, default=200, metavar="N", help=text)
    text = "levels of the official validator to check, 0 for none (default: 3, for tags of Universal Dependencies)"
    add("--level", type=integer, choices=range(6), metavar="N", help=text)
    add("--language", metavar="CODE", help="language of the treebank, as in en, for levels 4 and 5 of the validator")
    text = "continue an interrupted run: completed folds, and a checkpoint of the current one, are in FOLDER"
    add("--resume", action="store_true", help=text)
    add("-j", "--jobs", type=jobs, metavar="N", help="number of folds at a time (default: 1; -1: one per core)")
    add_configuration(parser.add_group("training of the models").add_argument)
    add_on_error(parser)
    add_reading(parser)


def add_search(parser: Arguments) -> None:
    """Add the arguments of ``nonproj search``."""
    parser.add_example("nonproj search 'VERB >obj NOUN' train.conllu")
    add = parser.add_argument
    add(
        "query",
        metavar="QUERY",
        help="as in 'VERB >obj {upos:NOUN; Case=Gen}'; workbench/docs/search.md has the language",
    )
    add("files", nargs="+", metavar="FILE", help="treebanks or parsed files, CoNLL-X or CoNLL-U")
    text = "the same sentences with other trees, such as gold ones, to which ~ and 'differs' refer"
    add("--other", metavar="FILE", help=text)
    text = "file to write (default: standard output)"
    add("-o", "--output", default="-", metavar="OUT", help=text)
    form = parser.add_alternatives()
    text = "write a row for each match, with these fields, as in form,head.lemma, instead of the sentences"
    form.add_argument("--table", metavar="FIELDS", help=text)
    text = "write the number of matches for each combination of these fields, instead of the sentences"
    form.add_argument("--count", metavar="FIELDS", help=text)
    add_on_error(parser)
    add_reading(parser)


ANNOTATE = Command(
    "correct trees in the browser; a model decodes the rest of the tree again",
    add_annotate,
    "nonproj_workbench.annotation.command",
)
AUDIT = Command(
    "find errors in the annotation of a treebank", add_audit, "nonproj_workbench.audit.command", patient=True
)
SEARCH = Command(
    "find words, arcs and constructions in treebanks and parsed files",
    add_search,
    "nonproj_workbench.search.command",
)
