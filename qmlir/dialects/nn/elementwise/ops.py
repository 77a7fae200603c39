"""Elementwise operations: unary and broadcasting binary arithmetic, comparisons, selection, type conversion, logic.

Semantics follow the ONNX operator of the same name. On quantized values, the exact real result is rounded to the result
type. Integer arithmetic wraps around.
"""

import math
from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BoolAttr,
    Float8E8M0FNUType,
    FloatAttr,
    StringAttr,
    TensorType,
    f32,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.litert import Multiplier
from qmlir.arithmetic.requantization import Affine, Mode, Sum, accumulator_scale, f32_multiplier
from qmlir.arithmetic.small_floats import PowerRounding
from qmlir.dialects.nn.base import Kind, NnOp, OneOperandOp, build, kind_of, plain_type, shapes_agree, tensor_like
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.requantize import Accumulator, mode_of
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.dialects.quant.types import UniformQuantizedType, UniformType
from qmlir.ir.builtin_types import AnyTensor, as_integer, as_small_float, element_of, shape_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Domain, FixedRange, QuantizationSlots, Recomputable

# Shapes follow NumPy's broadcasting, with dynamic sizes allowed.


def _broadcast_size(left: int, right: int) -> int:
    if left == 1:
        return right
    if right == 1 or left == right:
        return left
    if DYNAMIC_INDEX in (left, right):
        # A dynamic size must turn out as 1 or as the static one; the result has the static size either way.
        return max(left, right)
    raise VerifyException(f"sizes {left} and {right} cannot be broadcast")


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape that all `shapes` broadcast to."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        pairs = zip_longest(reversed(result), reversed(shape), fillvalue=1)
        result = tuple(_broadcast_size(left, right) for left, right in pairs)[::-1]
    return result


