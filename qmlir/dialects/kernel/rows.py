"""Rows: reductions over a whole row inside the body of one element, and operations that are executed row by row.

Softmax and row norms are each expressed as a single `linalg.generic` whose iterators are all parallel. The body
computes one element, and can request the maximum or the sum of a value over all elements of the row. The body thus
separates the steps that depend on an element from those that depend only on its row, and shows which sums may be
reordered.
"""

import abc
import math
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    AnyFloatConstr,
    DenseArrayBase,
    IntegerType,
    SignlessIntegerConstraint,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.dialects.tensor import EmptyOp, ExtractOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import InterpretationError, VerifyException
from xdsl.utils.test_value import create_ssa_value

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.kernel.attributes import OVERWRITTEN
from qmlir.dialects.kernel.ops import YieldOp
from qmlir.ir.builtin_types import as_integer, integer_list, sizes_of
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.evaluation import RegionEvaluator, evaluate


class RowReduceOp(IRDLOperation, ABC):
    """Reduces a value of the body to one number, over all elements of the current row.

    A row consists of all steps of the iterators `dims`, the last of which varies fastest. All row reductions of a body
    operate on the same row, and combine its elements one at a time, in order.
    """

    T: ClassVar = VarConstraint("T", AnyFloatConstr | SignlessIntegerConstraint)

    value = operand_def(T)
    dims = prop_def(DenseArrayBase[IntegerType])
    result = result_def(T)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = "$value attr-dict `:` type($value)"
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue, dims: Sequence[int]):
        super().__init__(
            operands=[value], properties={"dims": DenseArrayBase.from_list(i64, dims)}, result_types=[value.type]
        )

    @property
    def row(self) -> tuple[int, ...]:
        """The iterators that span a row, the last of which varies fastest."""
        return integer_list(self.dims)

    @abstractmethod
    def start(self) -> float:
        """The identity of the reduction, which is also the result for an empty row."""

    @abstractmethod
    def combined(self, so_far: SSAValue, value: SSAValue) -> Operation:
        """Returns the scalar operation that combines the accumulator `so_far` with the next `value`."""

    def verify_(self) -> None:
        parent = self.parent_op()
        if not isinstance(parent, GenericOp):
            raise VerifyException("must be in the body of a linalg.generic")
        kinds = [attribute.data for attribute in parent.iterator_types]
        if any(kind is not IteratorType.PARALLEL for kind in kinds) or not all(
            isinstance(value.type, TensorType) for value in parent.outputs
        ):
            raise VerifyException("requires a parent on tensors with parallel iterators only")
        if not self.row or len(set(self.row)) != len(self.row) or not all(0 <= dim < len(kinds) for dim in self.row):
            raise VerifyException(f"row must list distinct iterators out of {len(kinds)}, but got {list(self.row)}")
        first = next(each for each in parent.body.block.ops if isinstance(each, RowReduceOp))
        if first.row != self.row:
            raise VerifyException(
                f"row must be {list(first.row)}, as for the other reductions in this body, but got {list(self.row)}"
            )


@irdl_op_definition
class RowMaxOp(RowReduceOp):
    """The maximum of a row of signed integers, or of floats with the semantics of `arith.maximumf`."""

    name = "kernel.row_max"

    def start(self) -> float:
        integer = as_integer(self.value.type)
        return -math.inf if integer is None else integer_limits(integer.bitwidth)[0]

    def combined(self, so_far: SSAValue, value: SSAValue) -> Operation:
        return (arith.MaximumfOp if isinstance(value.type, AnyFloat) else arith.MaxSIOp)(so_far, value)


@irdl_op_definition
class RowSumOp(RowReduceOp):
    """The sum of a row: integers wrap around; floats are summed in order unless `reassoc` is set.

    `reassoc` asserts that summing in any order has been proved to yield a bit-identical result.
    """

    name = "kernel.row_sum"

    reassoc = opt_prop_def(UnitAttr)

    def start(self) -> float:
        return 0

    def combined(self, so_far: SSAValue, value: SSAValue) -> Operation:
        if not isinstance(value.type, AnyFloat):
            return arith.AddiOp(so_far, value)
        flags = None if self.reassoc is None else arith.FastMathFlagsAttr([FastMathFlag.REASSOC])
        return arith.AddfOp(so_far, value, flags)

    @property
    def is_ordered(self) -> bool:
        """Whether summing the row in another order may change the result."""
        return isinstance(self.value.type, AnyFloat) and self.reassoc is None

    def verify_(self) -> None:
        super().verify_()
        if self.reassoc is not None and not isinstance(self.value.type, AnyFloat):
            raise VerifyException(f"'reassoc' requires a float, but got '{self.value.type}'")


