"""``nonproj clean``: lists the caches, and removes what is no longer needed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable

from nonproj.cli.model_names import is_terminal
from nonproj.errors import ConfigError, FileError, NonprojError, one_line
from nonproj.io.temporary import reason
from nonproj.kernels.cleaning import KernelFolder, kernel_folders
from nonproj.kernels.cleaning import remove as remove_kernels
from nonproj.model.downloads import Download, downloads
from nonproj.model.downloads import remove as remove_model

_DAY = 86400.0


class _Report:
    """Prints what is kept and what is removed, removes it, and sums up the sizes."""

    def __init__(self, dry: bool) -> None:
        self.dry, self.removed, self.kept = dry, 0, 0
        self.problems: list[NonprojError] = []

    def keep(self, size: int, name: object, facts: str) -> None:
        """Print something that stays."""
        self.kept += size
        self._line(size, name, f"{facts}: kept")

    def remove(self, size: int, name: object, facts: str, item: KernelFolder | Download, partial: bool = False) -> None:
        """Remove something, unless nothing is to be removed, and print it."""
        if self.dry:
            self.removed += size
            self._line(size, name, f"{facts}: would be removed")
            return
        try:
            done = remove_kernels(item, partial) if isinstance(item, KernelFolder) else remove_model(item)
            self.removed += done
            self._line(done, name, f"{facts}: removed")
        except OSError as error:
            problem: NonprojError = FileError(error.filename or str(item.path), f"cannot be removed: {reason(error)}")
            self._failed(size, name, facts, problem)
        except NonprojError as error:
            self._failed(size, name, facts, error)

    def _failed(self, size: int, name: object, facts: str, problem: NonprojError) -> None:
        self.kept += size
        self.problems.append(problem)
        self._line(size, name, f"{facts}: cannot be removed")

    def _line(self, size: int, name: object, facts: str) -> None:
        sys.stdout.write(f"{size / 1e6:10.1f} MB  {one_line(str(name))}  {facts}\n")

    def end(self) -> int:
        """Print the sums, raise the first problem, if any, and return the exit code."""
        verb = "would remove" if self.dry else "removed"
        sys.stdout.write(f"{verb} {self.removed / 1e6:.1f} MB, kept {self.kept / 1e6:.1f} MB\n")
        if self.problems:
            raise self.problems[0]
        return 0


def run(options: argparse.Namespace) -> int:
    """List the caches, and remove what is not needed any more."""
    if options.models and not (options.yes or options.dry_run or is_terminal(sys.stdin)):
        raise ConfigError("--models", "asks before it removes models, which needs a terminal; or do not ask: --yes")
    report = _Report(options.dry_run)
    folders, models = kernel_folders(), downloads()
    if folders:
        sys.stdout.write("compiled kernels\n")
    for folder in folders:
        _clean_kernels(folder, options, report)
    if models:
        sys.stdout.write("models from a hub\n")
        chosen = options.models and (options.yes or options.dry_run or _agreed(models))
        for model in models:
            facts = f"used {_ago(model.used)}"
            if chosen:
                report.remove(model.size, model.name, facts, model)
            else:
                report.keep(model.size, model.name, facts if options.models else f"{facts}, without --models")
    return report.end()


def _clean_kernels(folder: KernelFolder, options: argparse.Namespace, report: _Report) -> None:
    """Remove a folder of kernels, or its partial files, if the options say so."""
    facts = f"used {_ago(folder.used)}" + (" by this installation" if folder.current else "")
    recent = folder.current or time.time() - folder.used < options.unused * _DAY
    if not recent or options.all:
        report.remove(folder.size, folder.path, facts, folder)
        return
    if folder.partial:
        report.remove(folder.partial, folder.path, "incomplete files", folder, partial=True)
    report.keep(folder.size - folder.partial, folder.path, facts)


def _agreed(models: Iterable[Download]) -> bool:
    """Ask whether models shall be removed; anything but yes is no."""
    found = list(models)
    names = one_line(", ".join(model.name for model in found))
    size = sum(model.size for model in found) / 1e6
    sys.stdout.flush()
    sys.stderr.write(f"remove {names} ({size:.1f} MB)? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _ago(moment: float) -> str:
    """Return when something happened, in days."""
    days = int(max(time.time() - moment, 0.0) // _DAY)
    return ("today", "yesterday")[days] if days < 2 else f"{days} days ago"
