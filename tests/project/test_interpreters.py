"""No Python that we start imports from the current folder, which may be that of a stranger's data."""

import ast
import re
import sys
from pathlib import Path

import pytest

from nonproj.kernels import interpreters
from research.attack import planted

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("nonproj", "systems", "workbench", "research", "packaging", "data_scripts", "docs", "examples")
PATHS = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
FILES = {path: path.read_text(encoding="utf-8") for path in PATHS if "tests" not in path.relative_to(ROOT).parts}
OURS = {path: text for path, text in FILES.items() if path.is_relative_to(ROOT / "nonproj")}


def starts(tree: ast.AST) -> list[tuple[int, ast.expr | None]]:
    """Return where a list of words has an interpreter: the line, and the word behind it, if any."""
    found = []
    for node in (each for each in ast.walk(tree) if isinstance(each, (ast.List, ast.Tuple, ast.Call))):
        listed = not isinstance(node, ast.Call)
        words = node.elts if listed else node.args
        for word, behind in zip(words, [*words, None][1:], strict=True):
            name = ast.unparse(word) if isinstance(word, (ast.Name, ast.Attribute, ast.BinOp)) else ""
            named = name == "sys.executable" or name.rpartition(".")[2] in ("python", "interpreter")
            if named and (listed or isinstance(behind, ast.Constant)):
                found.append((word.lineno, behind))
    return found


def is_safe(behind: ast.expr | None) -> bool:
    """Return whether Python imports nothing from the current folder: by ``-P``, or because a program is named."""
    if isinstance(behind, ast.Constant):
        return behind.value not in ("-m", "-c")
    return isinstance(behind, (ast.Call, ast.Name))  # a path


def programs_in(tree: ast.AST) -> list[ast.AST]:
    """Return the syntax trees of programs that are written as strings and start others."""
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [ast.parse(text) for text in texts if "sys.executable" in text and "import" in text]


def test_every_python_is_started_without_the_current_folder():
    found = {}
    for path, text in FILES.items():
        if re.search(r"sys\.executable|python\b|interpreter\b", text):
            for part in (tree := ast.parse(text), *programs_in(tree)):
                found |= {f"{path.relative_to(ROOT)}:{line}": is_safe(behind) for line, behind in starts(part)}
    assert len(found) > 10
    assert not [place for place, safe in found.items() if not safe], "write -P behind the interpreter"


def test_nothing_starts_processes_in_another_way():
    """The package names the interpreter in one place, and uses neither shells nor the start methods of the library."""
    assert [path.name for path, text in OURS.items() if "sys.executable" in text] == ["interpreters.py"]
    others = ["get_context(", "set_start_method", "forkserver", "ProcessPoolExecutor", "shell=True", "os.system("]
    for path, text in FILES.items():
        assert not [other for other in others if other in text], path


@pytest.mark.parametrize("inside", ["", pytest.param(".", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", planted.STARTS)
def test_files_beside_the_data_are_not_imported(name, inside, tmp_path, monkeypatch):
    """There is one for every module; even if this process would import them, as in an interactive session."""
    mark = planted.plant(tmp_path, planted.modules())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [inside, *sys.path])
    planted.STARTS[name](tmp_path)
    assert not mark.exists()


def test_every_helper_is_tried():
    users = {path.stem for path, text in OURS.items() if ", environment, python" in text}
    assert users == set(planted.STARTS)


def test_other_interpreters_find_the_modules_of_this_one(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "one"), str(tmp_path), str(ROOT)])
    monkeypatch.chdir(tmp_path)
    assert interpreters.environment()["PYTHONPATH"] == f"{tmp_path / 'one'}:{ROOT}"
    monkeypatch.chdir(ROOT)  # a checkout that is not installed
    assert interpreters.environment()["PYTHONPATH"] == f"{tmp_path / 'one'}:{tmp_path}:{ROOT}"
    monkeypatch.setattr(sys, "path", ["", str(tmp_path)])
    assert interpreters.environment(A="b") | {"A": "b"} == interpreters.environment(A="b")
    assert interpreters.environment()["PYTHONPATH"] == f"{ROOT}:{tmp_path}"
