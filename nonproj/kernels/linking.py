"""Compilation of functions, once for Python and once for the functions that call them.

Numba optimises a function and generates machine code for it before linking it into a caller, which contains a copy and
is optimised again as a whole.  Here a called function becomes part of the caller before it is optimised, so
everything is optimised once for each kernel that Python calls.  That takes half of the time, and the code is faster,
because counts of references to arrays are removed only within a function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numba import types
from numba.core import serialize
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from nonproj.kernels.cache import KernelCache, uninterrupted
from nonproj.kernels.folders import Folders

_builder: Any = DefaultPassBuilder  # which has no types, like the next two
_register_pass: Any = register_pass
_serialize: Any = serialize

_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "fastmath": False,
    "boundscheck": None,  # as NUMBA_BOUNDSCHECK says
    "forceinline": True,
    "no_cpython_wrapper": True,  # but `_KernelLowering` adds one
    "no_cfunc_wrapper": True,  # for calls from C, which nothing makes
}
"""Options of all compilations: numba compiles its own functions anew for callers with other options."""


class Kernel(CPUDispatcher):
    """Compiles a function for Python, and again, for linking, when another kernel calls it.

    Parameters
    ----------
    function : callable
        The function.
    find : callable
        As for `KernelCache`.
    """

    def __init__(self, function: Callable[..., Any], find: Callable[[], Folders]):
        super().__init__(function, targetoptions=_OPTIONS, pipeline_class=_KernelCompiler)
        self._cache = KernelCache(function, find)  # where numba's `cache=True` puts its own
        self._linked: _Linked | None = None

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return numba's description of a call in another kernel."""
        if self._linked is None:
            self._linked = _Linked(self.py_func, targetoptions=_OPTIONS, pipeline_class=_LinkedCompiler)
        # Numba would compile the function for each integer constant that it is called with.
        return self._linked.get_call_template(tuple(map(types.unliteral, args)), kws)

    def get_overload(self, signature: Any) -> Any:
        """Return the overload that calls the function in the code of another kernel."""
        assert self._linked is not None
        return self._linked.get_overload(signature)


class _Linked(CPUDispatcher):
    """The dispatcher of a function for calls from other kernels."""

    def add_overload(self, compiled: Any) -> None:
        """Record the code compiled for some argument types, for other kernels only: Python cannot call it."""
        self.overloads[tuple(compiled.signature.args)] = compiled


# A kernel that returns an array calls this function, for the array's type; Ctrl-C within it would come out as a
# SystemError.  A dictionary in C executes no code of Python, where signals are handled.
_serialize._numba_unpickle = lru_cache(maxsize=None)(_serialize._numba_unpickle)


class _Compiler(CompilerBase):
    """Numba's compiler, with the pass that generates code replaced."""

    lowering: type[NativeLowering]

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, with one replaced."""
        manager = _builder.define_nopython_pipeline(self.state)
        manager.passes = [(self.lowering if each is NativeLowering else each, text) for each, text in manager.passes]
        manager.finalize()
        return [manager]


@_register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    """Generates code that Python calls."""

    _name = "nonproj_kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Generate the code of a function and its wrapper for Python."""
        state.flags.forceinline = state.flags.no_cpython_wrapper = False
        with uninterrupted():
            done: bool = cast("Any", super()).run_pass(state)
        return done


class _KernelCompiler(_Compiler):
    """Compiles a function for Python."""

    lowering = _KernelLowering


@_register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Generates code that is only linked."""

    _name = "nonproj_linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Generate the code of a function, and register it with a key of its own."""
        library, lowering = cast("Any", _Library), cast("Any", super())
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        lowering.run_pass(state)
        key = object()
        state.targetctx.insert_user_function(key, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=key)
        return True


class _LinkedCompiler(_Compiler):
    """Compiles a function for linking."""

    lowering = _LinkedLowering


class _Library(JITCodeLibrary):
    """Code that is neither optimised nor compiled to machine code."""

    def _optimize_functions(self, module: Any) -> None:
        """Do nothing: the code is optimised as part of its caller."""

    def _optimize_final_module(self) -> None:
        """Do nothing: the code is optimised as part of its caller."""

    def _finalize_final_module(self) -> None:
        """Mark the code as ready to be linked."""
        self._finalized = True


def link_tested(find: Callable[[], Folders]) -> type[Kernel]:
    """Return `Kernel`, after a small kernel, compiled or loaded, has returned the right numbers.

    Raises
    ------
    Exception
        Numba's private parts do not fit this module.
    """
    tested = Kernel(_sum_and_doubles, find)
    total, doubles = tested(np.arange(4.0))
    if (total, doubles.tolist()) != (6.0, [0.0, 2.0, 4.0, 6.0]):
        raise ValueError(f"a kernel returns {total} and {doubles}")
    return Kernel


def _sum_and_doubles(values: Any) -> Any:
    """Return the sum of numbers, and each of them doubled: a kernel that calls another one, and makes an array."""
    total, doubles = 0.0, np.zeros(len(values))
    for i in range(len(values)):
        total += values[i]
        doubles[i] = _double(values[i])
    return total, doubles


_double: Any = Kernel(lambda value: 2.0 * value, lambda: Folders(None))
