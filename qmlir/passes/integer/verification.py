"""Passes that prove a property of a module, and change nothing.

- `kernel-analyze-ranges`: accumulators cannot overflow; remarks report the bounds on each contraction.
- `kernel-verify-custom`: custom kernels compute the same results as the operations that they replace.
- `verify-integer-only`: no float is computed between the input casts and the output casts.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, MemRefType, ModuleOp, TensorType, UnrankedTensorType, VectorType, f32
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike, IsTerminator

from qmlir.analysis.contraction_ranges import Winograd, centered_input, centered_weights, winograd
from qmlir.analysis.intervals import EMPTY, EXACT_F32, Interval, range_of_type, signed_range
from qmlir.analysis.operand_accesses import constant_array
from qmlir.analysis.value_ranges import ValueRanges, may_wrap
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.custom import CustomKernel, CustomOp, as_stored, called_kernel, stored_dtype
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.requantize import has_common_scale, ratios, requantizes
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import CalibratedQuantizedType, Granularity, StoredType, UniformQuantizedType
from qmlir.interpreter.interpreter import Frame, Interpreter
from qmlir.ir.builtin_types import as_integer, element_of, tensor
from qmlir.ir.control_flow import reached
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.evaluation import RegionEvaluator, arguments_by, evaluator_of, operand_layout
from qmlir.ir.passes import count
from qmlir.registry import at_code
from qmlir.registry.faults import RAISED, one_line

# `kernel-analyze-ranges`: the bounds on the accumulators of contractions.

_PAIR_BITS = 16


@dataclass(frozen=True)
class ContractionBounds:
    """The proven bounds on one integer contraction."""

    sums: Interval
    """The range of `sum (x - z_x)(w - z_w)`, computed per channel if the weights are constant."""

    added: Interval
    """The range of the sums after the first additions and subtractions of the epilogue."""

    wraps: bool
    """True if an addition, subtraction or multiplication of the epilogue may overflow its type."""

    requantized: Interval
    """The range of the integers that a requantization or a conversion converts to f32; empty if there are none."""

    input: Interval
    """The range of `x - z_x`."""

    weights: Interval
    """The range of `w - z_w`."""

    winograd: Winograd | None
    """The bounds on the computation with Winograd's F(2, 3), if it applies."""

    @property
    def is_f32_exact(self) -> bool:
        """True if f32 represents all requantized integers, so that only the product is rounded."""
        return self.requantized.within(-EXACT_F32, EXACT_F32)

    @property
    def fits_pairs(self) -> bool:
        """True if both operands fit in 16 bits, and the sum of two products fits in 32 bits."""
        own = signed_range(_PAIR_BITS)
        data, weights = (max(map(abs, each.values)) for each in (self.input, self.weights))
        return self.input.is_in(own) and self.weights.is_in(own) and 2 * data * weights < 1 << 31

    def __str__(self) -> str:
        parts = [f"sums are in {self.sums}"]
        if str(self.added) != str(self.sums):
            parts.append(f"with addends in {self.added}")
        if self.wraps:
            parts.append("the epilogue may wrap")
        if not self.requantized.is_empty:
            parts.append("the epilogue is exact in f32" if self.is_f32_exact else "the epilogue rounds in f32")
        pairs = "fit" if self.fits_pairs else "don't fit"
        parts.append(f"operands in {self.input} and {self.weights} {pairs} pairs of i16")
        if self.winograd is not None:
            fits = "fit" if self.winograd.fits else "don't fit"
            parts.append(f"{self.winograd} {fits}")
        return "; ".join(parts)


def bounds_of(op: ContractionOp, ranges: ValueRanges) -> ContractionBounds | None:
    """Returns the bounds on a contraction whose operands are not packed; `None` for floats."""
    sums, x, w = ranges.sums(op), centered_input(op, ranges[op.x]), centered_weights(op, ranges[op.w])
    if sums is None or x is None or w is None:
        return None
    block = op.body.block
    accumulator = block.args[0]
    added: SSAValue = accumulator
    while isinstance(last := added.get_user_of_unique_use(), arith.AddiOp | arith.SubiOp):
        added = last.result
    requantized = EMPTY
    for each in block.walk():
        if isinstance(each, RequantizeOp) and each.mode.mode.uses_floats:
            requantized = requantized.joined(ranges[each.accumulator])
        elif isinstance(each, arith.SIToFPOp) and each.result.type == f32:
            requantized = requantized.joined(ranges[each.input])
    with_addends = sums if added is accumulator else ranges[added]
    wraps = any(may_wrap(ranges, each) for each in block.walk())
    transformed = winograd(op, ranges[op.x], ranges[op.w])
    return ContractionBounds(sums, with_addends, wraps, requantized, x, w, transformed)


