"""Emitters of loop bodies: one vocabulary of operations for scalars and for vectors of lanes."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from math import prod
from typing import Self, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    bf16,
    f16,
    f32,
    i8,
    i16,
    i32,
    i64,
)
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

from qmlir.arithmetic.functions import FUNCTIONS
from qmlir.arithmetic.functions.roots import reciprocal_root
from qmlir.dialects.kernel.lowering.scalars import STEPS, ArithBuilder, Number, Scalar, number_attribute
from qmlir.dialects.kernel.ops import JoinOp, scalar_of
from qmlir.dialects.simd.base import AnyVector, element_of, lanes_of
from qmlir.dialects.simd.base import vector as vector_type
from qmlir.dialects.simd.lanes import (
    CompareOp,
    Conversion,
    ConvertOp,
    InterleaveHighOp,
    InterleaveLowOp,
    InterleaveOp,
    RoundToIntOp,
    SelectOp,
)
from qmlir.ir.builtin_types import as_integer, bounds_of

# Writing the operations of a loop: one vocabulary for scalars and, in a subclass, for vectors of lanes; and indices.
#
# An expansion that is written against `Emitter` serves both: element types go in, values of the emitter's own kind
# come out. Constants are made once, at a place of their own in front of the loops. Affine expressions become index
# arithmetic.

Index = SSAValue | int
"""A number that is known, or a value of type `index`."""

_INDEX = IndexType()

_MAGIC = 1.5 * 2**23
"""Added to an f32 of magnitude up to 2^22 it leaves the whole number, ties to even, in the low bits."""

_MAGIC_BITS = int(np.float32(_MAGIC).view(np.int32))


def bits_of(type_: Attribute) -> int:
    """The width of an integer, or of the integers in a vector."""
    integer = as_integer(scalar_of(type_))
    assert integer is not None
    return integer.width.data


class Emitter(ArithBuilder):
    """Writes operations on scalars where `builder` stands, and each constant once where `constants` stands.

    A subclass for vectors overrides `round_to_integer` besides what `ArithBuilder` says.
    """

    def __init__(self, builder: Builder, constants: Builder):
        super().__init__(builder)
        self.constants = constants
        self._known: dict[tuple[Attribute, str], SSAValue] = {}

    def at(self, builder: Builder) -> Self:
        """An emitter of the same kind and with the same constants, which writes where `builder` stands."""
        other = copy(self)
        other.builder = builder
        return other

    def at_end(self, block: Block) -> Self:
        """An emitter of the same kind and with the same constants, which writes at the end of a block."""
        return self.at(Builder(InsertPoint.at_end(block)))

    @contextmanager
    def loop(
        self, end: Index, start: Index = 0, step: int = 1, *, threads: bool = False
    ) -> Generator[tuple[Self, Index]]:
        """A loop from `start` to below `end`: the emitter of its body, and the number of the step. None for one step.

        Its steps are independent of each other where `threads` may divide it.
        """
        if (start, end, step) == (0, 1, 1):
            yield self, 0
            return
        bounds = self.index(start), self.index(end), self.index(step)
        block = Block(arg_types=[IndexType()])
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
        """`write` from `start` to below `end`, each with the values of the step before; the last ones."""
        if (start, end, step) == (0, 1, 1):
            return write(self, 0, values)
        bounds = self.index(start), self.index(end), self.index(step)
        block = Block(arg_types=[IndexType(), *(value.type for value in values)])
        inner = self.at_end(block)
        inner.builder.insert(scf.YieldOp(*write(inner, block.args[0], block.args[1:])))
        return self.builder.insert(scf.ForOp(*bounds, values, block)).results

    def scalar_constant(self, number: Number, element: Attribute) -> SSAValue:
        key = element, str(number)  # -0.0 equals 0.0 and is another constant
        if key not in self._known:
            self._known[key] = self.constants.insert(arith.ConstantOp(number_attribute(number, element))).result
        return self._known[key]

    def index(self, value: Index) -> SSAValue:
        """A number as a value of type `index`."""
        return self.scalar_constant(value, _INDEX) if isinstance(value, int) else value

    def resize(self, value: SSAValue, element: Attribute) -> SSAValue:
        """A signed integer in another width."""
        difference = bits_of(element) - bits_of(value.type)
        if not difference:
            return value
        return self.convert(arith.ExtSIOp if difference > 0 else arith.TruncIOp, value, element)

    def clamp(self, value: SSAValue, low: float, high: float) -> SSAValue:
        """`value` kept inside [low, high], which its type holds exactly; no float is NaN here."""
        element = scalar_of(value.type)
        bounds = self.constant(low, element), self.constant(high, element)
        if not isinstance(element, AnyFloat):
            return self.binary(arith.MinSIOp, self.binary(arith.MaxSIOp, value, bounds[0]), bounds[1])
        # A comparison and a choice are one instruction of every CPU, arith.maximumf has NaN and -0 to care for.
        value = self.select(self.compare("ogt", value, bounds[0]), value, bounds[0])
        return self.select(self.compare("olt", value, bounds[1]), value, bounds[1])

    def round_even(self, value: SSAValue) -> SSAValue:
        """A float rounded to a whole number, ties to even."""
        return self.insert(math.RoundEvenOp(value))

    def round_to_integer(self, value: SSAValue, offset: int) -> SSAValue:
        """An f32 of magnitude up to 2^22, rounded ties to even, plus `offset`, as i32.

        Adding 1.5 * 2^23 leaves no room for a fraction, so the addition itself rounds; the bits of the sum count from
        those of that number.
        """
        shifted = self.binary(arith.AddfOp, value, self.constant(_MAGIC, scalar_of(value.type)))
        bits = self.convert(arith.BitcastOp, shifted, i32)
        return self.binary(arith.AddiOp, bits, self.constant(offset - _MAGIC_BITS, i32))

    def load(self, memory: SSAValue, place: Sequence[Index]) -> SSAValue:
        """The element at a place."""
        type_ = cast(MemRefType[Attribute], memory.type)
        indices = [self.index(index) for index in place]
        return self.insert(memref.LoadOp(operands=[memory, indices], result_types=[type_.get_element_type()]))

    def store(self, value: SSAValue, memory: SSAValue, place: Sequence[Index]) -> None:
        """Write the element at a place."""
        self.builder.insert(memref.StoreOp.get(value, memory, [self.index(index) for index in place]))


CONVERSIONS: Mapping[type[Operation], Conversion] = {kind: name for name, kind in ConvertOp.ARITH.items()}
"""Each conversion of `arith` and what it is called on lanes."""


class VectorEmitter(Emitter):
    """Writes operations on vectors of so many lanes; its scalars are those of the emitter that it is made from."""

    def __init__(self, builder: Builder, constants: Builder, lanes: int):
        super().__init__(builder, constants)
        self.lanes = lanes
        self._splats: dict[tuple[int, Attribute, str], SSAValue] = {}

    @classmethod
    def of(cls, emit: Emitter, lanes: int) -> "VectorEmitter":
        """The emitter of vectors that writes where `emit` does and has its constants."""
        made = cls(emit.builder, emit.constants, lanes)
        made._known = emit._known
        if isinstance(emit, VectorEmitter):
            made._splats = emit._splats
        return made

    def with_lanes(self, lanes: int) -> "VectorEmitter":
        """The same for another number of lanes."""
        return VectorEmitter.of(self, lanes)

    def typed(self, element: Attribute) -> AnyVector:
        return vector_type(self.lanes, element)

    def splat(self, value: SSAValue) -> SSAValue:
        """A scalar in all lanes."""
        return self.insert(vector.BroadcastOp(value, self.typed(value.type)))

    def constant(self, number: Number, element: Attribute) -> SSAValue:
        key = self.lanes, element, str(number)
        if key not in self._splats:
            scalar = self.scalar_constant(number, element)
            op = self.constants.insert(vector.BroadcastOp(scalar, self.typed(element)))
            self._splats[key] = op.results[0]
        return self._splats[key]

    def convert(self, kind: type[Operation], value: SSAValue, element: Attribute) -> SSAValue:
        return self.insert(ConvertOp(value, CONVERSIONS[kind], self.typed(element)))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(CompareOp(predicate, a, b))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(SelectOp(condition, a, b))

    def part(self, value: SSAValue, start: int, count: int) -> SSAValue:
        """Some lanes of a vector, one behind the other."""
        mask = DenseArrayBase.from_list(i64, list(range(start, start + count)))
        return self.insert(vector.ShuffleOp(value, value, mask, result_type=vector_type(count, scalar_of(value.type))))

    def lane(self, value: SSAValue, place: int) -> SSAValue:
        """One lane of a vector."""
        return self.insert(vector.ExtractOp(value, [place], scalar_of(value.type)))

    def round_to_integer(self, value: SSAValue, offset: int) -> SSAValue:
        rounded = self.insert(RoundToIntOp(value))
        if not offset:
            return rounded
        return self.binary(arith.AddiOp, rounded, self.constant(offset, scalar_of(rounded.type)))


def least(expression: AffineExpr, ranges: Sequence[int]) -> int:
    """A lower bound of an expression whose dimensions run from 0 to below `ranges`."""
    return bounds_of(expression, ranges)[0]


def emit_expression(emit: Emitter, expression: AffineExpr, dims: Sequence[Index], ranges: Sequence[int]) -> Index:
    """Write the value of an expression; `dims` are its dimensions, which stay below `ranges`. Numbers are folded."""
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
    """Write `a kind b`, folded where both are known; `is_natural` says that `a` is at least 0."""
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
    """Write the place that a map gives."""
    return [emit_expression(emit, expression, dims, ranges) for expression in map_.results]


def strides_of(type_: MemRefType[Attribute]) -> tuple[int | None, ...] | None:
    """How many elements apart neighbours along each axis lie, `None` where unknown; all unknown for other layouts."""
    layout, shape = type_.layout, type_.get_shape()
    if isinstance(layout, StridedLayoutAttr):
        return tuple(layout.get_strides())
    if isinstance(layout, NoneAttr):
        return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return None


def step_along(dim: int, map_: AffineMap, strides: Sequence[int | None], rank: int) -> int:
    """How far an operand moves in memory when iterator `dim` goes from 0 to 1; 0 where it stays or nobody knows."""
    origin, next_ = [0] * rank, [int(axis == dim) for axis in range(rank)]
    steps = (expression.eval(next_, ()) - expression.eval(origin, ()) for expression in map_.results)
    return sum(step * stride for step, stride in zip(steps, strides, strict=True) if stride is not None)


def plain_axes(map_: AffineMap) -> list[int | None]:
    """The iterator that each axis of an operand takes as it is, `None` for any other expression."""
    return [expression.position if isinstance(expression, AffineDimExpr) else None for expression in map_.results]


def add(emit: Emitter, a: Index, b: Index) -> Index:
    """`a + b`, folded where both are known."""
    return emit_binary(emit, AffineBinaryOpKind.Add, a, b)


def times(emit: Emitter, a: Index, factor: int) -> Index:
    """`a * factor`, folded where it is known."""
    return emit_binary(emit, AffineBinaryOpKind.Mul, a, factor)


# The definitions of `qmlir.arithmetic.functions` as operations: their steps, written by an `Emitter`.
#
# Whoever writes a loop calls `expanded` where its body has `math.exp`; with an emitter of vectors the same
# definition gives operations on all lanes.


def function_name(op: Operation) -> str | None:
    """The name of the function of f32 or a shorter float that `op` computes, `None` where it is another one."""
    dialect, _, name = op.name.partition(".")
    is_function = dialect == math.Math.name and name in FUNCTIONS
    return name if is_function and scalar_of(op.results[0].type) in (f32, f16, bf16) else None


def expanded(emitter: Emitter, name: str, operands: Sequence[SSAValue]) -> SSAValue:
    """The function `name` (`exp`, …) of values of f32, f16 or bf16; the latter two go through f32."""
    scalars = [Scalar(operand, emitter) for operand in operands]
    element = scalars[0].type
    return FUNCTIONS[name].definition(STEPS, *(each.to(f32) for each in scalars)).to(element).value


def expanded_root(emitter: Emitter, value: SSAValue) -> SSAValue:
    """The reciprocal root of an integer, rounded exactly."""
    return reciprocal_root(STEPS, Scalar(value, emitter)).value


# `kernel.join` in `arith`, or by interleaving registers: the one expansion, by the emitter that it is given.

_FEWEST_LANES = 16
"""Bytes from which on interleaving is worth it: they fill the smallest register."""


_HALVES = (InterleaveLowOp, InterleaveHighOp)


def _turned(emit: VectorEmitter, kind: type[InterleaveOp], a: SSAValue, b: SSAValue) -> SSAValue:
    return emit.insert(kind(a, b))


def expand_join(emit: Emitter, op: JoinOp, parts: Sequence[SSAValue]) -> SSAValue:
    """Write the number whose bytes are `parts`, which are values of the kind of `emit`."""
    if isinstance(emit, VectorEmitter) and emit.lanes >= _FEWEST_LANES:
        return _interleaved(emit, op, parts)
    whole = emit.convert(arith.ExtUIOp, parts[0], i32)
    for place, part in enumerate(parts[1:], 1):
        moved = emit.binary(arith.ShLIOp, emit.convert(arith.ExtUIOp, part, i32), emit.constant(8 * place, i32))
        whole = emit.binary(arith.OrIOp, whole, moved)
    return emit.convert(arith.BitcastOp, whole, f32) if op.result.type == f32 else whole


def _interleaved(emit: VectorEmitter, op: JoinOp, parts: Sequence[SSAValue]) -> SSAValue:
    numbers = [_as(emit, each, op.result.type, emit.lanes // 4) for each in interleave_bytes(emit, parts)]
    while len(numbers) > 1:
        numbers = [_behind(emit, *pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
    return numbers[0]


def interleave_bytes(emit: VectorEmitter, parts: Sequence[SSAValue]) -> list[SSAValue]:
    """Four vectors of bytes in turn, as four behind each other: bytes in pairs first, then pairs of these."""
    lanes = emit.lanes
    pairs = [
        [_as(emit, _turned(emit, kind, parts[first], parts[first + 1]), i16, lanes // 2) for first in (0, 2)]
        for kind in _HALVES
    ]
    return [_as(emit, _turned(emit, kind, low, high), i8, lanes) for low, high in pairs for kind in _HALVES]


def _as(emit: VectorEmitter, value: SSAValue, element: Attribute, lanes: int) -> SSAValue:
    """The same bits as lanes of another width."""
    return emit.insert(ConvertOp(value, Conversion.BITCAST, vector_type(lanes, element)))


def _behind(emit: VectorEmitter, first: SSAValue, second: SSAValue) -> SSAValue:
    """The lanes of two registers as one vector."""
    lanes = 2 * lanes_of(first)
    mask = DenseArrayBase.from_list(i64, list(range(lanes)))
    return emit.insert(vector.ShuffleOp(first, second, mask, result_type=vector_type(lanes, element_of(first))))


class ExpandJoin(RewritePattern):
    """Expand one of scalars that stands by itself, outside any structured operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: JoinOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, [], [expand_join(Emitter(rewriter, rewriter), op, list(op.parts))])
