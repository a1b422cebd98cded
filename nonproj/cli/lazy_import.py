"""A deferred import, which shortens the start of the program."""

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
    """A placeholder for a module that is imported on first access to an attribute."""

    def __getattr__(self, name: str) -> Any:
        """Replace the placeholder by the module, and return the attribute."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def import_blas_when_needed() -> None:
    """Defer the import of `BLAS` until one of its attributes is used.

    Numba imports it only to see whether it is available, and with it half of SciPy: a seventh of the start-up time.
    No kernel uses it.

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
