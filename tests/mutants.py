"""Mutants: the parser with one small fault each, which a test is to find.

``python tests/mutants.py SEED`` draws a list, tests/mutants.txt.  Each line has, between tabs, what became of a mutant
(killed, survived, equivalent, or new: not tried yet), its place, the line before and after, and the file of tests that
killed it, or why none can.  Without a seed, each is applied to a copy of the tree, where the tests that use the module
run, and those of the core of its package; a list of the same form is written to build/mutants.txt.  It continues one
that was interrupted, and ends with 1 if a mutant survives that was killed before.  Code outside functions is left out,
and so are compiled functions, except those of ``nonproj.trees``, which run uncompiled here; other functions use what
has been compiled without their mutants.
"""

import ast
import contextlib
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nonproj.kernels.folders import own_folder, source_digest

ROOT = Path(__file__).resolve().parents[1]
LIST, RESULTS = ROOT / "tests/mutants.txt", ROOT / "build/mutants.txt"
TREEBANKS = ROOT.parent / "shared" / "treebanks"
EACH = 50
GROUPS = {"decoder": ("dual", "trees"), "reader": ("io",), "trainer": ("components", "learning"), "server": ("server",)}
UNCOMPILED = "nonproj/trees/"
FOLDERS = {"components": ("components", "learning"), "learning": ("learning", "components")}
FOLDERS |= {"io": ("io", "workers", "model", "cli"), "trees": ("trees", "dual")}
CORE = {"dual": ("branch_and_bound", "k_best", "crossing_costs"), "trees": ("arborescence", "marginals", "arrays")}
CORE |= {"components": ("components", "learning"), "learning": ("learning",), "server": ("server",)}
CORE |= {"io": ("conll", "conll_errors", "on_error", "resume")}
SLOW = "integer_program or processor or several_processes or encoders or second_parser"
PROCESSOR_SECONDS, SECONDS = 120, 1800  # longer runs are endless, and count as killed

