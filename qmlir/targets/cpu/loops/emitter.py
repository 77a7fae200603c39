"""Emitters of loop bodies: one set of methods for scalars and for vectors."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import product
from math import prod
from typing import Self

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, builtin, math, memref, scf, vector
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from qmlir.arithmetic import litert
from qmlir.arithmetic.arrays import integer_limits
from qmlir.arithmetic.functions import FUNCTIONS
from qmlir.arithmetic.functions.single import reciprocal_root
from qmlir.arithmetic.requantization import FRACTION_BITS, Mode, Ties
from qmlir.dialects.kernel.lowering.scalars import STEPS, ArithBuilder, Number, Scalar, number_attribute
from qmlir.dialects.kernel.ops import JoinOp, RequantizeOp, scalar_of
from qmlir.dialects.simd import base as simd
from qmlir.dialects.simd.base import AnyVector, element_of, lanes_of, tile_of
from qmlir.dialects.simd.base import vector as vector_type
from qmlir.dialects.simd.lanes import (
    CompareOp,
    Conversion,
    ConvertOp,
    InterleaveHighOp,
    InterleaveLowOp,
    RoundToIntOp,
    SelectOp,
    StackOp,
)
from qmlir.ir.builtin_types import AnyMemRef, bounds_of, memref_type
from qmlir.ir.diagnostics import op_error

# `Emitter` creates scalar operations; `VectorEmitter` overrides it for vectors. An expansion written against `Emitter`
# works with both: it specifies element types, and the emitter creates scalars or vectors of them.
#
# Constants are created once, before the loops. Affine expressions become index arithmetic.

Index = SSAValue | int
"""A constant index, or a value of type `index`."""

_INDEX = builtin.IndexType()

_MAGIC = 1.5 * 2**23
"""Added to an f32 of magnitude up to 2^22, this leaves the integer (rounded ties to even) in the low bits."""

_MAGIC_BITS = int(np.float32(_MAGIC).view(np.int32))


def bits_of(type_: Attribute) -> int:
    """Returns the bit width of a number type, or of the elements of a vector."""
    return simd.bits_of(scalar_of(type_))


class Emitter(ArithBuilder):
    """Creates scalar operations at `builder`, and each constant once at `constants`.

    A subclass for vectors overrides `round_to_integer` in addition to the methods that `ArithBuilder` names.
    """

    def __init__(self, builder: Builder, constants: Builder):
        super().__init__(builder)
        self.constants = constants
        self._known: dict[tuple[Attribute, str], SSAValue] = {}

    def at(self, builder: Builder) -> Self:
        """Returns an emitter of the same kind, with the same constants, that inserts at `builder`."""
        other = copy(self)
        other.builder = builder
        return other

    def at_end(self, block: Block) -> Self:
        """Returns an emitter of the same kind, with the same constants, that inserts at the end of `block`."""
        return self.at(Builder(InsertPoint.at_end(block)))

    @contextmanager
    def loop(
        self, end: Index, start: Index = 0, step: int = 1, *, threads: bool = False
    ) -> Generator[tuple[Self, Index]]:
        """Creates a loop from `start` to below `end`; yields the emitter of its body and the induction variable.

        No loop is created for a single iteration. With `threads`, iterations must be independent, since threads may
        divide them.
        """
        if (start, end, step) == (0, 1, 1):
            yield self, 0
            return
        bounds = self.index(start), self.index(end), self.index(step)
        block = Block(arg_types=[builtin.IndexType()])
        inner = self.at_end(block)
        yield inner, block.args[0]
        if threads:
            inner.builder.insert(scf.ReduceOp())
            self.builder.insert(scf.ParallelOp([bounds[0]], [bounds[1]], [bounds[2]], Region(block)))
        else:
            inner.builder.insert(scf.YieldOp())
            self.builder.insert(scf.ForOp(*bounds, [], block))

    def carried(
        self, end: Index, values: Sequence[SSAValue],
        write: Callable[[Self, Index, Sequence[SSAValue]], Sequence[SSAValue]], start: Index = 0, step: int = 1,
    ) -> Sequence[SSAValue]:  # fmt: skip
        """Creates a loop with loop-carried `values` around the operations of `write`; returns the final values."""
        if (start, end, step) == (0, 1, 1):
            return write(self, 0, values)
        bounds = self.index(start), self.index(end), self.index(step)
        block = Block(arg_types=[builtin.IndexType(), *(value.type for value in values)])
        inner = self.at_end(block)
        inner.builder.insert(scf.YieldOp(*write(inner, block.args[0], block.args[1:])))
        return self.builder.insert(scf.ForOp(*bounds, values, block)).results

    def scalar_constant(self, number: Number, element: Attribute) -> SSAValue:
        key = element, str(number)  # -0.0 equals 0.0 and is another constant
        if key not in self._known:
            self._known[key] = self.constants.insert(arith.ConstantOp(number_attribute(number, element))).result
        return self._known[key]

    def index(self, value: Index) -> SSAValue:
        """Returns an index as an SSA value."""
        return self.scalar_constant(value, _INDEX) if isinstance(value, int) else value

    def resize(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Sign-extends or truncates an integer to the width of `element`."""
        difference = bits_of(element) - bits_of(value.type)
        if not difference:
            return value
        return self.convert(arith.ExtSIOp if difference > 0 else arith.TruncIOp, value, element)

    def clamp(self, value: SSAValue, low: float, high: float) -> SSAValue:
        """Clamps `value` to [low, high], which its type must represent exactly. A float must not be NaN."""
        element = scalar_of(value.type)
        bounds = self.constant(low, element), self.constant(high, element)
        if not isinstance(element, builtin.AnyFloat):
            return self.binary(arith.MinSIOp, self.binary(arith.MaxSIOp, value, bounds[0]), bounds[1])
        # CPUs fuse a compare and a select into one instruction; arith.maximumf must also handle NaN and -0.
        value = self.select(self.compare("ogt", value, bounds[0]), value, bounds[0])
        return self.select(self.compare("olt", value, bounds[1]), value, bounds[1])

    def round_even(self, value: SSAValue) -> SSAValue:
        """Rounds a float to an integral value, ties to even."""
        return self.insert(math.RoundEvenOp(value))

    def round_to_integer(self, value: SSAValue, offset: int) -> SSAValue:
        """Rounds an f32 of magnitude up to 2^22 to an integer, ties to even, and returns it plus `offset` as i32.

        Adding 1.5 * 2^23 leaves no bits for a fraction, so the addition rounds. The bits of the sum, minus those of
        that constant, are the integer.
        """
        shifted = self.binary(arith.AddfOp, value, self.constant(_MAGIC, scalar_of(value.type)))
        bits = self.convert(arith.BitcastOp, shifted, builtin.i32)
        return self.binary(arith.AddiOp, bits, self.constant(offset - _MAGIC_BITS, builtin.i32))

    def load(self, memory: SSAValue, position: Sequence[Index]) -> SSAValue:
        """Loads the element at index `position`."""
        indices, element = [self.index(index) for index in position], memory_of(memory).get_element_type()
        return self.insert(memref.LoadOp(operands=[memory, indices], result_types=[element]))

    def store(self, value: SSAValue, memory: SSAValue, position: Sequence[Index]) -> None:
        """Stores `value` at index `position`."""
        self.builder.insert(memref.StoreOp.get(value, memory, [self.index(index) for index in position]))


