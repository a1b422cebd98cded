"""Checks of distributions: what they import and declare, what they contain, and how they are installed."""

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path


def canonical(name: str) -> str:
    """Return the name of a distribution as indices compare it."""
    return re.sub("[-_.]+", "-", name).lower()


IMPORT = re.compile(r"^ *(?:from|import) (\w+)[\w.]*(?: import .*| as \w+)?(?:  #.*)?$", re.MULTILINE)


def libraries(package: Path) -> dict[str, Path]:
    """Return the libraries that a package imports, each with a module that does."""
    found: dict[str, Path] = {}
    for path in package.rglob("*.py"):
        found |= dict.fromkeys(IMPORT.findall(path.read_text(encoding="utf-8")), path)
    return {name: path for name, path in found.items() if name not in {*sys.stdlib_module_names, package.name}}


def undeclared(package: Path, wanted: Iterable[str]) -> dict[str, Path]:
    """Return the libraries that a package imports and none of its requirements, with their extras, declares."""
    names = (re.findall(r"[\w.-]+", re.split("[<>=]", text)[0]) for text in wanted)
    declared = {canonical(name) for each in names for name in each}
    owners = importlib.metadata.packages_distributions()
    return {
        name: path
        for name, path in libraries(package).items()
        if not {canonical(owner) for owner in owners.get(name, [name])} & declared
    }


def missing(package: Path, root: Path, files: Iterable[Path], prefix: str = "") -> list[str]:
    """Return the files below a folder that a wheel or an sdist lacks, of an sdist README and licence, too."""
    expected = {prefix + path.relative_to(root).as_posix() for path in files}
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return sorted(expected - set(wheel.namelist()))
    with tarfile.open(package) as archive:
        return sorted((expected | {"README.md", "LICENSE"}) - {name.partition("/")[2] for name in archive.getnames()})


class Fresh:
    """An empty environment in a folder of its own, where packages are installed and used."""

    def __init__(self, folder: Path):
        self.folder, self.bin = folder, folder / "env" / "bin"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NONPROJ", "VIRT"))}
        cache = os.environ.get("NONPROJ_CACHE", str(folder / "cache"))
        self.variables = kept | {"NONPROJ_CACHE": cache, "PYTHONUTF8": "1"}
        self.call([sys.executable, "-m", "venv", "env"])

    def call(self, words: list[str], code: int = 0) -> str:
        """Run a command that ends with a code, and return what it says."""
        options = {"cwd": self.folder, "env": self.variables, "encoding": "utf-8"}
        done = subprocess.run(words, capture_output=True, check=False, **options)
        if done.returncode != code:
            raise SystemExit(f"{' '.join(words)} ended with code {done.returncode}\n{done.stderr}")
        return done.stdout or done.stderr

    def run(self, program: str, *words: str, code: int = 0) -> str:
        """Run a program of the environment."""
        return self.call([str(self.bin / program), *words], code)

    def install(self, *packages: Path) -> None:
        """Install packages."""
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *map(str, packages))
        self.run("python", "-m", "pip", "check")


def check_all(
    packages: Iterable[str], missing: Callable[[Path], list[str]], use: Callable[[Fresh, Path], None]
) -> None:
    """Check that packages are complete, and use each in an environment of its own."""
    for package in (Path(word).resolve() for word in packages):
        if absent := missing(package):
            raise SystemExit(f"{package.name}: without {', '.join(absent)}")
        with tempfile.TemporaryDirectory() as folder:
            use(Fresh(Path(folder)), package)
        sys.stdout.write(f"{package.name}: complete; installed and used in an empty environment\n")
