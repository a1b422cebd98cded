"""Rules of the code base that no linter has: directions of imports, borrowed names, complexity, kernels."""

import ast
import gc
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from signatures import is_kernel

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "nonproj"

LEVELS = (
    "__init__ errors kernels types",
    "io parts",
    "options pictures trees",
    "linear",
    "networks",
    "scoring",
    "automata text tagging",
    "dual model",
    "confidence",
    "pipeline",
    "evaluation",
    "workers",
    "learning nlp",
    "components",
    "integrations server",
    "cli",
    "__main__",
)
"""Packages and top-level modules from the bottom up: each may import only from lower levels."""

MOST_NAMES, MOST_MODULES = 26, 6
"""Maximum number of packages and modules directly under nonproj, and of modules without underscore among them."""

LEVEL = {component: level for level, components in enumerate(LEVELS) for component in components.split()}

BESIDE = [ROOT / "systems" / "nonproj_systems", ROOT / "workbench" / "nonproj_workbench"]
"""The packages of the other distributions, which use this one."""

FILES = sorted(PACKAGE.rglob("*.py"))
FILES_BESIDE = [path for package in BESIDE for path in sorted(package.rglob("*.py"))]
BOTH = FILES + FILES_BESIDE
"""The files of all packages: rules of style and documentation are the same."""

FOLDERS = ("data_scripts", "examples", "packaging", "research", "systems", "tests", "workbench")
OTHERS = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if path not in BOTH]


@pytest.fixture(autouse=True, scope="module")
def _without_garbage_collection():
    """Keep the syntax trees of all files until the last test here; to look for garbage among them takes long."""
    gc.disable()
    yield
    for function in (parse, walk, classes):
        function.cache_clear()
    gc.enable()


