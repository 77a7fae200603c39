"""How each operation of an epilogue is written on whole registers: a table, to which packages add rows.

An operation without a row, or with elements that no register holds, makes its epilogue one of scalars. What a package
has is in the table `loops.forms` of its `Contribution`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, MemRefType, f32, i32
from xdsl.dialects.vector import FMAOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir import registry
from qmlir.dialects.kernel.ops import JoinOp, RequantizeOp, scalar_of
from qmlir.dialects.simd.base import bits_of
from qmlir.dialects.simd.lanes import RoundToIntOp
from qmlir.dialects.simd.memory import GatherOp
from qmlir.targets.cpu.loops.contraction.geometry import innermost_is_dense
from qmlir.targets.cpu.loops.emitter import CONVERSIONS, Emitter, VectorEmitter, expand_join, expanded, function_name
from qmlir.targets.cpu.loops.requantize import expand_requantize


def is_held(element: Attribute, *, in_memory: bool) -> bool:
    """Returns true if vectors support the element type; `in_memory` excludes types that share a byte."""
    if isinstance(element, IndexType):
        return not in_memory
    width = bits_of(element)
    return width in (8, 16, 32, 64) or (width == 1 and not in_memory)


def _holds_results(op: Operation) -> bool:
    return not op.regions and all(is_held(value.type, in_memory=False) for value in op.results)


@dataclass(frozen=True)
class Form:
    """How an operation is written by an emitter of vectors, from operands that are vectors."""

    write: Callable[[Emitter, Any, Sequence[SSAValue]], SSAValue]
    accepts: Callable[[Any], bool] = _holds_results
    """Whether registers do for this one."""
    reads_memory: bool = False
    """Whether operands that are the same for all lanes stay what they are."""
    writes_scalars: bool = False
    """Whether an emitter of scalars writes it, too: it is not an operation of the loops."""


def _binary(emit: Emitter, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    return emit.binary(type(op), values[0], values[1])


def _convert(emit: Emitter, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    return emit.convert(type(op), values[0], op.results[0].type)


def _to_integer(emit: Emitter, op: arith.FPToSIOp, values: Sequence[SSAValue]) -> SSAValue:
    """A whole number that was rounded from a float is that float, rounded and converted in one step."""
    whole = values[0].owner
    if isinstance(whole, math.RoundEvenOp) and op.input.type == f32 and op.result.type == i32:
        return emit.insert(RoundToIntOp(whole.operand))
    return _convert(emit, op, values)


def _fused(emit: Emitter, op: math.FmaOp, values: Sequence[SSAValue]) -> SSAValue:
    return emit.insert(FMAOp(*values))


def _constant(emit: Emitter, op: arith.ConstantOp, values: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op.value, IntegerAttr | FloatAttr)
    return emit.constant(cast(Any, op.value).value.data, op.result.type)


def _compare(predicates: Sequence[str]) -> Form:
    return Form(lambda emit, op, values: emit.compare(predicates[int(op.predicate.value.data)], values[0], values[1]))


def _look_up(emit: Emitter, op: memref.LoadOp, values: Sequence[SSAValue]) -> SSAValue:
    table, places = values
    assert isinstance(emit, VectorEmitter)
    return emit.insert(GatherOp(table, places, emit.typed(op.res.type)))


def _is_table(op: memref.LoadOp) -> bool:
    return len(op.indices) == 1 and innermost_is_dense(op.memref) and is_held(op.res.type, in_memory=True)


def _unary(emit: Emitter, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    return emit.insert(cast(Any, type(op))(values[0]))


_OF_ONE: tuple[type[Operation], ...] = (
    arith.NegfOp, math.AbsFOp, math.CeilOp, math.CountLeadingZerosOp, math.FloorOp, math.SqrtOp,
)  # fmt: skip
"""The same of one operand."""

_LANEWISE: tuple[type[Operation], ...] = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.ShLIOp, arith.ShRSIOp,
    arith.ShRUIOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, arith.AddfOp, arith.SubfOp, arith.MulfOp,
    arith.DivfOp, arith.MaximumfOp, arith.MinimumfOp, math.CopySignOp,
)  # fmt: skip
"""Operations of two operands that take vectors as they take scalars."""

FORMS: Mapping[type[Operation], Form] = {
    **dict.fromkeys(_LANEWISE, Form(_binary)),
    **dict.fromkeys(_OF_ONE, Form(_unary)),
    **dict.fromkeys(CONVERSIONS, Form(_convert)),
    arith.FPToSIOp: Form(_to_integer),
    math.FmaOp: Form(_fused),
    arith.ConstantOp: Form(_constant, writes_scalars=True),
    arith.CmpiOp: _compare(arith.CMPI_COMPARISON_OPERATIONS),
    arith.CmpfOp: _compare(arith.CMPF_COMPARISON_OPERATIONS),
    arith.SelectOp: Form(lambda emit, op, values: emit.select(*values)),
    math.RoundEvenOp: Form(lambda emit, op, values: emit.round_even(*values)),
    RequantizeOp: Form(
        lambda emit, op, values: expand_requantize(emit, op, values[0], values[1:]), writes_scalars=True
    ),
    JoinOp: Form(lambda emit, op, values: expand_join(emit, op, values), writes_scalars=True),
    memref.LoadOp: Form(_look_up, accepts=_is_table, reads_memory=True),
}
"""How each operation of a body is written; functions that the loops expand are written by `expansion`."""


def form_of(op: Operation) -> Form | None:
    """How `op` is written on registers, `None` where nobody says it."""
    name = function_name(op)
    if name is not None:
        return Form(lambda emit, op, values: expanded(emit, name, values), accepts=lambda op: True)
    return registry.table("loops.forms").get(type(op))


def has_form(op: Operation) -> bool:
    """Whether registers do for `op`."""
    form = form_of(op)
    return form is not None and form.accepts(op)


def written_on(emit: VectorEmitter, op: Operation, values: Mapping[SSAValue, SSAValue]) -> SSAValue:
    """Write `op`, which has a form, on registers: what `values` has for its operands, or the same for all."""
    form = form_of(op)
    assert form is not None
    operands = [values.get(operand, operand) for operand in op.operands]
    # What comes from outside the region is the same for all lanes; a table stays what it is.
    return form.write(
        emit, op, [emit.splat(value) if is_scalar(value) and not form.reads_memory else value for value in operands]
    )


def is_scalar(value: SSAValue) -> bool:
    """Whether a value is neither a vector nor memory."""
    return scalar_of(value.type) == value.type and not isinstance(value.type, MemRefType)
