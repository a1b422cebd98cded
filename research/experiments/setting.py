"""Settings of all experiments: the sizes of a run, its models and treebanks, and pruned and scored sentences."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.components.base import RunOptions
from nonproj.components.preparation import LEARNING, load_features
from nonproj.components.trainer import train
from nonproj.dual.options import APPENDIX_A, DualOptions
from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import score
from nonproj.types import ArcSpace, PartSpace, Sentence

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "research" / "results"
LANGUAGES = ("danish", "dutch", "english", "basque")
TREEBANKS = {"english": "english-wsj"}
"""Treebanks whose names differ from that of their language."""

SETS = ("arc", "sibling", "grandparent")
"""The sets of part types of Koo et al. (2010), arc-factored first."""

GRANDPARENTS = "grandparents"
"""An additional set: arcs and grandparents without siblings (Riedel et al. 2012)."""

PRICED = {"parts": ["arc", "grandparent"], "labeler.joint": False, "network.epochs": 0, "training.epochs": 6}
PRICED |= {"pruner.threshold": 1e-300, "pruner.max_heads": 30, "pruner.folds": 0}
"""Options of the models of price and cut, which parses over all arcs, so there is almost no pruning in training."""

PLAIN = "-plain"
"""Suffix of a set whose model is trained without a margin, as Koo et al. (2010) train theirs."""

RANDOM = "random"
"""Name used instead of a language for random scores."""

BETA = 0.001
"""Share of the arc scores in the arborescence subproblem: Koo et al. (2010), appendix A.2."""

log = logging.getLogger("experiments")


@dataclass(frozen=True)
class ExperimentSettings:
    """The sizes of a run, and its files and folders.

    Attributes
    ----------
    results : Path
        Folder that results are written to.
    models : Path
        Folder of models, ``LANGUAGE-PARTS.nonproj``; missing ones are trained.
    data : Path
        Folder to fetch treebanks into.
    files : mapping of str to (Path, Path)
        Training and test file by language; they replace the known treebanks.
    languages : tuple of str
    sentences : int
        Number of sentences used from each test file; 0 for all.
    program_sentences, program_words : int
        Number and maximum length of the sentences whose linear program has all arcs, grandparent parts and rows.
    iterations : int
        K, the maximum number of iterations in the papers' runs.
    instances : int
        Random instances.
    training : int
        Number of sentences used for training; 0 for all.
    config : Path or None
        Configuration of the models to train; None for the language's own.
    """

    results: Path
    models: Path
    data: Path = ROOT / "data"
    files: Mapping[str, tuple[Path, Path]] = field(default_factory=dict, hash=False)
    languages: tuple[str, ...] = LANGUAGES
    sentences: int = 0
    program_sentences: int = 120
    program_words: int = 30
    iterations: int = 5000
    instances: int = 300
    training: int = 0
    config: Path | None = None

    def among(self, *languages: str) -> list[str]:
        """Return the given languages that the run covers."""
        return [language for language in languages if language in self.languages]


class Problem(NamedTuple):
    """A sentence, pruned and scored."""

    sentence: Sentence
    parts: PartSpace
    scores: np.ndarray

    @property
    def arcs(self) -> ArcSpace:
        """The candidate arcs."""
        return self.parts.arcs


class Workload(NamedTuple):
    """The test sentences of a language, pruned and scored by one model.

    Attributes
    ----------
    problems : list of Problem
    options : DualOptions
        The model's own decoding options.
    paper : DualOptions
        Options of Koo et al. (2010): their step sizes, K and beta; tau is that of training.
    """

    problems: list[Problem]
    options: DualOptions
    paper: DualOptions


def timed(function: Callable, *arguments) -> tuple[object, float]:
    """Return a function's result and the processor seconds it took."""
    begin = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - begin


def treebank(setting: ExperimentSettings, language: str) -> tuple[Path, Path]:
    """Return the training and test files of a language; fetch them if they are missing."""
    if language in setting.files:
        return setting.files[language]
    train_file, test_file = _fetched(setting, language)[:2]
    return train_file, test_file


def development(setting: ExperimentSettings, language: str) -> Path:
    """Return the development file of a treebank, the test file of one in ``files``; fetch it if it is missing."""
    if language in setting.files:
        return setting.files[language][1]
    files = _fetched(setting, language)
    if len(files) < 3:
        raise SystemExit(f"{language} has no development file; choose another treebank")
    return files[2]


def _fetched(setting: ExperimentSettings, language: str) -> list[Path]:
    """Return the training and test files of a known treebank, and its development file if it has one."""
    return fetched("data_scripts/fetch.py", setting.data, TREEBANKS.get(language, language), "--paths")


