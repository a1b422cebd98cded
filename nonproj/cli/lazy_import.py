"""An import that waits until it is needed, for the start of the program."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

BLAS = "scipy.linalg.cython_blas"
"""Where numba finds the functions of linear algebra."""


class _Waiting(ModuleType):
    """Stands for a module, which is imported when it is asked for an attribute."""

    def __getattr__(self, name: str) -> Any:
        """Become the module, and return its attribute."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def import_blas_when_needed() -> None:
    """Have the import of `BLAS` wait until something in it is used.

    Numba imports it to know whether it is there, and half of SciPy with it, a seventh of a start; no kernel needs it.

    Examples
    --------
    >>> import_blas_when_needed()
    >>> BLAS in sys.modules
    True
    """
    if BLAS not in sys.modules and find_spec("scipy"):
        module = _Waiting(BLAS)
        module.__spec__ = ModuleSpec(BLAS, None)
        sys.modules[BLAS] = module
