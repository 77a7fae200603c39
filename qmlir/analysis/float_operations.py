"""Which operations compute on floats between integers that stand for real numbers: a walk along the uses of values.

A module of any level goes in; out comes the first operation that depends on such integers, computes on floats, and on
which such integers depend. Values flow from operands to results, into regions and out of them, into the functions that
are called, and through memory: what is stored is in the buffer and in every view of it. Flow is never missed; that a
buffer is written anew before it is read again is not seen.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    MemRefType,
    ModuleOp,
    TensorType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import ConstantLike, IsTerminator

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.requantize import has_common_scale, ratios, requantizes
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import CalibratedQuantizedType, Granularity, StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import as_integer, element_of

_HOLDERS = (TensorType, UnrankedTensorType, MemRefType, VectorType)

_STRUCTURAL = frozenset({"builtin", "func", "scf", "tensor", "memref", "cf"})
"""Dialects whose operations move values and compute none."""

_MOVES = frozenset(
    {
        "arith.select", "linalg.fill", "linalg.generic", "kernel.reshape", "vector.broadcast", "simd.load",
        "simd.load_partial", "simd.store", "simd.store_partial", "simd.select", "simd.gather", "simd.interleave_low",
        "simd.interleave_high", "simd.prefetch",
    }
)  # fmt: skip
"""Other operations that move values, or whose body is what computes."""

_PAIRED = frozenset({"linalg", "scf"})
"""Dialects whose regions have an argument for each of the last operands, and yield a value for each result."""

_LOOKUP_BITS = 8
"""A function of one value of so many bits is a table."""

_EXACT_COMPARISONS = (elementwise.ComparisonOp, reduction.ArgExtremeOp)
"""Operations that compare real values: of one scale, their integers."""


def _element(type_: Attribute) -> Attribute:
    return cast(TensorType[Attribute], type_).element_type if isinstance(type_, _HOLDERS) else type_


def _is_integer(value: SSAValue) -> bool:
    """Whether `value` holds integers that can stand for real numbers: no indices, no truth values."""
    element = _element(value.type)
    integer = as_integer(element)
    return isinstance(element, StoredType) if integer is None else 1 < integer.width.data < 64


def _is_float(value: SSAValue) -> bool:
    return isinstance(_element(value.type), AnyFloat | CalibratedQuantizedType)


def _is_constant(op: Operation) -> bool:
    return op.has_trait(ConstantLike, value_if_unregistered=False) or op.name in ("arith.constant", "memref.get_global")


# --- What computes on floats ------------------------------------------------------------------------------------------


def _quantized_reason(op: NnOp) -> str | None:
    """Why an operation on quantized values computes on floats; `None` where it does not."""
    if op.components is not None:
        return None if _has_integer_mode(op) else "has parts that may compute on floats"
    if op.quantization_slots().shares_parameters:
        return None
    data = [value for value in op.data_operands() if isinstance(element_of(value), StoredType)]
    if isinstance(op, _EXACT_COMPARISONS) and has_common_scale(op) and _has_one_scale(data[0]):
        return None
    if requantizes(op):
        if op.requantize is not None and op.requantize.mode is Mode.QLINEAR:
            return "computes on floats (mode qlinear)"
        return None if _has_integer_mode(op) or (ratios(op) == 1).all() else _BY_FLOATS.format(Mode.F32)
    if len(op.operands) == 1 and _is_lookup(op, data[0]):
        return None
    return "computes on floats"


_BY_FLOATS = "requantizes by a product of floats (mode {})"


def _has_integer_mode(op: NnOp) -> bool:
    return op.requantize is not None and not op.requantize.mode.uses_floats


def _has_one_scale(value: SSAValue) -> bool:
    element = element_of(value)
    return isinstance(element, UniformQuantizedType) and element.granularity is Granularity.TENSOR


def _is_lookup(op: NnOp, value: SSAValue) -> bool:
    element = element_of(value)
    is_narrow = isinstance(element, StoredType) and element.bits <= _LOOKUP_BITS
    return is_narrow and isinstance(op, elementwise.UnaryOp) and _has_one_scale(value)


def _reason(op: Operation) -> str | None:
    """Why `op` computes on floats; `None` where it does not. What its regions do is asked of the operations in them."""
    if op.dialect_name() in _STRUCTURAL or op.name in _MOVES or _is_constant(op):
        return None
    if isinstance(op, RequantizeOp):
        return _BY_FLOATS.format(op.mode.mode) if op.mode.mode.uses_floats else None
    if isinstance(op, NnOp):
        kinds = {kind_of(element_of(value)) for value in op.data_operands()}
        if Kind.QUANTIZED in kinds:
            return _quantized_reason(op)
        if op.quantization_slots().shares_parameters:
            return None
    # A contraction multiplies its first two operands; the others are what its region takes.
    values = op.operands[:2] if op.dialect_name() == "kernel" else (*op.operands, *op.results)
    return "computes on floats" if any(map(_is_float, values)) else None


# --- How values flow --------------------------------------------------------------------------------------------------


def _is_memory(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType)


def _flows(op: Operation, functions: dict[str, FuncOp]) -> Iterator[tuple[Iterable[SSAValue], Iterable[SSAValue]]]:
    """From which values to which others something flows in `op`."""
    inputs = op.operands
    is_paired = op.dialect_name() in _PAIRED and bool(op.regions)
    # An allocation that is divided says nothing of what is in its parts.
    if op.name != "memref.view" and not is_paired:
        yield inputs, op.results
    memory = [value for value in inputs if _is_memory(value)]
    if op.name in ("memref.subview", "kernel.reshape", "memref.cast", "memref.reinterpret_cast"):
        yield op.results, memory
    elif not op.results and not isinstance(op, CallOp) and not op.has_trait(IsTerminator, value_if_unregistered=False):
        yield inputs, _written(op)
    if isinstance(op, CallOp) and (function := functions.get(op.callee.string_value())) is not None:
        blocks = function.body.blocks
        if blocks:
            for argument, operand in zip(blocks[0].args, inputs, strict=True):
                yield (operand,), (argument,)
                if _is_memory(argument):
                    yield (argument,), (operand,)
            yield _terminator_operands(blocks[0]), op.results
    for region in op.regions:
        for block in region.blocks:
            last = _terminator_operands(block)
            if isinstance(op, FuncOp):
                continue
            if not is_paired:
                yield [value for value in inputs if value not in _written(op)], block.args
                # The region of a kernel runs once for an element of the result; another region may do anything.
                again = () if op.dialect_name() == "kernel" else block.args
                yield last, (*op.results, *again, *_written(op))
                continue
            yield from _pairs(inputs, block.args)
            yield from _pairs(inputs, op.results)
            yield from _pairs(last, op.results or _written(op))
            if op.dialect_name() == "scf":
                yield from _pairs(last, block.args)


def _pairs(sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> Iterator[tuple[list[SSAValue], list[SSAValue]]]:
    """Each of `sources` with the one of `targets` that stands at the same place from the end."""
    return (([source], [target]) for source, target in zip(reversed(sources), reversed(targets), strict=False))


def _written(op: Operation) -> list[SSAValue]:
    """The memory that an operation writes, if it does: its outputs, or its last operand of such a type."""
    if isinstance(op, GenericOp):
        outputs = cast(Sequence[SSAValue], op.outputs)
        return [value for value in outputs if _is_memory(value)]
    return [value for value in op.operands if _is_memory(value)][-1:]


def _terminator_operands(block: Block) -> tuple[SSAValue, ...]:
    last = block.last_op
    return tuple(last.operands) if last is not None else ()


def _reached(edges: list[tuple[list[SSAValue], list[SSAValue]]], seeds: Iterable[SSAValue]) -> set[SSAValue]:
    """The values that something flows to from one of `seeds`, those included."""
    following: dict[SSAValue, list[SSAValue]] = {}
    for sources, targets in edges:
        for source in sources:
            following.setdefault(source, []).extend(targets)
    found = set(seeds)
    open_ = list(found)
    while open_:
        for target in following.get(open_.pop(), ()):
            if target not in found:
                found.add(target)
                open_.append(target)
    return found


def _values(op: Operation) -> Iterator[SSAValue]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def float_operation_between(module: ModuleOp) -> tuple[Operation, str] | None:
    """The first operation that computes on floats between integers, and why it does; a cast only where nothing else."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    edges: list[tuple[list[SSAValue], list[SSAValue]]] = []
    integers: set[SSAValue] = set()
    for op in module.walk():
        if not _is_constant(op):
            edges += [(list(sources), list(targets)) for sources, targets in _flows(op, functions)]
            integers.update(value for value in _values(op) if _is_integer(value))
    depends = _reached(edges, integers)
    used = _reached([(targets, sources) for sources, targets in edges], integers)
    casts: list[tuple[Operation, str]] = []
    for op in module.walk():
        reason = _reason(op)
        if reason is None:
            continue
        after = op.results or _written(op)
        if any(value in depends for value in op.operands) and any(value in used for value in after):
            if not isinstance(op, DequantizeCastOp | QuantizeCastOp):
                return op, reason
            casts.append((op, reason))
    return casts[0] if casts else None
