"""Building blocks of lowerings: elementwise operations on exact integers, exact reals or floats; indices; windows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import math
from xdsl.dialects.builtin import Float64Type, IndexType, IntegerType, TensorType, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.test_value import create_ssa_value

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, broadcast_map
from qmlir.dialects.kernel.lowering.quantized import ElementLoad
from qmlir.dialects.kernel.lowering.scalars import Scalar, extracted, position
from qmlir.dialects.nn.base import NnOp, is_per_tensor, plain_type
from qmlir.dialects.nn.decomposition import is_quantized
from qmlir.dialects.nn.elementwise.ops import UnaryOp
from qmlir.dialects.nn.indexing.evaluate import checked_indices
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.dialects.quant.infer import broadcast_parameters, storage_dtype
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType, storage_limits
from qmlir.ir.builtin_types import element_of, shape_of, tensor
from qmlir.ir.evaluation import evaluate

# Exact comparison of the real values of stored integers: as one float if it can hold the integer times the scale,
# otherwise as two.
#
# An f32 scale has 24 significant bits, so its product with an integer below 2^29 fits in the 53 bits of an f64. A
# longer product is represented as `high + low`: the rounded product, and its rounding error, which a fused multiply-add
# computes exactly. Rounding is monotonic, so the high parts decide a comparison; if they are equal, the low parts do.

_ONE_FLOAT = 1 << 29
"""The bound below which the product of an integer and a scale needs no second float."""

_MOST_EXPONENTS = 900
"""The limit on exponent differences between scales; products with scales that differ by more leave the range of f64."""


@dataclass(frozen=True)
class ExactReal:
    """An exact real value, as the sum of one or two floats; the low one is at most half an ulp of the high one."""

    high: Scalar
    low: Scalar | None

    def compare(self, predicate: str, other: "ExactReal") -> Scalar:
        """Compares two values with `lt`, `le`, `gt`, `ge` or `eq`, and returns an i1."""
        if self.low is None and other.low is None:
            return self.high.compare(predicate, other.high)
        low = self.high.constant(0.0) if self.low is None else self.low
        other_low = self.high.constant(0.0) if other.low is None else other.low
        is_tie, by_low = self.high.compare("eq", other.high), low.compare(predicate, other_low)
        if predicate == "eq":
            return is_tie & by_low
        return is_tie.select(by_low, self.high.compare(predicate, other.high))

    @property
    def parts(self) -> tuple[Scalar, ...]:
        """The one or two floats that add up to the value."""
        return (self.high,) if self.low is None else (self.high, self.low)


@dataclass(frozen=True)
class ExactReading:
    """The inputs of a structured operation that are needed to read an operand as exact real values.

    It also holds the function that combines their scalars to one exact real value.
    """

    inputs: tuple[Input, ...]
    count: int
    """The number of floats that represent each real value."""
    read: Callable[[Sequence[Scalar]], ExactReal]


def exact_scales(value: SSAValue, element: UniformQuantizedType) -> npt.NDArray[np.float64]:
    """Returns the scales with which an operand is compared, in a shape that broadcasts to it."""
    scales, _ = broadcast_parameters(element, shape_of(value))
    return scales if isinstance(element.expressed, Float64Type) else scales.astype(np.float32).astype(np.float64)


def exact_reals(
    at: Lowering, operands: Sequence[tuple[SSAValue, UniformQuantizedType, AffineMap]]
) -> list[ExactReading]:
    """Reads quantized operands as exact real values in a common unit, so that they can be compared with one another."""
    scales = [exact_scales(value, element) for value, element, _ in operands]
    exponents = np.concatenate([np.frexp(each)[1].reshape(-1) for each in scales])
    if exponents.size and exponents.max() - exponents.min() > _MOST_EXPONENTS:
        raise at.error(f"cannot be compiled: it compares values whose scales differ by more than 2^{_MOST_EXPONENTS}")
    unit = int(exponents.max()) if exponents.size else 0  # so that all products stay in the range of f64
    return [_exact_real(at, operand, np.ldexp(own, -unit)) for operand, own in zip(operands, scales, strict=True)]


def _exact_real(
    at: Lowering, operand: tuple[SSAValue, UniformQuantizedType, AffineMap], scales: npt.NDArray[np.float64]
) -> ExactReading:
    value, element, map_ = operand
    largest = max(map(abs, storage_limits(element.storage))) + int(np.abs(element.zero_points).max())
    is_short = largest < _ONE_FLOAT and not isinstance(element.expressed, Float64Type)
    own = quantized.centered(at, value, map_)
    scale = quantized.parameter(at, scales, f64, map_)

    def read(scalars: Sequence[Scalar]) -> ExactReal:
        integers, factors = quantized.split(scalars, own.inputs, scale.inputs)
        integer = own.read(integers).to(f64)
        factor = scale.of(factors, integer)
        high = factor * integer
        return ExactReal(high, None if is_short else factor.apply(math.FmaOp, integer, -high))

    return ExactReading((*own.inputs, *scale.inputs), 1 if is_short else 2, read)


# Lowering strategies of elementwise operations on quantized values.
#
# Values that are not quantized use the function of the operation. Quantized values use exact integers if a rule for
# them exists, a lookup table if the function has a single operand of at most 16 bits, and floats otherwise.

Function = Callable[..., Scalar]
"""The scalar function `f(op, *scalars)` of an operation on unquantized values; f16 and bf16 arrive as f32."""

TABLE_BITS = 16
"""The maximum width, in bits, of a stored operand whose function becomes a lookup table."""


def of_scalars(function: Callable[..., Scalar]) -> Function:
    """Adapts `function(*scalars)` to take the operation first, for operations whose properties are not needed."""

    def of_their_values(op: Operation, *scalars: Scalar) -> Scalar:
        return function(*scalars)

    return of_their_values


def operand_map(at: Lowering, value: SSAValue) -> AffineMap:
    """Returns the map from indices of a result to indices of an operand that is broadcast to it."""
    return broadcast_map(shape_of(value), at.result_shape())


def identity(at: Lowering) -> AffineMap:
    """Returns the identity map over the dimensions of the result."""
    return AffineMap.identity(len(at.result_shape()))


def reals(at: Lowering, values: Sequence[SSAValue]) -> list[ElementLoad]:
    """Reads quantized operands as floats, and all other operands unchanged."""
    return [quantized.real(at, value, operand_map(at, value)) for value in values]


def through_reals(at: Lowering, function: Function) -> SSAValue:
    """Applies `function` to floats: quantized operands are dequantized, and quantized results are rounded once."""
    op = at.op
    writing = quantized.writing(at, 0, identity(at))
    return quantized.compute(at, reals(at, op.operands), writing, lambda *scalars: function(op, *scalars))


def _is_table(op: IRDLOperation) -> bool:
    if len(op.operands) != 1:
        return False
    element, result = element_of(op.operands[0]), element_of(op.results[0])
    return is_per_tensor(element) and is_per_tensor(result) and element.bits <= TABLE_BITS


def table_of(op: IRDLOperation) -> Array:
    """Evaluates a unary operation on all values that the storage type of its operand can hold.

    If the type narrows its storage range, the table also covers the values outside of that range, so that every lookup
    is in bounds.
    """
    element = element_of(op.operands[0])
    assert isinstance(element, UniformQuantizedType)
    low, high = storage_limits(element.storage)
    stored = np.arange(low, high + 1).astype(storage_dtype(element))

    def of_all(type_: Attribute) -> Attribute:
        return TensorType(cast(Any, tensor(type_).get_element_type()), stored.shape)

    everything = type(op).create(
        operands=[create_ssa_value(of_all(op.operands[0].type))],
        properties=op.properties,
        attributes=op.attributes,
        result_types=[of_all(op.results[0].type)],
    )
    try:
        results = evaluate(everything, [stored])
    except InterpretationError:
        given = element_of(op.results[0])
        assert isinstance(given, UniformQuantizedType)
        table = np.full(stored.shape, given.zero_point, storage_dtype(given))
        is_defined = _is_defined(everything, dequantize(stored, element))
        table[is_defined] = _where_defined(everything, stored[is_defined], given)
        return table
    assert results is not None
    return np.ascontiguousarray(results[0])


def _is_defined(op: IRDLOperation, real: Array) -> Array:
    """Returns a mask of the values with a finite result; all values, if the operation's parts decide."""
    if isinstance(op, NnOp) and op.components is not None:
        return np.full(real.shape, True)
    plain = type(op).create(
        operands=[create_ssa_value(plain_of(op.operands[0]))],
        properties=op.properties,
        result_types=[plain_of(op.results[0])],
    )
    results = evaluate(plain, [real])
    assert results is not None
    return ~np.isnan(results[0])


