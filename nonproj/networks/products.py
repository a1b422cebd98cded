"""Matrix products in training: the same order of sums and fused multiply-adds on every processor.

BLAS adds in an order of its own for each kind of processor, so the trained model would depend on it.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from nonproj.kernels.kernel import kernel
from nonproj.types import Float32s

_ROWS, _LANES, _VECTORS = 6, 8, 2
_COLUMNS = _LANES * _VECTORS  # the sums of a tile of rows and columns stay in twelve registers of 256 bits

_config: Any = numba.config  # its attributes are made from the environment


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the product of two matrices, float32; either may be a transposed view.

    Examples
    --------
    >>> matrix = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    >>> product(matrix, matrix.T).tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    """
    (n_rows, count), (length, n_columns) = left.shape, right.shape
    if count != length:
        raise ValueError(f"matrices of shape {left.shape} and {right.shape} have no product")
    padded = left if n_rows >= _ROWS else np.pad(left, ((0, _ROWS - n_rows), (0, 0)))
    found = np.zeros((len(padded), -(-n_columns // _COLUMNS) * _COLUMNS), np.float32)
    if found.size and count:
        _multiply(*_elements(padded), *_elements(right), (count, n_columns), found)
    return np.ascontiguousarray(found[:n_rows, :n_columns])


def _elements(matrix: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Return the elements in the order of memory, and the strides of rows and of columns, in elements."""
    turned = 0 < abs(matrix.strides[0]) < abs(matrix.strides[1])
    return matrix.ravel(order="F" if turned else "C"), *((1, len(matrix)) if turned else (matrix.shape[1], 1))


@kernel
def _multiply(
    left: Float32s,
    left_row: int,
    left_column: int,
    right: Float32s,
    right_row: int,
    right_column: int,
    shape: tuple[int, int],
    found: Float32s,
) -> None:
    """Write a product tile by tile; the tiles of the last rows may overlap with those before them.

    The columns of a tile are copied, so that they are contiguous.
    """
    (count, n_columns), (n_rows, width), flat = shape, found.shape, found.reshape(-1)
    columns = np.zeros((count, _COLUMNS), np.float32)
    for begin in range(0, width, _COLUMNS):
        for k in range(count):
            own, source = columns[k], right[k * right_row + begin * right_column :]
            if right_column == 1 and begin + _COLUMNS <= n_columns:
                for j in range(_COLUMNS):
                    own[j] = source[j]
            else:
                for j in range(min(_COLUMNS, n_columns - begin)):
                    own[j] = source[j * right_column]
        for step in range(0, n_rows, _ROWS):
            i = min(step, n_rows - _ROWS)
            _write_tile(left[i * left_row :], left_row, left_column, columns, flat[i * width + begin :], width)


def _write_uncompiled(
    left: np.ndarray, left_row: int, left_column: int, columns: np.ndarray, found: np.ndarray, width: int
) -> None:
    """Write a tile as `_write_tile` does, without compilation and in another order."""
    for r in range(_ROWS):
        factors = left[r * left_row :][::left_column][: len(columns)]
        found[r * width : r * width + _COLUMNS] = factors @ columns


def _tile(context: Any, left: Any, left_row: Any, left_column: Any, columns: Any, found: Any, width: Any) -> Any:
    """Return the type and the code of `_write_tile`, in numba's form for intrinsics."""
    number, index = ir.FloatType(), ir.IntType(64)
    vector = ir.VectorType(number, _LANES)
    zero, undefined = ir.Constant(vector, [0.0] * _LANES), ir.Constant(vector, ir.Undefined)
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit a loop over the products of each sum, and return numba's None."""
        of_left, of_columns, of_found = (
            context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 3, 4)
        )
        left_row, left_column, width = (arguments[i] for i in (1, 2, 5))
        kind = ir.FunctionType(vector, [vector] * 3)
        name = f"llvm.fma.v{_LANES}f32"
        fused = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)

        def place(array: Any, *terms: tuple[Any, Any]) -> Any:
            """Return the address of an element, whose number is a sum of products."""
            return builder.gep(array.data, [reduce(builder.add, (builder.mul(*each) for each in terms))])

        before, loop, behind = builder.block, *map(builder.append_basic_block, ("products", "sums"))
        builder.branch(loop)
        builder.position_at_end(loop)
        k, *totals = (builder.phi(kind) for kind in (index, *[vector] * (_ROWS * _VECTORS)))
        places = [place(of_columns, (k, index(_COLUMNS)), (index(v), index(_LANES))) for v in range(_VECTORS)]
        factors = [builder.load(builder.bitcast(each, vector.as_pointer()), align=4) for each in places]
        for r in range(_ROWS):
            one = builder.load(place(of_left, (k, left_column), (index(r), left_row)))
            one = builder.shuffle_vector(builder.insert_element(undefined, one, index(0)), undefined, everywhere)
            for v in range(_VECTORS):
                total = totals[r * _VECTORS + v]
                total.add_incoming(zero, before)
                total.add_incoming(builder.call(fused, [one, factors[v], total]), loop)
        following = builder.add(k, index(1))
        k.add_incoming(index(0), before)
        k.add_incoming(following, loop)
        count = builder.extract_value(of_columns.shape, 0)
        builder.cbranch(builder.icmp_unsigned("<", following, count), loop, behind)
        builder.position_at_end(behind)
        for i, total in enumerate(totals):
            target = place(of_found, (index(i // _VECTORS), width), (index(i % _VECTORS), index(_LANES)))
            builder.store(total.incomings[1][0], builder.bitcast(target, vector.as_pointer()), align=4)
        return context.get_dummy_value()

    return numba.types.void(left, left_row, left_column, columns, found, width), generate


_intrinsic: Any = intrinsic
_write_tile: Any = _write_uncompiled if _config.DISABLE_JIT else _intrinsic(_tile)
"""``_write_tile(left, left_row, left_column, columns, found, width)``, in a kernel: write `_ROWS` rows of a product.

``columns`` are `_COLUMNS` columns of the right matrix, of one row at least.  Reading and writing begin at the first
elements of ``left`` and ``found``; rows of ``found`` lie ``width`` apart.
"""
