"""`Lowering`: helpers that lower one operation to structured operations at the integer level.

Shapes are static, tensors are values, and every helper returns a tensor. Axes are numbered as in NumPy, including
negative axes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AnyFloat,
    FunctionType,
    IndexType,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
    UnrealizedConversionCastOp,
    i1,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import DiagnosticException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering import scalars
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Body, Number, Scalar, constant
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.dialects.quant.infer import as_stored
from qmlir.dialects.quant.types import CalibratedQuantizedType, StoredType, UniformFloatType
from qmlir.ir.builtin_types import SmallFloat, as_dense, as_small_float, dense, element_of, ranked_tensor, shape_of
from qmlir.ir.builtin_types import tensor as tensor_type
from qmlir.ir.conversion import TypeConversion
from qmlir.ir.decomposition import results_given
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.interfaces import Container, HeldElement
from qmlir.registry import Hook
from qmlir.registry.faults import RAISED, one_line
from qmlir.text.elements import dense_array, narrowed


def plain_element(element: Attribute) -> Attribute:
    """Returns the element type in memory.

    A stored type becomes a signless integer, a profiled type its float type, and a float of 8 bits or fewer an integer
    that holds its bits.
    """
    match element:
        case CalibratedQuantizedType():
            return element.expressed_type
        case StoredType():
            return IntegerType(element.bits)
        case IntegerType():
            return IntegerType(element.width.data)
        case HeldElement():
            return plain_element(element.held_as)
        case _:
            small = small_float_of(element)
            return element if small is None else IntegerType(small.bitwidth)


def small_float_of(element: Attribute) -> SmallFloat | None:
    """Returns the float type of 8 bits or fewer that `element` is or stores; the integer level holds its bits."""
    return element.storage if isinstance(element, UniformFloatType) else as_small_float(element)


def is_unsigned(element: Attribute) -> bool:
    """Whether the stored integers of an `nn` element type are unsigned, as for booleans and small floats."""
    match element:
        case StoredType():
            return not element.is_signed
        case IntegerType():
            return element.width.data == 1 or element.signedness.data is Signedness.UNSIGNED
        case HeldElement():
            return is_unsigned(element.held_as)
        case _:
            return small_float_of(element) is not None


def _convert(type_: Attribute) -> Attribute | None:
    if isinstance(type_, Container):
        return type_.with_parts(lambda part: cast(TypeAttribute, _convert(part) or part))
    tensor = ranked_tensor(type_)
    if tensor is None:
        return None
    return TensorType(cast(IntegerType, plain_element(tensor.element_type)), tensor.get_shape())


def integer_types() -> TypeConversion:
    """Returns the conversion of tensor types to the integer level, also inside containers; it keeps all other types."""
    return TypeConversion(_convert)


@dataclass(frozen=True)
class Input:
    """A tensor operand of a structured operation, with its indexing map from iterators to operand axes."""

    value: SSAValue
    map_: AffineMap
    unsigned: bool = False


def broadcast_map(shape: Sequence[int], target: Sequence[int]) -> AffineMap:
    """Returns the map from iterators of a result of shape `target` to the axes of a tensor broadcast to it."""
    offset = len(target) - len(shape)
    results = [
        AffineExpr.constant(0) if size == 1 and target[offset + axis] != 1 else AffineExpr.dimension(offset + axis)
        for axis, size in enumerate(shape)
    ]
    return AffineMap(len(target), 0, tuple(results))


def constant_array(op: Operation) -> Array | None:
    """Returns the elements of a constant tensor as a read-only array; `None` for any other operation."""
    if not op.has_trait(ConstantLike):
        return None
    value = as_dense(op.properties.get("value", NoneAttr()))
    return None if value is None else dense_array(value)


def unchanged(element: Scalar) -> Scalar:
    """The body of an operation that only moves elements."""
    return element


@dataclass
class Lowering:
    """Builds IR in front of the operation that it lowers."""

    op: Operation
    rewriter: PatternRewriter
    types: TypeConversion

    @property
    def builder(self) -> ArithBuilder:
        """Returns an arithmetic builder that inserts operations before the lowered one."""
        return ArithBuilder(Builder(InsertPoint.before(self.op)))

    def insert(self, op: Operation) -> SSAValue:
        """Inserts an operation and returns its first result."""
        self.rewriter.insert(op, InsertPoint.before(self.op))
        return op.results[0]

    def error(self, text: str) -> DiagnosticError:
        """Returns an error that names the operation and its node in the model."""
        return op_error(self.op, text)

    # --- Values -------------------------------------------------------------------------------------------------------

    def value(self, value: SSAValue) -> SSAValue:
        """Returns an operand with its type at the integer level. Raises `DiagnosticError` if its shape is dynamic."""
        type_ = ranked_tensor(value.type)
        if type_ is None or DYNAMIC_INDEX in type_.get_shape():
            raise self.error(f"cannot be compiled: operand '{value.type}' has dynamic dimensions")
        if not isinstance(plain_element(type_.element_type), AnyFloat | IntegerType):
            raise self.error(f"cannot be compiled: operand '{value.type}' is not a tensor of numbers")
        return self.types.operand(self.rewriter, value)

    def known(self, value: SSAValue) -> Array | None:
        """Returns the stored elements of a constant operand; `None` if the operand is computed."""
        source = value.owner
        if isinstance(source, UnrealizedConversionCastOp):
            source = source.inputs[0].owner
        array = constant_array(source) if isinstance(source, Operation) else None
        element = element_of(value)
        return array if array is None or not isinstance(element, StoredType) else as_stored(array, element)

    def constant(self, array: npt.ArrayLike, element: Attribute) -> SSAValue:
        """Returns a constant tensor; `element` determines how the numbers of the array are stored."""
        from_array = np.asarray(array)
        if element == i1:
            from_array = narrowed(from_array, element)  # a stored one-bit -1 is represented as 1
        type_ = TensorType(cast(Any, element), from_array.shape)
        return self.insert(arith.ConstantOp(dense(from_array.tobytes(), type_), type_))

    def scalar(self, number: Number, element: Attribute) -> SSAValue:
        """Returns a constant scalar of type `element`."""
        return scalars.constant(self.builder, number, element).value

    def empty(self, shape: Sequence[int], element: Attribute) -> SSAValue:
        """Returns an uninitialized tensor."""
        return self.insert(tensor.EmptyOp((), TensorType(cast(Any, element), shape)))

    def fill(self, shape: Sequence[int], element: Attribute, number: Number) -> SSAValue:
        """Returns a tensor filled with one number."""
        init = self.empty(shape, element)
        return self.insert(linalg.FillOp([self.scalar(number, element)], [init], [init.type]))

    # --- Structured operations ----------------------------------------------------------------------------------------

    def generic(
        self, inputs: Sequence[Input], outputs: Sequence[tuple[SSAValue, AffineMap]], body: Body
    ) -> tuple[SSAValue, ...]:
        """Builds a `linalg.generic` over the iterators of the maps; iterators that no output map uses are reductions.

        `body` receives a scalar of each input and the previous scalar of each output, and returns the new scalar of
        each output.
        """
        kept = set[int]().union(*(map_.used_dims() for _, map_ in outputs))
        elements = [element_of(each.value) for each in inputs] + [element_of(value) for value, _ in outputs]
        block = Block(arg_types=elements)
        builder = ArithBuilder(Builder(InsertPoint.at_end(block)))
        flags = [each.unsigned for each in inputs] + [False] * len(outputs)
        arguments = [Scalar(argument, builder, flag) for argument, flag in zip(block.args, flags, strict=True)]
        given = body(*arguments)
        results = [given] if isinstance(given, Scalar) else list(given)
        for result, (value, _) in zip(results, outputs, strict=True):
            if result.type != element_of(value):
                raise AssertionError(f"body must return {element_of(value)}, but returned {result.type}")
        block.add_op(linalg.YieldOp(*(result.value for result in results)))
        dims = range(outputs[0][1].num_dims)
        kinds = [IteratorType.PARALLEL if axis in kept else IteratorType.REDUCTION for axis in dims]
        op = linalg.GenericOp(
            [each.value for each in inputs],
            [value for value, _ in outputs],
            Region(block),
            [AffineMapAttr(map_) for map_ in (*(each.map_ for each in inputs), *(map_ for _, map_ in outputs))],
            [IteratorTypeAttr(kind) for kind in kinds],
            [value.type for value, _ in outputs],
        )
        self.rewriter.insert(op, InsertPoint.before(self.op))
        return tuple(op.results)

    def compute(self, inputs: Sequence[Input], shape: Sequence[int], element: Attribute, body: Body) -> SSAValue:
        """Returns a tensor whose elements are the results of `body` on one element of each input."""
        output = self.empty(shape, element), AffineMap.identity(len(shape))
        return self.generic(inputs, [output], lambda *given: body(*given[: len(inputs)]))[0]

    def broadcast(self, value: SSAValue, shape: Sequence[int], unsigned: bool = False) -> Input:
        """Returns `value` as an input that is broadcast to `shape`."""
        return Input(value, broadcast_map(shape_of(value), shape), unsigned)

    def expand(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Returns `value` broadcast to `shape`."""
        if tuple(shape) == shape_of(value):
            return value
        return self.compute([self.broadcast(value, shape)], shape, element_of(value), unchanged)

    def reduce(
        self, value: Input, axes: Sequence[int], init: SSAValue, body: Callable[[Scalar, Scalar], Scalar]
    ) -> SSAValue:
        """Reduces `axes` with `body(element, accumulator)`, in row-major order.

        The accumulators start from `init`, a tensor that lacks these axes.
        """
        rank = value.map_.num_dims
        kept = tuple(AffineExpr.dimension(axis) for axis in range(rank) if axis not in axes)
        return self.generic([value], [(init, AffineMap(rank, 0, kept))], body)[0]

    # --- Movement -----------------------------------------------------------------------------------------------------

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Returns the tensor reshaped to `shape`."""
        if tuple(shape) == shape_of(value):
            return value
        return self.insert(ReshapeOp(value, TensorType(cast(Any, element_of(value)), shape)))

    def transpose(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """Returns the transposed tensor, in which axis `i` is axis `order[i]` of `value`."""
        if tuple(order) == tuple(range(len(order))):
            return value
        source = shape_of(value)
        positions = [list(order).index(axis) for axis in range(len(order))]
        map_ = AffineMap(len(order), 0, tuple(AffineExpr.dimension(position) for position in positions))
        shape = [source[axis] for axis in order]
        return self.compute([Input(value, map_)], shape, element_of(value), unchanged)

    def slice(
        self, value: SSAValue, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int] | None = None
    ) -> SSAValue:
        """Returns the elements at indices `offsets + strides * i`; strides must be positive."""
        steps = [1] * len(sizes) if strides is None else list(strides)
        if tuple(sizes) == shape_of(value):
            return value
        type_ = TensorType(cast(Any, element_of(value)), sizes)
        return self.insert(tensor.ExtractSliceOp(value, list(offsets), list(sizes), steps, type_))

    def put(
        self, part: SSAValue, whole: SSAValue, offsets: Sequence[int], strides: Sequence[int] | None = None
    ) -> SSAValue:
        """Returns `whole` with the elements of `part` inserted at indices `offsets + strides * i`."""
        sizes = shape_of(part)
        steps = [1] * len(sizes) if strides is None else list(strides)
        return self.insert(tensor.InsertSliceOp.get(part, whole, list(sizes), list(offsets), steps))

    def pad(self, value: SSAValue, low: Sequence[int], high: Sequence[int], number: Number) -> SSAValue:
        """Pads `value` with `number`: `low[i]` elements before and `high[i]` elements after those of axis `i`."""
        if not any((*low, *high)):
            return value
        sizes = [a + size + b for a, size, b in zip(low, shape_of(value), high, strict=True)]
        return self.put(value, self.fill(sizes, element_of(value), number), low)

    def concat(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        """Returns the tensors concatenated along `axis`."""
        if len(values) == 1:
            return values[0]
        shape = list(shape_of(values[0]))
        shape[axis] = sum(shape_of(value)[axis] for value in values)
        whole = self.empty(shape, element_of(values[0]))
        offsets = [0] * len(shape)
        for value in values:
            if math.prod(shape_of(value)):
                whole = self.put(value, whole, offsets)
            offsets[axis] += shape_of(value)[axis]
        return whole

    # --- The operation's own types ------------------------------------------------------------------------------------

    def without_elements(self) -> Sequence[SSAValue]:
        """Returns uninitialized tensors if all results of the operation are empty; otherwise an empty sequence."""
        types = [ranked_tensor(result.type) for result in self.op.results]
        if any(type_ is None or 0 not in type_.get_shape() for type_ in types):
            return ()
        return [self.empty(self.result_shape(index), self.result_element(index)) for index in range(len(types))]

    def signedness(self, value: SSAValue) -> bool:
        """Returns whether the integers of an operand, in its original type, are unsigned."""
        return is_unsigned(tensor_type(value.type).get_element_type())

    def result_element(self, index: int = 0) -> Attribute:
        """Returns the element type of a result at the integer level."""
        return plain_element(tensor_type(self.op.results[index].type).get_element_type())

    def result_shape(self, index: int = 0) -> tuple[int, ...]:
        """Returns the static shape of a result."""
        return tensor_type(self.op.results[index].type).get_shape()


Lower = Callable[[Any, Lowering], Sequence[SSAValue] | None]
"""A lowering: takes the operation and a `Lowering`, and returns a value for each result.

