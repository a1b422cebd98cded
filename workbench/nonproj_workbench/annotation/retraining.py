"""Training in the background: a child process learns from the sentences that are done, then the model is exchanged."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from nonproj.errors import NonprojError, one_line
from nonproj.io.columns import DEPREL, HEAD
from nonproj.kernels.interpreters import environment, python
from nonproj.options.config import Config
from nonproj.options.sections import TreebankConfig
from nonproj_workbench.annotation.decisions import cleaned, decisions_of
from nonproj_workbench.annotation.draft import Draft, EditError
from nonproj_workbench.annotation.editing import set_arc
from nonproj_workbench.annotation.suggesting import Suggester

NICENESS = 10
"""Niceness of the training process: edits come first."""

FEWEST = 10
"""Minimum number of sentences to learn from, without a model to continue or another treebank."""

log = logging.getLogger("nonproj")


class Retraining:
    """Trains a model in the background.

    Parameters
    ----------
    output : str
        The file of the new model.
    config : Config or None
        Configuration of the present model; None for the default.
    every : int
        Number of newly completed sentences after which training starts by itself; 0 for never.
    others : str or None
        Another treebank to learn from.
    start : str or None
        The model to continue; None to train a new one.
    load : callable
        Returns the suggester of trees by the model in a file; called in the thread that waits for the training.

    Attributes
    ----------
    exchange : callable
        Called after a training, with the result of ``load``.
    """

    def __init__(
        self,
        output: str,
        config: Config | None,
        every: int,
        others: str | None,
        start: str | None,
        load: Callable[[str], Suggester],
    ):
        self.output, self.config, self.every, self._load = output, config, every, load
        self.others, self.start_model = others, start
        self.exchange: Callable[[Suggester], None] = lambda _: None
        self.learnt: int | None = None
        self.state: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False

    @property
    def is_running(self) -> bool:
        """Whether a model is being trained."""
        return self.state is not None and self.state["state"] == "running"

    def start_when_due(self, texts: Callable[[], Sequence[str]], done: int) -> None:
        """Start the training if there are enough newly completed sentences."""
        if self.learnt is None:
            self.learnt = done
        if self.every and not self.is_running and done - self.learnt >= self.every:
            self.learnt = done
            with contextlib.suppress(EditError):  # too few sentences
                self.start(texts())

    def start(self, texts: Sequence[str]) -> None:
        """Train on the completed sentences and, if models learn from partial trees, on other decided heads and labels.

        Raises
        ------
        EditError
            A model is being trained already, or there are too few sentences.
        """
        with self._lock:
            if self.is_running:
                raise EditError("a model is being trained already")
            chosen = training_texts(texts)
            fewest = 1 if self.others or self.start_model else FEWEST
            if len(chosen) < fewest:
                raise EditError(f"{len(chosen)} sentences are done; at least {fewest} are needed to train a model")
            self.state = {"state": "running", "sentences": len(chosen), "message": ""}
            self._thread = threading.Thread(target=self._train, args=(chosen,), daemon=True, name="nonproj-training")
            self._thread.start()

    def stop(self) -> None:
        """End the training."""
        self._stopping = True
        with self._lock:
            if self._process is not None:
                self._process.terminate()
        if self._thread is not None:
            self._thread.join()

    def _train(self, texts: Sequence[str]) -> None:
        """Train, and exchange the model."""
        state = {"sentences": len(texts)}
        try:
            with tempfile.TemporaryDirectory(prefix="nonproj-") as folder:
                message = self._run(Path(folder), texts)
            if message:
                self.state = state | {"state": "failed", "message": message}
                return
            self.exchange(self._load(self.output))
            self.state = state | {"state": "done", "message": f"the trees are suggested by {self.output}"}
        except (NonprojError, OSError) as error:
            self.state = state | {"state": "failed", "message": one_line(str(error))}

    def _run(self, folder: Path, texts: Sequence[str]) -> str:
        """Run ``nonproj train``; return its error, or an empty string."""
        training, messages, config = folder / "training.conllu", folder / "messages", folder / "config.yaml"
        others = Path(self.others).read_text(encoding="utf-8").rstrip("\n") + "\n\n" if self.others else ""
        training.write_text(others + "".join(texts), encoding="utf-8", newline="")
        command = python("-m", "nonproj", "train", str(training), "-o", self.output, "-q")
        if self.start_model:
            command += ["--from", self.start_model, "--set", "treebank.partial=head"]
        elif self.config is not None:
            values = dataclasses.replace(self.config, treebank=TreebankConfig(root=self.config.treebank.root))
            config.write_text(yaml.safe_dump(values.as_dict()), encoding="utf-8")
            command += ["--config", str(config)]
        with messages.open("wb") as stream, self._lock:
            if self._stopping:
                return "stopped"
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env=environment(),
                start_new_session=True,
            )
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, NICENESS)
        code = self._process.wait()
        lines = messages.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return "" if code == 0 else one_line(lines[-1] if lines else f"training ended with exit code {code}")


def training_texts(texts: Sequence[str]) -> list[str]:
    r"""Return the sentences to learn from, without marks of annotation.

    A sentence that is not done has only its decided heads and labels, if models can learn from such trees; else it is
    left out.

    Examples
    --------
    >>> word = "1\tRegn\t_\tN\t_\t_\t0\tROOT\t_\t_\n\n"
    >>> training_texts(["# annotation = done\n" + word, word]) == [word]
    True
    """
    found = []
    for text in texts:
        if "annotation" not in text and "Head=" not in text:
            continue
        draft = Draft.of(text)
        decisions = decisions_of(draft, "none")
        if decisions.done:
            found.append(_ended(cleaned(text)))
        elif decisions.heads and learns_from_partial_trees():
            for word, row in enumerate(draft.words, 1):
                if word not in decisions.heads:
                    set_arc(row, None, "_")
                    row[HEAD] = row[DEPREL] = "_"
                elif word not in decisions.labels:
                    row[DEPREL] = "_"
            found.append(_ended(cleaned(draft.text())))
    return found


def learns_from_partial_trees() -> bool:
    """Return whether models can be trained on trees with absent heads."""
    return "partial" in {field.name for field in dataclasses.fields(TreebankConfig)}


def _ended(text: str) -> str:
    """Return the lines of a sentence with one blank line at the end, and none before."""
    return text.removeprefix("\ufeff").strip("\r\n") + "\n\n"
