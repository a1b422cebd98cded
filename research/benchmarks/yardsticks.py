"""Yardsticks: two programs from PyPI that do the same work, measured in the same run.

`ufal.udpipe` (Straka and Strakova 2017) is a transition-based parser in C++ with a small neural network; only its
parser runs, on the tags of the file.  `ufal.chu_liu_edmonds` is the maximum arborescence alone, in C++.  If either is
missing, `load` reports this in one line and the benchmark continues without it.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from nonproj.io.temporary import replacing
from nonproj.trees.arborescence import maximum_arborescence
from research.benchmarks.clock import Clock, Seconds

NAMES = ("ufal.udpipe", "ufal.chu_liu_edmonds")


def load(name: str, say: Callable[[str], None]):
    """Return the module of a yardstick; if it is missing, report that and return None."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        say(f"{name} cannot be imported ({error}); measuring without it; install it by: pip install '.[bench]'")
        return None


# -- a whole parser ----------------------------------------------------------------------------------------------------


def udpipe_path(folder: Path, train: Path) -> Path:
    """Return the file of the parser trained on a treebank, named after the treebank's name and content."""
    digest = hashlib.blake2b(train.read_bytes(), digest_size=6).hexdigest()
    return folder / f"{train.stem}-{digest}.udpipe"


def train_udpipe(udpipe, train: Path, target: Path) -> None:
    """Train the parser of UDPipe with its default settings and save it; this takes minutes.

    One option is set if the treebank needs it: several roots, or roots with labels other than "root".

    Raises
    ------
    RuntimeError
        If UDPipe reports an error.
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
        """Parse a file to a file; return the time."""
        clock = Clock()
        clock.time("whole", self.parse, source, target)
        return dict(clock.seconds)


# -- the arborescence alone --------------------------------------------------------------------------------------------


def arborescence_runs(module, matrices: list[np.ndarray]) -> dict[str, Callable[[], dict[str, Seconds]]]:
    """Return the runs of both maximum arborescence programs over score matrices, for `clock.interleave`.

    Parameters
    ----------
    module : module or None
        `ufal.chu_liu_edmonds`; without it, only ours runs.
    matrices : list of ndarray of shape (N, N), float64
        ``s[h, m]``, minus infinity where there is no arc, as for `maximum_arborescence`.

    Raises
    ------
    ValueError
        If the two find trees of different scores.
    """
    runs = {"ours": partial(_run, maximum_arborescence, matrices)}
    if module is not None:
        turned = [_turned(matrix) for matrix in matrices]
        for matrix, other in zip(matrices, turned, strict=True):
            ours = score_of(matrix, maximum_arborescence(matrix))
            theirs = score_of(matrix, np.array(module.chu_liu_edmonds(other)[0]))
            if not np.isclose(ours, theirs):
                raise ValueError(f"arborescences of the same matrix score {ours} and {theirs}")
        runs["theirs"] = partial(_run, module.chu_liu_edmonds, turned)
    return runs


def _turned(matrix: np.ndarray) -> np.ndarray:
    """Return the transposed matrix, with modifiers as rows and NaN for missing arcs, as the yardstick expects it."""
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