@dataclass(frozen=True)
class KernelAnalyzeRanges(ModulePass):
    """Proves that no accumulator of a contraction can overflow, or fails and names the contraction; changes nothing.

    Intervals propagate forward from argument types, constants and clamps through bodies, loops and data movement. If
    weights are constant, sums are bounded separately for each channel. For each integer contraction, remarks report:

    - the range of the sums, before and after the additions of the epilogue;
    - whether the epilogue may wrap;
    - whether f32 represents every integer converted to it, so that a requantization rounds the real product once;
    - whether pairs of operands fit in 16 bits each;
    - if the operands of Winograd's F(2, 3) also fit, with the input grown 2 times and the weights 3 times along each
      axis, and the scaled sums fit 32 bits.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
      %w = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
      // remark: sums are in [-892, 893]; operands in [-128, 127] and [-4, 3] fit pairs of i16
      %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32> {
      ^bb0(%acc: i32):
        kernel.yield %acc : i32
      }
      func.return %0 : tensor<1x2xi32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
      %w = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
      %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32> {
      ^bb0(%acc: i32):
        kernel.yield %acc : i32
      }
      func.return %0 : tensor<1x2xi32>
    }
    ```
    """

    name = "kernel-analyze-ranges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _analyze(function)


def _analyze(function: FuncOp) -> None:
    contractions = [op for op in function.walk() if isinstance(op, ContractionOp) and op.outs is None]
    if not contractions:
        return
    ranges = ValueRanges(function)
    for op in contractions:
        bounds = bounds_of(op, ranges)
        if bounds is None:
            continue
        if not bounds.sums.is_in(range_of_type(op.accumulator_type)):
            operands = f"operands are in {bounds.input} and {bounds.weights}, with {op.terms()} terms"
            raise op_error(op, f"sums in {bounds.sums} overflow {op.accumulator_type}: {operands}")
        emit_remark(op, str(bounds))
        count("accumulators proven")
        if not bounds.requantized.is_empty and bounds.is_f32_exact:
            count("epilogues whose integers f32 holds")


# `kernel-verify-custom`: custom kernels against the evaluators of the operations that they replace.

ROUNDS = 3
"""The minimum number of comparisons per kernel, each with new inputs."""

NUMBERS = 1024
"""The minimum number of elements that the largest operand or result of a kernel has had after all rounds."""

_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, -64.0, 64.0)
"""Special values among the normally distributed floats."""

_WIDEST = 1 << 24
"""Integers of 32 bits and more are drawn up to this magnitude, so that adding to them does not overflow."""

_UNWRITTEN = bytearray(b"\xa5")
"""The initial bytes of results."""


