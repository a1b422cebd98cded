"""The rules of the house, as programs: which way imports point, what is documented, what is installed."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "nonproj"

LEVELS = (
    ("errors", "types", "_kernel", "__init__"),
    ("io", "parts", "relaxation"),
    ("options", "trees"),
    ("scoring",),
    ("automata",),
    ("dual",),
    ("model", "evaluation"),
    ("pipeline",),
    ("workers", "programs"),
    ("learning",),
    ("estimator", "warmup"),
    ("cli",),
    ("__main__",),
)
"""Packages and top-level modules from the bottom up: each may import those of lower levels, and none of its own."""


LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    """Return the room that a file is in: a module or a package directly under the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Return the rooms that a file imports anywhere in it, relative or not."""
    rooms = set()
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "nonproj" and len(name) > 1:
                known = (PACKAGE / name[1]).is_dir() or (PACKAGE / f"{name[1]}.py").is_file()
                rooms.add(name[1] if known else "__init__")
            elif name[0] == "nonproj":
                rooms.add("__init__")
    return rooms


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    here = room(path)
    assert here in LEVEL, f"{here} has no place in LEVELS"
    for other in imported(path) - {here}:
        assert LEVEL[other] < LEVEL[here], f"{here} imports {other}"


def test_the_import_finder_sees_all_forms():
    trainer, cli = imported(PACKAGE / "learning" / "trainer.py"), imported(PACKAGE / "cli" / "main.py")
    assert {"options", "model", "pipeline", "scoring", "__init__"} <= trainer
    assert {"errors", "cli", "__init__"} <= cli


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_print_and_one_njit(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert "print" not in names
    if path.name != "_kernel.py":
        assert not {"njit", "jit", "jitclass", "vectorize"} & (names | attributes), "kernels are made by @kernel"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short_and_mathematics_is_exact(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    switched_on = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.keyword) and node.arg == "fastmath" and getattr(node.value, "value", True) is not False
    ]
    assert not switched_on, "recurrences start at minus infinity, which fast mathematics does not know"


def kernels(path: Path) -> list[ast.FunctionDef]:
    """Return the functions with the decorator ``kernel``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id == "kernel" for d in node.decorator_list)
    ]


def test_there_are_kernels():
    assert sum(len(kernels(path)) for path in FILES) > 10


@pytest.mark.parametrize("path", [path for path in FILES if kernels(path)], ids=lambda path: path.stem)
def test_kernels_are_documented_private_and_without_defaults(path):
    for node in kernels(path):
        assert ast.get_docstring(node), f"{node.name} has no docstring"
        assert node.name.startswith("_"), f"{node.name} is public"
        arguments = node.args
        assert not (arguments.defaults or arguments.kwonlyargs or arguments.vararg or arguments.kwarg), node.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_things_are_documented(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if tree.body:
        assert ast.get_docstring(tree), "the module has no docstring"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name} has no docstring"


def test_public_names_exist():
    import nonproj

    for name in nonproj.__all__:
        assert getattr(nonproj, name) is not None
    assert set(nonproj.__all__) <= set(dir(nonproj))
    with pytest.raises(AttributeError, match="module 'nonproj' has no attribute 'pasre'"):
        nonproj.pasre  # noqa: B018


def test_importing_the_package_imports_nothing_else():
    code = "import sys, nonproj; sys.exit(bool({'numpy', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_every_package_is_installed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent.relative_to(ROOT) for path in PACKAGE.rglob("__init__.py")}
    assert {".".join(folder.parts) for folder in folders} | {"nonproj.features"} == set(settings["packages"])


def test_what_is_installed_holds_the_templates(tmp_path):
    """Built from a copy, without the network, where setuptools is at hand; used from where it was built."""
    pytest.importorskip("setuptools", minversion="61")
    source, built = tmp_path / "source", tmp_path / "built"
    for name in ("nonproj", "features"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    code = f"import setuptools; setuptools.setup(script_args=['build', '--build-lib', {str(built)!r}])"
    run = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    code = f"import sys; sys.path.insert(0, {str(built)!r}); from nonproj.scoring import templates"
    code += "; print(len(templates.load_templates()), templates.__file__)"
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["5", str(built / "nonproj" / "scoring" / "templates.py")], run.stderr