A value must have the type of the result at the integer level. If `nn` operations replace the operation instead, it must
have the original type of the result. `None` leaves the operation to its decomposition.
"""


def guarded_lowering(hook: Hook) -> Lower:
    """Wraps a package's lowering to check that it returns one value per result, defined before the operation."""

    def guarded(op: Operation, at: Lowering) -> Sequence[SSAValue] | None:
        position = op.parent
        try:
            given = cast(object, hook.function(op, at))
        except DiagnosticException:
            raise
        except RAISED as error:  # a package may raise anything
            raise op_error(op, f"lowering raised {one_line(error)}{hook.at(error)}") from error
        if op.parent is not position:
            raise op_error(op, f"lowering must not move or erase the operation{hook.at()}")
        values = (
            None if given is None else results_given(op, hook.function, given, lambda found, wanted: True, hook.at())
        )
        for value in values or ():
            owner = value.owner.parent if isinstance(value.owner, Operation) else value.owner
            if owner is None or not (owner is position or owner.is_ancestor(op)):
                text = f"lowering returned a value of type '{value.type}' that is not defined before the operation"
                raise op_error(op, f"{text}{hook.at()}")
        return values

    return guarded


def no_lowering(op: Operation, at: Lowering) -> None:
    """The lowering of an operation that supports none: always returns `None`."""


__all__ = ["FunctionType", "Input", "IntegerType", "Lower", "Lowering", "broadcast_map", "element_of", "shape_of"]


Step = Callable[[ArithBuilder, Sequence[Scalar], SSAValue], SSAValue]
"""The body of a loop nest: maps the builder, the induction variables and the carried value to its new value."""


def nest(builder: ArithBuilder, counts: Sequence[int], carried: SSAValue, step: Step) -> SSAValue:
    """Builds nested `scf.for` loops, one for each of `counts`, which carry a value through all iterations."""
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
