"""Lowering of data movement: reinterpretations, slices and copies of stored elements of any kind.

A slice with a negative step becomes a structured operation whose indexing map runs backward; all other operations use
the data movement helpers of `Lowering`.
"""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, unchanged
from qmlir.dialects.nn.movement import ops
from qmlir.dialects.nn.movement.ops import sliced_axes
from qmlir.ir.builtin_types import element_of, shape_of


def _same_elements(op: ops.ReshapeOp | ops.SqueezeOp | ops.UnsqueezeOp, at: Lowering) -> Sequence[SSAValue]:
    """The result type already has the sizes that an operand would provide."""
    return (at.reshape(at.value(op.input), at.result_shape()),)


def strided(at: Lowering, value: SSAValue, indices: Sequence[range]) -> SSAValue:
    """Returns the elements at the `indices` along each axis; indices may be in descending order."""
    ascending = [each if each.step > 0 else each[::-1] for each in indices]
    sizes = [len(each) for each in indices]
    part = at.slice(value, [each.start for each in ascending], sizes, [each.step for each in ascending])
    if all(each.step > 0 or len(each) == 1 for each in indices):
        return part
    positions = (
        AffineExpr.dimension(axis) if each.step > 0 else AffineExpr.dimension(axis) * -1 + len(each) - 1
        for axis, each in enumerate(indices)
    )
    return at.compute([Input(part, AffineMap(len(sizes), 0, tuple(positions)))], sizes, element_of(value), unchanged)


def _slice(op: ops.SliceOp, at: Lowering) -> Sequence[SSAValue]:
    if not all(op.is_known(name) for name in op.PARAMETERS):
        raise at.error("cannot be compiled: starts, ends, axes and steps must be constant")
    shape, found = shape_of(op.input), sliced_axes(shape_of(op.input), *op.bounds())
    return (strided(at, at.value(op.input), [found.get(axis, range(size)) for axis, size in enumerate(shape)]),)


def _split(op: ops.SplitOp, at: Lowering) -> Sequence[SSAValue]:
    value, axis = at.value(op.input), op.axis.value.data
    offsets = [0] * len(shape_of(value))
    parts: list[SSAValue] = []
    for index in range(len(op.parts)):
        sizes = at.result_shape(index)
        parts.append(at.slice(value, offsets, sizes))
        offsets[axis] += sizes[axis]
    return parts


def _blocks(op: ops.BlocksOp, at: Lowering) -> Sequence[SSAValue]:
    split, order = op.split(shape_of(op.input))
    return (at.reshape(at.transpose(at.reshape(at.value(op.input), split), order), at.result_shape()),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.ReshapeOp: _same_elements,
    ops.SqueezeOp: _same_elements,
    ops.UnsqueezeOp: _same_elements,
    ops.TransposeOp: lambda op, at: (at.transpose(at.value(op.input), op.order),),
    ops.SliceOp: _slice,
    ops.ConcatOp: lambda op, at: (at.concat([at.value(value) for value in op.inputs], op.axis.value.data),),
    ops.SplitOp: _split,
    ops.DepthToSpaceOp: _blocks,
    ops.SpaceToDepthOp: _blocks,
}