def _where_defined(op: IRDLOperation, stored: Array, given: UniformQuantizedType) -> Array:
    """Evaluates on stored values; those that the evaluator rejects, such as the root of -1, yield the zero point."""
    try:
        results = evaluate(op, [stored])
    except InterpretationError:
        if len(stored) > 1:
            halves = np.array_split(stored, 2)
            return np.concatenate([_where_defined(op, half, given) for half in halves])
        return np.array([given.zero_point], storage_dtype(given))
    assert results is not None
    return results[0]


def uniform_type(at: Lowering, value: SSAValue) -> UniformQuantizedType:
    """Returns the uniform type of a quantized operand or result."""
    element = quantized.uniform_element(at, value)
    assert element is not None
    return element


def whole(at: Lowering, value: SSAValue, unsigned: bool = False) -> ElementLoad:
    """Reads the elements of a tensor that has the shape of the result."""
    return ElementLoad((Input(value, identity(at), unsigned),), lambda scalars: scalars[0])


def exact_integers(at: Lowering, value: SSAValue, element: IntegerType, order: Sequence[int] | None = None) -> SSAValue:
    """Returns the exact integers `q - z` of a quantized operand, with its axes permuted by `order`."""
    shape = shape_of(value)
    axes = range(len(shape)) if order is None else order
    reading = quantized.centered(at, value, axes_map(len(axes), np.argsort(axes).tolist()))
    sizes = [shape[axis] for axis in axes]
    return at.compute(reading.inputs, sizes, element, lambda *scalars: reading.read(scalars).to(element))


