"""``nonproj clean``: lists the caches of compiled kernels, and removes what is no longer needed."""

from __future__ import annotations

import argparse
import sys
import time

from nonproj.errors import FileError, one_line
from nonproj.io.temporary import reason
from nonproj.kernels.cleaning import KernelFolder, kernel_folders, remove

_DAY = 86400.0


class _Report:
    """Prints what is kept and what is removed, removes it, and sums up the sizes."""

    def __init__(self, dry: bool) -> None:
        self.dry, self.removed, self.kept = dry, 0, 0
        self.problems: list[FileError] = []

    def keep(self, size: int, name: object, facts: str) -> None:
        """Print something that stays."""
        self.kept += size
        self._line(size, name, f"{facts}: kept")

    def remove(self, size: int, folder: KernelFolder, facts: str, partial: bool = False) -> None:
        """Remove a folder or its partial files, unless nothing is to be removed, and print it."""
        if self.dry:
            self.removed += size
            self._line(size, folder.path, f"{facts}: would be removed")
            return
        try:
            done = remove(folder, partial)
        except OSError as error:
            self.kept += size
            self.problems.append(FileError(error.filename or str(folder.path), f"cannot be removed: {reason(error)}"))
            self._line(size, folder.path, f"{facts}: cannot be removed")
            return
        self.removed += done
        self._line(done, folder.path, f"{facts}: removed")

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
    report, folders = _Report(options.dry_run), kernel_folders()
    if folders:
        sys.stdout.write("compiled kernels\n")
    for folder in folders:
        facts = f"used {_ago(folder.used)}" + (" by this installation" if folder.current else "")
        recent = folder.current or time.time() - folder.used < options.unused * _DAY
        if options.all or not recent:
            report.remove(folder.size, folder, facts)
            continue
        if folder.partial:
            report.remove(folder.partial, folder, "incomplete files", partial=True)
        report.keep(folder.size - folder.partial, folder.path, facts)
    return report.end()


def _ago(moment: float) -> str:
    """Return when something happened, in days."""
    days = int(max(time.time() - moment, 0.0) // _DAY)
    return ("today", "yesterday")[days] if days < 2 else f"{days} days ago"