CONVERSIONS: Mapping[type[Operation], Conversion] = {kind: name for name, kind in ConvertOp.ARITH.items()}
"""The vector conversion for each conversion of `arith`."""


class VectorEmitter(Emitter):
    """Creates operations on registers of `lanes` lanes; shares scalars with the emitter from which it was created.

    If `tile` is not empty, operations compute on register tiles of that shape: all of their registers at once.
    """

    def __init__(self, builder: Builder, constants: Builder, lanes: int, tile: tuple[int, ...] = ()):
        super().__init__(builder, constants)
        self.lanes = lanes
        self.tile = tile
        self._splats: dict[tuple[AnyVector, str], SSAValue] = {}

    @classmethod
    def of(cls, emit: Emitter, lanes: int, tile: tuple[int, ...] = ()) -> "VectorEmitter":
        """Returns a vector emitter with the insertion point and constants of `emit`."""
        made = cls(emit.builder, emit.constants, lanes, tile)
        made._known = emit._known
        if isinstance(emit, VectorEmitter):
            made._splats = emit._splats
        return made

    def with_lanes(self, lanes: int) -> "VectorEmitter":
        """Returns this emitter with another number of lanes."""
        return VectorEmitter.of(self, lanes, self.tile)

    def over(self, *tile: int) -> "VectorEmitter":
        """Returns an emitter of operations on register tiles of the shape `tile`; on registers without an argument."""
        return VectorEmitter.of(self, self.lanes, tile)

    def typed(self, element: Attribute) -> AnyVector:
        return vector_type(self.lanes, element, self.tile)

    def stacked(self, values: Sequence[SSAValue]) -> SSAValue:
        """Returns the tile of this emitter's shape that consists of `values`: registers, or tiles of the same shape."""
        rank = len(self.tile) - len(tile_of(values[0]))
        return self.insert(StackOp(values, self.tile[:rank]))

    def extended(self, value: SSAValue) -> SSAValue:
        """Repeats a tile along its axes of size 1, and along axes that it lacks, to the shape of this emitter."""
        type_ = vector_type(lanes_of(value), element_of(value), self.tile)
        return value if value.type == type_ else self.insert(vector.BroadcastOp(value, type_))

    def at_place(self, value: SSAValue, *position: int) -> SSAValue:
        """Returns the register, or the smaller tile, at `position` of a tile."""
        if not position:
            return value
        type_ = vector_type(lanes_of(value), element_of(value), tile_of(value)[len(position) :])
        return self.insert(vector.ExtractOp(value, list(position), type_))

    def each(self, value: SSAValue) -> list[SSAValue]:
        """Returns the parts of a tile along its first axis."""
        return [self.at_place(value, place) for place in range(tile_of(value)[0])]

    def by_registers(
        self, write: Callable[["VectorEmitter", Sequence[SSAValue]], SSAValue], *values: SSAValue
    ) -> SSAValue:
        """Returns the tile of the results of `write` for each register of `values`, with an emitter of registers."""
        alone, places = self.over(), product(*map(range, self.tile))
        return self.stacked([write(alone, [self.at_place(each, *place) for each in values]) for place in places])

    def splat(self, value: SSAValue) -> SSAValue:
        """Broadcasts a scalar to all lanes."""
        return self.insert(vector.BroadcastOp(value, self.typed(value.type)))

    def constant(self, number: Number, element: Attribute) -> SSAValue:
        key = self.typed(element), str(number)
        if key not in self._splats:
            scalar = self.scalar_constant(number, element)
            op = self.constants.insert(vector.BroadcastOp(scalar, key[0]))
            self._splats[key] = op.results[0]
        return self._splats[key]

    def convert(self, kind: type[Operation], value: SSAValue, element: Attribute) -> SSAValue:
        return self.insert(ConvertOp(value, CONVERSIONS[kind], self.typed(element)))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(CompareOp(predicate, a, b))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(SelectOp(condition, a, b))

    def part(self, value: SSAValue, start: int, count: int) -> SSAValue:
        """Extracts `count` consecutive lanes of each register, beginning at lane `start`."""
        if self.tile:
            return self.by_registers(lambda alone, values: alone.part(values[0], start, count), value)
        mask = builtin.DenseArrayBase.from_list(builtin.i64, list(range(start, start + count)))
        return self.insert(vector.ShuffleOp(value, value, mask, result_type=vector_type(count, scalar_of(value.type))))

    def joined(self, first: SSAValue, second: SSAValue) -> SSAValue:
        """Concatenates the lanes of two registers, or of the registers of two tiles."""
        if self.tile:
            return self.by_registers(lambda alone, values: alone.joined(*values), first, second)
        lanes = 2 * lanes_of(first)
        mask = builtin.DenseArrayBase.from_list(builtin.i64, list(range(lanes)))
        return self.insert(vector.ShuffleOp(first, second, mask, result_type=vector_type(lanes, element_of(first))))

    def lane(self, value: SSAValue, position: int) -> SSAValue:
        """Extracts the lane at index `position`."""
        return self.insert(vector.ExtractOp(value, [position], scalar_of(value.type)))

    def round_to_integer(self, value: SSAValue, offset: int) -> SSAValue:
        rounded = self.insert(RoundToIntOp(value))
        if not offset:
            return rounded
        return self.binary(arith.AddiOp, rounded, self.constant(offset, scalar_of(rounded.type)))


