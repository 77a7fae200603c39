"""The vector form of each operation that can occur in an epilogue: a table to which packages add rows.

If an operation has no row, or an element type that vectors don't support, its whole epilogue is emitted on scalars. A
package adds rows in the table `loops.forms` of its `Contribution`.
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
from qmlir.targets.cpu.loops import emitter
from qmlir.targets.cpu.loops.geometry import innermost_is_dense


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
    """The vector form of an operation: `write` emits it with a vector emitter, given vector operands."""

    write: Callable[[emitter.Emitter, Any, Sequence[SSAValue]], SSAValue]
    accepts: Callable[[Any], bool] = _holds_results
    """A predicate for the operations that this form supports."""
    reads_memory: bool = False
    """True if scalar operands are passed unchanged, not broadcast to all lanes."""
    writes_scalars: bool = False
    """True if scalar emitters also use this form, since the operation itself is not valid in loops."""


def _binary(emit: emitter.Emitter, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    return emit.binary(type(op), values[0], values[1])


def _convert(emit: emitter.Emitter, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    return emit.convert(type(op), values[0], op.results[0].type)


def _to_integer(emit: emitter.Emitter, op: arith.FPToSIOp, values: Sequence[SSAValue]) -> SSAValue:
    """A whole number that was rounded from a float is that float, rounded and converted in one step."""
    whole = values[0].owner
    if isinstance(whole, math.RoundEvenOp) and op.input.type == f32 and op.result.type == i32:
        return emit.insert(RoundToIntOp(whole.operand))
    return _convert(emit, op, values)


def _fused(emit: emitter.Emitter, op: math.FmaOp, values: Sequence[SSAValue]) -> SSAValue:
    return emit.insert(FMAOp(*values))


def _constant(emit: emitter.Emitter, op: arith.ConstantOp, values: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op.value, IntegerAttr | FloatAttr)
    return emit.constant(cast(Any, op.value).value.data, op.result.type)


def _compare(predicates: Sequence[str]) -> Form:
    return Form(lambda emit, op, values: emit.compare(predicates[int(op.predicate.value.data)], values[0], values[1]))


def _look_up(emit: emitter.Emitter, op: memref.LoadOp, values: Sequence[SSAValue]) -> SSAValue:
    table, positions = values
    assert isinstance(emit, emitter.VectorEmitter)
    return emit.insert(GatherOp(table, positions, emit.typed(op.res.type)))


def _is_table(op: memref.LoadOp) -> bool:
    return len(op.indices) == 1 and innermost_is_dense(op.memref) and is_held(op.res.type, in_memory=True)


def _unary(emit: emitter.Emitter, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    return emit.insert(cast(Any, type(op))(values[0]))


_OF_ONE: tuple[type[Operation], ...] = (
    arith.NegfOp, math.AbsFOp, math.CeilOp, math.CountLeadingZerosOp, math.FloorOp, math.SqrtOp,
)  # fmt: skip
"""Unary operations that accept vectors as well as scalars."""

_LANEWISE: tuple[type[Operation], ...] = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.ShLIOp, arith.ShRSIOp,
    arith.ShRUIOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, arith.AddfOp, arith.SubfOp, arith.MulfOp,
    arith.DivfOp, arith.MaximumfOp, arith.MinimumfOp, math.CopySignOp,
)  # fmt: skip
"""Binary operations that accept vectors as well as scalars."""

FORMS: Mapping[type[Operation], Form] = {
    **dict.fromkeys(_LANEWISE, Form(_binary)),
    **dict.fromkeys(_OF_ONE, Form(_unary)),
    **dict.fromkeys(emitter.CONVERSIONS, Form(_convert)),
    arith.FPToSIOp: Form(_to_integer),
    math.FmaOp: Form(_fused),
    arith.ConstantOp: Form(_constant, writes_scalars=True),
    arith.CmpiOp: _compare(arith.CMPI_COMPARISON_OPERATIONS),
    arith.CmpfOp: _compare(arith.CMPF_COMPARISON_OPERATIONS),
    arith.SelectOp: Form(lambda emit, op, values: emit.select(*values)),
    math.RoundEvenOp: Form(lambda emit, op, values: emit.round_even(*values)),
    RequantizeOp: Form(
        lambda emit, op, values: emitter.expand_requantize(emit, op, values[0], values[1:]), writes_scalars=True
    ),
    JoinOp: Form(lambda emit, op, values: emitter.expand_join(emit, op, values), writes_scalars=True),
    memref.LoadOp: Form(_look_up, accepts=_is_table, reads_memory=True),
}
"""The vector form of each operation; math functions that are expanded get theirs from `form_of`."""


def form_of(op: Operation) -> Form | None:
    """Returns the vector form of `op`; `None` if it has none."""
    name = emitter.function_name(op)
    if name is not None:
        return Form(lambda emit, op, values: emitter.expanded(emit, name, values), accepts=lambda op: True)
    return registry.table("loops.forms").get(type(op))


def has_form(op: Operation) -> bool:
    """Returns true if `op` can be emitted on vectors."""
    form = form_of(op)
    return form is not None and form.accepts(op)


def written_on(emit: emitter.VectorEmitter, op: Operation, values: Mapping[SSAValue, SSAValue]) -> SSAValue:
    """Emits `op`, which must have a vector form, on vectors.

    `values` maps operands of `op` to vectors. Other scalar operands are broadcast to all lanes.
    """
    form = form_of(op)
    assert form is not None
    operands = [values.get(operand, operand) for operand in op.operands]
    # Values from outside the region are the same for all lanes; a lookup table is passed unchanged.
    return form.write(
        emit, op, [emit.splat(value) if is_scalar(value) and not form.reads_memory else value for value in operands]
    )


def is_scalar(value: SSAValue) -> bool:
    """Returns true if a value is neither a vector nor a memref."""
    return scalar_of(value.type) == value.type and not isinstance(value.type, MemRefType)