def fetched(script: str, data: Path, *words: str) -> list[Path]:
    """Run a script that fetches missing files into a folder; return the paths that it prints.

    Raises
    ------
    SystemExit
        The script has failed, and has said why.
    """
    command = [sys.executable, str(ROOT / script), *words, "--out", str(data)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, encoding="utf-8")
    if done.returncode:
        raise SystemExit(done.returncode)
    return [Path(line) for line in done.stdout.splitlines()]


def model_file(setting: ExperimentSettings, language: str, parts: str) -> Path:
    """Return the model file of a language and a set of part types; train the model if it is missing.

    Raises
    ------
    ModelError
        The model was trained by another version, or with other options.
    """
    path = setting.models / f"{language}-{parts}.nonproj"
    return trained_file(path, setting, language, configuration(setting, language, parts))


def trained_file(path: Path, setting: ExperimentSettings, language: str, config: Config) -> Path:
    """Return the file of a model of a language with some options, as `model_file` does."""
    if path.exists():
        check_model(path, os.path.getmtime(path), config)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        log.info("training %s", path.name)
        sentences = list(conll.read(treebank(setting, language)[0], require_heads=True))[: setting.training or None]
        trained = train(sentences, config, run=RunOptions(jobs=2))
        if trained.meta["interrupted"]:
            raise KeyboardInterrupt  # the trainer returns the last complete epoch, which is useless here
        trained.save(path)
    return path


@functools.lru_cache(maxsize=64)
def check_model(path: Path, _: float, config: Config) -> None:
    """Raise `ModelError` unless training would give this model again, as far as can be known without training.

    The second argument is the file's time, so that a model that was replaced is checked again.
    """
    model = Model.load_trained(path)
    templates = load_features(config, labelled=len(model.labels) > 1)[0]
    ignored = dict.fromkeys(["treebank", *([] if config.encoder.folder else ["encoder"])])
    moved = [each.with_overrides({"encoder.folder": None}) for each in (model.config, config)]
    trained = [each.as_dict() | ignored for each in moved]
    current = trained[0] == trained[1], model.templates == templates, model.meta.get("learning") == LEARNING
    for name, same in zip(("the options", "the templates", "the version of learning"), current, strict=True):
        if not same:
            raise ModelError(f"{path}: {name} of its training are not today's; remove it, or name another --models")


def configuration(setting: ExperimentSettings, language: str, parts: str) -> Config:
    """Return the configuration that ``make train`` uses."""
    margin, parts = not parts.endswith(PLAIN), parts.removesuffix(PLAIN)
    name = TREEBANKS.get(language, language)
    files = [path for each in (name, "universal") if (path := ROOT / "configs" / f"{each}.yaml").exists()]
    path = setting.config or (files[0] if files else None)
    config = Config.load(path) if path else Config()
    changes: dict[str, object] = {"parts": parts}
    if parts == GRANDPARENTS:
        changes = dict(PRICED)
    if not margin:
        changes["training.margin"] = 0.0
    return config.with_overrides(changes)


def fingerprint(setting: ExperimentSettings, sizes: Sequence[str], language: str, parts: str) -> str:
    """Return a digest of the inputs of a unit: some sizes of the run, the model and the sentences."""
    digest = hashlib.blake2b(repr([getattr(setting, name) for name in sizes]).encode(), digest_size=4)
    if language == RANDOM:
        return digest.hexdigest()
    digest.update(model_file(setting, language, parts).read_bytes())
    digest.update(treebank(setting, language)[1].read_bytes())
    return digest.hexdigest()


def workload(setting: ExperimentSettings, language: str, parts: str, projective: bool = False) -> Workload:
    """Return the test sentences of a language, pruned and scored; the last two workloads are cached.

    With ``projective``, the candidate arcs always contain a projective tree.
    """
    path, test = model_file(setting, language, parts), treebank(setting, language)[1]
    return _workload(path, os.path.getmtime(path), test, setting.sentences, setting.iterations, projective)


@functools.lru_cache(maxsize=2)
def _workload(path: Path, _: float, test: Path, count: int, iterations: int, projective: bool) -> Workload:
    """Prune and score each sentence as the parser does."""
    model = Model.load(path)
    parser = Parser(model, replace(model.config.decoding, projective=projective), tags="none")
    sentences = list(conll.read(test, require_heads=True))[: count or None]
    problems = []
    for sentence in sentences:
        batch = parser.run([sentence], until=score)
        problems.append(Problem(sentence, batch.spaces[0], batch.scores[0]))
    options = parser.request.options
    return Workload(problems, options, options._replace(rule=APPENDIX_A, max_iterations=iterations, beta=BETA))