def least(expression: AffineExpr, ranges: Sequence[int]) -> int:
    """Returns a lower bound on an affine expression whose dimensions are in [0, `ranges`)."""
    return bounds_of(expression, ranges)[0]


def emit_expression(emit: Emitter, expression: AffineExpr, dims: Sequence[Index], ranges: Sequence[int]) -> Index:
    """Emits an affine expression over `dims`, which are below `ranges`; folds constants."""
    match expression:
        case AffineConstantExpr():
            return expression.value
        case AffineDimExpr():
            return dims[expression.position]
        case AffineBinaryOpExpr():
            a = emit_expression(emit, expression.lhs, dims, ranges)
            b = emit_expression(emit, expression.rhs, dims, ranges)
            is_natural = least(expression.lhs, ranges) >= 0
            return emit_binary(emit, expression.kind, a, b, is_natural)
        case _:
            raise NotImplementedError(f"{expression} has symbols")


def emit_binary(emit: Emitter, kind: AffineBinaryOpKind, a: Index, b: Index, is_natural: bool = False) -> Index:
    """Emits the operation `kind` on `a` and `b`, folded if both are constant; `is_natural`: `a` is not negative."""
    if isinstance(a, int) and isinstance(b, int):
        return AffineExpr.binary(kind, AffineExpr.constant(a), AffineExpr.constant(b)).eval([], [])
    match kind:
        case AffineBinaryOpKind.Add:
            return a if b == 0 else b if a == 0 else _write(emit, arith.AddiOp, a, b)
        case AffineBinaryOpKind.Mul:
            if a == 0 or b == 0:
                return 0
            return a if b == 1 else b if a == 1 else _write(emit, arith.MuliOp, a, b)
        case AffineBinaryOpKind.FloorDiv:
            return a if b == 1 else _write(emit, arith.DivUIOp if is_natural else arith.FloorDivSIOp, a, b)
        case AffineBinaryOpKind.CeilDiv:
            return a if b == 1 else _write(emit, arith.CeilDivUIOp if is_natural else arith.CeilDivSIOp, a, b)
        case AffineBinaryOpKind.Mod:
            if b == 1:
                return 0
            if is_natural:
                return _write(emit, arith.RemUIOp, a, b)
            whole = _write(emit, arith.MuliOp, _write(emit, arith.FloorDivSIOp, a, b), b)
            return _write(emit, arith.SubiOp, a, whole)


