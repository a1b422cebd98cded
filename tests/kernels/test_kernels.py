"""The cache of compiled code: what it shares, and what makes it compile again."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numba
import pytest

import nonproj
from nonproj.kernels.folders import source_digest


def copy_package(folder):
    """A copy of the package's sources, free to be edited."""
    package = folder / "copy" / "nonproj"
    shutil.copytree(Path(nonproj.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


@pytest.mark.parametrize(
    ("setting", "value", "changes"),
    [("LOOP_VECTORIZE", 0, True), ("DEBUGINFO_DEFAULT", 1, True), ("CACHE_DIR", "x", False)],
)
def test_the_digest_covers_the_settings_of_numba_that_change_code(setting, value, changes, monkeypatch):
    before = source_digest()
    monkeypatch.setattr(numba.config, setting, value)
    assert (source_digest() != before) == changes


_SETTINGS = """
from pathlib import Path
from nonproj.kernels.folders import kept_in
from nonproj.parts.arcs import full_arc_space

before = kept_in()
Path(".numba_config.yaml").write_text("opt: '0'")
full_arc_space(3)
print([any(folder.rglob("arcs.*.nbc")) for folder in (before, kept_in())], before != kept_in())
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_the_folder_is_that_of_the_settings_with_which_numba_has_compiled(tmp_path):
    """In somebody's own Python, numba reads its file again at each compilation."""
    variables = {"NONPROJ_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(Path(nonproj.__file__).parents[1])}
    command = [sys.executable, "-P", "-c", _SETTINGS]
    run = partial(subprocess.run, capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ | variables)
    assert run(command).stdout == "[False, True] True\n"


OTHER = {
    "__init__.py": "",
    "sizes.py": "LIMIT = 4",
    "command.py": "LIMIT = 4",
    "deep/__init__.py": "",
    "deep/near.py": "LIMIT = 4",
    "deep/kernels.py": """
from nonproj.kernels.kernel import kernel
import nonproj.evaluation.report

from . import near
from ..sizes import LIMIT


@kernel
def limit(x):
    return x + LIMIT + near.LIMIT
""",
}
"""A package with a kernel, with its own constants, which reads a module that no kernel of nonproj does."""


def other_package(folder):
    """The package in a folder."""
    for name, text in OTHER.items():
        path = folder / "other" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "other"


@pytest.mark.parametrize(
    ("name", "parser", "others"),
    [
        ("other/sizes.py", 0, 1),
        ("other/deep/near.py", 0, 1),
        ("other/deep/kernels.py", 0, 1),
        ("other/command.py", 0, 0),
        ("nonproj/trees/marginals.py", 1, 1),
        ("nonproj/scoring/templates.py", 1, 1),  # whose constants are compiled into kernels of other files
        ("nonproj/scoring/vocabulary.py", 1, 1),
        ("nonproj/options/schema.py", 1, 1),  # which such a file imports
        ("nonproj/evaluation/report.py", 0, 1),
        ("nonproj/cli/main.py", 0, 0),
    ],
)
def test_kernels_of_another_package_depend_on_nonproj_and_not_the_reverse(name, parser, others, tmp_path):
    package = copy_package(tmp_path)
    other = other_package(package.parent)
    before = source_digest(package), source_digest(package, ("other", other))
    assert before[0] != before[1]
    with open(package.parent / name, "a", encoding="utf-8") as source:
        source.write("\n\nLIMIT = 1\n")
    after = source_digest(package), source_digest(package, ("other", other))
    assert (after[0] != before[0], after[1] != before[1]) == (parser, others)


_OTHER = """
import json, sys
import nonproj.kernels.folders as kernels
from other.deep.kernels import limit

folder = kernels.cache_folder(("other", __import__("pathlib").Path(sys.argv[1])))
json.dump([limit(1), [path.parent.name for path in folder.rglob("*.nbc")],
           any(kernels.cache_folder().rglob("kernels.limit*")),
           sum(limit.stats.cache_misses.values()), folder.name != kernels.cache_folder().name], sys.stdout)
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_kernels_of_another_package_are_cached_in_its_folder_and_compiled_again_when_it_changes(tmp_path):
    other, root = other_package(tmp_path), Path(nonproj.__file__).parents[1]
    environment = os.environ | {"NONPROJ_CACHE": str(tmp_path / "cache"), "NONPROJ_SILENT": "1"}
    environment["PYTHONPATH"] = os.pathsep.join((str(tmp_path), str(root)))

    def run():
        command = [sys.executable, "-B", "-c", _OTHER, str(other)]
        return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert run() == [9, ["other.deep"], False, 1, True]
    assert run() == [9, ["other.deep"], False, 0, True]
    (other / "sizes.py").write_text("LIMIT = 5")
    assert run() == [10, ["other.deep"], False, 1, True]


def test_imports_of_all_forms_are_followed(tmp_path):
    package = tmp_path / "nonproj"
    sources = {
        "kernels/kernel.py": "",
        "low.py": "LIMIT = 1",
        "inner/__init__.py": "",
        "inner/plain.py": "import nonproj.low as low",
        "inner/listed.py": "from nonproj import inner, low",
        "inner/broken.py": "from nonproj.inner import (\n    listed,\n    plain,\n)",
        "late.py": "def run():\n    from nonproj import other",
        "other.py": "",
    }
    for module in ("nonproj.inner.plain", "nonproj.inner.listed", "nonproj.inner.broken", "nonproj.late"):
        for name, text in sources.items():
            path = package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (package / "high.py").write_text(f"import math\nfrom nonproj.kernels.kernel import kernel\nimport {module}\n")
        before = source_digest(package)
        (package / "other.py").write_text("LIMIT = 2")
        assert source_digest(package) == before, "imported by a function that is called later, if at all"
        (package / "low.py").write_text("LIMIT = 2")
        assert (source_digest(package) != before) == (module != "nonproj.late"), module
