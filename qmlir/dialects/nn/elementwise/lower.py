"""Lowering of elementwise operations to structured operations of the integer level."""

import math as numbers
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects import math
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerType,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.arithmetic.arrays import integer_limits
from qmlir.arithmetic.requantization import Mode, Sum, Ties, accumulator_scale, power_of_two_shift
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering, unchanged
from qmlir.dialects.kernel.lowering.quantized import ElementStore, encoded
from qmlir.dialects.kernel.lowering.scalars import STEPS, Scalar, constant
from qmlir.dialects.nn import lowering
from qmlir.dialects.nn.activations.ops import ReluOp, SigmoidOp
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.elementwise import ops
from qmlir.dialects.nn.evaluation import stored_bound
from qmlir.dialects.nn.formulas import FORMULAS, Formula
from qmlir.dialects.nn.lowering import Function, elementwise, identity, of_scalars, operand_map, through_reals
from qmlir.dialects.nn.requantize import affine, common_scale, headroom
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType, storage_limits
from qmlir.ir.builtin_types import as_integer, as_small_float, element_of, shape_of
from qmlir.text.elements import narrowed

# Conversions between plain types: floats to integers modulo their width, all others by one or two instructions.

_SIGNIFICANT_BITS: dict[type[Attribute], int] = {Float16Type: 11, BFloat16Type: 8, Float32Type: 24}
"""The number of significant bits of each float type except f64, which has 53."""

_TWO_TO_64 = 2.0**64


def _to_integer(x: Scalar, source: Attribute, target: IntegerType) -> Scalar:
    """Truncates a float towards zero, modulo the width of `target`; NaN and infinities become 0.

    Shorter floats are passed as f32.
    """
    bits, significant = target.bitwidth, _SIGNIFICANT_BITS.get(type(source), 53)
    for width in (32, 64):
        # A float beyond such integers is a multiple of 2^(width - significant bits); f16 has no floats of that size.
        if bits <= width - significant or isinstance(source, Float16Type):
            is_inside = x.absolute().compare("lt", 2.0 ** (width - 1))
            return is_inside.select(x, 0).to(IntegerType(width)).to(target)
    number = x.to(f64)
    number = (number - number).compare("eq", 0).select(number, 0)
    # Both steps are exact: the quotient is integral, and the remainder keeps the low bits of the number.
    rest = number - (number * (1 / _TWO_TO_64)).apply(math.TruncOp) * _TWO_TO_64
    magnitude = rest.absolute().to(i64, unsigned=True)
    return rest.compare("lt", 0).select(-magnitude, magnitude).to(target)


def _converted(x: Scalar, source: Attribute, element: Attribute) -> Scalar:
    if element == i1:
        return x.to(element)
    if isinstance(element, AnyFloat):
        # Integers and f64 are converted to the shorter floats through f32, as in their evaluator.
        is_by_f32 = isinstance(element, BFloat16Type) or (isinstance(element, Float16Type) and not x.is_float)
        return (x.to(f32) if is_by_f32 else x).to(element)
    target = as_integer(element)
    assert target is not None
    return _to_integer(x, source, target) if x.is_float else x.to(target)


_AS_IT_IS = ElementStore((), lambda value, scalars: value)


def _cast(op: ops.CastOp, at: Lowering) -> Sequence[SSAValue]:
    plain = plain_type(element_of(op.input)), plain_type(element_of(op.result))
    if plain[0] == plain[1]:
        return (at.value(op.input),)
    small = as_small_float(plain[1])
    source, element = f32 if as_small_float(plain[0]) else element_of(at.value(op.input)), at.result_element()
    if small is None and source == element and not isinstance(source, AnyFloat):
        return (at.value(op.input),)
    reading = quantized.plain(at, op.input, identity(at))

    def convert(x: Scalar) -> Scalar:
        if small is not None:
            return encoded(x.to(f32), small, saturates=op.saturates, rounding=op.rounding)
        return _converted(x, source, element)

    return (quantized.compute(at, [reading], _AS_IT_IS, convert),)