SWAPS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}
SWAPS |= {"is": ["is not"], "is not": ["is"], "in": ["not in"], "not in": ["in"], "and": ["or"], "or": ["and"]}
SWAPS |= {"+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "//": ["*"], "%": ["+"], "&": ["|"], "|": ["&"]}
UNCHECKED = ast.JoinedStr | ast.arguments | ast.Assert  # text, annotations, and what only holds for type checkers


class Mutant(NamedTuple):
    """A line of the list."""

    status: str
    place: str
    before: str
    after: str
    test: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """File and change, by which a mutant is recognised when its line has moved."""
        return self.place.partition(":")[0], self.before, self.after


class Module:
    """A module, and in ``found`` for each line the lines that could be in its place."""

    def __init__(self, path: str):
        self.path, self.lines = path, (ROOT / path).read_text(encoding="utf-8").splitlines()
        self.found: dict[int, list[str]] = {}
        self.visit(ast.parse("\n".join(self.lines)), inside=False)

    def visit(self, node: ast.AST, inside: bool) -> None:
        """Add the mutations below a node, ``inside`` a function or not."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            compiled = any(isinstance(each, ast.Name) and each.id == "kernel" for each in node.decorator_list)
            inside = not compiled or self.path.startswith(UNCOMPILED)
            node.decorator_list, node.returns = [], None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Load()
        if inside and isinstance(node, ast.expr | ast.stmt) and node.lineno == node.end_lineno:
            self.mutate(node, node.lineno, node.col_offset, node.end_col_offset or 0)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, UNCHECKED) and getattr(child, "arg", "") != "strict":
                self.visit(child, inside)

    def mutate(self, node: ast.AST, row: int, first: int, last: int) -> None:
        """Add the mutations of a node that has its place on one line."""
        text = self.lines[row - 1][first:last]
        match node:
            case (
                ast.Compare(left=left, comparators=[right])
                | ast.BinOp(left=left, right=right)
                | ast.BoolOp(values=[left, right, *_])
            ):
                operator = self.lines[row - 1][left.end_col_offset : right.col_offset]
                for new in SWAPS.get(old := operator.strip("( )"), []):
                    self.add(row, left.end_col_offset or 0, right.col_offset, operator.replace(old, new, 1))
            case ast.UnaryOp(op=ast.Not()):
                self.add(row, first, last, text.removeprefix("not "))
            case ast.Constant(value=bool(value)):
                self.add(row, first, last, str(not value))
            case ast.Constant(value=int(value)):
                self.add(row, first, last, str(value + 1))
                self.add(row, first, last, str(value - 1))
            case ast.IfExp(body=body, orelse=other):
                self.add(row, body.end_col_offset or 0, other.col_offset, " if False else ")
                self.add(row, body.end_col_offset or 0, other.col_offset, " if True else ")
            case ast.Return(value=ast.expr() as value):
                self.add(row, value.col_offset, last, "None")
            case ast.Call(args=[], keywords=[word]) | ast.Call(keywords=[*_, _, word]) | ast.Call(keywords=[word]):
                comma = self.lines[row - 1].rfind(",", first, word.col_offset)
                self.add(row, comma if comma > first else word.col_offset, word.end_col_offset or 0, "")
            case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Break() | ast.Continue() | ast.AugAssign():
                self.add(row, first, last, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                self.add(row, first, last, "pass")

    def add(self, row: int, first: int, last: int, new: str) -> None:
        """Add the mutation that replaces a part of a line of ASCII, if it changes it into Python."""
        line = self.lines[row - 1]
        after = line[:first] + new + line[last:]
        with contextlib.suppress(SyntaxError):
            ast.parse("\n".join([*self.lines[: row - 1], after, *self.lines[row:]]))
            if after != line and line.isascii():
                self.found.setdefault(row, []).append(after)


def draw(seed: int) -> Iterator[Mutant]:
    """Yield as many mutants of each group, in different lines."""
    chance = random.Random(seed)
    for packages in GROUPS.values():
        files = [path for name in packages for path in sorted((ROOT / "nonproj" / name).glob("*.py"))]
        modules = [Module(path.relative_to(ROOT).as_posix()) for path in files]
        places = [(module, row) for module in modules for row in module.found]
        for module, row in sorted(chance.sample(places, EACH), key=lambda place: (place[0].path, place[1])):
            before, after = module.lines[row - 1], chance.choice(module.found[row])
            yield Mutant("new", f"{module.path}:{row}", before.strip(), after.strip())


class Copy:
    """A copy of the tree in a folder, with what has been compiled for the original."""

    def __init__(self, folder: Path):
        self.tree, self.cache, self.clock = folder / "tree", folder / "cache", 0
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "models", "data"))
        self.compiled = shutil.copytree(own_folder() / source_digest(), self.cache / "0")

    def judge(self, mutant: Mutant) -> Mutant:
        """Run the tests of a mutant; return it with what became of it."""
        name, _, number = mutant.place.partition(":")
        path = self.tree / name
        original = path.read_text(encoding="utf-8")
        lines = original.split("\n")
        rows = [row for row, line in enumerate(lines) if line.strip() == mutant.before]
        if not rows:
            return mutant._replace(status="gone")
        row = min(rows, key=lambda row: abs(row + 1 - int(number)))
        lines[row] = lines[row].replace(mutant.before, mutant.after)
        self.write(path, "\n".join(lines))
        test = self.run(self.tests(mutant), name.startswith(UNCOMPILED) and "@kernel" in original)
        self.write(path, original)
        return mutant._replace(status="killed" if test else "survived", place=f"{name}:{row + 1}", test=test)

    def write(self, path: Path, text: str) -> None:
        """Change a file, at a time of its own, by which Python recognises it, and keep what has been compiled."""
        path.write_text(text, encoding="utf-8")
        self.clock += 1
        os.utime(path, (self.clock, self.clock))
        self.compiled = self.compiled.rename(self.cache / source_digest(self.tree / "nonproj"))

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the file that killed the mutant, the module, for its doctests, the tests that use it, and its core."""
        module = Path(mutant.place.partition(":")[0])
        package, name = module.parent.name, module.stem
        folders = [self.tree / "tests" / each for each in FOLDERS.get(package, (package,))]
        files = [file for folder in folders for file in sorted(folder.glob("test_*.py"))]
        uses = re.compile(rf"nonproj\.{package}(\.| import .*\b){name}\b")
        using = [file for file in files if uses.search(file.read_text(encoding="utf-8"))]
        core = [file for file in files if file.stem.removeprefix("test_") in CORE[package] and file not in using]
        found = [str(module), *(str(file.relative_to(self.tree)) for file in using + core)]
        first = [mutant.test] if (self.tree / mutant.test).is_file() else []
        return first + [file for file in found if file != mutant.test]

    def run(self, tests: list[str], uncompiled: bool) -> str:
        """Run tests until one fails; return the file of that test, or "" if none does."""
        environment = {"NONPROJ_CACHE": str(self.cache), "PYTHONPATH": str(self.tree)}
        environment |= {"NONPROJ_TREEBANKS": str(TREEBANKS), "NUMBA_DISABLE_JIT": str(int(uncompiled))} | os.environ
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
        command += ["-m", "not thorough", "-k", f"not ({SLOW})", "-W", "ignore", *tests]
        with open(self.cache / "output", "w+", encoding="utf-8") as output:
            try:
                code = subprocess.run(
                    command, cwd=self.tree, env=environment, stdout=output, timeout=SECONDS
                ).returncode
            except subprocess.TimeoutExpired:
                return "endless"
            output.seek(0)
            failed = re.search(r"^(?:FAILED|ERROR) ([\w/]+\.py)", output.read(), re.MULTILINE)
        return failed[1] if failed else "endless" * (code != 0)


def read(path: Path) -> list[Mutant]:
    """Return the mutants of a list."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Mutant(*line.split("\t")) for line in lines if not line.startswith("#")]


def compare(mutants: list[Mutant], chosen: str) -> int:
    """Judge the mutants of a list whose places contain a word; return 1 if one survives that was killed before."""
    done = {mutant.key for mutant in read(RESULTS)}
    RESULTS.parent.mkdir(exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, resource.RLIM_INFINITY))  # also of what it starts
    with tempfile.TemporaryDirectory() as folder, open(RESULTS, "a", encoding="utf-8") as results:
        copy = Copy(Path(folder))
        for mutant in mutants:
            if chosen in mutant.place and mutant.key not in done:
                judged = mutant if mutant.status == "equivalent" else copy.judge(mutant)
                results.write("\t".join(judged) + "\n")
                results.flush()
    found, killed = read(RESULTS), {mutant.key for mutant in mutants if mutant.status == "killed"}
    worse = [mutant for mutant in found if mutant.status == "survived" and mutant.key in killed]
    counts = Counter(mutant.status for mutant in found)
    sys.stdout.write(", ".join(f"{count} {status}" for status, count in counts.items()) + "\n")
    sys.stdout.writelines(f"survives: {mutant.place} {mutant.before} => {mutant.after}\n" for mutant in worse)
    return int(bool(worse))


if __name__ == "__main__":
    argument = "".join(sys.argv[1:])
    if argument.isdecimal():
        drawn = [
            f"# Mutants drawn with seed {argument} by tests/mutants.py, which says more.",
            *map("\t".join, draw(int(argument))),
        ]
        LIST.write_text("\n".join(drawn) + "\n", encoding="utf-8")
    else:
        sys.exit(compare(read(LIST), argument))