def broadcasts_to(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    """Returns whether `shape` broadcasts to `wanted`; dynamic sizes may be any."""
    try:
        return shapes_agree(broadcast_shapes(shape, wanted), wanted)
    except VerifyException:
        return False


class UnaryOp(OneOperandOp, ABC):
    """An elementwise operation with one operand; the result has the shape and the plain element type of the operand."""

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED

    def __init__(self, value: SSAValue, result_type: Attribute | None = None):
        super().__init__(operands=[value], result_types=[result_type or self.default_result_type(value)])

    @classmethod
    def default_result_type(cls, operand: SSAValue) -> AnyTensor:
        """The default result type."""
        return tensor_like(operand, shape_of(operand))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [self.default_result_type(self.input)]


def fixed_output(minimum: float, maximum: float, domain: Domain | None = None) -> QuantizationSlots:
    """Returns the quantization slots of a unary operation whose results always lie in `[minimum, maximum]`."""
    return replace(defined_at(domain), fixed_output=FixedRange(minimum, maximum))


def defined_at(domain: Domain | None) -> QuantizationSlots:
    """Returns the slots of a unary operation whose results are finite only on `domain`."""
    return QuantizationSlots(domains={} if domain is None else {"input": domain})


DIVISOR = Domain(holes=(0.0,))
"""The domain of a divisor: all numbers except 0."""

ANGLE = Domain(coarsest=1 / 32)
"""The domain of an angle: any number, with a scale of at most 1/32, so that a full turn has at least 200 quantization
steps. 8 bits thus cover one turn, but not the angles of a long sequence of positions."""


@irdl_op_definition
class AbsOp(UnaryOp, Recomputable):
    """Elementwise absolute value `|x|`."""

    name = "nn.abs"
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.OPERAND
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER


@irdl_op_definition
class NegOp(UnaryOp, Recomputable):
    """Elementwise arithmetic negation `-x`."""

    name = "nn.neg"
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.OPERAND
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Elementwise square root; NaN for negative numbers."""

    name = "nn.sqrt"
    SLOTS: ClassVar[QuantizationSlots] = defined_at(Domain(minimum=0.0))


@irdl_op_definition
class ExpOp(UnaryOp):
    """Elementwise exponential function `e^x`."""

    name = "nn.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """Elementwise natural logarithm; NaN for negative numbers."""

    name = "nn.log"
    SLOTS: ClassVar[QuantizationSlots] = defined_at(Domain(minimum=0.0, holes=(0.0,)))


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """Elementwise reciprocal `1 / x`."""

    name = "nn.reciprocal"
    SLOTS: ClassVar[QuantizationSlots] = defined_at(DIVISOR)


@irdl_op_definition
class ErfOp(UnaryOp):
    """Elementwise error function (ONNX Erf)."""

    name = "nn.erf"
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(-1.0, 1.0)


@irdl_op_definition
class SinOp(UnaryOp):
    """Elementwise sine of an angle in radians."""

    name = "nn.sin"
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(-1.0, 1.0, ANGLE)


@irdl_op_definition
class CosOp(UnaryOp):
    """Elementwise cosine of an angle in radians."""

    name = "nn.cos"
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(-1.0, 1.0, ANGLE)


@irdl_op_definition
class TanOp(UnaryOp):
    """Elementwise tangent of an angle in radians."""

    name = "nn.tan"
    SLOTS: ClassVar[QuantizationSlots] = defined_at(ANGLE)


@irdl_op_definition
class AsinOp(UnaryOp):
    """Elementwise arcsine, in `[-pi / 2, pi / 2]`; NaN outside `[-1, 1]`."""

    name = "nn.asin"
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(-math.pi / 2, math.pi / 2, Domain(-1.0, 1.0))


@irdl_op_definition
class AcosOp(UnaryOp):
    """Elementwise arccosine, in `[0, pi]`; NaN outside `[-1, 1]`."""

    name = "nn.acos"
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(0.0, math.pi, Domain(-1.0, 1.0))


@irdl_op_definition
class AtanOp(UnaryOp):
    """Elementwise arctangent, in `[-pi / 2, pi / 2]`."""

    name = "nn.atan"
    SLOTS: ClassVar[QuantizationSlots] = fixed_output(-math.pi / 2, math.pi / 2)


@irdl_op_definition
class SinhOp(UnaryOp):
    """Elementwise hyperbolic sine (ONNX Sinh)."""

    name = "nn.sinh"


@irdl_op_definition
class CoshOp(UnaryOp):
    """Elementwise hyperbolic cosine (ONNX Cosh)."""

    name = "nn.cosh"


@irdl_op_definition
class AsinhOp(UnaryOp):
    """Elementwise inverse hyperbolic sine."""

    name = "nn.asinh"


@irdl_op_definition
class AcoshOp(UnaryOp):
    """Elementwise nonnegative inverse hyperbolic cosine; NaN below 1."""

    name = "nn.acosh"
    SLOTS: ClassVar[QuantizationSlots] = defined_at(Domain(minimum=1.0))


@irdl_op_definition
class AtanhOp(UnaryOp):
    """Elementwise inverse hyperbolic tangent; NaN outside `[-1, 1]`."""

    name = "nn.atanh"
    SLOTS: ClassVar[QuantizationSlots] = defined_at(Domain(-1.0, 1.0, holes=(-1.0, 1.0)))


@irdl_op_definition
class FloorOp(UnaryOp, Recomputable):
    """Rounds each element down to an integer."""

    name = "nn.floor"


@irdl_op_definition
class CeilOp(UnaryOp, Recomputable):
    """Rounds each element up to an integer."""

    name = "nn.ceil"


@irdl_op_definition
class RoundOp(UnaryOp, Recomputable):
    """Rounds each element to the nearest integer, ties to even."""

    name = "nn.round"


@irdl_op_definition
class SignOp(UnaryOp, Recomputable):
    """Elementwise sign: -1, 0 or 1; NaN for NaN."""

    name = "nn.sign"
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER


@irdl_op_definition
class ClipOp(UnaryOp, Recomputable):
    """Clamps each element: `min(max(x, minimum), maximum)`; both bounds are optional.

    Without bounds, the operation rescales a quantized value to another type. In the modes of LiteRT, it also quantizes
    floats, which these round differently from `quant.qcast`.
    """

    name = "nn.clip"
    LITERT: ClassVar[Multiplier | None] = Multiplier.ACTIVATION
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.OPERAND
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(limits_operand=True)

    minimum = opt_prop_def(FloatAttr)
    maximum = opt_prop_def(FloatAttr)

    def quantizes(self) -> bool:
        return mode_of(self).is_litert and self.minimum is None and self.maximum is None

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        if len(types) == 1 and plain_type(element_of(self.input)) != f32:
            raise VerifyException(f"requantization mode '{mode}' quantizes f32, but got '{self.input.type}'")

    def litert_multiplier(self) -> Multiplier:
        is_bounded = self.minimum is not None or self.maximum is not None
        return Multiplier.ACTIVATION if is_bounded else Multiplier.DOUBLE

    def quantization_slots(self) -> QuantizationSlots:
        is_bounded = self.minimum is not None or self.maximum is not None
        return self.SLOTS if is_bounded else QuantizationSlots()

    @staticmethod
    def unbounded(value: SSAValue) -> "ClipOp":
        """Returns a clip without bounds, which only requantizes a quantized `value` to another type."""
        return ClipOp(value)

    @staticmethod
    def between(value: SSAValue, minimum: float, maximum: float) -> "ClipOp":
        """Returns a clip of `value` to `[minimum, maximum]`."""
        return build(ClipOp, [value], {"minimum": minimum, "maximum": maximum})


class BinaryOp(NnOp, ABC):
    """An elementwise operation with two operands that broadcast against each other."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, result_type: Attribute | None = None):
        super().__init__(operands=[lhs, rhs], result_types=[result_type or self.default_result_type(lhs, rhs)])

    @classmethod
    def default_result_type(cls, lhs: SSAValue, rhs: SSAValue) -> AnyTensor:
        """The default result type."""
        return tensor_like(lhs, broadcast_shapes(shape_of(lhs), shape_of(rhs)))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [self.default_result_type(self.lhs, self.rhs)]


@irdl_op_definition
class AddOp(BinaryOp, Recomputable):
    """Elementwise sum `a + b`."""

    name = "nn.add"
    LITERT: ClassVar[Multiplier | None] = Multiplier.SUM
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.COMMON
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(takes_accumulators=True)

    def qlinear_bound(self, values: Sequence[Affine]) -> float:
        left, right, result = values
        for each in (left, right):
            f32_multiplier(each.scale, result.scale)
        return Sum.of(left, right, result).largest


@irdl_op_definition
class SubOp(BinaryOp, Recomputable):
    """Elementwise difference `a - b`."""

    name = "nn.sub"
    LITERT: ClassVar[Multiplier | None] = Multiplier.SUM
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.COMMON
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(takes_accumulators=True)


@irdl_op_definition
class MulOp(BinaryOp, Recomputable):
    """Elementwise product `a * b`."""

    name = "nn.mul"
    LITERT: ClassVar[Multiplier | None] = Multiplier.SINGLE
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.PRODUCT

    def qlinear_bound(self, values: Sequence[Affine]) -> float:
        left, right, result = values
        return 65536.0 * float(f32_multiplier(accumulator_scale(left.scale, right.scale), result.scale)) + 256


@irdl_op_definition
class DivOp(BinaryOp, Recomputable):
    """Elementwise quotient `a / b`; integer division truncates towards zero, and the minimum divided by -1 wraps
    around."""

    name = "nn.div"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(domains={"rhs": DIVISOR})


@irdl_op_definition
class PowOp(BinaryOp):
    """Elementwise power `a ^ b`; for integers with negative `b`, `1 / a^-b` truncated towards zero.

    If `a` is quantized, `b` stays in float.
    """

    name = "nn.pow"
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"rhs": None})
    # A quantized exponent 2 could become 2.0000002, and powers of negative numbers would become NaN.

    def accepts_quantized_values(self) -> bool:
        return isinstance(self.rhs.owner, ConstantOp)

    def float_reason(self) -> str:
        return FloatCause.VARIABLE_EXPONENT.reason()

    def domains(self) -> Iterator[Domain | None]:
        exponents = self.rhs.owner.array if isinstance(self.rhs.owner, ConstantOp) else np.array([-0.5])
        holes = (0.0,) if (exponents < 0).any() else ()
        is_whole = bool((exponents == np.floor(exponents)).all())
        yield Domain(minimum=-math.inf if is_whole else 0.0, holes=holes) if holes or not is_whole else None
        yield None

    def verify_(self) -> None:
        super().verify_()
        exponent, base = element_of(self.rhs), element_of(self.lhs)
        if kind_of(exponent) not in (Kind.FLOAT, Kind.INTEGER) or plain_type(exponent) != plain_type(base):
            raise VerifyException(
                f"exponents must have the element type of the base ({base}), but got '{self.rhs.type}'"
            )


