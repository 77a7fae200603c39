"""Lowering of composites that reduce rows to a single operation with row reductions in its body.

A softmax needs the maximum and a sum of each row; a layer normalization a mean, and a mean of squares. The body follows
the decomposition of the composite, with its formulas and roundings, scalar by scalar.
"""

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64, i1
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.rows import RowMaxOp, RowSumOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.elementwise.lower import FUNCTIONS
from qmlir.dialects.nn.lowering.elements import operand_map, otherwise
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceOp, ReduceSumOp
from qmlir.dialects.nn.requantize import decompose
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts

_REDUCTIONS = (ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceSumOp)


def _have_one_row(parts: Sequence[Operation]) -> bool:
    """Whether parts compute elementwise in one float type, and reduce one common row while keeping its axes."""
    floats = {element_of(value) for part in parts for value in part.results} - {i1}
    rows = {part.reduced_axes(len(shape_of(part.input))) for part in parts if isinstance(part, ReduceOp)}
    keeps = all(part.keeps_axes for part in parts if isinstance(part, ReduceOp))
    return floats in ({f32}, {f64}) and len(rows) == 1 and rows != {()} and keeps


def _reduced(part: ReduceOp, x: Scalar) -> Scalar:
    """Reduces the row; sums are computed in f64 and rounded once."""
    sizes = shape_of(part.input)
    row = part.reduced_axes(len(sizes))
    if isinstance(part, ReduceMaxOp):
        return x.over_row(RowMaxOp, row)
    if isinstance(part, ReduceMinOp):
        return -(-x).over_row(RowMaxOp, row)
    total = x.to(f64).over_row(RowSumOp, row).to(x.type)
    return total / math.prod(sizes[axis] for axis in row) if isinstance(part, ReduceMeanOp) else total


def by_rows(op: NnOp, at: Lowering) -> Sequence[SSAValue] | None:
    """Lowers a composite to a single elementwise operation; `None` if its parts do not permit it.

    Parts that prepare parameters precede it. A quantized composite becomes a float one between casts.
    """
    if any(quantized.uniform_element(at, value) is not None for value in (*op.operands, *op.results)):
        return otherwise(op, at)
    parts = Parts(op)
    results = decompose(op, parts)
    inside = [part for part in parts.operations if (type(part) in FUNCTIONS or isinstance(part, _REDUCTIONS))]
    mine = {value for part in inside for value in part.results}
    before = [part for part in parts.operations if part not in inside]
    if results is None or not _have_one_row(inside) or any(each in mine for part in before for each in part.operands):
        parts.discard()
        return None
    for part in before:
        at.insert(part)
    leaves = list(dict.fromkeys(value for part in inside for value in part.operands if value not in mine))
    readings = [quantized.plain(at, value, operand_map(at, value)) for value in leaves]

    def body(*scalars: Scalar) -> Scalar:
        given = quantized.split(scalars, *(reading.inputs for reading in readings))
        values = {leaf: reading.read(own) for leaf, reading, own in zip(leaves, readings, given, strict=True)}
        for part in inside:
            operands = [values[operand] for operand in part.operands]
            found = _reduced(part, *operands) if isinstance(part, ReduceOp) else FUNCTIONS[type(part)](part, *operands)
            values[part.results[0]] = found
        return values[results[0]]

    inputs = [each for reading in readings for each in reading.inputs]
    computed = at.compute(inputs, at.result_shape(), at.result_element(), body)
    for part in reversed(inside):
        part.erase()
    return (computed,)
