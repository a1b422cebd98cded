"""Two programs from PyPI that do the same work, as a live measure: a figure is worth most beside one of the same hour.

`ufal.udpipe` (Straka and Strakova 2017) is a transition-based parser in C++ with a small neural network; of it only the
parser is used, on the tags of the file.  `ufal.chu_liu_edmonds` is the maximum arborescence alone, in C++.  Either may
be missing: `load` then says so in one line, and the benchmark goes on without it.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.clock import Clock, Seconds
from nonproj.io.files import replacing
from nonproj.trees.arborescence import maximum_arborescence

NAMES = ("ufal.udpipe", "ufal.chu_liu_edmonds")


def load(name: str, say: Callable[[str], None]):
    """Return a yardstick's module, or say that it is missing and return None."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        say(f"{name} cannot be imported ({error}); measured without it; pip install '.[bench]' has it")
        return None


# -- a whole parser ----------------------------------------------------------------------------------------------------


def udpipe_path(folder: Path, train: Path) -> Path:
    """Return where the parser trained on a treebank is kept: by its name and content."""
    digest = hashlib.blake2b(train.read_bytes(), digest_size=6).hexdigest()
    return folder / f"{train.stem}-{digest}.udpipe"


def train_udpipe(udpipe, train: Path, target: Path) -> None:
    """Train the parser of UDPipe with its own default settings, and keep it.  Takes minutes.

    The one option set is that a sentence may have several roots, or roots not labelled "root", where the treebank's do:
    training refuses them else.

    Raises
    ------
    RuntimeError
        If UDPipe does; the message is its own.
    """
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(train.read_text(encoding="utf-8"))
    sentences, error = [], udpipe.ProcessingError()
    sentence = udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise RuntimeError(error.message)
    single = all([w.deprel for w in list(s.words)[1:] if w.head == 0] == ["root"] for s in sentences)
    none = udpipe.Trainer.NONE
    options = "" if single else "single_root=0"
    model = udpipe.Trainer.train(
        "morphodita_parsito", udpipe.Sentences(sentences), udpipe.Sentences(), none, none, options, error
    )
    if error.occurred():
        raise RuntimeError(error.message)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        temporary.write_bytes(model)


class UDPipe:
    """A trained parser of UDPipe.

    Parameters
    ----------
    udpipe : module
    path : Path
        The model.
    """

    def __init__(self, udpipe, path: Path):
        self._udpipe, self._model = udpipe, udpipe.Model.load(str(path))
        if not self._model:
            raise RuntimeError(f"{path}: UDPipe cannot load it")
        self._pipeline = udpipe.Pipeline(self._model, "conllu", udpipe.Pipeline.NONE, udpipe.Pipeline.DEFAULT, "conllu")

    def parse(self, source: Path, target: Path) -> None:
        """Parse a file to a file."""
        error = self._udpipe.ProcessingError()
        text = self._pipeline.process(source.read_text(encoding="utf-8"), error)
        if error.occurred():
            raise RuntimeError(f"{source}: {error.message}")
        target.write_text(text, encoding="utf-8")

    def run(self, source: Path, target: Path) -> dict[str, Seconds]:
        """Parse a file to a file, and return the time of it."""
        clock = Clock()
        clock.time("whole", self.parse, source, target)
        return dict(clock.seconds)


# -- the arborescence alone --------------------------------------------------------------------------------------------


def arborescence_runs(module, matrices: list[np.ndarray]) -> dict[str, Callable[[], dict[str, Seconds]]]:
    """Return what runs the maximum arborescence over score matrices here, and there; for `clock.interleave`.

    Parameters
    ----------
    module : module or None
        `ufal.chu_liu_edmonds`; without it only ours is run.
    matrices : list of ndarray of shape (N, N), float64
        ``s[h, m]``, minus infinity where there is no arc, as `maximum_arborescence` takes them.

    Raises
    ------
    ValueError
        If the two do not find trees of the same score.
    """
    runs = {"ours": partial(_run, maximum_arborescence, matrices)}
    if module is not None:
        turned = [_turned(matrix) for matrix in matrices]
        for matrix, other in zip(matrices, turned, strict=True):
            ours = score_of(matrix, maximum_arborescence(matrix))
            theirs = score_of(matrix, np.array(module.chu_liu_edmonds(other)[0]))
            if not np.isclose(ours, theirs):
                raise ValueError(f"two arborescences of the same matrix score {ours} and {theirs}")
        runs["theirs"] = partial(_run, module.chu_liu_edmonds, turned)
    return runs


def _turned(matrix: np.ndarray) -> np.ndarray:
    """Modifiers down, heads across; it takes NaN for what may not be, in the row of the root and on the diagonal."""
    turned = np.ascontiguousarray(matrix.T)
    turned[~np.isfinite(turned)] = np.nan
    return turned


def _run(function: Callable, matrices: list[np.ndarray]) -> dict[str, Seconds]:
    clock = Clock()
    clock.time("whole", lambda: [function(matrix) for matrix in matrices])
    return dict(clock.seconds)


def score_of(matrix: np.ndarray, heads: np.ndarray) -> float:
    """Return the score of a tree."""
    return float(sum(matrix[heads[m], m] for m in range(1, len(heads))))