def _bit_cast(op: ops.BitCastOp, at: Lowering) -> Sequence[SSAValue]:
    value, element = at.value(op.input), at.result_element()
    if element_of(value) == element:
        return (value,)
    is_resized = i1 in (element, element_of(value))
    reading = quantized.stored(at, op.input, identity(at))

    def body(x: Scalar) -> Scalar:
        return x.to(element) if is_resized else x.bitcast(element)

    return (quantized.compute(at, [reading], _AS_IT_IS, body),)


# Elementwise arithmetic: functions of scalars for plain values, exact integer rules for quantized ones.


def _of_formula(formula: Formula) -> Function:
    def function(op: Operation, *scalars: Scalar) -> Scalar:
        return formula.of(op, STEPS, *scalars)

    return function


def _sign(op: Operation, x: Scalar) -> Scalar:
    one = x.constant(1)
    negative = x.constant(0) if x.unsigned else x.compare("lt", 0).select(x.constant(-1), 0)
    found = x.compare("gt", 0).select(one, negative)
    return x.compare("ne", x).select(x, found) if x.is_float else found


def _comparison(predicate: str) -> Function:
    def compare(op: Operation, a: Scalar, b: Scalar) -> Scalar:
        return a.compare(predicate, b)

    return compare


def _clip(op: ops.ClipOp, x: Scalar) -> Scalar:
    for bound, towards_the_others in ((op.minimum, numbers.ceil), (op.maximum, numbers.floor)):
        if bound is None:
            continue
        number = bound.value.data
        if not x.is_float:
            low, high = integer_limits(x.bits, is_signed=not x.unsigned)
            number = towards_the_others(min(max(number, low), high))
        x = x.maximum(number) if bound is op.minimum else x.minimum(number)
    return x


def _where(op: ops.WhereOp, at: Lowering) -> Sequence[SSAValue]:
    is_moved = all(element_of(value) == element_of(op.result) for value in (op.lhs, op.rhs))
    condition, *values = ((value, operand_map(at, value)) for value in op.operands)
    read = quantized.stored if is_moved else quantized.real
    readings = [quantized.stored(at, *condition), *(read(at, *each) for each in values)]
    writing = _AS_IT_IS if is_moved else quantized.writing(at, 0, identity(at))
    return (quantized.compute(at, readings, writing, Scalar.select),)


def _uniform(at: Lowering, values: Sequence[SSAValue]) -> list[UniformQuantizedType] | None:
    found = [quantized.uniform_element(at, value) for value in values]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


def _scale(at: Lowering, value: SSAValue, element: UniformQuantizedType) -> Any:
    """Returns the f32 scales of an operand in a shape that broadcasts to the result."""
    scales, _ = broadcast_parameters(element, shape_of(value))
    return np.asarray(scales, np.float32)


def _rescaled(at: Lowering, values: Sequence[SSAValue], scale: Any, largest: int, function: Function) -> SSAValue:
    readings = [quantized.centered(at, value, operand_map(at, value)) for value in values]
    writing = quantized.requantizing(at, 0, scale, largest, identity(at))
    wide = i64 if largest >= 1 << 31 else i32
    return quantized.compute(at, readings, writing, lambda *integers: function(at.op, *(x.to(wide) for x in integers)))


Growth = Callable[[Sequence[int]], int]
"""A function that returns the largest absolute value of a result for those of the operands."""


def _on_one_scale(function: Function, growth: Growth, of_codes: Function | None = None) -> Lower:
    """Returns a lowering of `function` on the integers of quantized operands of one scale, otherwise on floats.

    `of_codes`, if given, computes the stored integers of the result from those of operands of its type.
    """
    in_general = elementwise(function)

    def lower(op: Any, at: Lowering) -> Sequence[SSAValue] | None:
        elements = _uniform(at, [*op.operands, op.results[0]])
        if elements is None:
            return in_general(op, at)
        if of_codes is not None and _keeps_codes(elements):
            readings = [quantized.stored(at, value, operand_map(at, value)) for value in op.operands]
            return (quantized.compute(at, readings, _AS_IT_IS, partial(of_codes, op)),)
        scales = [_scale(at, value, element) for value, element in zip(op.operands, elements, strict=False)]
        bounds = [quantized.largest(element) for element in elements[:-1]]
        mode = quantized.requantization_of(at).mode
        if all(np.all(scales[0] == scale) for scale in scales) and not (mode.is_litert and len(scales) > 1):
            return (_rescaled(at, op.operands, scales[0], growth(bounds), function),)
        if mode is Mode.F32:
            return (through_reals(at, function),)
        return (_brought_together(op, at, scales, growth, function),)

    return lower