def nearest(element: UniformQuantizedType, value: Scalar) -> Scalar:
    """Rounds a float that includes the zero point to a stored integer. It fits in 32 bits, so its limits are exact."""
    whole = value.round_even().clamp(element.storage_min, element.storage_max)
    return whole.to(i32).to(IntegerType(element.bits))


def looked_up(at: Lowering) -> SSAValue:
    """Lowers the operation to lookups in a table of its results."""
    op = at.op
    assert isinstance(op, IRDLOperation)
    table = at.constant(table_of(op), at.result_element())
    reading = quantized.stored(at, op.operands[0], identity(at))
    first, _ = storage_limits(uniform_type(at, op.operands[0]).storage)

    def body(stored: Scalar) -> Scalar:
        position = stored.to(i32).to(IndexType())
        position = position - first if first else position
        return extracted(stored.builder, table, [position])

    return at.compute(reading.inputs, at.result_shape(), at.result_element(), body)


def between_casts(op: NnOp, at: Lowering) -> Sequence[SSAValue]:
    """Rewrites a quantized operation without integer arithmetic to a float operation between casts."""
    operands = [
        value if quantized.uniform_element(at, value) is None else at.insert(DequantizeCastOp(value, plain_of(value)))
        for value in op.operands
    ]
    plain = type(op).create(
        operands=operands,
        properties=op.properties,
        attributes=op.attributes,
        result_types=[plain_of(result) for result in op.results],
    )
    at.rewriter.insert(plain)
    return [
        new if new.type == old.type else at.insert(QuantizeCastOp(new, old.type))
        for new, old in zip(plain.results, op.results, strict=True)
    ]


def plain_of(value: SSAValue) -> Attribute:
    """Returns the tensor type of a value without quantization."""
    type_ = tensor(value.type)
    return TensorType(cast(Any, plain_type(type_.get_element_type())), type_.get_shape())


def or_parts(lower: Lower) -> Lower:
    """Wraps `lower`: a quantized operation with typed parts becomes these parts, or a table of their results.

    The table has one entry per stored value and does not depend on the index of an element. It is therefore used only
    if no part has per-axis parameters.
    """

    def chosen(op: NnOp, at: Lowering) -> Sequence[SSAValue] | None:
        if op.components is None or not is_quantized(op):
            return lower(op, at)
        is_alike = all(map(is_per_tensor, op.components.data.values()))
        return (looked_up(at),) if is_alike and isinstance(op, UnaryOp) and _is_table(op) else None

    return chosen


def otherwise(op: NnOp, at: Lowering) -> Sequence[SSAValue] | None:
    """Lowers an operation without a specific rule.

    A quantized operation becomes a lookup table or a float operation between casts; a float operation is left to its
    decomposition.
    """
    values = [*op.operands, *op.results]
    if all(quantized.uniform_element(at, value) is None for value in values):
        return None
    return (looked_up(at),) if isinstance(op, UnaryOp) and _is_table(op) else between_casts(op, at)


