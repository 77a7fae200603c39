"""Loops over tensors for what has an order: scatters, whose later elements see what earlier ones wrote."""

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar, constant

Step = Callable[[ArithBuilder, Sequence[Scalar], SSAValue], SSAValue]
"""What one point of a nest makes of the carried value: where to build, the indices of the point, the value so far."""


def nest(builder: ArithBuilder, counts: Sequence[int], carried: SSAValue, step: Step) -> SSAValue:
    """A nest of `scf.for`, one loop for each of `counts`, that carries a value from point to point, row-major."""
    return _nest(builder, tuple(counts), (), carried, step)


def _nest(
    builder: ArithBuilder, counts: tuple[int, ...], point: tuple[Scalar, ...], value: SSAValue, step: Step
) -> SSAValue:
    if not counts:
        return step(builder, [Scalar(index.value, builder) for index in point], value)
    first, end, one = (constant(builder, number, IndexType()).value for number in (0, counts[0], 1))
    block = Block(arg_types=[IndexType(), value.type])
    inner = ArithBuilder(Builder(InsertPoint.at_end(block)))
    index, so_far = block.args
    block.add_op(scf.YieldOp(_nest(inner, counts[1:], (*point, Scalar(index, inner)), so_far, step)))
    return builder.insert(scf.ForOp(first, end, one, [value], block))