def _keeps_codes(elements: Sequence[UniformQuantizedType]) -> bool:
    """Whether values of these types can be chosen by their stored integers: all types are equal, per tensor and short.

    Wide integers may saturate when they are requantized, even if their scale stays.
    """
    first = elements[0]
    is_short = first.granularity is Granularity.TENSOR and first.bits <= 16
    return is_short and all(each == first for each in elements)


def _relu_of_codes(op: ReluOp, code: Scalar) -> Scalar:
    element = element_of(op.input)
    assert isinstance(element, UniformQuantizedType)
    limits = element.storage_min, element.storage_max  # zero may lie beyond them
    return code.maximum(int(np.clip(element.zero_points.item(), *limits)))


def _brought_together(
    op: ops.BinaryOp, at: Lowering, scales: Sequence[Any], growth: Growth, function: Function
) -> SSAValue:
    """Rescales integers to a common scale, in an integer mode, and applies `function`."""
    mode = quantized.requantization_of(at)
    common = common_scale(op, *scales)
    if (shifted := _shifted_together(op, at, scales, common, growth, function)) is not None:
        return shifted
    if (added := _added_at_coarser_scale(op, at, scales, common)) is not None:
        return added
    readings = [
        _brought(at, value, scale, common, 0 if mode.mode is Mode.SHIFT else headroom(op, value))
        for value, scale in zip(op.operands, scales, strict=True)
    ]
    writing = quantized.requantizing(at, 0, common, growth([1 << 31, 1 << 31]), identity(at))
    return quantized.compute(at, readings, writing, lambda *integers: function(op, *integers))


def _shifted_together(
    op: ops.BinaryOp, at: Lowering, scales: Sequence[Any], common: Any, growth: Growth, function: Function
) -> SSAValue | None:
    """Rescales by left shifts instead; returns `None` if 32 bits don't hold the integers, or the mode is not a
    shift."""
    elements = _uniform(at, op.operands)
    if elements is None or quantized.requantization_of(at).mode is not Mode.SHIFT:
        return None
    amounts = [-power_of_two_shift(np.asarray(scale, np.float64) / common) for scale in scales]
    reach = [quantized.largest(each) << int(amount.max()) for each, amount in zip(elements, amounts, strict=True)]
    largest = growth(reach)
    if max(largest, *reach) >= 1 << 31:
        return None
    every = identity(at)
    readings: list[quantized.ElementLoad] = []
    for value, amount in zip(op.operands, amounts, strict=True):
        own = quantized.centered(at, value, operand_map(at, value))
        by = quantized.parameter(at, amount.astype(np.int32), i32, every)

        def read(scalars: Sequence[Scalar], own: Any = own, by: Any = by) -> Scalar:
            integers, shifts = quantized.split(scalars, own.inputs, by.inputs)
            integer = own.read(integers).to(i32)
            return integer if by.is_always(0) else integer << by.of(shifts, integer)

        readings.append(quantized.ElementLoad((*own.inputs, *by.inputs), read))
    writing = quantized.requantizing(at, 0, common, largest, every)
    return quantized.compute(at, readings, writing, lambda *integers: function(op, *integers))