def elementwise(function: Function) -> Lower:
    """Returns the lowering of an operation that applies `function` to each element."""

    def lower(op: IRDLOperation, at: Lowering) -> Sequence[SSAValue]:
        return (looked_up(at) if _is_table(op) else through_reals(at, function),)

    return lower


# Computed and tabulated indices: indices that may count from the end, and index tables for axes.


def one_element(at: Lowering, value: SSAValue, dims: int) -> Input:
    """Returns the only element of an operand, as an input of a structured operation with `dims` iterators."""
    zeros = (AffineExpr.constant(0),) * len(shape_of(value))
    return Input(at.value(value), AffineMap(dims, 0, zeros), at.signedness(value))


def place_of(index: Scalar, size: int) -> Scalar:
    """Converts an index that may count from the end to an index from the start of an axis of `size` elements.

    Negative indices count from the end. The interpreter raises an error if an index is out of range; loops clamp it, so
    that accesses stay in bounds.
    """
    wide = index.to(i64)
    if not index.unsigned:
        wide = wide.compare("lt", 0).select(wide + size, wide)
    return wide.clamp(0, size - 1).to(IndexType())


def checked(at: Lowering, indices: Array, size: int) -> Array:
    """Returns constant indices counted from the start. Raises `DiagnosticError` if one is out of range."""
    try:
        return checked_indices(indices, size)
    except InterpretationError as error:
        raise at.error(str(error)) from error


@dataclass(frozen=True)
class IndexTable:
    """Indices into an axis of `size` elements, read from an input of a structured operation."""

    input: Input
    size: int
    is_checked: bool
    """Whether the indices are constants that were checked and are counted from the start."""

    def of(self, index: Scalar) -> Scalar:
        """Returns the index from the start of the axis, for an index read from `input`."""
        return index.to(IndexType()) if self.is_checked else place_of(index, self.size)


def positions(at: Lowering, indices: SSAValue, map_: AffineMap, size: int, component: int | None = None) -> IndexTable:
    """Reads indices into an axis of `size` elements from an operand with the indexing map `map_`.

    With `component`, the last axis of the operand holds index tuples, of which the component with that number is read;
    `map_` covers the other axes.
    """
    if not size:
        raise at.error("cannot index an empty axis")
    known = at.known(indices)
    if known is not None:
        chosen = known if component is None else known[..., component]
        table = at.constant(checked(at, chosen, size).astype(np.int32), i32)
        return IndexTable(Input(table, map_), size, is_checked=True)
    last = () if component is None else (AffineExpr.constant(component),)
    whole = AffineMap(map_.num_dims, 0, (*map_.results, *last))
    return IndexTable(Input(at.value(indices), whole, at.signedness(indices)), size, is_checked=False)


def run_of(indices: Array) -> range | None:
    """Returns indices with a constant positive step as a range; `None` for any other indices."""
    first = int(indices[0])
    step = int(indices[1]) - first if len(indices) > 1 else 1
    found = range(first, first + step * len(indices), step) if step > 0 else range(0)
    return found if len(found) == len(indices) and (indices == np.asarray(found)).all() else None


def axes_map(dims: int, axes: Sequence[int]) -> AffineMap:
    """Returns the map from `dims` iterators to the iterators listed in `axes`."""
    return AffineMap(dims, 0, tuple(AffineExpr.dimension(axis) for axis in axes))


def along_axes(at: Lowering, value: SSAValue, tables: Mapping[int, Array]) -> SSAValue:
    """Selects elements of a tensor along several axes in one operation; `tables` holds the indices for each axis."""
    if not tables:
        return value
    shape = [len(tables[axis]) if axis in tables else size for axis, size in enumerate(shape_of(value))]
    inputs = [
        Input(at.constant(table.astype(np.int32), i32), axes_map(len(shape), [axis])) for axis, table in tables.items()
    ]

    def body(*found: Scalar) -> Scalar:
        builder = found[0].builder
        named = dict(zip(tables, found, strict=True))
        point = [
            named[axis].to(IndexType()) if axis in named else position(builder, axis) for axis in range(len(shape))
        ]
        return extracted(builder, value, point)

    return at.compute(inputs, shape, element_of(value), body)


# Windows over spatial axes: channels last.


def channels_last(rank: int) -> tuple[int, ...]:
    """Returns the permutation of axes from `[N, C, …]` to `[N, …, C]`."""
    return (0, *range(2, rank), 1)


def channels_first(rank: int) -> tuple[int, ...]:
    """Returns the permutation of axes from `[N, …, C]` to `[N, C, …]`."""
    return (0, rank - 1, *range(1, rank - 1))
