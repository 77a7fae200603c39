"""`verify-integer-only`: proves that no float is computed between the input casts and the output casts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
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
from xdsl.passes import ModulePass
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
from qmlir.ir.control_flow import reached
from qmlir.ir.diagnostics import op_error

# Float operations between integers that represent real numbers: a data-flow analysis.
#
# For a module at any level, the analysis finds the first operation that computes on floats, depends on such integers,
# and has such integers depend on it. Data flows from operands to results, into and out of regions and called functions,
# and through memory (a buffer shares its contents with all its views). The analysis is conservative: it misses no flow,
# but doesn't notice that a buffer is overwritten before it is read again.

_HOLDERS = (TensorType, UnrankedTensorType, MemRefType, VectorType)

_STRUCTURAL = frozenset({"builtin", "func", "scf", "tensor", "memref", "cf"})
"""Dialects whose operations move values without computing on them."""

_MOVES = frozenset(
    {
        "arith.select", "linalg.fill", "linalg.generic", "kernel.reshape", "vector.broadcast", "simd.load",
        "simd.load_partial", "simd.store", "simd.store_partial", "simd.select", "simd.gather", "simd.interleave_low",
        "simd.interleave_high", "simd.prefetch",
    }
)  # fmt: skip
"""Other operations that move values, or that compute only in their body."""

_PAIRED = frozenset({"linalg", "scf"})
"""Dialects whose block arguments correspond to the last operands, and their yielded values to the results."""

_LOOKUP_BITS = 8
"""A unary function of at most this many bits is a lookup table."""

_EXACT_COMPARISONS = (elementwise.ComparisonOp, reduction.ArgExtremeOp)
"""Operations that only compare values: if their operands share one scale, they compare the stored integers."""


def _element(type_: Attribute) -> Attribute:
    return cast(TensorType[Attribute], type_).element_type if isinstance(type_, _HOLDERS) else type_


def _is_integer(value: SSAValue) -> bool:
    """Returns True if `value` holds integers that can represent real numbers, not indices or booleans."""
    element = _element(value.type)
    integer = as_integer(element)
    return isinstance(element, StoredType) if integer is None else 1 < integer.width.data < 64


def _is_float(value: SSAValue) -> bool:
    return isinstance(_element(value.type), AnyFloat | CalibratedQuantizedType)


def _is_constant(op: Operation) -> bool:
    return op.has_trait(ConstantLike, value_if_unregistered=False) or op.name in ("arith.constant", "memref.get_global")


# --- Operations that compute on floats --------------------------------------------------------------------------------


def _quantized_reason(op: NnOp) -> str | None:
    """Returns why an operation on quantized values computes on floats, or `None` if it doesn't."""
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
    """Returns why `op` computes on floats, or `None` if it doesn't. The operations in its regions are not examined."""
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
    # A contraction multiplies its first two operands; its region reads the others.
    values = op.operands[:2] if op.dialect_name() == "kernel" else (*op.operands, *op.results)
    return "computes on floats" if any(map(_is_float, values)) else None


# --- How values flow --------------------------------------------------------------------------------------------------


def _is_memory(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType)


def _flows(op: Operation, functions: dict[str, FuncOp]) -> Iterator[tuple[Iterable[SSAValue], Iterable[SSAValue]]]:
    """Yields pairs of values in `op`: data flows from each of the first to each of the second."""
    inputs = op.operands
    is_paired = op.dialect_name() in _PAIRED and bool(op.regions)
    # `memref.view` divides an allocation: its parts are independent buffers.
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
                # The region of a kernel runs once per element of the result; any other region may run repeatedly.
                again = () if op.dialect_name() == "kernel" else block.args
                yield last, (*op.results, *again, *_written(op))
                continue
            yield from _pairs(inputs, block.args)
            yield from _pairs(inputs, op.results)
            yield from _pairs(last, op.results or _written(op))
            if op.dialect_name() == "scf":
                yield from _pairs(last, block.args)


def _pairs(sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> Iterator[tuple[list[SSAValue], list[SSAValue]]]:
    """Pairs `sources` with `targets`, aligned at their ends."""
    return (([source], [target]) for source, target in zip(reversed(sources), reversed(targets), strict=False))


def _written(op: Operation) -> list[SSAValue]:
    """Returns the buffers that an operation without results writes: its outputs, or its last memref operand."""
    if isinstance(op, GenericOp):
        outputs = cast(Sequence[SSAValue], op.outputs)
        return [value for value in outputs if _is_memory(value)]
    return [value for value in op.operands if _is_memory(value)][-1:]


def _terminator_operands(block: Block) -> tuple[SSAValue, ...]:
    last = block.last_op
    return tuple(last.operands) if last is not None else ()


def _after(edges: list[tuple[list[SSAValue], list[SSAValue]]], seeds: Iterable[SSAValue]) -> set[SSAValue]:
    """Returns the values that data of `seeds` can reach, including `seeds`."""
    following: dict[SSAValue, list[SSAValue]] = {}
    for sources, targets in edges:
        for source in sources:
            following.setdefault(source, []).extend(targets)
    return set(reached(seeds, lambda value: following.get(value, ())))


def _values(op: Operation) -> Iterator[SSAValue]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def float_operation_between(module: ModuleOp) -> tuple[Operation, str] | None:
    """Returns the first operation that computes on floats between integers, and the reason.

    A cast is returned only if no other operation violates the property.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    edges: list[tuple[list[SSAValue], list[SSAValue]]] = []
    integers: set[SSAValue] = set()
    for op in module.walk():
        if not _is_constant(op):
            edges += [(list(sources), list(targets)) for sources, targets in _flows(op, functions)]
            integers.update(value for value in _values(op) if _is_integer(value))
    depends = _after(edges, integers)
    used = _after([(targets, sources) for sources, targets in edges], integers)
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


@dataclass(frozen=True)
class VerifyIntegerOnly(ModulePass):
    """Fails if floats are computed between integers, and names the first such operation; changes nothing.

    An operation violates the property if it computes on floats, depends on integers that represent real numbers, and
    contributes to such integers. Operations before the quantization of inputs and after the output casts may compute in
    float. The pass supports quantized `nn`, the integer level and loops. A function of one 8-bit value is always
    accepted, because it can be compiled to a lookup table.

    Accepted as it is:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!x>
      %1 = nn.relu %0 {requantize = #kernel.requantize<shift, even>} : tensor<2x!x>
      %2 = quant.dcast %1 : tensor<2x!x> to tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```
    """

    name = "verify-integer-only"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = float_operation_between(op)
        if found is not None:
            operation, reason = found
            raise op_error(operation, f"{reason}; between the casts at inputs and outputs, all values must be integers")