def row_reductions(op: Operation) -> list[RowReduceOp]:
    """Returns the row reductions in the body of an operation, in program order."""
    return [each for region in op.regions for each in region.walk() if isinstance(each, RowReduceOp)]


def _reduced(frame: Any, op: RowReduceOp, value: Any) -> tuple[Any]:
    """Reduces each row; the iterators of the row are axes of the array. Raises `InterpretationError` for single
    elements."""
    steps: tuple[int, ...] = frame.steps
    if not steps:
        raise InterpretationError("reduces a whole row, so it can only be evaluated on whole arrays")
    whole: Array = np.broadcast_to(value, steps)
    rest = [axis for axis in range(len(steps)) if axis not in op.row]
    length = math.prod(steps[axis] for axis in op.row)
    rows = whole.transpose(*op.row, *rest).reshape(length, *(steps[axis] for axis in rest))
    found: Any = np.full(rows.shape[1:], op.start(), whole.dtype)
    combined = op.combined(create_ssa_value(op.value.type), create_ssa_value(op.value.type))
    for numbers in rows:
        (found,) = evaluate(combined, [found, numbers]) or (None,)
    return (np.expand_dims(found, tuple(op.row)),)


# Row fusion: one operation that contains several operations on tensors that share rows, to execute them row by row.
#
# A row consists of the elements with the same indices along the leading axes. A decomposed softmax is a sequence of
# operations, each of which processes all rows. If no row depends on another row, all of them can process a few rows
# before they continue with the next few. The two contractions of an attention layer share rows: one row per head and
# query.

_Axis = TypeVar("_Axis")

_Operands = tuple[tuple[SSAValue, AffineMap], ...]

RowAxes: TypeAlias = tuple[int, ...]
"""The indices of the row axes that an operand axis runs along: empty for none, several if they are linearized."""


def _real(axes: Sequence[_Axis], value: SSAValue) -> Iterator[tuple[_Axis, int]]:
    """Yields the items of `axes` for the axes of `value` with more than one element, with their sizes."""
    return ((axis, size) for axis, size in zip(axes, sizes_of(value), strict=False) if size != 1)


def has_rows_first(value: SSAValue, rows: Sequence[int]) -> bool:
    """Whether the leading axes of `value`, not counting axes of size 1, are the row axes."""
    return [size for size in sizes_of(value) if size != 1][: len(rows)] == list(rows)


class MapsElements(abc.ABC):
    """An operation with one result, which declares affine maps from its result to the operand elements it reads.

    On memory, the operation writes the result to its last operand.
    """

    @abc.abstractmethod
    def element_maps(self) -> Sequence[AffineMap]:
        """Returns the map for each operand, from dimensions of the result to axes of the operand.

        The dimensions of the result come first; additional dimensions may follow.
        """