@irdl_op_definition
class ModOp(BinaryOp):
    """Elementwise remainder `a - floor(a / b) * b`, which has the sign of `b`.

    With `fmod`, the remainder is `a - trunc(a / b) * b`, which has the sign of `a`, as in C.
    """

    name = "nn.mod"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER

    fmod = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))


@irdl_op_definition
class MinOp(BinaryOp, Recomputable):
    """Elementwise minimum of `a` and `b`; NaN if either is NaN."""

    name = "nn.min"
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.COMMON


@irdl_op_definition
class MaxOp(BinaryOp, Recomputable):
    """Elementwise maximum of `a` and `b`; NaN if either is NaN."""

    name = "nn.max"
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.COMMON


class ComparisonOp(BinaryOp, Recomputable, ABC):
    """An elementwise comparison of real values; the result has element type i1."""

    @classmethod
    def default_result_type(cls, lhs: SSAValue, rhs: SSAValue) -> AnyTensor:
        return TensorType(i1, broadcast_shapes(shape_of(lhs), shape_of(rhs)))


@irdl_op_definition
class EqualOp(ComparisonOp):
    """Elementwise equality `a == b`."""

    name = "nn.equal"
    ACCEPTS: ClassVar[Kind] = Kind.ANY | Kind.STRING


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """Elementwise comparison `a > b`."""

    name = "nn.greater"