# With ties up, round(v / 2^s) = floor((v + 2^(s - 1)) / 2^s) does not depend on the last s - 1 bits of v. So for t < s,
#
#     round((2^t a + b) / 2^s) = round((a + floor(b / 2^t)) / 2^(s - t)),
#
# and for t = s, the rounded quotient of b is added to a. The finer operand b is thus shifted right instead of the
# coarser one left: the sum then fits in 32 bits, no matter how far apart the scales of a channel are.
def _added_at_coarser_scale(op: ops.BinaryOp, at: Lowering, scales: Sequence[Any], common: Any) -> SSAValue | None:
    """Adds integers at the coarser of their scales; returns `None` unless the mode is a shift with ties up to a scale
    that is coarser still in all channels, or equal in all."""
    mode, every, elements = quantized.requantization_of(at), identity(at), _uniform(at, [*op.operands, op.result])
    if not isinstance(op, ops.AddOp) or mode.mode is not Mode.SHIFT or mode.ties is not Ties.UP or elements is None:
        return None
    coarse, element = np.maximum(*scales).astype(np.float64), elements[-1]
    ratio = coarse / _scale(at, op.result, element)
    positions = power_of_two_shift(ratio)
    reach = (
        quantized.largest(each) << int(power_of_two_shift(common / np.asarray(scale, np.float64)).max())
        for each, scale in zip(elements, scales, strict=False)
    )
    if (not (positions > 0).all() and positions.any()) or max(reach) > quantized.ANY[1]:  # shifts to the left saturate
        return None
    read = _floored if positions.any() else partial(_brought, bits=0)
    readings = [read(at, value, scale, coarse) for value, scale in zip(op.operands, scales, strict=True)]
    _, zero_points = broadcast_parameters(element, shape_of(op.result))
    limits, result = (element.storage_min, element.storage_max), IntegerType(element.bits)
    writing = quantized.rescaling(at, mode, ratio, zero_points, limits, result, every)
    return quantized.compute(at, readings, writing, Scalar.__add__)


def _floored(at: Lowering, value: SSAValue, source: Any, common: Any) -> quantized.ElementLoad:
    """Reads the integers of an operand rescaled to the coarser scale `common` and rounded down, in i64."""
    own = quantized.centered(at, value, operand_map(at, value))
    amount = power_of_two_shift(np.asarray(source, np.float64) / common)
    by = quantized.parameter(at, amount.astype(np.int8), i8, identity(at))

    def read(scalars: Sequence[Scalar]) -> Scalar:
        integers, shifts = quantized.split(scalars, own.inputs, by.inputs)
        integer = own.read(integers).to(i64)
        return integer if by.is_always(0) else integer >> by.of(shifts, integer).to(i64)

    return quantized.ElementLoad((*own.inputs, *by.inputs), read)


def _brought(at: Lowering, value: SSAValue, source: Any, common: Any, bits: int) -> quantized.ElementLoad:
    """Reads the integers of an operand rescaled to the scale `common`, in i64."""
    map_ = operand_map(at, value)
    own = quantized.centered(at, value, map_)
    ratio = np.ldexp(source, -bits).astype(np.float64) / common.astype(np.float64)
    mode, zero_point = quantized.requantization_of(at), np.zeros((), np.int64)
    every = AffineMap.identity(map_.num_dims)  # the common scale may vary along axes that the operand lacks
    element = quantized.uniform_element(at, value)
    # 32 bits hold integers shifted into their headroom; larger ones saturate before they are rescaled.
    is_short = mode.mode is not Mode.SHIFT and element is not None and quantized.largest(element) << bits < 1 << 31
    rescaled = quantized.rescaling(at, mode, np.asarray(ratio), zero_point, quantized.ANY, i64, every)

    def read(scalars: Sequence[Scalar]) -> Scalar:
        integers, parameters = quantized.split(scalars, own.inputs, rescaled.inputs)
        wide = own.read(integers).to(i64)
        shifted = wide << bits if bits else wide
        return rescaled.write(shifted.to(i32) if is_short else shifted, parameters)

    return quantized.ElementLoad((*own.inputs, *rescaled.inputs), read)


def _mul(op: ops.MulOp, at: Lowering) -> Sequence[SSAValue]:
    elements = _uniform(at, [*op.operands, op.result])
    if elements is None:
        return (through_reals(at, FUNCTIONS[ops.MulOp]),)
    scales = [_scale(at, value, element) for value, element in zip(op.operands, elements, strict=False)]
    largest = quantized.largest(elements[0]) * quantized.largest(elements[1])
    if largest >= 1 << 63:
        raise at.error(f"cannot be compiled: products up to {largest} overflow 64 bits; use types with fewer bits")
    return (_rescaled(at, op.operands, accumulator_scale(*scales), largest, FUNCTIONS[ops.MulOp]),)


