"""Loading a model for parsing, with the decoding options of the command line; its kernels are compiled ahead."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nonproj.errors import FileError, ModelError
from nonproj.evaluation.calibration import no_classifier
from nonproj.io.kinds import A_MODEL, beginning_of, is_model
from nonproj.io.terminal import unescaped
from nonproj.kernels.folders import count_cached
from nonproj.kernels.kernel import NOTICE, compiling
from nonproj.model.installed import located
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.pipeline.compiling import compile_for_parsing

_TREEBANK = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:#[^\n]*\n\s*)*1(?:-\d+)?\t[^\t\n]*\t")


def load_model(path: str, treebank: str, *, confidence: bool = False) -> Model:
    """Load a model for parsing; raise an error for a checkpoint or, if ``confidence``, a model without a classifier.

    If a model is given as the treebank, or a treebank as the model, the error says so.
    """
    given = is_model(beginning_of(treebank))
    try:
        model = Model.load_trained(located(path))
    except ModelError as error:
        if given:
            raise ModelError(f"{error}; {treebank} is one: did you swap the two?") from None
        if _TREEBANK.match(beginning_of(path)):
            raise ModelError(f"{error}, but a treebank; a model written by 'nonproj train' is expected") from None
        raise
    if given:
        raise FileError(treebank, A_MODEL)
    if confidence and "confidence" not in model.components:
        raise ModelError(no_classifier(path))
    return model


@contextmanager
def counting_kernels() -> Iterator[None]:
    """Show the number of compiled kernels on a terminal while compilation takes more than a second."""
    if compiling.told or not sys.stderr.isatty():
        yield
        return
    done, before, began = threading.Event(), count_cached(), compiling.seconds
    stream = unescaped(sys.stderr)

    def watch() -> None:
        """Write the number of kernels after a second of compilation."""
        while compiling.seconds - began < 1.0:
            if done.wait(0.1):
                return
        compiling.silence()
        while not done.wait(0.25):
            stream.write(f"\r{NOTICE}: {count_cached() - before} done")
            stream.flush()
        stream.write(f"\r{NOTICE}: {count_cached() - before} done\n")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def compile_ahead(options: argparse.Namespace, model: Model, decoding: DecodingConfig) -> None:
    """Compile the kernels that a model needs, on two cores, before its first sentence and before workers start."""
    with counting_kernels():
        compile_for_parsing(options.model, model, decoding)


def decoding_options(decoding: DecodingConfig, options: argparse.Namespace) -> DecodingConfig:
    """Return the model's decoding options, overridden by the command line."""
    names = {field.name for field in dataclasses.fields(decoding)}
    given = {name: value for name, value in vars(options).items() if name in names and value is not None}
    return dataclasses.replace(decoding, **given)
