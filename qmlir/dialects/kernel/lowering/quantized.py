"""Access to quantized elements in bodies: reads stored integers as exact integers or floats, and rounds on writes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, Float8E8M0FNUType, IntegerType, f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic import litert
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import (
    MULTIPLIED,
    Mode,
    accumulator_scale,
    f32_multiplier,
    fixed_point,
    power_of_two_shift,
)
from qmlir.arithmetic.row_norms import RowNorm
from qmlir.arithmetic.small_floats import PlainFloat, PowerRounding
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.kernel.lowering.lowering import (
    Input,
    Lowering,
    is_unsigned,
    plain_element,
    small_float_of,
    unchanged,
)
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar, constant
from qmlir.dialects.kernel.ops import ReciprocalRootOp, RequantizeOp
from qmlir.dialects.kernel.rows import RowSumOp
from qmlir.dialects.quant.infer import broadcast_parameters, spread
from qmlir.dialects.quant.types import (
    Granularity,
    StoredType,
    UniformFloatType,
    UniformQuantizedType,
    UniformType,
    storage_limits,
)
from qmlir.ir.builtin_types import Codes, SmallFloat
from qmlir.ir.builtin_types import tensor as tensor_type
from qmlir.text.elements import dtype_of

# Low-precision floats in integer code: the integer level holds their bits and computes in f32.
#
# Decoding and encoding consist of shifts, one exact f32 product or sum, and selects, all derived from the description
# of the format (`FloatSemantics`). There are no table lookups, so loops can be vectorized.

_MANTISSA, _BIAS, _INFINITY, _NAN = 23, 127, 0x7F800000, 0x7FC00000
_MAGNITUDE = 0x7FFFFFFF


def decoded(code: Scalar, format_: SmallFloat) -> Scalar:
    """Decodes the bits `code`, an unsigned integer of any width, exactly to f32.

    The exponent and mantissa are moved to the bits where an f32 holds them. A multiplication by a power of two corrects
    the exponent bias, also for subnormal values.
    """
    semantics, codes = format_.SEMANTICS, Codes.of(format_.SEMANTICS)
    bits = code.to(i32)
    magnitude = bits & (codes.sign - 1) if codes.sign else bits
    shifted = magnitude << (_MANTISSA - semantics.mantissa_bits)
    if semantics.has_zero:
        real = shifted.bitcast(f32) * 2.0 ** (_BIAS - semantics.exponent_bias)
        found = real.bitcast(i32)
    else:  # the bias is f32's, and code 0 its largest subnormal power of two
        found = magnitude.compare("eq", 0).select(bits.constant(1 << _MANTISSA - 1), shifted)
    if codes.infinity is not None:
        found = magnitude.compare("ge", codes.infinity).select(bits.constant(_INFINITY), found)
        found = magnitude.compare("gt", codes.infinity).select(bits.constant(_NAN), found)
    elif codes.nan is not None:
        same = bits if not codes.has_negative_zero else magnitude
        found = same.compare("eq", codes.nan).select(bits.constant(_NAN), found)
    if codes.sign:
        found = found | ((bits & codes.sign) << (31 - semantics.sign_shift))
    return found.bitcast(f32)


_FEW_SUBNORMAL = 4
"""The exponent width from which only few weights are subnormal: those below `2^-14` of the largest one."""


def plain_place(format_: PlainFloat) -> int:
    """Returns the bit of an f32 at which a code must start to align its exponent and mantissa with those of f32."""
    return _MANTISSA - format_.mantissa_bits


def plain_decoded(emit: ArithBuilder, moved: SSAValue, format_: PlainFloat) -> SSAValue:
    """Decodes codes to f32, exactly, on scalars or vectors.

    The codes are i32 values that start at bit `plain_place`, with their signs in the top bit.

    Read as an f32, such a value is too small by a factor of `2^n`, because the exponent bias of f32 is larger. A
    multiplication corrects this, also for subnormal values. These are subnormal in f32 before the multiplication, and
    many CPUs take a hundred cycles for a product with a subnormal operand. Codes are scaled such that the largest
    weight gets the highest exponent (`PlainFloat.scaled_codes`), so with 4 exponent bits only one weight in thousands
    is subnormal.

    With fewer exponent bits, many weights are subnormal. Then an integer addition corrects the exponents, and a
    subtraction corrects values with exponent 0, which have no implicit leading bit.
    """
    magnitude = ((1 << format_.bits - 1) - 1) << plain_place(format_)
    bits = emit.binary(arith.AndIOp, moved, emit.constant(magnitude | ~_MAGNITUDE, i32))
    if format_.exponent_bits >= _FEW_SUBNORMAL:
        factor = emit.constant(2.0 ** (_BIAS - format_.bias), f32)
        return emit.binary(arith.MulfOp, emit.convert(arith.BitcastOp, bits, f32), factor)
    more = _BIAS - format_.bias
    normal, above = (
        emit.binary(arith.AddiOp, bits, emit.constant(each << _MANTISSA, i32)) for each in (more, more + 1)
    )
    sign = emit.binary(arith.AndIOp, bits, emit.constant(~_MAGNITUDE, i32))
    one = emit.binary(arith.OrIOp, sign, emit.constant((more + 1) << _MANTISSA, i32))
    less = emit.binary(arith.SubfOp, *(emit.convert(arith.BitcastOp, each, f32) for each in (above, one)))
    exponent = emit.constant(magnitude >> _MANTISSA << _MANTISSA, i32)
    is_subnormal = emit.compare("eq", emit.binary(arith.AndIOp, bits, exponent), emit.constant(0, i32))
    return emit.select(is_subnormal, less, emit.convert(arith.BitcastOp, normal, f32))


def encoded(
    real: Scalar,
    format_: SmallFloat,
    *,
    saturates: bool = True,
    rounding: PowerRounding = PowerRounding.UP,
) -> Scalar:
    """Rounds an f32 to a low-precision format and returns its bits, as `qmlir.arithmetic.small_floats` defines it."""
    bits = real.bitcast(i32)
    if isinstance(format_, Float8E8M0FNUType):
        code = _power(bits, saturates, rounding)
    else:
        code = _rounded(bits, format_, saturates)
    return code.to(IntegerType(format_.bitwidth), unsigned=True)


def _rounded(bits: Scalar, format_: SmallFloat, saturates: bool) -> Scalar:
    """Rounds ties to even: normal values by integer addition, subnormal ones by a float sum with the same last
    place."""
    semantics, codes = format_.SEMANTICS, Codes.of(format_.SEMANTICS)
    mantissa, bias = semantics.mantissa_bits, semantics.exponent_bias
    magnitude = bits & _MAGNITUDE
    shift = _MANTISSA - mantissa
    last = (magnitude >> shift) & 1
    normal = ((magnitude + last + ((1 << shift - 1) - 1)) >> shift) - ((_BIAS - bias) << mantissa)
    first = (_BIAS + 1 - bias) << _MANTISSA
    anchor = (_BIAS + _MANTISSA + 1 - bias - mantissa) << _MANTISSA  # an f32 whose last place is the smallest value
    subnormal = (magnitude.bitcast(f32) + bits.constant(anchor).bitcast(f32)).bitcast(i32) - anchor
    code = magnitude.compare("lt", first).select(subnormal, normal)
    beyond = codes.largest
    if not saturates and codes.nan is not None:
        beyond = codes.nan if codes.infinity is None else codes.infinity
    code = code.compare("gt", codes.largest).select(bits.constant(beyond), code)
    is_nan = magnitude.compare("gt", _INFINITY)
    sign = (bits & ~_MAGNITUDE).to(i32, unsigned=True) >> (31 - semantics.sign_shift)
    if codes.nan is None:
        return is_nan.select(sign ^ codes.sign, code | sign)
    code = is_nan.select(bits.constant(codes.nan), code)
    return code | sign if codes.has_negative_zero else code.compare("eq", 0).select(code, code | sign)


_STEPS = {
    PowerRounding.UP: (0x7FFFFF, 0x400001, 0x200001),
    PowerRounding.DOWN: (0, 0x800000, 0x400000),
    PowerRounding.NEAREST: (0x400000, 0x600000, 0x300000),
}
"""The addend before the mantissa is truncated; the smallest subnormal f32 with code 1, and the bound for code 0."""


def _power(bits: Scalar, saturates: bool, rounding: PowerRounding) -> Scalar:
    """Returns the biased exponent of a power of two; codes 0 and 1 include the subnormal f32."""
    added, one, zero = _STEPS[rounding]
    magnitude = bits & _MAGNITUDE
    code = (magnitude + added) >> _MANTISSA
    code = magnitude.compare("lt", 1 << _MANTISSA).select(magnitude.compare("ge", one).to(i32), code)
    lowest, highest = (0, 0xFE) if saturates else (0xFF, 0xFF)
    code = code.compare("gt", 0xFE).select(bits.constant(highest), code)
    code = magnitude.compare("lt", zero).select(bits.constant(lowest), code)
    is_none = bits.compare("lt", 0).select(magnitude.compare("ne", 0), magnitude.compare("gt", _INFINITY))
    return is_none.select(bits.constant(0xFF), code)


# Reads and writes of elements in bodies: stored integers become exact integers or floats, and results are rounded once.
#
# An `ElementLoad` holds the inputs for an operand (including parameters that vary by element) and the function that
# combines their scalars; an `ElementStore` does the same for a result. The formulas follow the quantized semantics of
# `nn` (`qmlir.dialects.nn.evaluators`) step by step, so that results are bit-identical.

ANY = (-(1 << 61), 1 << 61)
"""Limits beyond any rescaled integer; the sum of two values within them still fits in 64 bits."""

_EXACT_IN_F32 = 1 << 24
"""The magnitude up to which integers are exact in f32, so that a multiplier of 1 leaves them unchanged."""


@dataclass(frozen=True)
class ElementLoad:
    """The inputs that a structured operation needs to read an operand, and the function that combines their scalars."""

    inputs: tuple[Input, ...]
    read: Callable[[Sequence[Scalar]], Scalar]


@dataclass(frozen=True)
class ElementStore:
    """The inputs needed to write a result, and the function that converts a computed value to a stored element."""

    inputs: tuple[Input, ...]
    write: Callable[[Scalar, Sequence[Scalar]], Scalar]


def uniform_element(at: Lowering, value: SSAValue) -> UniformQuantizedType | None:
    """Returns the uniform type of an operand or result; `None` if its type is plain. Raises for other stored types."""
    element = tensor_type(value.type).get_element_type()
    if isinstance(element, StoredType) and not isinstance(element, UniformQuantizedType):
        raise at.error(f"cannot compute with '{element}': expected a uniform quantized type")
    return element if isinstance(element, UniformQuantizedType) else None


@dataclass(frozen=True)
class Parameter:
    """A quantization parameter of each element: a constant in the body, or an additional input."""

    element: Attribute
    number: float | int | None
    inputs: tuple[Input, ...] = ()
    found: Callable[[Scalar], Scalar] = unchanged
    """The function that converts the scalar of an input to the parameter."""

    def of(self, scalars: Sequence[Scalar], near: Scalar) -> Scalar:
        """Returns the parameter at one point, from the scalars of `inputs` or as a constant in the body of `near`."""
        if self.number is None:
            return self.found(scalars[0])
        return constant(near.builder, self.number, self.element)

    def is_always(self, number: float) -> bool:
        """Whether the parameter is a constant equal to `number`."""
        return self.number is not None and self.number == number


def parameter(at: Lowering, array: Array, element: Attribute, map_: AffineMap) -> Parameter:
    """Returns the parameter with the values of `array`, which broadcasts to an operand with indexing map `map_`.

    If the values vary, they become a constant tensor without axes of size 1.
    """
    if array.size == 0:
        return Parameter(element, 0)
    first = array.reshape(-1)[0]
    if (array == first).all():
        return Parameter(element, first.item())
    array = array.reshape((1,) * (len(map_.results) - array.ndim) + array.shape)  # NumPy broadcasts from the last axis
    axes = [axis for axis, size in enumerate(array.shape) if size != 1]
    kept = AffineMap(map_.num_dims, 0, tuple(map_.results[axis] for axis in axes))
    value = at.constant(array.reshape([array.shape[axis] for axis in axes]), element)
    return Parameter(element, None, (Input(value, kept),))


Find = Callable[[Array, Attribute], Parameter]
"""A function that creates a parameter of the given element type from an array of values."""

Where = AffineMap | Find
"""The indexing map of the operand to which parameters apply, or a function that creates the parameters."""


def _finding(at: Lowering, where: Where) -> Find:
    if isinstance(where, AffineMap):
        return lambda array, element: parameter(at, array, element, where)
    return where


def split(scalars: Sequence[Scalar], *parts: Sequence[Input]) -> list[Sequence[Scalar]]:
    """Splits the scalars of concatenated input groups back into one sequence per group."""
    found: list[Sequence[Scalar]] = []
    start = 0
    for part in parts:
        found.append(scalars[start : start + len(part)])
        start += len(part)
    return found


def _arithmetic(expressed: Attribute) -> AnyFloat:
    """Returns the type for float arithmetic: f64 for f64, otherwise f32."""
    return f64 if expressed == f64 else f32


def wide_type(element: UniformQuantizedType) -> IntegerType:
    """Returns an integer type that holds the difference between a stored integer and a zero point."""
    return i32 if element.bits <= 16 else i64


def largest(element: UniformQuantizedType) -> int:
    """Returns the largest absolute difference between a stored integer and its zero point."""
    limits, points = storage_limits(element.storage), element.zero_points
    return max(abs(limit - int(point)) for limit in limits for point in (points.min(), points.max()))


def plain(at: Lowering, value: SSAValue, map_: AffineMap) -> ElementLoad:
    """Reads an operand that is not quantized; floats shorter than f32 are converted to f32 for computation."""
    small = small_float_of(tensor_type(value.type).get_element_type())
    if small is not None:
        return ElementLoad((Input(at.value(value), map_, unsigned=True),), lambda scalars: decoded(scalars[0], small))

    def read(scalars: Sequence[Scalar]) -> Scalar:
        (element,) = scalars
        return element.to(_arithmetic(element.type)) if element.is_float else element

    return ElementLoad((Input(at.value(value), map_, at.signedness(value)),), read)


def stored(at: Lowering, value: SSAValue, map_: AffineMap) -> ElementLoad:
    """Reads the stored elements of an operand, unchanged."""
    return ElementLoad((Input(at.value(value), map_, at.signedness(value)),), lambda scalars: scalars[0])


def centered(at: Lowering, value: SSAValue, map_: AffineMap) -> ElementLoad:
    """Reads the exact integers `q - z` of a quantized operand as i32, or i64 if storage exceeds 16 bits."""
    element = uniform_element(at, value)
    assert element is not None
    wide = wide_type(element)
    offset = _stored_parameter(at, element, element.zero_points, tensor_type(value.type).get_shape(), wide, map_)
    operand = Input(at.value(value), map_, is_unsigned(element))

    def read(scalars: Sequence[Scalar]) -> Scalar:
        integer = scalars[0].to(wide)
        return integer if offset.is_always(0) else integer - offset.of(scalars[1:], integer)

    return ElementLoad((operand, *offset.inputs), read)


def real(at: Lowering, value: SSAValue, map_: AffineMap) -> ElementLoad:
    """Reads the elements of an operand as dequantized floats; elements that are not quantized are read as in `plain`.

    Stored integers are dequantized like `quant.dcast`: `scale * (q - z)`, where the product is rounded once in the
    arithmetic of the expressed type, and then to that type.
    """
    type_ = tensor_type(value.type)
    small = type_.get_element_type()
    is_small = isinstance(small, UniformFloatType)
    element = small if isinstance(small, UniformFloatType) else uniform_element(at, value)
    if element is None:
        return plain(at, value, map_)
    exact, arithmetic = (plain if is_small else centered)(at, value, map_), _arithmetic(element.expressed)
    scale = _scales(at, element, type_.get_shape(), map_)

    def read(scalars: Sequence[Scalar]) -> Scalar:
        own, factors = split(scalars, exact.inputs, scale.inputs)
        number = exact.read(own)
        number = number.to(arithmetic) if is_small else number
        product = scale.of(factors, number) * number.to(arithmetic)
        return product.to(element.expressed).to(arithmetic)

    return ElementLoad((*exact.inputs, *scale.inputs), read)


def _scales(at: Lowering, element: UniformType, shape: Sequence[int], map_: AffineMap) -> Parameter:
    return _stored_parameter(at, element, element.scales, shape, _arithmetic(element.expressed), map_)


def _stored_parameter(
    at: Lowering, element: UniformType, values: Array, shape: Sequence[int], type_: AnyFloat | IntegerType,
    map_: AffineMap,
) -> Parameter:  # fmt: skip
    """Returns the parameter of a stored type with `values`, one per scale, as constants of that size.

    An operation repeats those of blocks: a constant for each element would be several times as large as the weights.
    `kernel-pack` reads the constant through it (`repeated_array`), or else repeats the elements at compile time.
    """
    values = values.astype(dtype_of(type_))
    if element.granularity is Granularity.AXIS:
        return parameter(at, spread(element, tuple(shape), values), type_, map_)
    blocks = list(zip(shape, values.shape, strict=False))
    if not any(1 < count < size for size, count in blocks) or (values == values.flat[0]).all():
        return parameter(at, values, type_, map_)
    split_shape, dims, counts = list[int](), list[AffineExpr](), list[int]()
    for size, count in blocks:
        if count > 1:
            dims.append(AffineExpr.dimension(len(split_shape)))
            counts.append(count)
        split_shape += [count, size // count] if 1 < count < size else [size]
    source = Input(at.constant(values.reshape(counts), type_), AffineMap(len(split_shape), 0, tuple(dims)))
    repeated = at.reshape(at.compute([source], split_shape, type_, unchanged), shape)
    return Parameter(type_, None, (Input(repeated, map_),))


def _saturated(whole: Scalar, zero_point: Scalar, limits: tuple[int, int], result: IntegerType) -> Scalar:
    """Adds a zero point to an integral float and clamps it: in f64, which is exact here."""
    moved = whole.to(f64) + zero_point.to(f64)
    return moved.clamp(*limits).to(i64).to(result)


def _narrowed(whole: Scalar, zero_point: int, limits: tuple[int, int], result: IntegerType) -> Scalar:
    """Adds a zero point and clamps, for at most 16 bits: in the float's own type, where the shifted limits are
    exact."""
    low, high = limits
    integer = whole.clamp(low - zero_point, high - zero_point).to(i32)
    return (integer + zero_point if zero_point else integer).to(result)


def quantizing(
    at: Lowering, element: UniformQuantizedType, shape: Sequence[int], map_: AffineMap, *, is_rounded: bool = False
) -> ElementStore:
    """Quantizes floats as `quant.qcast` does: `saturate(rne(x / scale) + z)`, with a true division.

    The floats are first rounded to the expressed type, unless `is_rounded` states that they already are.
    """
    arithmetic = _arithmetic(element.expressed)
    scales, zero_points = broadcast_parameters(element, tuple(shape))
    scale = parameter(at, scales.astype(dtype_of(arithmetic)), arithmetic, map_)
    offset = parameter(at, zero_points.astype(np.int64), i64, map_)
    limits, result = (element.storage_min, element.storage_max), IntegerType(element.bits)

    def write(value: Scalar, scalars: Sequence[Scalar]) -> Scalar:
        factors, offsets = split(scalars, scale.inputs, offset.inputs)
        rounded = value.to(arithmetic) if is_rounded else value.to(element.expressed).to(arithmetic)
        whole = (rounded / scale.of(factors, rounded)).round_even()
        if offset.number is not None and element.bits <= 16:
            return _narrowed(whole, int(offset.number), limits, result)
        return _saturated(whole, offset.of(offsets, whole), limits, result)

    return ElementStore((*scale.inputs, *offset.inputs), write)


def _quantizing_to_small(
    at: Lowering, element: UniformFloatType, shape: Sequence[int], map_: AffineMap
) -> ElementStore:
    """Quantizes floats to low-precision floats as `quant.qcast` does: the quotient is rounded through f32 and
    saturates."""
    arithmetic = _arithmetic(element.expressed)
    scale = _scales(at, element, shape, map_)

    def write(value: Scalar, scalars: Sequence[Scalar]) -> Scalar:
        rounded = value.to(element.expressed).to(arithmetic)
        return encoded((rounded / scale.of(scalars, rounded)).to(f32), element.storage)

    return ElementStore(scale.inputs, write)


def dequantizing(element: UniformQuantizedType, find: Find) -> ElementStore:
    """Makes floats of exact integers as `quant.dcast` does, with the scales of `element` as `find` reads them."""
    expressed, arithmetic = element.expressed, _arithmetic(element.expressed)
    scale = find(element.scales.astype(dtype_of(expressed)), expressed)

    def write(integer: Scalar, scalars: Sequence[Scalar]) -> Scalar:
        return (scale.of(scalars, integer).to(arithmetic) * integer.to(arithmetic)).to(expressed)

    return ElementStore(scale.inputs, write)


def converting(element: Attribute) -> ElementStore:
    """Converts computed values to a type that is not quantized: rounds floats, keeps integers."""
    small = small_float_of(element)
    if small is not None:
        return ElementStore((), lambda value, scalars: encoded(value.to(f32), small))
    return ElementStore((), lambda value, scalars: value.to(plain_element(element), is_unsigned(element)))


def writing(at: Lowering, index: int, map_: AffineMap) -> ElementStore:
    """Writes computed floats, or plain values, to a result in the type of that result."""
    value = at.op.results[index]
    element = tensor_type(value.type).get_element_type()
    if isinstance(element, UniformFloatType):
        return _quantizing_to_small(at, element, tensor_type(value.type).get_shape(), map_)
    element = uniform_element(at, value)
    if element is None:
        return converting(tensor_type(value.type).get_element_type())
    return quantizing(at, element, tensor_type(value.type).get_shape(), map_)


def requantization_of(at: Lowering) -> RequantizeAttr:
    """Returns the requantization mode of the operation: its property `requantize`, or f32 by default."""
    found = at.op.properties.get("requantize")
    return found if isinstance(found, RequantizeAttr) else RequantizeAttr.of(Mode.F32)


def requantizing(
    at: Lowering,
    index: int,
    scale: npt.ArrayLike,
    largest: int,
    where: Where,
    count: npt.ArrayLike = 1,
    mode: RequantizeAttr | None = None,
    spread: Callable[[Array], Array] = lambda parameters: parameters,
) -> ElementStore:
    """Requantizes exact integers of scale `scale` and magnitude up to `largest` to a result.

    `scale` broadcasts to the result. For a mean, the integers are sums of `count` elements. `spread` maps parameters
    that broadcast to the result to the axes of `where`. If the multiplier is 1, which is always the case if the scales
    are equal, integers stay unchanged; below 2^24, rounding has this effect anyway. `mode` defaults to the
    requantization mode of the operation.
    """
    element = uniform_element(at, at.op.results[index])
    assert element is not None
    parameters = broadcast_parameters(element, tensor_type(at.op.results[index].type).get_shape())
    output_scale, zero_points = map(spread, parameters)
    scale = spread(np.asarray(scale))
    find = _finding(at, where)
    mode = mode or requantization_of(at)
    limits, result = (element.storage_min, element.storage_max), IntegerType(element.bits)
    if mode.mode.is_litert:
        assert isinstance(at.op, litert.HasMultiplier)
        found, arrays = litert.rescaling(at.op.litert_multiplier(), at.op.litert_kernels(), scale, output_scale, count)
        if found is Mode.F32:
            return _f32_rescaling(find, element, arrays[0], zero_points, largest)
        return _rescaling(RequantizeAttr.of(found), arrays, zero_points, limits, result, find)
    target = accumulator_scale(output_scale, count)
    if mode.mode.uses_floats:
        factors = np.asarray(f32_multiplier(scale, target), np.float32)
        if mode.mode is Mode.F32:
            return _f32_rescaling(find, element, factors, zero_points, largest)
        # There is a single zero point, which is added before rounding; a multiplier of 1 is no exception.
        return _rescaling(mode, [factors], np.asarray(zero_points.item()), limits, result, find)
    ratio = _ratio(scale, target)
    # The modes with a multiplier first saturate to 32 bits, which has no effect on narrower results.
    if (ratio == 1).all() and (mode.mode is Mode.SHIFT or element.bits <= 16 or largest <= MULTIPLIED[1]):
        return _keeping(find, element, zero_points, largest)
    return rescaling(at, mode, ratio, zero_points, limits, result, find)


def _ratio(source: npt.ArrayLike, target: npt.ArrayLike) -> Array:
    """Returns the ratio of two f32 scales in f64, as the integer modes take it."""
    return np.asarray(np.asarray(source, np.float32).astype(np.float64) / np.asarray(target, np.float32))


def _keep(integer: Scalar, offset: Scalar, limits: tuple[int, int], result: IntegerType) -> Scalar:
    wide = integer.to(i64)
    return (wide + offset.to(i64)).clamp(*limits).to(result)


def _requantized(
    integer: Scalar, parameters: Sequence[Scalar], result: IntegerType, mode: RequantizeAttr, zero_point: int,
    limits: tuple[int, int],
) -> Scalar:  # fmt: skip
    values = [each.value for each in parameters]
    op = RequantizeOp(integer.value, values, result, mode, zero_point, limits)
    return integer.made(integer.builder.insert(op), unsigned=False)


def _kept(
    integer: Scalar, offset: Parameter, offsets: Sequence[Scalar], largest: int, limits: tuple[int, int],
    result: IntegerType,
) -> Scalar:  # fmt: skip
    """Stores an integer of magnitude up to `largest` with unchanged scale, in its own type if that cannot overflow."""
    if offset.number is None or integer.bits != 32:
        return _keep(integer, offset.of(offsets, integer), limits, result)
    zero_point = int(offset.number)
    if limits[0] <= zero_point - largest and zero_point + largest <= limits[1]:
        return (integer + zero_point if zero_point else integer).to(result)
    if largest + max(map(abs, limits)) < 1 << 31:
        return (integer + zero_point if zero_point else integer).clamp(*limits).to(result)
    return _keep(integer, offset.of(offsets, integer), limits, result)


def _keeping(find: Find, element: UniformQuantizedType, zero_points: Array, largest: int) -> ElementStore:
    """Stores integers of magnitude up to `largest` with unchanged scale."""
    offset = find(zero_points.astype(np.int64), i64)
    limits, result = (element.storage_min, element.storage_max), IntegerType(element.bits)
    return ElementStore(
        offset.inputs, lambda integer, offsets: _kept(integer, offset, offsets, largest, limits, result)
    )


def _f32_rescaling(
    find: Find, element: UniformQuantizedType, factors: Array, zero_points: Array, largest: int
) -> ElementStore:
    factor = find(factors, f32)
    offset = find(zero_points.astype(np.int64), i64)
    limits, result = (element.storage_min, element.storage_max), IntegerType(element.bits)
    is_one = factors == 1
    if is_one.all():
        return _keeping(find, element, zero_points, largest)
    has_exception = bool(is_one.any()) and largest >= _EXACT_IN_F32

    def rescaled(integer: Scalar, multiplier: Scalar, offsets: Sequence[Scalar]) -> Scalar:
        if offset.number is None:
            whole = (integer.to(f32) * multiplier).round_even()
            return _saturated(whole, offset.of(offsets, whole), limits, result)
        return _requantized(integer, [multiplier], result, RequantizeAttr.of(Mode.F32), int(offset.number), limits)

    def write(integer: Scalar, scalars: Sequence[Scalar]) -> Scalar:
        multipliers, offsets = split(scalars, factor.inputs, offset.inputs)
        multiplier = factor.of(multipliers, integer)
        value = rescaled(integer, multiplier, offsets)
        if not has_exception:
            return value
        return multiplier.compare("eq", 1.0).select(_keep(integer, offset.of(offsets, integer), limits, result), value)

    return ElementStore((*factor.inputs, *offset.inputs), write)


def rescaling(
    at: Lowering,
    mode: RequantizeAttr,
    ratio: Array,
    zero_points: Array,
    limits: tuple[int, int],
    result: IntegerType,
    where: Where,
) -> ElementStore:
    """Rescales integers by `ratio` in an integer mode; zero points that vary are added after the rescaling.

    LiteRT's kernels of sums round as mode `double_round`.
    """
    mode = RequantizeAttr.of(Mode.DOUBLE_ROUND) if mode.mode.is_litert else mode
    arrays = [power_of_two_shift(ratio)] if mode.mode is Mode.SHIFT else fixed_point(ratio)
    return _rescaling(mode, list(arrays), zero_points, limits, result, _finding(at, where))


def _rescaling(
    mode: RequantizeAttr, arrays: Sequence[Array], zero_points: Array, limits: tuple[int, int], result: IntegerType,
    find: Find,
) -> ElementStore:  # fmt: skip
    """Rescales integers by `kernel.requantize` with the parameters `arrays`."""
    types = RequantizeOp.PARAMETERS[mode.mode]
    parameters = [
        find(np.asarray(each).astype(dtype_of(type_)), type_) for each, type_ in zip(arrays, types, strict=True)
    ]
    offset = find(zero_points.astype(np.int64), i64)

    def write(integer: Scalar, scalars: Sequence[Scalar]) -> Scalar:
        *runs, offsets = split(scalars, *(each.inputs for each in parameters), offset.inputs)
        if mode.mode in (Mode.SINGLE_ROUND, Mode.DOUBLE_ROUND) and integer.bits > 32:
            integer = integer.clamp(*MULTIPLIED).to(i32)
        values = [each.of(run, integer) for each, run in zip(parameters, runs, strict=True)]
        if offset.number is not None:
            return _requantized(integer, values, result, mode, int(offset.number), limits)
        return _keep(_requantized(integer, values, i64, mode, 0, ANY), offsets[0], limits, result)

    return ElementStore(tuple(each for found in (*parameters, offset) for each in found.inputs), write)


def compute(
    at: Lowering,
    readings: Sequence[ElementLoad],
    writing: ElementStore,
    function: Callable[..., Scalar],
    index: int = 0,
) -> SSAValue:
    """Computes a result of the operation element by element, as `writing(function(*readings))`."""
    inputs = [each for reading in readings for each in reading.inputs]

    def body(*scalars: Scalar) -> Scalar:
        *runs, last = split(scalars, *(reading.inputs for reading in readings), writing.inputs)
        values = [reading.read(run) for reading, run in zip(readings, runs, strict=True)]
        return writing.write(function(*values), last)

    return at.compute([*inputs, *writing.inputs], at.result_shape(index), at.result_element(index), body)


# Normalization of integer rows in a body with row reductions.
#
# The formulas follow `qmlir.arithmetic.row_norms` step by step. Integer sums may be reordered: a row is divided among
# lanes, and the reciprocal root is computed once per row.

_WORD = 1 << 31
"""The bound on 32-bit integers."""


def _sum_of_squares(d: Scalar, largest: int, count: int, row: Sequence[int]) -> Scalar:
    """Returns `sum(d^2)` of `count` integers up to `largest` as i64, computed in 32 bits if these suffice."""
    narrow = d if largest**2 < _WORD else d.to(i64)
    squares = narrow * narrow
    return (squares if count * largest**2 < _WORD else squares.to(i64)).over_row(RowSumOp, row).to(i64)


def normalized(norm: RowNorm, d: Scalar, largest: int, row: Sequence[int]) -> Scalar:
    """Computes `f32(f32(n d - t) * r)` for a 32-bit integer `d` up to `largest`, in a row along iterators `row`."""
    squares, multiple = norm.count * _sum_of_squares(d, largest, norm.count, row), norm.count * d
    if norm.is_centered:
        total = d.over_row(RowSumOp, row)
        squares, multiple = squares - total.to(i64) * total.to(i64), multiple - total
    of_row = (squares << norm.shift) + norm.epsilon
    root = of_row.made(of_row.builder.insert(ReciprocalRootOp(of_row.value)), unsigned=False) * norm.factor
    return multiple.to(f32) * root