def _clip_quantized(op: ops.ClipOp, at: Lowering) -> Sequence[SSAValue] | None:
    elements = _uniform(at, [op.input, op.result])
    if elements is None:
        return elementwise(_clip)(op, at)
    source, target = elements
    if _keeps_codes(elements):
        readings, writing = [quantized.stored(at, op.input, identity(at))], _AS_IT_IS
    else:
        readings = [quantized.centered(at, op.input, identity(at))]
        writing = quantized.requantizing(at, 0, _scale(at, op.input, source), quantized.largest(source), identity(at))
    limiting = (op.minimum, Scalar.maximum), (op.maximum, Scalar.minimum)
    shape, element = at.result_shape(), at.result_element()
    bounds = [
        (quantized.parameter(at, stored_bound(op, bound.value.data, shape), element, identity(at)), limit)
        for bound, limit in limiting
        if bound is not None
    ]

    def write(integer: Scalar, scalars: Sequence[Scalar]) -> Scalar:
        own, *rest = quantized.split(scalars, writing.inputs, *(bound.inputs for bound, _ in bounds))
        value = writing.write(integer, own)
        stored = Scalar(value.value, value.builder, not target.is_signed)
        for (bound, limit), run in zip(bounds, rest, strict=True):
            stored = limit(stored, bound.of(run, stored))
        return stored

    both = quantized.ElementStore((*writing.inputs, *(each for bound, _ in bounds for each in bound.inputs)), write)
    return (quantized.compute(at, readings, both, unchanged),)


def _compare(predicate: str) -> Lower:
    """Compares operands of one scale by their integers, and others by their exact real values."""
    plain = _comparison(predicate)

    def lower(op: Any, at: Lowering) -> Sequence[SSAValue]:
        elements = _uniform(at, op.operands)
        if elements is None:
            return (through_reals(at, plain),)
        values, maps = op.operands, [operand_map(at, value) for value in op.operands]
        scales = [lowering.exact_scales(value, element) for value, element in zip(values, elements, strict=True)]
        if np.all(scales[0] == scales[1]):
            readings = [quantized.centered(at, value, map_) for value, map_ in zip(values, maps, strict=True)]
            return (quantized.compute(at, readings, _AS_IT_IS, integers),)
        first, second = lowering.exact_reals(at, list(zip(values, elements, maps, strict=True)))

        def body(*scalars: Scalar) -> Scalar:
            left, right = quantized.split(scalars, first.inputs, second.inputs)
            return first.read(left).compare(predicate, second.read(right))

        return (at.compute([*first.inputs, *second.inputs], at.result_shape(), at.result_element(), body),)

    def integers(left: Scalar, right: Scalar) -> Scalar:
        wide = i64 if i64 in (left.type, right.type) else i32
        return left.to(wide).compare(predicate, right.to(wide))

    return lower


_STEP_BITS = 48
"""The number of quotient bits that one step of a remainder removes; f64 holds each partial quotient with headroom."""


def _float_remainder(a: Scalar, b: Scalar) -> Scalar:
    """Computes C's `fmod` exactly, by long division in f64.

    The divisor is multiplied by powers of 2^48, the largest first, so that f64 represents every partial quotient. The
    fused step is exact, as the remainder has few bits. If a partial quotient is rounded up to the next integer, the
    remainder is one divisor too small.
    """
    dividend, divisor = a.to(f64), b.to(f64)
    rest, step = dividend.absolute(), divisor.absolute()
    exponents = 2098 if a.type == f64 else 277  # from the smallest number of the type to the largest
    for position in reversed(range(0, exponents, _STEP_BITS)):
        multiple = step
        for power in (min(position, 1000), min(max(position - 1000, 0), 1000), max(position - 2000, 0)):
            multiple = multiple * 2.0**power if power else multiple
        quotient = (rest / multiple).apply(math.TruncOp)
        left = (-quotient).apply(math.FmaOp, multiple, rest)
        left = left.compare("lt", 0).select(left + multiple, left)
        rest = rest.compare("lt", multiple).select(rest, left)  # an infinite multiple too
    return rest.apply(math.CopySignOp, dividend).to(a.type)