def _write(emit: Emitter, kind: type[Operation], a: Index, b: Index) -> SSAValue:
    return emit.binary(kind, emit.index(a), emit.index(b))


def emit_place(emit: Emitter, map_: AffineMap, dims: Sequence[Index], ranges: Sequence[int]) -> list[Index]:
    """Emits the results of an affine map."""
    return [emit_expression(emit, expression, dims, ranges) for expression in map_.results]


def memory_of(value: SSAValue) -> AnyMemRef:
    """Returns the type of a value, which must be a memref."""
    found = memref_type(value)
    assert found is not None
    return found


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the row-major strides of a shape, in elements."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def step_along(dim: int, map_: AffineMap, strides: Sequence[int | None], rank: int) -> int:
    """Returns the distance in memory per step of iterator `dim`, in elements; dynamic strides count as 0."""
    origin, next_ = [0] * rank, [int(axis == dim) for axis in range(rank)]
    steps = (expression.eval(next_, ()) - expression.eval(origin, ()) for expression in map_.results)
    return sum(step * stride for step, stride in zip(steps, strides, strict=True) if stride is not None)


def plain_axes(map_: AffineMap) -> list[int | None]:
    """Returns the iterator that indexes each axis of an operand directly; `None` for any other expression."""
    return [expression.position if isinstance(expression, AffineDimExpr) else None for expression in map_.results]


def add(emit: Emitter, a: Index, b: Index) -> Index:
    """Emits `a + b`, folded if both are constant."""
    return emit_binary(emit, AffineBinaryOpKind.Add, a, b)


