"""Programs of the repository, imported as they see each other, and the files that pages and examples name."""

import contextlib
import importlib.util
import io
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from toy import treebank

SCRIPTS = Path(__file__).resolve().parents[1] / "data_scripts"


@contextlib.contextmanager
def imported(*names: str) -> Iterator[list[ModuleType]]:
    """Import modules of data_scripts, and forget all of them afterwards."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(SCRIPTS))
        for path in SCRIPTS.glob("*.py"):
            sys.modules.pop(path.stem, None)


def program(path: Path) -> ModuleType:
    """Import a program by its path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def archive_of(path: Path, top: str, members: dict[str, bytes]) -> Path:
    """Write a tar archive as GitHub makes it: everything in one folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def zipped(path: Path, members: dict[str, str | bytes]) -> Path:
    """Write a zip archive or a wheel."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def make_files(folder: Path, model: Path) -> Path:
    """Write two treebanks and a copy of a model into a folder, and return it."""
    for name, count, seed in (("train", 40, 0), ("test", 6, 1)):
        (folder / f"{name}.conllu").write_text(treebank(count, seed), encoding="utf-8")
    shutil.copy(model, folder / "my.nonproj")
    return folder
