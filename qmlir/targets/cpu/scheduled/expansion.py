"""Constant weights that an operation computes element by element, such as floats of small floats: expanded in a run.

They stay as they are in memory, in the order in which loops read weights, and become packed weights of f32 in each run:
one operation on whole registers, whose inputs are constants that were packed. What it computes is what it computed
before; each weight is used by many rows, so that takes little beside the products.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, f32, i8, i32
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.analysis.readings import computes_only
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import Body, Input, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.lowering.small_floats import plain_decoded, plain_place
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.variants import WeightLayout
from qmlir.targets.cpu.scheduled.dequantized import (
    OF_BYTES,
    HeldWeights,
    alike,
    dequantized_weights,
    elementwise_owner,
    read_elements,
)


@dataclass(frozen=True)
class _Axes:
    """Axes of packed weights, each divided where inputs change: `[size / run, run]`."""

    shape: tuple[int, ...]

    @staticmethod
    def of(arrays: Sequence[Array]) -> "_Axes":
        """Those of inputs in the order of packed weights."""
        shape: list[int] = []
        for axis, size in enumerate(arrays[0].shape):
            run = math.gcd(size, *(found for array in arrays if (found := alike(array, axis)) > 1))
            shape += [size // run, run] if 1 < run < size else [size]
        return _Axes(tuple(shape))

    def input(self, at: Lowering, array: Array, element: Attribute) -> Input:
        """A constant of what differs from element to element, and where an element is."""
        divided = array.reshape(self.shape)
        kept = [axis for axis, size in enumerate(self.shape) if size > 1 and alike(divided, axis) < size]
        first = divided[tuple(slice(None) if axis in kept else 0 for axis in range(divided.ndim))]
        map_ = AffineMap(len(self.shape), 0, tuple(AffineExpr.dimension(axis) for axis in kept))
        return Input(at.constant(first, element), map_)


def _inputs(op: GenericOp) -> list[Array] | None:
    """What an operation reads for each element, where all of that is constant, and it computes with nothing else."""
    for each in op.body.block.ops:
        if isinstance(each, IndexOp) or (each is not op.body.block.last_op and not computes_only(each)):
            return None
    found = [read_elements(op, place) for place in range(len(op.inputs))]
    known = [each for each in found if each is not None and each.size]
    return known if len(known) == len(found) > 0 and not op.body.block.args[-1].uses else None


def _of_codes(held: HeldWeights) -> Body:
    """What makes a weight of its code and its scale."""
    format_ = held.variant.weight_float

    def body(code: Scalar, scale: Scalar) -> Scalar:
        wide = code.to(i32)
        if format_ is None:
            return scale * wide.to(f32)
        moved = wide << plain_place(format_)
        return scale * Scalar(plain_decoded(wide.builder, moved.value, format_), wide.builder)

    return body


def _of_inputs(op: GenericOp) -> Body:
    """What `op` computes of its inputs."""

    def body(*given: Scalar) -> Scalar:
        block, builder = op.body.block, given[0].builder
        scalars = (scalar.value for scalar in given)
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, scalars, strict=False))
        last = block.last_op
        assert last is not None
        for each in block.ops:
            if each is not last:
                builder.insert(each.clone(values))
        result = last.operands[0]
        return Scalar(values.get(result, result), builder)

    return body


def expanded_weights(at: Lowering, weights: SSAValue, layout: WeightLayout) -> SSAValue | None:
    """Packed weights, computed as `weights` are: `None` where these are not made of constants element by element.

    Dequantized ones are held as a variant has them that makes floats of bytes with least work.
    """
    op = elementwise_owner(weights)
    element = shaped(weights)[1]
    if op is None or not isinstance(element, AnyFloat) or layout.variant.element is not None:
        return None
    dequantized = dequantized_weights(weights) if element == f32 else None
    held = None if dequantized is None else dequantized.held(OF_BYTES)
    if held is not None:
        arrays, elements, body = [held.codes, held.scales], [i8, f32], _of_codes(held)
    else:
        arrays, elements, body = _inputs(op), [shaped(each)[1] for each in op.inputs], _of_inputs(op)
    if arrays is None:
        return None
    packed = [layout.pack(each.reshape(layout.unpadded)) for each in arrays]
    axes = _Axes.of(packed)
    inputs = [axes.input(at, *pair) for pair in zip(packed, elements, strict=True)]
    return at.reshape(at.compute(inputs, axes.shape, element, body), layout.shape)