@dataclass(frozen=True)
class RowStep:
    """An operation, on tensors or memory, viewed as work on rows: a structured operation, or one that maps elements."""

    op: Operation
    operands: tuple[tuple[SSAValue, AffineMap], ...]
    """The operands that are read elementwise, including overwritten operands, each with its indexing map."""

    target: SSAValue
    """The value that receives the result: an operand, or a new result."""

    dims: tuple[int, ...]
    """The iterators that run over rows."""

    rows: tuple[int, ...]
    """The number of rows along each of these iterators."""

    @staticmethod
    def of(op: Operation, rows: Sequence[int]) -> "RowStep | None":
        """Returns `op` as work on rows; `None` unless every element that it writes belongs to one of the rows."""
        if OVERWRITTEN in op.attributes or (found := _elements_of(op)) is None:
            return None
        operands, target, map_ = found
        axes = list(_real(map_.results, target))
        dims = tuple(axis.position for axis, _ in axes if isinstance(axis, AffineDimExpr))
        is_plain = len(set(dims)) == len(axes)
        if not is_plain or not has_rows_first(target, rows):
            return None
        return RowStep(op, operands, target, dims[: len(rows)], tuple(rows))

    def row_axes(self, map_: AffineMap) -> list[RowAxes | None]:
        """Returns, for each axis of an operand, the row axes that it runs along.

        An axis runs along several row axes if they are linearized, as in `d0 * 12 + d1`. The entry is `None` if the
        index depends on a row in any other way.
        """
        return [self._axes_of(each) for each in map_.results]

    def _axes_of(self, expression: AffineExpr) -> RowAxes | None:
        axes = tuple(sorted(self.dims.index(dim) for dim in expression.used_dims() if dim in self.dims))
        if not axes:
            return ()
        first, *others = axes
        numbered: AffineExpr = AffineExpr.dimension(self.dims[first])
        for axis in others:
            numbered = numbered * self.rows[axis] + AffineExpr.dimension(self.dims[axis])
        return axes if axes == tuple(range(first, first + len(axes))) and expression == numbered else None

    def is_by_rows(self, value: SSAValue, map_: AffineMap) -> bool:
        """Whether an operand has all row axes, in order, ahead of its other axes."""
        real = [axis for axes, _ in _real(self.row_axes(map_), value) for axis in (axes or (None,))]
        return real[: len(self.dims)] == list(range(len(self.dims)))

    def goes_along(self, value: SSAValue, map_: AffineMap) -> bool:
        """Whether the innermost iteration visits adjacent elements within a row of an operand."""
        axes = [axis for axis, _ in _real(map_.results, value)]
        last = axes[-1] if axes else None
        return self.is_by_rows(value, map_) and isinstance(last, AffineDimExpr) and last.position not in self.dims

    def fault(self, written: Container[SSAValue]) -> str | None:
        """Returns why the operation cannot share a row loop with the writers of `written`; `None` if it can."""
        for value, map_ in self.operands:
            if None in self.row_axes(map_):
                return f"reads '{value.type}' at an index computed from the row index"
            if value in written and not self.is_by_rows(value, map_):
                return f"reads another row of '{value.type}', which is written in the same region"
        for op in (inner for region in self.op.regions for inner in region.walk()):
            if isinstance(op, ExtractOp) and op.tensor in written and not self._is_at_row(op):
                return f"looks up another row of '{op.tensor.type}', which is written in the same region"
            if isinstance(op, IndexOp) and op.dim.value.data in self.dims:
                users = [use.operation for use in op.result.uses]
                if not all(isinstance(user, ExtractOp) and user.tensor in written for user in users):
                    return "uses the row index beyond values written for that row"
        return None

    def _is_at_row(self, op: ExtractOp) -> bool:
        """Whether a table is indexed by the row index along each of the row axes, and by no other row index."""
        numbers = [
            index.owner.dim.value.data if isinstance(index.owner, IndexOp) else None
            for index, _ in _real(op.indices, op.tensor)
        ]
        first, others = numbers[: len(self.dims)], numbers[len(self.dims) :]
        return first == list(self.dims) and not any(number in self.dims for number in others)


def _elements_of(op: Operation) -> tuple[_Operands, SSAValue, AffineMap] | None:
    """Returns the operands with their maps, the written value, and its map; `None` if `op` does not declare them."""
    if isinstance(op, LinalgStructuredOperation):
        maps = [attribute.data for attribute in op.get_indexing_maps()]
        return (tuple(zip(op.operands, maps, strict=True)), op.outputs[0], maps[-1]) if len(op.outputs) == 1 else None
    if not isinstance(op, MapsElements):
        return None
    target = op.results[0] if op.results else op.operands[-1]
    rank = len(sizes_of(target))
    return tuple(zip(op.operands, op.element_maps(), strict=True)), target, AffineMap.identity(rank)


def takes_no_time(op: Operation) -> bool:
    """Whether `op` is a constant or an uninitialized tensor, which takes no time at run time."""
    return isinstance(op, EmptyOp) or op.has_trait(ConstantLike, value_if_unregistered=False)


def fault_among(ops: Iterable[Operation], rows: Sequence[int], given: Iterable[SSAValue] = ()) -> str | None:
    """Returns why `ops` cannot run together row by row; `None` if they can. The operations may overwrite `given`."""
    written = set(given)
    for op in ops:
        step = RowStep.of(op, rows)
        fault = f"does not write {list(rows)} rows elementwise" if step is None else step.fault(written)
        if fault is not None:
            return f"contains a {op.name} that {fault}"
        written.update(op.results)
    return None


def _begin(value: SSAValue, steps: Sequence[Operation]) -> tuple[Operation, int | None]:
    """Returns the first of `steps` that writes the tensor of `value`, and the operand that it overwrites, if any."""
    op = value.owner
    assert isinstance(op, Operation)
    operand = len(op.inputs) if isinstance(op, LinalgStructuredOperation) else None
    before = None if operand is None else op.operands[operand].owner
    # A reduction starts from its filled initial value.
    return (op, operand) if operand is None or before not in steps else _begin(op.operands[operand], steps)


