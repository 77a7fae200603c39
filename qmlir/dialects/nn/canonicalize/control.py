"""Canonicalization of `scf` operations around `nn` operations: unrolls short loops, and folds known indices and slices.

A loop is unrolled if this is faster: a step on 2x3 values takes less time than slicing the operands and storing the
results of the step. All unrolled steps keep the roles of the loop body, so that a profile has one entry for each role,
and quantization assigns one type.
"""

from collections.abc import Mapping
from itertools import islice

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.indexing.ops import ScatterNDOp
from qmlir.dialects.nn.movement.ops import ConcatOp, ReshapeOp
from qmlir.ir.builtin_types import as_integer, element_of, shape_of
from qmlir.ir.control_flow import known_bound, terminator_of
from qmlir.ir.provenance import hand_on

UNROLLED = 64
"""The maximum number of operations, without constants, in all steps of a loop that is unrolled.

A generated kernel with this number of small operations compiles in a few seconds. If a step has more operations, its
contractions outweigh the cost of the loop.
"""


class ExtractKnown(RewritePattern):
    """Folds `extract(constant) -> constant` for an integer, and for the index to which it is cast."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.ExtractOp, rewriter: PatternRewriter, /) -> None:
        array, width = constant_array(op.tensor), as_integer(op.result.type)
        if array is None or array.size != 1 or width is None:
            return
        for use in tuple(op.result.uses):
            if isinstance(use.operation, arith.IndexCastOp) and isinstance(use.operation.result.type, IndexType):
                index = arith.ConstantOp.from_int_and_width(int(array.item()), IndexType())
                rewriter.replace(use.operation, index)
        rewriter.replace(op, arith.ConstantOp.from_int_and_width(int(array.item()), width.width.data))


class UnrollShortLoop(RewritePattern):
    """Unrolls `for i in 0 .. n { s = step(i, s) } -> step(n - 1, … step(0, s))` if it is short (see `UNROLLED`)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter, /) -> None:
        lower, upper, step = map(known_bound, (op.lb, op.ub, op.step))
        if lower is None or upper is None or step is None or step < 1:
            return
        steps = range(lower, upper, step)
        counted = (each for each in op.body.walk() if not isinstance(each, ConstantOp | scf.YieldOp))
        # A loop of a kernel may have thousands of operations.
        inside = list(islice(counted, UNROLLED // len(steps) + 1 if steps else None))
        if len(steps) * len(inside) > UNROLLED or not any(isinstance(each, NnOp) for each in inside):
            return
        induction, *arguments = op.body.block.args
        carried = list(op.iter_args)
        end = terminator_of(op.body.block)
        for number in steps:
            index = arith.ConstantOp.from_int_and_width(number, IndexType())
            rewriter.insert(index)
            values: dict[SSAValue, SSAValue] = {induction: index.result}
            values |= dict(zip(arguments, carried, strict=True))
            for each in op.body.block.ops:
                if each is not end:
                    rewriter.insert(each.clone(values))
            carried = [values.get(value, value) for value in end.operands]
        rewriter.replace(op, [], carried)


class StackSlices(RewritePattern):
    """Folds `scatter_nd(… scatter_nd(x, 0, a) …, n - 1, z) -> concat(a, …, z)` if each slice is written once."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScatterNDOp, rewriter: PatternRewriter, /) -> None:
        slices = _written(op)
        count = shape_of(op.result)[0]
        if slices is None or sorted(slices) != list(range(count)) or count < 1:
            return
        if any(element_of(value) != element_of(op.result) for value in slices.values()):
            return
        parts = [ReshapeOp(slices[position], (1, *shape_of(slices[position]))) for position in range(count)]
        whole = ConcatOp.create(
            operands=[part.result for part in parts],
            result_types=[op.result.type],
            properties={"axis": IntegerAttr(0, IntegerType(64))},
        )
        for made in (*parts, whole):
            hand_on((op,), made)
        rewriter.replace(op, [*parts, whole], whole.results)


def _written(last: ScatterNDOp) -> Mapping[int, SSAValue] | None:
    """Returns the slices that a chain of scatters writes, if only `last` has outside users; `None` for other chains."""
    found: dict[int, SSAValue] = {}
    op = last
    while True:
        position = constant_array(op.indices)
        if position is None or position.shape != (1,) or op.reduction.data != "none":
            return None
        found.setdefault(int(position.item()), op.updates)  # the later of two writers wins
        if not isinstance(op.input.owner, ScatterNDOp) or not op.input.has_one_use():
            return found
        op = op.input.owner


PATTERNS: tuple[RewritePattern, ...] = (ExtractKnown(), UnrollShortLoop())
"""The patterns that match operations of `scf` and `tensor`."""

STACKING: tuple[RewritePattern, ...] = (StackSlices(),)
"""The patterns that match operations of `nn`."""