@irdl_op_definition
class GreaterOrEqualOp(ComparisonOp):
    """Elementwise comparison `a >= b`."""

    name = "nn.greater_or_equal"


@irdl_op_definition
class LessOp(ComparisonOp):
    """Elementwise comparison `a < b`."""

    name = "nn.less"


@irdl_op_definition
class LessOrEqualOp(ComparisonOp):
    """Elementwise comparison `a <= b`."""

    name = "nn.less_or_equal"


@irdl_op_definition
class WhereOp(NnOp, Recomputable):
    """Selects each element from `a` if the condition is true, and from `b` otherwise."""

    name = "nn.where"
    ACCEPTS: ClassVar[Kind] = Kind.MOVED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"condition": None}, shares_parameters=True)

    condition = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if element_of(self.condition) != i1:
            raise VerifyException(f"condition must have elements of type i1, but got '{self.condition.type}'")
        if kind_of(element_of(self.lhs)) is Kind.QUANTIZED and element_of(self.lhs) != element_of(self.rhs):
            raise VerifyException(
                f"cannot requantize the elements it selects: operands must have one type, but got '{self.lhs.type}' "
                f"and '{self.rhs.type}'"
            )
        shape = broadcast_shapes(*(shape_of(operand) for operand in self.operands))
        return [TensorType(element_of(self.lhs), shape)]


@irdl_op_definition
class CastOp(OneOperandOp, Recomputable):
    """Converts each element to the plain element type of the result; for quantized types use `quant.qcast`.

    Conversion to a float type rounds to the nearest value, ties to even. Conversion to an integer type truncates
    towards zero; integers that do not fit lose their higher bits, as in ONNX, and NaN and infinities become 0.
    Conversion to i1 yields true for all values except 0. Conversion to a float of at most 8 bits rounds through f32,
    and values out of range saturate unless `saturate` is false. Conversion to powers of two (f8E8M0FNU) rounds
    according to `round_mode`: `up` (default), `down`, or `nearest` with ties rounded up.
    """

    name = "nn.cast"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER | Kind.BOOLEAN | Kind.SMALL_FLOAT

    saturate = opt_prop_def(BoolAttr)
    round_mode = opt_prop_def(StringAttr)

    @property
    def saturates(self) -> bool:
        """Whether values out of range of a low-precision float saturate to its largest finite value."""
        return self.saturate is None or bool(self.saturate)

    @property
    def rounding(self) -> PowerRounding:
        """How values are rounded to powers of two."""
        return PowerRounding.UP if self.round_mode is None else PowerRounding(self.round_mode.data)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        source, element = element_of(self.input), element_of(self.result)
        kind = kind_of(element)
        if kind is None or kind not in self.ACCEPTS or isinstance(element, UniformType):
            raise VerifyException(f"cannot cast to '{element}'")
        if isinstance(source, UniformType):
            raise VerifyException(f"cannot cast from '{source}'; use quant.dcast")
        self._verify_rounding(element)
        return [TensorType(plain_type(element), shape_of(self.input))]

    def _verify_rounding(self, element: Attribute) -> None:
        if self.saturate is not None and as_small_float(element) is None:
            raise VerifyException(f"'saturate' requires a float result of at most 8 bits, but got '{element}'")
        if self.round_mode is None:
            return
        if not isinstance(element, Float8E8M0FNUType):
            raise VerifyException(f"'round_mode' requires a result of type f8E8M0FNU, but got '{element}'")
        check_choice("'round_mode'", self.round_mode.data, [mode.value for mode in PowerRounding])