def _random(random: np.random.Generator, own: Attribute) -> Array:
    """Returns random elements over the whole range of a type, including its ends and zero."""
    element, shape = element_type(own), tensor(own).get_shape()
    dtype = stored_dtype(element)
    assert dtype is not None  # the verifier of the operation has checked it
    if dtype.kind == "f":
        values = random.normal(0, 4, shape).astype(dtype)
        ends: list[Any] = list(_FLOATS)
    else:
        information = np.iinfo(cast(Any, dtype))
        low, high = max(int(information.min), -_WIDEST), min(int(information.max), _WIDEST)
        ends = [0]
        if isinstance(element, StoredType):
            low, high = max(low, element.storage_min), min(high, element.storage_max)
        if isinstance(element, UniformQuantizedType):
            ends = element.zero_points.reshape(-1).tolist()
        values = random.integers(low, high, shape, endpoint=True).astype(dtype)
        ends = [low, high, *ends]
    flat = values.reshape(-1)
    positions = random.permutation(flat.size)[: -(-flat.size // 4)]
    flat[positions] = np.resize(random.permutation(np.asarray(ends, dtype)), len(positions))
    return flat.reshape(shape)


def _inputs(op: CustomOp, kernel: CustomKernel, original: Operation, random: np.random.Generator) -> list[Array]:
    """Returns a read-only array for each operand: the constants of the module, or random elements."""
    types = op.own_types[: len(op.inputs)]
    made = [_random(random, type_) for type_ in types] if kernel.inputs is None else [*kernel.inputs(original, random)]
    if len(made) != len(types):
        raise ValueError(f"expected inputs for {len(types)} operands, but got {len(made)}")
    for position, (value, own) in enumerate(zip(op.inputs, types, strict=True)):
        constant = constant_array(value)
        array = made[position] if constant is None else as_stored(constant, own)
        made[position] = np.array(array, stored_dtype(element_type(own)), order="C")
        made[position].flags.writeable = False
    return made


def _function(op: CustomOp) -> Callable[..., None]:
    try:
        found: Any = resolve_name(op.function.data)
    except Exception as error:  # a module of another package can raise anything at import
        raise op_error(op, f"cannot import '{op.function.data}': {error}") from error
    if not hasattr(found, "py_func"):
        fault = f"calls '{op.function.data}', which is not a numba function"
        raise op_error(op, f"{fault}; decorate it with numba.njit{at_code(found)}")
    return found


def _differing(found: Array, expected: Array, relative: float) -> tuple[int, ...] | None:
    """Returns the index of the first element that differs too much from the expected one; NaN equals NaN."""
    if found.dtype.kind == "f":
        is_nan = np.isnan(found) & np.isnan(expected)
        bits = f"i{found.dtype.itemsize}"
        same = (found.view(bits) == expected.view(bits)) | is_nan
        if relative:
            finite = np.abs(expected[np.isfinite(expected)])
            bound = relative * float(finite.max(initial=0))
            same |= np.abs(found.astype(np.float64) - expected) <= bound
    else:
        same = found == expected
    wrong = np.argwhere(~same)
    return None if not len(wrong) else tuple(wrong[0].tolist())


def _at(inputs: Sequence[Array], position: tuple[int, ...], shape: Sequence[int]) -> str:
    """Returns text with the elements of the operands at an index, if they have the shape of the result."""
    if not inputs or any(tuple(each.shape) != tuple(shape) for each in inputs):
        return ""
    return f" for {', '.join(str(each[position]) for each in inputs)}"


def _rounds(op: CustomOp) -> int:
    sizes = [math.prod(tensor(own).get_shape()) for own in op.own_types]
    return max(ROUNDS, -(-NUMBERS // max(*sizes, 1)))


def _evaluated(op: CustomOp, original: Operation, inputs: Sequence[Array]) -> Sequence[Any]:
    """Returns the results of `original`; its regions cannot reference a module."""
    evaluator = evaluator_of(original)
    if evaluator is None:
        raise op_error(op, f"implements '{original.name}', which the interpreter cannot evaluate")
    arguments = arguments_by(operand_layout(original), inputs)
    if isinstance(evaluator, RegionEvaluator):
        return evaluator.function(Frame(Interpreter(ModuleOp([])), {}), original, *arguments)
    return evaluator(original, *arguments)


def compare(op: CustomOp) -> None:
    """Runs a custom kernel and the evaluator on the same inputs. Raises `DiagnosticError` if their results differ."""
    (kernel, original), function = called_kernel(op), _function(op)
    random = np.random.default_rng(zlib.crc32(f"{op.function.data} {original.name}".encode()))
    for _ in range(_rounds(op)):
        try:
            inputs = _inputs(op, kernel, original, random)
        except RAISED as error:  # errors of another package's function are reported with its name
            where = at_code(kernel.inputs, error)
            what = f"cannot make inputs for '{op.function.data}': {one_line(error)}{where}"
            raise op_error(op, what) from error
        meant = _evaluated(op, original, inputs)
        expected = [np.asarray(each, order="C") for each in meant]
        found = [np.frombuffer(_UNWRITTEN * each.nbytes, each.dtype).reshape(each.shape) for each in expected]
        try:
            function(*inputs, *found)
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            raised = f"'{op.function.data}' raised {type(error).__name__}"
            raise op_error(op, f"{raised}: {first}{at_code(function)}") from error
        for number, (result, wanted) in enumerate(zip(found, expected, strict=True)):
            position = _differing(result, wanted, kernel.relative)
            if position is not None:
                which = f"result {number} at " if len(found) > 1 else "at "
                message = (
                    f"'{op.function.data}' does not compute '{original.name}': {which}{list(position)} expected "
                    f"{wanted[position]}{_at(inputs, position, result.shape)}, but got {result[position]}"
                )
                raise op_error(op, f"{message}{at_code(function)}")


def _different(module: ModuleOp) -> Iterable[CustomOp]:
    """Returns one of each set of equal calls."""
    unique: dict[Any, CustomOp] = {}
    for op in (each for each in module.walk() if isinstance(each, CustomOp)):
        constants = tuple(value if constant_array(value) is not None else None for value in op.inputs)
        unique.setdefault((op.function, op.computes, constants), op)
    return unique.values()


@dataclass(frozen=True)
class KernelVerifyCustom(ModulePass):
    """Runs every custom kernel, and compares its results with the evaluator of the operation that it replaces.

    Each kernel runs on arrays of the actual shapes. Constant operands keep their values. All others get the inputs that
    the package provides or, by default, random elements: integers over the range of their type, up to a magnitude of
    2^24, and finite floats. A kernel runs at least three times, and until its largest operand or result has had at
    least a thousand elements. Integers must be equal and floats bit-identical, unless the package defines a tolerance
    (`CustomKernel.relative`). An element that the kernel does not write counts as different. The module is unchanged; a
    difference is an error that names the function, the operation and the first differing element.

    Accepted as it is:

    ```mlir
    func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
      func.return %x : tensor<4xi8>
    }
    ```
    """

    name = "kernel-verify-custom"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in _different(op):
            compare(each)
            count("kernels compared")


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
    is_float = any(isinstance(_element(value.type), AnyFloat | CalibratedQuantizedType) for value in values)
    return "computes on floats" if is_float else None


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
    yield from (argument for region in op.regions for block in region.blocks for argument in block.args)


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
