"""Kernels that come compiled: used where they fit, ignored where anything differs."""

import json
import os
import platform
import runpy
import subprocess
import sys

import llvmlite.binding
import pytest
from command import CALL_OF_A_KERNEL, ROOT, call_kernel, changed

from nonproj.kernels import shipped
from nonproj.kernels.cache import ENDING

COMPILED = "False True True", "", 1

pytestmark = [
    pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile"),
    pytest.mark.skipif(os.environ.get("NUMBA_BOUNDSCHECK") == "1", reason="kernels with other flags are not shipped"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels are shipped for one processor"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the package of a single kernel, installed by pip."""
    folder = tmp_path_factory.mktemp("shipped")
    release = runpy.run_path(str(ROOT / "packaging" / "kernels.py"))
    wheel = release["make"](folder, (sys.executable, "-c", CALL_OF_A_KERNEL))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(folder / "site")]
    subprocess.run([*pip, str(wheel)], check=True)
    return folder / "site"


def call(site, cache, **environment):
    """Whether a kernel was cached, its result, whether it was compiled; and its files in the user's cache."""
    path = os.pathsep.join((str(ROOT), str(site)))
    found = call_kernel(PYTHONPATH=path, NONPROJ_CACHE=str(cache), **environment)
    return *found, len(list(cache.rglob(f"projective.*{ENDING}")))


def test_nothing_is_compiled_where_kernels_are_installed(site, tmp_path):
    assert call(site, tmp_path) == ("True True False", "", 0)


@pytest.mark.thorough
@pytest.mark.parametrize("variable", ["NONPROJ_OWN_KERNELS", "NUMBA_CPU_NAME"])
def test_kernels_are_compiled_for_this_processor_if_that_is_wanted(variable, site, tmp_path):
    value = llvmlite.binding.get_host_cpu_name()
    assert call(site, tmp_path, **{variable: value}) == COMPILED


OTHER_KERNELS = [
    pytest.param({"digest": "0" * 16}, id="digest"),
    pytest.param({"target": ["arm64-apple-darwin", *shipped.TARGET[1:]]}, marks=pytest.mark.thorough, id="target"),
]


@pytest.mark.parametrize("change", OTHER_KERNELS)
def test_kernels_for_another_version_or_processor_are_ignored(change, site, tmp_path):
    path = site / shipped.PACKAGE / shipped.DESCRIPTION
    with changed(path, json.dumps(json.loads(path.read_bytes()) | change).encode()):
        assert call(site, tmp_path) == COMPILED


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["", "[]", "{}", "\udcff", '{"digest": 1, "target": null}'])
def test_a_damaged_description_is_ignored(text, site, tmp_path):
    with changed(site / shipped.PACKAGE / shipped.DESCRIPTION, text.encode("utf-8", "surrogateescape")):
        assert call(site, tmp_path) == COMPILED


def test_a_damaged_kernel_is_compiled(site, tmp_path):
    (path,) = (site / shipped.PACKAGE).rglob(f"projective.*{ENDING}")
    with changed(path, path.read_bytes()[:-1000]):
        assert call(site, tmp_path) == ("True True True", "", 1)


def test_the_features_are_those_of_the_baseline():
    """LLVM's own list for this processor is not in Python; what it implies is: code for it runs on this machine."""
    assert all(llvmlite.binding.get_host_cpu_features().get(name) for name in shipped.FEATURES)