@irdl_op_definition
class RowFusionOp(IRDLOperation):
    """A sequence of operations in which no operation reads a different row of a tensor that an earlier operation wrote.

    Each operation is structured or maps elements (`MapsElements`), as contractions do. `rows` are the sizes of the row
    axes: the leading axes, ignoring those of size 1, of all tensors written in the region. Each result is initialized
    with one of `outs`, which is passed to the region as an argument. Other tensors written in the region have no uses
    outside it. On memory, the operation is lowered to a loop that processes a few rows at a time.
    """

    name = "kernel.row_fusion"

    outs = var_operand_def(TensorType)
    rows = prop_def(DenseArrayBase[IntegerType])
    body = region_def("single_block")
    res = var_result_def(TensorType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format: ClassVar[str | None] = (
        "`outs` `(` $outs `:` type($outs) `)` `->` type($res) attr-dict-with-keyword $body"
    )
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, outs: Sequence[SSAValue], rows: Sequence[int], body: Region):
        super().__init__(
            operands=[outs],
            properties={"rows": DenseArrayBase.from_list(i64, rows)},
            regions=[body],
            result_types=[[value.type for value in outs]],
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of rows along each row axis."""
        return integer_list(self.rows)

    @property
    def steps(self) -> list[Operation]:
        """The computing operations in the region."""
        return [op for op in self.body.block.ops if not isinstance(op, YieldOp) and not takes_no_time(op)]

    @classmethod
    def around(cls, steps: Sequence[Operation], rows: Sequence[int]) -> "RowFusionOp":
        """Moves `steps` of one block, in order, into a new row fusion at the position of the last one."""
        body = Block()
        block, last = steps[-1].parent, steps[-1]
        assert block is not None

        def is_outside(use: Use) -> bool:
            return not any(step.is_ancestor(use.operation) for step in steps)

        given = [value for step in steps for value in step.results if any(map(is_outside, value.uses))]
        outs: list[SSAValue] = []
        for value in given:
            first, operand = _begin(value, steps)
            argument = body.insert_arg(value.type, len(body.args))
            if operand is None:  # a new tensor: its previous contents are not read
                empty = EmptyOp([], value.type)
                block.insert_op_before(empty, last)
                outs.append(empty.tensor)
            else:
                outs.append(first.operands[operand])
                first.operands[operand] = argument
        made = cls(outs, rows, Region(body))
        block.insert_op_after(made, last)
        for value, result in zip(given, made.res, strict=True):
            value.replace_uses_with_if(result, is_outside)
        for step in steps:
            step.detach()
            body.add_op(step)
        body.add_op(YieldOp(*given))
        return made

    def dissolve(self) -> list[Operation]:
        """Replaces this operation with the operations in its region, and returns them."""
        steps, end = self.steps, terminator_of(self.body.block)
        Rewriter.inline_block(self.body.block, InsertPoint.before(self), self.outs)
        for result, value in zip(self.res, end.operands, strict=True):
            result.replace_all_uses_with(value)
        for op in (end, self):
            Rewriter.erase_op(op)
        return steps

    def verify_(self) -> None:
        block, rows = self.body.block, self.sizes
        types = [value.type for value in self.outs]
        if [value.type for value in self.res] != types or [argument.type for argument in block.args] != types:
            raise VerifyException("results and block arguments must have the types of 'outs'")
        if not rows or min(rows) < 2:
            raise VerifyException(f"rows must be at least 2 along each axis, but got {list(rows)}")
        for value in self.outs:
            if not has_rows_first(value, rows):
                raise VerifyException(f"the first axes of '{value.type}' must be the rows {list(rows)}")
        if not isinstance(block.last_op, YieldOp) or [value.type for value in block.last_op.arguments] != types:
            raise VerifyException(
                f"the region must end in a kernel.yield of {len(types)} values with the types of 'outs'"
            )
        inside = [op for op in block.ops if op is not block.last_op and not takes_no_time(op)]
        if (fault := fault_among(inside, rows, block.args)) is not None:
            raise VerifyException(fault)


def _fused(frame: Any, op: RowFusionOp, outs: tuple[Any, ...]) -> tuple[Any, ...]:
    return frame.run(op.body, *outs)


EVALUATORS: dict[type[Operation], RegionEvaluator] = {
    RowMaxOp: RegionEvaluator(_reduced), RowSumOp: RegionEvaluator(_reduced), RowFusionOp: RegionEvaluator(_fused),
}  # fmt: skip