@irdl_op_definition
class BitCastOp(OneOperandOp):
    """Reinterprets the bits of each element as another type of equal width; i1 counts as a byte with value 0 or 1."""

    name = "nn.bit_cast"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER | Kind.BOOLEAN | Kind.SMALL_FLOAT

    def infer_result_types(self) -> Sequence[AnyTensor]:
        source, element = plain_type(element_of(self.input)), plain_type(element_of(self.result))
        if _bits(source) is None or _bits(source) != _bits(element):
            raise VerifyException(f"cannot reinterpret '{source}' as '{element}': the types have different bit widths")
        return [TensorType(element, shape_of(self.input))]


def _bits(element: Attribute) -> int | None:
    """Returns the width of an element in bits, 8 for i1; `None` for types without a width."""
    if isinstance(element, AnyFloat):
        return element.bitwidth
    integer = as_integer(element)
    return None if integer is None else 8 if element == i1 else integer.width.data


# Logic on booleans, bitwise operations on integers, and predicates on floats; never quantized.

SHIFT_DIRECTIONS = ("left", "right")


@irdl_op_definition
class AndOp(BinaryOp):
    """Elementwise logical conjunction (ONNX And)."""

    name = "nn.and"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class OrOp(BinaryOp):
    """Elementwise logical disjunction (ONNX Or)."""

    name = "nn.or"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class XorOp(BinaryOp):
    """Elementwise exclusive disjunction (ONNX Xor)."""

    name = "nn.xor"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class NotOp(UnaryOp):
    """Elementwise logical negation (ONNX Not)."""

    name = "nn.not"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class BitwiseAndOp(BinaryOp):
    """Elementwise bitwise AND of integers."""

    name = "nn.bitwise_and"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseOrOp(BinaryOp):
    """Elementwise bitwise OR of integers."""

    name = "nn.bitwise_or"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseXorOp(BinaryOp):
    """Elementwise bitwise XOR of integers."""

    name = "nn.bitwise_xor"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """Elementwise bitwise complement of integers."""

    name = "nn.bitwise_not"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitShiftOp(BinaryOp):
    """Shifts the bits of `a` by `b` to the left or right; if `a` is signed, a right shift is arithmetic.

    If `b` is negative or not less than the width, all bits are shifted out: the result is 0, or -1 for a right shift of
    a negative `a`.
    """

    name = "nn.bit_shift"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER

    direction = prop_def(StringAttr)

    def verify_(self) -> None:
        check_choice("direction", self.direction.data, SHIFT_DIRECTIONS)
        super().verify_()


class PredicateOp(UnaryOp, ABC):
    """A predicate on each float; the result has element type i1."""

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    @classmethod
    def default_result_type(cls, operand: SSAValue) -> AnyTensor:
        return TensorType(i1, shape_of(operand))


@irdl_op_definition
class IsNaNOp(PredicateOp):
    """Whether each element is NaN (ONNX IsNaN)."""

    name = "nn.is_nan"


@irdl_op_definition
class IsInfOp(PredicateOp):
    """Whether each element is infinite, restricted to the selected signs (ONNX IsInf)."""

    name = "nn.is_inf"

    detect_negative = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
    detect_positive = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
