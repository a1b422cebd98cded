"""Add a component of your own: an attribute of the column MISC, such as ``Gloss=...``, for each word.

    python examples/gloss.py train.conllu test.conllu --attribute SpaceAfter

A component declares what it predicts, and from what; ``word_classes.py`` beside this is the linear model.  The
trainer fits it with the parser and resumes an interrupted run with it, a model file keeps it, and the parser applies it
after the tagger.  A program that loads such a model registers the component first.  It is cross-fitted like any other:
each sentence is judged by a component that was trained on other sentences.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from word_classes import WordClasses

from nonproj.components.base import FitContext, jackknife, register
from nonproj.components.trainer import train
from nonproj.errors import NonprojError
from nonproj.io import conll
from nonproj.learning.corpus import Corpus
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser

SMALL = {"parts": ["arc"], "features.bits": 18, "network.epochs": 0, "confidence.share": 0.0, "segmenter.epochs": 0}


class MiscAttribute(WordClasses):
    """Predicts an attribute of MISC, by the words around it."""

    name = "misc"
    misc, absent = "SpaceAfter", True
    templates = ("w.form", "w.suffix w.upos", "w-1.form", "w+1.form", "w.upos w+1.upos", "w.form w+1.form")
    attributes = {
        "form": lambda row: row[1],
        "suffix": lambda row: row[1][-3:].lower(),
        "upos": lambda row: row[3],
    }


def main() -> int:
    """Run the command line."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("train")
    arguments.add_argument("test")
    arguments.add_argument("--attribute", default="SpaceAfter", help="the attribute of MISC (default: SpaceAfter)")
    arguments.add_argument("--epochs", type=int, default=5, help="passes over the training data (default: 5)")
    options = arguments.parse_args()
    MiscAttribute.misc = options.attribute
    config = Config().with_overrides(SMALL | {"training.epochs": options.epochs})
    try:
        register(MiscAttribute)
        sentences = list(conll.read(options.train, require_heads=True))
        test = list(conll.read(options.test))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "example.nonproj")
            train(sentences, config, components=[MiscAttribute]).save(path)
            parser = Parser(Model.load(path))
        (component,) = parser.loaded.components
        accuracy = component.accuracy(test, component.apply(test))
        sys.stdout.write(f"{100 * accuracy:.2f} % right\n")
        accuracy = component.accuracy(sentences, jackknife(MiscAttribute, Corpus(sentences), FitContext(config), 5))
        sys.stdout.write(f"{100 * accuracy:.2f} % right on the training data, cross-fitted\n")
        parsed, _ = next(iter(parser.parse_all(test[:1])))
        sys.stdout.write(f"{' '.join(row[9] for row in parsed.rows)}\n")
    except (NonprojError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
