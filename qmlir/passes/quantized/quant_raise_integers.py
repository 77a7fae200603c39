"""`quant-raise-integers`: turns integer arithmetic that is spelled in operators into operations on quantized types.

The operators state a requantization only by its multiplier `m = f32(f32(s_x * s_w) / s_y)`. If the model states `s_x`
and `s_y` in casts, the pass searches f32 numbers `s_w` that give exactly `m`. They exist if an export computed `m` from
these scales. Otherwise, the pass chooses 1 for `s_x` and `s_y`, and `m` for `s_w`. This is exact, because
`f32(f32(1 * m) / 1) = m`; values between such operations count quantization steps.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, f32, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.dialects.nn import accumulators
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.base import NnOp, property_attribute
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp, storage_element
from qmlir.dialects.nn.contraction.ops import ContractionOp, ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.dynamic.products import SUM
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    BinaryOp,
    CastOp,
    MaxOp,
    MinOp,
    MulOp,
    SubOp,
    UnaryOp,
)
from qmlir.dialects.nn.movement.ops import ConcatOp, MovementOp
from qmlir.dialects.nn.pooling.ops import AveragePoolOp, GlobalAveragePoolOp, MaxPoolOp
from qmlir.dialects.nn.reduction.ops import ReduceSumOp
from qmlir.dialects.nn.shapes.ops import PadOp, TriluOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import as_integer, element_of, shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.effects import erase_dead
from qmlir.ir.passes import count
from qmlir.ir.provenance import describe, set_tensor_names, tensor_names, with_origins_of
from qmlir.quantization.retyping import moves_values, recreated, slots_of
from qmlir.quantization.spelled_integers import (
    EXACT_F32,
    MOST_BITS,
    NotRaisedError,
    StoredLeaf,
    are_small,
    differ_in_scale,
    factors_of,
    has_integers,
    held_value,
    holds,
    is_foreign,
    known_form,
    leaf_of,
    nearest_solutions,
    owner_of,
    plain_integer,
    reading_type,
    scalar_operand,
    spelled_requantization,
    storage_of,
    stored_form,
    terms_of,
    typed,
    without_widening,
)

OperationT = TypeVar("OperationT", bound=Operation)

_MARGIN = 1 << MOST_BITS
"""The largest zero point that operators may add to 32-bit sums."""

_MOST_STEPS = 64
"""The largest number of values that become part of one requantization."""


@dataclass
class _Raising:
    """The operations that are built for one requantization; they are inserted before `root`."""

    root: Operation
    wanted: UniformQuantizedType | None = None
    """The type as which the model reads the result, which has the storage and the zero point of the requantization."""

    made: list[Operation] = field(default_factory=list[Operation])
    steps: int = 0
    """The number of values that were visited."""

    def discard(self) -> None:
        """Drops the operations that were built."""
        for op in reversed(self.made):
            op.drop_all_references()

    def add(self, op: OperationT, source: Operation | None = None) -> OperationT:
        with_origins_of(source or self.root, op)
        self.made.append(op)
        return op

    def built(self, op: Operation, source: Operation) -> SSAValue:
        """Adds an operation that `nn` must accept, with exact sums. Raises `NotRaisedError`."""
        op.attributes.pop("tensor", None)
        try:
            self.add(op, source).verify_()
        except VerifyException as error:
            raise NotRaisedError(str(error)) from error
        if not isinstance(op, ContractionOp | AddOp | SubOp):
            return op.results[0]
        limits = accumulators.difference_limits(op) if isinstance(op, SubOp) else accumulators.sum_limits(op)
        elements = i32, *([element_of(source.results[0])] if isinstance(op, AddOp | SubOp) else [])
        if limits is None or not all(holds(each, limits[0] - _MARGIN, limits[1] + _MARGIN) for each in elements):
            raise NotRaisedError(f"the sums of {describe(source)} may exceed 32 bits")
        return op.results[0]

    def stored(self, value: SSAValue, element: UniformQuantizedType) -> SSAValue:
        """Returns the stored integers `value`, or those of the quantized `value`, as a value of type `element`."""
        held, shape = value if has_integers(value) else stored_form(value), shape_of(value)
        known = element_of(value if held is None else held)
        if known == element and held is not None:
            return held
        stored = storage_element(known) if isinstance(known, UniformQuantizedType) else known
        if (constant := owner_of(held or value, ConstantOp)) is not None and stored == storage_element(element):
            types = [TensorType(element, shape)]
            return self.add(ConstantOp.create(properties=constant.properties, result_types=types), constant).result
        signless = TensorType(IntegerType(element.bits), shape)
        if held is not None:
            value = self.add(StorageCastOp(held, signless)).result
        elif value.type != signless:
            value = self.add(CastOp.create(operands=[value], result_types=[signless])).result
        return self.add(StorageCastOp(value, TensorType(element, shape))).result

    def constant(self, array: Array, element: UniformQuantizedType, source: Operation | None) -> SSAValue:
        type_ = TensorType(element, list(array.shape))
        dtype = np.dtype(f"{'i' if element.is_signed else 'u'}{max(element.bits // 8, 1)}")
        stored = np.ascontiguousarray(array.astype(dtype))
        if (stored != array).any():
            raise NotRaisedError(f"its constants exceed {element.bits} bits")
        return self.add(ConstantOp.of(stored, type_), source).result

    def of(self, value: SSAValue, multiplier: Array, element: UniformQuantizedType | None = None) -> SSAValue:
        """Returns `multiplier` times the integers `value`: as exact sums, or requantized to the type `element`."""
        value, self.steps = without_widening(value), self.steps + 1
        if self.steps > _MOST_STEPS:
            raise NotRaisedError(f"it is computed from more than {_MOST_STEPS} values")
        scales, axis = factors_of(multiplier, value)
        exact, bits = typed(IntegerType(32), scales, axis), as_integer(element_of(value))
        if (stored := constant_array(value)) is not None and element is None and bits is not None:
            return self.constant(stored, exact, owner_of(value, ConstantOp))
        if (leaf := leaf_of(value)) is not None:
            own = typed(storage_of(cast(IntegerType, plain_integer(leaf.value))), scales, axis, leaf.zero_point)
            found = self.stored(leaf.value, own)
            return found if element is None or element == own else self._rescaled(found, element)
        type_ = TensorType(element or exact, shape_of(value))
        op = value.owner if bits is not None or isinstance(value.owner, ConvOp) else None
        match op:
            case ConvOp():
                return self._of_floats(op, scales, axis, type_)
            case StorageCastOp() if (sums := self._product(value)) is not None:
                return self._contraction(sums, scales, axis, type_)
            case AddOp() if (sums := self._product(op.lhs)) and (bias := constant_array(op.rhs)) is not None:
                return self._contraction(sums, scales, axis, type_, bias, op.rhs)
            case MaxOp() if scalar_operand(op) == 0:
                data = self.of(op.operands[0], multiplier)
                return self.built(ReluOp.create(operands=[data], result_types=[type_]), op)
            case AddOp() | SubOp():
                return self.built(recreated(op, [self.of(each, multiplier) for each in op.operands], [type_]), op)
            case MulOp() if are_small(op.operands, bits):
                one = np.ones((), np.float32)
                return self.built(recreated(op, [self.of(op.lhs, multiplier), self.of(op.rhs, one)], [type_]), op)
            case ReduceSumOp() if are_small([op.input], bits, terms_of(op)) and (axis is None or op.keeps_axes):
                mean = self._global_mean(op, scales, type_) if axis is None and element is not None else None
                return mean or self.built(recreated(op, [self.of(op.input, multiplier)], [type_]), op)
            case StorageCastOp():
                raise NotRaisedError("several operations read its sums")
            case _:
                source = describe(value.owner) if isinstance(value.owner, Operation) else "an input"
                raise NotRaisedError(f"{source} computes the integers in a way that is not supported")

    def _results(self, type_: TensorType[Any]) -> list[TensorType[Any]]:
        """Returns the types that the result may have, best first: the one as which the model reads it, and `type_`."""
        is_other = self.wanted is not None and differ_in_scale(self.wanted, type_.get_element_type())
        return [*([TensorType(self.wanted, type_.get_shape())] if self.wanted is not None and is_other else []), type_]

    def _mean(
        self, source: Operation, leaf: StoredLeaf, multiplier: Array, terms: int, type_: TensorType[Any],
        kind: type[NnOp], **properties: Any,
    ) -> SSAValue | None:  # fmt: skip
        """Returns the mean of `terms` elements whose sums are requantized with `multiplier`; `None` if it isn't exact.

        The multiplier of a mean is `f32(s_x / f32(s_y * terms))`.
        """
        storage = storage_of(cast(IntegerType, plain_integer(leaf.value)))
        held = known_form(leaf.value, typed(storage, np.ones(1), None, leaf.zero_point))
        for result in self._results(type_):
            divisor = accumulator_scale(cast(UniformQuantizedType, result.get_element_type()).scale, terms)
            quotient = multiplier.astype(np.float64) * float(divisor)
            found = nearest_solutions(quotient, lambda each: each / divisor == multiplier)  # noqa: B023
            if held is not None:
                known = np.full(1, cast(UniformQuantizedType, element_of(held)).scale, np.float32)
                found = known if (known / divisor == multiplier).all() else found
            if found is not None:
                data = self.stored(leaf.value, typed(storage, found, None, leaf.zero_point))
                attributes = {name: property_attribute(value) for name, value in properties.items()}
                return self.built(kind.create(operands=[data], result_types=[result], properties=attributes), source)
        return None

    def _global_mean(self, op: ReduceSumOp, multiplier: Array, type_: TensorType[Any]) -> SSAValue | None:
        """Returns the mean over all positions of each channel; `None` for other sums."""
        leaf, rank = leaf_of(op.input), len(shape_of(op.input))
        if leaf is None or not op.keeps_axes or list(op.reduced_axes(rank)) != list(range(2, rank)):
            return None
        return self._mean(op, leaf, multiplier, terms_of(op), type_, GlobalAveragePoolOp)

    def _window_mean(self, op: ConvOp, leaf: StoredLeaf, multiplier: Array, type_: TensorType[Any]) -> SSAValue | None:
        """Returns the mean of windows without padding of each channel; `None` for other convolutions."""
        channels, *kernel = shape_of(op.data)[1], *shape_of(op.weight)[2:]
        windows, weight = op.windows, constant_array(op.weight)
        is_even = weight is not None and (weight == 1).all() and op.group_count == channels == len(weight)
        if not is_even or any(windows.pads) or any(step != 1 for step in windows.dilations):
            return None
        properties = {"kernel": kernel, "strides": list(windows.strides)}
        return self._mean(op, leaf, multiplier, math.prod(kernel), type_, AveragePoolOp, **properties)

    def _rescaled(self, value: SSAValue, element: UniformQuantizedType) -> SSAValue:
        real = self.add(DequantizeCastOp(value, TensorType(f32, shape_of(value)))).result
        return self.add(QuantizeCastOp(real, TensorType(element, shape_of(value)))).result

    @staticmethod
    def _product(value: SSAValue) -> ContractionOp | None:
        """Returns the contraction of which `value` has the exact sums, if nothing else reads them."""
        op = owner_of(value, StorageCastOp)
        found = None if op is None or element_of(op.input) != SUM else owner_of(op.input, ContractionOp)
        if found is None or len(list(value.uses)) > 1 or len(list(found.results[0].uses)) > 1:
            return None
        return found

    def _contraction(
        self,
        op: ContractionOp,
        scales: Array,
        axis: int | None,
        type_: TensorType[Any],
        bias: Array | None = None,
        added: SSAValue | None = None,
    ) -> SSAValue:
        """Returns the contraction `op` whose requantization has the multipliers `scales`."""
        data, scales, type_ = self._with_scales(op.operands[0], scales, type_)
        weight = op.operands[1]
        held = cast(UniformQuantizedType, element_of(weight))
        rank, is_conv = len(shape_of(op.results[0])), isinstance(op, ConvOp)
        channel = 1 if is_conv else rank - 1
        own = 0 if is_conv else len(shape_of(weight)) - 1
        if axis not in (None, channel):
            raise NotRaisedError(f"its multipliers are along axis {axis}, but channels are along axis {channel}")
        if axis is None and held.granularity is Granularity.AXIS:
            scales, axis = np.repeat(scales, held.scales.size), channel
        points = held.zero_points if axis is None else np.broadcast_to(held.zero_points.reshape(-1), scales.shape)
        element = typed(held.storage, scales, None if axis is None else own, points)
        stored, source = constant_array(weight), owner_of(weight, ConstantOp)
        if bias is None:
            return self.built(recreated(op, [data, self.stored(weight, element)], [type_]), op)
        is_matrix = isinstance(op, MatMulOp) and len(shape_of(weight)) == 2 and not op.is_rhs_transposed
        if stored is None or not (is_conv or is_matrix):
            raise NotRaisedError("its bias requires constant weights: a matrix, or those of a convolution")
        size, layout = shape_of(op.results[0])[channel], [1] * rank
        layout[channel] = bias.size
        if bias.size not in (1, size) or np.broadcast_shapes(bias.shape, layout) != tuple(layout):
            raise NotRaisedError("its bias must be one number, or one for each channel")
        products = accumulator_scale(cast(UniformQuantizedType, element_of(data)).scale, scales)
        sums = typed(IntegerType(32), products, None if axis is None else 0)
        origin = added.owner if added is not None and isinstance(added.owner, Operation) else None
        addend = self.constant(np.broadcast_to(bias.reshape(-1), [size]), sums, origin)
        if is_conv:
            return self.built(recreated(op, [data, self.stored(weight, element), addend], [type_]), op)
        right = self.constant(stored.T, element if axis is None else element.along(0), source)
        return self.built(FullyConnectedOp.create(operands=[data, right, addend], result_types=[type_]), op)

    def _with_scales(
        self, data: SSAValue, multipliers: Array, type_: TensorType[Any]
    ) -> tuple[SSAValue, Array, TensorType[Any]]:
        """Returns the data, the scales of the weights, and the type of the result, for `multipliers`.

        Scales that the model states for the data or the result are kept if scales of weights exist with which they give
        the multipliers exactly. They do if the model was exported with the scales that it states.
        """
        owner, steps = owner_of(data, StorageCastOp), cast(UniformQuantizedType, element_of(data))
        known = None if owner is None else known_form(owner.input, steps)
        sources = [data] if known is None else [known, data]
        for source, result in product(sources, self._results(type_)):
            scale = np.float32(cast(UniformQuantizedType, element_of(source)).scale)
            element = cast(UniformQuantizedType, result.get_element_type())
            divisor = np.float32(1.0 if result is type_ else element.scale)
            quotients = multipliers.astype(np.float64) * float(divisor) / float(scale)
            found = nearest_solutions(quotients, lambda each: each * scale / divisor == multipliers)  # noqa: B023
            if found is not None:
                return source, found, result
        raise NotRaisedError("its multipliers are beyond the range of f32")

    def _of_floats(self, op: ConvOp, scales: Array, axis: int | None, type_: TensorType[Any]) -> SSAValue:
        """Returns a convolution of stored integers that are held as floats, such as the sums of windows."""
        leaf, weight = leaf_of(op.data), constant_array(op.weight)
        element = None if leaf is None else plain_integer(leaf.value)
        is_whole = weight is not None and weight.size > 0 and bool((weight == np.rint(weight)).all())
        if leaf is None or element is None or weight is None or not is_whole or op.bias is not None:
            raise NotRaisedError(f"{describe(op)} does not convolve stored integers with constant integers")
        sums = np.abs(weight).reshape(len(weight), -1).sum(axis=1).max() * 2.0 ** (element.width.data + 1)
        if np.abs(weight).max() > np.iinfo(np.int8).max or sums > EXACT_F32 or axis not in (None, 1):
            raise NotRaisedError(f"{describe(op)} has sums that floats may not hold exactly")
        mean = self._window_mean(op, leaf, scales, type_) if axis is None and type_.get_element_type() != i32 else None
        if mean is not None:
            return mean
        data = self.stored(leaf.value, typed(storage_of(element), np.ones(1), None, leaf.zero_point))
        own = typed(IntegerType(8), scales, None if axis is None else 0)
        return self.built(
            recreated(op, [data, self.constant(weight, own, owner_of(op.weight, ConstantOp))], [type_]), op
        )


# --- The pass ---------------------------------------------------------------------------------------------------------

_MOVES = (MovementOp, ConcatOp, MaxPoolOp)
"""The operations that move stored integers or choose among them. They commute with casts to quantized types."""

_PADS = (PadOp, TriluOp)
"""The operations among them that add zeros. A plain zero is no quantized zero if the zero point is another one."""


def _insert_plain(value: SSAValue, like: SSAValue, op: Operation) -> SSAValue:
    """Returns the stored integers of `value` with the plain type of `like`, computed before `op`."""
    element = cast(UniformQuantizedType, element_of(value))
    casts: list[Operation] = [StorageCastOp(value, TensorType(IntegerType(element.bits), shape_of(value)))]
    if casts[0].results[0].type != like.type:
        casts.append(CastOp.create(operands=casts[0].results, result_types=[like.type]))
    Rewriter.insert_op([with_origins_of(op, each) for each in casts], InsertPoint.before(op))
    return casts[-1].results[0]


def _replace(op: Operation, raising: _Raising, value: SSAValue, result: SSAValue) -> None:
    """Inserts the operations of `raising`, and replaces `result` with the stored integers of `value`."""
    assert isinstance(value.owner, Operation)
    Rewriter.insert_op(raising.made, InsertPoint.before(op))
    if value.owner in raising.made:
        set_tensor_names(value.owner, tensor_names(op))
        value.name_hint = result.name_hint
    result.replace_all_uses_with(_insert_plain(value, result, op))
    count("requantizations raised")


def _fold(op: StorageCastOp) -> None:
    """Makes a cast to a quantized type read the value whose stored integers it converts."""
    held = held_value(op.input)
    if not isinstance(element_of(op.result), UniformQuantizedType) or held is None:
        return
    if held.type == op.result.type:
        op.result.replace_all_uses_with(held)
    elif not isinstance(op.input.owner, StorageCastOp):
        element = cast(UniformQuantizedType, element_of(held))
        plain = StorageCastOp(held, TensorType(IntegerType(element.bits), shape_of(held)))
        Rewriter.insert_op(with_origins_of(op, plain), InsertPoint.before(op))
        op.operands[0] = plain.result


def _move(op: Operation) -> None:
    """Makes an operation that moves stored integers, possibly as wider numbers, one on quantized values."""
    if not isinstance(op, _MOVES) or isinstance(op, _PADS) or not moves_values(op) or len(op.results) != 1:
        return
    operands, places = list(op.operands), slots_of(op)
    for position in places:
        leaf = leaf_of(operands[position])
        held = stored_form(leaf.value) if leaf is not None and leaf.zero_point == 0 else None
        if held is None:
            return
        operands[position] = held
    (result,) = op.results
    elements = {element_of(operands[position]) for position in places}
    plain = storage_element(cast(UniformQuantizedType, next(iter(elements))))
    users = [use.operation for use in result.uses]
    casts = [user.result for user in users if isinstance(user, CastOp)]
    narrowed = [result] if element_of(result) == plain else casts if len(casts) == len(users) else []
    if len(elements) != 1 or not narrowed or any(element_of(each) != plain for each in narrowed):
        return
    made = recreated(op, operands, [TensorType(elements.pop(), shape_of(result))])
    try:
        made.verify_()
    except VerifyException:
        made.drop_all_references()
        return
    Rewriter.insert_op(made, InsertPoint.before(op))
    made.results[0].name_hint = result.name_hint
    for each in narrowed:
        each.replace_all_uses_with(_insert_plain(made.results[0], each, op))


def _of_sums(op: StorageCastOp, raising: _Raising) -> SSAValue | None:
    """Returns the quantized sums that `op` reads as 32-bit integers, with the scales of its result, or `None`."""
    element, layout = element_of(op.result), [1] * len(shape_of(op.result))
    if not isinstance(op.input.owner, AddOp | StorageCastOp) or not isinstance(element, UniformQuantizedType):
        return None
    if element.storage != i32 or element.zero_points.any() or element.granularity is Granularity.BLOCK:
        return None
    if element.granularity is Granularity.AXIS:
        layout[element.axis] = -1
    return raising.of(op.input, element.scales.astype(np.float32).reshape(layout))


def _contractions(value: SSAValue) -> Iterator[ContractionOp]:
    """Yields the contractions of stored integers whose sums the integers `value` contain."""
    waiting, seen = [value], set[SSAValue]()
    while waiting:
        value = waiting.pop()
        if value in seen or (isinstance(element_of(value), UniformQuantizedType) and element_of(value) != SUM):
            continue
        seen.add(value)
        if isinstance(value.owner, ContractionOp):
            yield value.owner
        elif isinstance(value.owner, StorageCastOp | CastOp | UnaryOp | BinaryOp | MaxOp | MinOp):
            waiting += value.owner.operands


@dataclass(frozen=True)
class QuantRaiseIntegers(ModulePass):
    """Replaces integer arithmetic that is spelled in operators with operations on quantized types.

    Other tools, and `qmlir export --format integer`, write a quantized layer as ConvInteger or MatMulInteger, a bias,
    and a requantization: Cast, Mul, Round, Add, Clip and Cast. The pass replaces such a sequence with one operation on
    quantized types that computes the same integers. It does the same for sums, products, relus and pools of stored
    integers, for sums that remain 32-bit integers, and for operations that only move stored integers.

    The operators state the multiplier of a requantization, but not the scales. If casts before and after a contraction
    state those of the data and the result, the scales of the weights follow from them. Otherwise, the type of data has
    the scale 1, and the type of weights has the multipliers as scales. If a requantization of a contraction cannot be
    raised, a remark names the contraction and the reason.

    Before:

    ```mlir
    !x = !quant.uniform<u8:f32, 1.0:3>
    !w = !quant.uniform<i8:f32, 1.0>
    !sum = !quant.uniform<i32:f32, 1.0>
    func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2xui8> {
      %w = nn.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
      %m = nn.constant dense<[0.5, 0.25]> : tensor<2xf32>
      %z = nn.constant dense<7.0> : tensor<f32>
      %0 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!sum> {origin = "fc"}
      %1 = quant.scast %0 : tensor<1x2x!sum> to tensor<1x2xi32>
      %2 = nn.cast %1 : (tensor<1x2xi32>) -> tensor<1x2xf32>
      %3 = nn.mul %2, %m : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
      %4 = nn.round %3 : tensor<1x2xf32>
      %5 = nn.add %4, %z : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
      %6 = nn.clip %5 {minimum = 0.0, maximum = 255.0} : tensor<1x2xf32>
      %7 = nn.cast %6 : (tensor<1x2xf32>) -> tensor<1x2xui8>
      func.return %7 : tensor<1x2xui8>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<u8:f32, 1.0:3>
    !w = !quant.uniform<i8:f32:1, {0.5, 0.25}>
    !y = !quant.uniform<u8:f32, 1.0:7>
    func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2xui8> {
      %w = nn.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
      %0 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!y> {origin = "fc"}
      %1 = quant.scast %0 : tensor<1x2x!y> to tensor<1x2xi8>
      %2 = nn.cast %1 : (tensor<1x2xi8>) -> tensor<1x2xui8>
      func.return %2 : tensor<1x2xui8>
    }
    ```
    """

    name = "quant-raise-integers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remarks: dict[ContractionOp, str] = {}
        for each in list(op.walk()):
            _move(each)
            if not isinstance(each, CastOp | StorageCastOp):
                continue
            total, raising = each.input, _Raising(each)
            try:
                if isinstance(each, StorageCastOp):
                    _fold(each)
                    found = _of_sums(each, raising)
                    if found is not None and found.type == each.result.type:
                        Rewriter.insert_op(raising.made, InsertPoint.before(each))
                        each.result.replace_all_uses_with(found)
                        count("sums raised")
                    else:
                        raising.discard()
                elif (root := spelled_requantization(each)) is not None and not is_foreign(root.total):
                    total, raising.wanted = root.total, reading_type(each.result)
                    value = raising.of(root.total, root.multiplier, root.element)
                    _replace(each, raising, value, each.result)
            except NotRaisedError as error:
                raising.discard()
                remarks |= dict.fromkeys(_contractions(total), str(error))
        erase_dead(op.body, PatternRewriterListener())
        for contraction, reason in remarks.items():
            if contraction.parent is not None:
                emit_remark(contraction, f"is not raised to a quantized operation: {reason}")
