"""`convert-nn-to-fxp`: quantized operations of `nn` to instructions of the device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, ModuleOp, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir import registry
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ConvOp
from qmlir.dialects.nn.elementwise.ops import AddOp, ClipOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import dense, ranked_tensor, tensor
from qmlir.ir.conversion import ConvertForwarding, Legality, TypeConversion, convert
from qmlir.ir.diagnostics import op_error
from qmlir.ir.passes import EVERY_BIT, Preservation
from qmlir.ir.provenance import hand_on
from qmlir.passes.primitive.composites import Decompose
from qmlir.text.elements import dense_array
from qmlir_fxp.dialect import ops
from qmlir_fxp.dialect.block import WINDOW
from qmlir_fxp.dialect.evaluate import limits_of
from qmlir_fxp.passes.exponents import Exponents, exponents_of

ACCUMULATOR_BITS = 32
"""As wide as the adder of the device is: what is added is shifted up into so many bits."""


def _convert(type_: Attribute) -> Attribute | None:
    found = ranked_tensor(type_)
    element = None if found is None else found.get_element_type()
    if found is None or not isinstance(element, UniformQuantizedType):
        return None
    return TensorType(IntegerType(element.bits), found.get_shape())


def _largest(value: SSAValue) -> int:
    """How large the integers of a value may be."""
    match value.owner:
        case ops.CorrelateOp() as sums:
            return _sum_bound(sums)
        case ops.ConstantOp() as constant:
            return int(np.abs(_integers(constant)).max(initial=0))
        case _:
            low, high = limits_of(value)
            return max(-low, high)


def _integers(op: ops.ConstantOp) -> npt.NDArray[np.int64]:
    return dense_array(op.value).astype(np.int64)


def _sum_bound(op: ops.CorrelateOp) -> int:
    """The largest sum that the weights allow, or any weights of their width where they are not known."""
    shape, giver = ops.shape_of(op.weights), op.weights.owner
    if isinstance(giver, ops.ConstantOp):
        terms = int(np.abs(_integers(giver)).reshape(shape[0], -1).sum(axis=1).max(initial=0))
    else:
        terms = _largest(op.weights) * int(np.prod(shape[1:]))
    return _largest(op.data) * terms


@dataclass
class _Lowering:
    """One operation on its way: what is inserted in front of it, with its provenance."""

    op: Any
    rewriter: PatternRewriter
    types: TypeConversion

    def value(self, operand: SSAValue) -> SSAValue:
        """An operand as stored integers."""
        return self.types.operand(self.rewriter, operand)

    def add(self, new: Operation) -> SSAValue:
        hand_on([self.op], new)
        self.rewriter.insert(new)
        return new.results[0]

    def exponents(self, value: SSAValue) -> Exponents:
        return exponents_of(self.op, value)

    def shifted(self, value: SSAValue, places: Exponents, type_: Attribute) -> SSAValue:
        """`value` shifted right, in elements of `type_`; itself where that changes nothing."""
        result = TensorType(type_, ops.shape_of(value))
        if not any(places.places) and result == value.type:
            return value
        if places.axis not in (None, 1):
            raise op_error(self.op, f"has scales along axis {places.axis}, the device shifts by channels, axis 1")
        return self.add(
            ops.ShiftOp.create(
                operands=[value],
                result_types=[result],
                properties={
                    "places": DenseArrayBase.from_list(i64, list(places.places)),
                    "ties": StringAttr(self.op.requantize.ties.value),
                },
            )
        )

    def finished(self, value: SSAValue, exponents: Exponents) -> SSAValue:
        """`value`, whose scale is `exponents`, as the result of the operation."""
        result = self.op.result
        element = tensor(self.types.converted(result.type)).get_element_type()
        return self.shifted(value, exponents - self.exponents(result), element)


def _correlation(op: ConvOp, at: _Lowering) -> SSAValue | None:
    if op.bias is not None:
        return None  # the decomposition gives the parts, each with its width
    exponents = at.exponents(op.data) + Exponents(at.exponents(op.weight).places, 1)
    result = at.exponents(op.result)
    exact = not any((exponents - result).places)
    element = tensor(at.types.converted(op.result.type)).get_element_type() if exact else IntegerType(ACCUMULATOR_BITS)
    properties = {name: value for name, value in op.properties.items() if name in WINDOW}
    new = ops.CorrelateOp.create(
        operands=[at.value(op.data), at.value(op.weight)],
        result_types=[TensorType(element, tensor(op.result.type).get_shape())],
        properties=properties,
    )
    sums = at.add(new)
    bound, (_, high) = _sum_bound(new), limits_of(sums)
    if bound > high:
        bits = ops.width(sums)
        raise op_error(op, f"has sums up to {bound}, which the accumulator of {bits} bits does not hold")
    return at.finished(sums, exponents)


def _added(op: AddOp, at: _Lowering) -> SSAValue | None:
    sides = [at.exponents(op.lhs), at.exponents(op.rhs)]
    finest = sides[0].finer(sides[1])
    wide = IntegerType(ACCUMULATOR_BITS)
    operands: list[SSAValue] = []
    reach = 0
    for operand, side in zip((op.lhs, op.rhs), sides, strict=True):
        value, up = at.value(operand), side - finest
        reach += _largest(value) << -min(up.places)
        operands.append(at.shifted(value, up, wide) if any(up.places) else value)
    if reach >= 1 << (ACCUMULATOR_BITS - 1):
        raise op_error(op, f"has sums up to {reach}, which the adder of {ACCUMULATOR_BITS} bits does not hold")
    result_type = TensorType(wide, tensor(op.result.type).get_shape())
    bias = _channel_numbers(operands[1], op)
    if bias is not None:
        operands[1] = at.add(bias)
        total = at.add(ops.AddBiasOp.create(operands=operands, result_types=[result_type]))
    else:
        total = at.add(ops.AddOp.create(operands=operands, result_types=[result_type]))
    return at.finished(total, finest)


def _channel_numbers(value: SSAValue, op: AddOp) -> ops.ConstantOp | None:
    """The constant `value`, `[C, 1, …]`, with one number for each channel; `None` where it is none."""
    giver = value.owner
    shape, data = ops.shape_of(value), tensor(op.lhs.type).get_shape()
    if not isinstance(giver, ops.ConstantOp) or len(data) < 2 or shape != (data[1], *(1,) * (len(data) - 2)):
        return None
    return _in_shape(giver, shape[:1])


def _in_shape(constant: ops.ConstantOp, shape: Sequence[int]) -> ops.ConstantOp:
    """The same numbers in another shape."""
    value = dense(constant.value.data.data, TensorType(constant.value.get_element_type(), shape))
    result = TensorType(tensor(constant.result.type).get_element_type(), shape)
    return ops.ConstantOp.create(result_types=[result], properties={"value": value})


def _limited(at: _Lowering, value: SSAValue, minimum: int | None, maximum: int | None) -> SSAValue:
    limits = {"minimum": minimum, "maximum": maximum}
    properties = {name: IntegerAttr(each, i64) for name, each in limits.items() if each is not None}
    return at.add(ops.LimitOp.create(operands=[value], result_types=[value.type], properties=properties))


def _relu(op: ReluOp, at: _Lowering) -> SSAValue:
    return at.finished(_limited(at, at.value(op.input), 0, None), at.exponents(op.input))


def _clip(op: ClipOp, at: _Lowering) -> SSAValue:
    result = tensor(op.result.type).get_element_type()
    assert isinstance(result, UniformQuantizedType)
    bounds = [
        None if bound is None else int(quantize(np.full((), bound.value.data), result))
        for bound in (op.minimum, op.maximum)
    ]
    return _limited(at, at.finished(at.value(op.input), at.exponents(op.input)), bounds[0], bounds[1])


def _constant(op: ConstantOp, at: _Lowering) -> SSAValue:
    type_ = tensor(at.types.converted(op.result.type))
    value = dense(op.array.tobytes(), TensorType(op.value_type.get_element_type(), type_.get_shape()))
    return at.add(ops.ConstantOp.create(result_types=[type_], properties={"value": value}))


def _reshaped(op: ReshapeOp, at: _Lowering) -> SSAValue | None:
    """Numbers that the program brings along, in another shape: nothing is moved at run time."""
    giver = at.value(op.input).owner
    if not isinstance(giver, ops.ConstantOp):
        return None
    return at.add(_in_shape(giver, tensor(op.result.type).get_shape()))


LOWERINGS: dict[type[Operation], Callable[..., SSAValue | None]] = {
    ConvOp: _correlation,
    AddOp: _added,
    ReluOp: _relu,
    ClipOp: _clip,
    ConstantOp: _constant,
    ReshapeOp: _reshaped,
}
"""Operation to the function that makes its instructions; `None` where the device has none for it."""


@dataclass(frozen=True)
class _Lower(RewritePattern):
    types: TypeConversion

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if type(op) not in LOWERINGS or any(type(value.owner) in LOWERINGS for value in op.operands):
            return  # what an operand is tells how large its integers may be: it comes first
        requantize = getattr(op, "requantize", None)
        if requantize is not None and requantize.mode is not Mode.SHIFT:
            raise op_error(op, f"requantizes by {requantize.mode}, the device shifts")
        value = LOWERINGS[type(op)](op, _Lowering(op, rewriter, self.types))
        if value is not None:
            rewriter.replace(op, [], [self.types.restored(rewriter, value, op.results[0].type)])


@dataclass(frozen=True)
class ConvertNnToFxp(ModulePass):
    """Lower quantized operations to instructions of the device, which compute the same integers.

    Scales go: a ratio of two is a shift. Sums are as wide as their types say, and proven to fit; a convolution is its
    correlation, its bias and their sum, each of its own width. What has no instruction is an error that names it.

    Before:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !y = !quant.uniform<i8:f32, 0.5>
    func.func @main(%x: tensor<2x!x>) -> tensor<2x!y> {
      %0 = nn.relu %x {requantize = #kernel.requantize<shift, even>} : (tensor<2x!x>) -> tensor<2x!y>
      func.return %0 : tensor<2x!y>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
      %0 = fxp.limit %x {minimum = 0 : i64} : (tensor<2xi8>) -> tensor<2xi8>
      %1 = fxp.shift %0 {places = array<i64: 1>, ties = "even"} : (tensor<2xi8>) -> tensor<2xi8>
      func.return %1 : tensor<2xi8>
    }
    ```
    """

    name = "convert-nn-to-fxp"
    preserves: ClassVar[Preservation] = EVERY_BIT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        types = TypeConversion(_convert)
        legality = Legality(
            illegal_dialects=frozenset({"nn", "quant", "calib"}),
            illegal_operations=tuple(registry.decompositions()),
            accepted="convolutions, sums, relu and clip with scales that are powers of two",
            types=types,
        )
        convert(op, [_Composite(), _Lower(types), ConvertForwarding(types)], legality, ctx)


class _Composite(RewritePattern):
    """Takes a composite to its parts, whose types it has."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if type(op) in registry.decompositions():
            Decompose().match_and_rewrite(op, rewriter)
