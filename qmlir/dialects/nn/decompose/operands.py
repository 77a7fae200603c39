"""What parts of several families take: scalar constants, parameters for each channel, casts, one rounding."""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.elementwise import CastOp
from qmlir.dialects.nn.ops.movement import ReshapeOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts
from qmlir.text.elements import dense_dtype

Results = Sequence[SSAValue] | None
Decompose = Callable[..., Results]


def scalar(parts: Parts, role: str, value: float, like: SSAValue) -> SSAValue:
    """A rank-0 constant of the plain element type of `like`."""
    element: Attribute = plain_type(element_of(like))
    dtype = dense_dtype(element)
    assert dtype is not None
    return parts.add(role, ConstantOp.of(np.array(value, dtype=dtype), TensorType(element, ()))).result


def per_channel(parts: Parts, role: str, value: SSAValue, rank: int) -> SSAValue:
    """`[C]` as `[C, 1, …]`, which broadcasts along the axes after the channels."""
    if rank == 2:
        return value
    shape = (*shape_of(value), *(1,) * (rank - 2))
    return parts.add(f"{role}/reshape", ReshapeOp(value, shape)).result


def cast(parts: Parts, role: str, value: SSAValue, element: Attribute) -> SSAValue:
    """`value` with elements of the plain type `element`; itself where it has them."""
    if plain_type(element_of(value)) == element:
        return value
    return parts.add(role, build(CastOp, [value], result_types=[TensorType(element, shape_of(value))])).result


def rounded_once(decomposition: Decompose) -> Decompose:
    """The decomposition of an operation that computes f16 and bf16 in f32, and rounds its results once.

    For these types the parts are the operation itself on f32, between casts.
    """

    def decompose(op: Operation, parts: Parts) -> Results:
        if not any(_is_short(value) for value in op.results):
            return decomposition(op, parts)
        operands = [
            cast(parts, f"operand{place}", value, f32) if _is_short(value) else value
            for place, value in enumerate(op.operands)
        ]
        types = [TensorType(f32, shape_of(each)) if _is_short(each) else each.type for each in op.results]
        wide = type(op).create(operands=operands, result_types=types, properties=dict(op.properties))
        parts.add("f32", wide)
        return [
            cast(parts, f"rounded{place}" if place else "rounded", value, plain_type(element_of(result)))
            for place, (value, result) in enumerate(zip(wide.results, op.results, strict=True))
        ]

    return decompose


def _is_short(value: SSAValue) -> bool:
    return isinstance(plain_type(element_of(value)), Float16Type | BFloat16Type)
