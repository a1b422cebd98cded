"""The setting of a run: its sizes, models and treebanks, and the sentences pruned and scored for decoding."""

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

from nonproj.dual.decomposition import DualOptions
from nonproj.dual.subgradient import APPENDIX_A
from nonproj.io import conll
from nonproj.learning.trainer import train
from nonproj.model import Model
from nonproj.options.config import Config
from nonproj.pipeline import Parser
from nonproj.types import ArcSpace, PartIndex, PartScores, Sentence

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES = ("danish", "dutch", "english", "basque")
GRANDPARENTS = "grandparents"
"""A model beside those of `nonproj.types.MODELS`: arcs and grandparents, no siblings (Riedel et al. 2012)."""

PLAIN = "-plain"
"""Suffix of models trained without a margin, as the perceptron of Koo et al. (2010) is."""

RANDOM = "random"
"""Replaces the language where scores are drawn at random."""

BETA = 0.001
"""Share of the arc scores that the arborescence sees: Koo et al. (2010), appendix A.2."""

log = logging.getLogger("experiments")


@dataclass(frozen=True)
class Setting:
    """The sizes and folders of a run.

    Attributes
    ----------
    results : Path
        Output folder.
    models : Path
        Folder of models, ``LANGUAGE-MODEL.nonproj``; missing ones are trained.
    data : Path
        Folder for fetched treebanks.
    files : mapping of str to (Path, Path)
        Training and test file by language; they replace the known treebanks.
    languages : tuple of str
    sentences : int
        Number of sentences of each test file to use, from its start; 0 for all.
    program_sentences, program_words : int
        Sentences for programs with all arcs, grandparent parts and rows, and the most words that these may have.
    iterations : int
        K of the papers' runs.
    instances : int
        Number of random instances.
    training : int
        Number of sentences of each training file to use, from its start; 0 for all.
    config : Path or None
        Training configuration; replaces that of the language.
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
        """Return which of these languages the run covers."""
        return [language for language in languages if language in self.languages]


class Problem(NamedTuple):
    """One sentence, pruned and scored."""

    sentence: Sentence
    arcs: ArcSpace
    index: PartIndex
    scores: PartScores

    @property
    def parts(self) -> tuple[ArcSpace, PartIndex, PartScores]:
        """The arguments of decoders."""
        return self.arcs, self.index, self.scores


class Workload(NamedTuple):
    """The test sentences of a language under one model.

    Attributes
    ----------
    problems : list of Problem
    order : int
        The model's number.
    options : DualOptions
        The decoding options of the model.
    paper : DualOptions
        Those of Koo et al. (2010): their step rule, K and beta; tau as in training.
    """

    problems: list[Problem]
    order: int
    options: DualOptions
    paper: DualOptions


def timed(function: Callable, *arguments) -> tuple[object, float]:
    """Return the result of a function and the processor seconds it took."""
    begin = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - begin


def treebank(setting: Setting, language: str) -> tuple[Path, Path]:
    """Return the training and the test file of a language; fetch missing ones."""
    if language in setting.files:
        return setting.files[language]
    command = [sys.executable, str(ROOT / "data_scripts" / "fetch.py"), language, "--out", str(setting.data), "--paths"]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    train_file, test_file = output.splitlines()
    return Path(train_file), Path(test_file)


def model_file(setting: Setting, language: str, model: str) -> Path:
    """Return the file of a model; train a missing one."""
    path = setting.models / f"{language}-{model}.nonproj"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        log.info("training %s", path.name)
        sentences = list(conll.read(treebank(setting, language)[0], require_heads=True))[: setting.training or None]
        trained = train(sentences, _config(setting, language, model))
        if trained.meta["interrupted"]:
            raise KeyboardInterrupt  # the trainer returns the model of the complete epochs
        trained.save(path)
    return path


def _config(setting: Setting, language: str, model: str) -> Config:
    """Return the configuration that ``make train`` uses."""
    margin, model = not model.endswith(PLAIN), model.removesuffix(PLAIN)
    names = (f"{language}-{model}", language)
    files = [path for name in names if (path := ROOT / "configs" / f"{name}.yaml").exists()]
    path = setting.config or (files[0] if files else None)
    config = Config.load(path) if path else Config()
    changes: dict[str, object] = {"model": model}
    if model == GRANDPARENTS:
        changes = {"model": "grandparent", "features.folder": str(ROOT / "features" / "grandparents")}
    if not margin:
        changes["training.margin"] = 0.0
    return config.with_overrides(changes)


def fingerprint(setting: Setting, sizes: Sequence[str], language: str, model: str) -> str:
    """Return a digest of the sizes, the model and the sentences that a unit depends on."""
    digest = hashlib.blake2b(repr([getattr(setting, name) for name in sizes]).encode(), digest_size=4)
    if language == RANDOM:
        return digest.hexdigest()
    digest.update(model_file(setting, language, model).read_bytes())
    digest.update(treebank(setting, language)[1].read_bytes())
    return digest.hexdigest()


def workload(setting: Setting, language: str, model: str, projective: bool = False) -> Workload:
    """Return the test sentences of a language, pruned and scored by a model; the last two are cached.

    With ``projective``, pruning always keeps a projective tree.
    """
    path, test = model_file(setting, language, model), treebank(setting, language)[1]
    return _workload(path, os.path.getmtime(path), test, setting.sentences, setting.iterations, projective)


@functools.lru_cache(maxsize=2)
def _workload(path: Path, _: float, test: Path, count: int, iterations: int, projective: bool) -> Workload:
    """Return the workload: each sentence pruned and scored as by the parser."""
    model = Model.load(path)
    parser = Parser(model, replace(model.config.decoding, projective=projective))
    sentences = list(conll.read(test, require_heads=True))[: count or None]
    problems = []
    for sentence in sentences:
        tokens = parser.encode(sentence)
        arcs = parser.prune(tokens)
        problems.append(Problem(sentence, arcs, *parser.score(tokens, arcs)))
    paper = parser.options._replace(rule=APPENDIX_A, max_iterations=iterations, beta=BETA)
    return Workload(problems, parser.order, parser.options, paper)