def times(emit: Emitter, a: Index, factor: int) -> Index:
    """Emits `a * factor`, folded if `a` is constant."""
    return emit_binary(emit, AffineBinaryOpKind.Mul, a, factor)


# Expansion of the math functions that `qmlir.arithmetic.functions` defines.
#
# A lowering that emits loops calls `expanded` for a function such as `math.exp`. With a vector emitter, the same
# definition emits vector operations.


def function_name(op: Operation) -> str | None:
    """Returns the name of the `FUNCTIONS` entry that `op` computes in f32, f16 or bf16; else `None`."""
    dialect, _, name = op.name.partition(".")
    is_function = dialect == math.Math.name and name in FUNCTIONS
    return name if is_function and scalar_of(op.results[0].type) in (builtin.f32, builtin.f16, builtin.bf16) else None


def expanded(emitter: Emitter, name: str, operands: Sequence[SSAValue]) -> SSAValue:
    """Emits the function `name` (such as `exp`) of f32, f16 or bf16 values; f16 and bf16 are computed in f32."""
    scalars = [Scalar(operand, emitter) for operand in operands]
    element = scalars[0].type
    return FUNCTIONS[name].definition(STEPS, *(each.to(builtin.f32) for each in scalars)).to(element).value


def expanded_root(emitter: Emitter, value: SSAValue) -> SSAValue:
    """Emits the correctly rounded reciprocal square root of an integer."""
    return reciprocal_root(STEPS, Scalar(value, emitter)).value


# Expansion of `kernel.join`: shifts in `arith` for scalars, interleaved registers for vectors.

_FEWEST_LANES = 16
"""The smallest number of bytes for which interleaving pays: a full register."""


_HALVES = (InterleaveLowOp, InterleaveHighOp)


def expand_join(emit: Emitter, op: JoinOp, parts: Sequence[SSAValue]) -> SSAValue:
    """Emits the value whose bytes are `parts`, least significant first: scalars or vectors, as `emit` creates."""
    if isinstance(emit, VectorEmitter) and emit.lanes >= _FEWEST_LANES:
        return _interleaved(emit, op, parts)
    whole = emit.convert(arith.ExtUIOp, parts[0], builtin.i32)
    for position, part in enumerate(parts[1:], 1):
        moved = emit.binary(
            arith.ShLIOp, emit.convert(arith.ExtUIOp, part, builtin.i32), emit.constant(8 * position, builtin.i32)
        )
        whole = emit.binary(arith.OrIOp, whole, moved)
    return emit.convert(arith.BitcastOp, whole, builtin.f32) if op.result.type == builtin.f32 else whole