@cache
def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def walk(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree."""
    return tuple(ast.walk(tree))


def relative(path: Path) -> str:
    """Return a path from the root of the project."""
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> tuple[str, ...]:
    """Return the name of a file's module, split at its dots."""
    root = next((package.parent for package in BESIDE if path.is_relative_to(package)), ROOT)
    return path.relative_to(root).with_suffix("").parts


def component(path: Path) -> str:
    """Return the package or module, directly under nonproj or another package like it, that a file belongs to."""
    return module_of(path)[1]


def imports(tree: ast.Module, package: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return all dotted names, split at their dots, that a file in a package imports anywhere."""
    found = []
    for node in walk(tree):
        if isinstance(node, ast.Import):
            found += [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            found += [(*base, alias.name) for alias in node.names]
    return found


def imported(path: Path) -> set[str]:
    """Return the components of nonproj that a file imports, relative imports included."""
    found = set()
    for name in imports(parse(path), path.relative_to(ROOT).parent.parts):
        if name[0] == "nonproj":
            known = len(name) > 1 and ((PACKAGE / name[1]).is_dir() or (PACKAGE / f"{name[1]}.py").is_file())
            found.add(name[1] if known else "__init__")
    return found


# -- imports -----------------------------------------------------------------------------------------------------------


def test_imports_point_downwards():
    assert set(LEVEL) == {component(path) for path in FILES}, "LEVELS lists every component, and no other"
    for path in FILES:
        upwards = [other for other in imported(path) - {component(path)} if LEVEL[other] >= LEVEL[component(path)]]
        assert not upwards, relative(path)


def test_the_parser_knows_nothing_of_the_packages_beside_it():
    """One file says what is in the workbench, and a page which command searches; pages and scripts count, too."""
    pattern = re.compile(r"nonproj[-_.](systems|workbench)|\bworkbench\b")
    paths = [path for path in PACKAGE.rglob("*.*") if path.suffix in (".py", ".pyi", ".js", ".html", ".css")]
    named = {relative(path) for path in paths if pattern.search(path.read_text(encoding="utf-8"))}
    assert named == {"nonproj/cli/plugins.py", "nonproj/evaluation/html/report.html"}
    beside = {name for package in BESIDE for name in (package.name, package.parent.name)}
    assert not [path for path in FILES for name in imports(parse(path)) if name[0] in beside]


LIBRARIES = {"relaxation", "programs", "parsing"}
"""Packages of ``nonproj_systems`` that its systems are built on."""


def test_packages_within_the_packages_beside_do_not_import_each_other():
    """They share the modules of their package, and its libraries; only the command line names all."""
    for path in FILES_BESIDE:
        package, here, *inner = module_of(path)
        for name in imports(parse(path)):
            if name[0] == package and inner and len(name) > 1:
                module = ROOT / package.removeprefix("nonproj_") / package / f"{name[1]}.py"
                assert name[1] in {here, *LIBRARIES} or module.is_file(), f"{relative(path)} imports {name[1]}"


ROOTS = {"nonproj", *(package.name for package in BESIDE)}
NOT_PRIVATE = {"_kernel", "_asdict", "_fields", "_make", "_replace"}
"""The package's own decorator, and the public interface of named tuples."""


def dotted(node: ast.expr) -> str:
    """Return a name with dots as it is written, or nothing for any other expression."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return owner and f"{owner}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def private_names(path: Path) -> set[str]:
    """Return the private names of other modules of nonproj that a file uses, as ``parts.space._index_arcs``."""
    nodes, modules = walk(parse(path)), {}
    for node in (each for each in nodes if isinstance(each, ast.Import | ast.ImportFrom)):
        base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        modules |= {alias.asname or alias.name: base + alias.name for alias in node.names}
    attributes = [(dotted(node.value), node.attr) for node in nodes if isinstance(node, ast.Attribute)]
    names = {*modules.values(), *(f"{modules[owner]}.{name}" for owner, name in attributes if owner in modules)}
    return {
        ".".join(inner)
        for first, *inner in (name.split(".") for name in names)
        if first in ROOTS and {word for word in inner if is_private(word)} - NOT_PRIVATE
        if (first, *inner[:-1]) != module_of(path)
    }


def test_private_names_stay_inside_their_module():
    """Whether they are imported, or attributes of objects whose class another module has."""
    found = {
        f"{relative(path)}: {name}"
        for path in BOTH
        for name in private_names(path) | (reached_names(parse(path)) - PUBLIC)
    }
    assert found <= OF_LIBRARIES


def origins(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the names that a file imports from modules, or defines as classes, with their modules."""
    defined = {node.name: (*module_of(path), node.name) for node in parse(path).body if isinstance(node, ast.ClassDef)}
    return {name[-1]: name for name in imports(parse(path))} | defined


def private_members(node: ast.ClassDef) -> set[str]:
    """Return the private methods and attributes that a class defines."""
    return {name for name in defined_names(ast.Module([node], [])) if is_private(name)} - PUBLIC


def inherited(path: Path, node: ast.ClassDef) -> set[str]:
    """Return the private names of a class's bases in other modules."""
    found = set()
    for base in node.bases:
        name = origins(path).get(dotted(base), ())
        if name in classes():
            other, parent = classes()[name]
            found |= inherited(other, parent) | (private_members(parent) if other != path else set())
    return found


@cache
def classes() -> dict[tuple[str, ...], tuple[Path, ast.ClassDef]]:
    """Return the classes of all packages, with their files, by module and name."""
    found = ((path, node) for path in BOTH for node in parse(path).body if isinstance(node, ast.ClassDef))
    return {(*module_of(path), node.name): (path, node) for path, node in found}


def test_private_names_are_not_inherited_from_other_modules():
    """A class neither calls nor replaces what a base in another module keeps for itself."""
    found = {
        f"{relative(path)}: {node.name}.{name}"
        for path, node in classes().values()
        for name in inherited(path, node) & (private_members(node) | used_names(ast.Module([node], [])))
    }
    assert not found


def test_a_class_name_stands_for_one_thing():
    """Except in the checker of proofs, which shares nothing with the rest, names included."""
    paths = [path for path in FILES if relative(path) != "nonproj/dual/check_proofs.py"]
    names = Counter(node.name for path in paths for node in walk(parse(path)) if isinstance(node, ast.ClassDef))
    assert not [name for name, count in names.items() if count > 1]


def test_modules_do_not_import_each_other_in_a_circle():
    """Not inside functions either, nor for types alone."""
    modules = {module_of(path): path for path in FILES}
    needs = {
        module: {name for full in imports(parse(path)) for name in (full, full[:-1])} & modules.keys() - {module}
        for module, path in modules.items()
    }
    TopologicalSorter(needs).prepare()  # CycleError names the modules


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

OF_LIBRARIES = {
    "nonproj/kernels/cache.py: _reduce",  # numba's compiled code as data; a self-test finds whether it is that
    "nonproj/kernels/linking.py: _numba_unpickle",
}

PUBLIC = NOT_PRIVATE | {"_", "_exit"}
"""Extension attributes of spaCy, and `os._exit`, are public too."""


def is_private(name: str) -> bool:
    """Return whether a name starts with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def defined_names(tree: ast.Module) -> set[str]:
    """Return the names that a file defines or assigns: names, attributes, functions and classes."""
    found = {node.name for node in walk(tree) if isinstance(node, DEFINITIONS)}
    stored = [node for node in walk(tree) if isinstance(getattr(node, "ctx", None), ast.Store)]
    found |= {node.id for node in stored if isinstance(node, ast.Name)}
    return found | {node.attr for node in stored if isinstance(node, ast.Attribute) and dotted(node.value) == "self"}


def used_names(tree: ast.Module) -> set[str]:
    """Return the private attributes and imported names that a file uses."""
    attributes = {node.attr for node in walk(tree) if isinstance(node, ast.Attribute)}
    return {name for name in attributes | {name[-1] for name in imports(tree, ())} if is_private(name)}


def reached_names(tree: ast.Module) -> set[str]:
    """Return the private attributes of other objects than ``self`` that no class of the file defines."""
    attributes = [node for node in walk(tree) if isinstance(node, ast.Attribute) and is_private(node.attr)]
    return {node.attr for node in attributes if dotted(node.value) not in ("self", "cls")} - defined_names(tree)


def test_private_names_of_libraries_are_not_used():
    """A private name that is used and nowhere defined here belongs to a library."""
    paths = BOTH + OTHERS + [ROOT / "docs" / "reference.py"]
    defined = PUBLIC.union(*(defined_names(parse(path)) for path in paths))
    found = {f"{relative(path)}: {name}" for path in paths for name in used_names(parse(path)) - defined}
    assert found == OF_LIBRARIES


TESTS = [ROOT / "tests", *(package.parent / "tests" for package in BESIDE)]
TWINS = sorted(path for folder in TESTS for path in folder.glob("naive_*.py"))


def test_twins_borrow_nothing_from_the_package_but_types():
    """A twin follows the definition, so that it cannot share an error with the code under test."""
    assert len(TWINS) >= 6
    for path in TWINS:
        borrowed = {name[:2] for name in imports(parse(path)) if name[0] in ROOTS}
        assert borrowed <= {("nonproj", "types")}, f"{path.name} imports {borrowed}"


def test_test_files_import_helpers_only():
    """Code for several test files is in `problems`, `toy` or a twin."""
    paths = sorted(path for folder in TESTS for path in folder.rglob("*.py"))
    assert not [path for path in paths if any(name[0].startswith("test_") for name in imports(parse(path)))]


# -- names -------------------------------------------------------------------------------------------------------------


def test_the_table_of_packages_is_short():
    names = LEVEL.keys() - {"__init__", "__main__"}
    assert len(names) <= MOST_NAMES, sorted(names)
    assert len([name for name in names if (PACKAGE / f"{name}.py").is_file()]) <= MOST_MODULES


# -- complexity --------------------------------------------------------------------------------------------------------


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Return all functions and methods of a file, inner ones included."""
    return [node for node in walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_only_kernels_exceed_the_limits_of_complexity():
    """Ruff's limits, which files with large kernels are exempt from; an exemption that is not needed goes."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    ignored = [(path, rule) for path, rules in settings["per-file-ignores"].items() for rule in rules]
    exempt = {(path, rule) for path, rule in ignored if rule.startswith(("C901", "PLR"))}
    command = [sys.executable, "-m", "ruff", "check", "--select", ",".join({rule for _, rule in exempt})]
    command += ["--config", "lint.per-file-ignores={}", "--output-format", "json", "--exit-zero", "."]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = set()
    for each in json.loads(run.stdout):
        path, line = Path(each["filename"]), each["location"]["row"]
        (function,) = [node for node in functions(parse(path)) if node.lineno == line]
        found.add((relative(path), each["code"]))
        assert is_kernel(function), f"{relative(path)}: {function.name}"
    assert found == exempt


def count_parameters(function: ast.FunctionDef) -> int:
    """Count a function's parameters, but for the object whose method it is."""
    listed = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return sum(parameter.arg not in ("self", "cls") for parameter in listed)


def test_functions_have_at_most_eight_parameters():
    """But for a public one, whose options have names; the linter cannot say which may be exempt."""
    found = ((relative(path), each) for path in BOTH for each in functions(parse(path)))
    many = {(path, each.name) for path, each in found if count_parameters(each) > 8}
    assert many == {("nonproj/dual/arrays.py", "decode_scores")}


# -- kernels and documentation -----------------------------------------------------------------------------------------


def test_mathematics_is_exact():
    """Recurrences start at minus infinity, which fast mathematics does not know."""
    for path in BOTH:
        named = [node for node in walk(parse(path)) if isinstance(node, ast.keyword) and node.arg == "fastmath"]
        on = [node.value.lineno for node in named if getattr(node.value, "value", True) is not False]
        assert not on, relative(path)


def kernels() -> list[tuple[Path, ast.FunctionDef]]:
    """Return the kernels of all packages, with their files."""
    return [(path, node) for path in BOTH for node in functions(parse(path)) if is_kernel(node)]


def test_kernels_are_private_unless_another_module_calls_them():
    public = {(*module_of(path), node.name) for path, node in kernels() if not is_private(node.name)}
    assert public <= {name for path in BOTH for name in imports(parse(path))}


def test_kernels_are_documented_and_without_defaults():
    """Docstrings also of names that the linter takes for private."""
    assert len(kernels()) > 50
    for path, node in kernels():
        assert ast.get_docstring(node), f"{path}: {node.name}"
        options = node.args.defaults or node.args.kwonlyargs or node.args.vararg or node.args.kwarg
        assert not options, f"{path}: {node.name}: a call may leave out or name arguments"


def test_packages_read_like_a_table_of_contents():
    """An ``__init__.py`` holds only a docstring, which lists the modules, each in single backticks."""
    for path in [path for package in (PACKAGE, *BESIDE) for path in package.glob("*/__init__.py")]:
        body = parse(path).body
        assert len(body) == 1, relative(path)
        listed = set(re.findall(r"`(\w+)`", ast.get_docstring(parse(path)) or ""))
        modules = {file.stem for file in path.parent.glob("*.py")} - {"__init__"}
        assert modules <= listed, f"{relative(path)} does not list {modules - listed}"


def test_there_is_one_subgradient_loop_and_one_search():
    """One kernel steps multipliers, one class holds open nodes, and problems of all kinds are given to them."""
    parser = [path for path in FILES if component(path) in ("automata", "dual", "pipeline")]
    texts = {relative(path): path.read_text(encoding="utf-8") for path in parser}
    assert [name for name, text in texts.items() if "_next_step(" in text] == ["nonproj/dual/subgradient.py"]
    assert [name for name, text in texts.items() if "heapq.heappush" in text] == ["nonproj/dual/nodes.py"]
    assert [name for name, text in texts.items() if "1.0 - beta" in text] == ["nonproj/automata/workspace.py"]