def _remainder(op: ops.ModOp, a: Scalar, b: Scalar) -> Scalar:
    """Computes the remainder: `fmod` has the sign of the dividend, `mod` that of the divisor."""
    rest = _float_remainder(a, b) if a.is_float else a % b
    if op.fmod.value.data or a.unsigned:
        return rest
    is_other = rest.compare("lt", 0) ^ b.compare("lt", 0)
    moved = (rest.compare("ne", 0) & is_other).select(rest + b, rest)
    if not a.is_float:
        return moved
    zero = b.constant(0).apply(math.CopySignOp, b)
    return rest.compare("eq", 0).select(zero, moved)


def _power(op: Operation, a: Scalar, b: Scalar) -> Scalar:
    exponent = b.to(a.type)
    return a.apply(math.PowFOp, exponent) if a.is_float else _integer_power(a, exponent)


def _integer_power(base: Scalar, exponent: Scalar) -> Scalar:
    """Computes a power by squaring, one step per bit of the exponent; it wraps like products, and 1 and -1 have
    inverses."""
    result, factor = base.constant(1), base
    bits = base.bits if base.unsigned else base.bits - 1
    magnitude = exponent if exponent.unsigned else exponent.maximum(0)
    for bit in range(bits):
        is_set = ((magnitude >> bit) & 1).compare("ne", 0)
        result = is_set.select(result * factor, result)
        factor = factor * factor if bit + 1 < bits else factor
    if base.unsigned:
        return result
    parity = (exponent & 1).compare("ne", 0).select(base.constant(-1), 1)
    inverse = base.compare("eq", 1).select(base, base.compare("eq", -1).select(parity, 0))
    return exponent.compare("lt", 0).select(inverse, result)


def _divided(function: Function) -> Lower:
    """Lowers `function` of a dividend and a divisor with wrapping, which `arith` lacks for the smallest integer over
    -1.

    A dividend over -1 is negated and divided by 1: the quotient is equal, and the remainder 0. If a constant shows that
    the case cannot occur, no comparison is emitted.
    """

    def lower(op: Any, at: Lowering) -> Sequence[SSAValue] | None:
        integer = as_integer(element_of(op.lhs))
        meet = integer is not None and _may_hold(at, op.lhs, storage_limits(integer)[0]) and _may_hold(at, op.rhs, -1)
        return elementwise(wrapping if meet else function)(op, at)

    def wrapping(op: Operation, a: Scalar, b: Scalar) -> Scalar:
        if a.unsigned:
            return function(op, a, b)
        is_minus_one = b.compare("eq", -1)
        return function(op, is_minus_one.select(-a, a), is_minus_one.select(b.constant(1), b))

    return lower


def _may_hold(at: Lowering, value: SSAValue, number: int) -> bool:
    """Whether an element of an operand may be `number`; for a constant, whether one is."""
    known = at.known(value)
    return known is None or bool((narrowed(known, element_of(value)) == number).any())


FUNCTIONS: dict[type[Operation], Function] = {
    **{operation: _of_formula(formula) for operation, formula in FORMULAS.items()},
    ops.AddOp: of_scalars(Scalar.__add__),
    ops.SubOp: of_scalars(Scalar.__sub__),
    ops.MulOp: of_scalars(Scalar.__mul__),
    ops.DivOp: of_scalars(Scalar.__truediv__),
    ops.MinOp: of_scalars(Scalar.minimum),
    ops.MaxOp: of_scalars(Scalar.maximum),
    ops.AbsOp: of_scalars(Scalar.absolute),
    ops.NegOp: of_scalars(Scalar.__neg__),
    ops.SignOp: _sign,
    ops.PowOp: _power,
    ops.EqualOp: _comparison("eq"),
    ops.WhereOp: of_scalars(Scalar.select),
}
"""The scalar functions of operations on plain floats."""


def _bitwise_not(op: Operation, x: Scalar) -> Scalar:
    return x ^ -1