def _interleaved(emit: VectorEmitter, op: JoinOp, parts: Sequence[SSAValue]) -> SSAValue:
    numbers = [reinterpreted(emit, each, op.result.type) for each in interleave_bytes(emit, parts)]
    while len(numbers) > 1:
        numbers = [emit.joined(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
    return numbers[0]


def interleave_bytes(emit: VectorEmitter, parts: Sequence[SSAValue]) -> list[SSAValue]:
    """Interleaves four vectors of bytes; returns four vectors in order. Bytes are paired first, then the pairs."""
    pairs = [
        [reinterpreted(emit, emit.insert(kind(parts[first], parts[first + 1])), builtin.i16) for first in (0, 2)]
        for kind in _HALVES
    ]
    return [reinterpreted(emit, emit.insert(kind(low, high)), builtin.i8) for low, high in pairs for kind in _HALVES]


def reinterpreted(emit: Emitter, value: SSAValue, element: Attribute) -> SSAValue:
    """Bitcasts a vector to another element type."""
    lanes = lanes_of(value) * bits_of(value.type) // bits_of(element)
    return emit.insert(ConvertOp(value, Conversion.BITCAST, vector_type(lanes, element, tile_of(value))))


class ExpandJoin(RewritePattern):
    """Expands a scalar `kernel.join` outside of any structured operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: JoinOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, [], [expand_join(Emitter(rewriter, rewriter), op, list(op.parts))])


# Expands `kernel.requantize` to `arith`, on scalars or vectors depending on the emitter.
#
# Results are bit-identical to `qmlir.arithmetic.requantization` for accumulators of up to 32 bits, and of up to 64 bits
# in the modes `f32` and `shift`. Values are clamped before rounding or before adding the zero point; the result is the
# same as clamping afterwards, since the limits are integers.

_EXACT_ROUNDING = 1 << 22
"""Up to this magnitude `Emitter.round_to_integer` is exact."""

_WIDEST = 1 << 61
"""What is shifted left beyond this magnitude, by one place more, still fits 64 bits."""


def expand_requantize(
    emit: Emitter, op: RequantizeOp, accumulator: SSAValue, parameters: Sequence[SSAValue]
) -> SSAValue:
    """Emits the requantization `op` of `accumulator` with `parameters`: scalars or vectors, as `emit` creates.

    Raises `DiagnosticError` if the result has more than 32 bits and the mode uses floats, or limits exceed 2^61 in
    magnitude. Also raises `DiagnosticError` if the mode uses an integer multiplier and the accumulator has more than 32
    bits.
    """
    result = scalar_of(op.result.type)
    if bits_of(result) > 32 and (op.mode.mode.uses_floats or max(map(abs, op.limits)) > _WIDEST):
        accepted = f"a result must have at most 32 bits, or limits up to {_WIDEST} and an integer requantization mode"
        raise op_error(op, f"{result} results in [{op.limits[0]}, {op.limits[1]}] cannot be compiled: {accepted}")
    zero_point, (low, high) = op.zero_point.value.data, op.limits
    bounds = low - zero_point, high - zero_point
    match op.mode.mode:
        case Mode.F32:
            return emit.resize(_rounded(emit, _scaled(emit, accumulator, parameters[0]), zero_point, bounds), result)
        case Mode.QLINEAR:
            return emit.resize(_by_float_moved(emit, accumulator, parameters[0], zero_point, op.limits), result)
        case Mode.F64:
            return emit.resize(_by_double(emit, accumulator, parameters[0], zero_point, bounds), result)
        case Mode.LITERT_REFERENCE | Mode.LITERT_XNNPACK:
            raise op_error(op, f"mode '{op.mode.mode}' has no parameters: operations of models decide")
        case Mode.SHIFT:
            moved = _by_shift(emit, accumulator, parameters[0], op.mode.ties, bounds)
        case Mode.SINGLE_ROUND | Mode.DOUBLE_ROUND:
            if bits_of(accumulator.type) > 32:
                raise op_error(
                    op, f"an integer multiplier requires accumulators of at most 32 bits, but got {accumulator.type}"
                )
            moved = _by_multiplier(emit, accumulator, *parameters, is_double=op.mode.mode is Mode.DOUBLE_ROUND)
    kept = emit.clamp(moved, *bounds)
    if zero_point:
        kept = emit.binary(arith.AddiOp, kept, emit.constant(zero_point, builtin.i64))
    return emit.resize(kept, result)


def _scaled(emit: Emitter, accumulator: SSAValue, multiplier: SSAValue) -> SSAValue:
    wide = emit.convert(arith.SIToFPOp, accumulator, scalar_of(multiplier.type))
    return emit.binary(arith.MulfOp, wide, multiplier)


def _by_float_moved(
    emit: Emitter, accumulator: SSAValue, multiplier: SSAValue, zero_point: int, limits: tuple[int, int]
) -> SSAValue:
    """The zero point is added before rounding."""
    scaled = _scaled(emit, accumulator, multiplier)
    if zero_point:
        scaled = emit.binary(arith.AddfOp, scaled, emit.constant(zero_point, scalar_of(multiplier.type)))
    return _rounded(emit, scaled, 0, limits)


def _by_double(
    emit: Emitter, accumulator: SSAValue, multiplier: SSAValue, zero_point: int, bounds: tuple[int, int]
) -> SSAValue:
    """`saturate(rha(f64(acc) * multiplier)) + zero_point`: a tie that was rounded towards zero moves on."""
    product = Scalar(emit.clamp(_scaled(emit, accumulator, multiplier), *bounds), emit)
    whole = litert.half_away(STEPS, product)
    integer = emit.convert(arith.FPToSIOp, whole.value, builtin.i64)
    return emit.binary(arith.AddiOp, integer, emit.constant(zero_point, builtin.i64))


def _rounded(emit: Emitter, scaled: SSAValue, zero_point: int, bounds: tuple[int, int]) -> SSAValue:
    """`saturate(rne(scaled)) + zero_point`."""
    if max(map(abs, bounds)) <= _EXACT_ROUNDING:
        return emit.round_to_integer(emit.clamp(scaled, *bounds), zero_point)
    # f32 can't represent every 32-bit bound, but f64 can.
    rounded = emit.convert(arith.ExtFOp, emit.round_even(scaled), builtin.f64)
    whole = emit.convert(arith.FPToSIOp, emit.clamp(rounded, *bounds), builtin.i64)
    return emit.binary(arith.AddiOp, whole, emit.constant(zero_point, builtin.i64))


def _by_multiplier(
    emit: Emitter, accumulator: SSAValue, multiplier: SSAValue, shift: SSAValue, *, is_double: bool
) -> SSAValue:
    """`(acc * multiplier + nudge) >> shift` in i64, which holds 32 bits by 31 and the nudge."""
    value, factor, amount = (Scalar(emit.resize(each, builtin.i64), emit) for each in (accumulator, multiplier, shift))
    # The lanes that a partial vector lacks are 0: for these, shifting the half out of 2^amount must also be defined.
    nudge = STEPS.shift_in_zeros(value.constant(1) << amount, 1)
    if is_double:
        second = 1 << (FRACTION_BITS - 1)
        towards = (value >= 0).select(value.constant(second), -second)
        nudge = nudge + (amount > FRACTION_BITS).select(towards, 0)
    return ((value * factor + nudge) >> amount).value


def _by_shift(emit: Emitter, accumulator: SSAValue, shift: SSAValue, ties: Ties, bounds: tuple[int, int]) -> SSAValue:
    value, amount = (Scalar(emit.resize(each, builtin.i64), emit) for each in (accumulator, shift))
    goes_right = amount > 0
    right = _shifted_right(value, amount, ties, bits_of(accumulator.type))
    return goes_right.select(right, _shifted_left(value, amount, bounds)).value


def _shifted_left(value: Scalar, amount: Scalar, bounds: tuple[int, int]) -> Scalar:
    """`value << -amount`, or something beyond the bounds where that is beyond them: it never leaves 64 bits."""
    low, high = bounds
    # A shift by the number of bits of the bounds moves every integer except 0 beyond them.
    left = (-amount).clamp(0, max(abs(low), abs(high)).bit_length())
    above = (value.constant(high) >> left) + 1
    below = -1 - (value.constant(-low) >> left)  # -(-low >> left) rounds up; the bound is one below
    return value.maximum(below).minimum(above) << left


def _shifted_right(value: Scalar, amount: Scalar, ties: Ties, bits: int) -> Scalar:
    """`round(value / 2^amount)` for `amount` of 1 or more, `value` of so many bits; the sum cannot overflow."""
    # If the shift exceeds the number of bits of the value, the result is less than a half in magnitude.
    right = amount.clamp(1, min(bits + 1, 63))
    quotient = value >> right
    rest = value - (quotient << right)
    half = value.constant(1) << (right - 1)
    match ties:
        case Ties.UP:
            bias = half
        case Ties.EVEN:
            is_odd = quotient & 1
            bias = half - 1 + is_odd
        case Ties.AWAY:
            bias = half + (value >> 63)
    # The sum of the rest and the bias is below 2^64, as an unsigned integer.
    rounded = quotient + STEPS.shift_in_zeros(rest + bias, right)
    if bits < 64:
        return rounded
    # For shifts by more than 63 bits, only the smallest integer reaches a half, with a shift by 64.
    vanished = value.constant(0)
    if ties is Ties.AWAY:
        is_tie = (value == integer_limits(64)[0]) & (amount == 64)
        vanished = is_tie.select(value.constant(-1), 0)
    return (amount > 63).select(vanished, rounded)


class ExpandRequantize(RewritePattern):
    """Expands a scalar `kernel.requantize` outside of any structured operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RequantizeOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.result.type, builtin.IntegerType):
            emit = Emitter(rewriter, rewriter)
            rewriter.replace(op, [], [expand_requantize(emit, op, op.accumulator, list(op.parameters))])
