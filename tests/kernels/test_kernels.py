"""Compiled kernels on disk: shared by copies of the same source, compiled again when it changes, safe from others."""

import json
import os
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import pytest
from command import ROOT, call_kernel, changed, run_python

import nonproj
from nonproj.kernels.cache import ENDING, KernelFiles, uninterrupted
from nonproj.kernels.folders import source_digest

SETTINGS = [("LOOP_VECTORIZE", 0, True), ("DEBUGINFO_DEFAULT", 1, True), ("CACHE_DIR", "x", False)]


@pytest.mark.parametrize(("setting", "value", "changes"), SETTINGS)
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
    done = run_python(_SETTINGS, cwd=tmp_path, NONPROJ_CACHE=str(tmp_path / "cache"))
    assert done.stdout == "[False, True] True\n"


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


def write(folder, sources):
    """Write a package into a folder."""
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Path:
    """A folder with a copy of this package, as in another environment, and another package."""
    folder, ignore = tmp_path_factory.mktemp("packages"), shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(nonproj.__file__).parent, folder / "nonproj", ignore=ignore, copy_function=shutil.copyfile)
    write(folder / "other", OTHER)
    return folder


def with_limit(path: Path):
    """Change a module's constant until a context ends."""
    return changed(path, path.read_bytes() + b"\n\nLIMIT = 5\n")


CHANGED = {
    (0, 1): "other/sizes other/deep/near other/deep/kernels nonproj/evaluation/report",
    (0, 0): "other/command nonproj/cli/main",
    # Constants of templates and vocabulary are compiled into kernels of other files, and templates import the schema.
    (1, 1): "nonproj/trees/marginals nonproj/scoring/templates nonproj/scoring/vocabulary nonproj/options/schema",
}
"""By whether kernels of nonproj and those of another package depend on them: modules."""


@pytest.mark.parametrize(("parser", "others"), CHANGED)
def test_kernels_of_another_package_depend_on_nonproj_and_not_the_reverse(parser, others, packages):
    def digests():
        package = packages / "nonproj"
        return source_digest(package), source_digest(package, ("other", packages / "other"))

    before = digests()
    assert before[0] != before[1]
    for name in CHANGED[parser, others].split():
        with with_limit(packages / f"{name}.py"):
            after = digests()
        assert (after[0] != before[0], after[1] != before[1]) == (parser, others), name


_CALLS = """
import json, sys
from pathlib import Path
import numpy as np
from nonproj.kernels.folders import cache_folder
from nonproj.trees.projective import is_projective
from other.deep.kernels import limit

found = [limit(1), is_projective(np.array([-1, 0, 1], np.int32))]
where = [path.parent.name for path in cache_folder(("other", Path(sys.argv[1]))).rglob("*.nbc")]
json.dump([*found, where, *(sum(each.stats.cache_misses.values()) for each in (limit, is_projective))], sys.stdout)
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_environments_with_the_same_source_share_kernels_which_are_compiled_again_when_it_changes(packages, tmp_path):
    """Kernels of another package are in its own folder, and compiled again when either changes."""
    other, cache, one = packages / "other", str(tmp_path / "cache"), os.pathsep.join((str(ROOT), str(packages)))

    def call(path):
        return json.loads(run_python(_CALLS, str(other), NONPROJ_CACHE=cache, PYTHONPATH=path).stdout)

    assert call(one) == [9, True, ["other.deep"], 1, 1]
    before = files(tmp_path)
    assert call(str(packages)) == [9, True, ["other.deep"], 0, 0]
    assert files(tmp_path) == before
    with with_limit(packages / "nonproj" / "trees" / "checks.py"):
        assert call(str(packages)) == [9, True, ["other.deep"], 1, 1]
    with with_limit(other / "sizes.py"):
        assert call(one) == [10, True, ["other.deep"], 1, 0]


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
        high = f"import math\nfrom nonproj.kernels.kernel import kernel\nimport {module}\n"
        write(package, sources | {"high.py": high})
        before = source_digest(package)
        (package / "other.py").write_text("LIMIT = 2")
        assert source_digest(package) == before, "imported by a function that is called later, if at all"
        (package / "low.py").write_text("LIMIT = 2")
        assert (source_digest(package) != before) == (module != "nonproj.late"), module


# -- files -------------------------------------------------------------------------------------------------------------


def files(tmp_path: Path) -> dict[Path, int]:
    """The files of the cache and when they were written."""
    return {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*") if path.is_file()}


@pytest.mark.thorough
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_processes_that_compile_at_the_same_time_do_each_other_no_harm(packages, tmp_path):
    def call(folder: Path) -> tuple[str, str]:
        return call_kernel(NONPROJ_CACHE=str(tmp_path / "cache"), PYTHONPATH=str(folder))

    with ThreadPoolExecutor(2) as pool:
        outputs = set(pool.map(call, (ROOT, packages)))
    kept = files(tmp_path)
    assert ("False True True", "") in outputs
    assert {path.suffix for path in kept} == {ENDING}
    assert call(ROOT) == ("True True False", "")  # the slower one may have found what the other wrote
    assert files(tmp_path) == kept and all(found.endswith((" True True", " True False")) for found, _ in outputs)


@pytest.fixture
def kernel_files(tmp_path) -> KernelFiles:
    """The files of some function."""
    return KernelFiles(files, tmp_path)


def test_writers_at_the_same_time_lose_nothing(kernel_files):
    together = threading.Barrier(8)

    def write(first: int) -> None:
        together.wait()
        for number in range(first, 200, 8):
            kernel_files.save(("types", number), f"code {number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert [kernel_files.load(("types", number)) for number in range(200)] == [f"code {n}" for n in range(200)]


def test_a_damaged_file_is_written_again(kernel_files, tmp_path):
    kernel_files.save("key", "code")
    (path,) = tmp_path.rglob(f"*{ENDING}")
    whole = path.read_bytes()
    for content in (b"", whole[:-3], b"no pickle"):
        path.write_bytes(content)
        assert kernel_files.load("key") is None
    kernel_files.save("key", "code")
    assert kernel_files.load("key") == "code"


def test_without_space_nothing_is_kept_and_nothing_fails(tmp_path):
    (tmp_path / "file").touch()
    found = KernelFiles(files, tmp_path / "file")
    found.save("key", "code")
    assert found.load("key") is None


INTERRUPTED = """
import signal
from nonproj.parts.arcs import full_arc_space

def interrupt(number, frame):
    raise KeyboardInterrupt

full_arc_space(3)
signal.signal(signal.SIGALRM, interrupt)
for number in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-6 * (number % 100))
        while True:
            full_arc_space(3)
    except KeyboardInterrupt:
        pass
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")
def test_ctrl_c_in_a_kernel_is_a_keyboard_interrupt():
    """It was a SystemError, or crashed the process."""
    assert run_python(INTERRUPTED).stderr == ""


def test_ctrl_c_is_delivered_when_code_is_complete():
    """Else an exception in a function that LLVM calls is lost, and a kernel that does nothing is called."""
    done = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for processes in background
    try:
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append(True)
        assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
