"""Compilation of functions, once for Python and once for the functions that call them.

Numba optimises a function and generates machine code for it before linking it into a caller, which contains a copy and
is optimised again as a whole.  Here a function that another one calls becomes part of the caller as it is, so
everything is optimised once for each kernel that Python calls.  That takes half of the time, and the code is faster,
because counts of references to arrays are removed only within a function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

_builder: Any = DefaultPassBuilder  # which has no types, as all of these
_register_pass: Any = register_pass


class Kernel(CPUDispatcher):
    """Compiles a function for Python, and again, for linking, when another kernel calls it.

    Parameters
    ----------
    function : callable
    options
        As for ``numba.njit``.
    """

    def __init__(self, function: Callable[..., Any], **options: Any):
        super().__init__(function, targetoptions={"nopython": True, "boundscheck": None, **options})
        self._linked: _Linked | None = None

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return numba's description of a call in another kernel."""
        if self._linked is None:
            options = self.targetoptions | {"forceinline": True}
            self._linked = _Linked(self.py_func, targetoptions=options, pipeline_class=_Compiler)
        # Numba would compile the function for each integer constant that it is called with.
        return self._linked.get_call_template(tuple(map(types.unliteral, args)), kws)

    def get_overload(self, signature: Any) -> Any:
        """Return what stands for the function in the code of another kernel."""
        assert self._linked is not None
        return self._linked.get_overload(signature)


class _Linked(CPUDispatcher):
    """A function as other kernels call it."""

    def add_overload(self, compiled: Any) -> None:
        """Record the code for some argument types; Python has no access to it."""
        self.overloads[tuple(compiled.signature.args)] = compiled


class _Compiler(CompilerBase):
    """Numba's compiler, with `_Lowering`."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, with one replaced."""
        manager = _builder.define_nopython_pipeline(self.state)
        manager.passes = [(_Lowering if each is NativeLowering else each, text) for each, text in manager.passes]
        manager.finalize()
        return [manager]


@_register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Makes code that is only linked."""

    _name = "nonproj_lowering"

    def run_pass(self, state: Any) -> bool:
        """Generate the code of a function without its wrapper for Python, and register it with a key of its own."""
        library, lowering = cast("Any", _Library), cast("Any", super())
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = True
        lowering.run_pass(state)
        key = object()
        state.targetctx.insert_user_function(key, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=key)
        return True


class _Library(JITCodeLibrary):
    """Code that is neither optimised nor compiled to machine code."""

    def _optimize_final_module(self) -> None:
        """Leave it to the library of the caller."""

    def _finalize_final_module(self) -> None:
        """Be ready to be linked."""
        self._finalized = True
