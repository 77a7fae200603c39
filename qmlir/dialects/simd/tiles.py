"""The registers of a register tile: their order, and the operations that only move them."""

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.dialects.vector import BroadcastOp, ExtractOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.simd.base import as_vector, element_of, is_tile, lanes_of, tile_of, vector
from qmlir.dialects.simd.lanes import StackOp, TransposeOp
from qmlir.ir.builtin_types import integer_list


def tile_places(tile: Sequence[int]) -> list[int]:
    """Returns the places of a tile's registers in the order in which code computes them: row after row.

    The last axes are the rows, so that registers of different vectors that share a row follow each other.
    """
    inner = prod(tile[1:])
    return sorted(range(prod(tile)), key=lambda place: place % inner)


def moved_places(op: Operation) -> list[int] | None:
    """Returns the places of the registers of the result among those of the operands; `None` unless `op` moves them."""
    match op:
        case StackOp():
            return list(range(prod(tile_of(op.result))))
        case TransposeOp():
            return _numbers(op.value).swapaxes(0, 1).ravel().tolist()
        case ExtractOp() if is_tile(op.vector) and not op.dynamic_position:
            position = integer_list(op.static_position)
            is_inside = len(position) <= len(tile_of(op.vector))
            return _numbers(op.vector)[tuple(position)].ravel().tolist() if is_inside else None
        case BroadcastOp() if as_vector(op.source.type) is not None:
            return np.broadcast_to(_numbers(op.source), tile_of(op.vector)).ravel().tolist()
        case _:
            return None


def _numbers(value: SSAValue) -> npt.NDArray[np.int64]:
    return np.arange(prod(tile_of(value))).reshape(tile_of(value))


def register_type(value: SSAValue) -> Attribute:
    """Returns the type of a register of a tile; the type of any other value."""
    return vector(lanes_of(value), element_of(value)) if is_tile(value) else value.type