def _bit_shift(op: ops.BitShiftOp, x: Scalar, amount: Scalar) -> Scalar:
    """Shifts by less than the width; for any other amount, all bits are shifted out."""
    is_left = op.direction.data == "left"
    is_inside = amount.compare("le", x.bits - 1)
    if not amount.unsigned:
        is_inside = is_inside & amount.compare("ge", 0)
    inside = is_inside.select(amount, 0)
    emptied = x.constant(0) if is_left or x.unsigned else x.compare("lt", 0).select(x.constant(-1), 0)
    return is_inside.select(x << inside if is_left else x >> inside, emptied)


def _is_nan(op: Operation, x: Scalar) -> Scalar:
    return x.compare("ne", x)


def _is_inf(op: ops.IsInfOp, x: Scalar) -> Scalar:
    wanted = (op.detect_negative, -float("inf")), (op.detect_positive, float("inf"))
    answers = [x.compare("eq", infinity) for flag, infinity in wanted if flag.value.data]
    if not answers:
        return constant(x.builder, 0, i1, unsigned=True)
    return answers[0] if len(answers) == 1 else answers[0] | answers[1]


_LOGIC: dict[type[Operation], Function] = {
    **dict.fromkeys((ops.AndOp, ops.BitwiseAndOp), of_scalars(Scalar.__and__)),
    **dict.fromkeys((ops.OrOp, ops.BitwiseOrOp), of_scalars(Scalar.__or__)),
    **dict.fromkeys((ops.XorOp, ops.BitwiseXorOp), of_scalars(Scalar.__xor__)),
    ops.NotOp: of_scalars(Scalar.logical_not),
    ops.BitwiseNotOp: _bitwise_not,
    ops.BitShiftOp: _bit_shift,
    ops.IsNaNOp: _is_nan,
    ops.IsInfOp: _is_inf,
}

LOWERINGS: dict[type[Operation], Lower] = {
    ops.CastOp: _cast,
    ops.BitCastOp: _bit_cast,
    **{operation: elementwise(function) for operation, function in {**FUNCTIONS, **_LOGIC}.items()},
    **{each: _on_one_scale(FUNCTIONS[each], sum) for each in (ops.AddOp, ops.SubOp)},
    **{each: _on_one_scale(FUNCTIONS[each], max) for each in (ops.AbsOp, ops.NegOp)},
    **{each: _on_one_scale(FUNCTIONS[each], max, FUNCTIONS[each]) for each in (ops.MinOp, ops.MaxOp)},
    ReluOp: _on_one_scale(FUNCTIONS[ReluOp], max, _relu_of_codes),
    ops.MulOp: _mul,
    ops.ClipOp: _clip_quantized,
    ops.EqualOp: _compare("eq"),
    ops.GreaterOp: _compare("gt"),
    ops.GreaterOrEqualOp: _compare("ge"),
    ops.LessOp: _compare("lt"),
    ops.LessOrEqualOp: _compare("le"),
    ops.WhereOp: _where,
    ops.DivOp: _divided(FUNCTIONS[ops.DivOp]),
    ops.ModOp: _divided(_remainder),
}


def _qlinear_add(op: ops.AddOp, at: Lowering) -> Sequence[SSAValue]:
    left, right, result = (lowering.uniform_type(at, value) for value in (op.lhs, op.rhs, op.result))
    steps = Sum.of(*map(affine, (left, right, result)))
    readings = [quantized.stored(at, value, operand_map(at, value)) for value in op.operands]

    def fused(a: Scalar, b: Scalar) -> Scalar:
        x, y = a.to(f32), b.to(f32)
        inner = y.apply(math.FmaOp, y.constant(float(steps.right_ratio)), y.constant(float(steps.offset)))
        return x.apply(math.FmaOp, x.constant(float(steps.left_ratio)), inner)

    writing = ElementStore((), lambda value, scalars: lowering.nearest(result, value))
    return (quantized.compute(at, readings, writing, fused),)


QLINEAR: dict[type[Operation], Lower] = {
    SigmoidOp: lambda op, at: (lowering.looked_up(at),),
    ops.AddOp: _qlinear_add,
}
