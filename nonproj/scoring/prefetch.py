"""A hint to the processor that memory will soon be read.

A weight table is larger than the second-level cache, and its places are known before they are read.  Fetching them
while other places are computed hides most of the time that memory takes.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

_config: Any = numba.config  # its attributes are made from the environment
_READ, _KEEP, _DATA = 0, 3, 1  # of the LLVM instruction: to be read, in all levels of the cache, not code


def _ignore(array: Any, index: Any) -> None:
    """Do nothing, in place of `prefetch` in uncompiled code."""


def _prefetch(context: Any, array: Any, index: Any) -> Any:
    """Return the type and the code of `prefetch`, in numba's form for intrinsics."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit the instruction, and return numba's None."""
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(instruction, [place, number(_READ), number(_KEEP), number(_DATA)])
        return context.get_dummy_value()

    return numba.types.void(array, index), generate


_intrinsic: Any = intrinsic
prefetch: Any = _ignore if _config.DISABLE_JIT else _intrinsic(_prefetch)
"""``prefetch(array, index)``, in a kernel: ask for the cache line of an element of a contiguous vector.

The element need not exist, and nothing is read.
"""
